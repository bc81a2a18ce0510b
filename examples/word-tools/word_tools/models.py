"""A model that counts the words of a file: it calls a tool, and repeats its result."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pygent_ls.api import Models


async def answer(request: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any] | str]:
    """Answer a request to chat completions."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        [total] = [line for line in last["content"].splitlines() if not line.startswith("<")]  # marks of untrusted text
        yield f"It has {total} words."
        return
    path = str(last["content"]).split()[-1]
    function = {"name": "word_total", "arguments": json.dumps({"path": path})}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    yield "Counting. "
    yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}


models = Models(answer=answer, names=["counter"], context_limit=8_000)
