"""Review after the edits: in an editor without a review of its own, the daemon keeps the changes that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Container, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pygent_ls.agent.context.attachments import NotePart, ReviewPart
from pygent_ls.agent.context.review_report import DecidedHunk, report_of
from pygent_ls.agent.edits.pending_file import PendingFile, PendingHunk
from pygent_ls.agent.edits.reviewer import ReviewedCall
from pygent_ls.agent.ports.workspace import (
    MISSING,
    Applied,
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    MoveFile,
    Workspace,
    WriteText,
)
from pygent_ls.editors.lsp.documents.buffers import Buffers, read_text_now
from pygent_ls.errors import ToolError
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.files.reader import disk_stamp

CHANGED_SINCE = "These lines have changed since. Look at the change again."
TYPED_INTO = "You have typed in this new file, so it is not deleted. Delete it yourself if you do not need it."
BEING_CHANGED = "The agent is changing this file. Decide again in a moment."

MAX_CHARS = 50_000_000
"""Maximum length of all texts together. Beyond it, the file whose first change is the oldest counts as reviewed."""

MAX_STATES = 8
"""Number of states of a file that the editor's undo and redo find again."""

MAX_REJECTIONS = 500
"""Maximum number of rejections that are remembered, the oldest dropped first."""


@dataclass(slots=True, eq=False)
class Rejection:
    """A hunk that the user has rejected. The editor's undo brings it back, and redo rejects it again."""

    decided: DecidedHunk
    stands: bool = True
    told: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """Turns that told its session's model of it, each with whether it stood then."""
    is_told_anew: bool = False
    """Whether a new session was told."""

    @property
    def author(self) -> str:
        """Id of the session whose agent made the hunk."""
        return self.decided.hunk.author

    def is_believed(self, turns: Container[str]) -> bool:
        """Whether the model of its session believes that it stands, whose conversation has these turns: a turn that
        never began, or that was undone, told nothing."""
        return next((stands for turn, stands in reversed(self.told) if turn in turns), False)


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """What a model is told of decisions."""

    part: ReviewPart | NotePart
    own: Sequence[tuple[Rejection, bool]]
    """Rejections in its own session, each with whether it stands."""
    earlier: Sequence[Rejection]


@dataclass(frozen=True, slots=True)
class FileState:
    """How a file stood after an edit of the agent or a decision."""

    baseline: str | None
    current: str | None
    standing: frozenset[Rejection]
    """Rejections in the file whose lines were gone."""


