"""Recorded answers, and what a correct reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

Form = Literal["chat", "messages", "responses", "gemini", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One HTTP answer, as it was sent; `expect` is what to read from it."""

    origin: str
    form: Form
    provider: str
    model: str
    status: int
    headers: Mapping[str, str]
    body: str
    expect: Mapping[str, Any]

    @property
    def model_string(self) -> str:
        """The string that chooses the adapter."""
        return f"{self.provider}/{self.model}"

    @property
    def is_json(self) -> bool:
        """Whether the body is one JSON object: an answer that was not streamed."""
        try:
            return isinstance(json.loads(self.body), dict)
        except ValueError:
            return False

    @property
    def expects_json_answer(self) -> bool:
        """Whether the body is an answer that was not streamed; `expect`, made by a reader of streams, is empty then."""
        return self.status == 200 and self.expect.get("whole") is False and self.is_json


def recordings(file: Path) -> Iterator[Recording]:
    """Return the recordings of a file, one per line. Raises `ValueError` for an invalid line."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        given = cast("dict[str, Any]", json.loads(line))
        if given.get("form") not in get_args(Form):
            raise ValueError(f"{file}:{number}: form {given.get('form')!r} is not known")
        names = ("origin", "form", "provider", "model", "status", "body", "expect")
        yield Recording(**{name: given[name] for name in names}, headers=given.get("headers") or {})
