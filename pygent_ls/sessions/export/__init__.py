"""Export and import of sessions."""
