"""Where frames go: to the client that is connected now, or nowhere while none is."""

from __future__ import annotations

from pygent_ls.editors.lsp.stdio import FrameWriter


class Line:
    """The writer of one connection after another. Tokens that one client gave mean nothing to the next."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer: FrameWriter | None = writer
        self.number = 1
        """Of the connection; it rises when one is lost."""

    @property
    def congested(self) -> bool:
        """The client reads slower than the daemon writes."""
        return self._writer is not None and self._writer.congested

    async def drained(self) -> None:
        """Return when it is no longer congested, or the client is gone."""
        if self._writer is not None:
            await self._writer.drained()

    def cut(self) -> None:
        """The connection is lost: nothing waits any more for it to be read."""
        if self._writer is not None:
            self._writer.stop_waiting()
        self._writer = None
        self.number += 1

    def connect(self, writer: FrameWriter) -> None:
        """There is a connection again."""
        self._writer = writer
