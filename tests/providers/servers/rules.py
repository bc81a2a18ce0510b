"""What a rule of a provider is, and what the rules of all families have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.providers.servers.answers import Body, Given, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that a request breaks, in the words of the provider."""

    message: str
    param: str | None = None
    code: str | None = None
    type: str = "invalid_request_error"
    status: int = 400
    about: Literal["history", "parameter"] = "history"
    """A `parameter` is learned: an adapter may be refused once and leave it out from then on. A `history` that is
    refused ends the conversation for good."""


Rule = Callable[[Body, Memory], Broken | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One request that a server refused."""

    rule: str
    broken: Broken
    body: Body

    def __str__(self) -> str:
        return f"{self.rule}: {self.broken.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One path of a provider's API."""

    path: str
    """What the path of a request contains."""
    types: str
    """The official type of the body: `chat`, `responses`, `messages` or `gemini`."""
    rules: tuple[Rule, ...]
    events: Callable[[Body, Given], Iterable[str]]
    """The server-sent events of an answer to a request."""
    refuse: Callable[[Broken], Mapping[str, Any]]
    """The body of a refusal."""
    thinks: Callable[[Body], bool] = lambda _: False
    """Whether an answer to this request has thoughts."""
    losses: Callable[[Body, Memory], Iterator[str]] = lambda _body, _memory: iter(())
    """Opaque data that should have come back and did not, though the provider does not refuse the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A provider."""

    name: str
    endpoints: tuple[Endpoint, ...]


def first_broken(rules: Sequence[Rule], body: Body, memory: Memory) -> tuple[str, Broken] | None:
    """The first rule that a request breaks, by its name."""
    for rule in rules:
        broken = rule(body, memory)
        if broken is not None:
            return rule.__name__, broken
    return None
