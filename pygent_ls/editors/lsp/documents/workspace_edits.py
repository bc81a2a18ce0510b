"""Edit plans as `workspace/applyEdit`, and the proof that the editor applied them."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.display_text import excerpt, one_line
from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.edits.hunks import hunks_of, without
from pygent_ls.agent.ports.workspace import (
    Applied,
    CopyBytes,
    DeleteFile,
    EditPlan,
    FileOperation,
    MoveFile,
    PlanHunk,
    Rejected,
    WriteText,
)
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers, read_text_now
from pygent_ls.editors.lsp.documents.merged_changes import holds_all_of
from pygent_ls.editors.lsp.documents.minimal_edits import Replacement, at_most, minimal_edits
from pygent_ls.editors.lsp.documents.text_edits import text_edits
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.lsp.uris import FileUris
from pygent_ls.errors import Quote, RefusedEditError, UnprovenEditError

DISK_POLL_S = 0.02
"""Interval between reads of a closed file; some editors answer before they have written it."""

MAX_TEXT_EDITS = 100
"""Maximum number of text edits sent for one document: eglot moves through the whole buffer for each edit, and took
minutes for 20,000 edits."""

MAX_ATTEMPTS = 3
"""Maximum number of attempts to apply an edit that an editor refuses because it has reloaded the file."""


NOTEBOOK = ".ipynb"


class EditorEdits(Struct, frozen=True, kw_only=True):
    """Applies the part of a plan that the editor can carry out."""

    endpoint: RpcEndpoint
    features: ClientFeatures
    buffers: Buffers
    uris: FileUris
    previews: Callable[[], bool] = lambda: False
    """Whether the editor shows each edit to the user first, if the plan allows that."""
    opens_files: bool = True
    """Whether the editor also carries out operations on files that are not open in it. Some editors report no change of
    files outside of the folders that they have open."""

    def takes(self, operation: FileOperation) -> bool:
        """Whether the editor carries out the operation; otherwise, the daemon writes to the disk."""
        if not self.features.apply_edit or not (self.opens_files or self._is_open(operation)):
            return False
        can = self.features.resource_operations if self.features.document_changes else frozenset[str]()
        match operation:
            case WriteText(path=path, before=before, text=text):
                buffer = self.buffers.get(path)
                if buffer is not None and buffer.notebook is not None:  # of a clean one, the editor loads a new file
                    return self.features.notebook_edits and not buffer.is_behind
                if buffer is not None:  # an edit without an effect could not be proven
                    return not (buffer.text == text and buffer.is_behind)
                if path.suffix == NOTEBOOK:  # an editor that shows cells would open the text beside them
                    return False
                return _is_plain(operation) and (before is not None or "create" in can)
            case MoveFile():
                return "rename" in can
            case DeleteFile():
                return "delete" in can
            case CopyBytes():
                return False

    def _is_open(self, operation: FileOperation) -> bool:
        match operation:
            case WriteText(path=path) | DeleteFile(path=path) | MoveFile(source=path):
                return self.buffers.get(path) is not None or any(self.buffers.below(path))
            case CopyBytes():
                return False

    async def apply(self, plan: EditPlan) -> Applied:
        """Send one `applyEdit` and wait for its proof.

        The same edit updates a buffer that is older than its file. Before a preview or a move, a separate edit does so.

        Raises `RefusedEditError` if nothing was applied, else `UnprovenEditError`. Both contain the current text of the
        files.
        """
        has_cells = any(buffer.notebook for buffer in self._edited_buffers(plan))
        hunks = hunks_of(plan) if plan.previewed and not has_cells and self.previews() else ()
        await self._bring_up_to_date(plan, are_shown=bool(hunks))
        if hunks:
            return await Preview(self, plan, hunks).run()
        for n_left in reversed(range(MAX_ATTEMPTS)):
            versions = self._versions(plan)
            try:
                return await self._made(plan)
            except RefusedEditError:
                is_reloaded = self._versions(plan) != versions and all(map(self._is_as_before, plan.operations))
                if not is_reloaded or not n_left:
                    raise
        raise AssertionError

    async def _made(self, plan: EditPlan) -> Applied:
        proofs = [_Proof(op, self._watch(op), _is_on_disk(op)) for op in plan.operations]
        taken_in = [(buffer, buffer.text_on_disk()) for buffer in self._edited_buffers(plan) if buffer.is_behind]
        try:
            answer = await self.send(plan)
            unproven = await self._unproven(proofs, answer)
            merged = [op for op in unproven if self.is_merged(op)]
        finally:
            for proof in proofs:
                if proof.seen is not None:
                    proof.seen.cancel()
        if failed := [op for op in unproven if op not in merged]:
            self._doubt(answer, failed)
            is_none = not answer.applied and len(failed) == len(plan.operations) and not any(map(_is_begun, proofs))
            raise (RefusedEditError if is_none else UnprovenEditError)(*self.failure(answer, failed))
        for buffer, text in taken_in:
            buffer.base_text = text
        return Applied(asked=plan, stands=plan, note=self.note_on(merged))

    async def _bring_up_to_date(self, plan: EditPlan, *, are_shown: bool) -> None:
        """Update buffers that are older than their files. `are_shown`: the plan's hunks are shown to the user."""
        moved = {op.source for op in plan.operations if isinstance(op, MoveFile)}
        shown = {op.path for op in plan.operations if isinstance(op, WriteText) and are_shown}
        await self.load(
            each
            for each in self.buffers
            if each.path in shown or not moved.isdisjoint((each.named, *each.named.parents))
        )

    async def load(self, buffers: Iterable[Buffer]) -> None:
        """Update those of the buffers that are older than their files. Raises the errors of `apply`."""
        writes = [
            WriteText(path=buffer.path, before=buffer.document(), text=text)
            for buffer in buffers
            if buffer.notebook is None and buffer.is_behind and (text := buffer.text_on_disk()) is not None
        ]
        if writes:
            await self._made(EditPlan(label="Load from the disk", operations=tuple(writes), result="", previewed=False))

    def _edited_buffers(self, plan: EditPlan) -> list[Buffer]:
        found = (self.buffers.get(op.path) for op in plan.operations if isinstance(op, WriteText))
        return [buffer for buffer in found if buffer is not None]

    def _versions(self, plan: EditPlan) -> list[tuple[str, int]]:
        return [(buffer.uri, buffer.version) for buffer in self._edited_buffers(plan)]

    def _is_as_before(self, operation: FileOperation) -> bool:
        if not isinstance(operation, WriteText) or operation.before is None:
            return True
        return self.text_now(operation.path) == operation.before.text

    def text_now(self, path: Path) -> str | None:
        """Return the text of the buffer or the file, whichever is newer; None if it is not a text file."""
        buffer = self.buffers.current(path)
        return buffer.text if buffer else read_text_now(path)

    def _doubt(self, answer: EditResponse, failed: Sequence[FileOperation]) -> None:
        """Mark the documents as uncertain: without versions, the editor cannot refuse a second edit made for the old
        text."""
        if answer.applied and not self.features.document_changes:
            for operation in failed:
                if isinstance(operation, WriteText):
                    self.buffers.doubt(operation.path)

    async def send(self, plan: EditPlan, hunks: Sequence[PlanHunk] = ()) -> EditResponse:
        """Send the edit and return the editor's answer. The user is asked about each of the given hunks."""
        edit = self._workspace_edit(plan.operations, hunks)
        if hunks:
            edit["changeAnnotations"] = change_annotations(plan, hunks)
        params = {"label": plan.label, "edit": edit}
        longer_s = _n_text_edits(edit) // self.endpoint.patience.edits_per_s
        try:
            result = await self.endpoint.ask("workspace/applyEdit", params, of_a_person=bool(hunks), longer_s=longer_s)
        except ClientError as error:
            await self.endpoint.present()  # after a reconnect, the editor first sends what is open
            return EditResponse(
                applied=True, said=str(error), longer_s=longer_s
            )  # the edit may still have been applied: the proof decides
        if not isinstance(result, Mapping):
            return EditResponse(applied=True, said=f"it answered {result!r}", longer_s=longer_s)
        given = cast("Mapping[str, Any]", result)
        if given.get("applied") is True:
            said = "it reported success, but the new text did not arrive"
            return EditResponse(applied=True, confirmed=True, said=said, longer_s=longer_s)
        reason = given.get("failureReason")
        is_users_no = given.get("applied") is False and not reason
        return EditResponse(applied=False, is_users_no=is_users_no, said=str(reason or "it gave no reason"))

    # The workspace edit

    def _workspace_edit(self, operations: Sequence[FileOperation], hunks: Sequence[PlanHunk]) -> dict[str, Any]:
        if self.features.document_changes:
            changes: list[dict[str, Any]] = []
            for place, operation in enumerate(operations):
                ids = [hunk.id for hunk in hunks if hunk.place == place]
                changes += self._document_changes(operation, ids)
            return {"documentChanges": changes}
        writes = [op for op in operations if isinstance(op, WriteText)]
        return {"changes": {self._uri(op.path): self._text_edits(op) for op in writes}}

    def _document_changes(self, operation: FileOperation, ids: Sequence[str]) -> list[dict[str, Any]]:
        """`ids` are annotation ids: one for each text edit, or one for the whole file if it is created or deleted."""
        whole = {"annotationId": ids[0]} if ids else {}
        match operation:
            case WriteText(path=path, before=before):
                buffer = self.buffers.get(path)
                if buffer is not None and buffer.notebook is not None:
                    return buffer.notebook.document_changes(operation.text, self.features.encoding)
                identifier: dict[str, Any] = {"uri": self._uri(path), "version": buffer.version if buffer else None}
                if before is not None and buffer is None and self.features.text_digests:
                    identifier["digest"] = before.digest
                edits: list[dict[str, Any]] = []
                if before is None and buffer is None:
                    edits.append({"kind": "create", "uri": self._uri(path), **whole})
                if text := self._text_edits(operation, are_annotated=bool(ids)):
                    if ids:
                        text = [{**each, "annotationId": id_} for each, id_ in zip(text, ids, strict=True)]
                    edits.append({"textDocument": identifier, "edits": text})
                return edits
            case MoveFile(source=source, destination=destination):
                return [{"kind": "rename", "oldUri": self._uri_of_entry(source), "newUri": self._uri(destination)}]
            case DeleteFile(path=path):
                return [{"kind": "delete", "uri": self._uri_of_entry(path), **whole}]
            case CopyBytes():
                return []

    def _text_edits(self, operation: WriteText, *, are_annotated: bool = False) -> list[dict[str, Any]]:
        """Return the edits from the editor's current text, which may be older than the plan's. Annotated edits match
        the hunks one to one."""
        buffer = self.buffers.get(operation.path)
        old = buffer.text if buffer else operation.before.text if operation.before else ""
        if operation.before is None:
            replacements = [Replacement(0, len(old), operation.text)] if old != operation.text else []
        else:
            replacements = minimal_edits(old, operation.text)
            if not are_annotated:
                replacements = at_most(MAX_TEXT_EDITS, old, replacements)
        return text_edits(old, replacements, self.features.encoding, may_split=not are_annotated)

    def _uri(self, path: Path) -> str:
        return self.buffers.uri_of(path) or self.uris.uri_of(path)

    def _uri_of_entry(self, path: Path) -> str:
        return self.buffers.uri_of_entry(path) or self.uris.uri_of(path)

    # Proof

    def _watch(self, operation: FileOperation) -> asyncio.Future[None] | None:
        return self.buffers.watch(operation.path, operation.text) if isinstance(operation, WriteText) else None

    async def _unproven(self, proofs: Sequence[_Proof], answer: EditResponse) -> list[FileOperation]:
        async def wait(proof: _Proof) -> bool:
            patience_s = self.endpoint.patience.proof_s + answer.longer_s if answer.applied else 0.0
            deadline = asyncio.get_running_loop().time() + patience_s
            while not self._is_proven(proof, answer):
                left = deadline - asyncio.get_running_loop().time()
                if left <= 0:
                    return False
                await _pause(proof.seen, min(DISK_POLL_S, left))
            return True

        proven = await asyncio.gather(*(wait(proof) for proof in proofs))
        return [proof.operation for proof, is_proven in zip(proofs, proven, strict=True) if not is_proven]

    def _is_proven(self, proof: _Proof, answer: EditResponse) -> bool:
        if proof.seen is not None and proof.seen.done():
            return True
        if isinstance(proof.operation, DeleteFile) and not proof.was_on_disk:
            return answer.confirmed or self.buffers.uri_of_entry(proof.operation.path) is None
        return self.is_on_disk(proof.operation)

    def is_on_disk(self, operation: FileOperation) -> bool:
        """Whether the disk proves the operation; text of an open document is proven only by the editor."""
        match operation:
            case WriteText(path=path, text=text):
                return self.buffers.get(path) is None and read_text_now(path) == text
            case MoveFile(source=source, destination=destination):
                return destination.exists() and not source.exists()
            case DeleteFile(path=path):
                return not path.exists() and not path.is_symlink()
            case CopyBytes():
                return True

    def is_merged(self, operation: FileOperation) -> bool:
        """Whether the buffer holds the new text with further edits of the user around it."""
        if not isinstance(operation, WriteText) or operation.before is None:
            return False
        buffer = self.buffers.get(operation.path)
        return buffer is not None and holds_all_of(operation.before.text, operation.text, buffer.text)

    def failure(self, answer: EditResponse, failed: Sequence[FileOperation]) -> tuple[str, list[Quote]]:
        """Return the error text for the model about unproven operations, and the quotes in it."""
        quotes: list[Quote] = []
        is_unknown = answer.applied and not answer.confirmed
        what = (
            "It is unknown whether the editor applied the edit" if is_unknown else "The editor did not apply the edit"
        )
        lines = [f"{what}: {answer.said}. Nothing else was tried."]
        for operation in failed:
            if isinstance(operation, WriteText):
                text = self.text_now(operation.path)
                holds = "does not exist" if text is None else f"now holds:\n{excerpt(text)}"
                lines.append(f"{operation.path.name} {holds}")
                quotes += [] if text is None else [Quote(text, str(operation.path))]
        return "\n".join(lines), quotes

    def note_on(self, merged: Sequence[FileOperation]) -> str:
        """Return the note for the model about files that the user typed in at the same time, or an empty text."""
        names = ", ".join(op.path.name for op in merged if isinstance(op, WriteText))
        if not names:
            return ""
        return f"The user typed in {names} at the same time. Both changes are there; read the file again."


