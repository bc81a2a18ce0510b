"""Conversations: one turn at a time, each event numbered and passed on."""
