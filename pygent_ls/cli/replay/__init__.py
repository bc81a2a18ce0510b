"""Replay of a recorded client against a daemon."""
