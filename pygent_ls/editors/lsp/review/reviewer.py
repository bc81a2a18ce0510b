"""The `Reviewer` port on an editor that shows hunks: rejected hunks are undone, and the user's own changes are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.edits.commit import to_its_end
from pygent_ls.agent.edits.hunks import hunks_of, without
from pygent_ls.agent.edits.reviewer import NoReviewer, ReviewedCall
from pygent_ls.agent.ports.workspace import (
    MISSING,
    Applied,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    PlanHunk,
    Rejected,
    Workspace,
    WriteText,
)
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.documents.tracked_spans import Followed, TextSpan
from pygent_ls.editors.lsp.ports.dialogs import ask_in_its_form
from pygent_ls.editors.lsp.protocol.reviews import (
    HunkOut,
    ReviewCancelledOut,
    ReviewedFileOut,
    ReviewedHunk,
    ReviewRequestOut,
)
from pygent_ls.editors.lsp.protocol.shapes import RangeOut
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.review.display import ranges_of
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.errors import ToolError

REVIEW_REQUEST = "pygent/review/request"
REVIEW_CANCELLED = "pygent/review/cancelled"

MAX_ATTEMPTS = 3
"""Maximum number of attempts to undo hunks while the user types. Each edit is made from the current text, and refused
if that changes."""

CHANGED_SINCE = "the user rejected it but had already changed these lines; the user's version was kept"
TYPED_INTO = "the user rejected it but had already typed in the file; the user's version was kept"
TAKEN = "the user rejected it, but another file has replaced it"
GONE = "the user rejected it, but the file no longer exists or cannot be read"


class LspReviewer(NoReviewer, Struct, frozen=True, kw_only=True):
    """Asks about each edit, without a time limit. What the client reviews after the edit is its own."""

    endpoint: RpcEndpoint
    buffers: Buffers
    workspace: Workspace
    uri_of: Callable[[Path], str]
    features: ClientFeatures

    async def review(self, applied: Applied, call: ReviewedCall) -> Applied:
        hunks = hunks_of(applied.stands)
        if not self.features.review_request or not hunks:
            return applied
        with ExitStack() as stack:
            followed = self._followed(applied.stands, hunks)
            for each in followed.values():
                stack.enter_context(self.buffers.following(each))
            answer = await self._ask(applied.stands, hunks, call)
            accepted, rejected = _decisions(answer)
            undone = await self._undone(applied.stands)
            rejected |= {hunk.id for hunk in hunks if hunk.place in undone}
            accepted -= rejected
            applied = replace(applied, feedback=_feedback(answer))
            if n_open := sum(hunk.id not in accepted | rejected for hunk in hunks):
                which = "This edit was" if n_open == len(hunks) else f"{n_open} of its {len(hunks)} hunks were"
                note = f"{which} allowed but not reviewed by the user. Changes that were not reviewed remain."
                applied = replace(applied, note=" ".join(filter(None, (applied.note, note))))
            if not any(hunk.id in rejected for hunk in hunks):
                return applied
            return await to_its_end(_TakingBack(self.workspace, applied, hunks, rejected, followed).run())

    # Requests

    async def _ask(self, plan: EditPlan, hunks: Sequence[PlanHunk], call: ReviewedCall) -> object:
        """Return the client's raw answer; None if none came."""
        review_id = f"review-{uuid4().hex[:12]}"
        request: ReviewRequestOut = {
            "reviewId": review_id,
            "sessionId": call.session_id,
            "turnId": call.turn_id,
            "toolId": call.tool_id,
            "files": self._files(plan, hunks),
        }
        withdrawn: ReviewCancelledOut = {"reviewId": review_id}
        return await ask_in_its_form(self.endpoint, REVIEW_REQUEST, request, withdrawal=(REVIEW_CANCELLED, withdrawn))

    def _files(self, plan: EditPlan, hunks: Sequence[PlanHunk]) -> list[ReviewedFileOut]:
        files: list[ReviewedFileOut] = []
        for place, operation in enumerate(plan.operations):
            of_file = [hunk for hunk in hunks if hunk.place == place]
            if of_file:
                ranges = ranges_of(of_file, _text_of(operation), self.features.encoding)
                shown = [_hunk_out(hunk, place) for hunk, place in zip(of_file, ranges, strict=True)]
                files.append({"uri": self.uri_of(of_file[0].path), "kind": of_file[0].kind, "hunks": shown})
        return files

    async def _undone(self, plan: EditPlan) -> set[int]:
        """Return the indices of the operations that the user has undone, or closed without saving."""
        found: set[int] = set()
        for place, operation in enumerate(plan.operations):
            if isinstance(operation, WriteText) and operation.before is not None:
                with suppress(ToolError):
                    if (await self.workspace.read(operation.path)).text == operation.before.text:
                        found.add(place)
        return found

    # Positions

    def _followed(self, plan: EditPlan, hunks: Sequence[PlanHunk]) -> Mapping[int, Followed]:
        """Return the positions of the hunks of each edited file in its new text, by index of the operation."""
        found: dict[int, Followed] = {}
        for place, operation in enumerate(plan.operations):
            if isinstance(operation, WriteText) and operation.before is not None:
                spans = [TextSpan(hunk.new_start, hunk.new_end) for hunk in hunks if hunk.place == place]
                found[place] = Followed(operation.path, operation.text, spans)
        return found


