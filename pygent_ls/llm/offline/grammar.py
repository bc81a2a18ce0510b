"""Requests that the offline model understands. Pure.

`FORMS` documents them; a test parses each. Names, paths and texts may be in backticks, single or double quotes, or bare
if they are one word that is not part of the form itself. Requests that change files or run programs need quotes or a
word that looks like a path, so that ordinary prose is not taken for a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pygent_ls.llm.offline.steps import Calls, OfflineCall, RunTests, Step, quoted
from pygent_ls.llm.offline.tokens import Token, steps_of, tokens_of

FORMS: Sequence[tuple[str, str]] = (
    ("replace `old` with `new` in `path`", "every occurrence of a text in a file"),
    ("find `text`", "also `find `text` in `path``, `search for `text``"),
    ("find files `*.py`", "also `find files `*.py` in `path``"),
    ("show `path`", "also `show `path` lines 3-9`"),
    ("list `path`", "also `list files`"),
    ("create `path` with `text`", "the text may be a fenced block below; `overwrite `path` with …` replaces a file"),
    ("rename `old` to `new`", "also `move`"),
    ("copy `old` to `new`", ""),
    ("delete `path`", ""),
    ("run `command`", ""),
    ("run the tests", "also `run the tests in `path``"),
    ("what can you do?", "also `help`"),
)
"""Each form, with further notes."""


MAX_PROMPT_CHARS = 50_000
"""Maximum length of a prompt that is parsed; one of this length blocks the event loop for 0.5 s at worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """The user asks what this model is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUnderstood:
    """A part of the prompt that matches no form; then nothing is done."""

    text: str


def parse(prompt: str) -> list[Step] | Help | NotUnderstood:
    """Return the steps that the prompt asks for, in order."""
    if len(prompt) > MAX_PROMPT_CHARS:
        return NotUnderstood(text=prompt)
    steps: list[Step] = []
    for tokens in steps_of(list(tokens_of(prompt))):
        source = prompt[tokens[0].start : tokens[-1].end]
        if re.fullmatch(_HELP, " ".join(source.lower().split())):
            return Help()
        step = _parse_step(_StepReader(tokens, prompt))
        if step is None:
            return NotUnderstood(text=source)
        steps.append(step)
    return steps or Help()


_HELP = r"(help( me)?|\?|(what can|who are|what are) you( do)?|what do you (understand|know))[.!? ]*"

_OF_THE_FORMS = frozenset(
    {"with", "by", "to", "in", "of", "from", "and", "for", "the", "a", "an", "it", "lines", "line"}
)
"""Words that are never a bare name."""


@dataclass(slots=True)
class _StepReader:
    """Reads the tokens of one step. Each reading method advances only if it finds what it looks for."""

    tokens: Sequence[Token]
    prompt: str
    at: int = field(default=0, init=False)

    def _peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def is_over(self) -> bool:
        """Whether only punctuation is left."""
        return all(token.kind == "word" and not token.plain for token in self.tokens[self.at :])

    def word(self, *options: str) -> bool:
        """Read one of these words."""
        token = self._peek()
        found = token is not None and token.kind == "word" and token.plain.lower() in options
        self.at += found
        return found

    def skip(self, *options: str) -> None:
        """Skip any number of these words."""
        while self.word(*options):
            pass

    def value(self) -> str | None:
        """Read a quoted text or one bare word."""
        token = self._peek()
        if token is None or token.kind not in ("quoted", "word"):
            return None
        if token.kind == "word" and (not token.plain or token.plain.lower() in _OF_THE_FORMS):
            return None
        self.at += 1
        return token.text if token.kind == "quoted" else token.plain

    def name(self) -> str | None:
        """Read a value that is not blank."""
        before = self.at
        found = self.value()
        if found is None or not found.strip():
            self.at = before
            return None
        return found.removeprefix("@")

    def path(self) -> str | None:
        """Read a quoted name, or a bare word that looks like a path."""
        token = self._peek()
        if token is not None and token.kind == "word" and not re.search(r"[./\\]", token.plain):
            return None
        return self.name()

    def content(self) -> str | None:
        """Read a quoted text or a fenced block."""
        token = self._peek()
        if token is None or token.kind not in ("quoted", "fenced"):
            return None
        self.at += 1
        return token.text

    def rest(self) -> str:
        """Read all that is left, as it was written."""
        token = self._peek()
        if token is None:
            return ""
        self.at = len(self.tokens)
        return self.prompt[token.start : self.tokens[-1].end]

    def back_to(self, at: int) -> None:
        """Return to an earlier position."""
        self.at = at


def _parse_step(reader: _StepReader) -> Step | None:
    for form in _READERS:
        reader.back_to(0)
        step = form(reader)
        if step is not None and reader.is_over:
            return step
    return None


def _replace(reader: _StepReader) -> Step | None:
    if not reader.word("replace", "change"):
        return None
    old = reader.value()
    if not old or not reader.word("with", "by", "to"):
        return None
    new = reader.value()
    if new is None or not reader.word("in"):
        return None
    reader.skip("the", "file")
    path = reader.path()
    if path is None:
        return None
    edit = {"path": path, "old": old, "new": new, "all": True}
    return Calls(
        about=f"replace {quoted(old)} with {quoted(new)} in {quoted(path)}",
        calls=(
            OfflineCall(tool="read_file", input={"path": path}, doing=f"I'll read {quoted(path)}."),
            OfflineCall(
                tool="edit_file", input=edit, doing=f"I'll replace {quoted(old)} with {quoted(new)} in {quoted(path)}."
            ),
        ),
        heading=f"I replaced {quoted(old)} with {quoted(new)} in {quoted(path)}.",
    )


def _find_files(reader: _StepReader) -> Step | None:
    if not (reader.word("find") or (reader.word("search") and reader.word("for"))):
        return None
    reader.skip("the", "all")
    if not reader.word("files", "file"):
        return None
    reader.skip("named", "called", "matching", "like")
    pattern = reader.name()
    if pattern is None:
        return None
    given = {"pattern": pattern} | _within(reader)
    return _looking("find_files", given, about=f"find files {quoted(pattern)}", heading=f"Files {quoted(pattern)}:")


def _search(reader: _StepReader) -> Step | None:
    if not reader.word("find", "search", "grep", "look"):
        return None
    reader.skip("for")
    text = reader.value()
    if not text:
        return None
    given = {"pattern": literal_pattern(text)} | _within(reader)
    return _looking("grep_search", given, about=f"search for {quoted(text)}", heading=f"Search for {quoted(text)}:")


def _show(reader: _StepReader) -> Step | None:
    if not reader.word("show", "read", "open", "print", "display", "cat"):
        return None
    reader.skip("me", "the")
    lines = _lines(reader)
    reader.skip("of", "in", "from", "the", "file")
    path = reader.name()
    if path is None:
        return None
    if not lines:
        lines = _lines(reader)
    about = f"show {quoted(path)}"
    return _looking("read_file", {"path": path} | lines, about=about, heading=quoted(path) + ":")


def _lines(reader: _StepReader) -> dict[str, int]:
    """Read `lines 3-9`, `lines 3 to 9` or `line 3`."""
    before = reader.at
    if reader.word("lines", "line"):
        first, dash, last = (reader.value() or "").replace("–", "-").partition("-")
        if not dash and reader.word("to", "-", "–"):
            last = reader.value() or ""
        last = last or first
        if first.isdecimal() and last.isdecimal():
            return {"start_line": int(first), "end_line": int(last)}
    reader.back_to(before)
    return {}


def _list(reader: _StepReader) -> Step | None:
    if not reader.word("list", "ls"):
        return None
    reader.skip("the", "all", "files", "folder", "directory", "contents", "in", "of")
    path = reader.name()
    given = {"path": path} if path else {}
    where = quoted(path) if path else "the workspace"
    return _looking("list_files", given, about=f"list {where}", heading=f"In {where}:")


def _create(reader: _StepReader) -> Step | None:
    overwrite = reader.word("overwrite")
    if not overwrite and not reader.word("create", "write", "make"):
        return None
    reader.skip("a", "an", "the", "new", "file", "named", "called")
    path = reader.path()
    if path is None or not reader.word("with", "containing"):
        return None
    reader.skip("the", "content", "contents", "text", "following")
    content = reader.content()
    if content is None:
        return None
    given = {"path": path, "content": content} | ({"overwrite": True} if overwrite else {})
    verb, past = ("overwrite", "overwrote") if overwrite else ("create", "created")
    return _changing("create_file", given, about=f"{verb} {quoted(path)}", past=f"{past} {quoted(path)}")


def _rename_or_copy(reader: _StepReader) -> Step | None:
    copies = reader.word("copy")
    if not copies and not reader.word("rename", "move"):
        return None
    reader.skip("the", "file")
    source = reader.path()
    if source is None or not reader.word("to"):
        return None
    destination = reader.path()
    if destination is None:
        return None
    given = {"source": source, "destination": destination}
    way = f"{quoted(source)} to {quoted(destination)}"
    if copies:
        return _changing("copy_file", given, about=f"copy {way}", past=f"copied {way}")
    return _changing("move_file", given, about=f"move {way}", past=f"moved {way}")


def _delete(reader: _StepReader) -> Step | None:
    if not reader.word("delete", "remove"):
        return None
    reader.skip("the", "file")
    path = reader.path()
    if path is None:
        return None
    return _changing("delete_file", {"path": path}, about=f"delete {quoted(path)}", past=f"deleted {quoted(path)}")


def _run_tests(reader: _StepReader) -> Step | None:
    if not reader.word("run", "execute"):
        return None
    reader.skip("all", "the", "my", "our", "its", "unit")
    if not reader.word("tests", "test"):
        return None
    reader.skip("suite")
    if not reader.word("in", "of"):
        return RunTests()
    path = reader.path()
    return RunTests(target=path) if path else None


_NO_PROGRAMS = frozenset({"the", "a", "an", "my", "our", "all", "it", "this", "that", "some", "again", "every"})
"""Words that do not begin a bare command: the request is then prose."""


def _run(reader: _StepReader) -> Step | None:
    if not reader.word("run", "execute"):
        return None
    if not reader.word("the") or not reader.word("command"):
        reader.back_to(1)
    command = reader.content() or ""
    if not command:
        first = reader.at
        if reader.word(*_NO_PROGRAMS):
            return None
        reader.back_to(first)
        command = re.sub(r"(?<=\w)\.$", "", reader.rest())  # the full stop of a sentence is not part of the command
    command = command.strip()
    if not command:
        return None
    call = OfflineCall(tool="shell", input={"command": command}, doing=f"I'll run {quoted(command)}.")
    return Calls(
        about=f"run {quoted(command)}", calls=(call,), heading=f"{quoted(command)} returned:", shows_output=True
    )


_READERS: Sequence[Callable[[_StepReader], Step | None]] = (
    _replace,
    _find_files,
    _search,
    _show,
    _list,
    _create,
    _rename_or_copy,
    _delete,
    _run_tests,
    _run,
)


def _within(reader: _StepReader) -> dict[str, str]:
    """Read `in PATH`, if present."""
    before = reader.at
    if reader.word("in"):
        reader.skip("the", "file", "folder")
        path = reader.name()
        if path is not None:
            return {"path": path}
    reader.back_to(before)
    return {}


def _looking(tool: str, given: dict[str, str] | dict[str, str | int], *, about: str, heading: str) -> Step:
    call = OfflineCall(tool=tool, input=given, doing=f"I'll {about}.")
    return Calls(about=about, calls=(call,), heading=heading, shows_output=True)


def _changing(tool: str, given: dict[str, str] | dict[str, str | bool], *, about: str, past: str) -> Step:
    call = OfflineCall(tool=tool, input=given, doing=f"I'll {about}.")
    return Calls(about=about, calls=(call,), heading=f"I {past}.")


def literal_pattern(text: str) -> str:
    """Return a regular expression that matches the text itself, in the syntax of both ripgrep and Python."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)
