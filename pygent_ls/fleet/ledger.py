"""Ledger of a fleet: a folder that says which attempts were claimed, which are alive, and which result counts.

It works over any executor, and on a file system that several machines share. It rests on two operations that are atomic
there: the creation of a folder, which claims an attempt, and that of a hard link, which accepts a result.

    fleet.json                       the version and the fleet's id
    cancelled/CLIENT                 the attempts that this client submitted are to stop
    tasks/ID/task.json               the task
    tasks/ID/attempts/N/             claimed attempt
    tasks/ID/attempts/N/owner.json   process that claimed it
    tasks/ID/attempts/N/beat         counter; it changes while the attempt is alive
    tasks/ID/attempts/N/result.json  how it ended
    tasks/ID/accepted.json           hard link to the result that counts
    tasks/ID/delivered.json          what was done with it

No clock is compared with that of another machine: an attempt counts as lost if its counter did not change while an
observer waited for the length of a lease. A lost attempt may go on; it cannot end up with a second accepted result.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self, TypeVar

import msgspec
from msgspec import Struct

from pygent_ls.errors import FleetError
from pygent_ls.fleet.tasks import Task

VERSION = 1

Outcome = Literal["succeeded", "failed", "interrupted", "superseded"]
"""`interrupted`: by the user; `superseded`: another attempt was faster, or has taken its place."""

StopReason = Literal["cancelled", "superseded"]

Read = TypeVar("Read")


class FleetNote(Struct, frozen=True, kw_only=True):
    """Contents of `fleet.json`."""

    version: int
    id: str


class Owner(Struct, frozen=True, kw_only=True):
    """Process that claimed an attempt."""

    host: str
    boot: str = ""
    """Boot of the machine, with the namespace of process numbers; empty if unknown."""
    pid: int
    started: str = ""
    """Start of the process in ticks since the boot; empty if unknown."""

    @classmethod
    def this(cls) -> Self:
        """Return the owner that is this process."""
        pid = os.getpid()
        return cls(host=socket.gethostname(), boot=_boot(), pid=pid, started=_started(pid))

    def is_gone(self) -> bool:
        """Return whether the process has certainly ended, which only its own machine can tell."""
        if not self.boot or not self.started or (self.host, self.boot) != (socket.gethostname(), _boot()):
            return False
        started = _started(self.pid)
        return started != self.started if started else not _is_hidden(self.pid)


class AttemptResult(Struct, frozen=True, kw_only=True):
    """How an attempt ended."""

    attempt: int
    outcome: Outcome
    text: str = ""
    """The model's last text."""
    error: str = ""
    """Why it failed, for the user."""
    is_final: bool = False
    """Whether another attempt would fail in the same way, as at a limit."""
    base: str | None = None
    """Commit that the agent started from."""
    commit: str | None = None
    """Commit with the changes; None if nothing was changed."""
    files: tuple[str, ...] = ()
    """Changed files, relative to the top of the repository."""
    cost_usd: float | None = None
    """None if a price is unknown."""
    num_turns: int = 0
    duration_s: float = 0.0
    session_id: str | None = None
    denied: tuple[str, ...] = ()
    """Names of the tools that were denied permission, one for each call."""
    host: str = ""


class Delivery(Struct, frozen=True, kw_only=True):
    """What was done with an accepted result."""

    branch: str | None = None
    problem: str = ""
    """Why the repository has no branch with it, for the user."""


class AttemptState(Struct, frozen=True, kw_only=True):
    """State of one claimed attempt, as read from the ledger."""

    number: int
    owner: Owner | None
    beat: str
    result: AttemptResult | None


class History(Struct, frozen=True, kw_only=True):
    """All attempts at a task, by number, and the result that counts."""

    attempts: tuple[AttemptState, ...]
    accepted: AttemptResult | None

    @property
    def last(self) -> AttemptState | None:
        return self.attempts[-1] if self.attempts else None

    def outcomes(self, outcome: Outcome) -> list[AttemptResult]:
        """Return the results with this outcome."""
        return [each.result for each in self.attempts if each.result is not None and each.result.outcome == outcome]


