"""Checkpoint records that outlive the daemon: one append-only file per session in the state folder.

Each line is a JSON object: a checkpoint with the names of its trees in the snapshot stores, a change of a path with its
author, or a restore. A line cut short by a kill is skipped; the lines before it stay valid. The conversation is not
stored here. Contents of changed paths are stored beside the files, under their git names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from pygent_ls.sessions.checkpoints.versions import Author
from pygent_ls.workspace.git.worktree import WorktreePlace
from pygent_ls.workspace.snapshots.blobs import Contents, forget_old_contents
from pygent_ls.workspace.snapshots.capture import EMPTY_TREE, TreeState
from pygent_ls.workspace.snapshots.path_state import NOTHING, Held
from pygent_ls.workspace.snapshots.snapshots import Snapshot
from pygent_ls.workspace.snapshots.store import TreeEntry, put

VERSION = 2
"""Version of the line format. Lines of a later version are skipped. So are lines of version 1 that record what the
agent wrote, because they do not record the previous content."""

DAMAGED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""Exceptions for a line that is not a record."""

DAY_S = 86_400

PUT_AWAY = ".deleted"
"""Suffix of a session's file while the session is in the trash."""

CONTENTS = ".contents"
"""Suffix of the folder that holds the contents of a session's changed paths."""

SUFFIX = ".checkpoints"
"""Suffix of a session's file. It is not `.jsonl`, so that a search of the state folder for `ID.jsonl` finds only the
journal."""


class RecordedCheckpoint(Struct, frozen=True, kw_only=True):
    """Stored form of a checkpoint."""

    id: str
    turn_id: str
    label: str
    created_at: datetime
    snapshot: Snapshot
    journal_size: int | None = None
    """Size of the session's journal up to which it holds the conversation to restore; None restores the conversation
    before the turn."""


class TakenBack(Struct, frozen=True, kw_only=True):
    """Checkpoints that redo what was undone since the last turn, from this record on."""

    checkpoints: tuple[str, ...]
    rest: str = ""
    """Id of the checkpoint that the last undo restored, if it left files that a command may have changed; else
    empty."""


class Changed(Struct, frozen=True, kw_only=True):
    """Change of a path from `before` to `after`, as `Versions.changed` takes it."""

    path: Path
    before: Held
    after: Held
    author: Author
    moved: Path | None = None
    """Other path, if the path was moved."""
    is_done: bool = True
    """False for an edit that is about to be made. Another record follows unless the daemon dies."""


class Went(Struct, frozen=True, kw_only=True):
    """Restore of an earlier version of a path, as `Versions.went_to` takes it."""

    path: Path
    number: int


class Unkept(Struct, frozen=True, kw_only=True):
    """Path that is in no snapshot and was changed or removed while a command ran."""

    path: Path


class KnownTurn(Struct, frozen=True, kw_only=True):
    """Whether, from this record on, it is known what the commands of a turn changed; False while one runs."""

    turn_id: str
    is_known: bool


Record = RecordedCheckpoint | Changed | Went | TakenBack | Unkept | KnownTurn

Stamp = tuple[int, int, int]
"""Inode, size and modification time of a file."""


