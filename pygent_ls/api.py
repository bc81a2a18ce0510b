"""Public API for your own tools and models.

A file in the folder `tools/` of the user's settings defines tools as functions:

    from pygent_ls.api import tool

    @tool(risk="low")
    def shout(text: str, times: int = 1) -> str:
        \"\"\"Say it loudly.\"\"\"
        return text.upper() * times

The name, the docstring and the type hints are what the model is told. A first parameter named `context` receives a
`Context`. `docs/api.md` describes the whole API; it follows semantic versioning by `API_VERSION`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pygent_ls.errors import ToolError

__all__ = ["API_VERSION", "Completed", "Context", "Models", "ToolError", "tool"]

API_VERSION = "1.1"
"""Version of this module. The major number changes when a tool or model that worked no longer does."""

Risk = Literal["low", "medium", "high"]

Function = TypeVar("Function", bound=Callable[..., Any])

MARK = "__pygent_tool__"
"""Attribute of a function that is a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What the decorator was told."""

    risk: Risk
    read_only: bool
    timeout_s: float


def tool(*, risk: Risk = "high", read_only: bool = False, timeout_s: float = 60.0) -> Callable[[Function], Function]:
    """Declare a function, or a coroutine function, as a tool.

    `risk`: a `low` call runs without a question, `medium` asks unless the mode is `trust`, `high` always asks.
    `read_only`: it changes nothing, so plan mode allows it. `timeout_s`: maximum seconds of one call.

    Raises ValueError for another risk, or a time that is not positive.
    """
    if risk not in ("low", "medium", "high"):
        raise ValueError(f"risk is {risk!r}; it must be 'low', 'medium' or 'high'")
    if timeout_s <= 0:
        raise ValueError(f"timeout_s is {timeout_s!r}; it must be positive")

    def declare(function: Function) -> Function:
        setattr(function, MARK, Declaration(risk=risk, read_only=read_only, timeout_s=timeout_s))
        return function

    return declare


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A program that has ended."""

    exit_code: int
    """Negative for a signal."""
    output: str
    """Standard output and standard error, in order."""


class Context(Protocol):
    """The session that a tool is called in."""

    @property
    def folder(self) -> Path:
        """The session's folder, which is also the working directory."""
        ...

    def read(self, path: str) -> str:
        """Return the text of a file as the editor has it, unsaved changes included. Raises `ToolError`."""
        ...

    def run(self, argv: Sequence[str], timeout_s: float = 60.0) -> Completed:
        """Run a program in the folder, in the sandbox if commands run there. Raises `ToolError`."""
        ...

    def report(self, text: str) -> None:
        """Show the user text while the tool runs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Models of a package, which are named after its entry point: `NAME/MODEL`."""

    answer: Callable[[Mapping[str, Any]], AsyncIterator[Mapping[str, Any] | str]]
    """Async generator function. It is given the body of a request to OpenAI's chat completions API, with `model` as the
    name behind the slash, and yields text, or chunks of that API (`chat.completion.chunk`). It is closed if the call is
    cancelled. Whatever it raises is shown to the user."""
    names: Sequence[str] = ()
    """Models to list, without the name of the entry point; others can be called, too."""
    context_limit: int | None = None
    """Maximum tokens of a request and its answer together; None if unknown."""
    takes_tools: bool = True
    """Whether it calls tools; otherwise, calls are read from its text."""
    takes_images: bool = False
