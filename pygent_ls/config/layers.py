"""Merging of settings layers. Each key of each layer is validated alone, and what is ignored is reported."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.admin_limits import is_allowed
from pygent_ls.config.admin import NO_ADMIN, AdminSettings, exceeds
from pygent_ls.config.entries import Mode
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


class Loaded(Struct, frozen=True, kw_only=True):
    """Effective settings, their origins, and everything that was ignored."""

    settings: Settings
    origins: Mapping[str, str]
    """Origin by setting; `default` if no layer sets it."""
    problems: tuple[SettingProblem, ...]
    admin: AdminSettings = NO_ADMIN
    """What the administrator keeps the other layers from changing."""
    ceilings: Mapping[str, float] = field(default_factory=dict[str, float])
    """The administrator's limits, which other layers may only lower."""
    models_beside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model set by the same layer as the setting, by setting, for those in `OF_A_PROVIDER`."""


OF_A_PROVIDER = ("api_base", "api_key_env", "extra_headers")
"""Settings that belong to the provider of `model`. If one layer sets both, a stronger layer's `model` does not change
the provider that they belong to.
"""


def load(layers: Sequence[Layer], admin: AdminSettings = NO_ADMIN) -> Loaded:
    """Merge layers over the defaults, weakest first. Each key of each layer is validated alone, so nothing is
    raised.

    The administrator's settings are merged first. Of the other layers, only what the administrator permits is merged.
    """
    merging = _Merging(admin)
    if admin.layer is not None:
        merging.add(admin.layer, (), is_admins=True)
    for layer in layers:
        merging.add(_permitted(layer, admin, merging.problems), layers)
    return merging.loaded()


def _permitted(layer: Layer, admin: AdminSettings, problems: list[SettingProblem]) -> Layer:
    """Return the layer without what the administrator's settings do not let it set; add a problem for each."""
    if admin.is_empty:
        return layer
    values: dict[str, object] = {}
    for key, raw in layer.values.items():
        if admin.is_exclusive(key):
            only = f"only entries of {admin.file} are used"
            problems += [] if admin.problem else [_locked(layer, key, raw, only)]
        elif key in admin.locked:
            problems.append(_locked(layer, key, raw, admin.locked_by))
        elif (taken := admin.entries(key)) and isinstance(raw, Mapping):
            table = cast("Mapping[object, object]", raw)
            problems += [_locked(layer, key, table, admin.locked_by, f".{name}") for name in table if name in taken]
            values[key] = {name: each for name, each in table.items() if name not in taken}
        else:
            values[key] = raw
    refused = [key for key in layer.added if key in admin.locked]
    problems += [_locked(layer, key, layer.added[key], admin.locked_by) for key in refused]
    added = {key: more for key, more in layer.added.items() if key not in refused}
    return replace(layer, values=values, added=added)


def _unusable(admin: AdminSettings) -> SettingProblem:
    """Return the problem with the administrator's file as a whole."""
    return SettingProblem(layer="", key="", value="", problem=admin.problem, kind="unreadable")


def _locked(layer: Layer, key: str, raw: object, why: str, place: str = "") -> SettingProblem:
    """Return the problem; the value of an entry is not shown, it may hold a secret."""
    value = MASK if key == "api_key_env" else "" if key in GATHERED else shown(key, raw)
    spelled = shown_line(layer.spell(key) + place)
    return SettingProblem(layer=layer.name, key=spelled, value=value, problem=why, kind="locked")


