"""One source of settings: what it sets, and what is wrong with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct, field

from pygent_ls.agent.rules.rule import RuleOrigin

ProblemKind = Literal["invalid", "unknown", "unreadable", "needs_trust", "locked"]
"""`locked`: the administrator's settings do not allow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """Part of a layer that is ignored; the rest of the layer applies."""

    layer: str
    """Name of the layer: `environment`, `user file /home/…/config.toml`, `editor (initializationOptions)` …"""
    key: str
    """Key as the layer spells it: `PYGENT_MAX_ITERATIONS`, `maxIterations`; empty for the whole layer."""
    value: str
    """Value in a form that may be shown to anyone."""
    problem: str
    kind: ProblemKind
    wanted: object = dataclasses.field(default=None, repr=False, compare=False)
    """Value that would apply if the layer were trusted; set for `needs_trust` only. Not for display."""

    @property
    def text(self) -> str:
        """Return a one-line message for the user."""
        what = " = ".join(part for part in (self.key, self.value) if part)
        return ": ".join(part for part in (self.layer, what, self.problem) if part)


class Layer(Struct, frozen=True, kw_only=True):
    """Settings that one source provides."""

    name: str
    values: Mapping[str, object]
    """Raw values by setting name."""
    unknown: Mapping[str, object] = field(default_factory=dict[str, object])
    """Unknown keys and their values, as the source spells them."""
    added: Mapping[str, object] = field(default_factory=dict[str, object])
    """Values appended to those of weaker layers, by setting name: list items or text."""
    spell: Callable[[str], str] = str
    """Converts a setting's name to the source's spelling: `max_iterations`, `maxIterations`,
    `PYGENT_MAX_ITERATIONS`.
    """
    is_text: bool = False
    """Whether values are text that may represent numbers, as in the environment."""
    trusted: bool = True
    """Whether the layer is trusted; an untrusted one, which comes from the workspace, may only tighten."""
    origin_of_rules: RuleOrigin = "user"
    """Origin of this layer's rules in lists of rules; `user` is the user's own file."""
    problems: tuple[SettingProblem, ...] = ()
    """Problems with the source itself."""

    def origin(self, key: str) -> str:
        """Return where a value of this layer comes from, for display."""
        return f"{self.name} {self.spell(key)}" if self.is_text else self.name
