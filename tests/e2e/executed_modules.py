"""Which modules a process of ours executes, whoever imports them and from wherever: told on its standard error."""

from __future__ import annotations

import re
import sys

WATCH = """
import sys

def look(event, arguments):
    if event == "exec" and getattr(arguments[0], "co_name", "") == "<module>":
        print("executed", arguments[0].co_filename, file=sys.stderr, flush=True)

sys.addaudithook(look)
from pygent_ls.cli.main import main
main()
"""

WATCHED = (sys.executable, "-c", WATCH)
"""Command line of `pygent-ls` that tells them; its arguments follow."""


def executed_in(said: str) -> set[str]:
    """The names of the modules that standard error tells of, those of Python's own library left out."""
    executed = r"^executed .*/((?:pygent_ls|site-packages)/.*?)(?:/__init__)?\.py$"
    paths = re.findall(executed, said, re.MULTILINE)
    return {each.removeprefix("site-packages/").replace("/", ".") for each in paths}
