"""Which session a chat document is the conversation of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from pygent_ls.agent.messages import Message
from pygent_ls.editors.lsp.chat.document import Said, trimmed
from pygent_ls.errors import ToolError
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.writing import write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a document and its session held when the last answer was over."""

    session_id: str
    said: str
    """A digest of the document's conversation."""
    n_messages: int
    """Of the session, and the turn of the last of them: it may have gone on elsewhere, or back."""
    last_turn: str

    def is_at(self, session: Session) -> bool:
        """Whether the session is still where it was."""
        return (session.id, len(session.messages), _last_turn(session)) == (
            self.session_id,
            self.n_messages,
            self.last_turn,
        )


def known_now(session: Session, conversation: Sequence[Said]) -> Known:
    """That the session is now at the end of this conversation."""
    return Known(
        session_id=session.id,
        said=digest_of(conversation),
        n_messages=len(session.messages),
        last_turn=_last_turn(session),
    )


def digest_of(conversation: Sequence[Said]) -> str:
    """The same for conversations that differ in nothing but white space at the ends of lines: editors take it away."""
    lines = [[each.role, [line.rstrip() for line in trimmed(each.text).split("\n")]] for each in conversation]
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def messages_of(conversation: Sequence[Said]) -> list[Message]:
    """The conversation as a session has it; a question and what answers it are one turn."""
    messages: list[Message] = []
    turn_id = ""
    for each in conversation:
        if each.role == "user" or not turn_id:
            turn_id = f"turn-{uuid4().hex[:12]}"
        messages.append(Message(role=each.role, content=each.text, turn_id=turn_id))
    return messages


class Memory:
    """Keeps it by the document's path; on the disk where sessions are kept there, too."""

    def __init__(self, folder: Path, *, is_kept: Callable[[], bool]) -> None:
        self._folder = folder
        self._is_kept = is_kept
        self._known: dict[Path, Known | None] = {}

    def of(self, path: Path) -> Known | None:
        """What is known of a document. Blocking, the first time."""
        if path not in self._known:
            self._known[path] = _read(self._file(path))
        return self._known[path]

    def remember(self, path: Path, known: Known | None) -> None:
        """None: its conversation is no session's. Blocking. What cannot be written is known to this daemon alone."""
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
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _last_turn(session: Session) -> str:
    return session.messages[-1].turn_id if session.messages else ""
