"""A session's checkpoints: snapshots of the workspace before each change, and the versions of what was changed
since."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from msgspec import Struct, field

from pygent_ls.agent.edits.checkpointer import MAX_CHANGES, ProgramEnd
from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.messages import Message, now
from pygent_ls.agent.ports.workspace import (
    EditPlan,
    FileChange,
    Workspace,
)
from pygent_ls.errors import SnapshotError
from pygent_ls.sessions.checkpoints.path_changes import file_change, patch_of
from pygent_ls.sessions.checkpoints.planned_edit import PlannedEdit
from pygent_ls.sessions.checkpoints.records import (
    Changed,
    CheckpointRecords,
    KnownTurn,
    Record,
    RecordedCheckpoint,
    TakenBack,
    Unkept,
    Went,
    is_old,
)
from pygent_ls.sessions.checkpoints.versions import Author, Versions
from pygent_ls.sessions.checkpoints.write_log import WriteLog
from pygent_ls.workspace.git.program import SnapshotAbortedError
from pygent_ls.workspace.snapshots.blobs import Contents
from pygent_ls.workspace.snapshots.excluded_files import Stamps, changed_since, stamps_of
from pygent_ls.workspace.snapshots.path_state import NOTHING, Held, Look, is_too_large, with_bytes
from pygent_ls.workspace.snapshots.restore import bytes_of_buffer
from pygent_ls.workspace.snapshots.snapshots import PathChange, Snapshot, Snapshots
from pygent_ls.workspace.snapshots.store import TreeEntry

NO_SNAPSHOT = Snapshot(states={})

UNKNOWN = Held(TreeEntry("100644", ""))
"""State of a path that a command names and that cannot be backed up: a folder, or too large."""

MAX_NAMED = 500
"""Maximum number of paths named by a command that are read before it runs."""


class Conversation(Struct, frozen=True, kw_only=True):
    """A conversation that can be restored."""

    messages: tuple[Message, ...] | None = None
    """None if the messages are only in the journal, because an earlier daemon had them in memory."""
    journal_size: int | None = None
    """Size up to which the session's journal holds the messages; None if the session has no journal that outlives the
    daemon."""


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A state that can be restored."""

    id: str
    turn_id: str
    label: str
    created_at: datetime
    snapshot: Snapshot
    """Empty if the workspace could not be backed up. The versions of what tools changed can be restored even then."""
    moment: int = 0
    """Argument of `Versions.at`."""
    conversation: Conversation | None = None
    """Conversation to restore; None restores the conversation before the turn."""
    changed: set[Path] = field(default_factory=set[Path])
    """Files that the agent changed between this checkpoint and the next."""


class FileDiff(Struct, frozen=True, kw_only=True):
    """Difference of a file between a checkpoint and now."""

    path: Path
    patch: str


class _RunningProgram(Struct, frozen=True, kw_only=True):
    """A running program, and the positions in the logs of changes at which it began."""

    before: Snapshot
    named: NamedPaths
    held: Mapping[Path, Held]
    """What the named paths held when it began, even if git ignores them."""
    unkept: Stamps
    """Stamps of the files that could not be backed up."""
    was_known: bool
    """Whether it was known before what the turn's commands had changed."""
    told: int
    logged: int


