"""Rules by the first words of a command, which a prompt offers besides the rule for the whole command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from pygent_ls.agent.rules.matcher import allows
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.shell.parser import read_line

_TASK = "<task>"
"""Placeholder for the name of a script or target, which the project defines."""

_CHECKERS = (
    "black, ctest, eslint, flake8, isort, jest, ls, mypy, nox, phpunit, prettier, pylint, pyright, pytest, rspec"
    ", shellcheck, stylua, tox, tsc, vitest"
)
_SCRIPTS = f"run {_TASK}, test, t"
_IN_ENVIRONMENT = "run black, run flake8, run isort, run mypy, run pylint, run pyright, run pytest, run ruff check"

_OFFERED: Mapping[str, str] = {
    **dict.fromkeys(_CHECKERS.split(", "), ""),
    "biome": "check, ci, format, lint",
    "bun": _SCRIPTS,
    "cargo": "bench, build, check, clippy, doc, fmt, test, tree",
    "dotnet": "build, test",
    "gh": "issue list, issue view, pr checks, pr diff, pr list, pr status, pr view, run list, run view",
    "git": "add, blame, commit, describe, diff, log, ls-files, show, status",
    "go": "build, test, vet",
    "golangci-lint": "run",
    "gradle": "build, check, test",
    "kubectl": "describe, get, logs",
    "make": _TASK,
    "mix": "compile, test",
    "mvn": "compile, test, verify",
    "npm": _SCRIPTS,
    "npx": "eslint, jest, prettier, tsc, vitest",
    "pnpm": _SCRIPTS,
    "poetry": _IN_ENVIRONMENT,
    "pre-commit": "run",
    "python": "-m mypy, -m pytest, -m ruff check, -m unittest",
    "python3": "-m mypy, -m pytest, -m ruff check, -m unittest",
    "ruff": "check, format",
    "swift": "build, test",
    "terraform": "fmt, plan, validate",
    "uv": _IN_ENVIRONMENT,
    "yarn": _SCRIPTS,
}
"""Words of each program for which a rule may be offered; empty for the program alone.

Only programs whose further arguments do nothing of another kind are listed. A prefix of a shell, an interpreter or a
wrapper (`sh -c`, `python -c`, `env`, `sudo`) would allow anything, and one of `rm` or `curl` any file or address.
"""


def prefix_rules(tool: Tool, subjects: Sequence[str]) -> tuple[str, ...]:
    """Return the prefix rule that covers the call; empty if the command is not one plain, listed command."""
    if tool.name != "shell" or len(subjects) != 1:
        return ()
    plain = read_line(subjects[0]).plain or ()
    if len(plain) != 1 or shlex.split(subjects[0]) != list(plain[0].words):  # only the words of one command
        return ()
    prefix = _prefix(plain[0].words)
    rule = Rule(text=f"shell({' '.join(prefix)}:*)", decision="allow", origin="session")
    return (rule.text,) if prefix and allows([rule], subjects) else ()


def _prefix(words: Sequence[str]) -> tuple[str, ...]:
    for each in _OFFERED[words[0]].split(", ") if words[0] in _OFFERED else ():
        wanted = each.split()
        given = words[1 : len(wanted) + 1]
        if len(given) == len(wanted) and all(map(_is_meant, wanted, given)):
            return tuple(words[: len(wanted) + 1])
    return ()


def _is_meant(wanted: str, word: str) -> bool:
    return word == wanted or (wanted == _TASK and re.fullmatch(r"[a-z][\w.:-]*", word, re.ASCII) is not None)
