"""Process ports: how tools run programs, and what runs on beside the turns of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field


class ReadOnly(Struct, frozen=True, kw_only=True):
    """Restrictions of a program that only reads: what it sees besides the workspace."""

    scratch: Path
    """Folder of the daemon's own, the only place that it can write."""
    reads: tuple[Path, ...] = ()
    """Paths that it reads; nothing else in /tmp is visible."""


class ProcessSpec(Struct, frozen=True, kw_only=True):
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
    max_memory_bytes: int = 0
    """Limit of its address space, on Linux; 0 for none."""
    errors_apart: bool = False
    """Whether `on_output` gets standard output alone, and standard error is kept for the result."""


class ProcessResult(Struct, frozen=True, kw_only=True):
    """Result of a program that has ended, or was ended. `exit_code` is negative for a signal, as in subprocess."""

    exit_code: int
    stdout: str
    """Both outputs, in order, if `on_output` was given both; else standard output alone."""
    stderr: str
    omitted_chars: int
    timed_out: bool
    duration_s: float


class SandboxState(Struct, frozen=True, kw_only=True):
    """Whether commands run in the sandbox: `off` by the settings, `missing` if the machine has none, `failed` if it
    cannot be set up."""

    kind: Literal["on", "off", "missing", "failed"]
    reason: str = ""
    """Why it is missing or failed, for a person."""
    required: bool = False
    """Whether nothing may run without it."""
    has_network: bool = False
    """Whether commands in it may use the network."""
    place: str = ""
    """Where commands run, as in `in the container NAME`, if that is not this machine; the sandbox is `off` then."""


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


class BackgroundState(Struct, frozen=True, kw_only=True):
    """State of a background command, with its output since the last read."""

    output: str
    """Both outputs, in order; head and tail if there is too much."""
    omitted_chars: int
    held_chars: int = 0
    """Characters of an unfinished line, which is not shown until it ends."""
    runs: bool
    exit_code: int | None
    """None while it runs; negative for a signal."""


class BackgroundJob(Struct, frozen=True, kw_only=True):
    """Work of the daemon itself that runs like a background command: a subagent."""

    title: str
    run: Callable[[Callable[[str], Awaitable[None]]], Awaitable[JobEnd]]
    """Does the work, and passes its output to the argument. Cancelling it ends the work."""


class JobEnd(Struct, frozen=True, kw_only=True):
    """Result of a job that was not cancelled."""

    report: str
    has_failed: bool = False


class BackgroundCommand(Struct, frozen=True, kw_only=True):
    """Background command as a list shows it."""

    name: str
    command: str
    """The command line; for a subagent, its task in a few words."""
    started_at: datetime
    runs: bool
    exit_code: int | None
    """None while it runs; negative for a signal."""
    stopped_by_user: bool = False
    last_output: str = ""
    """End of its output, read or not."""
    kind: Literal["command", "agent"] = "command"
    report: str = ""
    """Report of a subagent that has ended; empty if it was stopped."""
    was_read: bool = False
    """Whether a call that waited for its end has returned its output."""

    @property
    def ending(self) -> str:
        """State in words."""
        if self.runs:
            return "running"
        if self.stopped_by_user:
            return "stopped by the user"
        if self.kind == "agent":
            return {0: "finished", 1: "ended without finishing"}.get(self.exit_code or 0, "stopped")
        if self.exit_code is not None and self.exit_code < 0:
            return f"ended by signal {-self.exit_code}"
        return f"ended with exit code {self.exit_code}"


class BackgroundListener(Protocol):
    """Is told of the commands of one owner."""

    def ended(self, command: BackgroundCommand) -> None:
        """A command has ended other than by `end` or `end_all`."""
        ...

    def changed(self) -> None:
        """A command has started or ended."""
        ...

    def end_read(self, name: str) -> None:
        """A call has returned the output of a command that has ended."""
        ...


class Background(Protocol):
    """Commands that run beside the conversation. Their owner is a session, by its id."""

    async def start(self, owner: str, spec: ProcessSpec, mask: OutputMask | None = None) -> str:
        """Start a command without a time limit, and return its name. Its output passes through `mask`. Raises
        `ToolError`."""
        ...

    async def start_job(self, owner: str, job: BackgroundJob) -> str:
        """Start a subagent, and return its name. Raises `ToolError` if too many run."""
        ...

    def running_jobs(self, owner: str) -> Sequence[BackgroundCommand]:
        """Return the owner's running subagents."""
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

    def listen(self, owner: str, listener: BackgroundListener) -> None:
        """Tell a listener of this owner's commands until `end_all`."""
        ...

    def has_any(self, owner: str) -> bool:
        """Whether the owner has any command, running, or ended and not forgotten."""
        ...

    async def end_all(self, owner: str) -> None:
        """End all commands of this session; none of their processes is alive when it returns."""
        ...


class Repository(Struct, frozen=True, kw_only=True):
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
