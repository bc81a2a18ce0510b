"""Web search that Anthropic runs while the model answers
(platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool). Pure.

Its blocks go back to Anthropic verbatim, as do the citations of each text that follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.json_fields import obj, objects, text
from pygent_ls.agent.messages import Role
from pygent_ls.agent.ports.model import Chunk, SearchChunk, ThinkingChunk
from pygent_ls.llm.search_results import shown_url

NAME = "web_search"

TOOL: Mapping[str, Any] = {"type": "web_search_20250305", "name": NAME, "max_uses": 8}
"""Declaration in a request. All models that search accept this version; 8 searches are enough for one answer."""

BLOCK = "web_search_block"
"""Key of provider data that holds a block of a search."""

CITATIONS = "citations"
"""Key of provider data that follows a text and holds its citations; empty if it has none."""


class SearchBlocks(Struct):
    """Blocks of an answer that belong to searches."""

    _open: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    """Searches whose input is streamed, by the index of their block."""
    _inputs: dict[int, str] = field(default_factory=dict[int, str])
    _citations: dict[int, list[Any]] = field(default_factory=dict[int, "list[Any]"])
    """Citations of the texts that are streamed."""
    _asked: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, "Mapping[str, Any]"])
    """Inputs of the searches of this answer, by their ids."""
    _has_searched: bool = False
    """Whether a search came before, perhaps one that an earlier answer asked for."""

    def begun(self, index: int, block: Mapping[str, Any]) -> Iterator[Chunk]:
        """Note a block that begins; yield the chunks of a result, which comes as a whole."""
        for each in (self._open, self._inputs, self._citations):
            each.pop(index, None)
        match block.get("type"):
            case "server_tool_use" if block.get("name") == NAME:
                self._open[index] = dict(block)
            case "web_search_tool_result":
                self._has_searched = True
                search_id = text(block.get("tool_use_id"))
                said, is_error = _found(block.get("content"))
                yield ThinkingChunk(thinking="", provider_data={BLOCK: dict(block)})
                yield SearchChunk(id=search_id, input=self._asked.get(search_id, {}), result=said, is_error=is_error)
            case "text" if self._has_searched:
                given = block.get("citations")
                self._citations[index] = list(cast("list[Any]", given)) if isinstance(given, list) else []
            case _:
                pass

    def add(self, index: int, delta: Mapping[str, Any]) -> None:
        """Add a piece of a block."""
        match delta.get("type"):
            case "input_json_delta" if index in self._open:
                self._inputs[index] = self._inputs.get(index, "") + text(delta.get("partial_json"))
            case "citations_delta" if index in self._citations:
                self._citations[index].append(delta.get("citation"))
            case _:
                pass

    def ended(self, index: int) -> Iterator[Chunk]:
        """Yield the chunks of a search or a text that is complete."""
        if index in self._citations:
            yield ThinkingChunk(thinking="", provider_data={CITATIONS: self._citations.pop(index)})
        block = self._open.pop(index, None)
        if block is None:
            return
        given = obj(_parsed(self._inputs.pop(index, ""))) or obj(block.get("input"))
        search_id = text(block.get("id"))
        self._asked[search_id] = given
        self._has_searched = True
        yield ThinkingChunk(thinking="", provider_data={BLOCK: {**block, "input": given}})
        yield SearchChunk(id=search_id, input=given)


def drop_unpaired(rows: Sequence[tuple[Role, list[dict[str, Any]]]]) -> None:
    """Remove the blocks that the API would refuse: a result without its search before, and a search without a result,
    unless it is in the last answer and nothing of the user follows: the API has yet to run it."""
    n_answers = max((number for number, (role, _) in enumerate(rows, 1) if role == "assistant"), default=0)
    may_be_open = all(part["type"] == "tool_result" for _, parts in rows[n_answers:] for part in parts)
    seen: set[str] = set()
    open_at: dict[str, int] = {}
    for number, (_, parts) in enumerate(rows, 1):
        kept: list[dict[str, Any]] = []
        for part in parts:
            match part["type"]:
                case "server_tool_use":
                    if (search_id := text(part.get("id"))) in seen:
                        continue
                    seen.add(search_id)
                    open_at[search_id] = number
                case "web_search_tool_result":
                    if open_at.pop(text(part.get("tool_use_id")), None) is None:
                        continue
                case _:
                    pass
            kept.append(part)
        parts[:] = kept
    lost = {search_id for search_id, number in open_at.items() if number != n_answers or not may_be_open}
    for _, parts in rows:
        parts[:] = [part for part in parts if part["type"] != "server_tool_use" or part.get("id") not in lost]


def _found(content: object) -> tuple[str, bool]:
    """Return the results of a search as text for the user, and whether it failed."""
    if not isinstance(content, list):
        code = text(obj(content).get("error_code")) or "unknown error"
        return f"The provider's search failed: {one_line(code)}.", True
    found = objects(cast("list[object]", content))
    lines = [f"{one_line(text(each.get('title')))}\n{shown_url(text(each.get('url')))}" for each in found]
    return "\n\n".join(lines) or "Nothing was found.", False


def _parsed(given: str) -> object:
    try:
        return json.loads(given) if given else None
    except ValueError:
        return None
