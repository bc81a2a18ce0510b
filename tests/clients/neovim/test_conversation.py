"""A conversation as the daemon sends it: the plugin puts and appends, and tells other plugins of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given

from pygent_ls.sessions.event_stream import SessionEvent
from tests.clients.neovim.changes import Changes, without_nulls
from tests.clients.neovim.stories import (
    TRANSCRIPTS,
    Event,
    called,
    finished,
    numbered,
    recorded,
    resulted,
    started,
)
from tests.editors.lsp.conversation.story import after, reducer
from tests.editors.lsp.conversation.test_properties import CUTS, parts, streams
from tests.editors.lsp.conversation.wire_events import session_event

Lua = Callable[..., Any]
Seen = dict[str, Any]

TAKE = """
local conversation = require("pygent.conversation")
local function seen(item, is_shallow)
  local copy = {}
  for name, value in pairs(item) do
    if name == "parts" then
      copy.text = table.concat(value)
    elseif name == "output_parts" then
      copy.output = conversation.output(item)
    elseif name == "children" then
      copy.children = not is_shallow and vim.tbl_map(function(child) return seen(child) end, value) or nil
    elseif name ~= "parent" and name ~= "output_bytes" then
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
local made, unnamed, events = conversation.new("s1"), {}, {}
for _, changes in ipairs(...) do
  local before = {}
  each(made.items, function(item) before[item] = seen(item, true) end)
  local touched = {}
  local items, happened = conversation.take(made, changes)
  for _, item in ipairs(items) do touched[item] = true end
  each(made.items, function(item)
    if not touched[item] and (before[item] == nil or not vim.deep_equal(before[item], seen(item, true))) then
      table.insert(unnamed, item.key)
    end
  end)
  vim.list_extend(events, happened)
end
return {
  items = vim.tbl_map(function(item) return seen(item) end, made.items),
  unnamed = unnamed,
  events = events,
  turns = vim.tbl_values(made.turns),
  queue = made.queue,
  plan = made.plan,
  usage = made.usage,
  steering = made.steering,
  running = made.running_turn_id,
  last_seq = made.last_seq,
}
"""
"""What a conversation is after those changes, `unnamed` the keys of items that changed without being named."""


def taken(lua: Lua, changes: Sequence[Any]) -> Seen:
    return cast("Seen", lua(TAKE, list(changes)))


def shown(lua: Lua, *batches: Sequence[Event]) -> Seen:
    """What is shown after these batches of events."""
    changes = Changes()
    return taken(lua, [changes.of(each) for each in batches])


def expected(happened: Sequence[SessionEvent]) -> Seen:
    """What a client has to show after these events."""
    client = after(happened)

    def below(key: str | None) -> list[Seen]:
        items = [dict(each) for each in client.below(key)]
        for each in items:
            if each["type"] == "tool":
                each["children"] = below(each["key"])
            if each["type"] == "end":
                each["untold"] = [0 for _ in each["filesChanged"]]
        return items

    shown = {"items": below(None), "queue": client.queue, "running": client.running, "last_seq": client.seq}
    return without_nulls(shown)


def named(seen: Seen, *names: str) -> Seen:
    return {name: seen.get(name) for name in names}


SHOWN = ("items", "queue", "running", "last_seq")


def without_output(items: list[Seen]) -> list[Seen]:
    """The items with their live output cut as the plugin cuts it: by bytes, not by characters."""
    return [
        {
            **each,
            **({"output": each["output"][-4000:]} if "output" in each else {}),
            **({"children": without_output(each["children"])} if "children" in each else {}),
        }
        for each in items
    ]


@pytest.mark.parametrize("name", sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl")))
def test_what_real_daemons_told_is_shown_whole(lua: Lua, name: str) -> None:
    told = {each["seq"]: each for each in recorded(name)}
    events = [told[seq] for seq in sorted(told)]

    one_by_one = shown(lua, *[[each] for each in events])
    at_once = shown(lua, events)

    wanted = expected([session_event(each) for each in events])
    assert named(one_by_one, *SHOWN) == {"running": None, **wanted}
    assert named(at_once, *SHOWN) == {"running": None, **wanted}
    assert one_by_one["unnamed"] == []


@given(streams(), CUTS)
def test_whatever_happens_is_shown_as_the_daemon_has_it_however_it_is_batched(
    lua: Lua, happened: list[SessionEvent], cuts: list[int]
) -> None:
    stream = reducer()
    seen = taken(lua, [without_nulls(stream.after(each)) for each in parts(happened, cuts)])
    wanted = expected(happened)

    assert without_output(seen["items"]) == without_output(wanted["items"])
    assert (seen["queue"], seen["last_seq"]) == (wanted["queue"], wanted["last_seq"])
    assert seen["unnamed"] == []


def test_live_output_is_bounded_and_no_character_is_cut_in_two(lua: Lua) -> None:
    output = "".join(f"{number:5} é\n" * 100 for number in range(100))
    pieces = [
        {"type": "tool_progress", "toolId": "c1", "content": output[at : at + 700]} for at in range(0, 80_000, 700)
    ]

    events = numbered(started(), called(), *pieces)
    (call,) = shown(lua, *[[each] for each in events])["items"][1:]

    assert len(call["output"].encode()) in range(19_000, 20_001)
    assert call["output"].endswith("   99 é\n")


PLAN = [{"content": "Do it", "status": "pending", "priority": "low"}]


def test_plan_and_usage_are_those_of_the_last_turn_that_has_one(lua: Lua) -> None:
    plan = {"type": "plan", "entries": PLAN}
    command = {**finished("t2"), "usage": {**finished()["usage"], "inputTokens": 0, "outputTokens": 0}}

    told = shown(lua, numbered(started(), plan, finished(), started("/help", "t2"), command))

    assert told["plan"] == PLAN
    assert told["usage"]["totalTokens"] == 120


STEER = """
local conversation = require("pygent.conversation")
local made, seen = conversation.new("s1"), {}
for index, changes in ipairs(...) do
  conversation.take(made, changes)
  if index == 1 then made.steering = { "One", "Two" } end
  table.insert(seen, vim.deepcopy(made.steering))
