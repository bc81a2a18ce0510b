"""Parser for unified diffs as written by git, diff and models, which write wrong counts, omit numbers or add fences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct, field

from pygent_ls.errors import ToolError

NULL = "/dev/null"

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@|@@(?!@)")
"""Header with its numbers, or without them, as models write it. Longer numbers count as missing."""

_PREFIXES = frozenset({("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/")})
"""Prefixes that git puts before the two names of a file, including those of `diff.mnemonicPrefix`."""

_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}

LineSide = Literal[" ", "-", "+"]


class HunkLine(Struct, frozen=True, kw_only=True):
    """Line of a hunk: kept, removed or added."""

    side: LineSide
    text: str
    """Text with its ending, except for the last line of a file that ends without one."""


class PatchHunk(Struct, frozen=True, kw_only=True):
    """Change at one place of a file."""

    header: str
    at: int | None
    """Index, from 0, of the first old line or of the insertion; None if the header has no numbers."""
    lines: tuple[HunkLine, ...]

    @property
    def old(self) -> list[str]:
        """Return the lines that the file is expected to have."""
        return [line.text for line in self.lines if line.side != "+"]

    @property
    def new(self) -> list[str]:
        """Return the lines that replace them."""
        return [line.text for line in self.lines if line.side != "-"]


class FilePatch(Struct, frozen=True, kw_only=True):
    """Changes of a patch to one file. Paths are relative, with `/`."""

    kind: Literal["edit", "create", "delete", "rename"]
    path: str
    """Old name of the file; the new name of a created one."""
    new_path: str
    """New name; differs only if the file is renamed."""
    hunks: tuple[PatchHunk, ...]
    mode: int | None = None
    """Permission bits of a new file; None if the patch gives none."""


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Parse the files of a patch, in its order. Raises `ToolError` with the line, from 1, that cannot be parsed."""
    return _PatchReader(_without_fences(text.split("\n"))).files()


def _without_fences(lines: list[str]) -> list[str]:
    """Blank out a Markdown fence around the patch; the number of lines is kept, so that line numbers stay valid."""
    said = [index for index, line in enumerate(lines) if line.strip()]
    if said and lines[said[0]].startswith("```"):
        lines[said[0]] = ""
        if lines[said[-1]].strip() == "```":
            lines[said[-1]] = ""
    return lines


class _Section(Struct):
    """State of one file while it is parsed; names include git's prefixes."""

    line: int
    old: str = ""
    new: str = ""
    renamed_from: str = ""
    renamed_to: str = ""
    is_new: bool = False
    is_deleted: bool = False
    mode: int | None = None
    is_crlf: bool = False
    """Whether the patch itself has CRLF endings, which are not the file's."""
    hunks: list[PatchHunk] = field(default_factory=list[PatchHunk])


