"""Workspace and process ports: how tools reach files and programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

Stamp = str
"""Identifies the state of a file: the buffer's version and digest, or the disk's inode, size and modification time.
Opaque; equal stamps mean unchanged."""

MISSING: Stamp = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEncoding:
    """How a document's text is encoded as bytes."""

    name: str = "utf-8"
    """Name of a Python codec without a byte order mark: utf-8, utf-16-le, latin-1 …"""
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return the file's bytes. Raises UnicodeEncodeError if the encoding cannot represent a character."""
        return self.bom + text.encode(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
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
    copied_from: Path | None = field(default=None, compare=False)
    """File that the text was copied from, changed or not; None if it is this file's own."""
    diff: LineDiff | None = field(default=None, compare=False)
    """Diff from `before` to `text`, under the file's shown name, if the tool has computed it already."""

    @property
    def written_as(self) -> TextEncoding:
        """Encoding that the bytes are made with."""
        return self.encoding or (self.before.encoding if self.before else TextEncoding())


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyBytes:
    """Byte-for-byte copy of a file that is not text; the destination must not exist."""

    source: Path
    destination: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFile:
    """Rename of a file; the destination must not exist, missing folders are created."""

    source: Path
    destination: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Deletion of the file (or of the link itself). `before` is its text, None for a file that is not text."""

    path: Path
    before: Document | None
    mode: int | None = None
    """Its former permission bits, in a plan that was carried out, if they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """State of a path on the disk; links are followed."""

    kind: Literal["file", "folder", "missing"]
    mode: int | None = None
    """Permission bits; None for a missing path."""


FileOperation = WriteText | CopyBytes | MoveFile | DeleteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
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
        once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnly:
    """Restrictions of a program that only reads: what it sees besides the workspace."""

    scratch: Path
    """Folder of the daemon's own, the only place that it can write."""
    reads: tuple[Path, ...] = ()
    """Paths that it reads; nothing else in /tmp is visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """Program to run in its own process group."""

    argv: tuple[str, ...]
    cwd: Path
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables added to the daemon's environment."""
    max_output_chars: int = 200_000
    """Length beyond which only head and tail are kept, half each."""
    stdin_bytes: bytes = b""
    """Bytes on the program's standard input, followed by its end."""
    sandboxed: bool = False
    """Whether it runs only in the sandbox. Programs that tools run for the model pass on `ToolContext.sandboxed`."""
    read_only: ReadOnly | None = None
    """Restrictions under which the program runs in the sandbox, if there is one."""
    was_allowed: bool = False
    """Whether the user allowed this command itself: outside the sandbox it gets the daemon's whole environment. For any
    other program, no entry of the search path or other variable leads to a place that a command in the sandbox can
    write."""
    errors_apart: bool = False
    """Whether `on_output` gets standard output alone, and standard error is kept for the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """Result of a program that has ended, or was ended. `exit_code` is negative for a signal, as in subprocess."""

    exit_code: int
    stdout: str
    """Both outputs, in order, if `on_output` was given both; else standard output alone."""
    stderr: str
    omitted_chars: int
    timed_out: bool
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxState:
    """Whether commands run in the sandbox: `off` by the settings, `missing` if the machine has none, `failed` if it
    cannot be set up."""

    kind: Literal["on", "off", "missing", "failed"]
    reason: str = ""
    """Why it is missing or failed, for a person."""
    required: bool = False
    """Whether nothing may run without it."""
    has_network: bool = False
    """Whether commands in it may use the network."""


class OutputMask(Protocol):
    """Filter that output passes through before anything is cut from it; it may hold some back until more has come."""

    @property
    def n_held(self) -> int:
        """Number of characters that are held back."""
        ...

    async def feed(self, piece: str) -> str:
        """Take the next piece, and return what may be shown."""
        ...

    async def pause(self) -> str:
        """Return what more may be shown although nothing has come."""
        ...

    async def close(self) -> str:
        """Return the rest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundState:
    """State of a background command, with its output since the last read."""

    output: str
    """Both outputs, in order; head and tail if there is too much."""
    omitted_chars: int
    held_chars: int = 0
    """Characters of an unfinished line, which is not shown until it ends."""
    runs: bool
    exit_code: int | None
    """None while it runs; negative for a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCommand:
    """Background command as a list shows it."""

    name: str
    command: str
    """The command line."""
    started_at: datetime
    runs: bool
    exit_code: int | None
    """None while it runs; negative for a signal."""
    stopped_by_user: bool = False
    last_output: str = ""
    """End of its output, read or not."""

    @property
    def ending(self) -> str:
        """State in words."""
        if self.runs:
            return "running"
        if self.stopped_by_user:
            return "stopped by the user"
        if self.exit_code is not None and self.exit_code < 0:
            return f"ended by signal {-self.exit_code}"
        return f"ended with exit code {self.exit_code}"


class Background(Protocol):
    """Commands that run beside the conversation. Their owner is a session, by its id."""

    async def start(self, owner: str, spec: ProcessSpec, mask: OutputMask | None = None) -> str:
        """Start a command without a time limit, and return its name. Its output passes through `mask`. Raises
        `ToolError`."""
        ...

    async def read(self, owner: str, name: str, wait_s: float) -> BackgroundState:
        """Return what is new, after waiting up to `wait_s` for the command to end. Raises `ToolError` for an unknown
        name."""
        ...

    async def write(self, owner: str, name: str, text: str) -> None:
        """Write to its standard input. Raises `ToolError`: no such command, it has ended, or takes no input."""
        ...

    async def end(self, owner: str, name: str) -> BackgroundState:
        """End it, as a cancellation does, and return what is new. Raises `ToolError` for an unknown name."""
        ...

    async def stop(self, owner: str, name: str) -> bool:
        """End it for the user; its output can still be read. Return False if it has ended already. Raises `ToolError`
        for an unknown name."""
        ...

    async def listed(self, owner: str) -> Sequence[BackgroundCommand]:
        """Return the owner's commands, running, or ended and not forgotten, in the order of their start."""
        ...

    def listen(self, owner: str, ended: Callable[[BackgroundCommand], None], changed: Callable[[], None]) -> None:
        """Call `ended` with each command that ends other than by `end` or `end_all`, and `changed` whenever one starts
        or ends."""
        ...

    def has_any(self, owner: str) -> bool:
        """Whether the owner has any command, running, or ended and not forgotten."""
        ...

    async def end_all(self, owner: str) -> None:
        """End all commands of this session; none of their processes is alive when it returns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Git repository with a work tree. Links are resolved except those above `top`."""

    top: Path
    """Root of the work tree."""
    own: Path
    """Folder of this work tree's HEAD and index."""
    common: Path
    """Folder of references and configuration; the same unless the work tree is a linked one."""


class Repositories(Protocol):
    """Git repositories, found and read without running anything that they configure."""

    async def find(self, folder: Path) -> Repository | None:
        """Return the repository whose work tree contains a folder. No program is run."""
        ...

    def inert(self, repository: Repository) -> AbstractAsyncContextManager[Mapping[str, str]]:
        """Provide the variables under which git reads a repository and ignores every program, file and address that its
        configuration names. `GIT_DIR` among them is a folder of the daemon's own.

        Raises `ToolError` if its configuration cannot be determined.
        """
        ...


class Processes(Protocol):
    """Runs programs; nothing that it starts outlives its caller."""

    @property
    def repositories(self) -> Repositories:
        """How git is made to read a repository."""
        ...

    @property
    def background(self) -> Background:
        """Commands that run beside the conversation."""
        ...

    async def sandbox(self) -> SandboxState:
        """Return whether a `sandboxed` program would run in the sandbox now."""
        ...

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """Return the program's absolute path, or None.

        Places where a command in the sandbox could have put one are not searched, unless it may come from `anywhere`,
        as for a command that the user allows.
        """
        ...

    async def run(self, spec: ProcessSpec, on_output: Callable[[str], Awaitable[None]] | None = None) -> ProcessResult:
        """Run to the end. With `on_output`, both outputs are merged and passed on as they come, unless the spec keeps
        standard error apart.

        On a timeout or a cancellation the whole group gets SIGTERM, and SIGKILL 2 s later. Raises `ToolError` if the
        program cannot be started.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines that one operation of a plan changes together; a file that is created or deleted is one hunk.

    Texts are whole lines with their endings, and offsets count characters.
    """

    id: str
    """Unique within its plan."""
    place: int
    """Index of the plan's operation that it belongs to."""
    kind: Literal["edit", "create", "delete"]
    path: Path
    old_start: int
    """Where `old_text` begins in the old text."""
    new_start: int
    """Where `new_text` begins in the text after the whole plan."""
    old_text: str
    new_text: str

    @property
    def new_end(self) -> int:
        """Where `new_text` ends."""
        return self.new_start + len(self.new_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Hunk that the user rejected."""

    hunk: Hunk
    left: str = ""
    """Why the hunk stays nevertheless; empty if it was reverted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
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
