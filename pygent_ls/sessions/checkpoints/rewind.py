"""Restore of a checkpoint: discards what the agent wrote, and the user's changes only if forced."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from pygent_ls.agent.edits.commit import standing
from pygent_ls.agent.messages import Message, now, user_message
from pygent_ls.agent.ports.workspace import DeleteFile, Document, EditPlan, FileOperation, WriteText
from pygent_ls.errors import SnapshotError, ToolError
from pygent_ls.file_access import set_mode
from pygent_ls.sessions.checkpoints.checkpoints import NO_SNAPSHOT, Checkpoint, Checkpoints, Conversation
from pygent_ls.sessions.checkpoints.versions import MACHINE, MACHINE_AND_PROGRAMS, Version, moves_between, way_back
from pygent_ls.workspace.files.document_text import decode
from pygent_ls.workspace.snapshots.path_state import Held
from pygent_ls.workspace.snapshots.restore import LINK, restore_file
from pygent_ls.workspace.snapshots.snapshots import PathChange, Snapshot

NOT_THE_AGENTS = "it may have been changed by you or another program, not by the agent"
CHANGED_SINCE = "it was changed after the agent's last write"
YOURS_BETWEEN = "it contains changes that you made between the agent's changes; the agent's earlier changes remain"
YOURS_BEFORE = "it contains changes that you made before the agent did"
ANYONES = (
    "it changed while a command ran; the command, you or another program may have changed it, so it is restored "
    "only if you confirm"
)
BEHIND_BUFFER = "it changed on disk while a command ran, and it has unsaved changes in the editor"
MOVED = "it was moved or copied, and the other file has changed since"
NOT_KEPT = "its content at that time is no longer stored"
NEVER_KEPT = (
    "it was changed or removed while a command ran and had not been backed up: git ignores its folder, it is too "
    "large, it belongs to git, or it is outside the workspace"
)


class Skipped(Struct, frozen=True, kw_only=True):
    """A file that was left as it is, or was restored only in part."""

    path: Path
    reason: str


class Restored(Struct, kw_only=True):
    """Result of a restore."""

    restored: list[Path] = field(default_factory=list[Path])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    uncertain: list[Path] = field(default_factory=list[Path])
    """Skipped files that a command may have changed, but the user or another program may have, too."""
    by_products: set[Path] = field(default_factory=set[Path])
    """Uncertain files that exist and that git ignores, such as logs and caches. The user is not asked about them."""
    was_not_kept: bool = False
    """Whether the files could not be backed up in the undone turn, so that changes by its commands remain."""
    undo_checkpoint_id: str = ""
    """Id of the checkpoint that undoes the restore."""


class _Way(Struct, frozen=True, kw_only=True):
    """Planned restore of one path, from what it holds to what it is to hold."""

    path: Path
    folder: Path
    """Innermost open folder that contains the path."""
    now: Held
    then: Held
    version: Version | None
    """Version that is restored; None if the content is that of no version."""


class _Rewind:
    """One restore: planned first, then carried out."""

    def __init__(self, checkpoints: Checkpoints, then: Checkpoint, now: Snapshot, wanted: RewindTarget) -> None:
        self._checkpoints = checkpoints
        self._workspace = checkpoints.workspace
        self._then = then.snapshot
        self._moment = then.moment
        self._now = now
        self._wanted = wanted
        self._discardable = MACHINE_AND_PROGRAMS if wanted.uncertain else MACHINE
        self._same: dict[Path, Version] = {}
        self.done = Restored()

    async def decide(self) -> Sequence[_Way]:
        """Return the planned changes and list the skipped files in `done`. Raises `SnapshotError`."""
        snapshots, versions = self._checkpoints.snapshots, self._checkpoints.versions
        is_compared = bool(self._then) and bool(self._now)
        differing = await snapshots.changes(self._then, self._now) if is_compared else []
        changes = {each.path: each for each in differing}
        self._skip_new_repositories()
        unkept = self._checkpoints.unkept_since(self._moment)
        for path in unkept:
            self._skip(path, NEVER_KEPT)
        seen = await self._checkpoints.see([*dict.fromkeys([*changes, *versions])])
        changed_by_agent = [
            path for path, each in versions.items() if path in changes or each.top.held != each.at(self._moment).held
        ]
        beside = [path for path in changed_by_agent if path not in changes]
        unchanged = await snapshots.present(self._then, beside) if is_compared else ()
        ways = [
            way
            for path in changed_by_agent
            if path not in unchanged and (way := self._way_of(path, changes.get(path), seen[path])) is not None
        ]
        await self._name_behind_buffers({*versions} - {*changed_by_agent} | {*unchanged})
        others = [each for path, each in changes.items() if path not in versions and path not in unkept]
        ignored = await snapshots.ignored(self._then, [each for each in others if each.old is None])
        for change in others:
            if reason := self._reason(change, ignored):
                self._skip(change.path, reason)
            elif (folder := self._folder_of(change.path)) is not None:
                then, held = Held(change.old, self._then.mode(change.path)), seen[change.path]
                await self._checkpoints.see_before(change.path, then, held)
                root = versions[change.path].root
                ways.append(_Way(path=change.path, folder=folder, now=held, then=then, version=root))
        if self._wanted.force:
            await self._checkpoints.keep(each.path for each in ways)
        else:
            ways = self._with_whole_moves(ways, changes)
        there = [path for path in self.done.uncertain if seen[path].entry is not None]
        in_folders = [(path, max(self._then.folders_above(path), default=None)) for path in there]
        asked = [PathChange(path=path, folder=folder, old=None, new=None) for path, folder in in_folders if folder]
        self.done.by_products = await snapshots.ignored(self._then, asked)
        return ways

    async def _name_behind_buffers(self, paths: Collection[Path]) -> None:
        """Skip those of these paths whose file a command changed while the user sees unsaved text."""
        unsaved = {each.path for each in self._workspace.unsaved()}.intersection(paths)
        if unsaved and self._then and self._now:
            for change in await self._checkpoints.snapshots.disk_changes(self._then, self._now):
                if change.path in unsaved:
                    self._skip(change.path, BEHIND_BUFFER)

    def _way_of(self, path: Path, change: PathChange | None, held: Held) -> _Way | None:
        """Return the plan for a path that the agent has changed; None if it stays as it is."""
        versions = self._checkpoints.versions[path]
        goal = versions.at(self._moment)
        then = Held(change.old, self._then.mode(path)) if change is not None else goal.held
        folder = self._folder_of(path)
        if versions.top.held == then or folder is None:
            return None
        if self._wanted.force:
            known = versions.find(then)
            return _Way(path=path, folder=folder, now=held, then=known.held if known else then, version=known)
        end = way_back(versions.top, goal, then, self._discardable)
        if end is not goal and end.held != then:
            self._name_stop(path, end, is_whole=end is versions.top)
        elif change is not None and not end.held.is_like(then):
            self._skip(path, YOURS_BEFORE)
        return None if end is versions.top else _Way(path=path, folder=folder, now=held, then=end.held, version=end)

    def _with_whole_moves(self, ways: Sequence[_Way], changed: Mapping[Path, PathChange]) -> Sequence[_Way]:
        """Drop the plans that would restore only one side of a move or copy, because the other may hold the only
        copy."""
        self._same = self._same_again(changed)
        while True:
            going = {each.path: each.version for each in ways} | self._same
            halves = {
                path
                for path, version in going.items()
                if version and not self._stays_whole(path, version, going, changed)
            }
            if not halves:
                return ways
            for path in halves:
                if self._same.pop(path, None) is None:
                    self._skip(path, MOVED)
            ways = [each for each in ways if each.path not in halves]

    def _same_again(self, changed: Collection[Path]) -> dict[Path, Version]:
        """Return the paths that the agent changed and that hold again what they are to hold, with the version to
        restore. Nothing is written there, but other files may have been moved or copied from them, or moved to them."""
        found: dict[Path, Version] = {}
        for path, versions in self._checkpoints.versions.items():
            top, goal = versions.top, versions.at(self._moment)
            if path not in changed and top is not goal and top.held == goal.held:
                kept = {*goal.line}
                if all(each.author in self._discardable for each in top.line if each not in kept):
                    found[path] = goal
        return found

    def _stays_whole(
        self, path: Path, version: Version, going: Mapping[Path, Version | None], changed: Mapping[Path, PathChange]
    ) -> bool:
        for other in moves_between(self._checkpoints.versions[path].top, version):
            versions = self._checkpoints.versions.get(other)
            is_copy = versions is None or not versions.has_moved(path)
            if versions is None:
                is_as_then = other not in changed
            else:
                end = going.get(other) or versions.top
                is_as_then = end is versions.at(self._moment)
                if other in changed:  # the user may have changed it before the agent first did
                    is_as_then &= changed[other].old == end.held.entry
                if not is_as_then:  # it ends before, but may undo this move
                    is_as_then = path in moves_between(versions.top, end)
            if not (is_as_then or (is_copy and version.held.entry is not None)):
                return False
        return True

    def _name_stop(self, path: Path, end: Version, *, is_whole: bool) -> None:
        if end.author == "program":
            self.done.uncertain.append(path)
            self._skip(path, ANYONES)
        elif is_whole:
            self._skip(path, CHANGED_SINCE)
        else:
            self._skip(path, YOURS_BETWEEN)

    def _folder_of(self, path: Path) -> Path | None:
        """Return the innermost open folder that contains the path. Outside all of them, skip the path and return
        None."""
        folders = [*self._workspace.folders, *self._workspace.more_folders]
        found = max(
            (each for each in folders if path.is_relative_to(each)), key=lambda each: len(each.parts), default=None
        )
        if found is None:
            self._skip(path, "its folder is not open")
        return found

    # Skipped files

    def _skip_new_repositories(self) -> None:
        for folder in self._now.states.keys() - self._then.states.keys():
            if any(folder.is_relative_to(each) for each in self._then.states):
                self._skip(folder, "it is a repository that did not exist then")

    def _reason(self, change: PathChange, ignored: set[Path]) -> str | None:
        """Return why a file that the agent has not changed is skipped; None if it is restored."""
        path = change.path
        if self._now.is_left_out(path) or self._then.is_left_out(path):
            return "it is too large to back up or could not be read"
        if path in ignored:
            return "git ignored it then, so it was not backed up"
        return None if self._wanted.force else NOT_THE_AGENTS

    def _skip(self, path: Path, reason: str) -> None:
        self.done.skipped.append(Skipped(path=path, reason=reason))

    # Restored files

    async def run(self, ways: Sequence[_Way]) -> None:
        """Restore the files: those open in the editor through it, in one edit; the others on the disk, one by one.
        Raises `SnapshotError`, in which case nothing has changed."""
        contents = await self._checkpoints.contents({(each.path, each.then.entry) for each in ways if each.then.entry})
        there = [each for each in ways if self._is_there(each, contents)]
        by_editor = {each.path: document for each in there if (document := self._open(each)) is not None}
        await self._in_editor([each for each in there if each.path in by_editor], by_editor, contents)
        on_disk = sorted((each for each in there if each.path not in by_editor), key=lambda each: each.path)
        for way in [each for each in reversed(on_disk) if each.then.entry is None]:  # make room for earlier files
            await self._on_disk(way, contents)
        for way in [each for each in on_disk if each.then.entry is not None]:
            await self._on_disk(way, contents)
        for path, version in self._same.items():
            self._checkpoints.went(path, version.number)
        await self._checkpoints.record()
        self.done.restored.sort()
        self.done.skipped.sort(key=lambda each: each.path)

    def _is_there(self, way: _Way, contents: Mapping[str, bytes]) -> bool:
        if way.then.entry is None or way.then.entry.blob in contents:
            return True
        self._skip(way.path, NOT_KEPT)
        return False

    def _open(self, way: _Way) -> Document | None:
        """Return the document open in the editor; None if the file on the disk is to be written."""
        if any(held.entry is not None and held.entry.mode == LINK for held in (way.now, way.then)):
            return None
        return self._workspace.open_document(way.path)

    async def _in_editor(
        self, ways: Sequence[_Way], documents: Mapping[Path, Document], contents: Mapping[str, bytes]
    ) -> None:
        operations: dict[Path, FileOperation] = {}
        seen = await self._checkpoints.see([each.path for each in ways])
        for way in ways:
            document = documents[way.path]
            if not seen[way.path].is_like(way.now):
                self._skip(way.path, "it changed during the restore")
            elif way.then.entry is None:
                operations[way.path] = DeleteFile(path=way.path, before=document)
            elif (decoded := decode(contents[way.then.entry.blob])) is not None:
                text, encoding = decoded
                operations[way.path] = WriteText(path=way.path, before=document, text=text, encoding=encoding)
            else:
                self._skip(way.path, "it is open in the editor, and its content at that time is not text")
        if not operations:
            return
        plan = EditPlan(label="Restore a checkpoint", operations=tuple(operations.values()), result="", previewed=False)
        made, problem = plan, ""
        try:
            await self._workspace.apply(plan)
        except ToolError as error:  # some operations may have been applied
            made, problem = await standing(plan, self._workspace), str(error).partition("\n")[0]
        for way in ways:
            operation = operations.get(way.path)
            if operation in made.operations:
                await asyncio.to_thread(self._set_mode, way)
                self._count(way)
            elif operation is not None:
                self._skip(way.path, problem)

    async def _on_disk(self, way: _Way, contents: Mapping[str, bytes]) -> None:
        entry = way.then.entry
        then = (entry, contents[entry.blob]) if entry else None
        try:
            await asyncio.to_thread(restore_file, way.folder, way.path, way.now.entry, then, _mode(way))
        except (SnapshotError, ToolError) as error:
            self._skip(way.path, str(error))
        except OSError as error:
            self._skip(way.path, error.strerror or "it could not be written")
        else:
            self._count(way)

    def _set_mode(self, way: _Way) -> None:
        if way.then.entry is not None:
            with contextlib.suppress(OSError):  # the editor may not have saved it
                set_mode(way.path, _mode(way))

    def _count(self, way: _Way) -> None:
        self._checkpoints.went_back(way.path, way.now, way.then, way.version.number if way.version else None)
        self.done.restored.append(way.path)


def _mode(way: _Way) -> int:
    return way.then.mode or (0o755 if way.then.entry is not None and way.then.entry.mode == "100755" else 0o644)


class RewindTarget(Struct, frozen=True, kw_only=True):
    """What to restore, and how."""

    files: bool
    conversation: bool
    force: bool = False
    """Whether to restore files that the user has changed since."""
    uncertain: bool = False
    """Whether to restore files that changed while a command ran, whoever changed them."""


BEFORE = "Before restoring: "
"""Prefix of the label of a checkpoint that undoes a restore."""


async def go_back(
    checkpoints: Checkpoints,
    then: Checkpoint,
    wanted: RewindTarget,
    messages: list[Message],
    journal_size: int | None = None,
) -> Restored:
    """Restore files, the conversation, or both. First store the current state in a checkpoint, so that the restore can
    be undone.

    `messages` is the session's history, stored in its journal up to `journal_size`. If `then` has a conversation, it
    must be in memory. If files are restored but not the conversation, the model is told of them. Raises
    `SnapshotError`, in which case nothing has changed.
    """
    now_kept = NO_SNAPSHOT
    if wanted.files and (then.snapshot or wanted.force):  # otherwise there is nothing to compare it with
        try:
            now_kept = await checkpoints.take_now(then.snapshot)
        except SnapshotError:
            if wanted.force:
                raise
    rewind = _Rewind(checkpoints, then, now_kept, wanted)
    if not wanted.files:
        await checkpoints.see(checkpoints.versions)  # a redo restores the files as they are now
    ways = await rewind.decide() if wanted.files else ()
    label = f"{BEFORE}{then.label.removeprefix(BEFORE)}"  # not repeated when a restore is itself undone
    said = Conversation(messages=tuple(messages), journal_size=journal_size)
    undo = await checkpoints.add(label, then.turn_id, said, now_kept)
    await rewind.run(ways)
    done = rewind.done
    if wanted.conversation:
        kept = then.conversation.messages if then.conversation else None
        messages[:] = _before(messages, then.turn_id) if kept is None else kept
    elif done.restored:
        names = ", ".join(checkpoints.workspace.shown(path) for path in done.restored)
        messages.append(user_message(f"[The user has taken back changes of these files, so read them again: {names}]"))
    done.undo_checkpoint_id = undo.id
    return done


def last_turn(checkpoints: Checkpoints, messages: Sequence[Message]) -> tuple[Checkpoint, bool] | None:
    """Return the checkpoint that undoes the last turn, and whether its files are restored too; None without a turn."""
    turn_id = next((each.turn_id for each in reversed(messages) if each.turn_id), None)
    if turn_id is None:
        return None
    for checkpoint in checkpoints.all():
        if checkpoint.turn_id == turn_id and checkpoint.conversation is None:
            return checkpoint, True
    label = "a turn that changed no files"
    nothing = Checkpoint(id="", turn_id=turn_id, label=label, created_at=now(), snapshot=Snapshot(states={}))
    return nothing, False


def _before(messages: Sequence[Message], turn_id: str) -> list[Message]:
    """Return the messages before the turn; all of them if the turn is not among them."""
    for place, message in enumerate(messages):
        if message.turn_id == turn_id:
            return list(messages[:place])
    return list(messages)
