"""Changes of files by an external agent: what it asks us to write, and what its program writes by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from pygent_ls.agent.calls.edit_execution import count_changes, make_edit
from pygent_ls.agent.edits.commit import to_its_end
from pygent_ls.agent.edits.diffs import changes_of, unified_diff
from pygent_ls.agent.edits.merge import merged
from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.edits.reviewer import ReviewedCall, told
from pygent_ls.agent.events import Notice
from pygent_ls.agent.external_agent import CHANGES_NO_FILE, ExternalCall, ProposedText
from pygent_ls.agent.ports.workspace import (
    MISSING,
    DeleteFile,
    Document,
    EditPlan,
    FileChange,
    FileOperation,
    LineDiff,
    TextEncoding,
    Workspace,
    WriteText,
)
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.turn.external.tools import resolved
from pygent_ls.agent.turn.state import TurnState
from pygent_ls.errors import StaleDocumentError, ToolError

RECORD_S = 10.0
"""Seconds that the record of what a program changed may take after a cancellation."""

MAX_KEPT_CHARS = 5_000_000
"""Maximum length of a text that is kept to compare with."""


class ExternalEdits(Struct, kw_only=True):
    """Changes of files in one turn of an external agent.

    While the agent runs, what its program changes on the disk is recorded; files that we write are left out.
    """

    state: TurnState
    agent: str
    """Name of the agent for a person."""
    known: dict[Path, str] = field(default_factory=dict[Path, str])
    """Text of each file that the agent last read or wrote through us."""
    _on_disk: dict[Path, str] = field(default_factory=dict[Path, str])
    """Text on the disk when a call first named the file."""
    _announced: dict[Path, list[ProposedText]] = field(default_factory=dict[Path, list[ProposedText]])
    """Changes of the last call that announced any, by file."""
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_open: bool = False
    _ours: set[Path] = field(default_factory=set[Path])
    """Files that we have written since the last look, which are not changes of its program."""
    tool_id: str = ""
    """The last call that may change files, to which changes on the disk are attributed."""

    @property
    def _context(self) -> RunContext:
        return self.state.context

    @property
    def _workspace(self) -> Workspace:
        return self._context.environment.workspace

    # What its program changes by itself

    async def begin(self) -> None:
        """Record what its program changes from now on."""
        async with self._one_at_a_time:
            await self._open()

    async def changes(self, paths: Iterable[Path]) -> tuple[FileChange, ...]:
        """Return what its program has changed since the last time; `paths` are those that its calls name. Changes of
        files with unsaved text are merged into the editor's text. A cancellation does not lose the record."""
        return await to_its_end(self._looked(paths), RECORD_S)

    async def _looked(self, paths: Iterable[Path]) -> tuple[FileChange, ...]:
        async with self._one_at_a_time:
            found = await self._close(paths)
            await self._open()
        return found

    async def end(self, paths: Iterable[Path]) -> tuple[FileChange, ...]:
        """Return the last changes, and record no more."""
        async with self._one_at_a_time:
            return await self._close(paths)

    async def _open(self) -> None:
        self._is_open = True
        folder = self._context.environment.working_directory
        await self._context.checkpoints.before_program(self.agent, NamedPaths(folder=folder))

    async def _close(self, paths: Iterable[Path]) -> tuple[FileChange, ...]:
        if not self._is_open:
            return ()
        self._is_open = False
        context, ours = self._context, frozenset(self._ours)
        self._ours.clear()
        named = NamedPaths(folder=context.environment.working_directory, paths=frozenset(paths))
        ended = await context.checkpoints.after_program(self.agent, named, apart_from=ours)
        context.environment.cache.clear()
        for change in ended.changes:
            if not await self._merge_into_buffer(change):
                count_changes(context, change)
                if self._is_loaded(change):
                    context.environment.reviewer.made(_made(change), context.memory.session_id)
        if ended.n_more:
            await self._tell(f"{self.agent} also changed {ended.n_more} more files on the disk.")
        return ended.changes

    def _is_loaded(self, change: FileChange) -> bool:
        """Whether the editor loads the file again by itself, if it has not done so."""
        document = self._workspace.open_document(change.path)
        return document is None or document.text in (change.old_text, change.new_text)

    async def _merge_into_buffer(self, change: FileChange) -> bool:
        """Make the change in an open document with unsaved text, too; return whether that was done."""
        document = self._workspace.open_document(change.path)
        if document is None or self._is_loaded(change):
            return False
        if self.known.get(change.path) == change.new_text:
            return True  # the agent has written the same through us
        text = self._merged(change.path, change.old_text, document.text, change.new_text)
        if text == document.text:
            return False
        name = self._workspace.shown(change.path)
        if text is None:
            await self._tell(
                f"{self.agent} changed {name} on the disk, and its change conflicts with your unsaved changes. Your "
                "text was kept in the editor; compare it with the file before you save."
            )
            return False
        try:
            await self._apply(_plan(f"Merge {name}", document, text, name), self.tool_id)
        except ToolError as error:
            await self._tell(f"{self.agent} changed {name} on the disk, but not in the editor: {error}")
            return False
        await self._tell(f"{self.agent} changed {name} on the disk; the change was merged with your unsaved text.")
        return True

    def _merged(self, path: Path, base: str, ours: str, theirs: str) -> str | None:
        """Return the text with the changes of both; None if they conflict. If the agent has announced its change, that
        is made in the text, which succeeds beside a changed line, too."""
        text = merged(base, ours, theirs)
        announced = self._announced.get(path, ())
        if text is None and announced and with_changes(base, announced) == theirs:
            return with_changes(ours, announced)
        return text

    # What it asks us to write

    async def note(self, call: ExternalCall) -> None:
        """Keep the text on the disk of files that a call names, before it changes them, and what it announces."""
        if call.kind in CHANGES_NO_FILE:
            return
        announced = self._by_path(call.changes)
        self._announced |= announced
        named = (resolved(each, self._workspace) for each in call.paths)
        for path in dict.fromkeys((*announced, *named)):
            if path is not None and path not in self._on_disk and (text := await self._disk_text(path)) is not None:
                self._on_disk[path] = text

    def text_before(self, path: Path) -> str:
        """Return the text from which the agent made its changes of a file, as far as known."""
        return self.known.get(path, self._on_disk.get(path, ""))

    async def base_of(self, path: Path, text: str) -> str | None:
        """Return the text that the agent's text was made from, as things are now; None if that is unknown, or if there
        is no file."""
        if path in self.known or await self._workspace.stamp(path) == MISSING:
            return self.known.get(path)
        document = await self._workspace.read(path)
        on_disk = await self._disk_text(path, document.encoding)
        if on_disk is None:
            is_unsaved = any(each.path == path for each in self._workspace.unsaved())
            return None if is_unsaved else document.text
        return self._on_disk.get(path) if on_disk == text != document.text else on_disk

    async def plan(self, path: Path, text: str, base: str | None) -> EditPlan | None:
        """Return the edit that writes the agent's text, made from `base`, with what the user has typed meanwhile; None
        if it changes nothing. Raises `ToolError` if both changed the same lines."""
        name = self._workspace.shown(path)
        if await self._workspace.stamp(path) == MISSING:
            write = WriteText(path=path, before=None, text=text)
            return EditPlan(label=f"Create {name}", operations=(write,), result=f"Created {name}.")
        document = await self._workspace.read(path)
        if base and base.count("\n") == base.count("\r\n") > 0 and "\r" not in text:
            text = text.replace("\n", "\r\n")
        if text == document.text:
            return None
        result = self._merged(path, base, document.text, text) if base is not None else None
        if result is None:
            raise StaleDocumentError(
                f"{name} has text in the editor that this text does not contain, and nothing was written. Read the "
                "file again through the editor, and base the edit on that text."
            )
        return None if result == document.text else _plan(f"Edit {name}", document, result, name)

    async def announced(self, changes: Sequence[ProposedText]) -> dict[Path, str]:
        """Return the texts of files after these changes, as the agent will write them."""
        by_path = self._by_path(changes).items()
        texts = {path: with_changes(self.text_before(path), its) for path, its in by_path}
        return {path: text for path, text in texts.items() if text is not None}

    async def proposed(self, changes: Sequence[ProposedText]) -> EditPlan | None:
        """Return the edit that the agent announces; None if it does not fit the text in the editor."""
        by_path: dict[Path, list[ProposedText]] = {}
        operations: list[WriteText] = []
        try:
            for each in changes:
                by_path.setdefault(self._workspace.resolve(each.path), []).append(each)
            for path, its_changes in by_path.items():
                is_missing = await self._workspace.stamp(path) == MISSING
                before = None if is_missing else await self._workspace.read(path)
                text = with_changes(before.text if before else "", its_changes)
                if text is None:
                    return None
                diff = self._diff(path, before, text)
                operations.append(WriteText(path=path, before=before, text=text, diff=diff))
        except ToolError:
            return None
        return EditPlan(label="Edit", operations=tuple(operations), result="") if operations else None

    async def write(self, path: Path, text: str, base: str | None, tool_id: str) -> tuple[FileChange, ...]:
        """Write the agent's text, as permitted: a verified edit that can be undone. Return what stands of it. Raises
        `ToolError`, also if the user rejected all of it in the review."""
        async with self._context.share.changing:
            plan = await self.plan(path, text, base)
            made = await self._apply(plan, tool_id) if plan is not None else ()
            self.known[path] = text
            return made

    async def _apply(self, plan: EditPlan, tool_id: str) -> tuple[FileChange, ...]:
        context = self._context
        await context.memory.settle()
        await context.checkpoints.before_change(plan.label)
        call = ReviewedCall(session_id=context.memory.session_id, turn_id=context.spec.turn_id, tool_id=tool_id)
        changes = changes_of(plan, self._workspace.shown)
        self._ours.update(each.path for each in changes)
        applied, stand = await make_edit(context, plan, changes, call)
        if applied.is_nothing:
            raise ToolError(told(applied, self._workspace.shown))
        return stand

    # Helpers

    def _by_path(self, changes: Iterable[ProposedText]) -> dict[Path, list[ProposedText]]:
        """Return the changes of each file, without those of places that cannot be resolved."""
        by_path: dict[Path, list[ProposedText]] = {}
        for each in changes:
            if (path := resolved(each.path, self._workspace)) is not None:
                by_path.setdefault(path, []).append(each)
        return by_path

    async def _disk_text(self, path: Path, encoding: TextEncoding | None = None) -> str | None:
        encoding = encoding or TextEncoding()
        try:
            data = await self._workspace.read_binary(path)
            text = data.removeprefix(encoding.bom).decode(encoding.name)
        except (ToolError, UnicodeDecodeError):
            return None
        return text if len(text) <= MAX_KEPT_CHARS else None

    def _diff(self, path: Path, document: Document | None, text: str) -> LineDiff:
        old = document.text if document else ""
        return unified_diff(old, text, self._workspace.shown(path), is_new=document is None)

    async def _tell(self, text: str) -> None:
        await self.state.emit(Notice(content=text, level="warning"))


