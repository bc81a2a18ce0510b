"""Shapes that several messages share, and the base class of parameters.

Parameters from clients are pydantic models, which validate; messages to clients are typed dictionaries, so that a delta
costs no validation.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from pygent_ls.agent.ports.workspace import ChangeKind


class Params(BaseModel):
    """Parameters of a request. Keys are camelCase on the wire; unknown keys are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=False, strict=True, frozen=True, defer_build=True
    )


def _whole(value: Any) -> Any:
    """Accept `1.0` for 1: some clients write every number with a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Item = TypeVar("Item")


Items = Annotated[list[Item], Field(fail_fast=True)]
"""A list whose error names the first invalid item only, since a list may have a hundred thousand items."""


Integer = Annotated[int, BeforeValidator(_whole)]

Count = Annotated[Integer, Field(ge=0)]


class WirePosition(Params):
    """An LSP position."""

    line: Count
    character: Count


class WireRange(Params):
    """An LSP range."""

    start: WirePosition
    end: WirePosition


class PositionOut(TypedDict):
    """An LSP position."""

    line: int
    character: int


class RangeOut(TypedDict):
    """An LSP range."""

    start: PositionOut
    end: PositionOut


class LocationOut(TypedDict):
    """A location that a tool call is about."""

    uri: str
    range: NotRequired[RangeOut]


class UsageOut(TypedDict):
    """Token counts and the cost in US dollars; null if unknown."""

    inputTokens: int
    outputTokens: int
    cacheReadTokens: int
    cacheWriteTokens: int
    totalTokens: int
    costUsd: float | None
    contextTokens: int
    contextLimit: int | None


class FileChangedOut(TypedDict):
    """A file that the turn changed."""

    uri: str
    kind: ChangeKind
    added: int
    removed: int


class ChangeOut(FileChangedOut):
    """A file that one tool call changed, with its unified diff."""

    patch: str


class ErrorDataOut(TypedDict):
    """The `data` of an error -32602 about a session. `kind` identifies the error."""

    kind: str


class NoParams(Params):
    """Parameters of requests that take none."""


RiskOut = Literal["low", "medium", "high"]
"""Risk of a tool call."""
