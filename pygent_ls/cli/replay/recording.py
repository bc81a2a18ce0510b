"""Reader for recordings, whose lines `editors/lsp/transport/recording.py` describes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pygent_ls.editors.lsp.transport.recording import VERSION, Side
from pygent_ls.editors.lsp.uris import path_of

Message = dict[str, Any]


class ReplayError(Exception):
    """Raised if a recording cannot be played; the text is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLine:
    """Message in a recording. It has neither `message` nor `raw` if the body was missing or discarded."""

    number: int
    """Line number in the file, from 1."""
    at_s: float
    side: Side
    message: Message | None = None
    raw: str | None = None

    @property
    def method(self) -> str:
        """Method of the message; empty for an answer."""
        return str(self.message.get("method", "")) if self.message else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Messages between one client and the daemon."""

    folder: Path
    """Daemon's working directory."""
    state: Path
    """Daemon's state folder."""
    environment: Mapping[str, str]
    """Settings from the environment, except masked ones."""
    lines: tuple[RecordedLine, ...]
    is_torn: bool
    """Whether the last line is incomplete, since the daemon was killed."""

    @property
    def workspace(self) -> Path | None:
        """First workspace folder in `initialize`."""
        began = next((each.message for each in self.lines if each.method == "initialize" and each.message), Message())
        params: Any = began.get("params") or {}
        named: Any = params.get("workspaceFolders") or [{"uri": params.get("rootUri")}]
        uri = str(named[0].get("uri") or "")
        return path_of(uri) if uri else None


def read_recording(path: Path, *, client: int = 1) -> Recording:
    """Read one client's part of a recording. Raises `ReplayError`."""
    try:
        rows = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ReplayError(f"{path} cannot be read: {error.strerror or error}") from None
    first = _object(rows[0]) or {}
    if first.get("type") != "trace":
        raise ReplayError(f"{path} is not a recording. Create one with `pygent-ls --trace FILE`.")
    if first.get("v") != VERSION:
        raise ReplayError(f"{path} has version {first.get('v')}; this pygent-ls can replay version {VERSION}")
    environment = cast("Mapping[str, str]", first.get("environment", {}))
    lines = tuple(_lines(rows, client))
    if not lines:
        raise ReplayError(f"{path} has no messages of client {client}")
    return Recording(
        folder=Path(str(first.get("folder", "."))),
        state=Path(str(first.get("state", "."))),
        environment={name: value for name, value in environment.items() if "***" not in value},
        lines=lines,
        is_torn=rows[-1] != b"",
    )


def _lines(rows: list[bytes], client: int) -> Iterator[RecordedLine]:
    for number, row in enumerate(rows[1:], start=2):
        found = _object(row)
        if found is None or found.get("client") != client or found.get("from") not in ("client", "server"):
            continue
        message = found.get("message")
        yield RecordedLine(
            number=number,
            at_s=float(found.get("t", 0)),
            side=found["from"],
            message=cast("Message", message) if isinstance(message, dict) else None,
            raw=found.get("raw", None if message is None or isinstance(message, dict) else json.dumps(message)),
        )


def _object(row: bytes) -> Message | None:
    """Return the JSON object in a line; None if it does not contain one."""
    try:
        found = json.loads(row)
    except (ValueError, RecursionError):
        return None
    return cast("Message", found) if isinstance(found, dict) else None
