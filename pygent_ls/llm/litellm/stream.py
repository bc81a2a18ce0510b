"""Conversion of litellm's stream to our chunks. Does not import the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.json_fields import obj
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import Chunk, FinishChunk, ThinkingChunk, UsageChunk
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.litellm.gemini_search import GeminiSearches
from pygent_ls.llm.openai.call_fragments import CallFragments
from pygent_ls.llm.openai.think_tags import ThinkTags
from pygent_ls.llm.openai.usage import counted_usage

_FIELDS = "provider_specific_fields"
"""Field in which litellm puts a provider's own data, and from which it reads it back."""

_SIGNATURE_IN_ID = "__thought__"
"""Separator in a call's id before Gemini's thought signature, added by litellm for clients that return only ids."""


class ChunkTranslation(Struct, kw_only=True):
    """Translates one answer, piece by piece; `end` is called after the last piece."""

    known: KnownModel
    tags: ThinkTags = field(default_factory=ThinkTags)
    _calls: CallFragments = field(default_factory=CallFragments)
    _usage: Any = None
    _finish: str | None = None
    _searches: GeminiSearches = field(default_factory=GeminiSearches)
    _signatures: list[str] = field(default_factory=list[str])
    """Thought signatures that belong to no call."""

    def chunks(self, piece: Any) -> Iterator[Chunk]:
        """Yield the chunks of one piece."""
        self._usage = getattr(piece, "usage", None) or self._usage
        if not piece.choices:
            return
        choice = piece.choices[0]
        self._finish = choice.finish_reason or self._finish
        delta = choice.delta
        signature = next(_sealed(delta, "signature"), None)
        thinking = getattr(delta, "reasoning_content", None)
        if thinking or signature:
            yield from self.tags.off()
            yield ThinkingChunk(thinking=thinking or "", signature=signature)
        for hidden in _sealed(delta, "data"):
            yield ThinkingChunk(thinking="", redacted=hidden)
        yield from self._searches.add(_fields(delta))
        signatures = _fields(delta).get("thought_signatures")
        if signatures and not delta.tool_calls:
            self._signatures = list(signatures)
        if isinstance(delta.content, str) and delta.content:
            yield from self.tags.feed(delta.content)
        if delta.tool_calls:
            yield from self.tags.off()
        for call in delta.tool_calls or ():
            function = call.function
            call_id, _, in_id = (call.id or "").partition(_SIGNATURE_IN_ID)
            signature = _fields(call).get("thought_signature") or in_id
            back = {_FIELDS: {"thought_signature": signature}} if signature else None
            index = getattr(call, "index", None)
            yield self._calls.add(index, call_id, function.name or "", function.arguments or "", back)

    def end(self, reply: Any) -> Iterator[Chunk]:
        """Yield what is known once the stream is over."""
        yield from self.tags.close()
        back = {**({"thought_signatures": self._signatures} if self._signatures else {}), **self._searches.to_send_back}
        if back:
            yield ThinkingChunk(thinking="", provider_data={_FIELDS: back})
        if self._usage is not None:
            yield UsageChunk(usage=self._counted())
        reason = self._finish_word(reply)
        if reason is not None:
            yield FinishChunk(reason=reason)

    def _finish_word(self, reply: Any) -> str | None:
        """Return the provider's finish reason, or litellm's if it is more specific; None if the provider sent none.

        For Gemini this cannot be detected: litellm replaces a missing reason with `stop` before the piece is visible.
        """
        if not hasattr(reply, "received_finish_reason"):
            return self._finish
        received: str | None = reply.received_finish_reason or reply.intermittent_finish_reason
        if received is None:  # litellm reports `stop` anyway
            return None
        return received if self._finish in (None, "stop") else self._finish

    def _counted(self) -> Usage:
        usage = self._usage
        told: object = usage.model_dump() if hasattr(usage, "model_dump") else usage
        return self.known.with_searches(counted_usage(obj(told), self.known), self._searches.n_queries)


MAX_PIECES = 5_000
"""Maximum number of pieces of one answer that litellm may keep, each of which takes 2 kB or more."""

KEPT_PIECES = 500
"""Number of pieces kept at each end, where providers report token counts."""


def forget_pieces(reply: Any) -> None:
    """Drop the middle pieces of a long answer from litellm's buffer. It keeps all pieces and reads them at the end to
    estimate counts that a provider does not report."""
    pieces = getattr(reply, "chunks", None)
    if isinstance(pieces, list) and len(cast("list[Any]", pieces)) > MAX_PIECES:
        del pieces[KEPT_PIECES:-KEPT_PIECES]


def _fields(part: Any) -> Mapping[str, Any]:
    found: object = getattr(part, _FIELDS, None)
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _sealed(delta: Any, key: str) -> Iterator[str]:
    """Yield the `signature` of Anthropic's thinking, sent with the last piece, or the `data` of redacted thinking."""
    blocks = getattr(delta, "thinking_blocks", None) or ()
    return (block[key] for block in blocks if block.get(key))
