"""Rules as settings write them: a text, or a table with examples that prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pygent_ls.agent.rules.matcher import matches
from pygent_ls.agent.rules.rule import Rule, RuleDecision, RuleOrigin, parse
from pygent_ls.errors import SettingError


def rule_from(given: object, decision: RuleDecision, origin: RuleOrigin) -> Rule:
    """Parse a rule as settings write it: its text, or a table with `rule` and the examples `match` and `not_match`.

    Raises `SettingError` if it is invalid, or if an example shows that it does something else.
    """
    if isinstance(given, str):
        parse(given)
        return Rule(text=given, decision=decision, origin=origin)
    if not isinstance(given, Mapping):
        raise SettingError("a rule must be a string, or a table with `rule`, `match` and `not_match`")
    table = cast("Mapping[str, object]", given)
    text = table.get("rule")
    if not isinstance(text, str) or not table.keys() <= {"rule", "match", "not_match"}:
        raise SettingError("the table of a rule must have `rule` (a string) and may have `match` and `not_match`")
    parse(text)
    rule = Rule(text=text, decision=decision, origin=origin)
    _check(rule, _examples(table, "match"), is_matched=True)
    _check(rule, _examples(table, "not_match"), is_matched=False)
    return rule


def _examples(table: Mapping[str, object], key: str) -> Sequence[str]:
    given = table.get(key, [])
    if not isinstance(given, list) or not all(isinstance(each, str) for each in cast("list[object]", given)):
        raise SettingError(f"`{key}` of the rule {table['rule']} must be a list of strings")
    return cast("list[str]", given)


def _check(rule: Rule, examples: Sequence[str], *, is_matched: bool) -> None:
    for example in examples:
        if matches(rule, example) != is_matched:
            does = "does not match" if is_matched else "matches"
            raise SettingError(f"the rule {rule.text} {does} its example {example!r}")
