"""Handlers of pygent/* requests."""
