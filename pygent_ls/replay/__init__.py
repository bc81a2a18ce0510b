"""A recorded client, played against a daemon again."""
