"""Runs the user's hooks on an event and reports that they ran."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypedDict, cast

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.events import AgentEvent, Notice
from pygent_ls.agent.messages import TextBlock
from pygent_ls.agent.ports.hooks import NOTHING, HookEvent, HookInput, HookOutcome, HookSource
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.truncation import cut

MAX_SAID_CHARS = 10_000
"""Maximum characters of hook output for one event: about 2 500 tokens, a linter's whole report on a file."""

NO_REASON = "it gave no reason."


class HookFacts(TypedDict, total=False):
    """Fields of `HookInput` that are specific to an event."""

    source: HookSource
    reason: str
    prompt: str
    tool_id: str
    tool_name: str
    tool_input: Mapping[str, Any]
    tool_result: str
    error: str


class HookRunner(Struct, frozen=True, kw_only=True):
    """Runs hooks for one turn, one of its subagents, or between turns. Their output is redacted and bounded in
    length."""

    services: SessionServices
    turn_id: str
    """Empty between turns."""
    emit: Callable[[AgentEvent], Awaitable[None]]
    told: set[str] = field(default_factory=set[str])
    """Problems with hooks that were reported, each once per turn; the turn and its subagents share the set."""

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether any hook listens to this event."""
        return self.services.environment.hooks.listens(event, tool_name)

    async def fire(self, event: HookEvent, facts: HookFacts) -> HookOutcome:
        """Run the hooks of an event, and report that they ran. Return `NOTHING` if none listens."""
        environment, memory = self.services.environment, self.services.memory
        if not self.listens(event, facts.get("tool_name", "")):
            return NOTHING
        said = await environment.hooks.run(
            HookInput(
                event=event,
                session_id=memory.session_id,
                turn_id=self.turn_id,
                cwd=environment.working_directory,
                **facts,
            )
        )
        masked = memory.secrets.masked
        for ran in said.ran:
            await self.emit(replace(ran, command=await masked(ran.command)))
        for problem in said.notices:
            if problem not in self.told:
                self.told.add(problem)
                await self.emit(Notice(content=await masked(problem), level="warning"))
        return replace(
            said,
            reason=cut(await masked(said.reason), event, MAX_SAID_CHARS)[0],
            context=cut(await masked(said.context), event, MAX_SAID_CHARS)[0],
            tool_input=None if said.tool_input is None else await masked_input(self.services, said.tool_input),
        )


def hook_block(event: HookEvent, text: str, about: str = "") -> TextBlock:
    """Return hook output as a block from outside: the user's program may quote files, or text that anybody wrote."""
    return TextBlock(text=f'<hook event="{event}"{about}>\n{text}\n</hook>', from_outside=True)


async def masked_input(services: SessionServices, value: Any) -> Any:
    """Return the input of a call, or a part of it, without secrets."""
    if isinstance(value, str):
        return await services.memory.secrets.masked(value)
    if isinstance(value, list):
        return [await masked_input(services, each) for each in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {name: await masked_input(services, each) for name, each in cast("Mapping[str, Any]", value).items()}
    return value
