"""The ports of the core, each a Protocol with its values."""