class _PatchReader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._sections: list[_Section] = []

    def files(self) -> tuple[FilePatch, ...]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                self._read_git_header()
            elif self._is_file_header(self._at):
                self._read_file_header()
            elif line.startswith("@@"):
                self._read_hunk()
            elif line.startswith("*** "):
                raise self._wrong("wrong format: apply_patch expects a unified diff, as written by `git diff`")
            else:
                self._at += 1
        if not self._sections:
            raise ToolError(
                "The patch contains no file. It must be a unified diff: for each file a line `--- a/PATH` and a "
                "line `+++ b/PATH`, then hunks that start with `@@ -LINE,COUNT +LINE,COUNT @@`."
            )
        return tuple(_finished(section) for section in self._sections)

    def _wrong(self, what: str, at: int | None = None) -> ToolError:
        number = self._at if at is None else at
        return ToolError(f"Line {number + 1} of the patch ({self._lines[number][:80]!r}): {what}. Nothing was changed.")

    # Headers

    def _is_file_header(self, at: int) -> bool:
        pair = self._lines[at : at + 2]
        return len(pair) == 2 and pair[0].startswith("--- ") and pair[1].startswith("+++ ")

    def _read_git_header(self) -> None:
        section = _Section(self._at)
        section.old, section.new = _git_names(self._lines[self._at].removeprefix("diff --git ").rstrip("\r"))
        self._sections.append(section)
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at].rstrip("\r")
            if line.startswith(("diff --git ", "@@")) or self._is_file_header(self._at):
                return
            self._read_extended(section, line)
            self._at += 1

    def _read_extended(self, section: _Section, line: str) -> None:
        for start, read in (("rename from ", "renamed_from"), ("rename to ", "renamed_to")):
            if line.startswith(start):
                setattr(section, read, _unquoted(line.removeprefix(start)))
        if line.startswith(("copy from ", "copy to ")):
            raise self._wrong("a patch cannot copy files: use copy_file")
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise self._wrong("binary files cannot be patched")
        if line.startswith(("old mode ", "new mode ")):
            raise self._wrong("a patch cannot change the mode of a file: leave it out, and use shell with chmod")
        if line.startswith("new file mode "):
            section.is_new = True
            section.mode = self._mode(line.removeprefix("new file mode "))
        section.is_deleted |= line.startswith("deleted file mode ")

    def _mode(self, said: str) -> int | None:
        match said.strip():
            case "100644":
                return None
            case "100755":
                return 0o755
            case _:
                raise self._wrong("a patch can create only plain files (mode 100644 or 100755)")

    def _read_file_header(self) -> None:
        first, second = self._lines[self._at : self._at + 2]
        old, new = _named(first), _named(second)
        section = self._sections[-1] if self._sections else None
        if section is None or not self._belongs(section, old, new):
            section = _Section(self._at)
            self._sections.append(section)
        section.old, section.new = old, new
        section.is_crlf = second.endswith("\r")
        self._at += 2

    def _belongs(self, section: _Section, old: str, new: str) -> bool:
        """Return whether the names match the git header above them."""
        if section.hunks or not self._lines[section.line].startswith("diff --git "):
            return False
        return not section.old or (old in (section.old, NULL) and new in (section.new, NULL))

    # Hunks

    def _read_hunk(self) -> None:
        if not self._sections:
            raise self._wrong("a hunk comes before the lines `--- a/PATH` and `+++ b/PATH` that name its file")
        section = self._sections[-1]
        header = self._lines[self._at].rstrip("\r")
        found = _HUNK.match(header)
        if found is None:
            raise self._wrong("this is not a hunk header: write `@@ -LINE,COUNT +LINE,COUNT @@`")
        self._at += 1
        lines = self._counted(_count(found[2]), _count(found[3])) if found[1] else None
        if lines is None:
            lines = self._until_boundary()
        if section.is_crlf:
            lines = [HunkLine(side=line.side, text=line.text.replace("\r\n", "\n")) for line in lines]
        at = None if found[1] is None else max(0, int(found[1]) - (0 if found[2] == "0" else 1))
        section.hunks.append(PatchHunk(header=header[:80], at=at, lines=tuple(lines)))

    def _counted(self, n_old: int, n_new: int) -> list[HunkLine] | None:
        """Parse the body by the counts of its header; return None, and read nothing, if they are wrong."""
        start = self._at
        lines: list[HunkLine] = []
        while (n_old > 0 or n_new > 0) and not self._is_boundary(self._at):
            line = self._line()
            if line is None:
                break
            n_old -= line.side != "+"
            n_new -= line.side != "-"
            lines.append(line)
        goes_on = self._at < len(self._lines) and self._lines[self._at].startswith((" ", "+", "-"))
        if n_old or n_new or (goes_on and not self._is_boundary(self._at)):
            self._at = start
            return None
        return lines

    def _until_boundary(self) -> list[HunkLine]:
        """Parse the body up to the first line that cannot be part of it."""
        lines: list[HunkLine] = []
        start = self._at
        while not self._is_boundary(self._at):
            line = self._line()
            if line is None:
                raise self._wrong(
                    "a line of a hunk must start with a space (kept), `-` (removed) or `+` (added); is its first "
                    "character missing?"
                )
            lines.append(line)
        end = self._at
        while lines and end > start and not self._lines[end - 1].strip("\r"):  # blank lines before the next section
            lines.pop()
            end -= 1
        return lines

    def _is_boundary(self, at: int) -> bool:
        line, *below = self._lines[at : at + 3] or [""]
        if line.startswith(("@@", "diff --git ", "Index: ")) or (not line and at >= len(self._lines) - 1):
            return True
        if line == "-- " and below and re.fullmatch(r"\d++\.\d.*", below[0]):  # the signature of a mail by git
            return True
        return self._is_file_header(at) and len(below) == 2 and below[1].startswith("@@")

    def _line(self) -> HunkLine | None:
        """Parse the next line of a body, with the marker below it; return None for a line that cannot be part of it."""
        line = self._lines[self._at]
        side, text = line[:1], line[1:]
        if line.rstrip("\r") == "":  # a kept empty line, whose only space an editor has removed
            side, text = " ", line
        if side not in (" ", "-", "+"):
            return None
        self._at += 1
        has_newline = True
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\"):
            has_newline = False
            self._at += 1
        kept: LineSide = "+" if side == "+" else "-" if side == "-" else " "
        return HunkLine(side=kept, text=f"{text}\n" if has_newline else text)


