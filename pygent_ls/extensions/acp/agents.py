"""The agents of one front end, each as a model of our sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from pygent_ls.agent.external_agent import AgentHost, AgentSession, ExternalPrompt
from pygent_ls.agent.json_fields import number, obj, text
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Block, ImageBlock, TextBlock, Usage
from pygent_ls.errors import ToolError
from pygent_ls.extensions.acp.process import CANCEL_S, AgentProcess, AgentServices
from pygent_ls.extensions.acp.programs import AgentCommand, AgentProgram, agent_error
from pygent_ls.extensions.acp.session import RemoteSession
from pygent_ls.extensions.line_process import spec_of
from pygent_ls.extensions.variables import filled

_STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end_turn",
    "max_tokens": "max_output_tokens",
    "max_turn_requests": "max_iterations",
    "refusal": "refusal",
    "cancelled": "end_turn",  # the agent's word for a call that the user rejected; ours is not cancelled
}


class ExternalAgents:
    """The agents that were used; ends their processes in `close`."""

    def __init__(self, services: AgentServices) -> None:
        self._services = services
        self._agents: dict[str, tuple[AgentProgram, HostedAgent]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def agent(self, program: AgentProgram, model: str) -> HostedAgent:
        """Return the agent of a program, with one of its models or its own default."""
        key = f"{program.name}/{model}"
        known = self._agents.get(key)
        if known is not None and known[0] == program:
            return known[1]
        if known is not None:
            task = asyncio.create_task(known[1].close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
        made = HostedAgent(program, model, self._services)
        self._agents[key] = program, made
        return made

    @property
    def commands(self) -> Sequence[AgentCommand]:
        """Commands that running agents offer, each name once."""
        found = [each for _, agent in self._agents.values() for each in agent.commands]
        return list({each.name: each for each in found}.values())

    async def close(self) -> None:
        """End all processes."""
        async with asyncio.TaskGroup() as group:
            for _, agent in self._agents.values():
                group.create_task(agent.close())
        if self._ending:
            await asyncio.wait(self._ending)


class HostedAgent:
    """Implements `ExternalAgent` for one program."""

    def __init__(self, program: AgentProgram, model: str, services: AgentServices) -> None:
        self.program = program
        self._model = model
        self._services = services
        self._n_prompts: dict[str, int] = {}
        """Number of prompts that each of its sessions was sent, whichever process had it."""
        self._process: AgentProcess | None = None
        self._starting = asyncio.Lock()

    @property
    def label(self) -> str:
        """Name of the agent for a person."""
        return self.program.label

    @property
    def is_ready(self) -> bool:
        """Whether its program runs."""
        return self._process is not None and self._process.runs

    @property
    def commands(self) -> Sequence[AgentCommand]:
        """Commands that its sessions offer."""
        return self._process.commands if self._process is not None else ()

    async def prepare(self) -> None:
        """Implement `ExternalAgent`."""
        if self._services.is_restricted:
            raise agent_error(
                self.program,
                f"{self.label} is not started while the editor does not trust this workspace. Trust the workspace in "
                "the editor to use it.",
                "invalid_request",
            )
        self._program_path()

    def _program_path(self) -> str:
        found = self._services.find(self.program.command[0])
        if found is None:
            raise agent_error(self.program, self.program.missing, "invalid_request")
        return found

    async def prompt(self, prompt: ExternalPrompt, host: AgentHost) -> StopReason:
        """Implement `ExternalAgent`."""
        await self.prepare()
        process = await self._started()
        session, unheard = await process.session_for(prompt, host)
        session.n_prompts += 1
        self._n_prompts[session.id] = session.n_prompts
        await host.joined(AgentSession(id=session.id, n_prompts=session.n_prompts))
        content = _content(prompt.content, unheard, takes_images=process.takes_images)
        sending = process.request("session/prompt", {"sessionId": session.id, "prompt": content})
        try:
            response = await session.run(host, _patient(process, session, sending))
        except ToolError as error:
            await self._give_up(process)
            raise agent_error(self.program, str(error), "server") from None
        except asyncio.CancelledError:
            if process.is_stuck:
                await self._give_up(process)
            raise
        await host.count(_usage_of(response, session, counts_session=self.program.counts_session))
        return _STOP_REASONS.get(text(response.get("stopReason")), "end_turn")

    async def close(self) -> None:
        """End the process."""
        async with self._starting:
            process, self._process = self._process, None
            if process is not None:
                await process.stop()

    async def _give_up(self, process: AgentProcess) -> None:
        """End a process that does not stop; its sessions are loaded by the next one."""
        if self._process is process:
            self._process = None
        await process.stop()

    async def _started(self) -> AgentProcess:
        """Return the running process. Raises `ModelError`."""
        async with self._starting:
            if self._process is not None and self._process.runs:
                return self._process
            if self._process is not None:
                await self._process.stop()
            await asyncio.to_thread(import_module, "acp.connection")
            argv = (self._program_path(), *self.program.command[1:])
            spec = spec_of(argv, self._services.folder(), self._environment())
            process = self._process = AgentProcess(self.program, self._model, self._services, spec, self._n_prompts)
            try:
                await process.start()
            except BaseException:
                self._process = None
                await process.stop()
                raise
            return process

    def _environment(self) -> Mapping[str, str]:
        """Return the variables that the process is given besides the usual ones. Raises `ModelError`."""
        given = {name: value for name, value in os.environ.items() if name.startswith(self.program.keys)}
        try:
            return given | {name: filled(value, os.environ) for name, value in self.program.env.items()}
        except ToolError as error:
            raise agent_error(self.program, str(error), "invalid_request") from None


async def _patient(
    process: AgentProcess, session: RemoteSession, sending: Coroutine[Any, Any, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Return the response to a prompt. If cancelled, tell the agent, and give it time to stop."""
    asking = asyncio.create_task(sending)
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        with suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_S):
                await process.notify("session/cancel", {"sessionId": session.id})
                await asyncio.wait([asking])
        process.is_stuck = not asking.done()
        raise
    finally:
        asking.cancel()
        await asyncio.wait([asking])


