"""What a session's events come to: a conversation, made of them in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.neovim.stories import (
    TRANSCRIPTS,
    USAGE,
    Event,
    called,
    failed,
    finished,
    numbered,
    recorded,
    resulted,
    said,
    started,
)

Lua = Callable[..., Any]
Seen = dict[str, Any]

TAKE = """
local conversation = require("pygent.conversation")
local function seen(item, is_shallow)
  local copy = {}
  for name, value in pairs(item) do
    if name == "children" then
      copy.children = not is_shallow and vim.tbl_map(function(child) return seen(child) end, value) or nil
    elseif name == "parts" then
      copy.text = table.concat(value)
    elseif name == "output_parts" then
      copy.output = conversation.output(item)
    elseif name ~= "parent" then
      copy[name] = value
    end
  end
  return copy
end
local function each(items, visit)
  for _, item in ipairs(items) do
    visit(item)
    each(item.children or {}, visit)
  end
end
local made, untold = conversation.new("s1"), {}
for _, events in ipairs(...) do
  local before = {}
  each(made.items, function(item) before[item] = seen(item, true) end)
  local touched = {}
  for _, item in ipairs(conversation.take(made, events)) do touched[item] = true end
  each(made.items, function(item)
    if not touched[item] and (before[item] == nil or not vim.deep_equal(before[item], seen(item, true))) then
      table.insert(untold, item.key)
    end
  end)
