"""What a path holds: nothing, a link, or a file, as it is told apart from what it held before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import status_of
from pygent_ls.workspace.contents import MAX_CONTENT_BYTES
from pygent_ls.workspace.git_store import Entry
from pygent_ls.workspace.git_taking import USUAL_MODES
from pygent_ls.workspace.restoring import LINK, blob_of, bytes_of_buffer, bytes_on_disk


@dataclass(frozen=True, slots=True)
class Held:
    """What a path holds; equal values are the same file."""

    entry: Entry | None
    mode: int | None = None
    """Permission bits of a file, if they are known and others than git's own two modes stand for."""

    def is_like(self, other: Held) -> bool:
        """Whether both are the same as far as their permission bits are known."""
        return self.entry == other.entry and (self.mode == other.mode or None in (self.mode, other.mode))


NOTHING = Held(None)


class Look:
    """Looks at paths, and reads no file again whose stat data is the same. Blocking; for one thread at a time."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, ...], Held]] = {}

    def at(self, path: Path, unsaved: Mapping[Path, str]) -> Held:
        """What the user sees at a path: the unsaved text, else what is on the disk."""
        if path in unsaved:
            return with_bytes(path, unsaved[path])[0]
        stamp = _stamp(path)
        stamped, held = self._known.get(path, (None, NOTHING))
        if stamped != stamp:
            held = with_bytes(path)[0]
            self._known[path] = stamp, held
        return held


def is_too_large(path: Path) -> bool:
    """Whether a file is larger than what is kept. Blocking."""
    try:
        return status_of(path).st_size > MAX_CONTENT_BYTES
    except OSError:
        return False


def _stamp(path: Path) -> tuple[int, ...]:
    """Of the path itself, links not followed; empty for nothing."""
    try:
        found = status_of(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def with_bytes(path: Path, text: str | None = None) -> tuple[Held, bytes]:
    """What a path holds if it holds that text, by default what is on the disk; and its bytes, empty for nothing.

    What is neither file nor link, what cannot be read, and what is only reached through a link in place of a folder
    counts as nothing. Blocking.
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
    return Held(Entry(found[0].mode if found else "100644", blob_of(data)), unusual), data
