"""What a command is about, by its arguments and by where actions were asked for last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pygent_ls.editors.lsp.actions import ActionTarget
from pygent_ls.editors.lsp.commands.code_actions import MAX_LINE
from pygent_ls.editors.lsp.commands.targets import fix_target_in, target_in
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError

URI, OTHER = "file:///a.py", "file:///b.py"


def problem(line: int) -> Mapping[str, Any]:
    return {"message": f"of line {line}", "range": {"start": {"line": line, "character": 0}}}


LAST = ActionTarget(uri=URI, first_line=3, last_line=5, diagnostics=(problem(3), problem(5)))


def at(first: int, last: int, *lines: int, uri: str = URI) -> ActionTarget:
    return ActionTarget(uri=uri, first_line=first, last_line=last, diagnostics=tuple(problem(line) for line in lines))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], LAST),
        ([None], LAST),
        ([7, "odd"], LAST),
        ([URI], LAST),
        ([URI, None], LAST),
        ([OTHER], at(0, 0, uri=OTHER)),
        ([URI, 1, 2], at(1, 2)),
        ([URI, 1, 2, "more", problem(1)], at(1, 2)),
        ([URI, 5], at(5, 5, 5)),
        ([URI, 2.0, 4.0], at(2, 4, 3)),
        ([URI, 4, 2], at(2, 4, 3)),
        ([URI, -1, 0], at(0, 0)),
        ([OTHER, float("inf"), float("nan")], at(0, MAX_LINE, uri=OTHER)),
        ([OTHER, 10**400], at(MAX_LINE, MAX_LINE, uri=OTHER)),
        ([OTHER, 3, 5], at(3, 5, uri=OTHER)),
    ],
    ids=str,
)
def test_what_the_arguments_leave_out_is_where_actions_were_asked_for(
    arguments: Sequence[Any], expected: ActionTarget
) -> None:
    assert target_in(arguments, LAST) == expected
    assert fix_target_in(arguments, LAST) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (problem(9), at(9, 9, 9)),
        ([problem(9), problem(2), 7], at(2, 9, 9, 2)),
        ([], LAST),
        ([7], LAST),
        (problem(10**400), at(MAX_LINE, MAX_LINE, 10**400)),
    ],
    ids=str,
)
def test_diagnostics_that_are_given_are_the_ones_to_fix(given: object, expected: ActionTarget) -> None:
    assert fix_target_in([URI, given, "more"], LAST) == expected


@pytest.mark.parametrize("arguments", [[], [None], [7], [{"uri": URI}]], ids=str)
def test_where_nothing_says_it_the_user_is_told_how_to(arguments: Sequence[Any]) -> None:
    with pytest.raises(InvalidParamsError, match="Request code actions first"):
        target_in(arguments, None)
