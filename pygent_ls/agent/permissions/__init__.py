"""Decisions about tool calls."""