async def _pause(seen: asyncio.Future[None] | None, seconds: float) -> None:
    if seen is None:
        await asyncio.sleep(seconds)
    else:
        await asyncio.wait([seen], timeout=seconds)


class EditResponse(Struct, frozen=True, kw_only=True):
    """The editor's answer to an edit."""

    applied: bool
    """Whether the edit may have been applied."""
    confirmed: bool = False
    """Whether the editor reported that it applied the edit."""
    is_users_no: bool = False
    """Whether the edit was refused without a reason, as by editors whose user closed the preview."""
    said: str
    longer_s: float = 0.0
    """Additional time for the proof in seconds, for the number of text edits."""


class _Proof(NamedTuple):
    """An operation and its proof: `seen` is done when the editor reports the new text."""

    operation: FileOperation
    seen: asyncio.Future[None] | None
    was_on_disk: bool


def _n_text_edits(edit: Mapping[str, Any]) -> int:
    """Count the text edits in a workspace edit."""
    if "changes" in edit:
        return sum(map(len, edit["changes"].values()))
    return sum(len(each.get("edits", ())) for each in edit["documentChanges"])


def _is_on_disk(operation: FileOperation) -> bool:
    return isinstance(operation, DeleteFile) and os.path.lexists(operation.path)


def _is_begun(proof: _Proof) -> bool:
    """Whether an unproven operation was partly carried out: a new file without its text, or half of a move."""
    match proof.operation:
        case WriteText(path=path, before=None) | MoveFile(destination=path) | CopyBytes(destination=path):
            return os.path.lexists(path)
        case _:
            return False


