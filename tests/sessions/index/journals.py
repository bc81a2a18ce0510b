"""Journals of sessions of which only some records matter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pygent_ls.agent.events import Finished, TextDelta, TurnStarted
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Block, Message, TextBlock, Usage
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.files import FileJournal, MemoryJournal
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun, Cut, Said, Spent, State, Told
from tests.fakes import FOLDER

START = datetime(2026, 1, 1, tzinfo=UTC)


def state(name: str = "A session", *, at: datetime = START, mode: Mode = "plan") -> State:
    return State(
        at=at,
        name=name,
        agent="default",
        own_agent=None,
        model="fake/model",
        own_model=None,
        mode=mode,
        own_mode=None,
        max_thinking_tokens=None,
        context_mode=None,
    )


class Writing:
    """A session that is being written: in a folder, or in memory."""

    def __init__(
        self, journals: JournalFolder | None, session_id: str, *, name: str = "A session", folder: Path = FOLDER
    ) -> None:
        begun = Begun(id=session_id, created=START, working_directory=folder)
        self.id = session_id
        self.journal: FileJournal | MemoryJournal = journals.create(begun) if journals else MemoryJournal()
        self._n_messages = 0
        self._seq = 0
        self._n_turns = 0
        self._at = START
        self.journal.append([state(name)])

    def turn(self, said: str, *answers: str) -> str:
        """A whole turn; returns its id."""
        turn_id = self.begin(said)
        for answer in answers:
            self.say("assistant", answer)
        self.finish()
        return turn_id

    def begin(self, said: str) -> str:
        """The first half of a turn."""
        self._n_turns += 1
        self._tell(TurnStarted(prompt=said, model="m", mode="plan", agent="default"))
        self._tell(TextDelta(item_id="1", content="as it comes"))
        self.say("user", said)
        return self._turn_id

    def say(self, role: str, *content: str | Block) -> None:
        """A message of the turn."""
        blocks = tuple(TextBlock(text=each) if isinstance(each, str) else each for each in content)
        message = Message(role="user" if role == "user" else "assistant", content=blocks, turn_id=self._turn_id)
        self.journal.append([Said(index=self._n_messages, message=message)])
        self._n_messages += 1

    def finish(self, *, is_free: bool = False) -> None:
        """The second half. What took nothing changes no totals."""
        usage = Usage() if is_free else Usage(input_tokens=self._n_turns)
        self._at += timedelta(hours=1)
        self._tell(Finished(stop_reason="end_turn", usage=usage, files_changed=()))
        if not is_free:
            self.journal.append([Spent(at=self._at, usage=usage, last_turn=usage)])

    def rename(self, name: str) -> None:
        self.journal.append([state(name, at=self._at)])

    def cut(self, length: int) -> None:
        """Go back to the first messages."""
        self.journal.append([Cut(length=length)])
        self._n_messages = length

    def close(self) -> None:
        """Its daemon has ended."""
        self.journal.close()

    @property
    def _turn_id(self) -> str:
        return f"turn-{self._n_turns}"

    def _tell(self, event: TurnStarted | TextDelta | Finished) -> None:
        self._seq += 1
        told = SessionEvent(
            event=event,
            seq=self._seq,
            turn_id=self._turn_id,
            iteration=1,
            total_tokens=0,
            timestamp=self._at,
            parent_tool_id=None,
        )
        self.journal.append([Told(event=told)])


def written(journals: JournalFolder, session_id: str, *turns: Sequence[str], name: str = "A session") -> None:
    """A session with these turns, each what was said in it, that no daemon has."""
    session = Writing(journals, session_id, name=name)
    for said in turns:
        session.turn(*said)
    session.close()
