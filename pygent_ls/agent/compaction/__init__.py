"""Compaction of conversations."""
