"""Providers: each module turns the core's request into one model's stream of chunks."""
