"""AI coding agent that runs as a language server inside the editor."""

__version__ = "0.1.0"