end
local shown = seen(made)
shown._scopes, shown.items, shown.untold = nil, vim.tbl_map(function(item) return seen(item) end, made.items), untold
return shown
"""
"""What a conversation is after those batches of events, `untold` the keys of items that changed without being named."""


def after(lua: Lua, *batches: Sequence[Event]) -> Seen:
    return cast("Seen", lua(TAKE, [list(batch) for batch in batches]))


def shown(lua: Lua, *told: Event) -> Seen:
    return after(lua, numbered(*told))


def outline(items: Sequence[Seen]) -> list[str]:
    """Each item in a line, those of a subagent indented."""
    lines: list[str] = []
    for item in items:
        lines.append(line_of(item))
        lines += [f"  {line}" for line in outline(item.get("children") or [])]
    return lines


def line_of(item: Seen) -> str:
    match item["type"]:
        case "prompt":
            return f"{'steered' if item['steered'] else 'prompt'}: {item['text'][:20]}"
        case "text" | "thinking":
            return f"{'withdrawn' if item['withdrawn'] else item['type']}: {item['text'][:20]}"
        case "tool":
            return f"{item['status']}: {item['title'][:20]}"
        case "failure":
            return f"{item['state']}: {item['error_type']} {item['attempt']}"
        case "end":
            return f"end: {item['stop_reason']}"
        case other:
            return cast("str", other)


OUTLINES = {
    "answer_with_thinking": [
        "prompt: go",
        "thinking: A greeting, and a bi",
        "text: Hello, **you**.\n\n```",
        "end: end_turn",
    ],
    "cancelled_at_a_prompt": ["prompt: go", "cancelled: Edit app.py", "end: cancelled"],
    "cancelled_in_a_tool": ["prompt: go", "cancelled: echo one; until [ -e", "end: cancelled"],
    "denied_by_a_rule": ["prompt: go", "denied: rm notes.md", "text: I may not.", "end: end_turn"],
    "interrupted": ["prompt: go", "text: Running it.", "cancelled: echo one; until [ -e", "end: interrupted"],
    "limit_and_question": [
        "prompt: go",
        "done: Read app.py",
        "limit",
        "notice",
        "text: It sets x.",
        "end: end_turn",
    ],
    "model_fails": ["prompt: go", "final: auth 1", "end: error"],
    "queued_and_dequeued": [
        "prompt: first",
        "text: This is the first an",
        "end: end_turn",
        "prompt: second",
        "text: The second.",
        "end: end_turn",
    ],
    "retry_with_withdrawn_text": [
        "prompt: go",
        "withdrawn: This will be cut",
        "retried: network 1",
        "text: This is whole.",
        "end: end_turn",
    ],
    "steered": [
        "prompt: go",
        "done: echo one; until [ -e",
        "steered: And be brief.",
        "text: Briefly: done.",
        "end: end_turn",
    ],
    "subagent": [
        "prompt: go",
        "done: Subagent: look aroun",
        "  text: I look.",
        "  done: Read app.py",
        "  text: It sets x.",
        "text: The subagent says th",
        "end: end_turn",
    ],
}
"""What some scenes come to."""


@pytest.mark.parametrize("name", sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl")))
def test_what_real_daemons_told_is_a_conversation_in_which_nothing_is_left_open(lua: Lua, name: str) -> None:
    events = recorded(name)

    conversation = after(lua, events)

    lines = outline(conversation["items"])
    assert lines == OUTLINES.get(name, lines)
    assert lines[0].startswith("prompt: ")
    assert lines[-1].startswith("end: ")
    assert conversation["last_seq"] == max(event["seq"] for event in events)
    assert "running_turn_id" not in conversation
    assert conversation["queue"] == []
    assert not [line for line in lines if line.strip().startswith(("running", "asked", "waiting"))]
    assert conversation["untold"] == []
    assert after(lua, *[[event] for event in events]) == conversation


def items_of(conversation: Seen, kind: str) -> list[Seen]:
    return [item for item in conversation["items"] if item["type"] == kind]


def test_the_whole_of_a_text_takes_the_place_of_its_pieces(lua: Lua) -> None:
    pieces = [started(), said("Hel"), said("lo"), said("!"), said("?", "i2")]

    told = shown(lua, *pieces, said("Hello.", kind="text"))

    assert [(item["text"], item["streaming"]) for item in items_of(told, "text")] == [("Hello.", False), ("?", True)]


def test_thinking_is_over_when_the_answer_begins(lua: Lua) -> None:
    told = shown(lua, started(), said("Hm", "h", "thinking_delta"), said("Yes", "i"))

    [thinking] = items_of(told, "thinking")
    assert (thinking["streaming"], thinking["ended_at"]) == (False, "2026-01-01T00:00:03.500000Z")


def test_attempt_after_attempt_is_told_in_one_place_which_says_at_last_that_the_model_got_through(lua: Lua) -> None:
    told = numbered(
        started(),
        failed(1),
        said("No", "a"),
        failed(2, withdrawn=["a", "unknown"]),
        failed(3),
        said("Yes", "b", "text"),
    )

    seen = [items_of(after(lua, told[:count]), "failure") for count in range(2, 7)]

    states = [(failure["attempt"], failure["state"], "retry_at" in failure) for [failure] in seen]
    assert states == [
        (1, "waiting", True),
        (1, "retried", False),
        (2, "waiting", True),
        (3, "waiting", True),
        (3, "retried", False),
    ]


def test_a_failure_that_may_pass_says_when_the_model_is_asked_again(lua: Lua) -> None:
    [failure] = items_of(shown(lua, started(), failed(1)), "failure")

    assert failure["retry_at"] == 1_767_225_602.5 + 2.5
    assert (failure["message"], failure["error_type"]) == ("Busy (1)", "overloaded")


def test_a_failure_behind_an_answer_that_counts_has_a_place_of_its_own(lua: Lua) -> None:
    told = shown(lua, started(), failed(1), said("One", "a", "text"), called(), failed(1), said("Two", "b", "text"))

    assert [item["type"] for item in told["items"]] == ["prompt", "failure", "text", "tool", "failure", "text"]


def test_a_model_that_answers_with_a_call_or_with_nothing_got_through(lua: Lua) -> None:
    for answer in (called(), {"type": "usage", "usage": USAGE}):
        [failure] = items_of(shown(lua, started(), failed(1), answer), "failure")
        assert failure["state"] == "retried"


def test_a_call_whose_name_comes_again_is_another_call(lua: Lua) -> None:
    told = shown(
        lua, started(), called(title="One"), resulted(), called(title="Two"), resulted(content="2"), finished()
    )

    calls = items_of(told, "tool")
    assert [(call["title"], call["result"]["content"]) for call in calls] == [("One", "x = 1"), ("Two", "2")]


def test_a_hook_may_change_what_a_call_asks_for(lua: Lua) -> None:
    told = shown(lua, started(), called(title="One"), called(title="Other"))

    assert [call["title"] for call in items_of(told, "tool")] == ["Other"]


def test_live_output_is_bounded_and_gone_with_the_result(lua: Lua) -> None:
    lines = [progressed("c1", f"{number:5} é\n" * 100) for number in range(100)]

    running = items_of(shown(lua, started(), called(), *lines), "tool")[0]
    done = items_of(shown(lua, started(), called(), *lines, resulted()), "tool")[0]

    assert len(running["output"].encode()) in range(19_000, 20_001)
    assert running["output"].endswith("   99 é\n")
    assert done["output"] == ""


def test_what_a_subagent_does_stands_below_its_call_and_ends_with_it(lua: Lua) -> None:
    inner = {"parentToolId": "c1"}

    told = shown(
        lua,
        started(),
        called(title="Subagent"),
        {**said("I look"), **inner},
        {**called("c2", "Read"), **inner},
        {"type": "plan", "entries": [{"content": "x", "status": "pending", "priority": "low"}], **inner},
        {**said("deeper", "i3"), "parentToolId": "c2"},
        resulted(),
    )

    assert outline(told["items"]) == [
        "prompt: go",
        "done: Subagent",
        "  text: I look",
        "  cancelled: Read",
        "    text: deeper",
    ]
    assert told["plan"] == []


def test_a_turn_that_waits_is_no_item_before_it_runs(lua: Lua) -> None:
    told = numbered(started(), started("next", "t2", is_queued=True), started("third", "t3", is_queued=True))

    waiting = after(lua, told)
    dequeued = after(lua, numbered(*told, started("next", "t2"), finished("t2", "cancelled")))

    assert [turn["prompt"] for turn in waiting["queue"]] == ["next", "third"]
    assert [turn["prompt"] for turn in dequeued["queue"]] == ["third"]
    assert outline(dequeued["items"]) == ["prompt: go"]
    assert dequeued["running_turn_id"] == "t1"


def test_events_that_nobody_knows_and_calls_that_nobody_made_change_nothing(lua: Lua) -> None:
    told = shown(lua, started(), {"type": "weather", "content": "fine"}, resulted("c9"), failed(1, withdrawn=None))

    assert [item["type"] for item in told["items"]] == ["prompt", "failure"]
    assert told["last_seq"] == 4


def test_an_hour_of_a_turn_is_an_hour(lua: Lua) -> None:
    began = {**started(), "timestamp": "2026-02-28T23:30:00+01:00"}
    ended = {**finished(), "timestamp": "2026-02-28T23:30:00.25Z"}

    [end] = items_of(shown(lua, began, ended), "end")

    assert end["duration_ms"] == 3_600_250


def message(role: str, turn: str, *content: Event) -> Event:
    return {"role": role, "turnId": turn, "content": list(content), "timestamp": "2026-03-02T09:00:00Z"}


COPIED = [
    message(
        "user", "t0", {"type": "text", "text": "Look"}, {"type": "text", "text": "<context/>", "fromOutside": True}
    ),
    message(
        "assistant",
        "t0",
        {"type": "thinking", "thinking": "Where?"},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "cart.py"}},
        {"type": "tool_use", "id": "c2", "name": "shell", "input": {"command": "ls"}},
    ),
    message("user", "t0", {"type": "tool_result", "toolUseId": "c1", "content": "total = 0", "isError": False}),
    message("user", "t0", {"type": "text", "text": "And be quick"}),
    message("assistant", "t0", {"type": "text", "text": "It is zero."}, {"type": "text", "text": "\n"}),
    message("user", "t1", {"type": "text", "text": "go"}),
]

COPY = """
local events, messages, info = ...
local conversation = require("pygent.conversation")
local made = conversation.new("s1")
conversation.take(made, vim.list_slice(events, 1, 2))
local was_missing = conversation.is_missing(made, info)
conversation.put_before(made, messages)
conversation.put_before(made, messages)
conversation.take(made, events)
local lines = {}
for _, item in ipairs(made.items) do
  table.insert(lines, item.type .. ": " .. (item.text or item.title or (item.parts and conversation.text(item)) or ""))
