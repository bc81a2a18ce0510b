"""Request for a turn, as a front end makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.attachments import PromptPart, is_background
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Effort
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.sessions.turns.command_turn import ModelPrompt
from pygent_ls.sessions.turns.mentions import MentionKinds


class TurnRequest(Struct, frozen=True, kw_only=True):
    """Turn that a front end requests. None in a field means the session's own value."""

    parts: tuple[PromptPart, ...]
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """JSON schema that the answer must be valid against; None if the turn answers with text."""
    tools: tuple[str, ...] | None = None
    """Names of the only tools that the turn may use; None for all."""
    own_tools: tuple[Tool, ...] = ()
    """Further tools, which exist in this turn alone."""
    notices: tuple[str, ...] = ()
    """Notices shown to the user when the turn begins."""
    turn_id: str | None = None
    """Id of the turn, unique in the session; None lets the session make one."""
    own_words: str | None = None
    """Part of the prompt in which `@agent-NAME` may choose the agent; None for the whole prompt."""
    takes_commands: bool = True
    """Whether a slash command in the prompt is run, and mentions with `@` are attached. If not, they are text."""

    @property
    def mentions(self) -> MentionKinds:
        """Mentions in the prompt that are attached. If it is not all in the user's own words, it cannot read resources
        of servers, which would not ask."""
        if not self.takes_commands:
            return "none"
        return "all" if self.own_words is None else "workspace"

    @property
    def prompt(self) -> str:
        """Text that the user typed, without attachments."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def has_attachments(self) -> bool:
        """Whether the user sends more than text. Context that the editor adds does not count."""
        return any(not isinstance(part, str) and not is_background(part) for part in self.parts)

    def saying(self, asked: ModelPrompt) -> TurnRequest:
        """Return the request with the prompt that a command expands to in place of the user's text. A model chosen for
        this turn takes precedence over the command's."""
        attached = [part for part in self.parts if not isinstance(part, str)]
        return replace(
            self,
            parts=(asked.text, *attached, *asked.notes, *asked.images),
            agent=self.agent or asked.agent,
            model=self.model or asked.model,
            mode=asked.mode or self.mode,
            tools=asked.tools,
            own_tools=asked.own_tools,
            notices=asked.notices,
            own_words=asked.own_words if self.own_words is None else self.own_words,
        )
