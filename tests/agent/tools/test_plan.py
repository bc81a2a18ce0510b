"""The plan that a session keeps."""

from __future__ import annotations

from pygent_ls.agent.events import PlanEntry
from pygent_ls.agent.tools.plan import Plan


def test_the_model_is_reminded_of_a_plan_while_something_is_left_to_do() -> None:
    done = PlanEntry(content="find", status="completed")
    plan = Plan((done, PlanEntry(content="mend", status="in_progress"), PlanEntry(content="test", status="pending")))

    assert [each.content for each in plan.open_entries] == ["mend", "test"]
    assert plan.text == "Current plan:\n- completed: find\n- in progress: mend\n- pending: test"
    assert (Plan((done,)).text, Plan().text) == ("", "")
