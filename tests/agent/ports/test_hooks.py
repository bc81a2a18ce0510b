"""What several hooks of one event come to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.hooks import STRICTEST, HookOutcome, HookRan, together

outcomes = st.lists(
    st.builds(
        HookOutcome,
        decision=st.sampled_from([None, "allow", "ask", "deny"]),
        reason=st.text(max_size=5),
        tool_input=st.none() | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
        context=st.text(max_size=5),
        notices=st.lists(st.text(max_size=5), max_size=2).map(tuple),
        ran=st.just((HookRan(hook_event="stop", command="x", decision="", duration_s=0.0),)),
    ),
    max_size=5,
)


@given(outcomes)
def test_no_decision_is_milder_than_the_strictest_that_any_hook_took(said: list[HookOutcome]) -> None:
    together_said = together(said)

    strict = [each for each in STRICTEST if each != "allow" and any(one.decision == each for one in said)]
    assert together_said.decision in (strict[:1] or [None, "allow"])
    assert together_said.decision is None or any(each.decision == together_said.decision for each in said)


@given(outcomes)
def test_an_allow_is_for_the_input_that_runs(said: list[HookOutcome]) -> None:
    together_said = together(said)

    rewriting = [each for each in said if each.tool_input is not None]
    assert together_said.tool_input == (rewriting[-1].tool_input if rewriting else None)
    if rewriting and together_said.decision == "allow":
        assert rewriting[-1].decision == "allow"


@given(outcomes)
def test_nothing_that_a_hook_adds_or_complains_of_is_lost(said: list[HookOutcome]) -> None:
    together_said = together(said)

    assert all(each.context in together_said.context for each in said)
    assert set(together_said.notices) >= {notice for each in said for notice in each.notices}
    assert len(together_said.ran) == len(said)


def test_two_that_change_the_input_are_told_of() -> None:
    said = together([HookOutcome(tool_input={"a": 1}), HookOutcome(tool_input={"a": 2})])
    assert said.notices == ("2 hooks changed the input of one call; the last change was used.",)
    assert said.tool_input == {"a": 2}


def test_the_reasons_are_those_of_the_decision_that_counts() -> None:
    said = together([HookOutcome(decision="ask", reason="hm"), HookOutcome(decision="deny", reason="no")])
    assert (said.decision, said.reason) == ("deny", "no")
