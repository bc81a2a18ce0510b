"""Review after the edits: in an editor without a review of its own, the daemon keeps the changes that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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

MAX_CHARS = 50_000_000
"""Maximum length of all texts together. Beyond it, the file whose first change is the oldest counts as reviewed."""

MAX_REJECTIONS = 500
"""Maximum number of rejections that are remembered, the oldest dropped first."""


@dataclass(slots=True, eq=False)
class Rejection:
    """A hunk that the user has rejected. The editor's undo brings it back, and redo rejects it again."""

    session_id: str
    decided: DecidedHunk
    baseline: str | None
    before: str | None
    """Text before the rejection, to which the editor's undo returns."""
    after: str | None
    stands: bool = True
    is_told: bool = False
    """Whether the model believes that it stands."""
    is_told_anew: bool = False
    """Whether a new session was told."""

    def is_undone_by(self, path: Path, text: str | None) -> bool:
        """Return whether the agent's edit has made the rejected change again."""
        return self.stands and (self.decided.path, self.before) == (path, text)


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """What a model is told of decisions."""

    part: ReviewPart | NotePart
    own: Sequence[tuple[Rejection, bool]]
    """Rejections in its own session, each with whether it stands."""
    earlier: Sequence[Rejection]


@dataclass(slots=True, eq=False)
class ReviewedFile:
    """A file with changes to review, as the buffers follow it."""

    session_id: str
    file: PendingFile
    on_change: Callable[[ReviewedFile], None]
    made_text: str | None
    """Text of the file after the agent's last change."""
    removed: WriteText | None = None
    """What brings back the file that the agent deleted last."""
    n_holds: int = 0
    """Number of edits of the agent that are being made: their changes are not the user's."""

    @property
    def path(self) -> Path:
        return self.file.path

    def is_at(self, text: str) -> bool:
        """Implement `Follower`."""
        return self.n_holds == 0 and self.file.is_at(text)

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Implement `Follower`."""
        self.file.changed(start, end, new, text)
        self.on_change(self)

    def catch_up(self, text: str | None) -> None:
        """Implement `Follower`."""
        if self.n_holds == 0 and text != self.file.current:
            self.file.catch_up(text)
            self.on_change(self)


class PendingReview:
    """Implements the `Reviewer` port: all hunks are kept at first, and wait for the user's decision."""

    def __init__(self, workspace: Workspace, buffers: Buffers, uri_of: Callable[[Path], str]) -> None:
        self.on_change: Callable[[Path], None] = lambda _: None
        """Called with the path of a file whose hunks have changed."""
        self.on_decision: Callable[[str], None] = lambda _: None
        """Called with the id of a session whose model does not know of a decision yet."""
        self._workspace = workspace
        self._buffers = buffers
        self._uri_of = uri_of
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
        old = before.text if before is not None else None
        entry = self._entries.get(path)
        if entry is None:
            entry = self._follow(session_id, PendingFile(path, old, text))
        else:
            entry.session_id = session_id
            entry.file.made(old, text)
        entry.made_text = text
        self._rejections = [each for each in self._rejections if not each.is_undone_by(path, text)]
        if text is None and before is not None:
            entry.removed = WriteText(path=path, before=None, text=before.text, encoding=before.encoding, mode=mode)
        if entry.n_holds == 0:
            self._look(entry)
        self._changed(entry)

    def _moved(self, source: Path, destination: Path) -> None:
        entry = self._entries.get(source)
        if entry is not None:
            file = entry.file
            self._forget(entry)
            moved = self._follow(entry.session_id, PendingFile(destination, file.baseline, file.current))
            moved.made_text = entry.made_text
            self._changed(moved)

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
        """Look at what became of a file, or of all files below a folder, that the editor does not have open."""
        for entry in list(self._entries.values()):
            if entry.n_holds or not entry.path.is_relative_to(path) or self._buffers.current(entry.path) is not None:
                continue
            if disk_stamp(entry.path) != MISSING:
                if (text := read_text_now(entry.path)) is not None:
                    entry.catch_up(text)
            elif entry.file.current is not None:
                self._forget(entry)

    # Decisions

    async def decide(self, path: Path, *, accept: bool, hunk_id: int | None = None) -> None:
        """Accept or reject a hunk of a file; without `hunk_id`, all of them. Raises `ToolError`: the hunk has changed,
        or the editor refuses the edit."""
        async with self._one_at_a_time:
            entry = self._entries.get(path)
            if entry is not None:
                await self._read_again(entry)
            hunks = [each for each in self.hunks(path) if hunk_id in (None, each.id)]
            if entry is None or not hunks or entry.n_holds:
                raise ToolError(CHANGED_SINCE)
            if accept:
                entry.file.accept(hunks)
            else:
                await self._reject(entry, hunks)
            self._changed(entry)

    def report(self, session: Session) -> ReviewReport | None:
        """Return what the session's model does not know of the decisions; None if it knows all. A new session is told
        of rejections in other sessions whose models do not know of them."""
        untold = [each for each in self._rejections if each.stands != each.is_told]
        own = [each for each in untold if each.session_id == session.id]
        of_others = [each for each in untold if each not in own and each.stands and not each.is_told_anew]
        earlier = [] if session.messages else of_others
        part = report_of(
            rejected=[each.decided for each in own if each.stands],
            undone=[each.decided for each in own if not each.stands],
            earlier=[each.decided for each in earlier],
        )
        return None if part is None else ReviewReport(part, [(each, each.stands) for each in own], earlier)

    @staticmethod
    def told(report: ReviewReport) -> None:
        """Note that a model is given the report."""
        for rejection, stands in report.own:
            rejection.is_told = stands
        for rejection in report.earlier:
            rejection.is_told_anew = True

    async def _reject(self, entry: ReviewedFile, hunks: Sequence[PendingHunk]) -> None:
        file, workspace = entry.file, self._workspace
        baseline, before, after = file.baseline, file.current, file.without(hunks)
        shown = workspace.shown(file.path)
        document = None if before is None else await workspace.read(file.path)
        plan = EditPlan(
            label=f"Reject changes in {shown}",
            operations=(_operation(entry, document, after),),
            result="",
            previewed=False,
        )
        first_lines = {each.id: (before or "").count("\n", 0, each.new_start) + 1 for each in hunks}
        await workspace.apply(plan)
        await self._read_again(entry)
        for hunk in hunks:
            decided = DecidedHunk(
                path=file.path, shown=shown, uri=self._uri_of(file.path), first_line=first_lines[hunk.id], hunk=hunk
            )
            self._rejections.append(Rejection(entry.session_id, decided, baseline, before, after))
        del self._rejections[:-MAX_REJECTIONS]
        self.on_decision(entry.session_id)

    # Changes of the text

    def _follow(self, session_id: str, file: PendingFile) -> ReviewedFile:
        entry = ReviewedFile(session_id, file, self._changed, file.current)
        self._entries[file.path] = entry
        self._buffers.follow(entry)
        n_chars = sum(each.file.n_chars for each in self._entries.values())
        for oldest in list(self._entries.values())[:-1]:
            if n_chars > MAX_CHARS:
                n_chars -= oldest.file.n_chars
                self._forget(oldest)
        return entry

    def _changed(self, entry: ReviewedFile) -> None:
        self._switch_rejections(entry)
        if entry.file.is_settled and not any(each.decided.path == entry.path for each in self._rejections):
            self._forget(entry)
        else:
            self.on_change(entry.path)

    def _switch_rejections(self, entry: ReviewedFile) -> None:
        """Notice that the editor's undo or redo has led to the text before or after a rejection."""
        of_file = [each for each in self._rejections if each.decided.path == entry.path]
        if not of_file:
            return
        text = entry.file.current
        last = next((each for each in reversed(of_file) if text == (each.before if each.stands else each.after)), None)
        if last is None:
            return
        stands = not last.stands
        for each in of_file:
            if (each.before, each.after, each.stands) == (last.before, last.after, not stands):
                each.stands = stands
        if not stands:
            entry.file.restore(last.baseline, last.before)
        self.on_decision(last.session_id)

    def _look(self, entry: ReviewedFile) -> None:
        """Update to the text of the file's buffer."""
        buffer = self._buffers.current(entry.path)
        if buffer is not None and not buffer.out_of_step:
            entry.catch_up(buffer.text)

    async def _read_again(self, entry: ReviewedFile) -> None:
        """Update to the text of the file. A file that the user has deleted is no longer reviewed."""
        path = entry.path
        if await self._workspace.stamp(path) != MISSING:
            entry.catch_up((await self._workspace.read(path)).text)
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
    if document is None or document.text != entry.made_text:
        raise ToolError(TYPED_INTO)
    return DeleteFile(path=entry.path, before=document)
