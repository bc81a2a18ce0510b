"""Tools that read and edit files."""