end
return { lines = lines, was_missing = was_missing, is_missing = conversation.is_missing(made, info) }
"""


def test_a_copy_of_a_session_has_what_was_said_before_its_own_turns_from_its_messages(lua: Lua) -> None:
    events = numbered(started(), said("On."), said("On.", kind="text"), finished())

    seen = lua(COPY, events, COPIED, {"turnIds": ["t0", "t1"], "lastSeq": 2})

    assert seen["lines"] == [
        "prompt: Look",
        "thinking: Where?",
        "tool: read_file cart.py",
        "tool: shell ls",
        "prompt: And be quick",
        "text: It is zero.",
        "prompt: go",
        "text: On.",
        "end: ",
    ]
    assert (seen["was_missing"], seen["is_missing"]) == (True, False)


def progressed(call: str, content: str) -> Event:
    return {"type": "tool_progress", "toolId": call, "content": content}


def requested(call: str) -> Event:
    return {"type": "permission_requested", "permissionId": "p", "toolId": call}


def resolved(call: str, outcome: str) -> Event:
    return {"type": "permission_resolved", "permissionId": "p", "toolId": call, "outcome": outcome, "by": "user"}


def placed(event: Event, turn: str, parent: str | None) -> Event:
    return {**event, "turnId": turn, **({} if parent is None else {"parentToolId": parent})}


def two_turns(told: list[Event]) -> list[Event]:
    middle = len(told) // 2
    return numbered(started(), *told[:middle], started("more", "t2"), *told[middle:])


PARENTS = st.sampled_from([None, None, "c1", "c2"])
CALLS = st.sampled_from(["c1", "c2", "c3"])
TEXTS = st.text(alphabet="aé\n`", max_size=4)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(said, TEXTS, st.sampled_from(["i1", "i2"]), st.sampled_from(["text_delta", "thinking_delta", "text"])),
    st.builds(called, CALLS),
    st.builds(resulted, CALLS, TEXTS, isError=st.booleans(), durationMs=st.sampled_from([0, 5])),
    st.builds(failed, st.integers(1, 3), will_retry=st.booleans(), withdrawn=st.sampled_from([[], ["i1"]])),
    st.builds(progressed, CALLS, TEXTS),
    st.builds(requested, CALLS),
    st.builds(resolved, CALLS, st.sampled_from(["allow_once", "reject_once", "cancelled"])),
    st.just({"type": "notice", "content": "so", "level": "info"}),
    st.just({"type": "cancelled"}),
    st.just(finished()),
    st.just({"type": "something_new"}),
)
STREAMS = st.lists(st.builds(placed, EVENTS, st.sampled_from(["t1", "t1", "t2"]), PARENTS), max_size=25).map(two_turns)


@given(told=STREAMS, cuts=st.lists(st.integers(0, 27), max_size=6), overlap=st.integers(0, 5))
def test_it_does_not_matter_how_events_are_batched_or_that_some_come_twice(
    lua: Lua, told: list[Event], cuts: list[int], overlap: int
) -> None:
    ends = sorted({min(cut, len(told)) for cut in cuts} | {len(told)})
    batches = [told[max(0, begin - overlap) : end] for begin, end in zip([0, *ends], ends, strict=False)]

    conversation = after(lua, *batches)

    assert conversation["untold"] == []
    assert conversation == after(lua, told)


STRANGE = """
local conversation = require("pygent.conversation")
local drawing = require("pygent.chat.renderer")
local footer = require("pygent.chat.renderer.footer")
local strange = { "from_the_future", 7, true, vim.NIL, {}, { "x" }, { x = 1 } }
local function variants(value, visit)
  for name, inner in pairs(type(value) == "table" and value or {}) do
    if name ~= "seq" and name ~= "type" then
      for _, other in ipairs(strange) do
        value[name] = vim.deepcopy(other)
        visit()
      end
      value[name] = nil
      visit()
      value[name] = inner
      variants(inner, visit)
    end
  end
