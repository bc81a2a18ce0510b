"""The tool call pipeline."""
