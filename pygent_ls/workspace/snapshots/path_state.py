"""State of a path (missing, link or file), for comparison with an earlier state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import status_of
from pygent_ls.workspace.snapshots.blobs import MAX_CONTENT_BYTES
from pygent_ls.workspace.snapshots.capture import USUAL_MODES
from pygent_ls.workspace.snapshots.restore import LINK, blob_of, bytes_of_buffer, bytes_on_disk
from pygent_ls.workspace.snapshots.store import TreeEntry


class Held(Struct, frozen=True):
    """State of a path; equal values mean the same file."""

    entry: TreeEntry | None
    mode: int | None = None
    """Permission bits of a file if they are known and differ from git's own two modes."""

    def is_like(self, other: Held) -> bool:
        """Return whether both are the same as far as their permission bits are known."""
        return self.entry == other.entry and (self.mode == other.mode or None in (self.mode, other.mode))


NOTHING = Held(None)


class Look:
    """Reads the states of paths, and skips files whose stat data is unchanged. Blocking; for one thread at a time."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, ...], Held]] = {}

    def at(self, path: Path, unsaved: Mapping[Path, str]) -> Held:
        """Return the state that the user sees: the unsaved text, else what is on the disk."""
        if path in unsaved:
            return with_bytes(path, unsaved[path])[0]
        stamp = _stamp(path)
        stamped, held = self._known.get(path, (None, NOTHING))
        if stamped != stamp:
            held = with_bytes(path)[0]
            self._known[path] = stamp, held
        return held


def is_too_large(path: Path) -> bool:
    """Return whether a file is too large to be stored. Blocking."""
    try:
        return status_of(path).st_size > MAX_CONTENT_BYTES
    except OSError:
        return False


def _stamp(path: Path) -> tuple[int, ...]:
    """Return the stat data of the path itself, links not followed; empty if it is missing."""
    try:
        found = status_of(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def with_bytes(path: Path, text: str | None = None) -> tuple[Held, bytes]:
    """Return a path's state with that text, by default with what is on the disk, and its bytes, empty if missing.

    Paths that are neither file nor link, unreadable, or behind a link in place of a folder count as missing. Blocking.
    """
    try:
        found = bytes_on_disk(path)
    except (OSError, SnapshotError):
        return NOTHING, b""
    mode = found[2] if found and found[0].mode != LINK else None
    unusual = None if mode in USUAL_MODES else mode
    if text is None or (found and found[0].mode == LINK):
        return (Held(found[0], unusual), found[1]) if found else (NOTHING, b"")
    data = bytes_of_buffer(path, text)
    return Held(TreeEntry(found[0].mode if found else "100644", blob_of(data)), unusual), data
