"""Writer of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pygent_ls.editors.terminal.output_writer import OutputWriter


class LineWriter:
    """Writes JSON lines to a descriptor, in order. All methods must be called in the event loop's thread."""

    def __init__(self, descriptor: int, on_lost: Callable[[OSError], None]) -> None:
        """`on_lost` is called once, in the event loop, when the descriptor can no longer be written to."""
        self._descriptor = descriptor
        self._on_lost = on_lost
        self._outlet = OutputWriter(self._lose)
        self.is_lost = False

    def write(self, line: Mapping[str, Any]) -> None:
        """Queue a line. It is encoded as ASCII, so that no reader mistakes a character of a text for a line ending."""
        if not self.is_lost:
            self._outlet.write(self._descriptor, json.dumps(line).encode("ascii") + b"\n")

    @property
    def is_congested(self) -> bool:
        """Whether too much data waits to be read."""
        return self._outlet.is_congested

    async def has_room(self) -> None:
        """Return when it is no longer congested, or lost."""
        await self._outlet.has_room()

    async def written(self) -> None:
        """Return when all data was written or lost."""
        await self._outlet.written()

    def close(self) -> None:
        """Stop once the queued data is written."""
        self._outlet.close()

    def _lose(self, _descriptor: int, error: OSError) -> None:
        self.is_lost = True
        self._on_lost(error)
