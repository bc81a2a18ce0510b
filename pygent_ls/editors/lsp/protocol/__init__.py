"""The types of the wire and their conversion."""
