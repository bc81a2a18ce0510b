"""How long tests of editors wait."""

from __future__ import annotations

WAIT_S = 60.0
"""Longest wait for anything: far beyond what it takes where the machine is loaded, below the tests' own limit."""
