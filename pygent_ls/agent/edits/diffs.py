"""Unified diffs of what an edit plan would change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pygent_ls.agent.edits.differences import Block, common_head, common_tail, differing_blocks
from pygent_ls.agent.ports.workspace import (
    ChangeKind,
    CopyBytes,
    DeleteFile,
    EditPlan,
    FileChange,
    FileOperation,
    LineDiff,
    MoveFile,
    WriteText,
)

CONTEXT_LINES = 3
"""Lines of context around a change, as in `diff -u`."""

NO_NEWLINE = "\\ No newline at end of file\n"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_GIT_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_UNQUOTED_NAME = re.compile(r'[^\x00-\x1f\x7f"\\]*')


def split_lines(text: str) -> list[str]:
    """Return the lines with their endings; only CRLF, LF and CR end a line, as in the Language Server Protocol."""
    return _LINE.findall(text)


def signed_lines(old: str, new: str) -> list[str]:
    """Return the removed and the inserted lines of a hunk, without their ends, as a diff shows them."""
    sides = (("-", old), ("+", new))
    return [sign + line.rstrip("\r\n") for sign, text in sides for line in split_lines(text)]


def changes_of(plan: EditPlan, shown: Callable[[Path], str]) -> tuple[FileChange, ...]:
    """Return what the plan would do to each file."""
    return tuple(_change(operation, shown) for operation in plan.operations)


def _change(operation: FileOperation, shown: Callable[[Path], str]) -> FileChange:
    match operation:
        case WriteText(path=path, before=before, text=text, diff=diff):
            old = before.text if before else ""
            patch, added, removed = diff or unified_diff(old, text, shown(path), is_new=before is None)
            kind = "edit" if before else "create"
            return FileChange(
                path=path, kind=kind, added=added, removed=removed, patch=patch, old_text=old, new_text=text
            )
        case CopyBytes(destination=path):
            return FileChange(path=path, kind="create", added=0, removed=0, patch="")
        case MoveFile(source=source, destination=path):
            patch = f"rename from {shown(source)}\nrename to {shown(path)}\n"
            return FileChange(path=path, kind="move", added=0, removed=0, patch=patch)
        case DeleteFile(path=path, before=before):
            old = before.text if before else ""
            patch, _, removed = unified_diff(old, "", shown(path), is_gone=True)
            return FileChange(path=path, kind="delete", added=0, removed=removed, patch=patch, old_text=old)


def unified_diff(old: str, new: str, name: str, *, is_new: bool = False, is_gone: bool = False) -> LineDiff:
    """Return the patch, and how many lines it adds and removes; the patch is empty if nothing differs.

    `git apply` accepts it. `name` is relative, with `/`. Lines end at `\\n` only, as in git: line endings are part of
    the patch.
    """
    old_window, new_window, n_skipped = _around_the_change(old, new)
    old_lines, new_lines = _GIT_LINE.findall(old_window), _GIT_LINE.findall(new_window)
    blocks = differing_blocks(old_lines, new_lines)
    if not blocks:
        return LineDiff("", 0, 0)
    before = "/dev/null" if is_new else _header("a", name)
    after = "/dev/null" if is_gone else _header("b", name)
    hunks = "".join(_hunk(group, old_lines, new_lines, n_skipped) for group in _groups(blocks))
    added = sum(block.new_end - block.new_start for block in blocks)
    removed = sum(block.old_end - block.old_start for block in blocks)
    return LineDiff(f"--- {before}\n+++ {after}\n{hunks}", added, removed)


def _around_the_change(old: str, new: str) -> tuple[str, str, int]:
    """Return both texts from some lines before the differences to some lines after them, and how many lines come
    before.

    Splitting all of a long text for a small change is most of the cost of its diff.
    """
    n_head = common_head(old, new)
    n_tail = common_tail(old, new, n_head)
    start = old.rfind("\n", 0, n_head) + 1
    end = _line_end(old, len(old) - n_tail)
    for _ in range(CONTEXT_LINES):
        start = old.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _line_end(old, end)
    return old[start:end], new[start : len(new) - (len(old) - end)], old.count("\n", 0, start)


def _line_end(text: str, offset: int) -> int:
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield groups of blocks whose context would touch."""
    group: list[Block] = []
    for block in blocks:
        if group and block.old_start - group[-1].old_end > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(group: Sequence[Block], old: Sequence[str], new: Sequence[str], n_skipped: int) -> str:
    n_before = min(CONTEXT_LINES, group[0].old_start)
    n_after = min(CONTEXT_LINES, len(old) - group[-1].old_end)
    old_range = _range(n_skipped + group[0].old_start - n_before, n_skipped + group[-1].old_end + n_after)
    new_range = _range(n_skipped + group[0].new_start - n_before, n_skipped + group[-1].new_end + n_after)
    lines = [f"@@ -{old_range} +{new_range} @@\n"]
    done = group[0].old_start - n_before
    for block in group:
        lines += (f" {line}" for line in old[done : block.old_start])
        lines += (f"-{line}" for line in old[block.old_start : block.old_end])
        lines += (f"+{line}" for line in new[block.new_start : block.new_end])
        done = block.old_end
    lines += (f" {line}" for line in old[done : done + n_after])
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in lines)


def _range(start: int, end: int) -> str:
    """Return a range of lines as in a hunk's header: counted from one, or the line before an empty range."""
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def _header(side: str, name: str) -> str:
    """Return a name as git writes it: a tab after one with spaces, quotes around one with special characters."""
    if _UNQUOTED_NAME.fullmatch(name):
        return f"{side}/{name}\t" if " " in name else f"{side}/{name}"
    quoted = "".join(_escaped(character) for character in name)
    return f'"{side}/{quoted}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\{ord(character):03o}" if character < " " or character == "\x7f" else character


def kind_of_both(earlier: ChangeKind, later: ChangeKind) -> ChangeKind | None:
    """Return the kind of two successive changes of one file together; None if the second undoes the first."""
    match earlier, later:
        case "create", "delete":
            return None
        case "delete", "create":
            return "edit"
        case (("create" | "move"), "edit"):
            return earlier
        case _:  # otherwise the second change decides
            return later


def touched_by(plan: EditPlan) -> Iterator[Path]:
    """Yield the paths whose content changes, or that cease to exist, once the plan is applied."""
    for operation in plan.operations:
        yield from _touched(operation)


def _touched(operation: FileOperation) -> tuple[Path, ...]:
    match operation:
        case MoveFile(source=source, destination=destination):
            return source, destination
        case WriteText(path=path) | DeleteFile(path=path):
            return (path,)
        case CopyBytes(destination=destination):
            return (destination,)
