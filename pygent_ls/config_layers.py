"""How the settings' layers become one: each key of each layer is judged alone, and what does not count is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pydantic import ValidationError

from pygent_ls.agent.rules import RuleOrigin
from pygent_ls.config import GROUPS, NAMES, NOT_YET, Settings, checked, expected, one_line, settings_of, shown, value_of
from pygent_ls.log import MASK

ProblemKind = Literal["invalid", "unknown", "unreadable", "needs_trust", "not_yet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """Something that a layer says and that does not count; whatever else it says does."""

    layer: str
    """`environment`, `user file /home/…/config.toml`, `editor (initializationOptions)` …"""
    key: str
    """As the layer spells it: `PYGENT_MAX_ITERATIONS`, `maxIterations`; empty where the whole layer is meant."""
    value: str
    """As it may be shown to anyone."""
    problem: str
    kind: ProblemKind
    wanted: object = field(default=None, repr=False, compare=False)
    """The value that would count if the layer were trusted; of `needs_trust` alone. It is not for showing."""

    @property
    def text(self) -> str:
        """One line for a person."""
        what = " = ".join(part for part in (self.key, self.value) if part)
        return ": ".join(part for part in (self.layer, what, self.problem) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one source sets."""

    name: str
    values: Mapping[str, object]
    """Raw values, by the setting's own name."""
    unknown: Mapping[str, object] = field(default_factory=dict[str, object])
    """What it sets that is no setting, as it spells it."""
    added: Mapping[str, object] = field(default_factory=dict[str, object])
    """What it adds to what weaker layers say, by the setting's own name: more of a list, or more text."""
    spell: Callable[[str], str] = str
    """How it writes a setting's name: `max_iterations`, `maxIterations`, `PYGENT_MAX_ITERATIONS`."""
    is_text: bool = False
    """Values are text that stands for numbers, as in the environment."""
    trusted: bool = True
    """Else it may only tighten, being the workspace's own."""
    origin_of_rules: RuleOrigin = "user"
    """As lists of rules name it; `user` is the user's own file."""
    problems: tuple[SettingProblem, ...] = ()
    """What was wrong with the source itself."""

    def origin(self, key: str) -> str:
        """Where a value of this layer comes from, for a person."""
        return f"{self.name} {self.spell(key)}" if self.is_text else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The effective settings, where each comes from, and everything that does not count."""

    settings: Settings
    origins: Mapping[str, str]
    """By setting; `default` where no layer sets it."""
    problems: tuple[SettingProblem, ...]
    models_beside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model that the layer of a setting sets beside it, by setting, for those in `OF_A_PROVIDER`."""


OF_A_PROVIDER = ("api_base", "api_key_env", "extra_headers")
"""Settings of the provider of `model`. If one layer sets both, a stronger layer's `model` does not change whose they
are."""


def load(layers: Sequence[Layer]) -> Loaded:
    """Lay the layers over the defaults, weakest first; each key of each is judged alone, so nothing is raised."""
    from pygent_ls.config_gathering import GATHERED

    defaults = Settings()
    values: dict[str, Any] = {key: value_of(defaults, key) for key in NAMES}
    origins = dict.fromkeys(NAMES, "default")
    problems: list[SettingProblem] = []
    models_beside: dict[str, str] = {}
    for layer in layers:
        accepted: set[str] = set()
        problems += layer.problems
        problems += [_unknown(layer, key, raw) for key, raw in layer.unknown.items()]
        for key, raw in layer.values.items():
            if key in GATHERED:
                found, wrong = GATHERED[key](layer, raw, values[key])
                problems += wrong
                origins[key] = layer.origin(key) if found != values[key] else origins[key]
                values[key] = found
                continue
            judged = _bypassing(layer, key, raw, layers) or _judged(layer, key, raw, values[key])
            if isinstance(judged, SettingProblem):
                problems.append(judged)
            else:
                values[key] = judged.value
                origins[key] = layer.origin(key)
                accepted.add(key)
        model = values["model"] if "model" in accepted else ""
        models_beside.update(dict.fromkeys(accepted.intersection(OF_A_PROVIDER), model))
        for key, more in layer.added.items():
            values[key] = _with_more(values[key], more)
            origins[key] = layer.origin(key) if origins[key] == "default" else origins[key]
    return Loaded(settings=settings_of(values), origins=origins, problems=tuple(problems), models_beside=models_beside)


