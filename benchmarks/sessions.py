"""What it costs to keep sessions, and to find them again.

2,000 sessions of 25 turns, which are 100,000 messages: all of them listed in at most 200 ms, and searched in at most
100 ms. The words are as frequent as words are (the n-th of a vocabulary of 12,000 in proportion to 1/n), so the first
one stands in every turn, and the last in a few. What an index that is missing takes to be made is measured as well.

A turn is written, and the index catches up with it, in a session of 10 turns and in one of 1,000, by turns: neither may
depend on the length. A session of 1,000 turns is loaded, and its events are told to a second window.

usage: python benchmarks/sessions.py [N_SESSIONS]     (2000)
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

from pygent_ls.agent.context.memory import Compaction
from pygent_ls.agent.events import AgentEvent, Finished, Text, TextDelta, ToolCall, ToolResult, TurnStarted
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock, Usage
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.index.session_list import SessionFilter, SessionList
from pygent_ls.sessions.journal.files import Journal, MemoryJournal, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun, State
from pygent_ls.sessions.journal.tail import Tail
from pygent_ls.sessions.journal.writer import JournalWriter

N_SESSIONS, N_TURNS = 2_000, 25

SHORT, LONG = 10, 1_000
"""Turns of the two sessions that are compared."""

ROUNDS = 15

PROMPT_WORDS, ANSWER_WORDS, DELTA_WORDS = 30, 120, 12
"""Numbers of words of a turn; an answer arrives in pieces."""

USAGE = Usage(input_tokens=1_000, output_tokens=200)

START = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Measure and write."""
    n_sessions = int(sys.argv[1]) if len(sys.argv) > 1 else N_SESSIONS
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        vocabulary = Vocabulary()
        figures = {
            "what": "milliseconds by the clock (median, best) and of CPU; in each pair both took turns",
            "rounds": ROUNDS,
            "sessions": n_sessions,
            "messages": 2 * N_TURNS * n_sessions,
            **asyncio.run(finding(folder / "many", n_sessions, vocabulary)),
            **asyncio.run(keeping(folder / "two", vocabulary)),
        }
    write_result("sessions", figures)


