"""A telemetry that remembers what it was told."""

from __future__ import annotations

from pygent_ls.agent.telemetry import ModelCallSpan, PermissionSpan, Span, ToolSpan, TurnSpan


def name_of(span: Span) -> str:
    """In a word or two."""
    match span:
        case TurnSpan(agent=agent):
            return f"turn of {agent}"
        case ModelCallSpan(model=model):
            return f"call of {model}"
        case ToolSpan(call=call):
            return f"tool {call.name}"
        case PermissionSpan(call=call):
            return f"wait for {call.name}"


class FakeTelemetry:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Span] = []

    def __call__(self, span: Span) -> None:
        """Implement `Telemetry`."""
        assert self.told.count(span) == bool(span.ended_ns), "told once when it begins, and once when it has ended"
        self.told.append(span)

    @property
    def spans(self) -> list[Span]:
        """All of them, in the order in which they began."""
        return list(dict.fromkeys(self.told))

    def tree(self, parent: Span | None = None, depth: int = 0) -> list[str]:
        """The names of all within a span, indented."""
        within = [each for each in self.spans if each.parent is parent]
        return [line for each in within for line in ["  " * depth + name_of(each), *self.tree(each, depth + 1)]]

    def named(self, name: str) -> list[Span]:
        """All of that name."""
        return [each for each in self.spans if name_of(each) == name]
