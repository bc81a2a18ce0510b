"""Merging of a layer into settings with many entries. Each entry is validated alone; those of an untrusted workspace
require trust.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from msgspec import Struct, to_builtins

from pygent_ls.config.entries import MASKED, TABLES, Hook, masked
from pygent_ls.config.layer import Layer, ProblemKind, SettingProblem
from pygent_ls.config.rules import rules_of
from pygent_ls.config.settings import shown, shown_line
from pygent_ls.config.table import Table, converted, words
from pygent_ls.errors import SettingError

NAME = re.compile(r"[^\s\x00-\x1f]{1,200}")
"""Allowed names of entries; model names contain slashes and dots."""

MAX_PROBLEM_CHARS = 500
"""Maximum length of what is said about an entry: the names of the longest table's keys have that many."""

Found = tuple[Any, Sequence[SettingProblem]]
"""Value of the weaker layers combined with this layer's, and the problems found."""


def rules(layer: Layer, raw: object, so_far: tuple[Any, ...]) -> Found:
    """Merge `[permissions]`."""
    found, problems = rules_of(layer, raw)
    return (*so_far, *found), problems


def tables(key: str) -> Callable[[Layer, object, Mapping[str, Table]], Found]:
    """Return the function that merges a table such as `[agents.NAME]`."""

    def gathered(layer: Layer, raw: object, so_far: Mapping[str, Table]) -> Found:
        found, problems = dict(so_far), list[SettingProblem]()
        for name, given in _named(layer, key, raw, problems):
            judged = _entry(layer, f".{name}", key, TABLES[key], given)
            if isinstance(judged, SettingProblem):
                problems.append(judged)
            else:
                found[name] = judged.value
        return found, problems

    return gathered


def aliases(layer: Layer, raw: object, so_far: Mapping[str, str]) -> Found:
    """Merge `[aliases]`, which give commands new names."""
    found, problems = dict(so_far), list[SettingProblem]()
    for name, given in _named(layer, "aliases", raw, problems):
        if not isinstance(given, str) or not given.strip():
            problems.append(_problem(layer, "aliases", f".{name}", given, "invalid", "expected a command, as text"))
        elif not layer.trusted:
            problems.append(_untrusted(layer, "aliases", f".{name}", given))
        else:
            found[name] = given.strip()
    return found, problems


def hooks(layer: Layer, raw: object, so_far: tuple[Hook, ...]) -> Found:
    """Merge `[[hooks]]` in layer order."""
    if not isinstance(raw, list):
        return so_far, [_problem(layer, "hooks", "", raw, "invalid", "expected a list of tables: [[hooks]]")]
    found, problems = list(so_far), list[SettingProblem]()
    for number, given in enumerate(cast("list[object]", raw), 1):
        judged = _entry(layer, f"[{number}]", "hooks", Hook, given)
        if isinstance(judged, SettingProblem):
            problems.append(judged)
        else:
            found.append(judged.value)
    return tuple(found), problems


def disallowed_tools(layer: Layer, raw: object, so_far: tuple[str, ...]) -> Found:
    """Merge `disallowed_tools`: a tool disallowed by any layer is disallowed."""
    given = words(raw)
    if not isinstance(given, tuple) or not all(isinstance(each, str) for each in cast("tuple[object, ...]", given)):
        return so_far, [_problem(layer, "disallowed_tools", "", raw, "invalid", "expected a list of tools' names")]
    return tuple(dict.fromkeys((*so_far, *cast("tuple[str, ...]", given)))), ()


GATHERED: Mapping[str, Callable[[Layer, object, Any], Found]] = {
    "permissions": rules,
    "hooks": hooks,
    "aliases": aliases,
    "disallowed_tools": disallowed_tools,
    **{key: tables(key) for key in TABLES},
}
"""Merge function of each setting that combines all layers."""


class _AcceptedEntry(Struct, frozen=True):
    value: Any


def _named(layer: Layer, key: str, raw: object, problems: list[SettingProblem]) -> Iterator[tuple[str, object]]:
    if not isinstance(raw, Mapping):
        problems.append(_problem(layer, key, "", raw, "invalid", "expected a table"))
        return
    for name, given in cast("Mapping[object, object]", raw).items():
        if isinstance(name, str) and NAME.fullmatch(name):
            yield name, given
        else:
            problems.append(_problem(layer, key, f".{name}", given, "invalid", "invalid name: it contains spaces"))


def _entry(layer: Layer, place: str, key: str, table: type[Table], given: object) -> _AcceptedEntry | SettingProblem:
    if not isinstance(given, Mapping):
        return _problem(layer, key, place, given, "invalid", "expected a table")
    if key == "providers" and "/" in place:
        why = "a provider name must not contain a slash"
        return _problem(layer, key, place, cast("object", given), "invalid", why)
    spelled = {layer.spell(name): name for name in table.__struct_fields__} if not layer.is_text else {}
    items = cast("Mapping[object, Any]", given).items()
    own = {spelled.get(str(name), str(name)): value for name, value in items}
    try:
        entry = converted(table, own)
    except SettingError as error:
        return _problem(layer, key, place, own, "invalid", shown_line(str(error), MAX_PROBLEM_CHARS))
    if not layer.trusted:
        return _untrusted(layer, key, place, {name: to_builtins(getattr(entry, name)) for name in own})
    return _AcceptedEntry(entry)


def _untrusted(layer: Layer, key: str, place: str, wanted: object) -> SettingProblem:
    why = "needs trust: an untrusted workspace cannot add any"
    return replace(_problem(layer, key, place, wanted, "needs_trust", why), wanted=wanted)


def _problem(layer: Layer, key: str, place: str, raw: object, kind: ProblemKind, problem: str) -> SettingProblem:
    spelled = shown("", layer.spell(key) + place)
    value = masked(raw, hides_all=kind == "invalid") if key in MASKED else raw
    return SettingProblem(layer=layer.name, key=spelled, value=shown("", value), problem=problem, kind=kind)
