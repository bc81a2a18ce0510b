"""Store of full tool results that were cut, for the lifetime of the session: `read_file` shows them in pieces."""

from __future__ import annotations

import asyncio
from typing import Protocol

from pygent_ls.errors import ToolError

READER = "read_file"

PREFIX = "output:"
"""Prefix of a result's name, which `read_file` takes in place of a path: `output:` and the id of the tool call."""

MAX_KEPT_BYTES = 64_000_000
"""Maximum size of one session's results: some 300 results of 200,000 characters, at which a command's output is cut."""

MAX_RESULT_BYTES = 16_000_000
"""Maximum size of one result: a larger one is of little use in pieces of 40,000 characters."""

MAX_NAMED = 5


def is_output(tool_name: str, path: str) -> bool:
    """Whether an argument names a result and not a file; a file of such a name is `./output:…`."""
    return tool_name == READER and path.startswith(PREFIX)


class OutputStore(Protocol):
    """Storage of one session's results by the ids of their calls. They last as long as the session, across restarts of
    the daemon. No method raises anything."""

    async def write(self, tool_id: str, content: bytes, max_bytes: int) -> str:
        """Store a result, replacing an older one with that id. The oldest others are removed while the total exceeds
        `max_bytes`. Return why it could not be stored, or an empty string."""
        ...

    async def read(self, tool_id: str) -> bytes | None:
        """Return a stored result; None if it is no longer there."""
        ...

    async def has(self, tool_id: str) -> bool:
        """Whether a result is stored."""
        ...

    async def clear(self) -> None:
        """Remove all results."""
        ...


class OutputsInMemory:
    """`OutputStore` in memory, for a session that leaves nothing on the disk."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def write(self, tool_id: str, content: bytes, max_bytes: int) -> str:
        """Store a result in memory."""
        self._kept.pop(tool_id, None)
        n_bytes = sum(map(len, self._kept.values())) + len(content)
        for oldest in list(self._kept):
            if n_bytes <= max_bytes:
                break
            n_bytes -= len(self._kept.pop(oldest))
        self._kept[tool_id] = content
        return ""

    async def read(self, tool_id: str) -> bytes | None:
        """Return a stored result."""
        return self._kept.get(tool_id)

    async def has(self, tool_id: str) -> bool:
        """Whether a result is stored."""
        return tool_id in self._kept

    async def clear(self) -> None:
        """Remove all results."""
        self._kept.clear()


class Outputs:
    """One session's results that were cut, redacted as the model may read them."""

    def __init__(
        self,
        store: OutputStore | None = None,
        *,
        max_bytes: int = MAX_KEPT_BYTES,
        max_result_bytes: int = MAX_RESULT_BYTES,
    ) -> None:
        self._store = store or OutputsInMemory()
        self._max_bytes = max_bytes
        self._max_result_bytes = min(max_bytes, max_result_bytes)
        self._kept: list[str] = []
        """Calls whose results were stored since the session was loaded, oldest first."""
        self._one_at_a_time = asyncio.Lock()

    async def keep(self, tool_id: str, tool_name: str, content: str) -> str:
        """Store a full result; the oldest ones are removed if room is needed. Return the note that tells the model how
        to read it.

        Results of `read_file` are not stored: the file is read again in smaller pieces.
        """
        if tool_name == READER:
            return "[Read fewer lines at a time: start_line, end_line.]"
        data = content.encode("utf-8", "surrogatepass")
        if len(data) > self._max_result_bytes:
            return "[The result is too long to be stored. Make the call again so that it returns less.]"
        async with self._one_at_a_time:
            if tool_id in self._kept:
                self._kept.remove(tool_id)
            why_not = await self._store.write(tool_id, data, self._max_bytes)
            if why_not:
                return (
                    f"[The whole result could not be stored ({why_not}). Make the call again so that it returns less.]"
                )
            self._kept.append(tool_id)
        return f"[To see the whole result, call {READER} with path {PREFIX}{tool_id}, start_line and end_line.]"

    async def text_of(self, path: str) -> str:
        """Return the full result that `output:ID` names. Raises `ToolError` if it is no longer stored, or never was."""
        tool_id = path.removeprefix(PREFIX)
        data = await self._store.read(tool_id)
        if data is not None:
            return data.decode("utf-8", "surrogatepass")
        if tool_id in self._kept:
            raise ToolError(f"{path} is no longer stored: later results took its place. Make the call again.")
        last = [f"{PREFIX}{each}" for each in self._kept[-MAX_NAMED:] if await self._store.has(each)]
        raise ToolError(
            f"{path} does not exist or is no longer stored. Only results that were cut are stored, for the "
            "session that produced them, and the oldest are removed when room is needed. Make the call again."
            + (f" The latest stored results are {', '.join(last)}." if last else "")
        )

    async def clear(self) -> None:
        """Remove all results."""
        async with self._one_at_a_time:
            self._kept.clear()
            await self._store.clear()