def _content(blocks: Sequence[Block], unheard: str, *, takes_images: bool) -> list[Mapping[str, Any]]:
    """Return a prompt as the protocol has it. An agent that takes no images is told that there was one."""
    found: list[Mapping[str, Any]] = []
    if unheard:
        told = f"<conversation>\n{unheard}</conversation>\nThis is what was said before, with another assistant or you."
        found.append({"type": "text", "text": told})
    for block in blocks:
        match block:
            case TextBlock(text=said) if said:
                found.append({"type": "text", "text": said})
            case ImageBlock(mime_type=mime_type) if not takes_images:
                found.append({"type": "text", "text": f"[image: {mime_type}, left out because you take no images]"})
            case ImageBlock(mime_type=mime_type, data=data):
                found.append({"type": "image", "mimeType": mime_type, "data": data})
            case _:
                pass
    return found


def _usage_of(response: Mapping[str, Any], session: RemoteSession, *, counts_session: bool) -> Usage:
    """Return the usage of one prompt; `counts_session`: the agent tells the total of its session."""
    given = obj(response.get("usage")) or _gemini_usage(response)
    total = Usage(
        input_tokens=number(given.get("inputTokens")) + number(given.get("cachedReadTokens")),
        output_tokens=number(given.get("outputTokens")) + number(given.get("thoughtTokens")),
        cache_read_tokens=number(given.get("cachedReadTokens")),
        cache_write_tokens=number(given.get("cachedWriteTokens")),
    )
    counted = session.count_from(total)
    before = counted if counts_session else Usage()
    used, size = session.context
    return Usage(
        input_tokens=max(0, total.input_tokens - before.input_tokens),
        output_tokens=max(0, total.output_tokens - before.output_tokens),
        cache_read_tokens=max(0, total.cache_read_tokens - before.cache_read_tokens),
        cache_write_tokens=max(0, total.cache_write_tokens - before.cache_write_tokens),
        cost_usd=0.0 if session.has_cost else None,  # it is counted as it is told
        context_tokens=used,
        context_limit=size or None,
    )


def _gemini_usage(response: Mapping[str, Any]) -> Mapping[str, Any]:
    counted = obj(obj(obj(response.get("_meta")).get("quota")).get("token_count"))
    return {"inputTokens": counted.get("input_tokens"), "outputTokens": counted.get("output_tokens")}
