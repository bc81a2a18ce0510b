"""Shapes that several messages share, and the base class of parameters.

Parameters from clients are structs of msgspec, which validates them; messages to clients are typed dictionaries, so
that a delta costs no validation.

The modules with these types do not import `annotations` from `__future__`: a typed dictionary compiles each annotation
that is text, which takes two thirds of the time of its definition.
"""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct

from pygent_ls.agent.ports.workspace import ChangeKind


class Params(Struct, frozen=True, kw_only=True, rename="camel"):
    """Parameters of a request. Keys are camelCase on the wire; unknown keys are ignored. `validation.valid` reads
    them."""


Count = Annotated[int, Meta(ge=0)]

Token = str | int
"""Token of LSP, which identifies a progress."""


class WirePosition(Params, frozen=True, kw_only=True):
    """An LSP position."""

    line: Count
    character: Count


class WireRange(Params, frozen=True, kw_only=True):
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


class NoParams(Params, frozen=True, kw_only=True):
    """Parameters of requests that take none."""


RiskOut = Literal["low", "medium", "high"]
"""Risk of a tool call."""
