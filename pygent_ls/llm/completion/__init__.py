"""Text at a cursor, for inline completion: requests that fill in the middle, and chat models in their place."""