class _TakingBack:
    """Undoes rejected hunks with one edit, which is made again if the user's typing interferes."""

    def __init__(
        self,
        workspace: Workspace,
        applied: Applied,
        hunks: Sequence[PlanHunk],
        rejected: Collection[str],
        followed: Mapping[int, Followed],
    ) -> None:
        self._workspace = workspace
        self._applied = applied
        self._hunks = hunks
        self._rejected = [hunk for hunk in hunks if hunk.id in rejected]
        self._followed = followed
        self._left: dict[str, str] = {}
        """Reasons why hunks remain, by id."""
        self._done: set[int] = set()
        """Indices of the operations that need nothing more."""

    async def run(self) -> Applied:
        """Undo the hunks and return the result. Raises nothing."""
        problem = ""
        for _ in range(MAX_ATTEMPTS):
            operations = [op for place in self._places() if (op := await self._operation(place)) is not None]
            label = f"Reject hunks: {self._applied.asked.label}"
            plan = EditPlan(label=label, operations=tuple(operations), result="", previewed=False)
            if not operations:
                return self._result()
            try:
                await self._workspace.apply(plan)
                return self._result()
            except ToolError as error:
                problem = str(error).partition("\n")[0]
            await self._note_done(plan)
            if not await self._typed_since(plan):
                break
        for hunk in self._rejected:
            if hunk.place not in self._done:
                self._left.setdefault(hunk.id, f"the user rejected it, but it could not be undone: {problem}")
        return self._result()

    def _result(self) -> Applied:
        taken_back = [hunk for hunk in self._rejected if hunk.id not in self._left]
        return replace(
            self._applied,
            stands=without(self._applied.stands, taken_back),
            rejected=tuple(Rejected(hunk=hunk, left=self._left.get(hunk.id, "")) for hunk in self._rejected),
        )

    def _places(self) -> list[int]:
        return sorted({hunk.place for hunk in self._rejected} - self._done)

    async def _typed_since(self, plan: EditPlan) -> bool:
        """Whether a file has changed since the edit was made; otherwise, the editor refuses the edit itself."""
        for operation in plan.operations:
            if isinstance(operation, WriteText | DeleteFile) and operation.before is not None:
                current = await self._read(operation.path)
                if current is None or current.digest != operation.before.digest:
                    return True
        return False

    async def _note_done(self, plan: EditPlan) -> None:
        """Note which parts of a failed edit were applied."""
        for operation in plan.operations:
            for place in self._places():
                if _path_of(self._applied.stands.operations[place]) == _path_of(operation) and await self._holds(
                    operation
                ):
                    self._done.add(place)

    async def _holds(self, operation: FileOperation) -> bool:
        if isinstance(operation, WriteText):
            current = await self._read(operation.path)
            return current is not None and current.text == operation.text
        return await self._workspace.stamp(_path_of(operation)) == MISSING

    async def _read(self, path: Path) -> Document | None:
        try:
            return await self._workspace.read(path)
        except ToolError:
            return None

    async def _operation(self, place: int) -> FileOperation | None:
        """Return the operation that undoes the rejected hunks of a file in its current state; None if that is not
        possible."""
        hunks = [hunk for hunk in self._rejected if hunk.place == place and hunk.id not in self._left]
        asked = self._applied.stands.operations[place]
        match asked:
            case DeleteFile(path=path, before=Document() as before, mode=mode):
                if await self._workspace.stamp(path) != MISSING:
                    return self._leave(hunks, TAKEN)
                return WriteText(path=path, before=None, text=before.text, encoding=before.encoding, mode=mode)
            case WriteText(path=path, before=None, text=text):
                current = await self._read(path)
                if current is None:
                    return self._leave(hunks, GONE)
                return DeleteFile(path=path, before=current) if current.text == text else self._leave(hunks, TYPED_INTO)
            case WriteText(path=path, before=Document() as before):
                current = await self._read(path)
                if current is None:
                    return self._leave(hunks, GONE)
                return None if current.text == before.text else self._edit(place, hunks, current)
            case _:
                return None

    def _edit(self, place: int, hunks: Sequence[PlanHunk], current: Document) -> WriteText | None:
        followed = self._followed[place]
        followed.catch_up(current.text)
        text = current.text
        in_file = [hunk for hunk in self._hunks if hunk.place == place]
        for hunk in reversed(hunks):
            span = followed.lines(next(at for at, each in enumerate(in_file) if each.id == hunk.id))
            if span is None or text[span.start : span.end] != hunk.new_text or _would_join(hunk, span, text):
                self._left[hunk.id] = CHANGED_SINCE
            else:
                text = f"{text[: span.start]}{hunk.old_text}{text[span.end :]}"
        return WriteText(path=current.path, before=current, text=text) if text != current.text else None

    def _leave(self, hunks: Sequence[PlanHunk], reason: str) -> None:
        for hunk in hunks:
            self._left[hunk.id] = reason


