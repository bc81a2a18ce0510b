"""Workspace port: how tools reach files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct, field

Stamp = str
"""Identifies the state of a file: the buffer's version and digest, or the disk's inode, size and modification time.
Opaque; equal stamps mean unchanged."""

MISSING: Stamp = "missing"

MISSING_TARGET: Stamp = "a link to a missing file"
"""Stamp of such a link in `Workspace.stamps`."""


class TextEncoding(Struct, frozen=True, kw_only=True):
    """How a document's text is encoded as bytes."""

    name: str = "utf-8"
    """Name of a Python codec without a byte order mark: utf-8, utf-16-le, latin-1 …"""
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return the file's bytes. Raises UnicodeEncodeError if the encoding cannot represent a character."""
        return self.bom + text.encode(self.name)


class Document(Struct, frozen=True, kw_only=True):
    """Text file as the user sees it: the open buffer if there is one, else the disk.

    `text` keeps its own line endings; nothing is translated.
    """

    path: Path
    """Absolute, links resolved."""
    text: str
    digest: str
    """SHA-256 of the text, hexadecimal."""
    stamp: Stamp
    version: int | None = None
    """Version of the open buffer; None if the text was read from the disk."""
    encoding: TextEncoding = field(default_factory=TextEncoding)


class PartWanted(Struct, frozen=True, kw_only=True):
    """Part of a large file to read: whole lines from `line` on, or one line from a character on."""

    line: int = 1
    column: int = 1
    """First character of `line` to read, counted from 1."""
    max_lines: int
    max_chars: int
    """Maximum number of characters; `line_cost` is added for each line, of which at most `max_line_chars` count."""
    max_line_chars: int
    line_cost: int = 0


class LargeFilePart(Struct, frozen=True, kw_only=True):
    """Part of a text file that is too large to be read whole. CRLF, LF and CR end a line."""

    path: Path
    stamp: Stamp
    n_bytes: int
    """Size of the file."""
    lines: tuple[str, ...]
    """Lines without their ends. Of a long one only the beginning is kept, more than was wanted."""
    lengths: tuple[int, ...]
    """Number of characters of each of these lines; of the first one from `PartWanted.column` on."""
    before: str
    """Text before the part, as much as is needed to recognise a secret that begins in it."""
    after: str
    """Text after the part, in the same way."""
    n_lines: int
    """Number of lines of the file, or of what was scanned."""
    counted_all: bool
    """Whether the file was scanned to its end. Beyond some GB that would take too long."""


class LineDiff(NamedTuple):
    """Difference between two texts: a unified diff, and how many lines it adds and removes."""

    patch: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteText:
    """Write of `text` to the file. `before` is the document that the plan was made from; None for a new file."""

    path: Path
    before: Document | None
    text: str
    encoding: TextEncoding | None = None
    """Encoding to write with; None for the file's own, or plain UTF-8 for a new one."""
    mode: int | None = None
    """Permission bits for a new file, None for the usual ones."""
    copied_from: Path | None = dataclasses.field(default=None, compare=False)
    """File that the text was copied from, changed or not; None if it is this file's own."""
    diff: LineDiff | None = dataclasses.field(default=None, compare=False)
    """Diff from `before` to `text`, under the file's shown name, if the tool has computed it already."""

    @property
    def written_as(self) -> TextEncoding:
        """Encoding that the bytes are made with."""
        return self.encoding or (self.before.encoding if self.before else TextEncoding())


class CopyBytes(Struct, frozen=True, kw_only=True):
    """Byte-for-byte copy of a file that is not text; the destination must not exist."""

    source: Path
    destination: Path


class MoveFile(Struct, frozen=True, kw_only=True):
    """Rename of a file; the destination must not exist, missing folders are created."""

    source: Path
    destination: Path


class DeleteFile(Struct, frozen=True, kw_only=True):
    """Deletion of the file (or of the link itself). `before` is its text, None for a file that is not text."""

    path: Path
    before: Document | None
    mode: int | None = None
    """Its former permission bits, in a plan that was carried out, if they are known."""


class FileStatus(Struct, frozen=True, kw_only=True):
    """State of a path on the disk; links are followed."""

    kind: Literal["file", "folder", "missing"]
    mode: int | None = None
    """Permission bits; None for a missing path."""


FileOperation = WriteText | CopyBytes | MoveFile | DeleteFile


class EditPlan(Struct, frozen=True, kw_only=True):
    """Everything that one tool call wants to change, made before the user is asked.

    It is applied as a whole or not at all.
    """

    label: str
    """Label in the editor's undo list."""
    operations: tuple[FileOperation, ...]
    result: str
    """Text that the model reads once it is applied."""
    previewed: bool = True
    """Whether an editor that supports it may show the plan to the user first, hunk by hunk, if the settings say so.
    False for plans that revert changes."""


ChangeKind = Literal["create", "edit", "delete", "move"]


class FileChange(Struct, frozen=True, kw_only=True):
    """File that was changed, or would be; `patch` is a unified diff, empty for a file that is not text."""

    path: Path
    kind: ChangeKind
    added: int
    removed: int
    patch: str
    old_text: str = ""
    new_text: str = ""


