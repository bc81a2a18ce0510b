"""A telemetry that remembers what it was told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pygent_ls.agent.telemetry import (
    Began,
    Ended,
    ModelCallBegan,
    Observation,
    PermissionWaitBegan,
    ToolBegan,
    TurnBegan,
)


@dataclass
class Observed:
    """Something that has begun, what began within it, and how it ended."""

    began: Began
    within: list[Observed] = field(default_factory=list["Observed"])
    ends: list[Ended] = field(default_factory=list[Ended])

    def end(self, how: Ended) -> None:
        """See `Observation`."""
        self.ends.append(how)

    @property
    def name(self) -> str:
        """In a word or two."""
        match self.began:
            case TurnBegan(agent=agent):
                return f"turn of {agent}"
            case ModelCallBegan(model=model):
                return f"call of {model}"
            case ToolBegan(call=call):
                return f"tool {call.name}"
            case PermissionWaitBegan(call=call):
                return f"wait for {call.name}"

    @property
    def how(self) -> Ended:
        """How it ended, which it did once."""
        (how,) = self.ends
        return how

    def everything(self) -> Iterator[Observed]:
        """It and all within it."""
        yield self
        for each in self.within:
            yield from each.everything()

    def tree(self, depth: int = 0) -> list[str]:
        """The names of it and of all within it, indented."""
        return ["  " * depth + self.name, *(line for each in self.within for line in each.tree(depth + 1))]


class FakeTelemetry:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.roots: list[Observed] = []

    def begin(self, what: Began, within: Observation | None) -> Observed:
        """See `Telemetry`."""
        observed = Observed(what)
        (within.within if isinstance(within, Observed) else self.roots).append(observed)
        return observed

    def tree(self) -> list[str]:
        """All names, indented."""
        return [line for each in self.roots for line in each.tree()]

    def all(self) -> list[Observed]:
        """All that has begun, each before what began within it."""
        return [each for root in self.roots for each in root.everything()]

    def named(self, name: str) -> Observed:
        """The only one of that name."""
        (found,) = (each for each in self.all() if each.name == name)
        return found
