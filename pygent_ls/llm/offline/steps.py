"""Steps of the offline model: the tool calls that a request needs, and reports of their results. Pure."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.agent.display_text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineAnswer:
    """Text of an answer, and the tool that it calls, if any."""

    text: str
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call_id: str = ""


Calls = Generator[OfflineAnswer, str, str]
"""Yields calls, is sent their results, and returns a report. An error result is thrown into it as `ToolError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request of the user."""

    tool: str
    input: Mapping[str, Any]
    about: str
    """The request, phrased to follow `I could not …`."""
    heading: str
    """Beginning of the report. The result follows as output after a colon, otherwise as a sentence."""

    def missing(self, offered: frozenset[str]) -> str:
        """Return the tool that it needs and that is not offered; empty if it can be done."""
        if self.tool == "run_tests":
            return "" if offered & {"run_tests", "shell"} else "run_tests or shell"
        needed = ("read_file", "edit_file") if self.tool == "edit_file" else (self.tool,)
        return next((tool for tool in needed if tool not in offered), "")

    def calls(self, offered: frozenset[str]) -> Calls:
        """Make the calls."""
        if self.tool == "run_tests" and "run_tests" not in offered:
            return (yield from _test_calls(self.input.get("target"), offered))
        if self.tool == "edit_file":
            path = self.input["path"]
            yield OfflineAnswer(tool="read_file", input={"path": path}, text=f"I'll read {quoted(path)}.")
        result = yield OfflineAnswer(tool=self.tool, input=self.input, text=f"I'll {self.about}.")
        return _report(self.heading, result)


def _test_calls(target: str | None, offered: frozenset[str]) -> Calls:
    """Run the tests with a command that the files suggest."""
    files: list[str] = []
    pyproject = ""
    if "list_files" in offered:
        text = "I'll find out how the tests are run here."
        listing = yield OfflineAnswer(tool="list_files", input={"depth": 3}, text=text)
        files = [re.sub(r" \(\d+ files?\)$", "", line.strip()) for line in listing.splitlines()]
    if "pyproject.toml" in files and "read_file" in offered:
        text = "I'll look in `pyproject.toml` for how to run them."
        pyproject = yield OfflineAnswer(tool="read_file", input={"path": "pyproject.toml"}, text=text)
    command = _test_command(files, pyproject, target)
    if command is None:
        return "I cannot tell how to run the tests here. Name the command: run `COMMAND`."
    result = yield OfflineAnswer(tool="shell", input={"command": command}, text=f"I'll run `{command}`.")
    return _report(f"{quoted(command)} returned:", result)


def _test_command(files: Sequence[str], pyproject: str, target: str | None) -> str | None:
    """Return the command that runs the tests of a folder with these files; None if they suggest none."""
    names = {file.rpartition("/")[2] for file in files}
    folders = {file.rpartition("/")[0] for file in files if re.fullmatch(r"(.*/)?test\w*\.py", file)}
    if names & {"pytest.ini", "conftest.py"} or "pytest" in pyproject:
        return f"python3 -m pytest {target or ''}".strip()
    if target:
        return f"python3 -m unittest {target}" if folders or target.endswith(".py") else None
    if folders:
        folder = folders.pop()
        is_found = folders or not folder or f"{folder}/__init__.py" in files  # by unittest, from the workspace folder
        return "python3 -m unittest discover" + ("" if is_found else f" -s {folder}")
    suggested = {
        "package.json": "npm test",
        "Cargo.toml": "cargo test",
        "go.mod": "go test ./...",
        "Makefile": "make test",
    }
    return next((command for file, command in suggested.items() if file in files), None)


def quoted(value: object) -> str:
    """Return a value for use in a sentence: in backticks, on one line, truncated if it is long."""
    return f"`{one_line(value, 80)}`"


MAX_OUTPUT_CHARS = 6_000
"""Maximum length of a tool's result in an answer, about 150 lines; the conversation has all of it."""


def _report(heading: str, result: str) -> str:
    said = result.strip()
    if not heading.endswith(":"):
        return f"{heading} {said}".strip()
    if len(said) > MAX_OUTPUT_CHARS:
        half = MAX_OUTPUT_CHARS // 2
        said = f"{said[:half]}\n[… {len(said) - 2 * half} characters omitted …]\n{said[-half:]}"
    return f"{heading}\n{fenced(said, '')}"
