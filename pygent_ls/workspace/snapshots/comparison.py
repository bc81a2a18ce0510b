"""Differences between two states of a folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pygent_ls.workspace.snapshots.capture import TreeState
from pygent_ls.workspace.snapshots.store import Difference, GitStore, TreeEntry

Pairs = dict[str, tuple[TreeEntry | None, TreeEntry | None]]
"""Old and new entry by path."""


def tree_changes(store: GitStore, before: TreeState, after: TreeState) -> list[Difference]:
    """Compare the trees, which contain unsaved buffers in place of their files."""
    found: Pairs = {path: (old, new) for path, old, new in store.differences(before.tree, after.tree)}
    return _sorted(found | _other_modes(store, before, after, found, before.tree))


def disk_changes(store: GitStore, before: TreeState, after: TreeState) -> list[Difference]:
    """Compare the disk states: files that git does not ignore, and ignored ones that were stored before.

    A file that is newly ignored, or no longer ignored, is not a change in itself. New ignored files are left out.
    """
    found: Pairs = {path: (old, new) for path, old, new in store.differences(before.disk, after.disk)}
    for path, was, now in store.differences(before.ignored, after.ignored):
        old, new = found.get(path, (None, None))
        found[path] = old or was, new or now
        if found[path][0] is None:
            del found[path]
    ignored_before, ignored_after = set(before.ignored_left_out), set(after.ignored_left_out)
    for path, (old, new) in list(found.items()):
        is_unknown = old is None and _is_in(path, ignored_before)
        is_still_there = new is None and path not in after.left_out and _is_in(path, ignored_after)
        if old == new or is_unknown or is_still_there:
            del found[path]
    return _sorted(found | _other_modes(store, before, after, found, before.disk, before.ignored))


def _other_modes(
    store: GitStore, before: TreeState, after: TreeState, found: Mapping[str, object], *trees: str
) -> Pairs:
    """Return files of these trees without other differences whose permission bits differ."""
    differ = [
        path
        for path in before.modes.keys() | after.modes.keys()
        if before.modes.get(path) != after.modes.get(path) and path not in found
    ]
    if not differ:
        return {}
    entries = {path: entry for tree in trees for path, entry in store.entries(tree).items()}
    return {path: (entries[path], entries[path]) for path in differ if path in entries}


def _is_in(path: str, names: Collection[str]) -> bool:
    """Return whether a path, or a folder above it, is one of the names."""
    return path in names or any(above in names for above in _folders(path))


def _folders(path: str) -> list[str]:
    """Return the folders above a path, each with `/` at its end."""
    parts = path.rstrip("/").split("/")[:-1]
    return ["/".join(parts[: n + 1]) + "/" for n in range(len(parts))]


def _sorted(found: Pairs) -> list[Difference]:
    return [(path, old, new) for path, (old, new) in sorted(found.items())]