class CheckpointRecords:
    """Records of one session. Blocking; raises OSError if they cannot be written."""

    def __init__(self, root: Path, session_id: str, *, days: int) -> None:
        self._root = root
        self._days = days
        self._file = root / f"{session_id}{SUFFIX}"
        self.contents = Contents(self._contents)
        """Store of the contents of the changed paths."""

    def add(self, records: Sequence[Record]) -> None:
        """Append the records in one write. The first write of a session also removes other sessions' expired
        records."""
        if not self.exists:
            forget_old(self._root, self._days)
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = "".join(json.dumps(self._line(each)) + "\n" for each in records)
        fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "ab+") as file:
            if _is_cut_short(fd):
                lines = "\n" + lines
            file.write(lines.encode())

    def stamp(self) -> Stamp | None:
        """Return a value that differs after each change; None if the session has no records."""
        try:
            found = self._file.stat()
        except (OSError, ValueError):  # the second for an id that cannot be a name
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def load(self) -> Iterator[Record]:
        """Yield all readable records in order; yield nothing if the session has none."""
        with contextlib.suppress(OSError):
            for line in self._file.read_bytes().splitlines():
                with contextlib.suppress(*DAMAGED):
                    given: Any = json.loads(line)
                    if given["version"] <= VERSION:
                        yield self._record(given)

    def put_away(self) -> None:
        """Hide the records while their session is in the trash. They are not found, and do not expire."""
        self._file.replace(self._put_away)

    def bring_back(self) -> None:
        """Make the records of a restored session visible again."""
        self._put_away.replace(self._file)

    def forget(self) -> None:
        """Delete the records for good."""
        for each in (self._file, self._put_away):
            each.unlink(missing_ok=True)
        shutil.rmtree(self._contents, ignore_errors=True)

    @property
    def _contents(self) -> Path:
        return self._file.with_suffix(CONTENTS)

    @property
    def _put_away(self) -> Path:
        return self._file.with_suffix(PUT_AWAY)

    @property
    def exists(self) -> bool:
        """Whether the session has records."""
        return self._file.exists()

    def _line(self, record: Record) -> Mapping[str, object]:
        match record:
            case Changed():
                return {
                    "version": VERSION,
                    "type": "changed",
                    "path": str(record.path),
                    "before": _held(record.before),
                    "after": _held(record.after),
                    "author": record.author,
                    "done": record.is_done,
                    **({} if record.moved is None else {"moved": str(record.moved)}),
                }
            case Went(path=path, number=number):
                return {"version": VERSION, "type": "went", "path": str(path), "number": number}
            case KnownTurn(turn_id=turn_id, is_known=is_known):
                return {"version": VERSION, "type": "known turn", "turn": turn_id, "known": is_known}
            case Unkept(path=path):
                return {"version": VERSION, "type": "unkept", "path": str(path)}
            case TakenBack(checkpoints=checkpoints, rest=rest):
                return {"version": VERSION, "type": "taken back", "checkpoints": list(checkpoints), "rest": rest}
            case RecordedCheckpoint():
                return {
                    "version": VERSION,
                    "type": "checkpoint",
                    "id": record.id,
                    "turn": record.turn_id,
                    "label": record.label,
                    "created": record.created_at.isoformat(),
                    "states": [self._state(*each) for each in record.snapshot.states.values()],
                    **({} if record.journal_size is None else {"journal_size": record.journal_size}),
                }

    def _record(self, given: Any) -> Record:
        if given["type"] == "changed":
            return Changed(
                path=Path(given["path"]),
                before=_read_held(given["before"]),
                after=_read_held(given["after"]),
                author=_AUTHORS[given["author"]],
                moved=Path(given["moved"]) if "moved" in given else None,
                is_done=bool(given["done"]),
            )
        if given["type"] == "went":
            return Went(path=Path(given["path"]), number=int(given["number"]))
        if given["type"] == "known turn":
            return KnownTurn(turn_id=str(given["turn"]), is_known=bool(given["known"]))
        if given["type"] == "unkept":
            return Unkept(path=Path(given["path"]))
        if given["type"] == "taken back":
            return TakenBack(checkpoints=tuple(map(str, given["checkpoints"])), rest=str(given.get("rest", "")))
        states = [self._read_state(each) for each in given["states"]]
        journal_size = given.get("journal_size")
        return RecordedCheckpoint(
            id=str(given["id"]),
            turn_id=str(given["turn"]),
            label=str(given["label"]),
            created_at=datetime.fromisoformat(given["created"]),
            snapshot=Snapshot(states={place.folder: (place, state) for place, state in states}),
            journal_size=journal_size if isinstance(journal_size, int) else None,
        )

    def _state(self, place: WorktreePlace, state: TreeState) -> Mapping[str, object]:
        return {
            "folder": str(place.folder),
            "top": str(place.top),
            "index": str(place.index) if place.index else None,
            "excludes": [str(each) for each in place.excludes],
            "tree": state.tree,
            "disk": state.disk,
            "ignored": state.ignored,
            "ignored_left_out": list(state.ignored_left_out),
            "patterns": state.patterns,
            "modes": self._keep_modes(state.modes),
            "left_out": sorted(state.left_out),
            "nested": list(state.nested),
        }

    def _read_state(self, given: Any) -> tuple[WorktreePlace, TreeState]:
        place = WorktreePlace(
            folder=Path(given["folder"]),
            top=Path(given["top"]),
            index=Path(given["index"]) if given["index"] else None,
            excludes=tuple(Path(each) for each in given["excludes"]),
        )
        modes: dict[str, int] = {}
        if given["modes"]:
            with contextlib.suppress(OSError):  # without it, the default modes are used
                modes = json.loads((self._root / "modes" / str(given["modes"])).read_bytes())
        left_out, nested = frozenset(map(str, given["left_out"])), tuple(map(str, given["nested"]))
        tree = str(given["tree"])
        return place, TreeState(
            tree=tree,
            disk=str(given.get("disk", tree)),
            ignored=str(given.get("ignored", EMPTY_TREE)),
            ignored_left_out=tuple(map(str, given.get("ignored_left_out", ()))),
            patterns=str(given.get("patterns", "")),
            modes=modes,
            left_out=left_out,
            nested=nested,
        )

    def _keep_modes(self, modes: Mapping[str, int]) -> str | None:
        """Store the modes in a file and return its name. They can be many, and are mostly the same in each snapshot."""
        if not modes:
            return None
        data = json.dumps(modes, sort_keys=True).encode()
        file = self._root / "modes" / hashlib.sha256(data).hexdigest()
        if file.exists():
            file.touch()
        else:
            put(file, data)
        return file.name