def _with_more(so_far: object, more: object) -> object:
    match so_far, more:
        case str(), str():
            return "\n\n".join(filter(None, (so_far, more)))
        case tuple(), tuple():
            return tuple(dict.fromkeys((*cast("tuple[object, ...]", so_far), *cast("tuple[object, ...]", more))))
        case _:
            raise TypeError(f"{type(more).__name__} cannot be added to {type(so_far).__name__}")


@dataclass(frozen=True, slots=True)
class _Accepted:
    value: object


def _judged(layer: Layer, key: str, raw: object, weaker: object) -> _Accepted | SettingProblem:
    """The value, typed; or why it does not count."""
    try:
        value = checked(key, _whole(raw), is_text=layer.is_text)
    except ValidationError:
        return _problem(layer, key, raw, "invalid", f"expected {expected(key)}")
    if not layer.trusted and not _tightens(key, value, weaker):
        problem = _problem(layer, key, raw, "needs_trust", f"needs trust: an untrusted workspace can only {_MAY_ONLY}")
        return replace(problem, wanted=value)
    return _Accepted(value)


def _bypassing(layer: Layer, key: str, raw: object, layers: Sequence[Layer]) -> SettingProblem | None:
    """What is wrong with a wish for the mode `bypass`, which takes the user's own word in the user's own file.

    No workspace's file can say it, trusted or not.
    """
    own = "your own configuration file"
    if key == "allow_bypass" and layer.origin_of_rules != "user":
        return _problem(layer, key, raw, "invalid", f"only effective in {own}")
    granted = any(each.origin_of_rules == "user" and each.values.get("allow_bypass") is True for each in layers)
    if key == "mode" and raw == "bypass" and not granted:
        return _problem(layer, key, raw, "invalid", f"requires allow_bypass = true in {own}")
    return None


_MAY_ONLY = (
    "lower a limit of turns (max_iterations, max_tokens, max_budget_usd, max_turn_seconds), add permissions.ask, "
    'permissions.deny and disallowed_tools, set mode to "plan", sandbox to "require", or redact_secrets to true'
)


def _tightens(key: str, value: object, weaker: object) -> bool:
    match key, value, weaker:
        case ("mode", "plan", _) | ("sandbox", "require", _) | ("redact_secrets", True, _):
            return True
        case "max_iterations" | "max_tokens" | "max_budget_usd" | "max_turn_seconds", int() | float(), int() | float():
            return value != 0 and (weaker == 0 or value <= weaker)
        case _:
            return False


def _whole(raw: object) -> object:
    """`50.0` as 50: JSON has one kind of number, and some editors write it so."""
    return int(raw) if isinstance(raw, float) and raw.is_integer() else raw


def _problem(layer: Layer, key: str, raw: object, kind: ProblemKind, problem: str) -> SettingProblem:
    # What does not count may be a key that somebody put in the place of its variable's name.
    value = MASK if key == "api_key_env" else shown(key, raw)
    return SettingProblem(layer=layer.name, key=layer.spell(key), value=value, problem=problem, kind=kind)


def _unknown(layer: Layer, spelled: str, raw: object) -> SettingProblem:
    from difflib import get_close_matches

    if spelled in map(layer.spell, GROUPS):
        return _odd(layer, spelled, shown("", raw), "invalid", "expected a table")
    if spelled in map(layer.spell, NOT_YET):
        return _odd(layer, spelled, shown("", raw), "not_yet", "not used by this version")
    nearest = get_close_matches(spelled, [layer.spell(name) for name in NAMES], n=1)
    value = MASK if re.search(r"key|token(?!s)|secret|password", spelled, re.IGNORECASE) else shown("", raw)
    problem = f"no such setting; did you mean {nearest[0]}?" if nearest else "no such setting"
    return _odd(layer, spelled, value, "unknown", problem)


def _odd(layer: Layer, spelled: str, value: str, kind: ProblemKind, problem: str) -> SettingProblem:
    return SettingProblem(layer=layer.name, key=one_line(spelled), value=value, problem=problem, kind=kind)
