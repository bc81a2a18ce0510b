"""Conversations: one turn at a time, numbered events, the journal, checkpoints and undo."""