_AUTHORS: Mapping[str, Author] = {each: each for each in get_args(Author)}


def _held(held: Held) -> Sequence[str | int | None] | None:
    return [held.entry.mode, held.entry.blob, held.mode] if held.entry else None


def _read_held(given: Any) -> Held:
    if given is None:
        return NOTHING
    mode, blob, bits = given
    return Held(TreeEntry(str(mode), str(blob)), None if bits is None else int(bits))


def session_of(root: Path, checkpoint_id: str) -> str | None:
    """Return the id of the session whose records contain that checkpoint. Blocking."""
    wanted = json.dumps(checkpoint_id).encode()
    for file in _files_in(root):
        with contextlib.suppress(OSError):
            if b'"id": ' + wanted in file.read_bytes():
                return file.stem
    return None


def forget_old(root: Path, days: int) -> None:
    """Remove the records of sessions without a checkpoint in that many days. Blocking."""
    oldest = time.time() - days * DAY_S
    for folder in root.glob(f"*{CONTENTS}"):
        forget_old_contents(folder, days)
    for file in (*_files_in(root), *_files_in(root / "modes", "*")):
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()


def forget_put_away(root: Path, kept: Container[str]) -> None:
    """Remove the trashed records of all sessions except these. Blocking."""
    for file in _files_in(root, f"*{PUT_AWAY}"):
        if file.stem not in kept:
            with contextlib.suppress(OSError):
                file.unlink()
            shutil.rmtree(file.with_suffix(CONTENTS), ignore_errors=True)


def is_old(record: RecordedCheckpoint, days: int) -> bool:
    """Whether the record's snapshot may have been pruned."""
    return record.created_at < datetime.now(UTC) - timedelta(days=days)


def _files_in(folder: Path, pattern: str = f"*{SUFFIX}") -> Iterable[Path]:
    return sorted(file for file in folder.glob(pattern) if file.is_file())


def _is_cut_short(fd: int) -> bool:
    """Whether a daemon was killed while it wrote the last line."""
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"
