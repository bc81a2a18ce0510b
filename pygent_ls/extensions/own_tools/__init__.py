"""The user's own tools: Python functions that run in a process of their own."""