def _count(said: str | None) -> int:
    return 1 if said is None else int(said)


def _named(line: str) -> str:
    """Return the name in a `---` or `+++` line; a tab ends it, and a time may follow."""
    name = line[4:].rstrip("\r")
    return _unquoted(name) if name.startswith('"') else name.partition("\t")[0].rstrip()


def _git_names(said: str) -> tuple[str, str]:
    """Return the two names of a `diff --git` line; empty if they cannot be separated."""
    if quoted := re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', said):
        return _unquoted(quoted[1]), _unquoted(quoted[2])
    middle = len(said) // 2
    old, new = said[:middle], said[middle + 1 :]
    return (old, new) if old[2:] == new[2:] else ("", "")


def _unquoted(name: str) -> str:
    """Decode a name quoted by git in C style, with bytes beyond ASCII in octal."""
    name = name.strip()
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    raw = bytearray()
    done = 0
    body = name[1:-1]
    for found in _ESCAPE.finditer(body):
        raw += body[done : found.start()].encode("utf-8", "surrogateescape")
        code = found[1]
        raw += bytes([int(code, 8) & 0xFF]) if len(code) == 3 else bytes([_ESCAPED.get(code, ord(code[0]) & 0xFF)])
        done = found.end()
    raw += body[done:].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")


def _finished(section: _Section) -> FilePatch:
    """Build the result for a file. Raises `ToolError` for unclear or impossible changes."""
    old, new = _without_prefixes(section.old, section.new)
    hunks = tuple(section.hunks)
    if section.renamed_from and section.renamed_to:
        for path in (section.renamed_from, section.renamed_to):
            _check_path(path, section)
        return FilePatch(kind="rename", path=section.renamed_from, new_path=section.renamed_to, hunks=hunks)
    if section.is_new or section.old == NULL:
        return FilePatch(kind="create", path=_check_path(new, section), new_path=new, hunks=hunks, mode=section.mode)
    if section.is_deleted or section.new == NULL:
        return FilePatch(kind="delete", path=_check_path(old, section), new_path=old, hunks=hunks)
    if old != new:
        raise ToolError(
            f"Line {section.line + 1} of the patch names two files, {old} and {new}. To rename one, write `diff --git "
            f"a/{old} b/{new}`, `rename from {old}` and `rename to {new}` before its hunks. Nothing was changed."
        )
    if not hunks:
        raise ToolError(f"The patch has no hunk for {old} (line {section.line + 1}). Nothing was changed.")
    return FilePatch(kind="edit", path=_check_path(old, section), new_path=new, hunks=hunks)


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    pair = (old[:2], new[:2])
    if pair in _PREFIXES:
        return old[2:], new[2:]
    if old == NULL:
        return old, new.removeprefix("b/")
    if new == NULL:
        return old.removeprefix("a/"), new
    return old, new


def _check_path(path: str, section: _Section) -> str:
    if not path or path == NULL:
        raise ToolError(f"Line {section.line + 1} of the patch names no file. Nothing was changed.")
    if PurePosixPath(path).is_absolute():
        raise ToolError(f"{path} is an absolute path, but a patch must name files relative to the workspace folder.")
    return path
