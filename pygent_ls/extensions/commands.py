"""Custom commands: each a `NAME.md` with a prompt, in a folder of the user or of the workspace.

The file may begin with front matter between two lines `---`: `description`, `argument-hint`, `agent`, `model`, and
`tools` (or `allowed-tools`). The rest is the prompt. `git/commit.md` is the command `git:commit`. Files are read each
time, and nothing in them is executed.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pygent_ls.agent.truncation import whole_words
from pygent_ls.data_files import read_yaml
from pygent_ls.file_access import read_file

MAX_FILE_BYTES = 100_000
"""Maximum size of a command file: about 25,000 tokens, far more than a hand-written prompt."""

MAX_HEAD_BYTES = 10_000
"""Maximum size of its front matter, which a YAML parser reads."""

MAX_COMMANDS = 500
"""Maximum number of commands in one folder; more are left out."""

MAX_LOOKED_AT = 5000
"""Maximum number of files and folders visited in one folder, which may be a link to a whole disk."""

MAX_DESCRIPTION_CHARS = 200

OwnSource = Literal["user", "workspace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommand:
    """A custom command, in its author's words."""

    name: str
    """Name without the slash, in lower case."""
    source: OwnSource
    description: str = ""
    takes: str = ""
    """Description of its arguments, as shown to the user."""
    template: str = ""
    agent: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the only tools that the model is offered, as written; None offers all."""
    problem: str = ""
    """Why it cannot be used; empty if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommands:
    """A folder with commands."""

    folder: Path
    source: OwnSource

    def read(self) -> list[OwnCommand]:
        """Return the current commands, by name; empty if the folder is missing. Blocking."""
        found: dict[str, OwnCommand] = {}
        for name, path in self._files():
            found.setdefault(name, self._command(name, path))
        return [found[name] for name in sorted(found)]

    def _files(self) -> Iterator[tuple[str, Path]]:
        n_found = n_looked_at = 0
        for here, folders, files in os.walk(self.folder):
            n_looked_at += 1 + len(files)
            if n_looked_at > MAX_LOOKED_AT:
                return
            folders.sort()
            for file in sorted(files):
                path = Path(here, file)
                name = _name_of(path.relative_to(self.folder))
                if name is None:
                    continue
                n_found += 1
                if n_found > MAX_COMMANDS:
                    return
                yield name, path

    def _command(self, name: str, path: Path) -> OwnCommand:
        try:
            head, template = _parts(self._text(path))
            return _made(name, self.source, head, template)
        except _BrokenCommandError as error:
            return OwnCommand(name=name, source=self.source, problem=str(error))

    def _text(self, path: Path) -> str:
        """Return the content of the file. Raises `_BrokenCommandError`.

        A workspace's command must not be a link or lie behind one: that would turn a file from elsewhere, or one that
        the rules protect from reading, into a prompt.
        """
        root = self.folder.parents[1]
        try:
            resolved = root.resolve() / path.relative_to(root) if self.source == "workspace" else path.resolve()
            content, _ = read_file(resolved, MAX_FILE_BYTES)
        except OSError as error:
            raise _BrokenCommandError(_PROBLEMS.get(error.errno or 0, f"it cannot be read: {error.strerror}")) from None
        try:
            return content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise _BrokenCommandError("it is not UTF-8") from None


_PROBLEMS = {
    errno.ELOOP: "it is a link or lies behind one, which is not allowed for a workspace's commands",
    errno.EINVAL: "it is not a file",
    errno.EFBIG: f"it is longer than {MAX_FILE_BYTES:,} bytes",
}


class _BrokenCommandError(Exception):
    """The command cannot be used; the text says why."""


_PART = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)


def _name_of(path: Path) -> str | None:
    """Return the command name for a file's path; None for other files."""
    parts = path.with_suffix("").parts
    if path.suffix != ".md" or not parts[0][0].isalpha() or not all(map(_PART.fullmatch, parts)):
        return None
    return ":".join(parts).lower()


_HINT = re.compile(r"^(argument-hint:[ \t]*)(\[.*\S)[ \t]*$", re.MULTILINE)
"""Hints are often written as `[file] [line]`, which is not valid YAML."""

_HEAD = re.compile(r"---[ \t]*\n(?P<head>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def _parts(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the front matter and the prompt. Raises `_BrokenCommandError`."""
    found = _HEAD.match(text)
    if found is None:
        if re.match(r"---[ \t]*\n", text):
            raise _BrokenCommandError("its front matter does not end: the second line `---` is missing")
        return {}, text.strip()
    head = found["head"]
    if len(head.encode()) > MAX_HEAD_BYTES:
        raise _BrokenCommandError(f"its front matter is longer than {MAX_HEAD_BYTES:,} bytes")
    try:
        documents = read_yaml(_HINT.sub(lambda found: found[1] + json.dumps(found[2]), head))
    except (ValueError, RecursionError):
        raise _BrokenCommandError("its front matter is not YAML") from None
    if len(documents) > 1:
        raise _BrokenCommandError("its front matter is not YAML")
    given: object = documents[0] if documents else None
    if given is None:
        return {}, text[found.end() :].strip()
    if not isinstance(given, Mapping):
        raise _BrokenCommandError("its front matter is not a table of `key: value`")
    return cast("Mapping[str, Any]", given), text[found.end() :].strip()


def _made(name: str, source: OwnSource, head: Mapping[str, Any], template: str) -> OwnCommand:
    if not template:
        raise _BrokenCommandError("it contains no prompt")
    tools = head.get("tools", head.get("allowed-tools"))
    first_line = template.partition("\n")[0].lstrip("# ")
    return OwnCommand(
        name=name,
        source=source,
        description=_short(_line(head, "description") or first_line),
        takes=_short(_line(head, "argument-hint")),
        template=template,
        agent=_line(head, "agent") or None,
        model=_line(head, "model") or None,
        tools=None if tools is None else _names(tools),
    )


def _line(head: Mapping[str, Any], key: str) -> str:
    """Return the value as one line. Raises `_BrokenCommandError`."""
    value = head.get(key)
    if value is not None and not isinstance(value, str | int | float):
        raise _BrokenCommandError(f"`{key}` in its front matter is not a string")
    return "" if value is None else " ".join(str(value).split())


def _names(value: object) -> tuple[str, ...]:
    """Return the names in a list, or in one text separated by commas or white space outside brackets."""
    if isinstance(value, str):
        names = re.findall(r"[^\s,(]+(?:\([^()]*\))?", value)
    elif isinstance(value, list) and all(isinstance(each, str) for each in cast("list[object]", value)):
        names = [each.strip() for each in cast("list[str]", value)]
    else:
        raise _BrokenCommandError("`tools` in its front matter is not a list of names")
    return tuple(dict.fromkeys(name.partition("(")[0].strip() for name in names if name))


def _short(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION_CHARS else whole_words(text[:MAX_DESCRIPTION_CHARS])