end
return seen
"""


def test_what_was_said_to_the_running_turn_waits_until_the_model_reads_it_or_the_turn_is_over(lua: Lua) -> None:
    changes = Changes()
    report = {"type": "review", "text": "+x", "files": [{"uri": "file:///a.py", "rejected": 1}]}
    told = numbered(
        started(),
        {"type": "steered", "content": "", "attachments": [report]},
        {"type": "steered", "content": "One"},
        finished(),
    )

    assert lua(STEER, [changes.of([each]) for each in told]) == [["One", "Two"], ["One", "Two"], ["Two"], []]


def types(events: Sequence[Seen]) -> list[str]:
    return [f"{each['type']} {each['turnId']} {each.get('toolId', '')}".strip() for each in events]


TOLD = [
    started(),
    called("task", "Subagent"),
    {**called("c1"), "parentToolId": "task"},
    {**resulted("c1"), "parentToolId": "task"},
    resulted("task"),
    finished(),
    started("more", "t2"),
    {**finished("t2"), "turnId": "t2"},
]


def test_other_plugins_hear_of_turns_and_calls_once_and_in_order_however_they_come(lua: Lua) -> None:
    events = numbered(*TOLD)

    one_by_one = shown(lua, *[[each] for each in events])["events"]
    at_once = shown(lua, events)["events"]

    assert types(one_by_one) == [
        "turn_started t1",
        "tool_call t1 task",
        "tool_call t1 c1",
        "tool_result t1 c1",
        "tool_result t1 task",
        "finished t1",
        "turn_started t2",
        "finished t2",
    ]
    assert sorted(types(at_once)) == sorted(types(one_by_one))
    assert [each for each in types(at_once) if "tool" not in each] == [
        each for each in types(one_by_one) if "tool" not in each
    ]


def test_events_for_other_plugins_have_the_fields_of_the_wire(lua: Lua) -> None:
    events = numbered(*TOLD)

    seen = shown(lua, *[[each] for each in events])["events"]

    for heard, told in zip(seen, events, strict=True):
        left_out = {"iteration", "totalTokens", "timestamp"}
        wanted = {name: value for name, value in without_nulls(told).items() if name not in left_out}
        assert {name: value for name, value in heard.items() if name in wanted} == wanted


def test_a_turn_that_is_taken_out_of_the_queue_begins_and_ends_for_other_plugins(lua: Lua) -> None:
    told = numbered(
        started(), started("next", "t2", is_queued=True), started("next", "t2"), finished("t2", "cancelled")
    )

    seen = shown(lua, *[[each] for each in told])

    assert types(seen["events"])[1:] == ["turn_started t2", "finished t2"] or types(seen["events"])[1:] == [
        "finished t2"
    ]
    assert [each["type"] for each in seen["items"]] == ["prompt"]


STRANGE = """
local conversation = require("pygent.conversation")
local drawing = require("pygent.chat.renderer")
local footer = require("pygent.chat.renderer.footer")
local function variants(value, visit)
  for name, inner in pairs(type(value) == "table" and value or {}) do
    if type(inner) == "string" and not vim.list_contains({ "op", "key", "parent", "field" }, name) then
      value[name] = "from_the_future"
      visit()
      value[name] = inner
    end
    variants(inner, visit)
  end
end
local function draw(items, made)
  for _, item in ipairs(items) do
    if not drawing.is_streamed(item) then
      drawing.of(item, made)
    end
    draw(item.children or {}, made)
  end
end
local told, n_tried = ..., 0
for _, changes in ipairs(told) do
  variants(changes, function()
    local made = conversation.new("s1")
    for _, each in ipairs(vim.deepcopy(told)) do
      conversation.take(made, each)
    end
    draw(made.items, made)
    footer.of({ conversation = made, asks = {}, n_background = 0, info = { mode = "plan" } })
    n_tried = n_tried + 1
  end)
end
return n_tried
"""
"""Take and draw a recorded turn with each text of it replaced by one that a newer daemon may send."""


@pytest.mark.parametrize("name", ["plan_updates", "subagent", "limit_and_question", "retry_with_withdrawn_text"])
def test_no_state_of_a_newer_daemon_breaks_the_conversation_or_the_chat(lua: Lua, name: str) -> None:
    changes = Changes()

    assert lua(STRANGE, [changes.of([each]) for each in recorded(name)]) > 50


EARLIER = """
local conversation = require("pygent.conversation")
local made = conversation.new("s1")
local info = { turnIds = { "t0", "t1" }, lastSeq = 2 }
local seen = { conversation.is_missing(made, info) }
for _, changes in ipairs(...) do
  conversation.take(made, changes)
  table.insert(seen, conversation.is_missing(made, info))
end
return seen
"""


def test_messages_without_items_are_missed_once_all_events_are_known(lua: Lua) -> None:
    changes = Changes()
    told = [changes.of([each]) for each in numbered(started(), finished())]
    item = {"type": "notice", "key": "earlier 0 0", "turnId": "t0", "at": "", "level": "info", "text": "So"}
    earlier = {"seq": 0, "items": [{"op": "put", "item": item}]}

    assert lua(EARLIER, told) == [False, False, True]
    assert lua(EARLIER, [earlier, *told]) == [False, False, False, False]
