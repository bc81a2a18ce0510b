"""A file under review, with what is known of its earlier states and of rejections in it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.context.attachments import NotePart, ReviewPart
from pygent_ls.agent.context.review_report import DecidedHunk
from pygent_ls.agent.edits.hunks import text_with
from pygent_ls.agent.edits.pending_file import PendingFile
from pygent_ls.agent.edits.pending_hunks import PendingHunk, other_hunks
from pygent_ls.agent.ports.workspace import MISSING, DeleteFile, Document, WriteText
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.reader import disk_stamp
from pygent_ls.workspace.files.removed_file import RemovedFile

TYPED_INTO = "You have typed in this new file, so it is not deleted. Delete it yourself if you do not need it."

_NO_TEXTS = ("", "\n", "\r\n")

MAX_STATES = 8
"""Number of states of a file that the editor's undo and redo find again."""


class Rejection(Struct, eq=False):
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


class ReviewReport(Struct, frozen=True):
    """What a model is told of decisions."""

    part: ReviewPart | NotePart
    own: Sequence[tuple[Rejection, bool]]
    """Rejections in its own session, each with whether it stands."""
    earlier: Sequence[Rejection]


class FileState(Struct, frozen=True):
    """How a file stood after an edit of the agent or a decision."""

    baseline: str | None
    current: str | None
    standing: frozenset[Rejection]
    """Rejections in the file whose lines were gone."""
    hunks: Sequence[PendingHunk] = ()
    """Hunks that waited."""

    def accepted(self, ids: Collection[int]) -> FileState:
        """Return the state as it is now that the user has accepted these hunks, which need not wait in it."""
        chosen = [each for each in self.hunks if each.id in ids]
        if not chosen or self.baseline is None or self.current is None:
            return self
        others = tuple(hunk.moved(grown, 0) for hunk, grown in other_hunks(self.hunks, chosen))
        return replace(self, baseline=text_with(self.baseline, chosen), hunks=others)


class ReviewedFile(Struct, eq=False):
    """A file with changes to review, as the buffers follow it."""

    file: PendingFile
    on_typed: Callable[[ReviewedFile, FileState], None]
    """Called with the state before a change."""
    states: list[FileState] = field(default_factory=list[FileState])
    """The last states, the newest last."""
    removed: WriteText | RemovedFile | None = None
    """What brings back the file that the agent deleted last."""
    n_holds: int = 0
    """Number of edits that are being made by us: their changes are not the user's."""
    is_unsaved: bool = False
    """Whether the text came from the editor, and may not be on the disk."""
    _is_in_step: bool = True
    _whole: PendingFile | None = None
    """The file before hunks vanished from a text that was read; later texts are compared with it. Another program may
    have been writing that text, and others remove changes for a moment, such as `git pull --autostash`."""

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def n_chars(self) -> int:
        """Length of all texts that are kept of it."""
        n_removed = len(self.removed.content) if isinstance(self.removed, RemovedFile) else 0
        n_states = sum(len(each.baseline or "") + len(each.current or "") for each in self.states)
        n_whole = self._whole.n_chars if self._whole is not None else 0
        return self.file.n_chars + n_removed + n_states + n_whole

    def is_at(self, text: str) -> bool:
        """Implement `Follower`."""
        if self.n_holds:
            return False
        self._is_in_step = self.file.is_at(text)
        return True

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Implement `Follower`."""
        before = self.state()
        self.is_unsaved = True
        if self._is_in_step:
            self._whole = None
            self.file.changed(start, end, new, text)
        else:
            self.compare(text)
        self.on_typed(self, before)

    def catch_up(self, text: str | None) -> None:
        """Implement `Follower`. An editor shows a deleted file as an empty document."""
        if self.file.current is None and text in _NO_TEXTS and disk_stamp(self.path) == MISSING:
            return
        if self.n_holds == 0 and text != self.file.current:
            before = self.state()
            self.compare(text)
            self.on_typed(self, before)

    def compare(self, text: str | None) -> None:
        """Update to a text that was not typed."""
        whole = self._whole or copy.copy(self.file)
        self.file.return_to(whole)
        self.file.catch_up(text)
        self._whole = whole if len(self.file.hunks) < len(whole.hunks) else None

    def made(self, old: str | None, new: str | None, author: str, *, may_contain: bool) -> None:
        """Note a change of the agent, as `PendingFile.made` does."""
        if not may_contain:
            self.compare(old)
        self._whole = None
        self.file.made(old, new, author, may_contain=may_contain)

    def state(self, standing: Iterable[Rejection] = ()) -> FileState:
        """Return the state of now."""
        return FileState(self.file.baseline, self.file.current, frozenset(standing), self.file.hunks)

    def remember(self, state: FileState) -> None:
        """Keep a state, in place of an earlier one with the same text."""
        self.states = [*(each for each in self.states if each.current != state.current), state][-MAX_STATES:]

    def accept(self, hunks: Sequence[PendingHunk]) -> None:
        """Accept hunks, in order, also in the earlier states, to which the editor's undo may lead."""
        ids = {each.id for each in hunks}
        is_whole = self.file.baseline is None or self.file.current is None
        self._whole = None
        self.file.accept(hunks)
        self.states = [] if is_whole else [each.accepted(ids) for each in self.states]

    def reject(self, hunks: Sequence[PendingHunk]) -> None:
        """Note that hunks, in order, were rejected."""
        self._whole = None
        self.file.reject(hunks)

    def operation(self, document: Document | None, text: str | None) -> WriteText | DeleteFile:
        """Return the operation that leaves this text. Raises `ToolError` if it would delete what the user has typed."""
        if text is not None and document is None and isinstance(self.removed, WriteText):
            return dataclasses.replace(self.removed, path=self.path, text=text)
        if text is not None:
            return WriteText(path=self.path, before=document, text=text)
        if document is None or self.file.is_typed_in:
            raise ToolError(TYPED_INTO)
        return DeleteFile(path=self.path, before=document)

    def restore(self, state: FileState) -> None:
        """Return to an earlier state, with the authors of its hunks."""
        self.file.restore(state.baseline, state.current, [each.author for each in state.hunks])

    def find(self) -> FileState | None:
        """Return the state with the text of now."""
        return self._state_with(self.file.current)

    def find_again(self, text: str | None, *, is_typed: bool) -> FileState | None:
        """Return the state with this text of a file that is no longer reviewed; None if nothing waits in it. A text on
        the disk may contain hunks again that had vanished."""
        state, whole = self._state_with(text), self._whole or self.file
        if state is None and not is_typed and None not in (text, whole.baseline, whole.current) and whole.hunks:
            self.compare(text)
            state = self.state()
        return None if state is None or state.baseline == text else state

    def _state_with(self, text: str | None) -> FileState | None:
        return next((each for each in reversed(self.states) if each.current == text), None)


class UndoableRejection(Struct, frozen=True):
    """A decision that rejected hunks of a file, with its text before and after it. None: no such file."""

    path: Path
    before: str | None
    after: str | None
    rejections: Sequence[Rejection]
    removed: RemovedFile | None = None
    """File that the rejection put back, if it is not text."""

    @property
    def stands(self) -> bool:
        """Whether none of the rejections was undone."""
        return all(each.stands for each in self.rejections)
