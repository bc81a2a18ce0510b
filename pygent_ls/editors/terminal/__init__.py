"""A person at a terminal: what they are shown, and what they are asked."""