@dataclass(slots=True, eq=False)
class ReviewedFile:
    """A file with changes to review, as the buffers follow it."""

    file: PendingFile
    on_typed: Callable[[ReviewedFile], None]
    states: list[FileState] = field(default_factory=list[FileState])
    """The last states, the newest last."""
    removed: WriteText | None = None
    """What brings back the file that the agent deleted last."""
    n_holds: int = 0
    """Number of edits that are being made by us: their changes are not the user's."""
    is_unsaved: bool = False
    """Whether the text came from the editor, and may not be on the disk."""
    _is_in_step: bool = True

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def n_chars(self) -> int:
        """Length of all texts that are kept of it."""
        return self.file.n_chars + sum(len(each.baseline or "") + len(each.current or "") for each in self.states)

    def is_at(self, text: str) -> bool:
        """Implement `Follower`."""
        if self.n_holds:
            return False
        self._is_in_step = self.file.is_at(text)
        return True

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Implement `Follower`."""
        self.is_unsaved = True
        if self._is_in_step:
            self.file.changed(start, end, new, text)
        else:
            self.file.catch_up(text)
        self.on_typed(self)

    def catch_up(self, text: str | None) -> None:
        """Implement `Follower`."""
        if self.n_holds == 0 and text != self.file.current:
            self.file.catch_up(text)
            self.on_typed(self)

    def remember(self, standing: Iterable[Rejection]) -> None:
        """Keep the state of now, in place of an earlier one with the same text."""
        now = FileState(self.file.baseline, self.file.current, frozenset(standing))
        self.states = [*(each for each in self.states if each.current != now.current), now][-MAX_STATES:]

    def find(self) -> FileState | None:
        """Return the state with the text of now."""
        return next((each for each in reversed(self.states) if each.current == self.file.current), None)


class PendingReview:
    """Implements the `Reviewer` port: all hunks are kept at first, and wait for the user's decision."""

    def __init__(
        self,
        workspace: Workspace,
        buffers: Buffers,
        uri_of: Callable[[Path], str],
        is_left_out: Callable[[Path], bool] = lambda _: False,
    ) -> None:
        """`is_left_out`: whether a file is not reviewed."""
        self.on_change: Callable[[Path], None] = lambda _: None
        """Called with the path of a file whose hunks have changed."""
        self.on_decision: Callable[[str], None] = lambda _: None
        """Called with the id of a session whose model does not know of a decision yet."""
        self._workspace = workspace
        self._buffers = buffers
        self._uri_of = uri_of
        self._is_left_out = is_left_out
        self._entries: dict[Path, ReviewedFile] = {}
        self._rejections: list[Rejection] = []
        self._one_at_a_time = asyncio.Lock()

    # The port

    async def review(self, applied: Applied, call: ReviewedCall) -> Applied:
        """Implement `Reviewer`."""
        del call
        return applied

    @contextmanager
    def holding(self, paths: Iterable[Path]) -> Generator[None]:
        """Implement `Reviewer`."""
        held = [entry for path in set(paths) if (entry := self._entries.get(path)) is not None]
        for entry in held:
            entry.n_holds += 1
        try:
            yield
        finally:
            for entry in held:
                entry.n_holds -= 1
                self._look(entry)

    def made(self, plan: EditPlan, session_id: str) -> None:
        """Implement `Reviewer`."""
        for operation in plan.operations:
            match operation:
                case WriteText(path=path, before=before, text=text):
                    self._made(session_id, path, before, text)
                case DeleteFile(path=path, before=Document() as before, mode=mode):
                    self._made(session_id, path, before, None, mode)
                case MoveFile(source=source, destination=destination):
                    self._moved(source, destination)
                case DeleteFile(path=path) | CopyBytes(destination=path):  # no text, so the file is not reviewed
                    if (entry := self._entries.get(path)) is not None:
                        self._forget(entry)

    def _made(
        self, session_id: str, path: Path, before: Document | None, text: str | None, mode: int | None = None
    ) -> None:
        """`mode` are the permission bits of a deleted file."""
        if self._is_left_out(path):
            return
        old = before.text if before is not None else None
        entry = self._entries.get(path)
        if entry is None:
            entry = self._follow(PendingFile(path, old, text, session_id))
        else:
            is_loaded = entry.n_holds == 0 and self._buffers.current(path) is not None
            entry.file.made(old, text, session_id, may_contain=is_loaded)
        if text is None and before is not None:
            entry.removed = WriteText(path=path, before=None, text=before.text, encoding=before.encoding, mode=mode)
        entry.is_unsaved = self._buffers.get(path) is not None
        if (known := entry.find()) is not None:  # the agent has made changes again that were rejected
            again = [each for each in self._rejections_in(path) if each not in known.standing]
            self._rejections = [each for each in self._rejections if each not in again]
        entry.remember(self._standing(path))
        if entry.n_holds == 0:
            self._look(entry)
        self.on_change(entry.path)

    def _moved(self, source: Path, destination: Path) -> None:
        """The file, or each file below the folder, has another path."""
        for entry in [each for each in self._entries.values() if each.path.is_relative_to(source)]:
            path = destination / entry.path.relative_to(source)
            if (replaced := self._entries.get(path)) is not None:
                self._forget(replaced)
            self._forget(entry)
            old = entry.file
            moved = PendingFile(path, old.baseline, old.current, next((each.author for each in old.hunks), ""))
            followed = self._follow(moved)
            followed.remember(())
            self.on_change(path)

    # What waits

    @property
    def paths(self) -> Sequence[Path]:
        """Files with changes to review, in the order of their first change."""
        return [path for path, entry in self._entries.items() if entry.file.hunks]

    def hunks(self, path: Path) -> Sequence[PendingHunk]:
        """Return the hunks of a file, in order."""
        entry = self._entries.get(path)
        return entry.file.hunks if entry is not None else ()

    def exists(self, path: Path) -> bool:
        """Return whether the agent has not deleted the file."""
        entry = self._entries.get(path)
        return entry is not None and entry.file.current is not None

    def current(self, path: Path) -> str:
        """Return the text of a file with changes to review; empty if it was deleted."""
        entry = self._entries.get(path)
        return (entry.file.current if entry is not None else None) or ""

    def file_changed(self, path: Path) -> None:
        """Look at what became of a file, or of all files below a folder, that the editor does not have open. Unsaved
        text of a closed document is not looked at: the editor may bring it back."""
        exact = self._entries.get(path)
        below = f"{path}/".replace("//", "/")
        found = [exact] if exact else [each for at, each in self._entries.items() if str(at).startswith(below)]
        for entry in found:
            buffer = self._buffers.get(entry.path)
            if buffer is not None:
                entry.is_unsaved = buffer.is_dirty
            if entry.n_holds or buffer is not None:
                continue
            if entry.file.is_settled:
                self._forget(entry)
            elif disk_stamp(entry.path) == MISSING:
                if entry.file.current is not None:
                    self._forget(entry)
            elif not entry.is_unsaved and (text := read_text_now(entry.path)) is not None:
                entry.catch_up(text)

    # Decisions

    async def decide(self, path: Path, *, accept: bool, hunk_ids: Collection[int] | None = None) -> None:
        """Accept or reject hunks of a file; without `hunk_ids`, all of them. Raises `ToolError`: one of the hunks has
        changed, or the editor refuses the edit."""
        async with self._one_at_a_time:
            entry = self._entries.get(path)
            if entry is not None and entry.n_holds:
                raise ToolError(BEING_CHANGED)
            if entry is not None:
                await self._read_again(entry)
            hunks = [each for each in self.hunks(path) if hunk_ids is None or each.id in hunk_ids]
            if entry is None or not hunks or len(hunks) < len(hunk_ids or ()):
                raise ToolError(CHANGED_SINCE)
            if accept:
                entry.file.accept(hunks)
                entry.remember(self._standing(path))
            else:
                await self._reject(entry, hunks)
            self.on_change(entry.path)

    def report(self, session: Session) -> ReviewReport | None:
        """Return what the session's model does not know of the decisions; None if it knows all. A new session is told
        of rejections in other sessions whose models do not know of them."""
        turns = {each.turn_id for each in session.messages} | {each.turn_id for each in session.turns}
        own = [e for e in self._rejections if e.author == session.id and e.stands != e.is_believed(turns)]
        of_others = (each for each in self._rejections if each.author != session.id and each.stands)
        earlier = [] if session.messages else [e for e in of_others if not e.told and not e.is_told_anew]
        part = report_of(
            rejected=[each.decided for each in own if each.stands],
            undone=[each.decided for each in own if not each.stands],
            earlier=[each.decided for each in earlier],
        )
        return None if part is None else ReviewReport(part, [(each, each.stands) for each in own], earlier)

    @staticmethod
    def told(report: ReviewReport, turn_id: str) -> None:
        """Note that a turn tells its model."""
        for rejection, stands in report.own:
            rejection.told.append((turn_id, stands))
        for rejection in report.earlier:
            rejection.is_told_anew = True

    async def _reject(self, entry: ReviewedFile, hunks: Sequence[PendingHunk]) -> None:
        file, workspace = entry.file, self._workspace
        before, after = file.current, file.without(hunks)
        shown, uri = workspace.shown(file.path), self._uri_of(file.path)
        document = None if before is None else await workspace.read(file.path)
        if document is not None and document.text != before:
            entry.catch_up(document.text)
            raise ToolError(CHANGED_SINCE)
        plan = EditPlan(
            label=f"Reject changes in {shown}",
            operations=(_operation(entry, document, after),),
            result="",
            previewed=False,
        )
        rejections = [
            Rejection(
                DecidedHunk(
                    path=file.path,
                    shown=shown,
                    uri=uri,
                    first_line=(before or "").count("\n", 0, hunk.new_start) + 1,
                    hunk=hunk,
                ),
                stands=False,
            )
            for hunk in hunks
        ]
        entry.remember(self._standing(file.path))
        state = FileState(file.baseline, after, frozenset((*self._standing(file.path), *rejections)))
        entry.states = [*entry.states, state][-MAX_STATES:]  # an editor may make the edit later than it says
        self._rejections = [*self._rejections, *rejections][-MAX_REJECTIONS:]
        with self.holding([file.path]):
            await workspace.apply(plan)
            file.reject(hunks)
            for each in rejections:
                each.stands = True
        for author in {each.author for each in hunks}:
            self.on_decision(author)

    def _rejections_in(self, path: Path) -> list[Rejection]:
        return [each for each in self._rejections if each.decided.path == path]

    def _standing(self, path: Path) -> list[Rejection]:
        return [each for each in self._rejections_in(path) if each.stands]

    # Changes of the text

    def _follow(self, file: PendingFile) -> ReviewedFile:
        entry = ReviewedFile(file, self._typed)
        if file.baseline is not None:
            entry.states.append(FileState(file.baseline, file.baseline, frozenset()))
        self._entries[file.path] = entry
        self._buffers.follow(entry)
        n_chars = sum(each.n_chars for each in self._entries.values())
        for oldest in list(self._entries.values())[:-1]:
            if n_chars > MAX_CHARS:
                n_chars -= oldest.n_chars
                self._forget(oldest)
        return entry

    def _typed(self, entry: ReviewedFile) -> None:
        """The text has changed. Perhaps the editor's undo or redo has led to an earlier state."""
        state = entry.find()
        if state is not None and state.baseline != entry.file.baseline:
            entry.file.restore(state.baseline, state.current)
        if state is not None:
            for each in self._rejections_in(entry.path):
                if each.stands != (each in state.standing):
                    each.stands = each in state.standing
                    self.on_decision(each.author)
        self.on_change(entry.path)

    def _look(self, entry: ReviewedFile) -> None:
        """Update to the text of the file's buffer."""
        buffer = self._buffers.current(entry.path)
        if buffer is not None and not buffer.out_of_step:
            entry.catch_up(buffer.text)

    async def _read_again(self, entry: ReviewedFile) -> None:
        """Update to the text of the file. A file that the user has deleted is no longer reviewed."""
        path = entry.path
        if await self._workspace.stamp(path) != MISSING:
            text = (await self._workspace.read(path)).text
            buffer = self._buffers.current(path)
            entry.catch_up(buffer.text if buffer is not None and not buffer.out_of_step else text)
        elif entry.file.current is not None:
            self._forget(entry)

    def _forget(self, entry: ReviewedFile) -> None:
        if self._entries.get(entry.path) is entry:
            del self._entries[entry.path]
        self._buffers.unfollow(entry)
        self.on_change(entry.path)


def _operation(entry: ReviewedFile, document: Document | None, text: str | None) -> WriteText | DeleteFile:
    """Return the operation that leaves this text. Raises `ToolError` if it would delete what the user has typed."""
    if text is not None and document is None and entry.removed is not None:
        return replace(entry.removed, path=entry.path, text=text)
    if text is not None:
        return WriteText(path=entry.path, before=document, text=text)
    if document is None or entry.file.is_typed_in:
        raise ToolError(TYPED_INTO)
    return DeleteFile(path=entry.path, before=document)
