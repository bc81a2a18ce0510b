"""Custom commands: each a `NAME.md` with a prompt, in a folder of the user or of the workspace.

The file may begin with front matter between two lines `---`: `description`, `argument-hint`, `agent`, `model`, and
`tools` (or `allowed-tools`). The rest is the prompt. `git/commit.md` is the command `git:commit`. Files are read each
time, and nothing in them is executed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from pygent_ls.agent.truncation import whole_words
from pygent_ls.extensions.front_matter import BrokenFileError, front_matter, line_of, text_of

MAX_FILE_BYTES = 100_000
"""Maximum size of a command file: about 25,000 tokens, far more than a hand-written prompt."""

MAX_COMMANDS = 500
"""Maximum number of commands in one folder; more are left out."""

MAX_LOOKED_AT = 5000
"""Maximum number of files and folders visited in one folder, which may be a link to a whole disk."""

MAX_DESCRIPTION_CHARS = 200

OwnSource = Literal["user", "workspace"]


class OwnCommand(Struct, frozen=True, kw_only=True):
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


class OwnCommands(Struct, frozen=True, kw_only=True):
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
            head, template = front_matter(self._text(path))
            return _made(name, self.source, head, template)
        except BrokenFileError as error:
            return OwnCommand(name=name, source=self.source, problem=str(error))

    def _text(self, path: Path) -> str:
        """Return the content of the file. Raises `BrokenFileError`.

        A workspace's command must not be a link or lie behind one: that would turn a file from elsewhere, or one that
        the rules protect from reading, into a prompt.
        """
        root = self.folder.parents[1] if self.source == "workspace" else None
        return text_of(path, root, MAX_FILE_BYTES)


_PART = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)


def _name_of(path: Path) -> str | None:
    """Return the command name for a file's path; None for other files."""
    parts = path.with_suffix("").parts
    if path.suffix != ".md" or not parts[0][0].isalpha() or not all(map(_PART.fullmatch, parts)):
        return None
    return ":".join(parts).lower()


def _made(name: str, source: OwnSource, head: Mapping[str, Any], template: str) -> OwnCommand:
    if not template:
        raise BrokenFileError("it contains no prompt")
    tools = head.get("tools", head.get("allowed-tools"))
    first_line = template.partition("\n")[0].lstrip("# ")
    return OwnCommand(
        name=name,
        source=source,
        description=_short(line_of(head, "description") or first_line),
        takes=_short(line_of(head, "argument-hint")),
        template=template,
        agent=line_of(head, "agent") or None,
        model=line_of(head, "model") or None,
        tools=None if tools is None else _names(tools),
    )


def _names(value: object) -> tuple[str, ...]:
    """Return the names in a list, or in one text separated by commas or white space outside brackets."""
    if isinstance(value, str):
        names = re.findall(r"[^\s,(]+(?:\([^()]*\))?", value)
    elif isinstance(value, list) and all(isinstance(each, str) for each in cast("list[object]", value)):
        names = [each.strip() for each in cast("list[str]", value)]
    else:
        raise BrokenFileError("`tools` in its front matter is not a list of names")
    return tuple(dict.fromkeys(name.partition("(")[0].strip() for name in names if name))


def _short(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION_CHARS else whole_words(text[:MAX_DESCRIPTION_CHARS])
