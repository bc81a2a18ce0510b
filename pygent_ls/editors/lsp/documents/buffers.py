"""The open documents, as the editor reports them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from pygent_ls.agent.edits.differences import common_head, common_tail
from pygent_ls.agent.ports.workspace import Document, Stamp
from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.documents.edited_text import EditedText, ExpectedText
from pygent_ls.editors.lsp.documents.positions import TOP, LineStart, PositionEncoding, located
from pygent_ls.editors.lsp.standard import (
    DidChangeNotebookDocumentParams,
    DidOpenNotebookDocumentParams,
    Position,
    Range,
    TextDocumentContentChangeEvent,
    TextDocumentItem,
    VersionedTextDocumentIdentifier,
)
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ToolError
from pygent_ls.file_access import read_file
from pygent_ls.workspace.files.document_text import decode, digest
from pygent_ls.workspace.files.reader import disk_stamp

if TYPE_CHECKING:  # imported for the first notebook, so that `initialize` is answered without the tools
    from pygent_ls.editors.lsp.documents.open_notebook import OpenNotebook

MANY_CHANGES = 16
"""Number of changes in one notification from which on they are applied to a list of lines, instead of copying the text
for each."""


class Buffer(Struct):
    """One open document. `generation` is unique to each state of each buffer."""

    uri: str
    path: Path
    named: Path
    """Path without following a link in the last component."""
    version: int
    text: str
    generation: int
    saved_text: str | None = None
    """Text without unsaved changes: the text when the document was last opened, saved or reloaded; None for a document
    that was never on disk."""
    base_text: str | None = None
    """Text of the file when the buffer last loaded or saved it: the base of its unsaved changes."""
    superseded: bool = False
    """Whether the editor deleted or moved the file and has sent nothing for the document since, so that the buffer may
    no longer exist."""
    out_of_step: bool = False
    """Whether a change could not be decoded, so that the text is unknown until the editor sends the whole text."""
    untold: bool = False
    """Whether the editor reported an unversioned edit as applied but has sent no change since. The user may see another
    text than this, and a second edit could hit the wrong place."""
    saved_by_daemon: bool = False
    """Whether the daemon wrote the buffer to the file. The editor still takes it for unsaved, so it does not load the
    file when a program changes it."""
    reported_stamp: Stamp = ""
    """Stamp of the file when it was last reported as changed on disk."""
    notebook: OpenNotebook | None = None
    """Cells of a notebook that the editor does not show as text; `text` is what the file would be with them."""
    _agreed: bool = False
    """Whether buffer and file were ever seen to be equal, which shows that the editor and the daemon decode the file in
    the same way."""
    _disk: tuple[Stamp, str | None] = ("", None)
    """Stamp and text of the file when it was last read."""
    _digest: tuple[int, str] = field(default=(0, ""))
    _known_line: LineStart = TOP
    """Line of the last position; valid while `_known_text` is the text."""
    _known_text: str = ""

    def offset(self, position: Position, encoding: PositionEncoding) -> int:
        """Return the offset of a position, as `offset_at` does. Fast for lines at or below the last position."""
        known = self._known_line if self._known_text is self.text else TOP
        offset, self._known_line = located(self.text, position, encoding, known)
        self._known_text = self.text
        return offset

    def replace(self, where: Range, new: str, encoding: PositionEncoding) -> int:
        """Apply an incremental change, as `apply_change` does, and return the offset at which it begins."""
        before = self.text
        first = self.offset(min(where.start, where.end), encoding)
        last, _ = located(before, max(where.start, where.end), encoding, self._known_line)
        self.text = f"{before[:first]}{new}{before[last:]}"
        line_start = self._known_line.offset
        if before[line_start - 1 : line_start] != "\r":  # else a line feed at this place would belong to the line above
            self._known_text = self.text
        return first

    @property
    def key(self) -> tuple[str, bool]:
        """Key among all buffers: an editor may show a notebook as cells and as text."""
        return self.uri, self.notebook is not None

    @property
    def stamp(self) -> Stamp:
        """Stamp of this state; see `Document.stamp`."""
        return f"buffer:{self.generation}"

    @property
    def is_dirty(self) -> bool:
        """Whether the buffer has unsaved changes.

        Compares with the file first: an editor that reloads a changed file sends a change, but no save.
        """
        if self.text != self.saved_text and self.text == self.text_on_disk():
            self.note_written(self.text)
        return self.text != self.saved_text

    @property
    def is_behind(self) -> bool:
        """Whether another program changed or deleted the file, while the buffer has no unsaved changes.

        False if the buffer's text is unknown, or was never equal to the file's.
        """
        if not self._agreed or self.out_of_step or self.untold or self.is_dirty:
            return False
        return self.text_on_disk() != self.text

    def text_on_disk(self) -> str | None:
        """Return the result of `read_text_now`, cached by the file's stamp."""
        stamp = disk_stamp(self.path)
        if stamp != self._disk[0]:
            text = read_text_now(self.path)
            self._disk = (stamp, self.text if text == self.text else text)  # equal text is stored once
        return self._disk[1]

    def note_written(self, text: str) -> None:
        """Note that this text was saved to the file, or loaded from it."""
        self.saved_text = self.base_text = text
        self._agreed = self._agreed or text == self.text_on_disk()

    def document(self) -> Document:
        """Return the current state as a document; the digest is computed once for each state."""
        if self._digest[0] != self.generation:
            self._digest = (self.generation, digest(self.text))
        return Document(path=self.path, text=self.text, digest=self._digest[1], stamp=self.stamp, version=self.version)


