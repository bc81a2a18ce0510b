"""Conversations of the real loop with strict servers, one for each family, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from pygent_ls.agent.context.window import CompactionRules, ContextRules
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import Block, Message, TextBlock
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import Steering, TurnResult
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_turn_model
from tests.agent.turns import check_history, new_turn
from tests.fakes import Rig, bounded, make_rig
from tests.llm.loopback import KEY
from tests.providers.servers.answers import Answer, Body, ToolCall, obj
from tests.providers.servers.families import FAMILIES
from tests.providers.servers.server import StrictServer

BASES: Mapping[str, str] = {"anthropic": "", "gemini": "/v1beta", "groq": "/openai/v1", "zai": "/api/paas/v4"}
"""Path in the address of a provider after its host; the default is `/v1`."""


@tool(risk=ToolRisk.LOW, category=ToolCategory.AGENT, kind="read", title="Look at {place}", read_only=True)
async def look(_: ToolContext, place: str) -> str:
    """Look at a place."""
    return f"seen {place}"


@tool(risk=ToolRisk.LOW, category=ToolCategory.AGENT, kind="other", title="Change {place}")
async def change(_: ToolContext, place: str) -> str:
    """Change a place."""
    return f"changed {place}"


@tool(risk=ToolRisk.LOW, category=ToolCategory.AGENT, kind="other", title="Fail at {place}")
async def fail(_: ToolContext, place: str) -> str:
    """Fail at a place."""
    raise ZeroDivisionError(place)


TOOLS = (look, change, fail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer that a model is to give, before it has its numbers."""

    n_thoughts: int = 0
    text: bool = False
    tools: tuple[str, ...] = ()
    cut_off: bool = False
    empty_ids: bool = False
    long_ids: bool = False
    redacted: bool = False
    stall_after: int | None = None
    """The user cancels the turn while this answer stalls."""
    steering: bool = False
    """The user says something when the request for this answer comes in."""
    status: int = 200

    def answer(self, server: str, number: int) -> Answer:
        """The answer with words, and arguments, that no other one has."""
        return Answer(
            thoughts=tuple(f"{server} thinks of {number}, part {part}. " for part in range(self.n_thoughts)),
            text=f"{server} says {number}." if self.text else "",
            calls=tuple(
                ToolCall(name=tool, arguments={"place": f"{server} {number} {index}"})
                for index, tool in enumerate(self.tools)
            ),
            cut_off=self.cut_off,
            empty_ids=self.empty_ids,
            long_ids=self.long_ids,
            redacted=self.redacted,
            stall_after=self.stall_after,
            status=self.status,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One turn."""

    model: str
    replies: tuple[Reply, ...]
    content: str | tuple[Block, ...] = "Look."
    thinking: int = 0
    fallback: str = ""
    compaction: CompactionRules = field(default_factory=CompactionRules)
    window: int = 0
    agent: str = "default"
    rounds: int = 0
    """Rounds of the event loop between the stall of an answer and the cancel."""


@dataclass(kw_only=True)
class Stage:
    """One conversation: the servers, the loop's surroundings and the history."""

    servers: Mapping[str, StrictServer]
    resources: ModelResources
    rig: Rig = field(default_factory=lambda: make_rig(*TOOLS, mode="trust"))
    history: list[Message] = field(default_factory=list[Message])
    addresses: dict[str, str] = field(default_factory=dict[str, str])
    """Where providers are called that are not called at their servers."""
    key: str = KEY
    n_answers: int = 0
    n_turns: int = 0
    _replies: deque[Reply] = field(default_factory=deque[Reply])
    _on_reply: Callable[[Reply], None] = lambda _: None

    def model(self, name: str) -> Model:
        """A model of a strict server, made as the application makes it."""
        family = name.partition("/")[0]
        base = self.addresses.get(family) or self.servers[family].root + BASES.get(family, "/v1")
        return make_turn_model(name, Endpoint(api_base=base, api_key=self.key), self.resources)

    def next_answer(self, server: str, body: Body) -> Answer:
        """The next reply of the turn that runs; a last word where the turn has no more, and a summary for who offers no
        tools. Called by servers' threads."""
        is_offered = body.get("tools") and obj(body.get("tool_choice")).get("type") != "none"
        reply = self._replies.popleft() if self._replies and is_offered else Reply(n_thoughts=1, text=True)
        self.n_answers += 1
        self._on_reply(reply)
        return reply.answer(server, self.n_answers)

    async def take(self, prompt: Prompt) -> TurnResult:
        """Run one turn, with what the user does in the meantime."""
        self.n_turns += 1
        turn = new_turn(
            self.rig,
            self.model(prompt.model),
            self.history,
            prompt="Look.",
            content=prompt.content,
            turn_id=f"turn-{self.n_turns}",
            agent=prompt.agent,
            system=f"You are {prompt.agent}.",
            max_output_tokens=4_000,
            max_thinking_tokens=prompt.thinking,
            context=ContextRules(max_tokens=prompt.window),
            compaction=prompt.compaction,
            retry=RetryPolicy(max_attempts=2, initial_delay_s=0.001),
            fallback_models=(prompt.fallback,) if prompt.fallback else (),
            make_model=self.model,
        )
        stalled = asyncio.Event()
        loop = asyncio.get_running_loop()

        def on_reply(reply: Reply) -> None:
            if reply.stall_after is not None:
                loop.call_soon_threadsafe(stalled.set)
            if reply.steering:
                loop.call_soon_threadsafe(steer, turn)

        self._replies, self._on_reply = deque(prompt.replies), on_reply
        task = asyncio.ensure_future(turn.run())
        waiting = asyncio.ensure_future(stalled.wait())
        try:
            await bounded(asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED))
            if stalled.is_set():
                for _ in range(prompt.rounds):
                    await asyncio.sleep(0)
                task.cancel()
            result = await bounded(task)
        finally:
            waiting.cancel()
        check_history(self.history)
        return result

    def check(self) -> None:
        """Raise AssertionError where a server refused a request, or got what is another provider's own."""
        for server in self.servers.values():
            server.check()
        for server in self.servers.values():
            bodies = json.dumps([each.body for each in server.http.requests])
            for name in self.servers:
                assert name == server.family.name or f"{name} thinks of" not in bodies, f"{server.family.name}: {name}"


def steer(turn: Turn) -> None:
    """Say something to a turn that runs."""
    turn.steer(Steering(shown="And mind the gap.", content=(TextBlock(text="And mind the gap."),)))


@asynccontextmanager
async def stage(*families: str, loader: LitellmLoader | None = None) -> AsyncGenerator[Stage]:
    """Servers of these families, or of all, and a conversation with nothing in it."""
    made: dict[str, StrictServer] = {}
    resources = ModelResources(loader=loader or LitellmLoader())
    conversation = Stage(servers=made, resources=resources)

    def answers(family: str) -> Callable[[Body, int], Answer]:
        return lambda body, _number: conversation.next_answer(family, body)

    async with AsyncExitStack() as stack:
        for name in families or FAMILIES:
            made[name] = await stack.enter_async_context(StrictServer(FAMILIES[name], answers(name)))
        try:
            yield conversation
        finally:
            await resources.close()


async def talk(prompts: Sequence[Prompt], *, loader: LitellmLoader | None = None) -> Stage:
    """A whole conversation, checked at its end."""
    used = {name.partition("/")[0] for each in prompts for name in (each.model, each.fallback) if name}
    async with stage(*sorted(used), loader=loader) as conversation:
        for prompt in prompts:
            await conversation.take(prompt)
        conversation.check()
        return conversation
