"""A real Vim reads what `docs/editors.md` says; the tests are left out without one."""

from __future__ import annotations

from tests.clients.programs import are_here

collect_ignore_glob = [] if are_here("vim") else ["test_*.py"]
