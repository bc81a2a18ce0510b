"""`pygent-ls chat` on a real terminal, whose screen tmux reads as text; the tests are left out without it."""

from __future__ import annotations

from tests.clients.programs import are_here

collect_ignore_glob = [] if are_here("tmux") else ["test_*.py"]
