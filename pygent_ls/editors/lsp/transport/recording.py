"""Recording of the wire: each message in both directions with its time, as JSON lines.

    {"v": 1, "type": "trace", "at": …, "version": …, "python": …, "platform": …, "folder": …, "state": …,
     "environment": {"PYGENT_…": …}}
    {"t": 0.001204, "client": 1, "from": "client", "message": {…}}
    {"t": 0.003117, "client": 1, "from": "server", "message": {…}}

`t` is the time in seconds from the start of the recording until the daemon's event loop handled or sent the message.
`message` is replaced by `raw`, the text of a body that is not JSON; by `broken`, the problem of a body that could not
be read; or by `omitted`, the size in bytes of a message that was dropped because too much data was waiting to be
written, or of a client's message for which the disk was full.

Secrets are replaced by the same number of `*`, so that all positions stay valid. A thread masks and writes the
messages; the event loop only passes on bytes.
"""

from __future__ import annotations

import json
import os
import platform
import queue
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls import __version__
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame

VERSION = 1

MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Maximum size of the queue; the bodies of further messages are omitted, because recording must not delay the
daemon."""

SWITCH_S = 0.0005
"""Interpreter switch interval while a thread masks long messages. Answering 60 requests right after a document of 2 MB
took 0.1 s without a recording, 0.5 s with Python's default of 5 ms, and 0.2 to 0.3 s with this."""

MAX_MISSING = 1_000
"""Maximum number of omitted messages, the most recent ones, that are noted when a full disk accepts data again."""

MAX_NAMES = 1_000
"""Maximum number of file names tried for a recording."""

Side = Literal["client", "server"]

_SECRET_KEY = re.compile(
    r"(?i:(?:api[-_]?key|access[-_]?key|authorization|password|passwd|secret|auth[-_]?token)$)"
    r"|_(?:TOKEN|KEY|SECRET|PASS)$"
)
"""Names of object members whose text is always masked. `token` alone has another meaning in LSP."""

_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS|HEADERS)$")
"""Names of environment variables whose values are masked wherever they occur."""

_QUESTION = "pygent/question/request"
_KEYS = "pygent/keys/set"

LEAST_SECRET = 8
"""Minimum length of a masked value: shorter ones would match parts of words."""


class RecordingMasks(Struct, frozen=True):
    """Masks text that looks like a secret, and given values, without changing its length."""

    values: tuple[str, ...] = ()

    hidden: Callable[[], Iterable[str]] = tuple
    """Returns further values to mask, which may become known later."""

    def text(self, text: str) -> str:
        """Return the text with each character of a secret replaced by `*`."""
        if len(text) < LEAST_SECRET:
            return text
        from pygent_ls.secrets.finder import find_secrets

        spans = [(each.start, each.end) for each in find_secrets(text)]
        for value in (*self.values, *self.hidden()):
            if value in text:
                spans += [(found.start(), found.end()) for found in re.finditer(re.escape(value), text)]
        for start, end in spans:
            text = text[:start] + re.sub(r"[^\r\n]", "*", text[start:end]) + text[end:]
        return text

    def everything(self, value: Any, key: str = "") -> Any:
        """Mask all text in a JSON value; the names of members are unchanged."""
        if isinstance(value, str):
            return "*" * len(value) if value and _SECRET_KEY.search(key) else self.text(value)
        if isinstance(value, dict):
            members = cast("Mapping[str, Any]", value)
            return {name: self.everything(member, name) for name, member in members.items()}
        if isinstance(value, list):
            return [self.everything(each, key) for each in cast("Sequence[Any]", value)]
        return value


def masks_of(environment: Mapping[str, str], hidden: Callable[[], Iterable[str]] = tuple) -> RecordingMasks:
    """Return masks that include the secrets of the environment, the longest first."""
    values = {value for name, value in environment.items() if _SECRET_VARIABLE.search(name)}
    return RecordingMasks(
        tuple(sorted((each for each in values if len(each) >= LEAST_SECRET), key=len, reverse=True)), hidden
    )


class _RecordedMessage(Struct, frozen=True):
    at_s: float
    client: int
    side: Side
    body: bytes | BrokenFrame | int
    """An int is the size in bytes of a message whose body is omitted."""


class Lines(Struct):
    """Appends lines to a file, so that a failed write does not damage later lines. Blocking."""

    descriptor: int
    _missing: deque[bytes] = field(default_factory=lambda: deque[bytes](maxlen=MAX_MISSING))
    _is_torn: bool = False

    def add(self, line: bytes, instead: bytes | None = None) -> None:
        """Append a line. If that fails, `instead` is written when the disk accepts data again."""
        try:
            while self._missing:
                self.write(self._missing[0])
                self._missing.popleft()
            self.write(line)
        except OSError:
            if instead is not None:
                self._missing.append(instead)

    def write(self, line: bytes) -> None:
        """Append a line. Raises OSError."""
        view = memoryview(b"%b%b\n" % (b"\n" if self._is_torn else b"", line))
        while view:  # a nearly full disk accepts a part
            n_bytes = os.write(self.descriptor, view)
            view, self._is_torn = view[n_bytes:], True
        self._is_torn = False


