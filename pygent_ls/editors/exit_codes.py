"""Exit codes of the front ends. A module of its own, because the one with the options of a run is slow to import."""

from __future__ import annotations

DONE, FAILED, CANCELLED = 0, 1, 130
"""1: an error, a limit or a refusal ended the turn. 130: the code that shells report for Ctrl-C."""
