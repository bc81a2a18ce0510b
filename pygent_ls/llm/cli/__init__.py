"""Command-line programs as models."""
