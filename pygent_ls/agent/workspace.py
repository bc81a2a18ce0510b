"""The workspace and process ports: how tools reach files and programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from pygent_ls.agent.review import Applied

Stamp = str
"""Tells whether a file is still the one that was read: the buffer's version and digest, or the disk's inode,
size and modification time. Opaque; equal stamps mean unchanged."""

MISSING: Stamp = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEncoding:
    """How a document's text is written as bytes."""

    name: str = "utf-8"
    """A Python codec name without a byte order mark: utf-8, utf-16-le, latin-1 …"""
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """The file's bytes. Raises UnicodeEncodeError where the encoding has no such character."""
        return self.bom + text.encode(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text file as the user sees it: the open buffer where there is one, else the disk.

    `text` keeps its own line endings; nothing is translated.
    """

    path: Path
    """Absolute, links resolved."""
    text: str
    digest: str
    """SHA-256 of the text, hexadecimal."""
    stamp: Stamp
    version: int | None = None
    """The open buffer's version; None where the text was read from the disk."""
    encoding: TextEncoding = field(default_factory=TextEncoding)


class LineDiff(NamedTuple):
    """What differs between two texts: a unified diff, and how many lines it adds and removes."""

    patch: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteText:
    """The file shall hold `text`. `before` is the document that the plan was made from; None: a new file."""

    path: Path
    before: Document | None
    text: str
    encoding: TextEncoding | None = None
    """None: as the file is, or plain UTF-8 for a new one."""
    mode: int | None = None
    """Permission bits for a new file, None for the usual ones."""
    copied_from: Path | None = field(default=None, compare=False)
    """The file whose text it is, changed or not, where it is another's."""
    diff: LineDiff | None = field(default=None, compare=False)
    """From `before` to `text`, under the file's shown name, where the tool has computed it already."""

    @property
    def written_as(self) -> TextEncoding:
        """The encoding that the bytes are made with."""
        return self.encoding or (self.before.encoding if self.before else TextEncoding())


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyBytes:
    """A byte for byte copy, for files that are not text; the destination must not exist."""

    source: Path
    destination: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFile:
    """A rename; the destination must not exist, missing folders are made."""

    source: Path
    destination: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """The file (or the link itself) goes away. `before` is its text, None where it is not text."""

    path: Path
    before: Document | None
    mode: int | None = None
    """The permission bits that it had, in a plan that was carried out, where they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """What there is at a path on the disk; links are followed."""

    kind: Literal["file", "folder", "missing"]
    mode: int | None = None
    """Its permission bits, None where it is missing."""


FileOperation = WriteText | CopyBytes | MoveFile | DeleteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
    """Everything that one tool call wants to change, made before the user is asked.

    All of it is applied, or none.
    """

    label: str
    """What an editor shows in its undo list."""
    operations: tuple[FileOperation, ...]
    result: str
    """What the model reads once it is applied."""
    previewed: bool = True
    """Where the settings say so, an editor that can shows it to the user first, hunk by hunk. False for what takes
    changes back."""


ChangeKind = Literal["create", "edit", "delete", "move"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that was changed, or would be; `patch` is a unified diff, empty for what is not text."""

    path: Path
    kind: ChangeKind
    added: int
    removed: int
    patch: str
    old_text: str = ""
    new_text: str = ""


class Workspace(Protocol):
    """The files of the workspace as the user sees them.

    Paths that come in as text are the model's; paths that are `Path` have been through `resolve`.
    """

    @property
    def folders(self) -> Sequence[Path]:
        """The workspace folders, links resolved; empty when the daemon has none."""
        ...

    @property
    def more_folders(self) -> Sequence[Path]:
        """Folders beside them that may be used too, links resolved; what is in them is shown by its whole path."""
        ...

    def use_also(self, folders: Sequence[Path]) -> None:
        """Let these be the `more_folders` from now on; those that lie in the workspace are in it anyway."""
        ...

    def resolve(self, path: str, *, follow: bool = True) -> Path:
        """The absolute path, links resolved (the last part too, unless `follow` is False).

        Raises `OutsideWorkspaceError` for anything that is below neither a workspace folder nor one of `more_folders`.
        """
        ...

    def shown(self, path: Path) -> str:
        """The path as the model and the user read it: relative to the folder, with `/`."""
        ...

    def kind_of(self, path: Path) -> Literal["file", "folder", "missing"]:
        """The kind of `status`, for judging a call, which cannot wait."""
        ...

    async def read(self, path: Path) -> Document:
        """The document. Raises `ToolError`: no such file, a folder, not text, or too large."""
        ...

    async def read_binary(self, path: Path) -> bytes:
        """What is on the disk, text or not. Raises `ToolError` as `read` does."""
        ...

    async def lines_on_disk(self, wanted: Mapping[Path, Collection[int]]) -> Mapping[Path, Mapping[int, bytes]]:
        """Lines of files of any size by their numbers, from 1, without `\\n`; UTF-16 as UTF-8, other text as it is.

        No link is followed. What cannot be read, or is not there, is left out.
        """
        ...

    async def stamp(self, path: Path) -> Stamp:
        """The stamp that `read` would give now; `MISSING` where there is nothing."""
        ...

    async def tree_stamp(self, folder: Path) -> Stamp | None:
        """One stamp for all below a folder, unsaved buffers included; None where it is too large to tell."""
        ...

    async def status(self, path: Path) -> FileStatus:
        """What there is on the disk, whatever a buffer holds; what cannot be looked at is missing."""
        ...

    async def files_named(self, is_wanted: Callable[[str], bool]) -> Sequence[Path]:
        """The files in all folders whose name is wanted, the upper ones first. In `.git` and `node_modules`, and where
        there are too many names, none are looked for."""
        ...

    async def files_below(self, path: Path) -> Sequence[Path]:
        """All files on the disk below a folder, ignored ones too, or the file itself; links are left out."""
        ...

    def unsaved(self) -> Sequence[Document]:
        """The open buffers whose text differs from what was last saved."""
        ...

    def open_document(self, path: Path) -> Document | None:
        """The buffer that the editor has open for this path."""
        ...

    async def check(self, plan: EditPlan) -> None:
        """Find out whether the plan can be carried out as things are, before the user is asked. Raises as `apply`."""
        ...

    async def apply(self, plan: EditPlan) -> Applied:
        """Carry out the plan, all or nothing, and return when it is proven to have happened.

        Of a plan that is previewed, what the user does not want is left out.

        Raises `StaleDocumentError` where a document is no longer what the plan was made from, `ToolError` where it was
        refused, `UnprovenEditError` where it was begun and could not be proven; the message quotes what the files hold
        now.
        """
        ...

    async def save_changes(self, reader: str) -> None:
        """Bring to the disk what tools changed in open documents and nobody saved since, as the user wants it.

        `reader` is the tool that is about to read the disk. Raises `ToolError` where the user cancels.
        """
        ...

    def told(self) -> int:
        """This moment, for `told_since`."""
        ...

    def told_since(self, moment: int) -> Collection[Path]:
        """The documents of which the editor told since then that their user changed or saved them."""
        ...

    async def changed_on_disk(self) -> Sequence[Path]:
        """The open documents without unsaved changes whose file was changed behind the editor; each is told once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnly:
    """What a program sees besides the workspace that only reads."""

    scratch: Path
    """A folder of the daemon's own, the one place that it can write."""
    reads: tuple[Path, ...] = ()
    """What it reads; in /tmp nothing else is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """A program to run in a process group of its own."""

    argv: tuple[str, ...]
    cwd: Path
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Added to the daemon's environment."""
    max_output_chars: int = 200_000
    """Head and tail are kept beyond that, half each."""
    stdin_bytes: bytes = b""
    """What the program finds on its standard input, followed by the end of it."""
    sandboxed: bool = False
    """It runs in the sandbox, or not at all; what tools run for the model passes `ToolContext.sandboxed` on."""
    read_only: ReadOnly | None = None
    """Where there is a sandbox, the program runs there and can write nothing but this says."""
    was_allowed: bool = False
    """The user allowed this command itself: outside the sandbox it has the daemon's whole environment. Any other
    program has a search path, and variables, that lead to no place which a command in the sandbox can write."""
    errors_apart: bool = False
    """`on_output` is given standard output alone, and standard error is kept for the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """A program has ended, or was ended. `exit_code` is negative for a signal, as in subprocess."""

    exit_code: int
    stdout: str
    """What it wrote to both outputs, in order, where `on_output` was given both; else standard output alone."""
    stderr: str
    omitted_chars: int
    timed_out: bool
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxState:
    """Whether commands run in the sandbox: `off` by the settings, `missing` where the machine has none, `failed` where
    it has one that cannot be set up."""

    kind: Literal["on", "off", "missing", "failed"]
    reason: str = ""
    """Why it is missing or failed, for a person."""
    required: bool = False
    """Nothing may run without it."""
    has_network: bool = False
    """Commands in it may use the network."""


class OutputMask(Protocol):
    """What output goes through before anything is cut from it; it may hold some of it back until more has come."""

    @property
    def n_held(self) -> int:
        """Characters that are held back."""
        ...

    async def feed(self, piece: str) -> str:
        """What may be shown once this piece has come."""
        ...

    async def pause(self) -> str:
        """What more may be shown though nothing has come."""
        ...

    async def close(self) -> str:
        """The rest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundState:
    """What a background command did since it was last read."""

    output: str
    """Both outputs, in order; head and tail where it is too much."""
    omitted_chars: int
    held_chars: int = 0
    """Of a line that is not over, and is not shown before it is."""
    runs: bool
    exit_code: int | None
    """None while it runs; negative for a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCommand:
    """A background command as a list shows it."""

    name: str
    command: str
    """The command line."""
    started_at: datetime
    runs: bool
    exit_code: int | None
    """As of `BackgroundState`."""
    stopped_by_user: bool = False
    last_output: str = ""
    """The end of what it wrote, whether it was read or not."""

    @property
    def ending(self) -> str:
        """How it stands, in words."""
        if self.runs:
            return "running"
        if self.stopped_by_user:
            return "stopped by the user"
        if self.exit_code is not None and self.exit_code < 0:
            return f"ended by signal {-self.exit_code}"
        return f"ended with exit code {self.exit_code}"


class Background(Protocol):
    """Commands that run on while the conversation does. Their owner is a session, by its id."""

    async def start(self, owner: str, spec: ProcessSpec, mask: OutputMask | None = None) -> str:
        """Start a command without a time limit; returns its name. What it writes goes through `mask`. Raises
        `ToolError`."""
        ...

    async def read(self, owner: str, name: str, wait_s: float) -> BackgroundState:
        """What is new; waits so long for the command to end. Raises `ToolError` for a name that there is not."""
        ...

    async def write(self, owner: str, name: str, text: str) -> None:
        """Write to its standard input. Raises `ToolError`: no such command, it has ended, or takes nothing."""
        ...

    async def end(self, owner: str, name: str) -> BackgroundState:
        """End it, as a cancel does, and tell what is new. Raises `ToolError` for a name that there is not."""
        ...

    async def stop(self, owner: str, name: str) -> bool:
        """End it for the user; what it wrote stays to be read. False if it has ended already. Raises `ToolError` for a
        name that there is not."""
        ...

    async def listed(self, owner: str) -> Sequence[BackgroundCommand]:
        """Those of that owner, running, or over and not forgotten, in the order of their start."""
        ...

    def listen(self, owner: str, ended: Callable[[BackgroundCommand], None], changed: Callable[[], None]) -> None:
        """Call `ended` with each command that ends otherwise than by `end` and `end_all`, and `changed` whenever one
        starts or ends."""
        ...

    def has_any(self, owner: str) -> bool:
        """Whether there are any of that owner's, running, or over and not forgotten."""
        ...

    async def end_all(self, owner: str) -> None:
        """End all that this session has; nothing of them lives when it returns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A git repository with a work tree. Links are resolved but for those above `top`."""

    top: Path
    """The root of the work tree."""
    own: Path
    """Where this work tree's HEAD and index are."""
    common: Path
    """Where references and configuration are; the same unless the work tree is a linked one."""


class Repositories(Protocol):
    """Git repositories, found and read without anything that they are configured to run."""

    async def find(self, folder: Path) -> Repository | None:
        """The repository whose work tree a folder lies in. No program is run."""
        ...

    def inert(self, repository: Repository) -> AbstractAsyncContextManager[Mapping[str, str]]:
        """The variables under which git reads a repository, and no program, file or address counts that its
        configuration names. `GIT_DIR` among them is a folder of the daemon's own.

        Raises `ToolError` where its configuration cannot be known.
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
        """What runs on beside the conversation."""
        ...

    async def sandbox(self) -> SandboxState:
        """Whether a `sandboxed` program would run in the sandbox now."""
        ...

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """The program's absolute path, or None.

        Where a command in the sandbox could have put one, nothing is looked for, unless it may come from `anywhere`,
        as it may for a command that the user allows.
        """
        ...

    async def run(self, spec: ProcessSpec, on_output: Callable[[str], Awaitable[None]] | None = None) -> ProcessResult:
        """Run to the end. With `on_output`, both outputs are merged and passed on as they come, unless the spec keeps
        standard error apart.

        On a timeout or a cancel the whole group gets SIGTERM, and SIGKILL 2 s later.
        Raises `ToolError` where the program cannot be started.
        """
        ...
