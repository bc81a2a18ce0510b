"""What luacheck finds is not looked for where it is not there."""

from tests.clients.programs import are_here

collect_ignore = [] if are_here("luacheck") else ["test_lint.py"]
