"""Secrets in text: detection, and the placeholders that replace them. Imports nothing else of the package."""