class Follower(Protocol):
    """State that moves along with the text of a file."""

    @property
    def path(self) -> Path: ...

    def is_at(self, text: str) -> bool:
        """Return whether the state is that of this text, so that the next change applies to it."""
        ...

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Apply a change: the characters from `start` to `end` became `new`, and the document became `text`."""
        ...

    def catch_up(self, text: str) -> None:
        """Update to the document's current text, whatever changed it."""
        ...


class Buffers:
    """Open documents by URI. Calls `on_change` with the path of each file whose text may have changed.

    A file may be open under several URIs: its own and those of links to it.
    """

    def __init__(self, on_change: Callable[[Path], None]) -> None:
        self.encoding: Encoding = "utf-16"
        self._on_change = on_change
        self._buffers: dict[tuple[str, bool], Buffer] = {}
        self._by_path: dict[Path, list[Buffer]] = {}
        self._by_named: dict[Path, list[Buffer]] = {}
        self._watches: list[_Watch] = []
        self._followers: dict[Path, list[Follower]] = {}
        self._listeners: list[tuple[Path, Callable[[str], None]]] = []
        self._touched: dict[Path, int] = {}
        """Generation at which the user last changed or saved each document, as far as the editor reported it."""
        self.reported_notebooks: frozenset[Path] = frozenset()
        """Notebooks that the editor shows as cells and that have unsaved changes, as it reports them."""
        self.generation = 0
        """Counter that increases with every notification that changes a buffer."""

    def __iter__(self) -> Iterator[Buffer]:
        """Iterate over one buffer of each path, the one that `get` returns."""
        return filter(None, map(self.get, self._by_path))

    @property
    def unsaved_notebooks(self) -> frozenset[Path]:
        """Notebooks with unsaved changes whose cells the editor does not report."""
        return frozenset(path for path in self.reported_notebooks if not any(map(_is_notebook, self._at(path))))

    def below(self, folder: Path) -> Iterator[Buffer]:
        """Iterate over those of these buffers whose files are below a folder."""
        return filter(None, map(self.get, _below(folder, self._by_path)))

    def current(self, path: Path) -> Buffer | None:
        """Return the buffer of a path, unless the file on disk is newer."""
        buffer = self.get(path)
        return None if buffer is None or buffer.is_behind else buffer

    def get(self, path: Path) -> Buffer | None:
        """Return the buffer of a path.

        Of several, the one with unsaved changes takes precedence, then a notebook, then the most recently changed one.
        """
        found = [each for each in self._at(path) if not each.superseded]
        for each in found:
            self._look_at_disk(each)
        if len(found) < 2:
            return found[0] if found else None
        return max(found, key=lambda each: (each.is_dirty, _is_notebook(each), each.generation))

    def uri_of(self, path: Path) -> str | None:
        """Return the editor's own URI of an open document, even if the file on disk is newer."""
        buffer = self.get(path) or next(iter(self._by_path.get(path, ())), None)
        return buffer.uri if buffer else None

    def uri_of_entry(self, path: Path) -> str | None:
        """Return the editor's URI of the file or link itself, for moving and deleting it."""
        found = self._by_named.get(path)
        return max(found, key=lambda each: each.generation).uri if found else None

    def version_of(self, uri: str) -> int:
        """Return the last version that the editor sent, 0 if the document is not open."""
        buffer = self._find(uri)
        return buffer.version if buffer else 0

    def opened(self, item: TextDocumentItem) -> None:
        """Handle `textDocument/didOpen`; some clients send it twice, and the last one applies."""
        self._show(self._open(item))

    def notebook_opened(self, params: DidOpenNotebookDocumentParams) -> None:
        """Handle `notebookDocument/didOpen`. A notebook whose file cannot be read as one is left to
        `unsaved_notebooks`."""
        from pygent_ls.editors.lsp.documents.open_notebook import OpenNotebook

        given = params.notebook_document
        path = path_of(given.uri)
        text = read_text_now(path) if path else None
        if text is None:
            return
        with suppress(ToolError, LookupError):
            notebook = OpenNotebook(given, params.cell_text_documents, text)
            item = TextDocumentItem(uri=given.uri, language_id="", version=given.version, text=notebook.text)
            self._show(self._open(item, notebook))

    def _show(self, buffer: Buffer | None) -> None:
        if buffer is not None:
            self._catch_up(buffer.path)
            self._changed(buffer.path, buffer.text)

    def _open(self, item: TextDocumentItem, notebook: OpenNotebook | None = None) -> Buffer | None:
        path, named = path_of(item.uri), path_of(item.uri, follow=False)
        if path is None or named is None:
            return None
        buffer = Buffer(
            uri=item.uri,
            path=path,
            named=named,
            version=item.version,
            text=item.text,
            generation=self._next_generation(),
            notebook=notebook,
        )
        self._remove(self._buffers.get(buffer.key))
        buffer.saved_text = buffer.base_text = buffer.text_on_disk()
        if buffer.saved_text == item.text:
            buffer.note_written(item.text)
        self._add(buffer)
        return buffer

    def changed(
        self,
        document: VersionedTextDocumentIdentifier,
        changes: Sequence[TextDocumentContentChangeEvent],
    ) -> None:
        """Handle `textDocument/didChange`: each change applies to the result of the previous one."""
        buffer = self._find(document.uri)
        if buffer is None:
            return
        if len(changes) >= MANY_CHANGES and not any(path == buffer.path for path, _ in self._listeners):
            self._take_many(buffer, changes)
            self._catch_up(buffer.path)
        else:
            for change in changes:
                self._take(buffer, change)
        buffer.version = document.version
        buffer.superseded = buffer.untold = False
        if buffer.is_dirty:  # otherwise, the editor has reloaded the file
            self._touched[buffer.path] = buffer.generation
        self._on_change(buffer.path)

    def _take(self, buffer: Buffer, change: TextDocumentContentChangeEvent) -> None:
        before = buffer.text
        if change.range is not None:
            start = buffer.replace(change.range, change.text, self.encoding)
            self._follow(buffer, before, start, change.text)
        else:
            buffer.text = change.text
            buffer.out_of_step = False
            self._follow(buffer, before, 0, change.text)
        buffer.generation = self._next_generation()
        if not buffer.out_of_step:
            self._notice(buffer.path, buffer.text)

    def _take_many(self, buffer: Buffer, changes: Sequence[TextDocumentContentChangeEvent]) -> None:
        """Apply many changes at once, which is faster."""
        edited = EditedText(buffer.text, self.encoding)
        expected = [(ExpectedText(each.expected), each) for each in self._watches if each.path == buffer.path]
        for change in changes:
            if change.range is not None:
                edited.change(change.range.start, change.range.end, change.text)
            else:
                edited = EditedText(change.text, self.encoding)
                buffer.out_of_step = False
            if not buffer.out_of_step:
                for text, watch in expected:
                    if not watch.seen.done() and text.is_reached(edited):
                        watch.seen.set_result(None)
        buffer.text = edited.text
        buffer.generation = self._next_generation()

    def notebook_changed(self, params: DidChangeNotebookDocumentParams) -> None:
        """Handle `notebookDocument/didChange`."""
        uri = params.notebook_document.uri
        buffer = self._buffers.get((uri, True))
        if buffer is None or buffer.notebook is None:
            return
        try:
            buffer.notebook.change(params.change, self.encoding)
        except LookupError:
            self.lose(uri, is_notebook=True)
            return
        buffer.version = params.notebook_document.version
        buffer.superseded = False
        self._set_text(buffer, buffer.notebook.text)
        if buffer.is_dirty:
            self._touched[buffer.path] = buffer.generation
        self._on_change(buffer.path)

    def _set_text(self, buffer: Buffer, text: str) -> None:
        """Replace the text, for followers as one change of what differs."""
        before = buffer.text
        if before == text:
            return
        buffer.text = text
        buffer.generation = self._next_generation()
        start = common_head(before, text)
        end = len(text) - common_tail(before, text, start)
        self._follow(buffer, before, start, text[start:end])
        self._notice(buffer.path, text)

    def _look_at_disk(self, buffer: Buffer) -> None:
        """Take over the outputs of a notebook that another program has changed, if its cells are the same."""
        if buffer.notebook is not None and not buffer.out_of_step:
            text = buffer.text_on_disk()
            if text is not None and buffer.notebook.look_at_disk(text):
                self._set_text(buffer, text)

    def lose(self, uri: str, *, is_notebook: bool = False) -> None:
        """Note that a change of the document could not be decoded."""
        if not is_notebook and self._find(uri) is None:
            self._open(TextDocumentItem(uri=uri, language_id="", version=0, text=""))
        buffer = self._buffers.get((uri, True)) if is_notebook else self._find(uri)
        if buffer is not None:
            buffer.out_of_step = True
            buffer.superseded = False
            buffer.generation = self._next_generation()
            self._on_change(buffer.path)

    def doubt(self, path: Path) -> None:
        """Note that the editor may have applied an edit of the document without reporting a change."""
        buffer = self.get(path)
        if buffer is not None:
            buffer.untold = True

    def saved(self, uri: str, *, is_notebook: bool = False) -> None:
        """Handle `didSave`: the file now holds the buffer's text, or that of a notebook as the editor writes it."""
        buffer = self._buffers.get((uri, True)) if is_notebook else self._find(uri)
        if buffer is not None:
            self._touched[buffer.path] = self._next_generation()
        if buffer is not None and not buffer.out_of_step:
            on_disk = buffer.text_on_disk() if buffer.notebook else None
            if buffer.notebook is not None and on_disk is not None:
                buffer.notebook.look_at_disk(on_disk, is_saved=True)
                self._set_text(buffer, buffer.notebook.text)
            buffer.note_written(buffer.text)
            buffer.saved_by_daemon = False
            buffer.untold = buffer.untold and buffer.text_on_disk() != buffer.text
            self._changed(buffer.path, buffer.text)

    def touched_since(self, generation: int) -> set[Path]:
        """Return the documents that the user has changed or saved since then, as far as the editor reported it."""
        return {path for path, last in self._touched.items() if last > generation}

    def closed(self, uri: str, *, is_notebook: bool = False) -> None:
        """Handle `didClose`: another buffer of the file applies if one exists, else the file on disk."""
        buffer = self._buffers.get((uri, True)) if is_notebook else self._find(uri)
        if buffer is not None:
            self._remove(buffer)
            self._on_change(buffer.path)

    def forget_all(self) -> None:
        """Forget all buffers, because a reconnected editor opens them again."""
        closed = list(self._buffers.values())
        for index in (self._buffers, self._by_path, self._by_named):
            index.clear()
        for buffer in closed:
            self._on_change(buffer.path)

    def supersede(self, path: Path) -> None:
        """Note that the editor deleted or moved a file or folder. The disk applies until the editor reports the buffers
        again."""
        indexes = (self._by_path, self._by_named)
        there = [each for index in indexes for gone in (path, *_below(path, index)) for each in index.get(gone, ())]
        for buffer in {each.uri: each for each in there}.values():
            buffer.superseded = True
            self._on_change(buffer.path)

    def watch(self, path: Path, expected: str) -> asyncio.Future[None]:
        """Return a future that is done when the document's text equals `expected`."""
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watch = _Watch(path, expected, seen)
        self._watches.append(watch)
        seen.add_done_callback(lambda _: self._watches.remove(watch))
        return seen

    @contextmanager
    def listening(self, path: Path, look: Callable[[str], None]) -> Generator[None]:
        """Call `look` with each text that the document has inside the context, including those between the changes of
        one notification."""
        listener = (path, look)
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def following(self, follower: Follower) -> Generator[None]:
        """Move the follower along with every change of its document inside the context."""
        buffer = self.get(follower.path)
        if buffer is not None:
            follower.catch_up(buffer.text)
        self.follow(follower)
        try:
            yield
        finally:
            self.unfollow(follower)

    def follow(self, follower: Follower) -> None:
        """Move the follower along with every change of its document, once it is at its text."""
        self._followers.setdefault(follower.path, []).append(follower)

    def unfollow(self, follower: Follower) -> None:
        """End `follow`, if it has not ended."""
        left = [each for each in self._followers.pop(follower.path, ()) if each is not follower]
        if left:
            self._followers[follower.path] = left

    def _catch_up(self, path: Path) -> None:
        buffer = self.get(path)
        for follower in tuple(self._followers.get(path, ())):
            if buffer is not None and not buffer.out_of_step:
                follower.catch_up(buffer.text)

    def _follow(self, buffer: Buffer, before: str, start: int, new: str) -> None:
        """Report one change: the text from `start` on became `new`."""
        end = start + len(before) - (len(buffer.text) - len(new))
        for follower in tuple(self._followers.get(buffer.path, ())):
            if follower.is_at(before) and self.get(buffer.path) is buffer:
                follower.changed(start, end, new, buffer.text)

    def _find(self, uri: str) -> Buffer | None:
        """Return the document with that URI, or the only one whose URI is another spelling of it."""
        if (uri, False) in self._buffers:
            return self._buffers[uri, False]
        named = path_of(uri, follow=False)
        found = [each for each in self._by_named.get(named, ()) if not _is_notebook(each)] if named else []
        return found[0] if len(found) == 1 else None

    def _at(self, path: Path) -> Sequence[Buffer]:
        return self._by_path.get(path, ())

    def _add(self, buffer: Buffer) -> None:
        self._buffers[buffer.key] = buffer
        self._by_path.setdefault(buffer.path, []).append(buffer)
        self._by_named.setdefault(buffer.named, []).append(buffer)

    def _remove(self, buffer: Buffer | None) -> None:
        if buffer is None:
            return
        del self._buffers[buffer.key]
        for index, path in ((self._by_path, buffer.path), (self._by_named, buffer.named)):
            index[path] = [each for each in index[path] if each is not buffer]
            if not index[path]:
                del index[path]

    def _changed(self, path: Path, text: str) -> None:
        self._notice(path, text)
        self._on_change(path)

    def _notice(self, path: Path, text: str) -> None:
        for watch in self._watches:
            if watch.path == path and watch.expected == text and not watch.seen.done():
                watch.seen.set_result(None)
        for listened, look in self._listeners:
            if listened == path:
                look(text)

    def _next_generation(self) -> int:
        self.generation += 1
        return self.generation


def _is_notebook(buffer: Buffer) -> bool:
    return buffer.notebook is not None


class _Watch(Struct, frozen=True, eq=False):
    path: Path
    expected: str
    seen: asyncio.Future[None]


def _below(folder: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the paths below the folder. Comparing strings is ten times faster than comparing parents."""
    prefix = f"{folder}/".replace("//", "/")
    return [each for each in paths if str(each).startswith(prefix)]


MAX_COMPARED_BYTES = 20_000_000
"""Maximum size of a file that is compared with a buffer: twice the limit of the tools."""


def read_text_now(path: Path) -> str | None:
    """Read a file without waiting for a thread; None if it is missing, too large, or not text."""
    try:
        decoded = decode(read_file(path, MAX_COMPARED_BYTES)[0])
    except OSError:
        return None
    return decoded[0] if decoded else None
