"""Conversations: one turn at a time, with numbered events."""
