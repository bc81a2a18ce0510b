"""A first model: which ones are at hand, the questions about them, and where the key is kept."""
