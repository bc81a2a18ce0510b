"""The tests of Emacs are left out where there is none."""

from tests.clients.programs import are_here

collect_ignore_glob = [] if are_here("emacs") else ["test_*.py"]
