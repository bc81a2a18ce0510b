"""A turn: its loop, its limits, its state, and its subagents."""
