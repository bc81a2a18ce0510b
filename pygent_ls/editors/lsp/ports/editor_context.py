"""Editor context: what the client reports apart from its documents. Implements the `EditorState` port."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from pygent_ls.agent.ports.editor_state import FileProblems, LineRange, Problem, View
from pygent_ls.agent.truncation import whole_words
from pygent_ls.editors.lsp.documents.buffers import Buffers, read_text_now
from pygent_ls.editors.lsp.documents.positions import LineIndex
from pygent_ls.editors.lsp.protocol.content import ContextDiagnostics, ContextSelection, EditorContext, WireDiagnostic
from pygent_ls.editors.lsp.protocol.conversion import SEVERITIES, lines_of, origin_of
from pygent_ls.editors.lsp.standard import CodeActionParams, Position
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.workspace.files.reader import disk_stamp

MAX_FILES = 500
"""Maximum number of files whose diagnostics are kept: more than a user ever fixes."""

MAX_PER_FILE = 500
"""Maximum number of diagnostics kept for one file."""

MAX_KEPT_CHARS = 2_000
"""Maximum length of a diagnostic's message."""

MAX_VISIBLE = 100
"""Maximum number of visible files."""

MAX_OPEN = 500
"""Maximum number of open files."""

MAX_FRONTS = 50
"""Maximum number of files kept in the history of active files."""

NEVER_TOLD = (
    "The editor has sent no diagnostics. Editors do not pass the diagnostics of one language server to another; "
    "this requires a plugin that sends pygent/context/didChange, or the user, who can request a fix on a "
    "diagnostic. To find problems now, use run_tests, or run the project's linter or compiler with shell."
)
NOT_YET = (
    "The editor has sent no diagnostics yet: there may be no problems, or nothing was checked. To be sure, use "
    "run_tests, or run the project's linter or compiler with shell."
)


class _Told(Struct, frozen=True, kw_only=True):
    """A diagnostic as received, with its position in the client's encoding."""

    line: int
    character: int
    severity: int
    message: str
    origin: str


class _State(Struct, frozen=True, kw_only=True):
    """State of a document when its diagnostics were received; a different state makes them stale."""

    generation: int | None
    """Generation of the buffer; None if the document was not open."""
    is_dirty: bool
    on_disk: str


class _ContextFile(Struct, frozen=True, kw_only=True):
    problems: tuple[_Told, ...]
    state: _State
    is_whole: bool
    is_old: bool = False
    """Whether the diagnostics were for another version than that of the open document."""