def with_changes(text: str, changes: Iterable[ProposedText]) -> str | None:
    """Return the text with changes that tell the whole text or a fragment; None if they do not fit."""
    for each in changes:
        old = each.old or ""
        if old == text:
            text = each.new
        elif old and text.count(old) == 1:
            text = text.replace(old, each.new)
        else:
            return None
    return text


def _made(change: FileChange) -> EditPlan:
    """Return a change that the agent's program has made, as an edit."""
    before = Document(path=change.path, text=change.old_text, digest="", stamp="")
    if change.kind == "delete":
        operation: FileOperation = DeleteFile(path=change.path, before=before)
    else:
        operation = WriteText(
            path=change.path, before=None if change.kind == "create" else before, text=change.new_text
        )
    return EditPlan(label="", operations=(operation,), result="")


def _plan(label: str, document: Document, text: str, name: str) -> EditPlan:
    try:
        document.encoding.encode(text)
    except UnicodeEncodeError as error:
        character = ascii(text[error.start])
        raise ToolError(f"{name} is encoded in {document.encoding.name}, which cannot represent {character}.") from None
    write = WriteText(path=document.path, before=document, text=text, diff=unified_diff(document.text, text, name))
    return EditPlan(label=label, operations=(write,), result=f"{label}: done.")
