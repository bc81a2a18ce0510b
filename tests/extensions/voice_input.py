"""Voice input for tests of what uses it."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from pygent_ls.errors import ToolError
from pygent_ls.extensions.voice import VoiceSource, VoiceStatus


@dataclass(kw_only=True)
class SilentVoice:
    """A `VoiceInput` whose speech server hears nothing."""

    status: VoiceStatus = field(default_factory=VoiceStatus)

    async def start(self, session_id: str, source: VoiceSource) -> VoiceStatus:
        """Listen at once."""
        if self.status.state != "off":
            raise ToolError("Voice input is on already. Stop it first: /voice stop")
        self.status = VoiceStatus(state="listening", session_id=session_id, source=source, server="speech")
        return self.status

    def give_up(self) -> None:
        """Stop at once."""
        self.status = replace(self.status, state="off")

    async def stop(self) -> VoiceStatus:
        """Stop at once."""
        self.give_up()
        return self.status
