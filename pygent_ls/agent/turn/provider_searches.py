"""Web searches that a provider runs while its model answers, shown as calls of the tool `web_search`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.events import AgentEvent, ToolCall, ToolResult
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.ports.model import SearchChunk

WEB_SEARCH = "web_search"

NOT_FINISHED = "The answer ended before the provider reported what it found."


class ProviderSearches(Struct, kw_only=True):
    """Searches of one turn. Each that is shown has exactly one result in the end. One that an answer leaves open is
    ended by the next answer, or at the end of the turn."""

    emit: Callable[[AgentEvent], Awaitable[None]]
    clock: Callable[[], float] = time.monotonic
    _open: dict[str, float] = field(default_factory=dict[str, float])
    """Start times of the searches without a result, by their ids."""

    async def show(self, chunk: SearchChunk) -> None:
        """Show that a search begins, or what it found."""
        if chunk.id not in self._open:
            self._open[chunk.id] = self.clock()
            await self.emit(_call(chunk))
        if chunk.result is not None:
            await self._end(chunk.id, chunk.result, is_error=chunk.is_error)

    async def end(self) -> None:
        """End the searches that have no result."""
        for search_id in list(self._open):
            await self._end(search_id, NOT_FINISHED, is_error=True)

    async def _end(self, search_id: str, result: str, *, is_error: bool) -> None:
        began_s = self._open.pop(search_id)
        event = ToolResult(
            tool_id=search_id,
            tool_name=WEB_SEARCH,
            content=result,
            is_error=is_error,
            cached=False,
            truncated=False,
            duration_s=self.clock() - began_s,
        )
        await self.emit(event)


def _call(chunk: SearchChunk) -> ToolCall:
    url, query = chunk.input.get("url"), chunk.input.get("query")
    return ToolCall(
        tool_id=chunk.id,
        tool_name=WEB_SEARCH,
        input=chunk.input,
        title=f"Read {one_line(url)}" if url else f"Search the web for {one_line(query or 'something')}",
        kind="search",
        risk=ToolRisk.MEDIUM,
        read_only=True,
        locations=(),
    )
