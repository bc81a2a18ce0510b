"""The `Hooks` port on the connected client: callbacks that it registers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from time import monotonic
from typing import Any

from msgspec import Struct

from pygent_ls.agent.ports.hooks import NOTHING, TAKES_INPUT, HookEvent, HookInput, HookOutcome, side_by_side
from pygent_ls.editors.lsp.ports.registrations import parsed, refused
from pygent_ls.editors.lsp.protocol.client_extensions import (
    ClientHook,
    ClientHookCallOut,
    HooksRegisteredOut,
    RefusedOut,
)
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.converter import repaired
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.errors import ToolError
from pygent_ls.extensions.hooks import OF_TOOLS, HookCommand, failed, input_of, said_in

RUN_HOOK = "pygent/client/hook"

MAX_HOOKS = 100
"""Maximum number of hooks of one client."""


class _ClientCallback(Struct, frozen=True, kw_only=True):
    id: str
    pattern: re.Pattern[str] | None
    hook: HookCommand
    """The hook as notices and events show it."""

    def waits(self, event: HookEvent, tool_name: str) -> bool:
        if self.hook.event != event:
            return False
        return event not in OF_TOOLS or self.pattern is None or bool(self.pattern.fullmatch(tool_name))


class ClientHooks:
    """The hooks of one client. As with a command, a hook that fails or is late decides nothing.

    When the client disconnects while turns continue, its hooks stay. One that has to run waits until the client is back
    and has registered it again, and decides nothing if the client does not. If the client never comes back, what the
    hook could have denied is denied.
    """

    def __init__(self, endpoint: RpcEndpoint) -> None:
        self._endpoint = endpoint
        self._callbacks: dict[str, _ClientCallback] = {}
        self._missing: dict[str, asyncio.Event] = {}
        """Hooks that the lost client has not registered again; each event is set when that is decided."""
        self._dropping: asyncio.TimerHandle | None = None
        self._closed = asyncio.Event()
        self._n_losses = 0

    def register(self, given: Sequence[Any]) -> HooksRegisteredOut:
        """Register hooks."""
        registered: list[str] = []
        problems: list[RefusedOut] = []
        for raw in given[: 2 * MAX_HOOKS]:
            try:
                made = _callback_of(parsed(ClientHook, raw))
                if made.id in registered:
                    raise ToolError("The request contains two hooks of this id; the first was registered.")
                n_registered = len(self._callbacks) - len(self._missing)
                if (made.id in self._missing or made.id not in self._callbacks) and n_registered >= MAX_HOOKS:
                    raise ToolError(f"A client can register {MAX_HOOKS} hooks at most.")
            except ToolError as error:
                problems.append(refused(raw, "id", error))
                continue
            self._callbacks[made.id] = made
            self._decide(made.id)
            registered.append(made.id)
        return {"registered": registered, "refused": problems}

    def unregister(self, ids: Sequence[str]) -> list[str]:
        """Remove hooks. Returns the ids that were registered."""
        return [each for each in dict.fromkeys(ids) if self._drop(each)]

    def lose_client(self) -> None:
        """Note that the client disconnected and may come back."""
        self._n_losses += 1
        self._stop_timer()
        for each in self._callbacks:
            self._missing.setdefault(each, asyncio.Event())

    def expect_again(self, wait_s: float) -> None:
        """Note that the client is back. Hooks that it does not register again within `wait_s` are removed."""
        self._stop_timer()
        if self._missing:
            self._dropping = asyncio.get_running_loop().call_later(wait_s, self._drop_missing)

    def close(self) -> None:
        """Note that a client that is away does not come back: no hook waits for it."""
        self._stop_timer()
        self._closed.set()

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether any hook is registered for the event and tool."""
        return any(each.waits(event, tool_name) for each in self._callbacks.values())

    async def run(self, given: HookInput) -> HookOutcome:
        """Run the hooks of an event at the same time."""
        waiting = [each for each in self._callbacks.values() if each.waits(given.event, given.tool_name or "")]
        return await side_by_side(self._run(each, given) for each in waiting)

    async def _run(self, callback: _ClientCallback, given: HookInput) -> HookOutcome:
        while True:
            if not await self._is_back(callback.id):
                return _denied(callback.hook, given.event)
            current = self._callbacks.get(callback.id)
            if current is None or not current.waits(given.event, given.tool_name or ""):
                return NOTHING  # withdrawn while it waited
            n_losses = self._n_losses
            outcome = await self._ask(current, given)
            if n_losses == self._n_losses:
                return outcome

    async def _is_back(self, hook_id: str) -> bool:
        """Wait until the client is there, and it is decided whether the hook is still registered. Return False if the
        client does not come back."""
        while True:
            missing = self._missing.get(hook_id)
            if missing is not None:
                waiting: Coroutine[Any, Any, object] = missing.wait()
            elif self._endpoint.is_present():
                return True
            else:
                waiting = self._endpoint.present()
            async with asyncio.TaskGroup() as group:
                waits = [group.create_task(waiting), group.create_task(self._closed.wait())]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for each in waits:
                    each.cancel()
            if self._closed.is_set():
                return False

    async def _ask(self, callback: _ClientCallback, given: HookInput) -> HookOutcome:
        hook, began_s = callback.hook, monotonic()
        asked: ClientHookCallOut = {"hookId": callback.id, "input": input_of(given)}
        limit = asyncio.timeout(hook.timeout_s)
        try:
            async with limit:
                answer = await self._endpoint.ask(RUN_HOOK, asked, longer_s=hook.timeout_s + 1)
        except TimeoutError:
            if not limit.expired():
                raise
            return failed(hook, f"did not answer within {hook.timeout_s:g} s", monotonic() - began_s)
        except ClientError as error:
            return failed(hook, f"failed ({repaired(str(error))})", monotonic() - began_s)
        return said_in(hook, repaired(answer), monotonic() - began_s)

    def _drop(self, hook_id: str) -> bool:
        """Remove a hook; return whether it was registered."""
        is_known = self._callbacks.pop(hook_id, None) is not None
        self._decide(hook_id)
        return is_known

    def _drop_missing(self) -> None:
        for each in list(self._missing):
            self._drop(each)

    def _decide(self, hook_id: str) -> None:
        missing = self._missing.pop(hook_id, None)
        if missing is not None:
            missing.set()

    def _stop_timer(self) -> None:
        if self._dropping is not None:
            self._dropping.cancel()
            self._dropping = None


def _denied(hook: HookCommand, event: HookEvent) -> HookOutcome:
    """Return the outcome of a hook whose client does not come back: a call that it may deny must not run."""
    if event not in TAKES_INPUT:
        return NOTHING
    return HookOutcome(decision="deny", reason=f"{hook.command}: the editor that has this hook is gone.")


def _callback_of(given: ClientHook) -> _ClientCallback:
    """Raises `ToolError` if the matcher is not a regular expression."""
    try:
        pattern = re.compile(given.matcher) if given.matcher else None
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(f"matcher: it is not a regular expression: {error}") from None
    hook = HookCommand(
        event=given.event, command=f"editor: {given.id}", matcher=given.matcher, timeout_s=given.timeout_s
    )
    return _ClientCallback(id=given.id, pattern=pattern, hook=hook)
