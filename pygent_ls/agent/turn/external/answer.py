"""What an external agent says: events of its texts and thoughts, and messages of the history."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from pygent_ls.agent.events import Text, TextDelta, Thinking, ThinkingDelta
from pygent_ls.agent.external_agent import AgentSession
from pygent_ls.agent.messages import Block, Message, TextBlock, ThinkingBlock, ToolUseBlock
from pygent_ls.agent.turn.external.conversation import mark_of
from pygent_ls.agent.turn.state import TurnState
from pygent_ls.errors import ToolError

MAX_SAID_CHARS = 8_000_000
"""Maximum number of characters of text and thoughts in one turn, as of a model's answer."""

Said = Literal["text", "thinking"]


class ExternalAnswer(Struct, kw_only=True, eq=False):
    """Answer to one prompt, in items between which calls are made."""

    state: TurnState
    model: str
    """Name of the agent as a model."""
    session: AgentSession | None = None
    """Session that answers, until a message of the history says so."""
    _n_said: int = 0
    _n_items: int = 0
    _open: Said | None = None
    _parts: list[str] = field(default_factory=list[str])
    _kept: list[Block] = field(default_factory=list[Block])
    """Blocks of the answer that are not in the history yet."""
    _texts: list[str] = field(default_factory=list[str])

    async def add(self, kind: Said, text: str) -> None:
        """Add a piece. Raises `ToolError` if it is too long."""
        self._n_said += len(text)
        if self._n_said > MAX_SAID_CHARS:
            raise ToolError(f"The answer was stopped after {MAX_SAID_CHARS:,} characters.")
        if self._open != kind:
            await self.close_item()
            self._open, self._n_items = kind, self._n_items + 1
        self._parts.append(text)
        if self.state.spec.model_settings.stream:
            delta = TextDelta if kind == "text" else ThinkingDelta
            await self.state.emit(delta(item_id=self._item_id, content=text))

    @property
    def _item_id(self) -> str:
        return f"{self.state.spec.item_prefix}-{self.state.iterations}-{self._open}-{self._n_items}"

    async def close_item(self) -> None:
        """Complete the text or the thought that is being written."""
        content = await self.state.context.memory.secrets.masked("".join(self._parts))
        if content:
            if self._open == "text":
                self._kept.append(TextBlock(text=content))
                self._texts.append(content.strip())
                self.state.say("\n\n".join(filter(None, self._texts)))
                await self.state.emit(Text(item_id=self._item_id, content=content))
            else:
                self._kept.append(ThinkingBlock(thinking=content, model=self.model, family=self.model))
                await self.state.emit(Thinking(item_id=self._item_id, content=content))
        self._open, self._parts = None, []

    def keep(self, *calls: ToolUseBlock) -> None:
        """Append what was said, and then called, to the history."""
        blocks, self._kept = (*self._kept, *calls), []
        if not any(isinstance(each, TextBlock | ToolUseBlock) for each in blocks):
            return  # a message needs more than thoughts
        if self.session is not None:
            blocks = (mark_of(self.model, self.session, self.state.context.memory.session_id), *blocks)
            self.session = None
        self.state.keep(Message(role="assistant", content=blocks, turn_id=self.state.spec.turn_id))
