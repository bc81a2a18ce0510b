"""Tool calls, from their first piece to their result, and what subagents do below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from tests.editors.lsp.conversation.client import MAX_OUTPUT_CHARS
from tests.editors.lsp.conversation.story import (
    ASKED,
    CHANGE,
    Told,
    after,
    answered,
    at,
    call,
    called,
    events,
    failed,
    finished,
    kinds,
    of,
    only,
    progress,
    resulted,
    shown,
    started,
    text,
    text_delta,
    thinking_delta,
    used,
    within,
    written,
)


def statuses(*told: Told) -> list[str]:
    happened = events(started(), *told)
    return [call(after(happened[:n]))["status"] for n in range(2, len(happened) + 1)]


def test_a_call_runs_unless_the_user_is_asked_and_is_done_with_its_result() -> None:
    assert statuses(called(), progress("line\n"), resulted()) == ["running", "running", "done"]


def test_a_call_that_needs_permission_waits_for_the_user_then_runs() -> None:
    told = [called(), ASKED, answered("allow_once"), resulted()]

    assert statuses(*told) == ["running", "asked", "running", "done"]
    item = call(shown(started(), *told))
    assert (item["permissionId"], item["decision"]) == ("p1", {"outcome": "allow_once", "by": "user"})
    assert (item["at"], item["runsSince"]) == (at(2), at(4))


def test_a_call_that_is_refused_stays_so_when_its_result_says_the_same_and_says_why() -> None:
    refusal = ev.PermissionDenied(tool_id="c1", tool_name="shell", reason="the user says no")
    told = [called(), ASKED, answered("reject_always"), refusal, resulted(is_error=True)]

    assert statuses(*told) == ["running", "asked", "denied", "denied", "denied"]
    assert call(shown(started(), *told))["deniedReason"] == "the user says no"


def test_a_call_that_goes_wrong_has_failed_and_so_has_one_whose_command_failed() -> None:
    assert statuses(called(), resulted(is_error=True)) == ["running", "failed"]
    assert statuses(called(), replace(resulted(), exit_code=2)) == ["running", "failed"]


def test_a_question_that_is_closed_cancels_its_call_and_what_comes_of_it_all_the_same_counts() -> None:
    assert statuses(called(), ASKED, answered("cancelled"), resulted()) == ["running", "asked", "cancelled", "done"]


def test_a_call_keeps_what_the_model_read_and_what_it_changed() -> None:
    done = call(shown(started(), called(), replace(resulted(content="Edited."), truncated=True, changes=(CHANGE,))))

    assert done == {
        "type": "tool",
        "key": "2",
        "turnId": "t1",
        "at": at(2),
        "toolId": "c1",
        "toolName": "shell",
        "title": "Run echo",
        "kind": "execute",
        "risk": "high",
        "readOnly": False,
        "input": {"command": "echo"},
        "locations": [],
        "status": "done",
        "runsSince": at(2),
        "output": "",
        "result": {
            "content": "Edited.",
            "isError": False,
            "cached": False,
            "truncated": True,
            "durationMs": 12,
            "exitCode": None,
        },
        "changes": [
            {"uri": "file:///w/a%20b.py", "kind": "edit", "added": 1, "removed": 0, "patch": CHANGE.patch},
        ],
        "permissionId": None,
        "decision": None,
        "deniedReason": None,
    }


def test_live_output_goes_when_the_result_has_it_and_stays_where_the_call_went_wrong() -> None:
    done = call(shown(started(), called(), progress("live"), resulted()))
    stopped = call(shown(started(), called(), progress("live"), resulted(is_error=True)))

    assert (done["output"], stopped["output"]) == ("", "live")


def test_a_call_whose_input_a_hook_has_changed_is_the_same_call_with_another_input() -> None:
    changed = replace(called("c1", "Run ls"), input={"command": "ls"}, risk=ToolRisk.LOW)
    before = shown(started(), called("c1", "Run rm"), progress("?"))

    client = shown(started(), called("c1", "Run rm"), progress("?"), changed)

    assert kinds(client.below()) == ["prompt", "tool"]
    assert call(client) == call(before) | {"title": "Run ls", "input": {"command": "ls"}, "risk": "low"}


def test_a_call_with_the_id_of_one_that_is_over_is_another_one() -> None:
    client = shown(started(), called("c1", "First"), resulted(), called("c1", "Second"), progress("live"))

    assert [(each["title"], each["status"], each["output"]) for each in client.below()[1:]] == [
        ("First", "done", ""),
        ("Second", "running", "live"),
    ]


def test_the_same_id_in_two_turns_means_two_calls() -> None:
    one = [started("One"), called(), resulted(content="first"), finished()]
    client = shown(*one, *of("t2", started("Two"), called(), resulted(content="second")))

    assert [each["result"]["content"] for each in client.below() if each["type"] == "tool"] == ["first", "second"]


def test_what_is_told_of_a_call_in_another_turn_is_not_told_of_this_one() -> None:
    before = shown(started(), called())

    assert call(shown(started(), called(), *of("t2", resulted()))) == call(before)


def test_of_the_live_output_the_end_is_kept_however_it_came() -> None:
    lines = [f"line {index}\n" for index in range(6000)]
    whole = "".join(lines)

    in_pieces = call(shown(started(), called(), *map(progress, lines)))
    at_once = call(shown(started(), called(), progress(whole)))

    assert in_pieces["output"] == at_once["output"] == whole[-MAX_OUTPUT_CHARS:]


def test_a_location_has_the_lines_of_its_event() -> None:
    location = ev.Location(path=Path("/w/a.py"), first_line=2, last_line=3)

    assert call(shown(started(), replace(called(), locations=(location,))))["locations"] == [
        {
            "uri": "file:///w/a.py",
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}},
        }
    ]


# Subagents


def test_what_a_subagent_does_is_below_its_call_to_any_depth() -> None:
    client = shown(
        started(),
        called("outer", "Look around"),
        *within("outer", text_delta("I ask", "outer-text"), called("inner", "Look closer")),
        *within("inner", thinking_delta("Deep", "inner-thinking"), called("read", "Read app.py")),
        *within("inner", resulted("read", "x = 1")),
        *within("outer", resulted("inner", "It is x."), text("I asked.", "outer-text")),
        resulted("outer", "All seen."),
        text("Done."),
    )

    assert kinds(client.below()) == ["prompt", "tool", "text"]
    assert kinds(client.below(call(client, "outer")["key"])) == ["text", "tool"]
    assert kinds(client.below(call(client, "inner")["key"])) == ["thinking", "tool"]
    contents = [call(client, tool_id)["result"]["content"] for tool_id in ("outer", "inner", "read")]
    assert contents == ["All seen.", "It is x.", "x = 1"]


def test_two_subagents_side_by_side_each_have_their_own_even_where_their_calls_have_one_id() -> None:
    client = shown(
        started(),
        called("a"),
        called("b"),
        *within("a", called("c1", "Of a")),
        *within("b", called("c1", "Of b")),
        *within("a", progress("a runs")),
        *within("b", resulted("c1", "b is over")),
    )

    ((of_a,), (of_b,)) = (client.below(call(client, name)["key"]) for name in ("a", "b"))
    assert (of_a["title"], of_a["status"], of_a["output"]) == ("Of a", "running", "a runs")
    assert (of_b["title"], of_b["status"], of_b["output"]) == ("Of b", "done", "")


def test_a_subagent_that_was_stopped_leaves_nothing_streaming_below_its_call() -> None:
    below = within("outer", text_delta("I was say"), called("inner"))
    client = shown(started(), called("outer"), *below, resulted("outer", is_error=True))

    assert only(client, "text")["streaming"] is False
    assert call(client, "inner")["status"] == "cancelled"


def test_what_belongs_to_an_unknown_call_is_shown_at_the_top_and_not_lost() -> None:
    client = shown(started(), *within("nobody", text("Here I am.")))

    assert kinds(client.below()) == ["prompt", "text"]


def test_a_subagent_in_the_background_goes_on_below_its_call_after_the_end_of_the_turn() -> None:
    task = replace(called("task"), tool_name="task", input={"background": True})
    client = shown(
        started(),
        task,
        resulted("task", "It was started."),
        *within("task", called("c1")),
        finished(),
        *within("task", resulted("c1"), text("Found.")),
    )

    found = client.below(call(client, "task")["key"])
    assert kinds(client.below()) == ["prompt", "tool", "end"]
    assert [each.get("status", each.get("text")) for each in found] == ["done", "Found."]


# Drafts


def test_the_path_and_the_text_of_a_draft_grow_with_each_piece() -> None:
    draft = only(
        shown(
            started(),
            written("path", "src/"),
            written("path", "a.py"),
            written("content", "x = 1\n"),
            written("content", "y"),
        ),
        "tool",
    )

    assert (draft["status"], draft["title"], draft["output"]) == ("writing", "create_file src/a.py", "x = 1\ny")


def test_texts_of_several_arguments_are_told_apart() -> None:
    assert (
        only(shown(started(), written("edits.0.old", "a"), written("edits.0.new", "b")), "tool")["output"] == "a\n\nb"
    )


def test_the_call_takes_the_place_of_its_draft_under_the_same_key() -> None:
    draft = only(shown(started(), written("content", "x")), "tool")
    made = only(shown(started(), written("content", "x"), used(), called("c1", "Create a.py", "draft")), "tool")

    assert (made["key"], made["at"], made["runsSince"]) == (draft["key"], draft["at"], at(4))
    assert (made["toolId"], made["title"], made["status"], made["output"]) == ("c1", "Create a.py", "running", "")


def test_two_drafts_become_the_calls_of_their_items_in_any_order() -> None:
    told = [written("content", "x", "one"), written("content", "y", "two"), used()]
    client = shown(started(), *told, called("c2", item_id="two"), called("c1", item_id="one"))

    assert [(each["toolId"], each["status"]) for each in client.below()[1:]] == [("c1", "running"), ("c2", "running")]


@pytest.mark.parametrize("end", [failed(1, "draft"), used(), ev.Cancelled(), finished()], ids=lambda each: each.type)
def test_a_draft_without_a_call_is_cancelled(end: ev.AgentEvent) -> None:
    assert only(shown(started(), written("content", "x"), end), "tool")["status"] == "cancelled"


def test_a_second_attempt_has_a_draft_of_its_own() -> None:
    client = shown(started(), written("content", "x"), failed(1, "draft"), written("content", "x", "again"))

    assert [each.get("status") for each in client.below()] == [None, "cancelled", None, "writing"]


def test_the_draft_of_a_subagent_is_below_its_call() -> None:
    client = shown(started(), called("c1"), *within("c1", written("content", "x")))

    assert [each["status"] for each in client.below(call(client)["key"])] == ["writing"]
