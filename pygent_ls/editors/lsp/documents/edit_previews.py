"""Edits that the editor previews hunk by hunk. The rejected hunks are determined from the resulting text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.edits.hunks import Hunk, without
from pygent_ls.agent.edits.reviewer import Applied, Rejected
from pygent_ls.agent.ports.workspace import DeleteFile, EditPlan, FileOperation, WriteText
from pygent_ls.agent.tools.tool import one_line
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import read_text_now
from pygent_ls.editors.lsp.rpc.endpoint import Endpoint
from pygent_ls.errors import UnprovenEditError

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.documents.workspace_edits import EditorEdits

POLL_S = 0.02
"""Interval between checks for changes."""

CANNOT = (
    'edits.review = "ask" has no effect here: this editor cannot preview edits hunk by hunk. The mode and your '
    "rules determine which edits are applied; in the mode default you are asked before each."
)

EMPTY = "the user accepted the file but not its content: it was created empty"

QUIET_S = 0.1
"""Time without a change after which an incomplete edit counts as what the user accepted."""


@dataclass(slots=True, kw_only=True)
class Previews:
    """Whether the editor previews edits before it applies them."""

    endpoint: Endpoint
    features: ClientFeatures
    are_wanted: Callable[[], bool]
    """Returns the current value of `edits.review`."""
    _is_told: bool = False

    def __call__(self) -> bool:
        """Whether to preview. If the setting requires it and the editor cannot, the user is told once."""
        if self.features.review_request or not self.are_wanted():
            return False
        if not self.features.change_annotations and not self._is_told:
            self._is_told = True
            self.endpoint.show_message(f"pygent-ls: {CANNOT}", types.MessageType.Warning)
        return self.features.change_annotations


class Preview:
    """One edit in which each hunk has an annotation that needs confirmation."""

    def __init__(self, editor: EditorEdits, plan: EditPlan, hunks: Sequence[Hunk]) -> None:
        self._editor = editor
        self._plan = plan
        self._hunks = hunks
        self._seen: dict[int, Sequence[Hunk]] = {}
        """By index of the operation: the hunks missing when the document last held a part of the edit."""
        self._changed = asyncio.Event()
        self._were_there = {op.path for op in plan.operations if isinstance(op, DeleteFile) and _is_there(op.path)}

    async def run(self) -> Applied:
        """Send the edit, wait for the user, and return the accepted part. Raises `UnprovenEditError`."""
        with ExitStack() as stack:
            for place, operation in enumerate(self._plan.operations):
                if isinstance(operation, WriteText):
                    stack.enter_context(self._editor.buffers.listening(operation.path, self._look_at(place)))
            answer = await self._editor.send(self._plan, self._hunks)
            if answer.applied:
                await self._settled()
        unproven = self._unproven()
        merged = [op for op in unproven if answer.applied and self._editor.is_merged(op)]
        failed = [op for op in unproven if op not in merged]
        rejected = [hunk for hunk in self._hunks if self._is_rejected(hunk)]
        is_all = len(rejected) == len(self._hunks)
        is_said = answer.confirmed or (answer.is_users_no if is_all else answer.applied)
        if failed or not is_said:
            raise UnprovenEditError(*self._editor.failure(answer, failed or self._plan.operations))
        empty = {hunk.place for hunk in rejected if hunk.kind == "create" and _is_there(hunk.path)}
        return Applied(
            asked=self._plan,
            stands=self._standing(rejected, empty) if answer.applied else replace(self._plan, operations=()),
            note=self._editor.note_on(merged),
            rejected=tuple(Rejected(hunk=hunk, left=EMPTY if hunk.place in empty else "") for hunk in rejected),
        )

    def _standing(self, rejected: Sequence[Hunk], empty: Collection[int]) -> EditPlan:
        """Return the plan without the rejected hunks; `empty` has the indices of new files that were created without
        text."""
        operations = [
            replace(op, text="", diff=None) if isinstance(op, WriteText) and place in empty else op
            for place, op in enumerate(self._plan.operations)
        ]
        plan = replace(self._plan, operations=tuple(operations))
        return without(plan, [hunk for hunk in rejected if hunk.place not in empty])

    def _look_at(self, place: int) -> Callable[[str], None]:
        def look(text: str) -> None:
            self._changed.set()
            rejected = self._missing(place, text)
            if rejected is not None and len(rejected) < len(self._of(place)):
                self._seen[place] = rejected

        return look

    async def _settled(self) -> None:
        """Return when a part of each file's edit has arrived and no more changes follow, or on a timeout."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._editor.endpoint.patience.proof_s
        quiet_from = loop.time()
        while loop.time() < deadline and not self._is_settled(loop.time() - quiet_from):
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._changed.wait()
                    quiet_from = loop.time()

    def _is_settled(self, quiet_s: float) -> bool:
        lacking = [self._rejected_at(place) for place in range(len(self._plan.operations))]
        if all(rejected is not None and not rejected for rejected in lacking):
            return True
        has_arrived = all(
            rejected is not None and len(rejected) < max(1, len(self._of(place)))
            for place, rejected in enumerate(lacking)
        )
        return has_arrived and quiet_s >= QUIET_S

    def _unproven(self) -> list[FileOperation]:
        return [op for place, op in enumerate(self._plan.operations) if self._rejected_at(place) is None]

    def _is_rejected(self, hunk: Hunk) -> bool:
        rejected = self._rejected_at(hunk.place)
        return rejected is not None and hunk in rejected

    def _of(self, place: int) -> list[Hunk]:
        return [hunk for hunk in self._hunks if hunk.place == place]

    def _rejected_at(self, place: int) -> Sequence[Hunk] | None:
        """Return the hunks of an operation that were not applied; None if the current state has another cause."""
        if place in self._seen:
            return self._seen[place]
        operation = self._plan.operations[place]
        match operation:
            case WriteText(path=path):
                buffer = self._editor.buffers.get(path)
                text = buffer.text if buffer else read_text_now(path)
                if text is None:
                    return self._of(place) if operation.before is None and not _is_there(path) else None
                return self._missing(place, text)
            case DeleteFile(path=path):
                if self._is_gone(path):
                    return ()
                return self._of(place) or None
            case _:
                return () if self._editor.is_on_disk(operation) else None

    def _is_gone(self, path: Path) -> bool:
        return not _is_there(path) and (path in self._were_there or self._editor.buffers.uri_of_entry(path) is None)

    def _missing(self, place: int, text: str) -> Sequence[Hunk] | None:
        operation = self._plan.operations[place]
        assert isinstance(operation, WriteText)
        if operation.before is None:
            if text == operation.text:
                return ()
            return None if text else self._of(place)
        return rejected_in(operation.text, self._of(place), text)


