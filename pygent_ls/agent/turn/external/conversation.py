"""What an external agent has heard of a conversation, and what it is told of the rest. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pygent_ls.agent.context.conversation_text import conversation_text
from pygent_ls.agent.external_agent import AgentSession
from pygent_ls.agent.messages import Block, Message, ThinkingBlock, ToolResultBlock

MAX_TOLD_CHARS = 200_000
"""Maximum length of the conversation that an agent is told, about 50,000 tokens; the beginning is left out."""

SESSION, N_PROMPTS, OURS = "session", "n_prompts", "ours"


class ExternalHistory(Struct, frozen=True, kw_only=True):
    """The place of a prompt in the conversation."""

    session: AgentSession | None
    unheard: str
    conversation: str
    content: tuple[Block, ...]


def mark_of(model: str, session: AgentSession, ours: str) -> ThinkingBlock:
    """Return the block of a message that says which session of the agent has answered, in which of our sessions."""
    data = {SESSION: session.id, N_PROMPTS: session.n_prompts, OURS: ours}
    return ThinkingBlock(thinking="", model=model, family=model, provider_data=data)


def heard(history: Sequence[Message], model: str, ours: str) -> ExternalHistory:
    """Return what the agent called `model` has heard of the history of our session, which ends with what the user says
    now. The agent's session of a session that ours is a copy of is not ours to continue."""
    said = len(history)
    while said and history[said - 1].role == "user" and not _has_results(history[said - 1]):
        said -= 1
    session, end = _last_session(history[:said], model, ours)
    return ExternalHistory(
        session=session,
        unheard=_told(history[end:said]) if session else "",
        conversation=_told(history[:said]),
        content=tuple(block for message in history[said:] for block in message.blocks),
    )


def _last_session(history: Sequence[Message], model: str, ours: str) -> tuple[AgentSession | None, int]:
    """Return the agent's last session, and the number of messages that it knows."""
    for at in reversed(range(len(history))):
        for block in history[at].blocks:
            if isinstance(block, ThinkingBlock) and block.family == model and block.provider_data:
                data = block.provider_data
                if data.get(OURS) != ours:
                    return None, 0
                end = at + 1
                while end < len(history) and (history[end].role == "assistant" or _has_results(history[end])):
                    end += 1
                return AgentSession(id=str(data.get(SESSION, "")), n_prompts=int(data.get(N_PROMPTS, 0))), end
    return None, 0


def _told(messages: Sequence[Message]) -> str:
    text = conversation_text(messages, "markdown")
    return text if len(text) <= MAX_TOLD_CHARS else f"[…]\n{text[-MAX_TOLD_CHARS:]}"


def _has_results(message: Message) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in message.blocks)
