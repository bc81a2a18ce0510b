"""Rules of each model family for a conversation, beyond the common format. Pure.

One row per family; the source of each rule is given beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from pygent_ls.agent.messages import ToolUseBlock

MAX_CALL_ID_CHARS = 40
"""Maximum length of a tool call's id; OpenAI refuses longer ones ("string too long. Expected a string with maximum
length 40")."""

CALL_ID = "id"
"""Key of a call's provider data that holds its original id, if that is too long to be used."""

STAND_IN = "OK"
"""Text of an assistant message inserted between a tool's result and a user message."""

NO_SIGNATURE = "skip_thought_signature_validator"
"""Google's placeholder signature for calls in the history that the model did not make
(ai.google.dev/gemini-api/docs/thought-signatures). Gemini 3 refuses calls without a signature."""

NO_REASONING = " "
"""Placeholder for the reasoning of an answer that has none, such as another model's: the shortest text that DeepSeek
and Moonshot accept, according to litellm 1.106.2."""


class MessageRules(Struct, frozen=True, kw_only=True):
    """Rules of one family; the defaults are those of OpenAI's chat completions."""

    call_id: re.Pattern[str] = re.compile(rf"[\s\S]{{1,{MAX_CALL_ID_CHARS}}}")
    """Pattern that the whole id of a tool call must match."""
    n_call_id_chars: int = MAX_CALL_ID_CHARS
    """Length of an id generated to replace one that does not match."""
    user_may_follow_tool: bool = True
    """Whether a user message may directly follow a tool message."""
    reasoning_field: str = ""
    """Field of an assistant message in which the model expects its reasoning back; empty if it expects none."""
    needs_reasoning: bool = False
    """Whether every assistant message must have that field while the model thinks."""
    unsigned_calls: Literal["allowed", "reasoning_details", "extra_content"] = "allowed"
    """How calls made by another model are sent: unchanged, or with Google's placeholder signature in that field."""
    takes_data: bool = True
    """Whether `provider_data` of messages is sent back; False once the model refused it."""
    seals_reasoning: bool = False
    """Whether thinking is sent back only with its signature, and never as the end of a message."""

    def sent_id(self, call: ToolUseBlock) -> str:
        """Return the id to send for a call: the provider's original, if it was too long to be used."""
        return str((call.provider_data or {}).get(CALL_ID) or self.fitting_id(call.id))

    def fitting_id(self, call_id: str) -> str:
        """Return the id, or one derived from it that the family accepts."""
        if self.call_id.fullmatch(call_id):
            return call_id
        return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[: self.n_call_id_chars]


_KEEPS_REASONING = MessageRules(reasoning_field="reasoning_content", needs_reasoning=True)

RULES: Mapping[str, MessageRules] = {
    # api-docs.deepseek.com/guides/thinking_mode: the reasoning of answers with tool calls, in all later requests
    "deepseek": _KEEPS_REASONING,
    # "reasoning_content is missing in assistant tool call message": opencode#10996, MoonshotAI/kimi-cli#2498
    "moonshot": _KEEPS_REASONING,
    # docs.z.ai "preserved thinking": taken back, not demanded
    "zai": MessageRules(reasoning_field="reasoning_content"),
    # "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9"; "Unexpected role 'user' after role 'tool'"
    # (3230): avante.nvim#2562, zed#37021
    "mistral": MessageRules(call_id=re.compile(r"[a-zA-Z0-9]{9}"), n_call_id_chars=9, user_may_follow_tool=False),
    # docs.anthropic.com/en/api/messages: `tool_use.id` is ^[a-zA-Z0-9_-]+$; "The final block in an assistant message
    # cannot be `thinking`"
    "anthropic": MessageRules(call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"), seals_reasoning=True),
}
"""Rules of the families that differ from the common ones."""

_ONE_KIND = frozenset({*RULES, "xai", "groq", "cerebras", "gemini"})
"""Providers whose models accept each other's data."""

COMMON = MessageRules()


def chat_family(provider: str, model: str) -> str:
    """Return the family of a chat completions model: its provider, if all of its models are of one kind.

    OpenRouter serves models of many vendors, each of which accepts only its own data. Behind a gateway, only the name
    of a model is known.
    """
    if provider == "openrouter":
        return f"{provider}/{model.partition('/')[0]}"
    return provider if provider in _ONE_KIND else f"{provider}/{model}"


def signs_calls(model: str) -> bool:
    """Whether a model, judged by its name, refuses calls without a thought signature."""
    return bool(re.search(r"\bgemini-([3-9]|\d\d|(pro|flash|flash-lite)-latest)", model))


_MISTRAL = re.compile(r"\b(mistral|ministral|magistral|codestral|devstral|pixtral|mixtral)", re.I)


def rules_of(family: str) -> MessageRules:
    """Return the rules of a family, given as a provider's name or `PROVIDER/…`; the common ones if it has none of its
    own.

    Mistral's models keep their rules behind gateways, which pass the conversation on unchanged.
    """
    provider, _, model = family.partition("/")
    return RULES.get(provider) or (RULES["mistral"] if _MISTRAL.search(model) else COMMON)
