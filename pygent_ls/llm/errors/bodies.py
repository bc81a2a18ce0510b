"""Error objects from providers, including upstream errors that they forward. Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.json_fields import obj, text

_BYTES = re.compile(r"""\bb(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.S)
"""Bytes literals of Python: litellm quotes the answers of Gemini, Vertex and Anthropic this way."""


class ErrorBody(Struct, frozen=True):
    """One error object; `behind` names the upstream provider that the error comes from, if any."""

    fields: dict[str, Any]
    behind: str | None = None

    @property
    def words(self) -> str:
        """The provider's message."""
        said = (self.fields.get(key) for key in ("message", "detail", "error", "reason"))
        return next((each for each in said if isinstance(each, str) and each), "")

    @property
    def codes(self) -> Iterator[str]:
        """Its codes and types, without `param` and similar fields."""
        return (str(self.fields[key]) for key in ("code", "type") if self.fields.get(key) is not None)


def error_bodies(chain: Sequence[BaseException]) -> Iterator[ErrorBody]:
    """Yield the error objects kept or quoted by these exceptions, each before the one that it wraps."""
    for each in chain:
        body: object = getattr(each, "body", None)
        if isinstance(body, list) and body:
            body = cast("list[object]", body)[0]  # Gemini's endpoint for chat completions wraps the error in a list
        if not isinstance(body, dict):
            body = _quoted_json(str(each))
        if isinstance(body, dict):
            content = cast("dict[str, Any]", body)
            inner = content.get("error")
            fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else content
            yield ErrorBody(fields)
            yield from _wrapped(fields)


def _wrapped(fields: dict[str, Any]) -> Iterator[ErrorBody]:
    """Yield the cause that OpenRouter quotes in `metadata.raw`, as text or as JSON."""
    metadata = obj(fields.get("metadata"))
    raw: object = metadata.get("raw")
    behind = text(metadata.get("provider_name"))
    quoted = _quoted_json(raw) if isinstance(raw, str) else raw
    if isinstance(quoted, dict):
        content = cast("dict[str, Any]", quoted)
        inner = content.get("error")
        yield ErrorBody(cast("dict[str, Any]", inner) if isinstance(inner, dict) else content, behind)
    elif isinstance(raw, str) and raw.strip():
        yield ErrorBody({"message": raw}, behind)


def _quoted_json(text: str) -> object:
    written = _BYTES.search(text)
    plain = _plain(written[0]) if written else text
    start = plain.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(plain[start:])
    except (ValueError, RecursionError):
        return None
    return value


def _plain(written: str) -> str:
    """Return the text of a Python bytes literal."""
    try:
        value: object = ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return written
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else written
