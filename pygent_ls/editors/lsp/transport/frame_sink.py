"""The writer of the connected client; frames are discarded while the client is disconnected."""

from __future__ import annotations

from pygent_ls.editors.lsp.transport.stdio import FrameWriter


class FrameSink:
    """Writer that survives reconnections. Tokens of one connection are not valid in the next."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer: FrameWriter | None = writer
        self.number = 1
        """Number of the connection; increases when one is lost."""

    @property
    def congested(self) -> bool:
        """Whether the client reads slower than the daemon writes."""
        return self._writer is not None and self._writer.congested

    async def drained(self) -> None:
        """Return when it is no longer congested, or the client is gone."""
        if self._writer is not None:
            await self._writer.drained()

    def cut(self) -> None:
        """Disconnect: nothing waits any longer for output to be read."""
        if self._writer is not None:
            self._writer.stop_waiting()
        self._writer = None
        self.number += 1

    def connect(self, writer: FrameWriter) -> None:
        """Connect a new writer."""
        self._writer = writer
