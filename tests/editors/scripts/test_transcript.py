"""What the events of a turn are as lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import FinishReason
from pygent_ls.editors.scripts.transcript import Transcript
from pygent_ls.sessions.event_stream import SessionEvent

STARTED = ev.TurnStarted(prompt="go", model="m/one", mode="default", agent="default")


class Telling:
    """A transcript, and events as a session delivers them."""

    def __init__(self, *, shows_partial: bool = False) -> None:
        ids = count(1)
        self.transcript = Transcript(shows_partial=shows_partial, new_id=lambda: str(next(ids)))
        self._n = count(1)

    def lines(self, *events: ev.AgentEvent, parent: str | None = None, iteration: int = 1) -> list[dict[str, Any]]:
        """What they come to."""
        return [
            dict(line)
            for event in events
            for line in self.transcript.lines(
                SessionEvent(
                    event=event,
                    seq=next(self._n),
                    turn_id="t1",
                    iteration=iteration,
                    total_tokens=0,
                    timestamp=datetime(2026, 1, 1, tzinfo=UTC),
                    parent_tool_id=parent,
                )
            )
        ]


def answered(
    finish: FinishReason = "end_turn", n_calls: int = 0, model: str = "m/one", usage: Usage | None = None
) -> ev.UsageReported:
    own = usage or Usage(input_tokens=10, output_tokens=2)
    return ev.UsageReported(
        usage=Usage(), answered=ev.ModelAnswered(model=model, finish=finish, usage=own, n_calls=n_calls)
    )


def call(tool_id: str = "c1", **given: Any) -> ev.ToolCall:
    return ev.ToolCall(
        tool_id=tool_id,
        tool_name="read_file",
        input=given or {"path": "a.py"},
        title="Read a.py",
        kind="read",
        risk=ToolRisk.LOW,
        read_only=True,
        locations=(),
    )


def result(tool_id: str = "c1", content: str = "x = 1", *, is_error: bool = False) -> ev.ToolResult:
    return ev.ToolResult(
        tool_id=tool_id,
        tool_name="read_file",
        content=content,
        is_error=is_error,
        cached=False,
        truncated=False,
        duration_s=0.1,
    )


def blocks(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for line in lines if "message" in line for block in line["message"]["content"]]


def test_each_block_of_an_answer_is_a_line_and_all_have_its_id_and_what_it_took() -> None:
    telling = Telling()

    lines = telling.lines(
        STARTED,
        ev.Thinking(item_id="i1", content="hm"),
        ev.Text(item_id="i2", content="I look."),
        answered("tools", 1, usage=Usage(input_tokens=30, output_tokens=2, cache_read_tokens=20, cache_write_tokens=4)),
        call(),
        result(),
        ev.Text(item_id="i3", content="Done."),
        answered(),
        ev.Finished(stop_reason="end_turn", usage=Usage(), files_changed=()),
    )

    assert [line["type"] for line in lines] == ["assistant", "assistant", "assistant", "user", "assistant"]
    assert blocks(lines) == [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}},
        {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1", "is_error": False},
        {"type": "text", "text": "Done."},
    ]
    first = {key: value for key, value in lines[0]["message"].items() if key != "content"}
    assert first == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m/one",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 6,
            "output_tokens": 2,
            "cache_creation_input_tokens": 4,
            "cache_read_input_tokens": 20,
        },
    }
    assert [line["message"].get("id") for line in lines] == ["msg_1", "msg_1", "msg_1", None, "msg_2"]
    assert lines[4]["message"]["stop_reason"] == "end_turn"


def test_pieces_are_told_only_where_they_are_wanted() -> None:
    assert (
        Telling().lines(STARTED, ev.TextDelta(item_id="i", content="D"), ev.ToolProgress(tool_id="c", content="o"))
        == []
    )


def events_in(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line["event"] for line in lines if line["type"] == "stream_event"]


def test_pieces_are_events_of_the_messages_api_and_end_before_the_tool_runs() -> None:
    telling = Telling(shows_partial=True)

    lines = telling.lines(
        STARTED,
        ev.ThinkingDelta(item_id="i1", content="h"),
        ev.ThinkingDelta(item_id="i1", content="m"),
        ev.TextDelta(item_id="i2", content="I look."),
        ev.Thinking(item_id="i1", content="hm"),
        ev.Text(item_id="i2", content="I look."),
        answered("tools", 1),
        call(),
    )

    usage = {"input_tokens": 10, "output_tokens": 2, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    start, *rest = events_in(lines)
    assert (start["type"], start["message"]["id"], start["message"]["content"]) == ("message_start", "msg_1", [])
    assert rest == [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I look."}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"path": "a.py"}'},
        },
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    assert {line["message"]["id"] for line in lines if line["type"] == "assistant"} == {"msg_1"}


def test_an_answer_that_does_not_stream_comes_as_one_piece() -> None:
    telling = Telling(shows_partial=True)

    lines = telling.lines(STARTED, ev.Text(item_id="i", content="All of it."), answered())

    deltas = [each["delta"] for each in events_in(lines) if each["type"] == "content_block_delta"]
    assert deltas == [{"type": "text_delta", "text": "All of it."}]


def test_what_a_failed_attempt_said_is_in_no_message() -> None:
    telling = Telling(shows_partial=True)
    failed = ev.LlmError(
        error_type="network", error_message="broke", retryable=True, attempt=1, will_retry=True, withdrawn=("i1",)
    )

    lines = telling.lines(
        STARTED,
        ev.TextDelta(item_id="i1", content="half"),
        failed,
        ev.TextDelta(item_id="i2", content="whole"),
        ev.Text(item_id="i2", content="whole"),
        answered(model="m/fallback"),
    )

    assert blocks([line for line in lines if line["type"] == "assistant"]) == [{"type": "text", "text": "whole"}]
    starts = [each["message"]["id"] for each in events_in(lines) if each["type"] == "message_start"]
    assert starts == ["msg_1", "msg_2"]
    assert [line["message"]["model"] for line in lines if line["type"] == "assistant"] == ["m/fallback"]


def test_a_subagents_lines_name_the_call_and_stand_between_those_of_the_turn() -> None:
    telling = Telling()
    telling.lines(STARTED, answered("tools", 1), call("t1", prompt="look"))

    inside = telling.lines(
        ev.Text(item_id="i1", content="Found."), answered("tools", 1, model="m/small"), call("c2"), parent="t1"
    )
    beside = telling.lines(ev.Text(item_id="i9", content="Other."), answered(), parent="t2")
    after = telling.lines(result("c2"), parent="t1") + telling.lines(result("t1", "Found."))

    assert [line["parent_tool_use_id"] for line in (*inside, *beside, *after)] == ["t1", "t1", "t2", "t1", None]
    assert {line["message"]["model"] for line in inside} == {"m/small"}
    assert inside[0]["message"]["id"] != beside[0]["message"]["id"]


def test_what_was_denied_is_kept_with_the_input_that_was_judged() -> None:
    telling = Telling()

    lines = telling.lines(
        STARTED,
        answered("tools", 1),
        call("c1", path="a.py"),
        call("c1", path="b.py"),
        ev.PermissionDenied(tool_id="c1", tool_name="read_file", reason="a rule denies it"),
        result("c1", "Permission denied", is_error=True),
    )

    assert [line["type"] for line in lines] == ["assistant", "user"], "a call that a hook changed is one call"
    assert telling.transcript.denials == [
        {"tool_name": "read_file", "tool_use_id": "c1", "tool_input": {"path": "b.py"}}
    ]


def test_a_commands_answer_is_told_although_no_model_gave_it() -> None:
    telling = Telling()

    lines = telling.lines(
        STARTED,
        ev.Text(item_id="i", content="Commands: …"),
        ev.Finished(stop_reason="end_turn", usage=Usage(), files_changed=()),
        iteration=0,
    )

    assert blocks(lines) == [{"type": "text", "text": "Commands: …"}]
    assert lines[0]["message"]["stop_reason"] is None


def test_a_compaction_is_a_boundary_where_it_happens() -> None:
    telling = Telling()
    compacted = ev.Compacted(tokens_before=900, tokens_after=300, messages_summarised=7)

    (auto,), (wish,) = telling.lines(compacted, iteration=3), telling.lines(compacted, iteration=0)

    assert auto == {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {"trigger": "auto", "pre_tokens": 900, "post_tokens": 300, "messages_summarized": 7},
    }
    assert wish["compact_metadata"]["trigger"] == "manual"


def test_a_tools_output_is_told_as_it_comes_where_pieces_are_wanted() -> None:
    telling = Telling(shows_partial=True)
    lines = telling.lines(
        STARTED, answered("tools", 1), call(), ev.ToolProgress(tool_id="c1", content="one\n"), result()
    )

    common = {"type": "tool_progress", "tool_use_id": "c1", "tool_name": "read_file", "parent_tool_use_id": None}
    assert [line for line in lines if line["type"] == "tool_progress"] == [
        {**common, "status": status, "content": content, "elapsed_time_seconds": 0.0}
        for status, content in (("started", ""), ("running", "one\n"), ("ended", ""))
    ]
    assert [line["type"] for line in lines][-2:] == ["tool_progress", "user"]


def test_a_call_that_a_hook_changed_starts_once() -> None:
    telling = Telling(shows_partial=True)
    lines = telling.lines(STARTED, answered("tools", 1), call(), call(path="b.py"))

    assert [line["status"] for line in lines if line["type"] == "tool_progress"] == ["started"]


@pytest.mark.parametrize(
    ("will_retry", "fallback", "lines"),
    [(True, None, 1), (False, "m/two", 1), (False, None, 0)],
)
def test_a_repeated_model_call_has_a_line(*, will_retry: bool, fallback: str | None, lines: int) -> None:
    error = ev.LlmError(
        error_type="rate_limit",
        error_message="slow down",
        retryable=True,
        attempt=2,
        will_retry=will_retry,
        retry_in_s=1.5 if will_retry else None,
        fallback_model=fallback,
    )

    expected = {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 2,
        "retry_delay_ms": 1500 if will_retry else 0,
        "error": "rate_limit",
        "error_message": "slow down",
        "fallback_model": fallback,
        "parent_tool_use_id": None,
    }
    assert Telling().lines(error) == [expected] * lines


def test_the_last_limit_is_remembered_in_words() -> None:
    telling = Telling()

    assert telling.lines(ev.IterationLimitReached(limit=2, value=2)) == []
    assert telling.transcript.limit_text == "The limit of 2 model calls per turn was reached."


SAID = st.text(min_size=1, max_size=8)
PIECES = st.lists(SAID, min_size=1, max_size=4)


@given(st.lists(st.tuples(PIECES, st.integers(0, 3)), min_size=1, max_size=5), st.booleans())
def test_pieces_add_up_to_the_blocks_whatever_comes(answers: list[tuple[list[str], int]], streams: bool) -> None:
    """Each message that is begun is ended, its blocks too, and its deltas are its blocks' content."""
    telling = Telling(shows_partial=True)
    lines = telling.lines(STARTED)
    for number, (pieces, n_calls) in enumerate(answers):
        deltas = [ev.TextDelta(item_id=f"i{number}", content=piece) for piece in pieces] if streams else []
        calls = [call(f"c{number}-{n}", path=f"{n}.py") for n in range(n_calls)]
        whole = ev.Text(item_id=f"i{number}", content="".join(pieces))
        lines += telling.lines(*deltas, whole, answered("tools" if calls else "end_turn", n_calls), *calls)

    told = events_in(lines)
    kinds = [each["type"] for each in told]
    assert kinds.count("message_start") == kinds.count("message_stop") == len(answers)
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == len(blocks(lines))
    said = ["".join(pieces) for pieces, _ in answers]
    assert "".join(each["delta"].get("text", "") for each in told if "delta" in each) == "".join(said)
    assert [each["text"] for each in blocks(lines) if each["type"] == "text"] == said
    assert [each["index"] for each in told if each["type"] == "content_block_start"] == [
        index for _, n_calls in answers for index in range(n_calls + 1)
    ]
