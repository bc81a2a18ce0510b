"""Command lines of shells: how they are read, and what their programs do. Imports nothing else of the package."""