class Workspace(Protocol):
    """Files of the workspace as the user sees them.

    Paths given as text are the model's; a `Path` has been through `resolve`.
    """

    @property
    def folders(self) -> Sequence[Path]:
        """Workspace folders, links resolved; empty when the daemon has none."""
        ...

    @property
    def more_folders(self) -> Sequence[Path]:
        """Additional folders that may be used, links resolved; what is in them is shown by its whole path."""
        ...

    def use_also(self, folders: Sequence[Path]) -> None:
        """Set the `more_folders`; those that lie in the workspace belong to it anyway."""
        ...

    def resolve(self, path: str, *, follow: bool = True) -> Path:
        """Return the absolute path, links resolved (the last part too, unless `follow` is False).

        Raises `OutsideWorkspaceError` for anything that is below neither a workspace folder nor one of `more_folders`.
        """
        ...

    def shown(self, path: Path) -> str:
        """Return the path as the model and the user read it: relative to the folder, with `/`."""
        ...

    def kind_of(self, path: Path) -> Literal["file", "folder", "missing"]:
        """Return the kind of `status`, without waiting, for judging a call."""
        ...

    async def read(self, path: Path) -> Document:
        """Return the document. Raises `ToolError`: no such file, a folder, not text, or too large."""
        ...

    async def read_part(self, path: Path, wanted: PartWanted) -> LargeFilePart:
        """Return a part of a text file of any size on the disk.

        Raises `ToolError` as `read` does, and if the line or the column does not exist.
        """
        ...

    async def read_binary(self, path: Path) -> bytes:
        """Return the bytes on the disk, text or not. Raises `ToolError` as `read` does."""
        ...

    async def lines_on_disk(self, wanted: Mapping[Path, Collection[int]]) -> Mapping[Path, Mapping[int, bytes]]:
        """Return lines of files of any size by their numbers, from 1, without `\\n`; UTF-16 as UTF-8, other text as it
        is.

        No link is followed. Files and lines that cannot be read, or do not exist, are left out.
        """
        ...

    async def stamp(self, path: Path) -> Stamp:
        """Return the stamp that `read` would give now; `MISSING` for a missing file."""
        ...

    async def stamps(self, paths: Sequence[Path]) -> Sequence[Stamp]:
        """Return the stamp of each path, at the cost of one. That of a link to a missing file is `MISSING_TARGET`:
        the file may be open in an editor."""
        ...

    async def tree_stamp(self, folder: Path) -> Stamp | None:
        """Return one stamp for everything below a folder, unsaved buffers included; None if the folder is too large."""
        ...

    async def status(self, path: Path) -> FileStatus:
        """Return the state on the disk, whatever a buffer holds; a path that cannot be examined counts as missing."""
        ...

    async def files_named(self, is_wanted: Callable[[str], bool]) -> Sequence[Path]:
        """Return the files in all folders whose name is wanted, the upper ones first. The search skips `.git` and
        `node_modules`, and stops after too many names."""
        ...

    async def files_below(self, path: Path) -> Sequence[Path]:
        """Return all files on the disk below a folder, including ignored ones, or the file itself; links are left
        out."""
        ...

    def unsaved(self) -> Sequence[Document]:
        """Return the open buffers whose text differs from what was last saved."""
        ...

    def open_document(self, path: Path) -> Document | None:
        """Return the buffer that the editor has open for this path."""
        ...

    async def check(self, plan: EditPlan) -> None:
        """Check whether the plan can be carried out as things are, before the user is asked. Raises as `apply`."""
        ...

    async def apply(self, plan: EditPlan) -> Applied:
        """Carry out the plan, all or nothing, and return once it is verified.

        If the plan is previewed, what the user rejects is left out.

        Raises `StaleDocumentError` if a document is no longer what the plan was made from, `ToolError` if the edit was
        refused, `UnprovenEditError` if it was begun and could not be verified; the message quotes what the files hold
        now.
        """
        ...

    async def save_changes(self, reader: str) -> None:
        """Save open documents that tools changed and that were not saved since, as the user's settings say.

        `reader` is the tool that is about to read the disk. Raises `ToolError` if the user cancels.
        """
        ...

    def told(self) -> int:
        """Return the current moment, for `told_since`."""
        ...

    def told_since(self, moment: int) -> Collection[Path]:
        """Return the documents that, according to the editor, the user has changed or saved since that moment."""
        ...

    async def changed_on_disk(self) -> Sequence[Path]:
        """Return the open documents without unsaved changes whose file was changed outside the editor; each is reported
        once. Those that the editor would not load by itself are updated."""
        ...


class Hunk(Struct, frozen=True, kw_only=True):
    """Whole lines, with their endings, in which two texts differ. Offsets count characters."""

    old_start: int
    old_text: str
    new_start: int
    new_text: str

    @property
    def old_end(self) -> int:
        return self.old_start + len(self.old_text)

    @property
    def new_end(self) -> int:
        return self.new_start + len(self.new_text)


class PlanHunk(Hunk, frozen=True, kw_only=True):
    """Lines that one operation of a plan changes together; a file that is created or deleted is one hunk. The new text
    is that after the whole plan."""

    id: str
    """Unique within its plan."""
    place: int
    """Index of the plan's operation that it belongs to."""
    kind: Literal["edit", "create", "delete"]
    path: Path


class Rejected(Struct, frozen=True, kw_only=True):
    """Hunk that the user rejected."""

    hunk: PlanHunk
    left: str = ""
    """Why the hunk stays nevertheless; empty if it was reverted."""


class Applied(Struct, frozen=True, kw_only=True):
    """Outcome of applying a plan."""

    asked: EditPlan
    """Plan as the tool made it."""
    stands: EditPlan
    """Part of the plan that was applied and still stands, apart from what the user typed since."""
    note: str = ""
    """Sentence that the model must read."""
    rejected: tuple[Rejected, ...] = ()
    feedback: str = ""
    """What the user said when rejecting."""

    @property
    def is_nothing(self) -> bool:
        """Whether the user rejected all of it, and nothing of it is left."""
        return bool(self.rejected) and not self.stands.operations
