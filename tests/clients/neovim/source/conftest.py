"""Tests with luacheck are left out if it is not installed."""

from tests.clients.programs import are_here

collect_ignore = [] if are_here("luacheck") else ["test_lint.py"]