class EditorContextState:
    """Stores the last state that one client reported. Used in the event loop's thread only."""

    def __init__(self, buffers: Buffers, *, sends_updates: bool) -> None:
        self._buffers = buffers
        self._sends_updates = sends_updates
        self._files: dict[Path, _ContextFile] = {}
        self._has_told = False
        self._open: tuple[Path, ...] | None = None
        self._fronts: dict[Path, None] = {}
        """Files that were active, the most recent last."""
        self.view = View()
        self.is_live = False

    @property
    def recent(self) -> Sequence[Path]:
        """The recently used files. If the client does not report its open files, its open documents are used."""
        opened = self._open
        if opened is None:
            opened = [each.path for each in sorted(self._buffers, key=lambda each: each.generation, reverse=True)]
        return tuple(dict.fromkeys((*reversed(self._fronts), *opened)))

    @property
    def unsaved_notebooks(self) -> Collection[Path]:
        return self._buffers.unsaved_notebooks

    @property
    def why_silent(self) -> str:
        return NOT_YET if self._sends_updates else NEVER_TOLD

    # Updates

    def changed(self, context: EditorContext) -> None:
        """Handle `pygent/context/didChange`."""
        self.is_live = True
        self.take(context)

    def take(self, context: EditorContext) -> None:
        """Update the state. Missing fields keep their values; null clears them."""
        if context.active_uri is not UNSET:
            self._activate(path_of(context.active_uri) if context.active_uri else None)
        if context.selection is not UNSET:
            self.view = replace(self.view, selected=_selected(context.selection))
        if context.visible_uris is not UNSET:
            visible = filter(None, map(path_of, (context.visible_uris or ())[:MAX_VISIBLE]))
            self.view = replace(self.view, visible=tuple(dict.fromkeys(visible)))
        if context.open_uris is not UNSET:
            told = context.open_uris
            self._open = None if told is None else tuple(filter(None, map(path_of, told[:MAX_OPEN])))
        if context.unsaved_notebooks is not UNSET:
            unsaved = (context.unsaved_notebooks or ())[:MAX_OPEN]
            self._buffers.reported_notebooks = frozenset(filter(None, map(path_of, unsaved)))
        if context.diagnostics is not UNSET:
            self._has_told = self._has_told or context.diagnostics is not None
            if context.diagnostics is None:
                self._files.clear()
        for file in (context.diagnostics or ())[-MAX_FILES:]:
            self._replace(file)

    def add(self, uri: str, items: Iterable[WireDiagnostic]) -> None:
        """Add diagnostics of a file that a prompt contains."""
        self._add(uri, [_of_wire(item) for item in items])

    def looked_at(self, params: CodeActionParams) -> None:
        """Take the user's position and the diagnostics from a `textDocument/codeAction`, for a client that sends no
        context."""
        self._add(params.text_document.uri, [_of_lsp(each) for each in params.context.diagnostics])
        path = path_of(params.text_document.uri)
        if self.is_live or path is None:
            return
        start, end = params.range.start, params.range.end
        lines = LineRange(first=start.line + 1, last=end.line + (1 if end.character or end.line == start.line else 0))
        is_some = (start.line, start.character) != (end.line, end.character)
        self._activate(path)
        self.view = replace(self.view, selected=(path, lines) if is_some else None)

    def _activate(self, path: Path | None) -> None:
        """Make a file the active one."""
        self.view = replace(self.view, active=path)
        if path is None:
            return
        self._fronts.pop(path, None)  # inserted again at the end
        self._fronts[path] = None
        if len(self._fronts) > MAX_FRONTS:
            del self._fronts[next(iter(self._fronts))]

    def _replace(self, file: ContextDiagnostics) -> None:
        path = path_of(file.uri)
        if path is None:
            return
        buffer = self._buffers.get(path)
        is_old = file.version is not None and buffer is not None and file.version != buffer.version
        self._keep(path, [_of_wire(item) for item in file.items[:MAX_PER_FILE]], is_whole=True, is_old=is_old)

    def _add(self, uri: str, items: Sequence[_Told]) -> None:
        path = path_of(uri)
        if path is None or not items:
            return
        known = self._files.get(path)
        is_current = known is not None and not self._is_stale(path, known)
        before = known.problems if known is not None and is_current else ()
        is_whole = known is not None and is_current and known.is_whole
        self._keep(path, dict.fromkeys((*before, *items)), is_whole=is_whole)
        self._has_told = True

    def _keep(self, path: Path, problems: Iterable[_Told], *, is_whole: bool, is_old: bool = False) -> None:
        kept = tuple(sorted(problems, key=lambda each: (each.line, each.character))[:MAX_PER_FILE])
        self._files.pop(path, None)  # inserted again at the end
        self._files[path] = _ContextFile(problems=kept, state=self._state(path), is_whole=is_whole, is_old=is_old)
        while len(self._files) > MAX_FILES:
            del self._files[next(iter(self._files))]

    def _state(self, path: Path) -> _State:
        buffer = self._buffers.current(path)
        return _State(
            generation=buffer.generation if buffer else None,
            is_dirty=buffer is not None and buffer.is_dirty,
            on_disk=disk_stamp(path),
        )

    def _is_stale(self, path: Path, file: _ContextFile) -> bool:
        then, now = file.state, self._state(path)
        if file.is_old:
            return True
        if then.generation is not None and now.generation is not None:
            return then.generation != now.generation
        return then.on_disk != now.on_disk or then.is_dirty or now.is_dirty

    # Queries

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        counted = [
            (path, *(sum(each.severity == kind for each in file.problems) for kind in (1, 2)))
            for path, file in self._newest_first()
            if not self._is_stale(path, file)
        ]
        return [(path, errors, warnings) for path, errors, warnings in counted if errors or warnings]

    async def problems(self) -> Sequence[FileProblems] | None:
        """Return the diagnostics, with columns in the current text."""
        if not self._has_told:
            return None
        return [await self._problems(path, file) for path, file in self._newest_first()]

    def _newest_first(self) -> list[tuple[Path, _ContextFile]]:
        return list(reversed(self._files.items()))

    async def _problems(self, path: Path, file: _ContextFile) -> FileProblems:
        columns = await self._columns(path, file)
        problems = tuple(
            Problem(
                line=each.line + 1,
                column=column,
                severity=SEVERITIES.get(each.severity, "error"),
                message=each.message,
                origin=each.origin,
            )
            for each, column in zip(file.problems, columns, strict=True)
        )
        is_stale = self._is_stale(path, file)
        return FileProblems(path=path, problems=problems, is_stale=is_stale, is_whole=file.is_whole)

    async def _columns(self, path: Path, file: _ContextFile) -> list[int]:
        """Return the columns of the diagnostics, in characters."""
        text = None
        if any(each.character for each in file.problems):
            buffer = self._buffers.get(path)
            text = buffer.text if buffer else await asyncio.to_thread(read_text_now, path)
        if text is None:
            return [each.character + 1 for each in file.problems]
        index = LineIndex(text, self._buffers.encoding)
        return [
            index.offset(Position(each.line, each.character)) - index.offset(Position(each.line, 0)) + 1
            for each in file.problems
        ]


def _selected(selection: ContextSelection | None) -> tuple[Path, LineRange] | None:
    """Return the selected lines; None for a cursor."""
    path = path_of(selection.uri) if selection else None
    if selection is None or path is None or selection.range.start == selection.range.end:
        return None
    return path, lines_of(selection.range)


def _of_wire(item: WireDiagnostic) -> _Told:
    return _Told(
        line=item.range.start.line,
        character=item.range.start.character,
        severity=item.severity or 1,
        message=_kept(item.message),
        origin=origin_of(item.source, item.code),
    )


def _of_lsp(item: Mapping[str, Any]) -> _Told:
    start = item["range"]["start"]
    return _Told(
        line=start["line"],
        character=start["character"],
        severity=item.get("severity", 1),
        message=_kept(item["message"]),
        origin=origin_of(item.get("source"), item.get("code")),
    )


def _kept(message: str) -> str:
    return message if len(message) <= MAX_KEPT_CHARS else whole_words(message[:MAX_KEPT_CHARS])
