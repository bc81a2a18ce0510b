"""Slash commands: built-in ones such as `/help`, the user's and workspace's own, and aliases from the settings."""
