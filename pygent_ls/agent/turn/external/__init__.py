"""Turns that an external agent runs: its calls under our permissions, its edits as ours."""
