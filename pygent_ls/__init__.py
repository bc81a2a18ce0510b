"""pygent-ls: an AI coding agent that lives inside the editor as a language server."""

__version__ = "0.1.0"
