"""Tools that search files, text and definitions."""
