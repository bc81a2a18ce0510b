"""Steps of the offline model: tool calls for each kind of request, and reports of their results. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineCall:
    """A tool call to be made; `doing` announces it to the user."""

    tool: str
    input: Mapping[str, Any]
    doing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A completed call and what the tool returned."""

    tool: str
    input: Mapping[str, Any]
    content: str
    is_error: bool


class Step(Protocol):
    """One request of the user. It is stateless: completed calls are passed in."""

    @property
    def about(self) -> str:
        """The request, phrased to follow `I could not …`."""
        ...

    @property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """The required tools: one of each group."""
        ...

    def next_call(self, done: Sequence[Done], offered: frozenset[str]) -> OfflineCall | None:
        """Return the call after those that were made; None when the step is complete."""
        ...

    def report(self, done: Sequence[Done]) -> str:
        """Return a report of the results; called only if no call failed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """A request whose calls are known from the start."""

    about: str
    calls: tuple[OfflineCall, ...]
    heading: str
    """Beginning of the report."""
    shows_output: bool = False
    """Whether the last tool's result is quoted as output; otherwise it follows as a sentence."""

    @property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """Every tool of its calls."""
        return tuple((call.tool,) for call in self.calls)

    def next_call(self, done: Sequence[Done], offered: frozenset[str]) -> OfflineCall | None:
        """Return the calls in order."""
        return self.calls[len(done)] if len(done) < len(self.calls) else None

    def report(self, done: Sequence[Done]) -> str:
        """Return the heading and the last result."""
        said = done[-1].content.strip()
        return f"{self.heading}\n{fenced(said)}" if self.shows_output else f"{self.heading} {said}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTests:
    """Runs the tests with `run_tests`, or with a command that the files suggest."""

    target: str | None = None

    @property
    def about(self) -> str:
        """The request."""
        return f"run the tests in {quoted(self.target)}" if self.target else "run the tests"

    @property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """Either of the two tools."""
        return (("run_tests", "shell"),)

    def next_call(self, done: Sequence[Done], offered: frozenset[str]) -> OfflineCall | None:
        """Return a call of `run_tests`; or of a listing, perhaps of pyproject.toml, and of a command."""
        if done and done[-1].tool in ("run_tests", "shell"):
            return None
        if "run_tests" in offered:
            given = {"target": self.target} if self.target else {}
            return OfflineCall(tool="run_tests", input=given, doing="I'll run the tests.")
        if not done:
            listing = _listing_call(offered)
            if listing is not None:
                return listing
        files = _files_in(done[0].content) if done else []
        if len(done) == 1 and "pyproject.toml" in files and "read_file" in offered:
            doing = "I'll look in `pyproject.toml` for how to run them."
            return OfflineCall(tool="read_file", input={"path": "pyproject.toml"}, doing=doing)
        command = test_command(files, done[1].content if len(done) > 1 else "", self.target)
        if command is None:
            return None
        return OfflineCall(tool="shell", input={"command": command}, doing=f"I'll run `{command}`.")

    def report(self, done: Sequence[Done]) -> str:
        """Return the output, or that no way to run the tests was found."""
        if not done or done[-1].tool not in ("run_tests", "shell"):
            return "I cannot tell how to run the tests here. Name the command: run `COMMAND`."
        command = done[-1].input.get("command")
        how = quoted(command) if command else "The tests"
        return f"{how} returned:\n{fenced(done[-1].content.strip())}"


def _listing_call(offered: frozenset[str]) -> OfflineCall | None:
    doing = "I'll find out how the tests are run here."
    if "list_files" in offered:
        return OfflineCall(tool="list_files", input={"depth": 3}, doing=doing)
    if "find_files" in offered:
        return OfflineCall(tool="find_files", input={"pattern": "**/*"}, doing=doing)
    return None


def _files_in(listing: str) -> list[str]:
    """Return the paths of a listing: one per line, folders with a trailing slash and perhaps a count after it."""
    lines = (re.sub(r" \(\d+ files?\)$", "", line.strip()) for line in listing.splitlines())
    return [line for line in lines if line and not line.startswith("[")]


COMMANDS: Sequence[tuple[str, str]] = (
    ("package.json", "npm test"),
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("Makefile", "make test"),
)
"""Files in the workspace folder itself, and the commands that they suggest."""


def test_command(files: Sequence[str], pyproject: str, target: str | None) -> str | None:
    """Return the command that runs the tests of a folder with these files; None if they suggest none."""
    names = [file.rsplit("/", 1)[-1] for file in files]
    test_folders = [file.rpartition("/")[0] for file in files if re.fullmatch(r"(.*/)?test\w*\.py", file)]
    if "pytest.ini" in names or "conftest.py" in names or "pytest" in pyproject:
        return f"python3 -m pytest {target}" if target else "python3 -m pytest"
    if test_folders or (target or "").endswith(".py"):
        return f"python3 -m unittest {target}" if target else _unittest(files, test_folders)
    return next((command for file, command in COMMANDS if file in files and target is None), None)


def _unittest(files: Sequence[str], test_folders: Sequence[str]) -> str:
    """Return the unittest command: without `-s`, it finds tests only if each folder on the way is a package."""
    folder = test_folders[0]
    if all(each == folder for each in test_folders) and folder and f"{folder}/__init__.py" not in files:
        return f"python3 -m unittest discover -s {folder}"
    return "python3 -m unittest discover"


MAX_NAME_CHARS = 80
"""Maximum length of a name or text within a sentence."""


def quoted(text: str) -> str:
    """Return the text for use in a sentence: in backticks, on one line, truncated if it is long."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= MAX_NAME_CHARS else line[: MAX_NAME_CHARS - 1] + '…'}`"


MAX_OUTPUT_CHARS = 6_000
"""Maximum length of a tool's result in an answer, about 150 lines; the conversation has all of it."""


def fenced(text: str) -> str:
    """Return the text in a code block that nothing in it can end; the middle of a long text is left out."""
    if len(text) > MAX_OUTPUT_CHARS:
        half = MAX_OUTPUT_CHARS // 2
        n_left_out = len(text) - 2 * half
        text = f"{text[:half]}\n[… {n_left_out} characters omitted …]\n{text[-half:]}"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
