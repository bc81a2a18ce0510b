"""Rules of a layer's `[permissions]`. Each rule is validated alone; those that a workspace may not set are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from pygent_ls.agent.rules.rule import Rule, RuleDecision
from pygent_ls.config.layer import Layer, ProblemKind, SettingProblem
from pygent_ls.config.settings import shown
from pygent_ls.errors import SettingError

_DECISIONS: Mapping[object, RuleDecision] = {"allow": "allow", "ask": "ask", "deny": "deny"}


def rules_of(layer: Layer, raw: object) -> tuple[Sequence[Rule], Sequence[SettingProblem]]:
    """Return the valid rules, and the problems with the others."""
    rules: list[Rule] = []
    problems: list[SettingProblem] = []
    for found in _judged(layer, raw):
        match found:
            case Rule():
                rules.append(found)
            case SettingProblem():
                problems.append(found)
    return rules, problems


def _judged(layer: Layer, raw: object) -> Iterator[Rule | SettingProblem]:
    if not isinstance(raw, Mapping):
        yield _problem(layer, "", raw, "invalid", "expected a table with the lists `allow`, `ask` and `deny`")
        return
    for key, given in cast("Mapping[object, object]", raw).items():
        decision = _DECISIONS.get(key)
        if decision is None:
            yield _problem(layer, f".{key}", given, "unknown", "no such list; use allow, ask or deny")
        elif not isinstance(given, list):
            yield _problem(layer, f".{key}", given, "invalid", "expected a list of rules")
        else:
            for each in cast("list[object]", given):
                yield _rule(layer, decision, each)


def _rule(layer: Layer, decision: RuleDecision, given: object) -> Rule | SettingProblem:
    from pygent_ls.agent.rules.rule_settings import rule_from  # with the shell's grammar; many settings have no rules

    try:
        rule = rule_from(given, decision, layer.origin_of_rules)
    except SettingError as error:
        return _problem(layer, f".{decision}", given, "invalid", str(error))
    if decision == "allow" and not layer.trusted:
        problem = "needs trust: an untrusted workspace can only ask and deny"
        return replace(_problem(layer, ".allow", rule.text, "needs_trust", problem), wanted=rule)
    return rule


def _problem(layer: Layer, key: str, raw: object, kind: ProblemKind, problem: str) -> SettingProblem:
    key = shown("", layer.spell("permissions") + key)
    return SettingProblem(layer=layer.name, key=key, value=shown("", raw), problem=problem, kind=kind)
