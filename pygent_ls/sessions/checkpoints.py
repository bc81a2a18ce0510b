"""A session's checkpoints: the workspace as it was before each change, and what the agent has written since."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from pygent_ls.agent.diffs import unified_diff
from pygent_ls.agent.messages import Message, now
from pygent_ls.agent.workspace import CopyBytes, DeleteFile, EditPlan, MoveFile, Workspace, WriteText
from pygent_ls.errors import SnapshotError
from pygent_ls.sessions.checkpoint_records import (
    CheckpointRecords,
    Intended,
    Record,
    RecordedCheckpoint,
    TakenBack,
    Written,
    is_old,
)
from pygent_ls.workspace.documents import decode
from pygent_ls.workspace.git_program import SnapshotAbortedError
from pygent_ls.workspace.git_store import Entry
from pygent_ls.workspace.restoring import LINK, blob_of, bytes_of_buffer, entry_on_disk
from pygent_ls.workspace.snapshots import PathChange, Snapshot, Snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation that can be gone back to."""

    messages: tuple[Message, ...] | None = None
    """None: they are in the journal, since a daemon before this one had them in memory."""
    journal_size: int | None = None
    """Of the session's journal by then, which thus tells the messages; None: it has none that outlives the daemon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A state that can be gone back to."""

    id: str
    turn_id: str
    label: str
    created_at: datetime
    snapshot: Snapshot
    conversation: Conversation | None = None
    """The conversation to go back to; None: what came before the turn."""
    changed: set[Path] = field(default_factory=set[Path])
    """What the agent changed from here to the next checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """How a file changed since a checkpoint."""

    path: Path
    patch: str


class Checkpoints:
    """The `Checkpointer` port, and what a front end is shown of it. The oldest checkpoint is the first."""

    def __init__(self, workspace: Workspace, snapshots: Snapshots, records: CheckpointRecords | None = None) -> None:
        self.workspace = workspace
        self.snapshots = snapshots
        """Without `records` nothing of them outlives the daemon."""
        self._records = records
        self._owner = "" if records else uuid4().hex
        self._unrecorded: list[Record] = []
        self.written: dict[Path, Entry | None] = {}
        """What each file held when the agent had last written it; None: it deleted it."""
        self._intended: dict[Path, Entry | None] = {}
        """What files were to hold after edits during which a daemon before this one died."""
        self.not_kept: set[str] = set()
        """The turns before which, or in which, the files could not be kept."""
        self.taken_back: Sequence[str] = ()
        """The checkpoints that bring again what was taken back since the last turn, the last one at the end."""
        self._all: list[Checkpoint] = []
        self._before_program: Snapshot | None = None
        self._told: str | None = None
        self._given_up: str | None = None
        self._one_at_a_time = asyncio.Lock()

    def move(self, other: Checkpoints) -> None:
        """Keep the workspace of the other ones from now on; what was kept stays."""
        self.workspace, self.snapshots = other.workspace, other.snapshots
        self._given_up = None

    def all(self) -> Sequence[Checkpoint]:
        """All of them."""
        return tuple(self._all)

    def find(self, checkpoint_id: str) -> Checkpoint | None:
        """The checkpoint of that id."""
        return next((each for each in self._all if each.id == checkpoint_id), None)

    def recall(self) -> None:
        """Take over what was recorded of the session by a daemon before this one. Blocking."""
        for record in self._records.load() if self._records else ():
            match record:
                case RecordedCheckpoint() if not is_old(record, self.snapshots.days):
                    self._all.append(
                        Checkpoint(
                            id=record.id,
                            turn_id=record.turn_id,
                            label=record.label,
                            created_at=record.created_at,
                            snapshot=record.snapshot,
                            conversation=_recorded(record),
                        )
                    )
                case RecordedCheckpoint():
                    pass
                case TakenBack(checkpoints=ids):
                    self.taken_back = ids
                case Written(path=path, entry=entry):
                    self._note(path, entry)
                case Intended(path=path, entry=entry):
                    self._intended[path] = entry
        self._unrecorded.clear()

    # The port

    async def before_change(self, turn_id: str, label: str) -> str | None:
        """See the port."""
        async with self._one_at_a_time:
            if self._all and self._all[-1].turn_id == turn_id:
                return None
            try:
                self._add(turn_id, f"Before {label}", await self._kept())
            except SnapshotError as error:
                return self._failed(turn_id, error)
            return await self._record(turn_id)

    async def before_program(self, turn_id: str, label: str) -> str | None:
        """See the port."""
        async with self._one_at_a_time:
            self._before_program = None
            try:
                snapshot = self._before_program = await self._kept()
            except SnapshotError as error:
                return self._failed(turn_id, error)
            last = self._all[-1] if self._all else None
            if last is None or last.turn_id != turn_id or last.snapshot.trees != snapshot.trees:
                self._add(turn_id, f"Before {label}", snapshot)
            return await self._record(turn_id)

    async def after_program(self, turn_id: str, label: str) -> str | None:
        """See the port."""
        async with self._one_at_a_time:
            before, self._before_program = self._before_program, None
            if not before:
                return None
            try:
                after = await self._kept(like=before)
                changes = await self.snapshots.changes(before, after)
            except SnapshotError as error:
                return self._failed(turn_id, error)
            for change in changes:
                self._note(change.path, change.new)
            if changes:
                self._add(turn_id, f"After {label}", after)
            return await self._record(turn_id)

    async def about_to_apply(self, plan: EditPlan) -> None:
        """See the port."""
        if self._records is None:
            return
        found: dict[Path, Entry | None] = {}
        for operation in plan.operations:
            match operation:
                case WriteText(path=path, text=text):
                    found[path] = await self._entry(path, text)
                case MoveFile(source=source, destination=destination):
                    inside = await asyncio.to_thread(_files_below, source)
                    for old, new in ((source, destination), *((source / each, destination / each) for each in inside)):
                        found[new] = found.get(old) or await self._entry(old, None)
                        found[old] = None
                case CopyBytes(source=source, destination=destination):
                    found[destination] = await self._entry(source, None)
                case DeleteFile(path=path):
                    found[path] = None
        self._unrecorded += [Intended(path=path, entry=entry) for path, entry in found.items()]
        await self._record()

    async def applied(self, plan: EditPlan) -> None:
        """See the port."""
        texts: dict[Path, str | None] = {}
        """What was written to each path, as the last operation has it; None: whatever stands there now."""
        for operation in plan.operations:
            match operation:
                case WriteText(path=path, text=text):
                    texts[path] = text
                case MoveFile(source=source, destination=destination):
                    inside = await asyncio.to_thread(_files_below, destination)
                    texts[destination] = texts.pop(source, None)
                    texts |= dict.fromkeys([source, *(source / each for each in inside)])
                    texts |= dict.fromkeys(destination / each for each in inside)
                case CopyBytes(destination=path) | DeleteFile(path=path):
                    texts[path] = None
        for path, text in texts.items():
            self._note(path, await self._entry(path, text))
        await self._record()

    # For going back

    def is_own(self, path: Path, entry: Entry | None) -> bool:
        """Whether the agent wrote what stands at a path."""
        return any(path in each and each[path] == entry for each in (self.written, self._intended))

    async def keep_now(
        self, label: str, turn_id: str, conversation: Conversation, like: Snapshot, *, needs_files: bool
    ) -> Checkpoint:
        """A checkpoint of this moment.

        Raises `SnapshotError` where the files cannot be kept, unless they are not needed.
        """
        async with self._one_at_a_time:
            try:
                snapshot = await self._take(like)
            except SnapshotError:
                if needs_files:
                    raise
                snapshot = Snapshot(states={})
            checkpoint = self._add(turn_id, label, snapshot, conversation)
            await self._record()
            return checkpoint

    def went_back(self, path: Path, entry: Entry | None) -> None:
        """A file holds what it held before; that, too, is not the user's doing."""
        self._note(path, entry)

    def note_taken_back(self, checkpoints: Sequence[str]) -> None:
        """What can be brought again now; `record` lets that be known after a restart, too."""
        if self.taken_back != checkpoints:
            self.taken_back = tuple(checkpoints)
            self._unrecorded.append(TakenBack(checkpoints=self.taken_back))

    async def record(self) -> None:
        """Let what went back be known after a restart, too."""
        await self._record()

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """What differs from the checkpoint to what the user sees now. Raises `SnapshotError`."""
        after = await self._take(checkpoint.snapshot)
        changes = await self.snapshots.changes(checkpoint.snapshot, after)
        old = await self.snapshots.contents(
            checkpoint.snapshot, [(each.folder, each.old) for each in changes if each.old]
        )
        new = await self.snapshots.contents(after, [(each.folder, each.new) for each in changes if each.new])
        return [FileDiff(path=each.path, patch=self._patch(each, old, new)) for each in changes]

    async def seen(self, path: Path) -> Entry | None:
        """What the user sees at a path: the unsaved buffer, else what is on the disk."""
        unsaved = (each.text for each in self.workspace.unsaved() if each.path == path)
        return await self._entry(path, next(unsaved, None))

    async def forget(self) -> None:
        """The session is over: where it was to leave nothing, its snapshots go, as far as time allows."""
        if self._owner:
            with contextlib.suppress(SnapshotError):
                await self.snapshots.forget(self._owner, [each.snapshot for each in self._all])

    # Small things

    async def _entry(self, path: Path, text: str | None) -> Entry | None:
        """What is at a path where it holds this text; None: what is on the disk."""
        try:
            on_disk = await asyncio.to_thread(entry_on_disk, path)
        except (OSError, SnapshotError):
            return None
        if text is None or (on_disk is not None and on_disk.mode == LINK):
            return on_disk
        data = await asyncio.to_thread(bytes_of_buffer, path, text)
        return Entry(on_disk.mode if on_disk else "100644", blob_of(data))

    async def _kept(self, like: Snapshot | None = None) -> Snapshot:
        """A snapshot for the agent's own changes. Raises `SnapshotError`, at once where it took too long before."""
        if self._given_up is not None:
            raise SnapshotError(self._given_up)
        try:
            return await self._take(like)
        except SnapshotAbortedError as error:
            self._given_up = str(error)
            raise

    async def _take(self, like: Snapshot | None) -> Snapshot:
        unsaved = self.workspace.unsaved()
        overlays = {each.path: await asyncio.to_thread(bytes_of_buffer, each.path, each.text) for each in unsaved}
        return await self.snapshots.take(self.workspace.folders, overlays, like, owner=self._owner)

    def _add(
        self, turn_id: str, label: str, snapshot: Snapshot, conversation: Conversation | None = None
    ) -> Checkpoint:
        checkpoint = Checkpoint(
            id=f"checkpoint-{uuid4().hex[:12]}",
            turn_id=turn_id,
            label=label,
            created_at=now(),
            snapshot=snapshot,
            conversation=conversation,
        )
        if snapshot or conversation is not None:
            self._all.append(checkpoint)
            self._unrecorded.append(
                RecordedCheckpoint(
                    id=checkpoint.id,
                    turn_id=turn_id,
                    label=label,
                    created_at=checkpoint.created_at,
                    snapshot=snapshot,
                    journal_size=conversation.journal_size if conversation else None,
                )
            )
        return checkpoint

    async def _record(self, turn_id: str | None = None) -> str | None:
        """Write down what is new, so that it outlives the daemon; the reason where that fails, once a turn."""
        records, self._unrecorded = self._unrecorded, []
        if not records or self._records is None:
            return None
        try:
            await asyncio.to_thread(self._records.add, records)
        except OSError as error:
            self._unrecorded = records + self._unrecorded
            if turn_id is None or self._told == turn_id:
                return None
            self._told = turn_id
            return f"The checkpoints of this turn will not outlive the daemon: {error.strerror}."
        return None

    def _note(self, path: Path, entry: Entry | None) -> None:
        self.written[path] = entry
        self._intended.pop(path, None)
        self._unrecorded.append(Written(path=path, entry=entry))
        if self._all:
            self._all[-1].changed.add(path)

    def _failed(self, turn_id: str, error: SnapshotError) -> str | None:
        """The reason, once a turn."""
        self.not_kept.add(turn_id)
        if self._told == turn_id:
            return None
        self._told = turn_id
        return f"The files could not be kept, so what this turn changes cannot be taken back with undo: {error}."

    def _patch(self, change: PathChange, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
        name = self.workspace.shown(change.path)
        before, after = _text(change.old, old), _text(change.new, new)
        if before is None or after is None:
            return f"Binary file {name} differs\n"
        return unified_diff(before, after, name, is_new=change.old is None, is_gone=change.new is None)[0]


def _recorded(record: RecordedCheckpoint) -> Conversation | None:
    return None if record.journal_size is None else Conversation(journal_size=record.journal_size)


def _files_below(folder: Path) -> list[Path]:
    """The files of a folder, relative to it; links are not followed."""
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        found += [(Path(parent) / name).relative_to(folder) for name in (*files, *links)]
    return found


def _text(entry: Entry | None, contents: Mapping[str, bytes]) -> str | None:
    """The text of an entry, empty where there is none; None where it is not text, or no longer kept."""
    if entry is None:
        return ""
    decoded = decode(contents.get(entry.blob, b"\0"))
    return decoded[0] if decoded else None