class Checkpoints:
    """Implements the `Checkpointer` port, and what a front end is shown of it. Checkpoints are ordered, oldest
    first."""

    def __init__(
        self,
        workspace: Workspace,
        snapshots: Snapshots,
        records: CheckpointRecords | None = None,
        log: WriteLog | None = None,
    ) -> None:
        """Without `records`, no checkpoint outlives the daemon. `log` is shared with the daemon's other sessions."""
        self.workspace = workspace
        self.snapshots = snapshots
        self._records = records
        self._log = log or WriteLog()
        self._contents = records.contents if records else Contents(None)
        self._owner = "" if records else uuid4().hex
        self._unrecorded: list[Record] = []
        self.versions: dict[Path, Versions] = {}
        """Versions of the paths that the agent has changed."""
        self._unkept: dict[Path, int] = {}
        """Paths that changed while a command ran and were not backed up, with the moment of the last change."""
        self._moment = 0
        self._edit: PlannedEdit | None = None
        """Plan that is being applied."""
        self._look = Look()
        self.not_kept: set[str] = set()
        """Ids of turns whose commands' changes are unknown, because the files could not be backed up."""
        self.taken_back = TakenBack(checkpoints=())
        """Checkpoints that redo what was undone since the last turn, the last undo at the end."""
        self._all: list[Checkpoint] = []
        self._program: _RunningProgram | None = None
        self._told: str | None = None
        self._given_up: str | None = None
        self._one_at_a_time = asyncio.Lock()

    def move(self, other: Checkpoints) -> None:
        """Back up the workspace of `other` from now on. Existing checkpoints stay."""
        self.workspace, self.snapshots = other.workspace, other.snapshots
        self._given_up = None

    def all(self) -> Sequence[Checkpoint]:
        """Return all checkpoints."""
        return tuple(self._all)

    def undone(self) -> Mapping[str, Sequence[Path]]:
        """Return, by turn id, the files in which no change that the agent made in that turn remains."""
        ends = [*(each.moment for each in self._all), self._moment][1:]
        stands: dict[tuple[str, Path], bool] = {}
        for checkpoint, end in zip(self._all, ends, strict=True):
            for path in checkpoint.changed if checkpoint.conversation is None else ():
                key = checkpoint.turn_id, path
                is_undone = self.versions[path].is_undone(checkpoint.moment, end)
                stands[key] = stands.get(key, False) or not is_undone
        found: dict[str, list[Path]] = {}
        for (turn_id, path), is_there in stands.items():
            if not is_there:
                found.setdefault(turn_id, []).append(path)
        return found

    def find(self, checkpoint_id: str) -> Checkpoint | None:
        """Return the checkpoint of that id."""
        return next((each for each in self._all if each.id == checkpoint_id), None)

    def recall(self) -> None:
        """Load what an earlier daemon recorded of the session. Blocking."""
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
                            moment=self._moment,
                            conversation=_recorded(record),
                        )
                    )
                case RecordedCheckpoint():
                    pass
                case TakenBack():
                    self.taken_back = record
                case KnownTurn(turn_id=turn_id, is_known=is_known):
                    (self.not_kept.discard if is_known else self.not_kept.add)(turn_id)
                case Changed() | Went() | Unkept():
                    with contextlib.suppress(LookupError):  # an earlier line is damaged
                        self._take(record)
        self._unrecorded.clear()

    # The Checkpointer port

    async def before_change(self, turn_id: str, label: str) -> str | None:
        """Implement `Checkpointer.before_change`. A failed snapshot is not reported, because what tools replace is
        stored separately."""
        async with self._one_at_a_time:
            self._log.writes(self, ())  # left by an edit that failed
            if self._all and self._all[-1].turn_id == turn_id:
                return None
            await self._see_all()
            try:
                snapshot = await self._kept()
            except SnapshotError:
                snapshot = NO_SNAPSHOT
            self._add(turn_id, f"Before {label}", snapshot)
            return await self._record(turn_id)

    async def before_program(self, turn_id: str, label: str, named: NamedPaths) -> str | None:
        """Implement `Checkpointer.before_program`."""
        async with self._one_at_a_time:
            self._program = None
            self._log.writes(self, ())  # left by an edit that failed
            told, logged = self.workspace.told(), self._log.now()
            is_first = not self._all or self._all[-1].turn_id != turn_id
            if is_first:
                await self._see_all()
            try:
                snapshot = await self._kept()
            except SnapshotError as error:
                if is_first:
                    self._add(turn_id, f"Before {label}", NO_SNAPSHOT)
                return await self._failed(turn_id, error)
            held = await asyncio.to_thread(self._keep_named, named)
            left_out = [*snapshot.left_out, *(path for path in named.paths if not self._is_inside(path))]
            files = [path for path in left_out if held.get(path, UNKNOWN) == UNKNOWN]
            unkept = await asyncio.to_thread(stamps_of, files)
            was_known = turn_id not in self.not_kept
            self._know(turn_id, is_known=False)  # a cancel waits only briefly, and the daemon may be killed
            self._program = _RunningProgram(
                was_known=was_known, before=snapshot, named=named, held=held, unkept=unkept, told=told, logged=logged
            )
            if is_first or self._all[-1].snapshot.trees != snapshot.trees:
                self._add(turn_id, f"Before {label}", snapshot)
            return await self._record(turn_id)

    async def after_program(
        self, turn_id: str, label: str, also_named: NamedPaths | None = None, *, apart_from: Collection[Path] = ()
    ) -> ProgramEnd:
        """Implement `Checkpointer.after_program`."""
        async with self._one_at_a_time:
            program, self._program = self._program, None
            if program is None:
                return ProgramEnd()
            try:
                after = await self._kept(like=program.before)
                changes = await self.snapshots.disk_changes(program.before, after)
                created = [each for each in changes if each.old is None]
                shown = await self.snapshots.ignored(program.before, created)  # they existed before, but were ignored
            except SnapshotError as error:
                return ProgramEnd(problem=await self._failed(turn_id, error))
            self._know(turn_id, is_known=program.was_known)
            named = (program.named, also_named or program.named)
            others = {*self.workspace.told_since(program.told), *self._log.by_others(self, program.logged), *apart_from}
            its_own: list[Path] = []
            left_alone = {*others, *shown, *program.unkept}
            its_changes = [each for each in changes if each.path not in left_alone]
            for change in its_changes:
                author = self._author(program, change, named)
                before = Held(change.old, program.before.mode(change.path))
                made = Held(change.new, after.mode(change.path))
                if change.new is None and after.is_left_out(change.path):  # it is too large now
                    made = (await asyncio.to_thread(with_bytes, change.path))[0]
                self._change(change.path, before, made, author)
                if author == "agent":
                    its_own.append(change.path)
            its_own += await self._changed_named(program, after, others | {change.path for change in changes})
            for path in await asyncio.to_thread(lambda: [*changed_since(program.unkept)]):
                if path not in others and program.held.get(path, UNKNOWN) == UNKNOWN:
                    self._keep_record(Unkept(path=path))
            self._log.wrote(self, its_own)
            if changes:
                self._add(turn_id, f"After {label}", after)
            problem = await self._record(turn_id)
            texts = await self._texts_of(its_changes[:MAX_CHANGES], program.before, after) if also_named else ()
            return ProgramEnd(problem=problem, changes=texts, n_more=len(its_changes[MAX_CHANGES:]))

    async def _texts_of(
        self, changes: Sequence[PathChange], before: Snapshot, after: Snapshot
    ) -> tuple[FileChange, ...]:
        """Return the changes with their texts, without those of files that are not text."""
        try:
            old = await self.snapshots.contents(before, [(each.folder, each.old) for each in changes if each.old])
            new = await self.snapshots.contents(after, [(each.folder, each.new) for each in changes if each.new])
        except SnapshotError:
            return ()
        shown = self.workspace.shown
        return tuple(each for change in changes if (each := file_change(change, old, new, shown)) is not None)

    def _keep_named(self, named: NamedPaths) -> Mapping[Path, Held]:
        """Return what the paths named by a command hold, and back that up as far as possible. Blocking."""
        found: dict[Path, Held] = {}
        inside = [each for each in named.globs if self._is_inside(Path(re.split(r"[*?\[]", each)[0]))]
        globbed = (Path(each) for pattern in inside for each in glob.iglob(pattern))  # noqa: PTH207
        for path in itertools.islice(itertools.chain(named.paths, globbed), MAX_NAMED):
            if self._is_inside(path) and ".git" not in path.parts:
                found[path], data = (UNKNOWN, b"") if path.is_dir() or is_too_large(path) else with_bytes(path)
                if found[path].entry is not None and found[path] != UNKNOWN:
                    with contextlib.suppress(OSError):
                        self._contents.keep(data)
        return found

    async def _changed_named(self, program: _RunningProgram, after_it: Snapshot, known: Collection[Path]) -> list[Path]:
        """Record what the command did to paths that it names and that snapshots leave out. New repositories are
        skipped."""
        new = after_it.states.keys() - program.before.states.keys()
        left = {path for path in program.held if path in known or any(path.is_relative_to(each) for each in new)}
        before = {path: held for path, held in program.held.items() if path not in left and held != UNKNOWN}
        after = await asyncio.to_thread(lambda: {path: with_bytes(path) for path in before if not is_too_large(path)})
        changed = [path for path, (held, _) in after.items() if not held.is_like(before[path])]
        for path in changed:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self._contents.keep, after[path][1])
            self._change(path, before[path], after[path][0], "agent")
        return changed

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(each) for each in (*self.workspace.folders, *self.workspace.more_folders))

    def _author(self, program: _RunningProgram, change: PathChange, named: Sequence[NamedPaths]) -> Author:
        """Return the author of a change on the disk: the agent if one of `named` names the path; otherwise unknown
        (`program`)."""
        path = change.path
        for each in named:
            above = each.named_above(path)
            is_below = above is not None and (change.new is None or program.held.get(above) == NOTHING)
            if each.names(path) or is_below:
                return "agent"
        return "program"

    async def about_to_apply(self, plan: EditPlan) -> None:
        """Implement `Checkpointer.about_to_apply`."""
        self._edit = await asyncio.to_thread(PlannedEdit, plan, self._unsaved(), self._contents)
        effects = await asyncio.to_thread(self._edit.expected)
        for path, before, after, moved in effects:
            self._change(path, before, after, "agent", moved=moved, is_done=False)
        self._log.writes(self, [each.path for each in effects])
        await self._record()

    async def applied(self, plan: EditPlan) -> None:
        """Implement `Checkpointer.applied`."""
        assert self._edit is not None
        effects = await asyncio.to_thread(self._edit.made, plan)
        for path, before, after, moved in effects:
            self._change(path, before, after, "agent", moved=moved)
        self._log.wrote(self, [each.path for each in effects])
        await self._record()

    # For restores

    async def take_now(self, like: Snapshot) -> Snapshot:
        """Return a snapshot of the current workspace. Raises `SnapshotError`."""
        async with self._one_at_a_time:
            return await self._kept(like)

    async def see(self, paths: Iterable[Path]) -> Mapping[Path, Held]:
        """Return what the user sees at these paths: the unsaved buffer, or else the file on the disk. Content that the
        agent did not write is recorded as a version by the user."""
        unsaved = self._unsaved()
        wanted = list(paths)
        found = await asyncio.to_thread(lambda: {path: self._look.at(path, unsaved) for path in wanted})
        new: list[Path] = []
        for path, held in found.items():
            versions = self.versions.get(path)
            if versions is None or versions.top.held.is_like(held):
                continue
            known = versions.find(held)
            if known is not None:
                self.went(path, known.number)
            else:
                self._change(path, versions.top.held, held, "user")
                new.append(path)
        await self.keep(new)
        return found

    def unkept_since(self, moment: int) -> Collection[Path]:
        """Return the paths that changed or were removed while a command ran and were not backed up."""
        return {path: None for path, changed in self._unkept.items() if changed >= moment}

    async def keep(self, paths: Iterable[Path]) -> None:
        """Back up what the user sees at these paths."""
        unsaved, wanted = self._unsaved(), list(paths)

        def work() -> None:
            for path in wanted:
                with contextlib.suppress(OSError):
                    self._contents.keep(with_bytes(path, unsaved.get(path))[1])

        await asyncio.to_thread(work)

    async def see_before(self, path: Path, then: Held, held: Held) -> None:
        """Record the change from `then` to `held` as the user's, before a forced restore of a path that the agent has
        not changed."""
        self._change(path, then, held, "user")
        await self.keep([path])

    async def add(self, label: str, turn_id: str, conversation: Conversation, snapshot: Snapshot) -> Checkpoint:
        """Add a checkpoint of the current state."""
        checkpoint = self._add(turn_id, label, snapshot, conversation)
        await self._record()
        return checkpoint

    def went(self, path: Path, number: int) -> None:
        """Record that the path holds that version again."""
        self._keep_record(Went(path=path, number=number))

    def went_back(self, path: Path, before: Held, after: Held, number: int | None) -> None:
        """Record that a restore wrote the version of that number; None if a forced restore wrote other content."""
        if number is None:
            self._change(path, before, after, "restore")
        else:
            self.went(path, number)
        self._log.wrote(self, [path])

    async def contents(self, wanted: Collection[tuple[Path, TreeEntry]]) -> Mapping[str, bytes]:
        """Return contents by their git name, without those no longer stored. Raises `SnapshotError`."""
        found = await asyncio.to_thread(self._kept_contents, {entry.blob for _, entry in wanted})
        asked: set[tuple[str, ...]] = set()
        for snapshot in reversed([each.snapshot for each in self._all]):
            missing = [(path, entry) for path, entry in wanted if entry.blob not in found]
            stores = tuple(sorted(place.key for place, _ in snapshot.states.values()))
            if missing and stores not in asked:
                asked.add(stores)
                pairs = [(folder, entry) for path, entry in missing for folder in snapshot.folders_above(path)]
                found |= await self.snapshots.contents(snapshot, pairs)
        return found

    def _kept_contents(self, names: Collection[str]) -> dict[str, bytes]:
        found = {name: data for name in names if (data := self._contents.get(name)) is not None}
        for path, versions in self.versions.items():  # the content of a moved file may be at another path
            entry = versions.top.held.entry
            if entry is not None and entry.blob in names and entry.blob not in found:
                held, data = with_bytes(path)
                if held.entry is not None and held.entry.blob == entry.blob:
                    found[entry.blob] = data
        return found

    async def note_taken_back(self, now: TakenBack) -> None:
        """Record what can be redone now, so that it is known after a restart."""
        if self.taken_back != now:
            self.taken_back = now
            self._unrecorded.append(now)
            await self._record()

    async def record(self) -> None:
        """Write the pending records, so that a restore is known after a restart."""
        await self._record()

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """Return the differences between the checkpoint and what the user sees now. Raises `SnapshotError`."""
        after = await self._snapshot(checkpoint.snapshot)
        changes = await self.snapshots.changes(checkpoint.snapshot, after)
        old = await self.snapshots.contents(
            checkpoint.snapshot, [(each.folder, each.old) for each in changes if each.old]
        )
        new = await self.snapshots.contents(after, [(each.folder, each.new) for each in changes if each.new])
        return [FileDiff(path=each.path, patch=patch_of(each, old, new, self.workspace.shown)) for each in changes]

    async def forget(self) -> None:
        """Clean up after the session: if its checkpoints are not recorded, delete its snapshots, as far as time
        allows."""
        self._log.writes(self, ())
        if self._owner:
            with contextlib.suppress(SnapshotError):
                await self.snapshots.forget(self._owner, [each.snapshot for each in self._all])

    # Helpers

    def _unsaved(self) -> Mapping[Path, str]:
        return {each.path: each.text for each in self.workspace.unsaved()}

    async def _see_all(self) -> None:
        """Record what the user has done to the paths that the agent changed."""
        await self.see(list(self.versions))

    async def _kept(self, like: Snapshot | None = None) -> Snapshot:
        """Take a snapshot before or after the agent's changes. Raises `SnapshotError`, at once if an earlier one took
        too long."""
        if self._given_up is not None:
            raise SnapshotError(self._given_up)
        try:
            return await self._snapshot(like)
        except SnapshotAbortedError as error:
            self._given_up = str(error)
            raise

    async def _snapshot(self, like: Snapshot | None) -> Snapshot:
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
            moment=self._moment,
            conversation=conversation,
        )
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
        """Write the pending records. If that fails, return the reason, once per turn."""
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
            return f"The checkpoints of this turn will be lost when the daemon exits: {error.strerror}."
        return None

    def _change(
        self,
        path: Path,
        before: Held,
        after: Held,
        author: Author,
        *,
        moved: Path | None = None,
        is_done: bool = True,
    ) -> None:
        record = Changed(path=path, before=before, after=after, author=author, moved=moved, is_done=is_done)
        self._keep_record(record)

    def _keep_record(self, record: Changed | Went | Unkept) -> None:
        self._take(record)
        self._unrecorded.append(record)

    def _take(self, record: Changed | Went | Unkept) -> None:
        """Apply a record. Raises LookupError for an unknown version."""
        match record:
            case Changed(path=path, before=before, after=after, author=author, moved=moved, is_done=is_done):
                versions = self.versions.setdefault(path, Versions.of(before))
                versions.changed(self._moment, before, after, author, moved=moved, is_done=is_done)
                if self._all and author in ("agent", "program") and is_done:
                    self._all[-1].changed.add(path)
            case Went(path=path, number=number):
                self.versions[path].went_to(self._moment, number)
            case Unkept(path=path):
                self._unkept[path] = self._moment
        self._moment += 1

    def _know(self, turn_id: str, *, is_known: bool) -> None:
        """Record whether it is known what the turn's commands changed."""
        if is_known == (turn_id in self.not_kept):
            (self.not_kept.discard if is_known else self.not_kept.add)(turn_id)
            self._unrecorded.append(KnownTurn(turn_id=turn_id, is_known=is_known))

    async def _failed(self, turn_id: str, error: SnapshotError) -> str | None:
        """Return the reason, once per turn."""
        self._know(turn_id, is_known=False)
        await self._record()
        if self._told == turn_id:
            return None
        self._told = turn_id
        return f"The files could not be backed up, so changes made by commands in this turn cannot be undone: {error}."


def _recorded(record: RecordedCheckpoint) -> Conversation | None:
    return None if record.journal_size is None else Conversation(journal_size=record.journal_size)