class Ledger:
    """The folder. All methods block."""

    def __init__(self, folder: Path, id: str) -> None:
        """Use `create` or `at`."""
        self.folder = folder
        self.id = id

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Return the ledger in this folder, which is created if it does not exist. Raises `FleetError`."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            note = FleetNote(version=VERSION, id=secrets.token_hex(4))
            _create(folder / "fleet.json", msgspec.json.encode(note))
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise FleetError(f"The file system of {folder} has no hard links; use another --ledger.") from None
            raise FleetError(f"The ledger {folder} cannot be created: {error.strerror}") from None
        return cls.at(folder)

    @classmethod
    def at(cls, folder: Path, id: str | None = None) -> Self:
        """Return the ledger that exists in this folder, which has this id if one is given. Raises `FleetError`."""
        note = _read(folder / "fleet.json", FleetNote)
        if note is None:
            raise FleetError(
                f"{socket.gethostname()} finds no ledger in {folder}. All workers need it at the same path: choose a "
                "folder that they share with --ledger."
            )
        if note.version != VERSION:
            raise FleetError(
                f"The ledger {folder} has version {note.version}; this pygent-ls writes version {VERSION}."
            )
        if id is not None and note.id != id:
            raise FleetError(f"{socket.gethostname()} finds another ledger in {folder}: its id is {note.id}, not {id}.")
        return cls(folder, note.id)

    def add(self, task: Task) -> None:
        """Add a task, unless it is there already. Raises `FleetError` if another one has its id."""
        folder = self.task_folder(task.id)
        data = msgspec.json.encode(task)
        try:
            (folder / "attempts").mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _create(folder / "task.json", data) and _read(folder / "task.json", Task) != task:
                raise FleetError(
                    f"The task {task.id!r} is not the one that the ledger {self.folder} has under this id. Give it "
                    "another id, or use another --ledger."
                )
        except OSError as error:
            raise FleetError(f"The ledger {self.folder} cannot be written: {error.strerror}") from None

    def task_folder(self, task_id: str) -> Path:
        return self.folder / "tasks" / task_id

    def attempt_folder(self, task_id: str, number: int) -> Path:
        return self.task_folder(task_id) / "attempts" / str(number)

    def history(self, task_id: str) -> History:
        """Return what is known of a task. A result that succeeded but was not accepted yet is accepted first: its owner
        may have ended between the two."""
        attempts = tuple(self._attempt(task_id, number) for number in self._numbers(task_id))
        accepted = self.accepted(task_id)
        if accepted is None:
            for each in attempts:
                if each.result is not None and each.result.outcome == "succeeded":
                    accepted = self.accept(task_id, each.number)
                    break
        return History(attempts=attempts, accepted=accepted)

    def _attempt(self, task_id: str, number: int) -> AttemptState:
        folder = self.attempt_folder(task_id, number)
        try:
            beat = (folder / "beat").read_text(encoding="ascii", errors="replace")
        except OSError:
            beat = ""
        return AttemptState(
            number=number,
            owner=_read(folder / "owner.json", Owner),
            beat=beat,
            result=_read(folder / "result.json", AttemptResult),
        )

    def _numbers(self, task_id: str) -> list[int]:
        folders = (self.task_folder(task_id) / "attempts").iterdir()
        return sorted(int(each.name) for each in folders if each.name.isdecimal())

    def last_number(self, task_id: str) -> int:
        """Return the number of the newest attempt; 0 before the first one."""
        return max(self._numbers(task_id), default=0)

    def accepted(self, task_id: str) -> AttemptResult | None:
        """Return the result that counts."""
        return _read(self.task_folder(task_id) / "accepted.json", AttemptResult)

    def claim(self, task_id: str, number: int, owner: Owner) -> Claim | None:
        """Claim an attempt. Return None if it was claimed before, is not the next one, or the task has a result.

        Each number is claimed once, whoever claims it. Whoever asks for number N has seen that attempt N-1 ended or was
        lost. Raises OSError.
        """
        if self.accepted(task_id) is not None or self.last_number(task_id) != number - 1:
            return None
        folder = self.attempt_folder(task_id, number)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            return None
        _replace(folder / "owner.json", msgspec.json.encode(owner))
        return Claim(self, task_id, number)

    def accept(self, task_id: str, number: int) -> AttemptResult:
        """Let the result of an attempt count unless another one counts already; return the one that does."""
        source, target = (
            self.attempt_folder(task_id, number) / "result.json",
            self.task_folder(task_id) / "accepted.json",
        )
        with contextlib.suppress(FileExistsError):  # NFS may report this for its own repeated request
            os.link(source, target)
        accepted = self.accepted(task_id)
        if accepted is None:
            raise FleetError(f"The ledger {self.folder} was changed while it was used: {target} is missing.")
        return accepted

    def delivery(self, task_id: str) -> Delivery | None:
        """Return what was done with the accepted result; None if that is still to do."""
        return _read(self.task_folder(task_id) / "delivered.json", Delivery)

    def set_delivery(self, task_id: str, delivery: Delivery) -> None:
        _replace(self.task_folder(task_id) / "delivered.json", msgspec.json.encode(delivery))

    def cancel(self, client: str) -> None:
        """Ask the attempts that a client submitted to stop."""
        folder = self.folder / "cancelled"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / client).touch()

    def is_cancelled(self, client: str) -> bool:
        return (self.folder / "cancelled" / client).exists()