class Trace:
    """A recording in progress. Its taps must be used in the event loop's thread."""

    def __init__(
        self,
        path: Path,
        *,
        state: Path,
        environment: Mapping[str, str],
        hidden: Callable[[], Iterable[str]] = tuple,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        """Start a recording in a new file that only the user can read: `path`, or the next free name of `NAME-2.EXT`,
        `NAME-3.EXT`, … `hidden` returns values to mask in addition to those of the environment. Raises OSError."""
        self.path, descriptor = _new_file(path)
        self._lines = Lines(descriptor)
        self._max_waiting_bytes = max_waiting_bytes
        self._masks = masks_of(environment, hidden)
        self._secret_answers: set[tuple[int, Any]] = set()
        """Clients and ids of questions whose answers are keys. The event loop adds them, the thread removes them."""
        self._began_s = perf_counter()
        self._n_clients = 0
        self._waiting_bytes = 0
        self._queue: queue.SimpleQueue[_RecordedMessage | None] = queue.SimpleQueue()
        self._lines.write(_json(_header(self._masks, state, environment)))
        sys.setswitchinterval(SWITCH_S)
        self._thread = threading.Thread(target=self._write, name="lsp-trace", daemon=True)
        self._thread.start()

    def tap(self) -> ClientTap:
        """Return the tap of a new client, which gets the next number."""
        self._n_clients += 1
        return ClientTap(self._take, self._n_clients)

    def close(self, timeout_s: float) -> None:
        """Write the waiting messages, for at most `timeout_s`."""
        self._queue.put(None)
        self._thread.join(timeout_s)

    def _take(self, client: int, side: Side, body: bytes | BrokenFrame) -> None:
        n_bytes = len(body) if isinstance(body, bytes) else 0
        if side == "server" and isinstance(body, bytes) and (question := _secret_question(body)) is not None:
            self._secret_answers.add((client, question))
        kept: bytes | BrokenFrame | int = body
        if self._waiting_bytes + n_bytes > self._max_waiting_bytes:
            kept, n_bytes = n_bytes, 0
        self._waiting_bytes += n_bytes  # an inexact count, changed by two threads, suffices for a limit
        self._queue.put(_RecordedMessage(perf_counter() - self._began_s, client, side, kept))

    def _write(self) -> None:
        while (message := self._queue.get()) is not None:
            n_bytes = len(message.body) if isinstance(message.body, bytes) else 0
            omitted = replace(message, body=n_bytes)
            # Only for the client: the many messages of the server would fill `MAX_MISSING`.
            instead = _json(_line(omitted, self._masks)) if message.side == "client" else None
            self._lines.add(_json(self._masked(message)), instead)
            self._waiting_bytes -= n_bytes

    def _masked(self, message: _RecordedMessage) -> Mapping[str, Any]:
        line = _line(message, self._masks)
        said: Any = line.get("message")
        if message.side == "client" and isinstance(said, dict) and cast("Any", said).get("method") == _KEYS:
            return {**line, "message": {**said, "params": _unseen(cast("Any", said).get("params"))}}
        if message.side == "client" and self._secret_answers and isinstance(said, dict) and "method" not in said:
            answered = (message.client, cast("Mapping[str, Any]", said).get("id"))
            if _is_hashable(answered) and answered in self._secret_answers:
                self._secret_answers.discard(answered)
                return {**line, "message": {**said, "result": _unseen(cast("Any", said).get("result"))}}
        return line


def _secret_question(body: bytes) -> object:
    """Return the id of a question whose answer is a key; None for any other message."""
    if b'"pygent/question/request"' not in body or b'"secret"' not in body:
        return None
    message: Any = json.loads(body)
    return message["id"] if message.get("method") == _QUESTION and message["params"].get("secret") else None


def _is_hashable(answered: tuple[int, Any]) -> bool:
    return isinstance(answered[1], int | str)


def _unseen(value: Any) -> Any:
    """Replace each character of all texts in a value by `*`."""
    if isinstance(value, str):
        return "*" * len(value)
    if isinstance(value, dict):
        return {name: _unseen(each) for name, each in cast("Mapping[str, Any]", value).items()}
    return [_unseen(each) for each in cast("Sequence[Any]", value)] if isinstance(value, list) else value


class ClientTap(Struct, frozen=True):
    """Tap that passes the messages of one client to a recording."""

    take: Callable[[int, Side, bytes | BrokenFrame], None]
    client: int

    def came(self, frame: bytes | BrokenFrame) -> None:
        self.take(self.client, "client", frame)

    def went(self, body: bytes) -> None:
        self.take(self.client, "server", body)


def _new_file(path: Path) -> tuple[Path, int]:
    for number in range(1, MAX_NAMES):
        name = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            return name, os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
    raise FileExistsError(f"{path} and {MAX_NAMES - 2} numbered variants already exist")


def _header(masks: RecordingMasks, state: Path, environment: Mapping[str, str]) -> Mapping[str, Any]:
    own = {name: value for name, value in environment.items() if name.startswith("PYGENT_")}
    return {
        "v": VERSION,
        "type": "trace",
        "at": datetime.now(UTC).isoformat(),
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.release()}-{platform.machine()}",
        "folder": str(Path.cwd()),
        "state": str(state),
        "environment": masks.everything(own),
    }


def _json(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode()


def _line(message: _RecordedMessage, masks: RecordingMasks) -> Mapping[str, Any]:
    line: dict[str, Any] = {"t": round(message.at_s, 6), "client": message.client, "from": message.side}
    match message.body:
        case int(n_bytes):
            line["omitted"] = n_bytes
        case BrokenFrame(problem=problem):
            line["broken"] = problem
        case bytes(body):
            try:
                line["message"] = masks.everything(json.loads(body))
            except (ValueError, RecursionError):
                line["raw"] = masks.text(body.decode("utf-8", "replace"))
    return line
