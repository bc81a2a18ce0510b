"""What strict servers answer, and what they remember of their answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

Body = dict[str, Any]
"""A request or a part of one, as decoded JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of an answer. Give every call of a test its own arguments: the server knows it again by them."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, in no provider's form. Every server streams it in the form of its provider."""

    thoughts: tuple[str, ...] = ()
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    cut_off: bool = False
    """The answer reached the output limit."""
    empty_ids: bool = False
    """The tool calls have no ids, as those of some servers that are compatible."""
    long_ids: bool = False
    """The ids have 64 characters, as those of gateways that put a signature into them."""
    redacted: bool = False
    """The last thought comes encrypted, where the provider has such thoughts."""
    stall_after: int | None = None
    """Number of events after which nothing more comes, until the client goes away."""
    status: int = 200
    """400 and 529 are answered with an error that is not the request's fault: a failed call, and too much to do."""


Answers = Sequence[Answer] | Callable[[Body, int], Answer]
"""A script, or a function of the request and the number of answers so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer that a server gave."""

    server: str
    number: int
    answer: Answer
    model: str
    """The model that was asked, as the request has it."""

    @property
    def thinking(self) -> str:
        """All thoughts as one text, which is how chat completions stream them."""
        return "".join(self.answer.thoughts)

    def seal(self, index: int = 0) -> str:
        """Opaque data that stands for one thought or one step: a signature, or an encrypted thought."""
        digest = hashlib.sha256(f"{self.server} {self.number} {index}".encode()).digest()
        return base64.b64encode(digest * 2).decode()

    def call_id(self, index: int) -> str:
        """Id of a tool call, as the server sends it."""
        if self.answer.empty_ids:
            return ""
        digest = hashlib.sha256(f"call {self.server} {self.number} {index}".encode()).hexdigest()
        return f"call_{digest[:59]}" if self.answer.long_ids else f"call_{digest[:24]}"

    def short_id(self, index: int) -> str:
        """Id of nine letters and digits, as Mistral has them."""
        return self.call_id(index).removeprefix("call_")[:9]


class Memory:
    """The answers that a server gave, found again by what comes back of them."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.given: list[Given] = []

    def keep(self, answer: Answer, model: str) -> Given:
        """Number an answer and remember it."""
        given = Given(server=self.server, number=len(self.given), answer=answer, model=model)
        self.given.append(given)
        return given

    def of_call(self, name: str, arguments: object) -> Given | None:
        """The answer that made this call; None for a call of another model."""
        wanted = name, canonical(arguments)
        for given in reversed(self.given):
            if any((call.name, canonical(call.arguments)) == wanted for call in given.answer.calls):
                return given
        return None

    def of_seal(self, seal: str) -> tuple[Given, int] | None:
        """The answer and the number of the thought that a seal belongs to."""
        for given in self.given:
            for index in range(len(given.answer.thoughts) + 1):
                if given.seal(index) == seal:
                    return given, index
        return None


def obj(value: object) -> Body:
    """Return the value if it is an object, else an empty one."""
    return cast("Body", value) if isinstance(value, dict) else {}


def parts_of(content: object) -> list[Body]:
    """Return the parts of a content; none for a plain text."""
    return cast("list[Body]", content) if isinstance(content, list) else []


def canonical(arguments: object) -> str:
    """Arguments in one form, whether they come as JSON text or as an object."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return arguments
    return json.dumps(arguments, sort_keys=True)