end
local function draw(items, made)
  for _, item in ipairs(items) do
    if not drawing.is_streamed(item) then
      local drawn = drawing.of(item, made)
      assert(not (drawn.lines[1] or ""):find("cannot be shown"), vim.inspect(item))
    end
    draw(item.children or {}, made)
  end
end
local told, seen, n_tried = ..., {}, 0
for _, event in ipairs(told) do
  if not seen[event.type] then
    seen[event.type] = true
    variants(event, function()
      local made = conversation.new("s1")
      conversation.take(made, vim.deepcopy(told))
      assert(made.last_seq == told[#told].seq)
      draw(made.items, made)
      footer.of({ conversation = made, asks = {}, n_background = 0, info = { mode = "plan" } })
      n_tried = n_tried + 1
    end)
  end
end
return n_tried
"""
"""Take and draw a recorded turn with each field of one event of each type replaced by each strange value."""


@pytest.mark.parametrize("name", sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl")))
def test_no_value_of_any_field_breaks_the_conversation_or_a_row(lua: Lua, name: str) -> None:
    assert lua(STRANGE, recorded(name)) > 100


def test_an_event_of_a_type_that_nobody_knows_does_nothing(lua: Lua) -> None:
    conversation = shown(lua, started(), {"type": "dreamt", "turnId": "t1", "about": "sheep"}, finished())

    assert outline(conversation["items"]) == ["prompt: go", "end: end_turn"]