class Claim:
    """Attempt that this process has claimed."""

    def __init__(self, ledger: Ledger, task_id: str, number: int) -> None:
        self.ledger = ledger
        self.task_id = task_id
        self.number = number
        self.folder = ledger.attempt_folder(task_id, number)
        self._count = 0

    def renew(self) -> None:
        """Show that the attempt is alive. Raises OSError."""
        self._count += 1
        (self.folder / "beat").write_text(str(self._count), encoding="ascii")

    def stop_reason(self, client: str) -> StopReason | None:
        """Return why the attempt is to stop now. Raises OSError."""
        if self.ledger.accepted(self.task_id) is not None or self.ledger.last_number(self.task_id) != self.number:
            return "superseded"
        return "cancelled" if self.ledger.is_cancelled(client) else None

    def record(self, result: AttemptResult) -> None:
        """Record how the attempt ended. Raises OSError."""
        _replace(self.folder / "result.json", msgspec.json.encode(result))

    def finish(self, result: AttemptResult) -> AttemptResult | None:
        """Record how the attempt ended; return the task's accepted result, which may be another's. Raises OSError."""
        self.record(result)
        if result.outcome == "succeeded":
            return self.ledger.accept(self.task_id, self.number)
        return self.ledger.accepted(self.task_id)


class LeaseWatch:
    """Decides which attempts are lost, by watching their counters for the length of a lease."""

    def __init__(self, lease_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._seen: dict[str, tuple[int, str, float]] = {}
        """By task: the attempt's number, its counter, and the time at which it was first seen."""

    def is_lost(self, task_id: str, attempt: AttemptState) -> bool:
        """Return whether an attempt without a result is lost."""
        if attempt.owner is not None and attempt.owner.is_gone():
            return True
        now = self._clock()
        number, beat, since = self._seen.get(task_id, (0, "", now))
        if (number, beat) != (attempt.number, attempt.beat):
            self._seen[task_id] = (attempt.number, attempt.beat, now)
            return False
        return now - since >= self._lease_s


def _read(file: Path, type: type[Read]) -> Read | None:
    """Return the contents of a file; None if it does not exist. Raises `FleetError` if it is damaged, and OSError."""
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return msgspec.json.decode(data, type=type)
    except msgspec.DecodeError as error:
        raise FleetError(f"{file} is damaged: {error}") from None


def _create(file: Path, data: bytes) -> bool:
    """Create a file with its contents at once; return False if it exists. Raises OSError."""
    draft = _draft(file, data)
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _replace(file: Path, data: bytes) -> None:
    _draft(file, data).replace(file)


def _draft(file: Path, data: bytes) -> Path:
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    return draft


def _boot() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - not the path of a file
    except OSError:  # not Linux
        return ""


def _is_hidden(pid: int) -> bool:
    """Return whether a process without an entry in /proc exists: of another user, on a system that hides those."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return False  # a zombie


def _started(pid: int) -> str:
    """Return when a process was started; empty if it has ended or cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
