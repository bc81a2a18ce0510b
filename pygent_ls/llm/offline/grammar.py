"""Requests that the offline model understands. Pure.

Names, paths and texts may be in backticks, single or double quotes, or bare if they are one word that is not part of
the form itself. Requests that change files or run programs need quotes or a word that looks like a path, so that
ordinary prose is not taken for a request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.display_text import one_line

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
"""The documented forms, with further notes."""

# Words have one space between them. A quoted text is replaced by `q`, a fenced block by `f`, followed by `t` for text,
# `b` for blank or `e` for empty, and its number, all between null characters.
_WORD = r"(?!(?:with|by|to|in|of|from|and|for|the|a|an|it|lines?)(?!\S))[^\s\0]+"
_TEXT = rf"(?:\0q[tb]\d+\0|{_WORD})"
_NAME = rf"(?:\0qt\d+\0|{_WORD})"
_FILE = rf"(?:\0qt\d+\0|(?=[^\s\0]*[./\\]){_WORD})"


def _skip(words: str) -> str:
    return rf"(?: (?:{words})(?!\S))*+"


_PATH = rf"{_skip('the|file')} @?(?P<path>{_FILE})"
_IN = rf"(?: in{_skip('the|file|folder')} @?(?P<path>{_NAME}))?"
_FROM_TO = rf"{_skip('the|file')} @?(?P<source>{_FILE}) to @?(?P<destination>{_FILE})"
_SHOW = rf"(?:show|read|open|print|display|cat){_skip('me|the')}"
_SHOWN = rf"{_skip('of|in|from|the|file')} @?(?P<path>{_NAME})"
_LINES = r" lines? (?P<start_line>\d{1,9})(?: ?(?:[-–]|to) ?(?P<end_line>\d{1,9}))?"
_NEW = rf"{_skip('a|an|the|new|file|named|called')} @?(?P<path>{_FILE}) (?:with|containing)"
_WITH = rf"{_skip('the|contents?|text|following')} (?P<content>\0[qf].\d+\0)"
_BY = rf"(?P<old>{_TEXT}) (?:with|by|to) (?P<new>\0q.\d+\0|{_WORD})"

PATTERNS: Sequence[tuple[str, str]] = (
    ("edit_file", rf"(?:replace|change) {_BY} in{_PATH}"),
    ("find_files", rf"(?:find|search for){_skip('the|all')} files?{_skip('named|called')} (?P<pattern>{_NAME}){_IN}"),
    ("grep_search", rf"(?:find|search|grep|look){_skip('for')} (?P<pattern>{_TEXT}){_IN}"),
    ("read_file", rf"{_SHOW}{_LINES}{_SHOWN}"),
    ("read_file", rf"{_SHOW}{_SHOWN}(?:{_LINES})?"),
    ("list_files", rf"(?:list|ls){_skip('the|all|files|folder|directory|contents|in|of')}(?: @?(?P<path>{_NAME}))?"),
    ("create_file", rf"(?:create|write|make|(?P<overwrite>overwrite)){_NEW}{_WITH}"),
    ("move_file", rf"(?:rename|move){_FROM_TO}"),
    ("copy_file", rf"copy{_FROM_TO}"),
    ("delete_file", rf"(?:delete|remove){_PATH}"),
    ("run_tests", rf"(?:run|execute){_skip('all|the|my|our|unit')} tests?(?: suite)?(?: in @?(?P<target>{_FILE}))?"),
    ("shell", r"(?:run|execute)(?: the command)? (?P<command>\0[qf]t\d+\0)"),
)
"""The tool for each form, and the form as a regular expression whose groups are the tool's arguments."""

_BARE_COMMAND = re.compile(
    r"(?:run|execute)\s+(?:the\s+command\s+)?"
    r"(?!(?:the|a|an|my|our|all|it|this|that|some|again|every)[.,;:!?]*(?!\S))"  # the request is then prose
    r"(?P<command>[^\s\0].*?)(?:(?<=\w)\.)?",
    re.I,
)
_HELP = re.compile(r"help(?: me)?|(?:what can|who are|what are) you(?: do)?|what do you (?:understand|know)", re.I)

_ANSWERS: Mapping[str, tuple[str, str]] = {
    "edit_file": ("replace {old} with {new} in {path}", "I replaced {old} with {new} in {path}."),
    "find_files": ("find files {pattern}", "Files {pattern}:"),
    "grep_search": ("search for {pattern}", "Search for {pattern}:"),
    "read_file": ("show {path}", "{path}:"),
    "list_files": ("list {path}", "In {path}:"),
    "create_file": ("create {path}", "I created {path}."),
    "overwrite": ("overwrite {path}", "I overwrote {path}."),
    "move_file": ("move {source} to {destination}", "I moved {source} to {destination}."),
    "copy_file": ("copy {source} to {destination}", "I copied {source} to {destination}."),
    "delete_file": ("delete {path}", "I deleted {path}."),
    "run_tests": ("run the tests in {target}", "The tests returned:"),
    "shell": ("run {command}", "{command} returned:"),
}
"""`about` and `heading` of the step for each tool."""