class _Merging:
    """Values of the layers that were added so far."""

    def __init__(self, admin: AdminSettings) -> None:
        defaults = Settings()
        self._admin = admin
        self._values: dict[str, Any] = {key: value_of(defaults, key) for key in NAMES}
        self._origins = dict.fromkeys(NAMES, "default")
        self.problems = [_unusable(admin)] if admin.problem else []
        self._models_beside: dict[str, str] = {}
        self._ceilings: dict[str, float] = {}
        modes = admin.table.modes
        if not is_allowed(self._values["mode"], modes) and modes:
            self._values["mode"] = modes[0]

    def add(self, layer: Layer, layers: Sequence[Layer], *, is_admins: bool = False) -> None:
        """Merge a layer over the others. `layers` are those of the user, of which one may allow `bypass`."""
        accepted: set[str] = set()
        self.problems += layer.problems
        self.problems += [_unknown(layer, key, raw) for key, raw in layer.unknown.items()]
        for key, raw in layer.values.items():
            weaker = self._values[key]
            if key in GATHERED:
                found, wrong = GATHERED[key](layer, raw, weaker)
                self.problems += wrong
                self._set(layer, key, found)
                continue
            bypassing = None if is_admins else self._bypassing(layer, key, raw, layers)
            judged = bypassing or _judged(layer, key, raw, weaker)
            if not isinstance(judged, SettingProblem) and not is_admins:
                judged = self._limited(layer, key, judged)
            if isinstance(judged, SettingProblem):
                self.problems.append(judged)
            else:
                self._values[key] = judged.value
                self._origins[key] = layer.origin(key)
                accepted.add(key)
                if is_admins and key in self._admin.ceilings:
                    self._ceilings[key] = cast("float", judged.value)
        model = self._values["model"] if "model" in accepted else ""
        self._models_beside.update(dict.fromkeys(accepted.intersection(OF_A_PROVIDER), model))
        for key, more in layer.added.items():
            self._values[key] = _with_more(self._values[key], more)
            self._origins[key] = layer.origin(key) if self._origins[key] == "default" else self._origins[key]

    def loaded(self) -> Loaded:
        """Return the effective settings."""
        return Loaded(
            settings=settings_of(self._values),
            origins=self._origins,
            problems=tuple(self.problems),
            models_beside=self._models_beside,
            admin=self._admin,
            ceilings=self._ceilings,
        )

    def _set(self, layer: Layer, key: str, found: Any) -> None:
        self._origins[key] = layer.origin(key) if found != self._values[key] else self._origins[key]
        self._values[key] = found

    def _limited(self, layer: Layer, key: str, judged: _AcceptedLayer) -> _AcceptedLayer | SettingProblem:
        """Keep a value within what the administrator allows: cut a limit to its ceiling, refuse a mode."""
        admin, value = self._admin, judged.value
        if key == "mode" and not is_allowed(cast("Mode", value), admin.table.modes):
            return _locked(layer, key, value, f"not among the modes that {admin.file} allows")
        ceiling = self._ceilings.get(key)
        if ceiling is None or not exceeds(key, cast("float", value), ceiling):
            return judged
        self.problems.append(_locked(layer, key, value, f"limited to {ceiling:g} by {admin.file}"))
        return _AcceptedLayer(ceiling)

    def _bypassing(self, layer: Layer, key: str, raw: object, layers: Sequence[Layer]) -> SettingProblem | None:
        """Return the problem with a request for the mode `bypass` that neither the user's own file nor the
        administrator allows. No workspace file can allow it, trusted or not."""
        own = "your own configuration file"
        if key == "allow_bypass" and layer.origin_of_rules != "user":
            return _problem(layer, key, raw, "invalid", f"only effective in {own}")
        if key == "mode" and raw == "bypass" and not self._may_bypass(layers):
            return _problem(layer, key, raw, "invalid", f"requires allow_bypass = true in {own}")
        return None

    def _may_bypass(self, layers: Sequence[Layer]) -> bool:
        own = [each.values for each in layers if each.origin_of_rules == "user"]
        users = [values["allow_bypass"] is True for values in own if "allow_bypass" in values]
        admins = self._admin.given.get("allow_bypass") is True
        return admins if "allow_bypass" in self._admin.locked else any(users) if users else admins


def _with_more(so_far: object, more: object) -> object:
    match so_far, more:
        case str(), str():
            return "\n\n".join(filter(None, (so_far, more)))
        case tuple(), tuple():
            return tuple(dict.fromkeys((*cast("tuple[object, ...]", so_far), *cast("tuple[object, ...]", more))))
        case _:
            raise TypeError(f"{type(more).__name__} cannot be added to {type(so_far).__name__}")


class _AcceptedLayer(Struct, frozen=True):
    value: object


def _judged(layer: Layer, key: str, raw: object, weaker: object) -> _AcceptedLayer | SettingProblem:
    """Return the typed value, or the reason why it is ignored."""
    try:
        value = checked(key, raw, is_text=layer.is_text)
    except SettingError:
        return _problem(layer, key, raw, "invalid", f"expected {field_of(key).expected}")
    if not layer.trusted and not _tightens(key, value, weaker):
        problem = _problem(layer, key, raw, "needs_trust", f"needs trust: an untrusted workspace can only {_MAY_ONLY}")
        return dataclasses.replace(problem, wanted=value)
    return _AcceptedLayer(value)


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
