"""Differences between two snapshots, as users and tools read them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.workspace.files.document_text import decode
from pygent_ls.workspace.snapshots.snapshots import PathChange
from pygent_ls.workspace.snapshots.store import TreeEntry

Contents = Mapping[str, bytes]
"""Contents by their git name."""


def patch_of(change: PathChange, old: Contents, new: Contents, shown: Callable[[Path], str]) -> str:
    """Return a change as a unified diff, under the file's shown name."""
    found = file_change(change, old, new, shown)
    return f"Binary file {shown(change.path)} differs\n" if found is None else found.patch


def file_change(change: PathChange, old: Contents, new: Contents, shown: Callable[[Path], str]) -> FileChange | None:
    """Return a change with its texts; None if it is not of text, or no longer stored."""
    before, after = _text(change.old, old), _text(change.new, new)
    if before is None or after is None:
        return None
    is_new, is_gone = change.old is None, change.new is None
    diff = unified_diff(before, after, shown(change.path), is_new=is_new, is_gone=is_gone)
    return FileChange(
        path=change.path,
        kind="create" if is_new else "delete" if is_gone else "edit",
        added=diff.added,
        removed=diff.removed,
        patch=diff.patch,
        old_text=before,
        new_text=after,
    )


def _text(entry: TreeEntry | None, contents: Contents) -> str | None:
    """Return the text of an entry, empty without an entry; None if it is not text or no longer stored."""
    if entry is None:
        return ""
    decoded = decode(contents.get(entry.blob, b"\0"))
    return decoded[0] if decoded else None