class Vocabulary:
    """Random words, and texts of them."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        syllables = [first + last for first, last in product("bdfgklmnprstvz", ("a", "e", "i", "o", "un"))]
        pairs = [first + second for first, second in product(syllables, syllables)]
        self.words = [*pairs, *(f"{word}{last}" for word, last in product(pairs, ("x", "xo")))][:12_000]
        self._random.shuffle(self.words)
        self._weights = list(accumulate(1 / (at + 3) for at in range(len(self.words))))

    def text(self, n_words: int) -> list[str]:
        """So many words."""
        return self._random.choices(self.words, cum_weights=self._weights, k=n_words)


class Written:
    """A session that is written as a daemon does it, but for the turns themselves."""

    def __init__(self, journals: JournalFolder | None, session_id: str, vocabulary: Vocabulary) -> None:
        self.id = session_id
        self._vocabulary = vocabulary
        self.messages: list[Message] = []
        self._n_turns = 0
        self._seq = 0
        self.usage = Usage()
        self.last_turn_usage = USAGE
        self.compactions: list[Compaction] = []
        self.agent_notes = ()
        self._name = " ".join(vocabulary.text(5))
        self._keeper = JournalWriter(self)
        begun = Begun(id=session_id, created=START, working_directory=Path("/home/me/project"))
        self.journal: Journal = journals.create(begun) if journals else MemoryJournal()
        self._keeper.begin(self.journal)

    def talk(self) -> None:
        """A turn of two messages."""
        answer = self._vocabulary.text(ANSWER_WORDS)
        self._begin()
        pieces = [" ".join(answer[at : at + DELTA_WORDS]) for at in range(0, ANSWER_WORDS, DELTA_WORDS)]
        self._tell([TextDelta(item_id="1", content=piece) for piece in pieces])
        self._say("assistant", TextBlock(text=" ".join(answer)))
        self._tell([Text(item_id="1", content=" ".join(answer))])
        self._end()

    async def work(self) -> None:
        """A turn of four messages with a tool, the events in as many writes as they would come in; with its fsync."""
        self._begin()
        for piece in self._vocabulary.text(20):
            self._tell([TextDelta(item_id="1", content=piece)])
        call_id = f"call-{self._n_turns}"
        self._say("assistant", TextBlock(text="Looking."), ToolUseBlock(id=call_id, name="read_file", input={}))
        self._tell([_call(call_id)])
        self._say("user", ToolResultBlock(tool_use_id=call_id, content="a line of a file\n" * 50))
        self._tell([_result(call_id)])
        for piece in self._vocabulary.text(20):
            self._tell([TextDelta(item_id="2", content=piece)])
        self._say("assistant", TextBlock(text=" ".join(self._vocabulary.text(ANSWER_WORDS))))
        self._end()
        await self._keeper.sync()

    def _begin(self) -> None:
        prompt = " ".join(self._vocabulary.text(PROMPT_WORDS))
        self._n_turns += 1
        self._tell([TurnStarted(prompt=prompt, model="m", mode="default", agent="default")])
        self._say("user", TextBlock(text=prompt))

    def _end(self) -> None:
        self.usage = self.usage.plus(USAGE)
        self._tell([Finished(stop_reason="end_turn", usage=USAGE, files_changed=())])

    def _say(self, role: str, *blocks: TextBlock | ToolUseBlock | ToolResultBlock) -> None:
        turn_id = f"turn-{self.id}-{self._n_turns}"
        self.messages.append(Message(role="user" if role == "user" else "assistant", content=blocks, turn_id=turn_id))

    def _tell(self, events: Sequence[AgentEvent]) -> None:
        told = [
            SessionEvent(
                event=event,
                seq=self._seq + at,
                turn_id=f"turn-{self.id}-{self._n_turns}",
                iteration=1,
                total_tokens=0,
                timestamp=START + timedelta(minutes=self._n_turns),
            )
            for at, event in enumerate(events, 1)
        ]
        self._seq += len(events)
        self._keeper.keep(told)

    @property
    def state(self) -> State:
        return State(
            at=START,
            name=self._name,
            agent="default",
            own_agent=None,
            model="m",
            own_model=None,
            mode="default",
            own_mode=None,
            max_thinking_tokens=None,
            context_mode=None,
        )


def _call(call_id: str) -> ToolCall:
    return ToolCall(
        tool_id=call_id,
        tool_name="read_file",
        input={"path": "a.txt"},
        title="Read a.txt",
        kind="read",
        risk=ToolRisk.LOW,
        read_only=True,
        locations=(),
    )


def _result(call_id: str) -> ToolResult:
    return ToolResult(
        tool_id=call_id,
        tool_name="read_file",
        content="a line of a file\n" * 50,
        is_error=False,
        cached=False,
        truncated=False,
        duration_s=0.01,
    )


# Finding


async def finding(folder: Path, n_sessions: int, vocabulary: Vocabulary) -> dict[str, object]:
    """Lists and searches of many sessions, and an index that is made."""
    journals = JournalFolder(folder)
    for number in range(n_sessions):
        session = Written(journals, f"{number:032x}", vocabulary)
        for _ in range(N_TURNS):
            session.talk()
        session.journal.close()
    n_bytes = sum(each.stat().st_size for each in folder.glob("*.jsonl"))  # noqa: ASYNC240
    listing = SessionList({})
    listing.keep_in(journals)
    begin = perf_counter()
    await listing.page(SessionFilter())
    made_s = perf_counter() - begin
    words = vocabulary.words
    queries = {
        "the_most_frequent_word": words[0],
        "a_frequent_word": words[20],
        "a_rare_word": words[-1],
        "three_frequent_words": " ".join(words[:3]),
        "the_beginning_of_words": words[5][:3],
        "two_words_in_quotes": f'"{words[1]} {words[2]}"',
        "a_word_that_nobody_said": "zygote",
    }
    figures: dict[str, object] = {
        "journals_mb": round(n_bytes / 1e6),
        "index_made_s": round(made_s, 1),
        "index_mb": round((folder / "index.sqlite3").stat().st_size / 1e6),
        "list_of_all": await timed(lambda: listing.page(SessionFilter(limit=n_sessions))),
        "list_of_100": await timed(lambda: listing.page(SessionFilter(limit=100))),
        "list_with_a_word": await timed(lambda: listing.page(SessionFilter(query=words[20]))),
        "search": {name: await timed(partial(listing.search, query, 20)) for name, query in queries.items()},
    }
    await listing.close()
    after = SessionList({})
    after.keep_in(journals)
    begin = perf_counter()
    await after.page(SessionFilter())
    figures["first_list_of_a_daemon_ms"] = round((perf_counter() - begin) * 1000, 1)
    await after.close()
    return figures


async def timed(do: Callable[[], Awaitable[object]]) -> dict[str, float]:
    """What it takes once it was done before."""
    await do()
    return summary([await measured(do()) for _ in range(ROUNDS)])


class Took(NamedTuple):
    """Milliseconds by the clock, and of CPU in all threads."""

    wall_ms: float
    cpu_ms: float


async def measured(doing: Awaitable[object]) -> Took:
    begin, cpu = perf_counter(), process_time()
    await doing
    return Took((perf_counter() - begin) * 1000, (process_time() - cpu) * 1000)


def summary(times: Sequence[Took]) -> dict[str, float]:
    """Medians, and the best by the clock: others may have used the machine."""
    return {
        "median_ms": round(statistics.median(each.wall_ms for each in times), 2),
        "min_ms": round(min(each.wall_ms for each in times), 2),
        "cpu_ms": round(statistics.median(each.cpu_ms for each in times), 2),
    }


# Keeping


async def keeping(folder: Path, vocabulary: Vocabulary) -> dict[str, object]:
    """A turn more, in a session of 10 turns and in one of 1,000; and what the long one takes to be read."""
    journals = JournalFolder(folder)
    sessions = {SHORT: Written(journals, "short", vocabulary), LONG: Written(journals, "long", vocabulary)}
    in_memory = {n_turns: Written(None, "memory", vocabulary) for n_turns in sessions}
    for n_turns, session in (*sessions.items(), *in_memory.items()):
        for _ in range(n_turns):
            await session.work()
    listing = SessionList({})
    listing.keep_in(journals)
    await listing.page(SessionFilter())
    writes = {n_turns: list[Took]() for n_turns in sessions}
    unsynced = {n_turns: list[Took]() for n_turns in sessions}
    catches_up = {n_turns: list[Took]() for n_turns in sessions}
    for _ in range(3 * ROUNDS):
        for n_turns, session in sessions.items():
            writes[n_turns].append(await measured(session.work()))
            catches_up[n_turns].append(await measured(listing.page(SessionFilter())))
            unsynced[n_turns].append(await measured(in_memory[n_turns].work()))
    await listing.close()
    for session in sessions.values():
        session.journal.close()
    path = folder / "long.jsonl"
    return {
        "turn_written_with_fsync": _by_turn(writes),
        "turn_written_to_memory": _by_turn(unsynced),
        "index_catches_up_with_a_turn": _by_turn(catches_up),
        f"load_of_{LONG}_turns": summary(
            [await measured(asyncio.to_thread(journals.recall, "long")) for _ in range(ROUNDS)]
        ),
        f"replay_of_{LONG}_turns": summary([await measured(asyncio.to_thread(_replay, path)) for _ in range(ROUNDS)]),
        f"events_of_{LONG}_turns": _replay(path),
    }


def _replay(path: Path) -> int:
    """Read all events as `pygent/session/attach` does from the beginning; returns how many there were."""
    tail, n_events, is_all = Tail(0), 0, False
    lines = lines_of(partial(read_file, path))
    while not is_all:
        events, is_all = tail.take(lines, 256_000)
        n_events += len(events)
    return n_events


def _by_turn(times: dict[int, list[Took]]) -> dict[str, dict[str, float]]:
    return {f"at_turn_{n_turns}": summary(each) for n_turns, each in times.items()}


if __name__ == "__main__":
    main()