def rejected_in(new: str, hunks: Sequence[Hunk], text: str) -> Sequence[Hunk] | None:
    """Return the hunks missing in `text`; None if `text` is not `new` without some of the hunks."""
    reached: dict[int, tuple[Hunk, ...]] = {0: ()}
    """Offsets in `text` up to which it is explained, with the rejected hunks of each explanation."""
    done = 0
    for hunk in hunks:
        kept = new[done : hunk.new_start]
        following: dict[int, tuple[Hunk, ...]] = {}
        for at, rejected in reached.items():
            if text.startswith(kept, at):
                place = at + len(kept)
                if text.startswith(hunk.new_text, place):
                    following.setdefault(place + len(hunk.new_text), rejected)
                if text.startswith(hunk.old_text, place):
                    following.setdefault(place + len(hunk.old_text), (*rejected, hunk))
        reached, done = following, hunk.new_end
    rest = new[done:]
    return next((rejected for at, rejected in reached.items() if text[at:] == rest), None)


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def change_annotations(plan: EditPlan, hunks: Sequence[Hunk]) -> Mapping[str, Mapping[str, Any]]:
    """Return `changeAnnotations`, by hunk id."""
    return {
        hunk.id: {
            "label": f"{plan.label}: {_where(plan, hunk)}",
            "description": one_line(hunk.new_text.strip() or hunk.old_text.strip()),
            "needsConfirmation": True,
        }
        for hunk in hunks
    }


def _where(plan: EditPlan, hunk: Hunk) -> str:
    match hunk.kind:
        case "create":
            return f"new file {hunk.path.name}"
        case "delete":
            return f"delete {hunk.path.name}"
        case "edit":
            operation = plan.operations[hunk.place]
            before = operation.before.text if isinstance(operation, WriteText) and operation.before else ""
            return f"{hunk.path.name}, line {len(split_lines(before[: hunk.old_start])) + 1}"
