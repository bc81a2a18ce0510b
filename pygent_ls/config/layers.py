"""Merging of settings layers. Each key of each layer is validated alone, and what is ignored is reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pygent_ls.config.layer import Layer, ProblemKind, SettingProblem
from pygent_ls.config.merge import GATHERED
from pygent_ls.config.settings import (
    GROUPS,
    NAMES,
    Settings,
    checked,
    field_of,
    settings_of,
    shown,
    shown_line,
    value_of,
)
from pygent_ls.errors import SettingError
from pygent_ls.secrets.log_mask import MASK


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Effective settings, their origins, and everything that was ignored."""

    settings: Settings
    origins: Mapping[str, str]
    """Origin by setting; `default` if no layer sets it."""
    problems: tuple[SettingProblem, ...]
    models_beside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model set by the same layer as the setting, by setting, for those in `OF_A_PROVIDER`."""


OF_A_PROVIDER = ("api_base", "api_key_env", "extra_headers")
"""Settings that belong to the provider of `model`. If one layer sets both, a stronger layer's `model` does not change
the provider that they belong to.
"""


def load(layers: Sequence[Layer]) -> Loaded:
    """Merge layers over the defaults, weakest first. Each key of each layer is validated alone, so nothing is
    raised.
    """
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
class _AcceptedLayer:
    value: object


def _judged(layer: Layer, key: str, raw: object, weaker: object) -> _AcceptedLayer | SettingProblem:
    """Return the typed value, or the reason why it is ignored."""
    try:
        value = checked(key, raw, is_text=layer.is_text)
    except SettingError:
        return _problem(layer, key, raw, "invalid", f"expected {field_of(key).expected}")
    if not layer.trusted and not _tightens(key, value, weaker):
        problem = _problem(layer, key, raw, "needs_trust", f"needs trust: an untrusted workspace can only {_MAY_ONLY}")
        return replace(problem, wanted=value)
    return _AcceptedLayer(value)


def _bypassing(layer: Layer, key: str, raw: object, layers: Sequence[Layer]) -> SettingProblem | None:
    """Return the problem with a request for the mode `bypass` that the user's own file does not allow.

    No workspace file can allow it, trusted or not.
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


def _problem(layer: Layer, key: str, raw: object, kind: ProblemKind, problem: str) -> SettingProblem:
    # An ignored value may be a key entered in place of its variable's name.
    value = MASK if key == "api_key_env" else shown(key, raw)
    return SettingProblem(layer=layer.name, key=layer.spell(key), value=value, problem=problem, kind=kind)


def _unknown(layer: Layer, spelled: str, raw: object) -> SettingProblem:
    from difflib import get_close_matches

    if spelled in map(layer.spell, GROUPS):
        return _odd(layer, spelled, shown("", raw), "invalid", "expected a table")
    nearest = get_close_matches(spelled, [layer.spell(name) for name in NAMES], n=1)
    value = MASK if re.search(r"key|token(?!s)|secret|password", spelled, re.IGNORECASE) else shown("", raw)
    problem = f"no such setting; did you mean {nearest[0]}?" if nearest else "no such setting"
    return _odd(layer, spelled, value, "unknown", problem)


def _odd(layer: Layer, spelled: str, value: str, kind: ProblemKind, problem: str) -> SettingProblem:
    return SettingProblem(layer=layer.name, key=shown_line(spelled), value=value, problem=problem, kind=kind)
