"""Association of chat documents with sessions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import asdict

from pygent_ls.agent.messages import Message
from pygent_ls.editors.lsp.chat_document.document import ChatMessage, trimmed
from pygent_ls.errors import ToolError
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.files.writer import write_atomically


class Known(Struct, frozen=True, kw_only=True):
    """State of a document and its session at the end of the last answer."""

    session_id: str
    said: str
    """Digest of the document's conversation."""
    n_messages: int
    """Number of messages of the session; with the turn of the last message, it shows whether the session has changed
    elsewhere."""
    last_turn: str

    def is_at(self, session: Session) -> bool:
        """Whether the session is still in this state."""
        return (session.id, len(session.messages), _last_turn(session)) == (
            self.session_id,
            self.n_messages,
            self.last_turn,
        )


def known_now(session: Session, conversation: Sequence[ChatMessage]) -> Known:
    """Return the state of a session at the end of this conversation."""
    return Known(
        session_id=session.id,
        said=digest_of(conversation),
        n_messages=len(session.messages),
        last_turn=_last_turn(session),
    )


def digest_of(conversation: Sequence[ChatMessage]) -> str:
    """Return a digest that ignores white space at the ends of lines, which editors may remove."""
    lines = [[each.role, [line.rstrip() for line in trimmed(each.text).split("\n")]] for each in conversation]
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def messages_of(conversation: Sequence[ChatMessage]) -> list[Message]:
    """Return the conversation as messages of a session; a question and its answers are one turn."""
    messages: list[Message] = []
    turn_id = ""
    for each in conversation:
        if each.role == "user" or not turn_id:
            turn_id = f"turn-{uuid4().hex[:12]}"
        messages.append(Message(role=each.role, content=each.text, turn_id=turn_id))
    return messages


class SessionMap:
    """Stores the state by the document's path; on disk if sessions are stored there."""

    def __init__(self, folder: Path, *, is_kept: Callable[[], bool]) -> None:
        self._folder = folder
        self._is_kept = is_kept
        self._known: dict[Path, Known | None] = {}

    def of(self, path: Path) -> Known | None:
        """Return the stored state of a document. Blocking on the first call."""
        if path not in self._known:
            self._known[path] = _read(self._file(path))
        return self._known[path]

    def remember(self, path: Path, known: Known | None) -> None:
        """Store the state; None if no session has the document's conversation. Blocking. If writing fails, only this
        daemon remembers it."""
        self._known[path] = known
        with suppress(OSError, ToolError):
            if known is None:
                self._file(path).unlink(missing_ok=True)
            elif self._is_kept():
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_atomically(self._file(path), json.dumps({"path": str(path), **asdict(known)}).encode(), 0o600)

    def _file(self, path: Path) -> Path:
        return self._folder / f"{hashlib.sha256(str(path).encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _read(file: Path) -> Known | None:
    try:
        found = cast("dict[str, Any]", json.loads(file.read_bytes()))
        return Known(
            session_id=str(found["session_id"]),
            said=str(found["said"]),
            n_messages=int(found["n_messages"]),
            last_turn=str(found["last_turn"]),
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _last_turn(session: Session) -> str:
    return session.messages[-1].turn_id if session.messages else ""
