"""Secrets in text: how they are found, and the placeholders that stand for them.

Imports nothing else of the package but errors.
"""
