"""The open documents, as the editor reports them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lsprotocol import types

from pygent_ls.agent.ports.workspace import Document, Stamp
from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.documents.edited_text import EditedText, ExpectedText
from pygent_ls.editors.lsp.documents.positions import Position, apply_change, offset_at
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.file_access import read_file
from pygent_ls.workspace.files.document_text import decode, digest
from pygent_ls.workspace.files.reader import disk_stamp

MANY_CHANGES = 16
"""Number of changes in one notification from which on they are applied to a list of lines, instead of copying the text
for each."""


@dataclass(slots=True)
class Buffer:
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
    reported_stamp: Stamp = ""
    """Stamp of the file when it was last reported as changed on disk."""
    _agreed: bool = False
    """Whether buffer and file were ever seen to be equal, which shows that the editor and the daemon decode the file in
    the same way."""
    _disk: tuple[Stamp, str | None] = ("", None)
    """Stamp and text of the file when it was last read."""
    _digest: tuple[int, str] = field(default=(0, ""))

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
        self._buffers: dict[str, Buffer] = {}
        self._by_path: dict[Path, list[Buffer]] = {}
        self._by_named: dict[Path, list[Buffer]] = {}
        self._watches: list[_Watch] = []
        self._followers: dict[Path, list[Follower]] = {}
        self._listeners: list[tuple[Path, Callable[[str], None]]] = []
        self._touched: dict[Path, int] = {}
        """Generation at which the user last changed or saved each document, as far as the editor reported it."""
        self.generation = 0
        """Counter that increases with every notification that changes a buffer."""

    def __iter__(self) -> Iterator[Buffer]:
        """Iterate over one buffer of each path, the one that `get` returns."""
        return filter(None, map(self.get, self._by_path))

    def below(self, folder: Path) -> Iterator[Buffer]:
        """Iterate over those of these buffers whose files are below a folder."""
        return filter(None, map(self.get, _below(folder, self._by_path)))

    def current(self, path: Path) -> Buffer | None:
        """Return the buffer of a path, unless the file on disk is newer."""
        buffer = self.get(path)
        return None if buffer is None or buffer.is_behind else buffer

    def get(self, path: Path) -> Buffer | None:
        """Return the buffer of a path.

        Of several, the one with unsaved changes takes precedence, else the most recently changed one.
        """
        found = [each for each in self._by_path.get(path, ()) if not each.superseded]
        if len(found) < 2:
            return found[0] if found else None
        return max(found, key=lambda each: (each.is_dirty, each.generation))

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

    def opened(self, item: types.TextDocumentItem) -> None:
        """Handle `textDocument/didOpen`; some clients send it twice, and the last one applies."""
        buffer = self._open(item)
        if buffer is not None:
            self._catch_up(buffer.path)
            self._changed(buffer.path, item.text)

    def _open(self, item: types.TextDocumentItem) -> Buffer | None:
        path, named = path_of(item.uri), path_of(item.uri, follow=False)
        if path is None or named is None:
            return None
        self._remove(item.uri)
        buffer = Buffer(
            uri=item.uri,
            path=path,
            named=named,
            version=item.version,
            text=item.text,
            generation=self._next_generation(),
        )
        buffer.saved_text = buffer.base_text = buffer.text_on_disk()
        if buffer.saved_text == item.text:
            buffer.note_written(item.text)
        self._add(buffer)
        return buffer

    def changed(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
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

    def _take(self, buffer: Buffer, change: types.TextDocumentContentChangeEvent) -> None:
        before = buffer.text
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = _positions(change.range)
            buffer.text = apply_change(before, start, end, change.text, self.encoding)
            if buffer.path in self._followers:
                self._follow(buffer, before, offset_at(before, min(start, end), self.encoding), change.text)
        else:
            buffer.text = change.text
            buffer.out_of_step = False
            self._follow(buffer, before, 0, change.text)
        buffer.generation = self._next_generation()
        if not buffer.out_of_step:
            self._notice(buffer.path, buffer.text)

    def _take_many(self, buffer: Buffer, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        """Apply many changes at once, which is faster."""
        edited = EditedText(buffer.text, self.encoding)
        expected = [(ExpectedText(each.expected), each) for each in self._watches if each.path == buffer.path]
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                edited.change(*_positions(change.range), change.text)
            else:
                edited = EditedText(change.text, self.encoding)
                buffer.out_of_step = False
            if not buffer.out_of_step:
                for text, watch in expected:
                    if not watch.seen.done() and text.is_reached(edited):
                        watch.seen.set_result(None)
        buffer.text = edited.text
        buffer.generation = self._next_generation()

    def lose(self, uri: str) -> None:
        """Note that a change of the document could not be decoded."""
        if self._find(uri) is None:
            self._open(types.TextDocumentItem(uri=uri, language_id="", version=0, text=""))
        buffer = self._find(uri)
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

    def saved(self, uri: str) -> None:
        """Handle `textDocument/didSave`: the file now holds the buffer's text."""
        buffer = self._find(uri)
        if buffer is not None:
            self._touched[buffer.path] = self._next_generation()
        if buffer is not None and not buffer.out_of_step:
            buffer.note_written(buffer.text)
            buffer.untold = buffer.untold and buffer.text_on_disk() != buffer.text
            self._changed(buffer.path, buffer.text)

    def touched_since(self, generation: int) -> set[Path]:
        """Return the documents that the user has changed or saved since then, as far as the editor reported it."""
        return {path for path, last in self._touched.items() if last > generation}

    def closed(self, uri: str) -> None:
        """Handle `textDocument/didClose`: another buffer of the file applies if one exists, else the file on disk."""
        buffer = self._find(uri)
        if buffer is not None:
            self._remove(buffer.uri)
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
        if uri in self._buffers:
            return self._buffers[uri]
        named = path_of(uri, follow=False)
        found = self._by_named.get(named, ()) if named else ()
        return found[0] if len(found) == 1 else None

    def _add(self, buffer: Buffer) -> None:
        self._buffers[buffer.uri] = buffer
        self._by_path.setdefault(buffer.path, []).append(buffer)
        self._by_named.setdefault(buffer.named, []).append(buffer)

    def _remove(self, uri: str) -> None:
        buffer = self._buffers.pop(uri, None)
        if buffer is None:
            return
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


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    path: Path
    expected: str
    seen: asyncio.Future[None]


def _below(folder: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the paths below the folder. Comparing strings is ten times faster than comparing parents."""
    prefix = f"{folder}/".replace("//", "/")
    return [each for each in paths if str(each).startswith(prefix)]


def _positions(between: types.Range) -> tuple[Position, Position]:
    start, end = between.start, between.end
    return Position(start.line, start.character), Position(end.line, end.character)


MAX_COMPARED_BYTES = 20_000_000
"""Maximum size of a file that is compared with a buffer: twice the limit of the tools."""


def read_text_now(path: Path) -> str | None:
    """Read a file without waiting for a thread; None if it is missing, too large, or not text."""
    try:
        decoded = decode(read_file(path, MAX_COMPARED_BYTES)[0])
    except OSError:
        return None
    return decoded[0] if decoded else None
