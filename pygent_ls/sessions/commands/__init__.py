"""Prompts that are commands: `/help` and its like, the user's own, and the aliases of the settings."""