# At most 1,000 characters in quotes: otherwise each unclosed quote would search the whole line.
_TOKEN = re.compile(
    r"""
      \n?(?m:^)[ \t]*(?P<fence>`{3,}+|~{3,}+)[^\n]*\n(?P<fenced>.*?)(?:(?m:^)[ \t]*(?P=fence)[^\n]*|\Z)
    | ``(?P<double>[^\n]{1,1000}?)``(?!`)
    | `(?P<single>[^`\n]{0,1000})`
    | "(?P<quotes>[^\n]{0,1000}?)"(?=[\s.,;:!?)]|\Z)
    | '(?P<ticks>[^\n]{0,1000}?)'(?=[\s.,;:!?)]|\Z)
    | “(?P<curly>[^\n”]{0,1000})”
    | (?P<word>\S+)
    """,
    re.X | re.S,
)
_COURTESY = re.compile(
    r"""
      \A\s*(?:(?:[-*•]|\d+[.)])(?!\S)\s*)?
      (?:(?:please|now|first|next|also|and|finally|lastly|just|kindly|(?:can|could|would|will)\s+you)[.,;:!?]*(?!\S)\s*)*
    | (?:\s(?:please|and)[.,;:!?]*|(?<=\0\s)\.)\s*\Z
    """,
    re.X | re.I,
)

MAX_PROMPT_CHARS = 50_000
"""Maximum length of a prompt that is parsed; one of this length blocks the event loop for 0.5 s at worst."""


class OfflineAnswer(Struct, frozen=True, kw_only=True):
    """Text of an answer, and the tool that it calls, if any."""

    text: str
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call_id: str = ""


class Step(Struct, frozen=True, kw_only=True):
    """One request of the user."""

    calls: tuple[OfflineAnswer, ...]
    about: str
    """The request, phrased to follow `I could not …`."""
    heading: str
    """Beginning of the report. The last result follows as output after a colon, otherwise as a sentence."""


class NotUnderstood(Struct, frozen=True, kw_only=True):
    """A part of the prompt that matches no form; then nothing is done."""

    text: str


def parse(prompt: str) -> list[Step] | NotUnderstood:
    """Return the steps, one per line or joined by `then`. The list is empty if the user asks what this model is."""
    if len(prompt) > MAX_PROMPT_CHARS:
        return NotUnderstood(text=prompt)
    hidden: dict[str, tuple[str, str]] = {}
    steps: list[Step] = []
    for line in _TOKEN.sub(partial(_hide, hidden), prompt).split("\n"):
        asked = _COURTESY.sub("", line).strip()
        words = " ".join(filter(None, map(_plain, asked.split())))
        if _HELP.fullmatch(words):
            return []
        if words:
            step = _step(asked, words, hidden)
            if step is None:
                return NotUnderstood(text=_written(asked, hidden))
            steps.append(step)
    return steps


def _hide(hidden: dict[str, tuple[str, str]], found: re.Match[str]) -> str:
    """Replace a quoted text or a fenced block by its key in `hidden`, and the word `then` by a line break."""
    text = found[found.lastgroup or 0]
    if found.lastgroup == "word":
        return "\n" if _plain(text).lower() == "then" else text.replace("\0", "")
    kind = "f" if found.lastgroup == "fenced" else "q"
    key = f"\0{kind}{'t' if text.strip() else 'b' if text else 'e'}{len(hidden)}\0"
    hidden[key] = (found[0], text)
    return f" {key} "


def _written(line: str, hidden: Mapping[str, tuple[str, str]]) -> str:
    return re.sub(r" ?(\0..\d+\0) ?", lambda key: hidden[key[1]][0], line)


def _plain(word: str) -> str:
    """Return the word without trailing punctuation; `.` and `..` are paths."""
    text = word.rstrip(",;:!?")
    return text if not text.strip(".") else word.rstrip(",;:!?.")


def _step(line: str, words: str, hidden: Mapping[str, tuple[str, str]]) -> Step | None:
    for tool, pattern in PATTERNS:
        if found := re.fullmatch(pattern, words, re.I):
            given = {name: value for name, value in found.groupdict().items() if value is not None}
            return _step_of(tool, {name: hidden.get(value, ("", value))[1] for name, value in given.items()})
    bare = _BARE_COMMAND.fullmatch(line)
    return _step_of("shell", {"command": _written(bare["command"], hidden)}) if bare else None


def _step_of(tool: str, given: dict[str, Any]) -> Step:
    shown = {"path": "the workspace", "target": "the workspace"}
    shown |= {name: f"`{one_line(value, 80)}`" for name, value in given.items()}
    about, heading = (text.format_map(shown) for text in _ANSWERS["overwrite" if "overwrite" in given else tool])
    calls: list[OfflineAnswer] = []
    match tool:
        case "edit_file":
            given["all"] = True
            read = OfflineAnswer(text=f"I'll read {shown['path']}.", tool="read_file", input={"path": given["path"]})
            calls.append(read)
        case "create_file" if "overwrite" in given:
            given["overwrite"] = True
        case "grep_search":
            given["pattern"] = literal_pattern(given["pattern"])
        case "read_file" if first := given.get("start_line"):
            given |= {"start_line": int(first), "end_line": int(given.get("end_line", first))}
        case "shell":
            given["command"] = given["command"].strip()
        case _:
            pass
    calls.append(OfflineAnswer(text=f"I'll {about}.", tool=tool, input=given))
    return Step(calls=tuple(calls), about=about, heading=heading)


def literal_pattern(text: str) -> str:
    """Return a regular expression that matches the text itself, in the syntax of both ripgrep and Python."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)
