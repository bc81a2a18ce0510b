"""Problems that an edit has brought: older ones stay old, wherever their lines are now."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.new_problems import MAX_SHOWN, new_problems, problems_note
from pygent_ls.agent.ports.editor_state import Problem, Severity
from pygent_ls.agent.ports.language_features import CheckedFile

LINES = st.lists(st.sampled_from(["a", "b", "bad", "", "bad bad"]), max_size=12)


def problem(line: int, message: str = "bad", severity: Severity = "error", column: int = 1) -> Problem:
    return Problem(line=line, column=column, severity=severity, message=message)


def checked(text: str, *problems: Problem) -> CheckedFile:
    return CheckedFile(path=Path("/w/a.py"), text=text, problems=problems, is_complete=True)


def by_line(lines: list[str]) -> CheckedFile:
    """A checker that reports each line with `bad`."""
    return checked(
        "\n".join(lines), *(problem(at, f"bad in line {at}") for at, each in enumerate(lines, 1) if "bad" in each)
    )


def test_a_problem_below_inserted_lines_is_old() -> None:
    before = checked("a\nbad\n", problem(2, "bad, first seen in line 2"))
    after = checked("new\nnew\na\nbad\n", problem(4, "bad, first seen in line 4"))

    assert new_problems(before, after) == []


def test_a_second_problem_of_the_same_kind_is_new() -> None:
    before = checked("bad\na\n", problem(1))
    after = checked("bad\na\nbad\n", problem(1), problem(3))

    assert new_problems(before, after) == [problem(3)]


def test_a_problem_of_an_unchanged_line_is_new_if_the_line_had_none() -> None:
    before = checked("use(x)\nx = 1\n")
    after = checked("use(x)\n", problem(1, "x is not defined"))

    assert new_problems(before, after) == [problem(1, "x is not defined")]


def test_a_problem_that_stays_in_a_changed_line_is_old() -> None:
    before = checked("bad = 1\n", problem(1, column=1))
    after = checked("  bad = 2\n", problem(1, column=3))

    assert new_problems(before, after) == []


def test_errors_come_first_and_remarks_are_left_out() -> None:
    after = checked("a\nb\n", problem(1, severity="warning"), problem(2), problem(2, "hint", "hint"))

    assert new_problems(checked("a\n"), after) == [problem(2), problem(1, severity="warning")]


@given(LINES, LINES)
def test_removing_lines_brings_no_problem_and_each_added_one_does(kept: list[str], added: list[str]) -> None:
    n_bad = sum("bad" in each for each in added)

    assert new_problems(by_line([*kept, *added]), by_line(kept)) == []
    assert len(new_problems(by_line(kept), by_line([*kept, *added]))) == n_bad
    assert new_problems(by_line(kept), by_line(kept)) == []


def test_a_long_list_is_cut_and_says_so() -> None:
    note = problems_note("a.py", [problem(at) for at in range(1, MAX_SHOWN + 4)], are_new=True)

    assert note.startswith(f"{MAX_SHOWN + 3} new problems in a.py after this edit:\n  1:1 error: bad\n")
    assert note.endswith("\n  [3 more: call diagnostics]")
    assert problems_note("a.py", [problem(1)], are_new=False).startswith(
        "1 problem in a.py after this edit (some may be older than this edit):"
    )
    assert problems_note("a.py", [], are_new=True) == ""
