"""Files brought back to a checkpoint: what the agent changed, and nothing that the user did unless they force it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.agent.committing import standing
from pygent_ls.agent.messages import Message, now, user_message
from pygent_ls.agent.workspace import DeleteFile, Document, EditPlan, FileOperation, WriteText
from pygent_ls.errors import SnapshotError, ToolError
from pygent_ls.sessions.checkpoints import Checkpoint, Checkpoints, Conversation
from pygent_ls.workspace.documents import decode
from pygent_ls.workspace.restoring import LINK, restore_file
from pygent_ls.workspace.snapshots import PathChange, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that was left as it is."""

    path: Path
    reason: str


@dataclass(kw_only=True)
class Restored:
    """What became of the files."""

    restored: list[Path] = field(default_factory=list[Path])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    was_not_kept: bool = False
    """The files could not be kept when the turn began that is taken back, so what it changed in them stays."""
    undo_checkpoint_id: str = ""
    """The checkpoint that takes the restore back."""


async def restore_files(checkpoints: Checkpoints, then: Checkpoint, now: Snapshot, *, force: bool) -> Restored:
    """Bring back the files of `then`; `now` is the workspace as it is, kept so that this can be undone.

    Files that are open in the editor are changed through it, in one edit; the others on the disk, one by one.
    Raises `SnapshotError` where the checkpoint can no longer be read.
    """
    return await _Rewind(checkpoints, then.snapshot, now).run(force=force)


