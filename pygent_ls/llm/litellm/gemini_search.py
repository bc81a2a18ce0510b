"""Google Search that Gemini 3 runs while it answers (ai.google.dev/gemini-api/docs/tool-combination), through litellm.

litellm gives the searches of each piece of a stream by themselves, and takes them all back in one field. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.json_fields import obj, objects, text, texts
from pygent_ls.agent.ports.model import Chunk, SearchChunk
from pygent_ls.llm.search_results import SEARCHED

FIELD = "server_side_tool_invocations"
"""Field of `provider_specific_fields` that holds the searches of an answer."""

ARGUMENTS: Mapping[str, Any] = {"include_server_side_tool_invocations": True}
"""Arguments of a call with the tool; without them, Gemini takes no functions beside it."""

TOOL: Mapping[str, Any] = {"googleSearch": {}}


class GeminiSearches(Struct):
    """Searches of one answer. A search and its result come in two pieces, joined here by their id."""

    _found: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    n_queries: int = 0
    """Number of queries, each of which is charged."""

    def add(self, fields: Mapping[str, Any]) -> Iterator[Chunk]:
        """Take the searches of a piece; yield the chunks that show them."""
        for each in objects(fields.get(FIELD)):
            search_id = text(each.get("id"))
            is_new = search_id not in self._found
            known = self._found.setdefault(search_id, {})
            if is_new:
                known |= each
            else:  # a result alone: litellm puts its signature under both names
                known |= {name: each[name] for name in ("response", "response_thought_signature") if name in each}
            asked = {"query": "; ".join(_queries(known))}
            if is_new:
                self.n_queries += len(_queries(known))
                yield SearchChunk(id=search_id, input=asked)
            if "response" in each:
                yield SearchChunk(id=search_id, input=asked, result=SEARCHED)

    @property
    def to_send_back(self) -> Mapping[str, Any]:
        """The field that sends them back; empty without a search."""
        return {FIELD: list(self._found.values())} if self._found else {}


def _queries(search: Mapping[str, Any]) -> list[str]:
    return texts(obj(search.get("args")).get("queries"))
