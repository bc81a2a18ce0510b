"""Checkpoints, undo and rewind."""
