"""Tables and charts of `docs/benchmarks.md`, made from the figures in `results/peers.json`.

usage: python benchmarks/drawn.py     (`peers.py` does it, too)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "peers.json"

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

BEGIN, END = "<!-- drawn by benchmarks/drawn.py -->\n", "<!-- end of what is drawn -->\n"

OURS = "pygent_ls"

NAMES: Mapping[str, str] = {
    OURS: "pygent-ls",
    "codex_app_server": "codex",
    "codex_of_npm": "codex (npm)",
    "opencode_acp": "opencode",
    "vibe_acp": "vibe",
    "httpx_loop": "httpx",
    "aiohttp_loop": "aiohttp",
    "pydantic_ai": "pydantic-ai",
    "openai_agents": "openai-agents",
}

ROWS: Mapping[str, str] = {
    "initialize_ms": "start to the answer to `initialize`, ms",
    "first_request_ms": "start to the first request to the model, ms",
    "typed_prompt_ms": "the same for a prompt 2 s after the start, from the prompt, ms",
    "tool_turn_at_10_ms": "tool turn, call 10, ms",
    "tool_turn_at_200_ms": "tool turn, call 200, ms",
    "resident_mb": "resident memory after 50 turns, MB",
    "anonymous_mb": "of it anonymous, MB",
    "delta_ms": "what a delta takes, ms",
    "delta_p95_ms": "the same, 95th percentile, ms",
    "tokens_per_s": "tokens per second of a flood",
    "messages_of_a_flood": "messages of a flood of 20,000",
    "cancel_ms": "cancel to closed connection, ms",
    "one_session_tokens_per_s": "one session at 1,000 tokens per second",
    "sessions_at_once_tokens_per_s": "eight such sessions, tokens per second",
}

CHARTS = ("first_request_ms", "tool_turn_at_200_ms", "resident_mb", "tokens_per_s")

Figures = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Aim:
    """A limit of one of our figures, or of its ratio to another one."""

    text: str
    value: Callable[[Figures], float]
    limit: float
    at_least: bool = False
    unit: str = ""

    def is_met(self, figures: Figures) -> bool:
        """Whether the figures are within the limit."""
        value = self.value(figures)
        return value >= self.limit if self.at_least else value <= self.limit

    def row(self, figures: Figures) -> str:
        """Row of the table of aims."""
        value = self.value(figures)
        bound = f"{'at least' if self.at_least else 'at most'} {number(self.limit)}{self.unit}"
        judged = "met" if self.is_met(figures) else "**missed**"
        return f"| {self.text} | {bound} | {number(value)}{self.unit} | {judged} |"


def _ratio(figure: str, other: str) -> Callable[[Figures], float]:
    return lambda figures: _of(figures[OURS], figure) / _of(figures[other], figure)


def _own(figure: str) -> Callable[[Figures], float]:
    return lambda figures: _of(figures[OURS], figure)


def _own_ratio(figure: str, other: str) -> Callable[[Figures], float]:
    return lambda figures: _of(figures[OURS], figure) / _of(figures[OURS], other)


def _of(figures: Mapping[str, float | None], name: str) -> float:
    value = figures[name]
    assert value is not None, name
    return value


AIMS = (
    Aim("`initialize`, times codex as npm installs it", _ratio("initialize_ms", "codex_of_npm"), 2),
    Aim("`initialize`, times the binary of codex", _ratio("initialize_ms", "codex_app_server"), 2),
    Aim("first request, times codex as npm installs it", _ratio("first_request_ms", "codex_of_npm"), 2),
    Aim("first request, times the binary of codex", _ratio("first_request_ms", "codex_app_server"), 2),
    Aim("`initialized` to the answer to the first `pygent.ask`", _own("first_ask_answered_ms"), 100, unit=" ms"),
    Aim("tool turn at call 10, times a bare loop over httpx", _ratio("tool_turn_at_10_ms", "httpx_loop"), 3),
    Aim("tool turn at call 200, times the same at call 10", _own_ratio("tool_turn_at_200_ms", "tool_turn_at_10_ms"), 2),
    Aim("resident memory, times codex", _ratio("resident_mb", "codex_app_server"), 0.5),
    Aim("tokens per second of a flood", _own("tokens_per_s"), 20_000, at_least=True),
    Aim("what a delta takes", _own("delta_ms"), 5, unit=" ms"),
    Aim(
        "a delta while a document of 1 MB changes ten times a second, 95th percentile",
        _own("typing_delta_p95_ms"),
        10,
        unit=" ms",
    ),
    Aim("cancel to closed connection", _own("cancel_ms"), 20, unit=" ms"),
    Aim(
        "eight sessions, times the tokens of one",
        _own_ratio("sessions_at_once_tokens_per_s", "one_session_tokens_per_s"),
        6,
        at_least=True,
    ),
)


def missed(result: Mapping[str, Any]) -> list[str]:
    """Return the aims that are not met."""
    figures = _figures(result)
    return [each.text for each in AIMS if not each.is_met(figures)]


def _figures(result: Mapping[str, Any]) -> Figures:
    return {name: result[name] for name in NAMES if name in result}


def drawn(result: Mapping[str, Any]) -> str:
    """Return the tables and charts in Markdown."""
    figures = _figures(result)
    machine = result["machine"]
    lines = [
        f"Measured on {machine['date']} with {machine['cpus']} cores at a load of {machine['load_1m']}; "
        f"medians of {result['rounds'][OURS]} rounds, of slow programs one round.",
        "",
        "| | " + " | ".join(NAMES[name] for name in figures) + " |",
        "|" + "---|" * (len(figures) + 1),
        *(
            f"| {title} | " + " | ".join(number(each.get(row)) for each in figures.values()) + " |"
            for row, title in ROWS.items()
        ),
        "",
        "| aim | | measured | |",
        "|---|---|---|---|",
        *(aim.row(figures) for aim in AIMS),
    ]
    for row in CHARTS:
        shown = {NAMES[name]: value for name, each in figures.items() if (value := each.get(row)) is not None}
        lines += [
            "",
            "```mermaid",
            "xychart-beta horizontal",
            f'    title "{ROWS[row]}"',
            "    x-axis [" + ", ".join(f'"{name}"' for name in shown) + "]",
            "    bar [" + ", ".join(f"{value:.1f}" for value in shown.values()) + "]",
            "```",
        ]
    return "\n".join(lines) + "\n"


def number(value: float | None) -> str:
    """Return a figure with three digits or more; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def page_with(text: str, result: Mapping[str, Any]) -> str:
    """Return the page with what is drawn of the result."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + drawn(result) + "\n" + END + rest.split(END)[1]


def draw() -> None:
    """Write the page."""
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    draw()
