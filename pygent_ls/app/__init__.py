"""Builds the application from the settings and the rooms below."""
