"""Turns as they wait, begin and end, what the user says, and what is told in one event."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.hooks import HookRan
from tests.editors.lsp.conversation.story import (
    CHANGE,
    FILE,
    NOTHING_USED,
    REPORT,
    Of,
    after,
    at,
    call,
    called,
    edited,
    events,
    finished,
    kinds,
    of,
    only,
    queued,
    resulted,
    shown,
    started,
    text,
    text_delta,
    thinking_delta,
    used,
    within,
)

CHANGED = {"uri": "file:///w/a%20b.py", "kind": "edit", "added": 1, "removed": 0}


def test_an_end_says_how_long_it_took_what_it_took_and_which_files_it_changed() -> None:
    usage = Usage(input_tokens=120, context_tokens=100)

    client = shown(started(), text("Done."), finished(CHANGE, usage=usage))

    spent = NOTHING_USED | {"inputTokens": 120, "totalTokens": 120, "contextTokens": 100}
    assert only(client, "end") == {
        "type": "end",
        "key": "3",
        "turnId": "t1",
        "at": at(3),
        "stopReason": "end_turn",
        "usage": spent,
        "filesChanged": [CHANGED],
        "rejected": [0],
        "durationMs": 2000,
    }
    assert client.turns == {
        "t1": {
            "turnId": "t1",
            "seq": 1,
            "state": "finished",
            "model": "openai/mock",
            "mode": "default",
            "agent": "code",
            "startedAt": at(1),
            "finishedAt": at(3),
            "endSeq": 3,
            "stopReason": "end_turn",
            "usage": spent,
            "asked": True,
            "plan": None,
            "filesChanged": [CHANGED],
        },
    }


def test_the_duration_is_that_of_the_event_if_it_has_one() -> None:
    assert only(shown(started(), replace(finished(), duration_s=0.07)), "end")["durationMs"] == 70


def test_a_slash_command_asks_no_model() -> None:
    client = shown(started("/help"), Of(finished(), iteration=0))

    assert client.turns["t1"]["asked"] is False


# Ends


@pytest.mark.parametrize("end", [ev.Cancelled(), ev.Interrupted()], ids=lambda each: each.type)
def test_a_turn_that_is_cut_off_leaves_nothing_streaming_running_or_asked(end: ev.AgentEvent) -> None:
    client = shown(
        started(),
        thinking_delta("Hm"),
        text_delta("I"),
        called("c1"),
        *within("c1", text_delta("Sub", "x"), called("c2")),
        ev.PermissionRequested(permission_id="p1", tool_id="c1"),
        end,
    )

    assert [each["streaming"] for each in client.items.values() if "streaming" in each] == [False, False, False]
    assert [call(client, each)["status"] for each in ("c1", "c2")] == ["cancelled", "cancelled"]
    assert kinds(client.below()) == ["prompt", "thinking", "text", "tool"]


def test_the_calls_that_a_cancel_stopped_are_cancelled_and_what_had_failed_before_has_failed() -> None:
    client = shown(
        started(),
        called("early"),
        resulted("early", is_error=True, ms=0),
        text("Again."),
        called("bad"),
        called("long"),
        called("never"),
        resulted("bad", is_error=True, ms=40),
        resulted("long", is_error=True, ms=0),
        resulted("never", is_error=True, ms=0),
        ev.Notice(content="It could not be kept.", level="warning"),
        ev.Cancelled(),
        ev.Steered(content="Wait"),
        finished(stop="cancelled"),
    )

    states = [call(client, each)["status"] for each in ("early", "bad", "long", "never")]
    assert states == ["failed", "failed", "cancelled", "cancelled"]
    assert only(client, "end")["stopReason"] == "cancelled"


def test_what_a_cancel_stopped_within_a_subagent_is_cancelled_too() -> None:
    below = within("task", called("c1"), resulted("c1", is_error=True, ms=0))
    client = shown(started(), called("task"), *below, resulted("task", is_error=True, ms=0), ev.Cancelled())

    assert [call(client, each)["status"] for each in ("task", "c1")] == ["cancelled", "cancelled"]


def test_the_end_of_a_turn_settles_what_no_event_has() -> None:
    client = shown(started(), thinking_delta("Hm"), called(), finished())

    assert (only(client, "thinking")["streaming"], only(client, "thinking")["endedAt"]) == (False, at(4))
    assert call(client)["status"] == "cancelled"


# The queue


def waiting(turn: str, prompt: str, *, held: bool = False) -> dict[str, object]:
    return {"turnId": turn, "prompt": prompt, "attachments": [], "held": held}


def test_a_turn_that_waits_is_in_the_queue_until_it_begins() -> None:
    told = events(
        started("One"),
        *of("t2", queued("Two")),
        *of("t3", queued("Three")),
        finished(),
        *of("t2", started("Two")),
    )

    waits, runs = after(told[:3]), after(told)

    assert waits.queue == [waiting("t2", "Two"), waiting("t3", "Three")]
    assert (waits.running, waits.turns["t2"]["state"]) == ("t1", "queued")
    assert runs.queue == [waiting("t3", "Three")]
    assert (runs.running, runs.turns["t2"]["state"], runs.turns["t2"]["startedAt"]) == ("t2", "running", at(5))
    assert kinds(runs.below()) == ["prompt", "end", "prompt"]


def test_a_prompt_that_waited_when_the_daemon_ended_is_held_until_it_is_sent_again() -> None:
    told = [started("One"), *of("t2", queued("Two")), ev.Interrupted(), finished(stop="interrupted")]
    told += of("t2", queued("Two", held=True))
    held, again = shown(*told), shown(*told, *of("t2", started("Two")))

    assert (held.queue, held.running) == ([waiting("t2", "Two", held=True)], None)
    assert (again.queue, again.running) == ([], "t2")


def test_a_turn_that_is_taken_out_of_the_queue_leaves_no_trace_beside_the_one_that_runs() -> None:
    told = [started("One"), text_delta("I"), *of("t2", queued("Two"))]
    removed = of("t2", started("Two"), ev.Cancelled(), finished(stop="cancelled"))

    before, client = shown(*told), shown(*told, *removed)

    assert (client.queue, client.running) == ([], "t1")
    assert client.below() == before.below()
    assert client.turns["t2"]["state"] == "finished"


def test_a_turn_that_ends_in_the_queue_without_a_beginning_is_out_of_it() -> None:
    client = shown(started("One"), *of("t2", queued("Two"), finished(stop="cancelled")))

    assert (client.queue, kinds(client.below()), client.running) == ([], ["prompt"], "t1")


def test_a_turn_that_the_end_of_the_daemon_kept_from_running_is_shown_so_that_its_prompt_is_not_lost() -> None:
    client = shown(
        started("One"),
        *of("t2", queued("Two")),
        ev.Interrupted(),
        finished(stop="interrupted"),
        *of("t2", started("Two"), ev.Interrupted(), finished(stop="interrupted")),
    )

    assert [each.get("text", each["type"]) for each in client.below()] == ["One", "end", "Two", "end"]
    assert (client.queue, client.running) == ([], None)


# Prompts and reports


def test_a_report_stands_before_the_words_that_it_came_with_and_is_no_part_of_them() -> None:
    client = shown(started("Explain it", REPORT, FILE))

    assert client.below() == [
        {
            "type": "review",
            "key": "1 review 0",
            "turnId": "t1",
            "at": at(1),
            "text": "+x = 1",
            "files": [{"uri": "file:///w/a b.py", "rejected": 2}],
        },
        {
            "type": "prompt",
            "key": "1",
            "turnId": "t1",
            "at": at(1),
            "text": "Explain it",
            "steered": False,
            "attachments": [{"type": "file", "uri": "file:///w/a%20b.py"}],
        },
    ]


def test_a_report_that_steers_a_turn_alone_is_no_prompt() -> None:
    assert kinds(shown(started(), ev.Steered(content="", attachments=(REPORT,))).below()) == ["prompt", "review"]


def test_a_rejection_counts_at_the_end_of_the_last_turn_that_changed_the_file() -> None:
    turns = [each for name in ("t1", "t2") for each in of(name, started(), *edited(), finished(CHANGE))]
    client = shown(*turns, *of("t3", started("Go on", REPORT)))

    assert [each["rejected"] for each in client.below() if each["type"] == "end"] == [[0], [2]]


def test_what_is_rejected_while_the_turn_runs_counts_at_its_own_end_if_it_changed_the_file() -> None:
    steered = ev.Steered(content="", attachments=(REPORT,))
    own = shown(started(), *edited(), steered, finished(CHANGE))
    before = shown(started(), *edited(), finished(CHANGE), *of("t2", started("Go on"), steered))

    assert only(own, "end")["rejected"] == [2]
    assert only(before, "end")["rejected"] == [2]


def test_a_prompt_that_waits_tells_what_it_carries() -> None:
    client = shown(started(), *of("t2", queued("Then", REPORT, FILE)))

    assert client.queue[0]["attachments"] == [{"type": "file", "uri": "file:///w/a%20b.py"}]


# What is told in one event


def test_what_is_told_in_one_event_stands_where_it_happened() -> None:
    client = shown(
        started(),
        ev.Notice(content="Loading the model…"),
        HookRan(hook_event="pre_tool_use", command="lint", decision="deny", duration_s=0.007),
        ev.Compacted(tokens_before=9000, tokens_after=800, messages_summarised=12),
        ev.Steered(content="Use tabs"),
        ev.BudgetLimitReached(limit=1, value=1.25),
    )

    parts = [{"key": str(seq), "turnId": "t1", "at": at(seq)} for seq in range(7)]
    assert client.below()[1:] == [
        {**parts[2], "type": "notice", "level": "info", "text": "Loading the model…"},
        {
            **parts[3],
            "type": "hook",
            "hookEvent": "pre_tool_use",
            "command": "lint",
            "decision": "deny",
            "durationMs": 7,
        },
        {**parts[4], "type": "compacted", "tokensBefore": 9000, "tokensAfter": 800, "messagesSummarised": 12},
        {**parts[5], "type": "prompt", "text": "Use tabs", "steered": True, "attachments": []},
        {**parts[6], "type": "limit", "limitType": "budget_limit_reached", "limit": 1, "value": 1.25},
    ]


@pytest.mark.parametrize(
    "limit",
    [
        ev.IterationLimitReached(limit=3, value=4),
        ev.TokenLimitReached(limit=3, value=4),
        ev.TimeLimitReached(limit=3, value=4),
        ev.LoopDetected(limit=3, value=4),
    ],
    ids=lambda each: each.type,
)
def test_each_limit_is_shown_as_one(limit: ev.IterationLimitReached) -> None:
    item = only(shown(started(), limit), "limit")

    assert (item["limitType"], item["limit"], item["value"]) == (limit.type, 3, 4)


def entry(content: str) -> ev.PlanEntry:
    return ev.PlanEntry(content=content, status="pending")


def test_the_plan_is_the_last_one_that_was_told_and_that_of_a_subagent_is_its_own() -> None:
    client = shown(
        started(),
        ev.PlanChanged(entries=(entry("First"), entry("Second"))),
        ev.PlanChanged(entries=(entry("Third"),)),
        called("task"),
        *within("task", ev.PlanChanged(entries=(entry("Beside"),))),
        finished(),
    )

    assert client.turns["t1"]["plan"] == [{"content": "Third", "status": "pending", "priority": "medium"}]


def test_what_was_used_is_known_while_the_turn_runs_also_by_what_a_subagent_tells() -> None:
    client = shown(started(), called("task"), *within("task", used(input_tokens=120)))

    assert client.turns["t1"]["usage"] == NOTHING_USED | {"inputTokens": 120, "totalTokens": 120}
    assert client.below(call(client, "task")["key"]) == []