def _would_join(hunk: PlanHunk, span: TextSpan, text: str) -> bool:
    """Whether old text without a final line break would join the line that now follows it."""
    return bool(hunk.old_text) and hunk.old_text[-1] not in "\r\n" and span.end < len(text)


def _decisions(answer: object) -> tuple[set[str], set[str]]:
    """Return the ids of the accepted and of the rejected hunks; invalid decisions are in neither."""
    given = cast("Mapping[str, Any]", answer).get("hunks") if isinstance(answer, Mapping) else None
    accepted: set[str] = set()
    rejected: set[str] = set()
    for each in cast("list[object]", given) if isinstance(given, list) else []:
        with suppress(InvalidValueError):
            hunk = valid(ReviewedHunk, each)
            (accepted if hunk.accepted else rejected).add(hunk.hunk_id)
    return accepted - rejected, rejected


def _feedback(answer: object) -> str:
    said = cast("Mapping[str, Any]", answer).get("feedback") if isinstance(answer, Mapping) else None
    return said.strip() if isinstance(said, str) else ""


def _text_of(operation: FileOperation) -> str:
    return operation.text if isinstance(operation, WriteText) else ""


def _path_of(operation: FileOperation) -> Path:
    assert isinstance(operation, WriteText | DeleteFile)
    return operation.path


def _hunk_out(hunk: PlanHunk, place: RangeOut) -> HunkOut:
    return {"hunkId": hunk.id, "range": place, "oldText": hunk.old_text, "newText": hunk.new_text}