class _Rewind:
    def __init__(self, checkpoints: Checkpoints, then: Snapshot, now: Snapshot) -> None:
        self._checkpoints = checkpoints
        self._workspace = checkpoints.workspace
        self._then = then
        self._now = now
        self._done = Restored()

    async def run(self, *, force: bool) -> Restored:
        snapshots = self._checkpoints.snapshots
        changes = await snapshots.changes(self._then, self._now)
        made_since = [each for each in changes if each.old is None]
        ignored = await snapshots.ignored(self._then, made_since)
        self._skip_new_repositories()
        wanted = [each for each in changes if self._may(each, ignored, force=force)]
        contents = await snapshots.contents(self._then, [(each.folder, each.old) for each in wanted if each.old])
        there = [each for each in wanted if self._is_there(each, contents)]
        by_editor = {each.path: document for each in there if (document := self._open(each)) is not None}
        await self._in_editor([each for each in there if each.path in by_editor], by_editor, contents)
        on_disk = [each for each in there if each.path not in by_editor]
        for change in [each for each in reversed(on_disk) if each.old is None]:  # room for what stood there before
            await self._on_disk(change, contents)
        for change in [each for each in on_disk if each.old is not None]:
            await self._on_disk(change, contents)
        await self._checkpoints.record()
        self._done.restored.sort()
        self._done.skipped.sort(key=lambda each: each.path)
        return self._done

    # What is left alone

    def _skip_new_repositories(self) -> None:
        for folder in self._now.states.keys() - self._then.states.keys():
            if any(folder.is_relative_to(each) for each in self._then.states):
                self._skip(folder, "a repository that was not there then; it is left as it is")

    def _may(self, change: PathChange, ignored: set[Path], *, force: bool) -> bool:
        reason = self._reason(change, ignored, force=force)
        if reason is not None:
            self._skip(change.path, reason)
        return reason is None

    def _reason(self, change: PathChange, ignored: set[Path], *, force: bool) -> str | None:
        """Why a file is left alone; None where it is not."""
        path = change.path
        if self._now.is_left_out(path) or self._then.is_left_out(path):
            return "it is too large to be kept, or could not be read"
        if path in ignored:
            return "git ignored it then, so it was not kept"
        if force or self._checkpoints.is_own(path, change.new):
            return None
        if path not in self._checkpoints.written:
            return "the agent did not change it; you or another program did"
        return "it was changed since the agent's last write"

    def _is_there(self, change: PathChange, contents: Mapping[str, bytes]) -> bool:
        if change.old is None or change.old.blob in contents:
            return True
        self._skip(change.path, "what it held then is no longer kept")
        return False

    def _skip(self, path: Path, reason: str) -> None:
        self._done.skipped.append(Skipped(path=path, reason=reason))

    # What is brought back

    def _open(self, change: PathChange) -> Document | None:
        """The buffer that shows the file; None where the disk is what counts."""
        if any(entry is not None and entry.mode == LINK for entry in (change.old, change.new)):
            return None
        return self._workspace.open_document(change.path)

    async def _in_editor(
        self, changes: Sequence[PathChange], documents: Mapping[Path, Document], contents: Mapping[str, bytes]
    ) -> None:
        operations: dict[Path, FileOperation] = {}
        for change in changes:
            document = documents[change.path]
            if await self._checkpoints.seen(change.path) != change.new:
                self._skip(change.path, "it changed at this very moment")
            elif change.old is None:
                operations[change.path] = DeleteFile(path=change.path, before=document)
            elif (decoded := decode(contents[change.old.blob])) is not None:
                text, encoding = decoded
                operations[change.path] = WriteText(path=change.path, before=document, text=text, encoding=encoding)
            else:
                self._skip(change.path, "it is open in the editor, and what it held then is not text")
        if not operations:
            return
        plan = EditPlan(label="Restore a checkpoint", operations=tuple(operations.values()), result="", previewed=False)
        made, problem = plan, ""
        try:
            await self._workspace.apply(plan)
        except ToolError as error:  # a part of it may have been made all the same
            made, problem = await standing(plan, self._workspace), str(error).partition("\n")[0]
        for change in changes:
            operation = operations.get(change.path)
            if operation in made.operations:
                await asyncio.to_thread(self._set_mode, change)
                self._count(change)
            elif operation is not None:
                self._skip(change.path, problem)

    async def _on_disk(self, change: PathChange, contents: Mapping[str, bytes]) -> None:
        then = (change.old, contents[change.old.blob]) if change.old else None
        try:
            await asyncio.to_thread(restore_file, change.folder, change.path, change.new, then, self._mode(change))
        except (SnapshotError, ToolError) as error:
            self._skip(change.path, str(error))
        except OSError as error:
            self._skip(change.path, error.strerror or "the disk refused")
        else:
            self._count(change)

    def _mode(self, change: PathChange) -> int:
        usual = 0o755 if change.old is not None and change.old.mode == "100755" else 0o644
        return self._then.mode(change.path) or usual

    def _set_mode(self, change: PathChange) -> None:
        if change.old is not None and change.path.is_file():
            change.path.chmod(self._mode(change))

    def _count(self, change: PathChange) -> None:
        self._checkpoints.went_back(change.path, change.old)
        self._done.restored.append(change.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to go back."""

    files: bool
    conversation: bool
    force: bool = False
    """Whether files are brought back that the user has changed since."""


BEFORE = "Before going back: "
"""What the label of a checkpoint begins with that undoes a way back."""


async def go_back(
    checkpoints: Checkpoints,
    then: Checkpoint,
    wanted: Wanted,
    messages: list[Message],
    journal_size: int | None = None,
) -> Restored:
    """Bring back files, conversation, or both; before that, keep what is now, so that it can be undone.

    `messages` is the session's history, which its journal tells up to that size; a conversation that `then` has is in
    memory. Where it stays while files go back, the model is told of them.
    Raises `SnapshotError`, and then nothing has happened.
    """
    label = f"{BEFORE}{then.label.removeprefix(BEFORE)}"  # also where it goes back to where it came from
    said = Conversation(messages=tuple(messages), journal_size=journal_size)
    undo = await checkpoints.keep_now(label, then.turn_id, said, then.snapshot, needs_files=wanted.files)
    done = Restored()
    if wanted.files:
        done = await restore_files(checkpoints, then, undo.snapshot, force=wanted.force)
    if wanted.conversation:
        kept = then.conversation.messages if then.conversation else None
        messages[:] = _before(messages, then.turn_id) if kept is None else kept
    elif done.restored:
        names = ", ".join(checkpoints.workspace.shown(path) for path in done.restored)
        messages.append(user_message(f"[The user has taken back changes of these files, so read them again: {names}]"))
    done.undo_checkpoint_id = undo.id
    return done


def last_turn(checkpoints: Checkpoints, messages: Sequence[Message]) -> tuple[Checkpoint, bool] | None:
    """What taking back the last turn goes back to, and whether files go back too; None where there is no turn."""
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
    """What was said before the turn; all of it where the turn is no longer part of it."""
    for place, message in enumerate(messages):
        if message.turn_id == turn_id:
            return list(messages[:place])
    return list(messages)