def _is_plain(operation: WriteText) -> bool:
    """Whether the new text is plain UTF-8 with one kind of line ending, and not that of a file that is put back as it
    was. Some editors convert other text when they open a file, no editor can set permission bits, and most leave the
    text of a new file unsaved."""
    if operation.before is None and operation.mode is not None:
        return False
    encoding = operation.written_as
    if encoding.bom or encoding.name.replace("-", "").lower() != "utf8":
        return False
    return len({ending for line in split_lines(operation.text) if (ending := line[len(line.rstrip("\r\n")) :])}) <= 1


POLL_S = 0.02
"""Interval between checks for changes."""


CANNOT = (
    'edits.review = "ask" has no effect here: this editor cannot preview edits hunk by hunk. The mode and your '
    "rules determine which edits are applied; in the mode default you are asked before each."
)


EMPTY = "the user accepted the file but not its content: it was created empty"


QUIET_S = 0.1
"""Time without a change after which an incomplete edit counts as what the user accepted."""


class Previews(Struct, kw_only=True):
    """Whether the editor previews edits before it applies them."""

    endpoint: RpcEndpoint
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
            self.endpoint.show_message(f"pygent-ls: {CANNOT}", MessageType.WARNING)
        return self.features.change_annotations


class Preview:
    """One edit in which each hunk has an annotation that needs confirmation."""

    def __init__(self, editor: EditorEdits, plan: EditPlan, hunks: Sequence[PlanHunk]) -> None:
        self._editor = editor
        self._plan = plan
        self._hunks = hunks
        self._seen: dict[int, Sequence[PlanHunk]] = {}
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

    def _standing(self, rejected: Sequence[PlanHunk], empty: Collection[int]) -> EditPlan:
        """Return the plan without the rejected hunks; `empty` has the indices of new files that were created without
        text."""
        operations = [
            dataclasses.replace(op, text="", diff=None) if isinstance(op, WriteText) and place in empty else op
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

    def _is_rejected(self, hunk: PlanHunk) -> bool:
        rejected = self._rejected_at(hunk.place)
        return rejected is not None and hunk in rejected

    def _of(self, place: int) -> list[PlanHunk]:
        return [hunk for hunk in self._hunks if hunk.place == place]

    def _rejected_at(self, place: int) -> Sequence[PlanHunk] | None:
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

    def _missing(self, place: int, text: str) -> Sequence[PlanHunk] | None:
        operation = self._plan.operations[place]
        assert isinstance(operation, WriteText)
        if operation.before is None:
            if text == operation.text:
                return ()
            return None if text else self._of(place)
        return rejected_in(operation.text, self._of(place), text)


def rejected_in(new: str, hunks: Sequence[PlanHunk], text: str) -> Sequence[PlanHunk] | None:
    """Return the hunks missing in `text`; None if `text` is not `new` without some of the hunks."""
    reached: dict[int, tuple[PlanHunk, ...]] = {0: ()}
    """Offsets in `text` up to which it is explained, with the rejected hunks of each explanation."""
    done = 0
    for hunk in hunks:
        kept = new[done : hunk.new_start]
        following: dict[int, tuple[PlanHunk, ...]] = {}
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


def change_annotations(plan: EditPlan, hunks: Sequence[PlanHunk]) -> Mapping[str, Mapping[str, Any]]:
    """Return `changeAnnotations`, by hunk id."""
    return {
        hunk.id: {
            "label": f"{plan.label}: {_where(plan, hunk)}",
            "description": one_line(hunk.new_text.strip() or hunk.old_text.strip()),
            "needsConfirmation": True,
        }
        for hunk in hunks
    }


def _where(plan: EditPlan, hunk: PlanHunk) -> str:
    match hunk.kind:
        case "create":
            return f"new file {hunk.path.name}"
        case "delete":
            return f"delete {hunk.path.name}"
        case "edit":
            operation = plan.operations[hunk.place]
            before = operation.before.text if isinstance(operation, WriteText) and operation.before else ""
            return f"{hunk.path.name}, line {len(split_lines(before[: hunk.old_start])) + 1}"
