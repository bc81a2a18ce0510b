"""Review after the edits: changes of the agent are kept, and wait for the user's decision."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from pygent_ls.agent.context.review_report import DecidedHunk, report_of
from pygent_ls.agent.edits.diffs import touched_by
from pygent_ls.agent.edits.merge import merged
from pygent_ls.agent.edits.pending_file import PendingFile
from pygent_ls.agent.edits.pending_hunks import PendingHunk
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
from pygent_ls.editors.lsp.review.reviewed_file import (
    MAX_STATES,
    FileState,
    Rejection,
    ReviewedFile,
    ReviewReport,
    UndoableRejection,
)
from pygent_ls.editors.lsp.review.store import ReviewStore, StoredFile, StoredRejection, stored_file
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.files.reader import disk_stamp
from pygent_ls.workspace.files.removed_file import RemovedFile, file_to_remove, put_back

CHANGED_SINCE = "These lines have changed since. Look at the change again."
CHANGED_ELSEWHERE = "Another program has changed this new file, so it is not deleted. Save or reload it first."
NOT_REJECTED = "There is no rejection to undo."
BEING_CHANGED = "The agent is changing this file. Decide again in a moment."

MAX_CHARS = 50_000_000
"""Maximum length of all texts together. Beyond it, the file whose first change is the oldest counts as reviewed."""

MAX_REJECTIONS = 500
"""Maximum number of rejections that are remembered, the oldest dropped first."""

MAX_GONE = 50
"""Maximum number of files that disappeared, or in which nothing waits, and that are remembered."""

CLOSED_FOR_S = 2.0
"""Time after which a closed document is not expected back: some editors close and open one to change its language."""

MAX_UNDOABLE = 20
"""Maximum number of decisions whose rejections can be undone, the oldest dropped first: each has two texts."""


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
        self._undoable: deque[UndoableRejection] = deque(maxlen=MAX_UNDOABLE)
        self._to_remove: dict[Path, RemovedFile | None] = {}
        """What is deleted by the edits that are being made, and is not text."""
        self._gone: dict[Path, ReviewedFile] = {}
        """The last files that disappeared: an editor tells later that it has moved one."""
        self._closed: dict[Path, asyncio.TimerHandle] = {}
        self._store: ReviewStore | None = None
        self._one_at_a_time = asyncio.Lock()

    # The port

    async def review(self, applied: Applied, call: ReviewedCall) -> Applied:
        """Implement `Reviewer`."""
        del call
        return applied

    @contextmanager
    def holding(self, plan: EditPlan) -> Generator[None]:
        """Implement `Reviewer`."""
        for operation in plan.operations:
            if isinstance(operation, DeleteFile) and operation.before is None:
                self._to_remove[operation.path] = file_to_remove(operation.path)
        try:
            with self._holding(touched_by(plan)):
                yield
        finally:
            self._to_remove.clear()

    @contextmanager
    def _holding(self, paths: Iterable[Path]) -> Generator[None]:
        held = [entry for path in set(paths) if (entry := self._entries.get(path)) is not None]
        for entry in held:
            entry.n_holds += 1
        try:
            yield
        finally:
            for entry in held:
                entry.n_holds -= 1
                self._look(entry)
                self.on_change(entry.path)  # its version is known again

    def made(self, plan: EditPlan, session_id: str) -> None:
        """Implement `Reviewer`."""
        for operation in plan.operations:
            match operation:
                case WriteText(path=path, before=before, text=text):
                    self._made(session_id, path, before, text)
                case DeleteFile(path=path, before=Document() as before, mode=mode):
                    self._made(session_id, path, before, None, mode)
                case MoveFile(source=source, destination=destination):
                    self.moved(source, destination)
                case DeleteFile(path=path):
                    self._removed(session_id, path)
                case CopyBytes(destination=path):  # no text, so the file is not reviewed
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
            entry.made(old, text, session_id, may_contain=is_loaded)
        entry.removed = None
        if text is None and before is not None:
            entry.removed = WriteText(path=path, before=None, text=before.text, encoding=before.encoding, mode=mode)
        entry.is_unsaved = self._buffers.get(path) is not None
        if (known := entry.find()) is not None:  # the agent has made changes again that were rejected
            again = [each for each in self._rejections_in(path) if each not in known.standing]
            self._rejections = [each for each in self._rejections if each not in again]
        entry.remember(entry.state(self._standing(path)))
        if entry.n_holds == 0:
            self._look(entry)
        self._changed(entry.path)

    def _removed(self, session_id: str, path: Path) -> None:
        """A file that is not text was deleted: one change without lines."""
        if (entry := self._entries.get(path)) is not None:
            self._forget(entry)
        if (removed := self._to_remove.get(path)) is not None:
            self._wait_for(session_id, path, removed)

    def _wait_for(self, session_id: str, path: Path, removed: RemovedFile) -> None:
        self._follow(PendingFile(path, "", None, session_id)).removed = removed
        self._changed(path)

    def moved(self, source: Path, destination: Path) -> None:
        """Note that a file, or a folder with all that is below it, has another path."""
        gone = {path: each for path, each in self._gone.items() if path not in self._entries}
        for path, entry in [*self._entries.items(), *gone.items()]:
            if not path.is_relative_to(source):
                continue
            new_path = destination / path.relative_to(source)
            if (replaced := self._entries.get(new_path)) is not None:
                self._forget(replaced)
            self._forget(entry)
            self._gone.pop(path, None)
            entry.file.path = new_path
            self._entries[new_path] = entry
            self._buffers.follow(entry)
            self._look(entry)
            self._changed(new_path)

    async def add(self, path: Path, before: str | None, session_id: str) -> None:
        """Review a change that the client made for the agent, such as code of an answer that the user has inserted.
        `before` is the text before it; None if it created the file. Raises `ToolError`: the file cannot be read."""
        document = await self._workspace.read(path)
        self._made(session_id, path, None if before is None else replace(document, text=before), document.text)

    # Storage

    async def keep_in(self, store: ReviewStore) -> None:
        """Store what changes in the review, and take up the review that was stored."""
        self._store = store
        for stored in await asyncio.to_thread(store.load):
            self._take_up(Path(stored.path), stored)
            await asyncio.sleep(0)  # each is compared, which takes a moment

    def _take_up(self, path: Path, stored: StoredFile) -> None:
        if not self._is_inside(path):
            return
        if (known := self._entries.get(path)) is not None:  # the agent has changed it meanwhile
            if known.file.baseline == stored.current:
                known.file.restore(stored.baseline, known.file.current)
                self._changed(path)
            return
        self._rejections += [self._rejection_of(path, each) for each in stored.rejections]
        file = stored.pending_file()
        if file.is_settled or self._is_left_out(path):
            return
        entry = self._follow(file)
        entry.is_unsaved = stored.is_unsaved
        if stored.current is None:
            entry.removed = stored.removed
        entry.remember(entry.state(self._standing(path)))
        self.file_changed(path)
        self._changed(path)

    def _is_inside(self, path: Path) -> bool:
        try:
            return self._workspace.resolve(str(path), follow=False) == path
        except ToolError:
            return False

    def stored(self, path: Path) -> StoredFile | None:
        """Return what to store of a file; None if nothing of it waits."""
        return stored_file(path, self._entries.get(path), self._untold(path))

    def _rejection_of(self, path: Path, stored: StoredRejection) -> Rejection:
        hunk = PendingHunk(
            author=stored.author, old_start=0, old_text=stored.old_text, new_start=0, new_text=stored.new_text
        )
        return Rejection(self._decided(path, stored.first_line, hunk))

    def _changed(self, path: Path) -> None:
        if self._store is not None:
            self._store.changed(path)
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

    def kind(self, path: Path) -> Literal["edit", "create", "delete"]:
        """Return whether the agent has created or deleted the file, or changed it."""
        entry = self._entries.get(path)
        if entry is None or not entry.file.hunks:
            return "edit"
        return "create" if entry.file.baseline is None else "edit" if entry.file.current is not None else "delete"

    def version(self, path: Path) -> int | None:
        """Return the version of the open document that the hunks are for; None if it is not open, or if its text is
        another one."""
        buffer, entry = self._buffers.get(path), self._entries.get(path)
        is_at = buffer is not None and entry is not None and not entry.n_holds and entry.file.is_at(buffer.text)
        return buffer.version if buffer is not None and is_at else None

    def baseline(self, path: Path) -> str | None:
        """Return the text of a file without the changes to review; None if the agent created it, or if none wait."""
        entry = self._entries.get(path)
        return entry.file.baseline if entry is not None else None

    def is_known(self, path: Path) -> bool:
        """Return whether changes of the file wait for review, or did."""
        return path in self._entries

    def rejected(self, path: Path) -> Mapping[str, int]:
        """Return the number of rejected hunks in a file that the models of their sessions do not know of, by session
        id."""
        return Counter(each.author for each in self._untold(path))

    def _untold(self, path: Path) -> list[Rejection]:
        return [each for each in self._standing(path) if not each.told and not each.is_told_anew]

    def file_changed(self, path: Path) -> None:
        """Look at what became of a file, or of all files below a folder. The unsaved text of a closed document counts
        for a while: the editor may open the document again with it."""
        exact = self._entries.get(path)
        below = f"{path}/".replace("//", "/")
        found = [exact] if exact else [each for at, each in self._entries.items() if str(at).startswith(below)]
        for gone in [each for at, each in self._gone.items() if at == path or str(at).startswith(below)]:
            self._look_again(gone)
        for entry in found:
            buffer = self._buffers.get(entry.path)
            if buffer is not None:
                entry.is_unsaved = buffer.is_dirty
                self._look(entry)
            elif not entry.n_holds:
                self._read_closed(entry)
            self.on_change(entry.path)  # the version of the document may be another one

    def _read_closed(self, entry: ReviewedFile) -> None:
        if entry.file.is_settled:
            self._let_go(entry)
            self._look_again(entry)
        elif entry.is_unsaved:
            self._look_later(entry.path)
        else:
            self._look_at_disk(entry)

    def _look_later(self, path: Path) -> None:
        if path not in self._closed:
            self._closed[path] = asyncio.get_running_loop().call_later(CLOSED_FOR_S, self._was_closed, path)

    def _was_closed(self, path: Path) -> None:
        """A document with unsaved text was not opened again, so its text is gone."""
        del self._closed[path]
        entry = self._entries.get(path)
        if entry is None or self._buffers.get(path) is not None:
            return
        if entry.n_holds:
            self._look_later(path)
            return
        entry.is_unsaved = False
        self._look_at_disk(entry)

    def _look_at_disk(self, entry: ReviewedFile) -> None:
        if disk_stamp(entry.path) == MISSING:
            if entry.file.current is not None:
                self._let_go(entry)
        elif (text := read_text_now(entry.path)) is not None:
            entry.catch_up(text)

    def _let_go(self, entry: ReviewedFile) -> None:
        """Forget a file that disappeared, or in which nothing waits, unless it returns to an earlier state."""
        self._gone.pop(entry.path, None)
        self._gone[entry.path] = entry
        while len(self._gone) > MAX_GONE:
            self._gone.pop(next(iter(self._gone)))
        self._forget(entry)

    def _look_again(self, entry: ReviewedFile) -> None:
        """Review a file again that is as it was once, such as after the redo of a turn."""
        buffer = self._buffers.current(entry.path)
        text = buffer.text if buffer is not None else read_text_now(entry.path)
        state = entry.find_again(text, is_typed=buffer is not None and buffer.is_dirty)
        if entry.path in self._entries or state is None:
            return
        del self._gone[entry.path]
        entry.restore(state)
        self._entries[entry.path] = entry
        self._buffers.follow(entry)
        self._typed(entry, state)

    def close(self) -> None:
        """Look at nothing more."""
        for timer in self._closed.values():
            timer.cancel()
        self._closed.clear()

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
            if entry is None or len(hunks) < len(hunk_ids or ()):
                raise ToolError(CHANGED_SINCE)
            if not hunks:  # another program has undone them
                return
            if accept:
                entry.accept(hunks)
                entry.remember(entry.state(self._standing(path)))
            else:
                await self._reject(entry, hunks)
            self._changed(entry.path)

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

    def told(self, report: ReviewReport, turn_id: str) -> None:
        """Note that a turn tells its model."""
        for rejection, stands in report.own:
            rejection.told.append((turn_id, stands))
        for rejection in report.earlier:
            rejection.is_told_anew = True
        for path in {each.decided.path for each in (*(each for each, _ in report.own), *report.earlier)}:
            self._changed(path)

    async def undo_rejection(self, path: Path | None = None) -> Path:
        """Bring back the hunks that were rejected last, in this file if one is named; return the file. What the user
        has typed since stays. Raises `ToolError`: nothing was rejected, or these lines have changed since."""
        async with self._one_at_a_time:
            taken = next((each for each in reversed(self._undoable) if path in (None, each.path) and each.stands), None)
            if taken is None:
                raise ToolError(NOT_REJECTED)
            await self._bring_back(taken)
            self._undoable.remove(taken)
            return taken.path

    async def _bring_back(self, taken: UndoableRejection) -> None:
        path, workspace = taken.path, self._workspace
        entry = self._entries.get(path)
        if entry is not None and entry.n_holds:
            raise ToolError(BEING_CHANGED)
        if taken.removed is not None:
            await self._remove_again(taken, taken.removed)
            return
        self._let_go_of_empty(path)
        document = None if await workspace.stamp(path) == MISSING else await workspace.read(path)
        current = None if document is None else document.text
        if current == taken.after:
            text = taken.before
        elif None in (current, taken.before, taken.after):
            raise ToolError(CHANGED_SINCE)
        else:
            text = merged(taken.after or "", current or "", taken.before or "")
            if text is None:
                raise ToolError(CHANGED_SINCE)
        author = taken.rejections[0].author
        if entry is None:
            entry = self._follow(PendingFile(path, current, current, author))
        operation = entry.operation(document, text)
        with self._holding([path]):
            await self._apply(f"Undo a rejection in {workspace.shown(path)}", operation)
            self._note_undone(taken)
            self._made(author, path, document, text)

    async def _remove_again(self, taken: UndoableRejection, removed: RemovedFile) -> None:
        if await asyncio.to_thread(file_to_remove, taken.path) != removed:
            raise ToolError(CHANGED_SINCE)
        operation = DeleteFile(path=taken.path, before=None)
        await self._apply(f"Undo a rejection in {self._workspace.shown(taken.path)}", operation)
        self._wait_for(taken.rejections[0].author, taken.path, removed)
        self._note_undone(taken)

    def _note_undone(self, taken: UndoableRejection) -> None:
        for each in taken.rejections:
            each.stands = False
        for session_id in {each.author for each in taken.rejections}:
            self.on_decision(session_id)

    async def _reject(self, entry: ReviewedFile, hunks: Sequence[PendingHunk]) -> None:
        file, workspace = entry.file, self._workspace
        if isinstance(entry.removed, RemovedFile):
            await self._put_back(entry, entry.removed)
            return
        before, after = file.current, file.without(hunks)
        document = None if before is None else await workspace.read(file.path)
        if before is None:
            self._let_go_of_empty(file.path)
        if document is not None and document.text != before:
            entry.catch_up(document.text)
            raise ToolError(CHANGED_SINCE)
        is_deletion = after is None and document is not None and not file.is_typed_in
        if is_deletion and (read_text_now(file.path) or "") not in ("", before):
            raise ToolError(CHANGED_ELSEWHERE)
        operation = entry.operation(document, after)
        rejections = [
            Rejection(self._decided(file.path, (before or "").count("\n", 0, hunk.new_start) + 1, hunk), stands=False)
            for hunk in hunks
        ]
        entry.remember(entry.state(self._standing(file.path)))
        state = FileState(file.baseline, after, frozenset((*self._standing(file.path), *rejections)))
        entry.states = [*entry.states, state][-MAX_STATES:]  # an editor may make the edit later than it says
        self._rejections = [*self._rejections, *rejections][-MAX_REJECTIONS:]
        with self._holding([file.path]):
            await self._apply(f"Reject changes in {workspace.shown(file.path)}", operation)
            entry.reject(hunks)
            for each in rejections:
                each.stands = True
            entry.remember(entry.state(self._standing(file.path)))
        self._undoable.append(UndoableRejection(file.path, before, after, rejections))
        for author in {each.author for each in hunks}:
            self.on_decision(author)

    async def _put_back(self, entry: ReviewedFile, removed: RemovedFile) -> None:
        (hunk,) = entry.file.hunks
        await asyncio.to_thread(put_back, entry.path, removed)
        self._forget(entry)
        rejection = Rejection(self._decided(entry.path, 1, hunk))
        self._rejections = [*self._rejections, rejection][-MAX_REJECTIONS:]
        self._undoable.append(UndoableRejection(entry.path, None, "", [rejection], removed))
        self.on_decision(hunk.author)

    async def _apply(self, label: str, operation: WriteText | DeleteFile) -> None:
        """Carry out a decision. Raises `ToolError` in words for the user: those for a model quote the whole file."""
        try:
            await self._workspace.apply(EditPlan(label=label, operations=(operation,), result="", previewed=False))
        except StaleDocumentError as error:
            raise ToolError(CHANGED_SINCE) from error
        except ToolError as error:
            raise ToolError(str(error).partition("\n")[0]) from error

    def _let_go_of_empty(self, path: Path) -> None:
        """Let the disk apply instead of the empty document that an editor shows for a deleted file."""
        buffer = self._buffers.get(path)
        if buffer is not None and not buffer.text.strip("\r\n") and disk_stamp(path) == MISSING:
            self._buffers.supersede(path)

    def _decided(self, path: Path, first_line: int, hunk: PendingHunk) -> DecidedHunk:
        return DecidedHunk(
            path=path, shown=self._workspace.shown(path), uri=self._uri_of(path), first_line=first_line, hunk=hunk
        )

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

    def _typed(self, entry: ReviewedFile, before: FileState) -> None:
        """The text has changed. Perhaps the editor's undo or redo, or another program, has led to an earlier state."""
        if len(entry.file.hunks) < len(before.hunks):  # the change may be undone
            entry.remember(replace(before, standing=frozenset(self._standing(entry.path))))
        state = entry.find()
        if state is not None and state.baseline != entry.file.baseline:
            entry.restore(state)
        if state is not None:
            for each in self._rejections_in(entry.path):
                if each.stands != (each in state.standing):
                    each.stands = each in state.standing
                    self.on_decision(each.author)
        self._changed(entry.path)

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
            self._let_go(entry)

    def _forget(self, entry: ReviewedFile) -> None:
        if self._entries.get(entry.path) is entry:
            del self._entries[entry.path]
        self._buffers.unfollow(entry)
        self._changed(entry.path)
