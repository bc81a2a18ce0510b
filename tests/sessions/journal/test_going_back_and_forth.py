"""Turns, compactions and ways back in any order, across daemons: the conversation, and what the model is sent of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from hypothesis import example, given
from hypothesis import strategies as st

from pygent_ls.errors import SessionError
from pygent_ls.sessions.checkpoints.rewind import RewindTarget
from pygent_ls.sessions.session import Session
from pygent_ls.tools.tasks import plan
from tests.fakes import Call, Step, say
from tests.sessions.journal.kept import Kept, daemon

Act = Literal["turn", "compact", "undo", "redo", "restore", "fork", "restart"]

ACTS: st.SearchStrategy[list[Act]] = st.lists(
    st.sampled_from(("turn", "turn", "compact", "undo", "redo", "restore", "fork", "restart")), min_size=4, max_size=14
)

MOST_ANSWERS = 40


@dataclass(frozen=True, slots=True)
class Said:
    """A conversation: its words, and where its turns begin."""

    words: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()


@dataclass(slots=True)
class Story:
    """What should be there."""

    said: Said = field(default_factory=Said)
    taken_back: list[Said] = field(default_factory=list[Said])
    points: dict[str, Said] = field(default_factory=dict[str, Said])
    """What each checkpoint goes back to."""
    summaries: list[tuple[tuple[str, ...], str]] = field(default_factory=list[tuple[tuple[str, ...], str]])
    """The beginnings that were summed up, each with its summary."""

    @property
    def summary(self) -> str | None:
        """Return the summary of the longest summarised beginning of the conversation; None without one."""
        words = self.said.words
        found = [(len(part), at) for at, (part, _) in enumerate(self.summaries) if words[: len(part)] == part]
        return self.summaries[max(found)[1]][1] if found else None


class Play:
    """One session, the daemon that has it, and its story."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stack = AsyncExitStack()
        self._n_daemons = 0
        self._n_prompts = 0
        self.story = Story()

    async def begin(self) -> None:
        """The first daemon."""
        self._kept = await self._daemon()
        self.session = self._kept.new()

    async def end(self) -> None:
        """The last one ends."""
        await self._stack.aclose()

    async def _daemon(self) -> Kept:
        self._n_daemons += 1
        script = [say(f"{self._n_daemons}-{n} " + "words " * 40) for n in range(MOST_ANSWERS)]
        return await self._stack.enter_async_context(daemon(self._root, script, has_checkpoints=True))

    async def act(self, act: Act) -> None:
        """Do it, in the session and in the story."""
        match act:
            case "turn":
                await self._turn()
            case "compact":
                await self._compact()
            case "undo":
                await self._undo()
            case "redo":
                await self._redo()
            case "restore":
                await self._restore()
            case "fork":
                self.session = await self._kept.sessions.fork(self.session.id)
                self.story.taken_back, self.story.points = [], {}
            case "restart":
                await self.end()
                self._kept = await self._daemon()
                self.session = await self._kept.sessions.hold(self.session.id)

    async def _turn(self) -> None:
        self._n_prompts += 1
        prompt = f"ask {self._n_prompts} " + "please " * 20
        answer = (await self._kept.say(self.session, prompt)).text
        said = self.story.said
        self.story.said = Said((*said.words, prompt, answer), (*said.turns, len(said.words)))
        self.story.taken_back = []

    async def _compact(self) -> None:
        try:
            await self.session.compact()
        except SessionError as error:
            if error.kind != "nothing_to_compact":
                raise
            return
        made = self.session.services.memory.window.compaction
        assert made is not None
        self.story.summaries.append((self.story.said.words[: made.end], made.summary))

    async def _undo(self) -> None:
        before = self.story.said
        if not before.turns:
            return
        done = await self.session.undo()
        self.story.points[done.undo_checkpoint_id] = before
        self.story.taken_back.append(before)
        self.story.said = Said(before.words[: before.turns[-1]], before.turns[:-1])

    async def _redo(self) -> None:
        if not self.story.taken_back:
            return
        done = await self.session.restorer.redo()
        self.story.points[done.undo_checkpoint_id] = self.story.said
        self.story.said = self.story.taken_back.pop()

    async def _restore(self) -> None:
        if not self.story.points:
            return
        wanted = next(iter(self.story.points))
        point = next(each for each in self.session.checkpoints if each.id == wanted)
        done = await self.session.restore(point, RewindTarget(files=False, conversation=True))
        self.story.points[done.undo_checkpoint_id] = self.story.said
        self.story.said = self.story.points[wanted]

    def check(self) -> None:
        """The session is what its story says."""
        memory = self.session.services.memory.window
        memory.follow(self.session.messages)
        assert tuple(each.text for each in self.session.messages) == self.story.said.words
        assert (memory.compaction.summary if memory.compaction else None) == self.story.summary


@example(acts=["turn", "turn", "compact", "turn", "undo", "redo", "restart"])
@example(acts=["turn", "turn", "compact", "undo", "restart", "redo", "restart"])
@example(acts=["turn", "turn", "turn", "compact", "undo", "undo", "compact", "redo", "redo", "restart"])
@example(acts=["turn", "turn", "compact", "turn", "turn", "compact", "fork", "restart", "undo", "undo"])
@given(acts=ACTS)
def test_whatever_was_done_the_conversation_and_what_stands_for_it_are_what_they_should_be(acts: list[Act]) -> None:
    async def run(root: Path) -> None:
        play = Play(root)
        await play.begin()
        try:
            for act in acts:
                await play.act(act)
                play.check()
        finally:
            await play.end()

    with TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "sessions"))


def planning(*contents: str) -> Sequence[Sequence[Step]]:
    """What the model says in a turn in which it writes this plan."""
    entries = [{"content": each, "status": "pending"} for each in contents]
    return say("", Call(name="plan", arguments={"entries": entries})), say("Planned.")


def planned(session: Session) -> list[str]:
    """What the session means to do."""
    return [each.content for each in session.services.memory.plan.entries]


async def test_a_restored_conversation_has_the_plan_of_its_moment(tmp_path: Path) -> None:
    refused = say("", Call(name="plan", arguments={"entries": [{"content": " ", "status": "pending"}]}))
    script = [*planning("look"), *planning("look", "mend"), refused, say("The plan stays.")]
    async with daemon(tmp_path, script, tools=[plan], has_checkpoints=True) as kept:
        session = kept.new()
        for prompt in ("plan it", "plan more", "plan nothing"):
            await kept.say(session, prompt)
        assert planned(session) == ["look", "mend"]

        await session.undo()
        assert planned(session) == ["look", "mend"]
        await session.undo()
        assert planned(session) == ["look"]
        assert planned(await kept.sessions.fork(session.id)) == ["look"]

    async with daemon(tmp_path, tools=[plan], has_checkpoints=True) as again:
        session = await again.sessions.hold(session.id)
        assert planned(session) == ["look"]
        await session.undo()
        assert planned(session) == []
        for _ in range(2):
            await session.restorer.redo()
        assert planned(session) == ["look", "mend"]
