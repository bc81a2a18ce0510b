"""Core values on the wire: every event has a type there, and every value is what the schema says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import RejectedFile, Usage
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.lsp import method_names as names
from pygent_ls.editors.lsp.capabilities import ClientFeatures, features_of
from pygent_ls.editors.lsp.protocol.capabilities import ClientCapabilities
from pygent_ls.editors.lsp.protocol.content import EditorContext
from pygent_ls.editors.lsp.protocol.conversion import event_out, lines_of, prompt_parts, turn_result
from pygent_ls.editors.lsp.protocol.events import WireEvent
from pygent_ls.editors.lsp.protocol.schema import (
    CLIENT_NOTIFICATIONS,
    COMMAND_RESULTS,
    NOTIFICATIONS,
    REQUESTS,
    wire_schema,
)
from pygent_ls.editors.lsp.protocol.shapes import WireRange
from pygent_ls.editors.lsp.protocol.validation import valid
from pygent_ls.editors.lsp.standard import InitializeParams
from pygent_ls.errors import ModelError
from pygent_ls.extensions.mcp.server import ServerStatus
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.saved_format.writer import timestamp
from tests.editors.lsp.editor import CAPABILITIES, Setup, WireError, connected
from tests.fakes import Call, Gate, bounded, say

NOW = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
CHANGE = FileChange(path=Path("/w/a b.py"), kind="edit", added=2, removed=1, patch="--- a\n+++ b\n")
USAGE = Usage(input_tokens=5, output_tokens=3, cache_read_tokens=1, cost_usd=0.5, context_tokens=8, context_limit=100)

ATTACHMENTS = (
    ev.PromptAttachment(kind="file", location=ev.Location(path=Path("/w/a b.py"))),
    ev.PromptAttachment(kind="selection", location=ev.Location(path=Path("/w/a.py"), first_line=2, last_line=3)),
    ev.PromptAttachment(kind="diagnostics", location=ev.Location(path=Path("/w/a.py")), n_problems=2),
    ev.PromptAttachment(kind="image", location=ev.Location(path=Path("/w/a.png")), mime_type="image/png"),
    ev.PromptAttachment(kind="image", mime_type="image/png"),
    ev.PromptAttachment(kind="terminal", text="make"),
    ev.PromptAttachment(kind="review", text="No.", rejected=(RejectedFile(uri="file:///w/a", n_changes=2),)),
)

SAMPLES: tuple[ev.AgentEvent, ...] = (
    ev.TurnQueued(prompt="p", model="m", mode="default", agent="default"),
    ev.TurnStarted(prompt="p", model="m", mode="plan", agent="default", attachments=ATTACHMENTS),
    ev.TextDelta(item_id="i", content="c"),
    ev.ThinkingDelta(item_id="i", content="c"),
    ev.Text(item_id="i", content="c"),
    ev.Thinking(item_id="i", content="c"),
    ev.ToolCallDelta(item_id="i", tool_name="create_file", argument="content", content="c"),
    ev.ToolCall(
        tool_id="t",
        tool_name="read_file",
        input={"path": "a b.py", "lines": [1, 2]},
        title="Read a b.py",
        kind="read",
        risk=ToolRisk.LOW,
        read_only=True,
        locations=(
            ev.Location(path=Path("/w/a b.py"), first_line=3, last_line=4),
            ev.Location(path=Path("/w/c.py"), first_line=3),
            ev.Location(path=Path("/w/d.py")),
        ),
    ),
    ev.PermissionRequested(permission_id="p", tool_id="t"),
    ev.PermissionResolved(permission_id="p", tool_id="t", outcome="allow_once", by="user"),
    ev.PermissionDenied(tool_id="t", tool_name="shell", reason="no"),
    ev.ToolProgress(tool_id="t", content="c"),
    ev.ToolResult(
        tool_id="t",
        tool_name="edit_file",
        content="c",
        is_error=False,
        cached=False,
        truncated=True,
        duration_s=1.2346,
        changes=(CHANGE,),
    ),
    ev.UsageReported(usage=USAGE),
    ev.LlmError(
        error_type="rate_limit", error_message="slow", retryable=True, attempt=1, will_retry=False, withdrawn=("i",)
    ),
    ev.IterationLimitReached(limit=5, value=5),
    ev.TokenLimitReached(limit=5, value=7),
    ev.BudgetLimitReached(limit=0.5, value=0.75),
    ev.TimeLimitReached(limit=1.5, value=1.75),
    ev.LoopDetected(limit=3, value=3),
    ev.Compacted(tokens_before=100, tokens_after=10, messages_summarised=8),
    ev.PlanChanged(entries=(ev.PlanEntry(content="c", status="in_progress", priority="high"),)),
    ev.HookRan(hook_event="stop", command="./check.sh", decision="", duration_s=0.5),
    ev.Steered(content="c", attachments=ATTACHMENTS),
    ev.Notice(content="c", level="warning"),
    ev.Cancelled(),
    ev.Interrupted(),
    ev.Finished(stop_reason="end_turn", usage=Usage(), files_changed=(CHANGE,)),
)
"""One of each."""


def uri_of(path: Path) -> str:
    return path.as_uri()


def on_the_wire(event: ev.AgentEvent) -> Any:
    session_event = SessionEvent(event=event, seq=7, turn_id="turn-1", iteration=2, total_tokens=9, timestamp=NOW)
    return json.loads(json.dumps(event_out(session_event, uri_of)))


def core_event_types() -> list[str]:
    return [cast("str", get_args(get_type_hints(kind)["type"])[0]) for kind in get_args(ev.AgentEvent)]


def wire_event_types() -> list[str]:
    """The values of `type` of every wire event, in the order of the union."""
    found: list[str] = []
    for kind in get_args(WireEvent):
        annotation = get_type_hints(kind)["type"]
        assert get_origin(annotation) is Literal
        found += get_args(annotation)
    return found


@cache
def schema() -> dict[str, Any]:
    return wire_schema()


def check(reference: Mapping[str, Any], value: object) -> None:
    """Hold a value against a part of the generated schema, which names every member there is."""
    definitions = {name: closed(part) for name, part in schema()["$defs"].items()}
    validator: Any = Draft202012Validator({**reference, "$defs": definitions})

    assert [error.message for error in validator.iter_errors(value)] == []


def closed(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**part, "additionalProperties": False} if "properties" in part else part


# Names


def test_the_names_that_initialize_tells_are_the_types_of_the_wire() -> None:
    assert sorted(names.EVENTS) == sorted(wire_event_types()) == sorted(core_event_types())
    assert list(names.METHODS) == list(REQUESTS)
    assert list(names.NOTIFICATIONS) == list(CLIENT_NOTIFICATIONS)
    assert list(names.COMMANDS) == list(COMMAND_RESULTS)


@pytest.mark.parametrize("flag", [name for name, kind in get_type_hints(ClientCapabilities).items() if kind is bool])
def test_each_capability_of_a_client_is_looked_for_and_only_true_is_true(flag: str) -> None:
    def features(value: object) -> ClientFeatures:
        return features_of(InitializeParams(capabilities={"experimental": {"pygent": {flag: value}}}))

    names_of_features = ClientFeatures.__struct_fields__
    unclear = features("yes") if flag != "restricted" else features(value=False)  # of which anything odd is read as yes
    changed = [name for name in names_of_features if getattr(features(value=True), name) != getattr(unclear, name)]
    assert len(changed) == 1


async def test_the_answer_to_initialize_is_what_the_schema_says(folder: Path) -> None:
    async with connected(folder) as editor:
        told = editor.initialize_result["capabilities"]["experimental"]["pygent"]

    check(schema()["initialize"]["server"], told)


def test_there_is_a_sample_of_every_event() -> None:
    assert [sample.type for sample in SAMPLES] == core_event_types()


def test_every_member_is_written_in_camel_case() -> None:
    definitions = schema()["$defs"]
    own = [part for name, part in definitions.items() if name != "ClientHookResult"]  # that is of docs/hooks.md
    members = {member for part in own for member in part.get("properties", {})}

    assert len(members) > 50
    assert [member for member in members if "_" in member or not member[0].islower()] == []


# Values


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.type)
def test_an_event_is_what_the_schema_says(event: ev.AgentEvent) -> None:
    reference = {"$ref": "#/$defs/" + NOTIFICATIONS["$/progress (partialResultToken)"].__name__}

    check(reference, {"events": [on_the_wire(event)]})


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.type)
def test_an_event_says_where_it_stands(event: ev.AgentEvent) -> None:
    sent = on_the_wire(event)

    assert {key: sent[key] for key in ("seq", "turnId", "iteration", "totalTokens", "timestamp", "type")} == {
        "seq": 7,
        "turnId": "turn-1",
        "iteration": 2,
        "totalTokens": 9,
        "timestamp": "2026-01-02T03:04:05.678000Z",
        "type": event.type,
    }


def test_a_tool_call_tells_where_it_looks() -> None:
    (call,) = (each for each in SAMPLES if isinstance(each, ev.ToolCall))

    assert on_the_wire(call)["locations"] == [
        {
            "uri": "file:///w/a%20b.py",
            "range": {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 0}},
        },
        {"uri": "file:///w/c.py", "range": {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}}},
        {"uri": "file:///w/d.py"},
    ]


def test_a_tool_result_tells_its_changes_only_where_there_are_some() -> None:
    (result,) = (each for each in SAMPLES if isinstance(each, ev.ToolResult))

    changed = {"uri": "file:///w/a%20b.py", "kind": "edit", "added": 2, "removed": 1, "patch": "--- a\n+++ b\n"}
    assert on_the_wire(result)["changes"] == [changed]
    assert on_the_wire(result)["durationMs"] == 1235
    assert "changes" not in on_the_wire(replace(result, changes=()))


def test_costs_and_limits_that_are_not_known_are_null() -> None:
    usage = on_the_wire(ev.UsageReported(usage=Usage()))["usage"]

    assert (usage["costUsd"], usage["contextLimit"]) == (None, None)


@pytest.mark.parametrize("error", [None, ModelError("no", type="auth")], ids=str)
def test_a_turns_result_is_what_the_schema_says(error: ModelError | None) -> None:
    result = TurnResult(
        stop_reason="error" if error else "end_turn",
        text="t",
        usage=USAGE,
        iterations=2,
        files_changed=(CHANGE,),
        error=error,
    )
    sent = turn_result("s", "t", result, uri_of)

    check({"$ref": "#/$defs/TurnResultOut"}, sent)
    assert ("error" in sent) == (error is not None)


async def test_every_answer_is_what_the_schema_says(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    script = [
        say("I look. " * 100, Call(name="read_file", arguments={"path": "a.txt"}), thinking="Hm."),
        say("", Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})),
        say("", Call(name="shell", arguments={"command": "echo hi"}), Call(name="nonsense", arguments="{")),
        say("", Call(name="shell", arguments={"command": "sleep 600", "background": True})),
        say("Done."),
        say("In short."),
    ]
    async with connected(folder, Setup(script=script, checkpoints=True)) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": "Always allow"}
        results = {"pygent/turn/start": await editor.turn()}
        session = {"sessionId": results["pygent/turn/start"]["sessionId"]}
        changed = {"uri": (folder / "a.txt").as_uri()}
        reviewed = {"original": changed, "reject": changed, "undoRejection": {}, "accept": {}}
        for what, given in (reviewed | {"add": {**changed, **session, "before": "one\n"}}).items():
            results[f"pygent/review/{what}"] = await editor.request(f"pygent/review/{what}", given)
        results["pygent/session/compact"] = await editor.request("pygent/session/compact", session)
        others = [{"sessionId": (await editor.request("pygent/session/new", {}))["sessionId"]} for _ in range(3)]
        view = editor.begin("pygent/session/attach", {**others[2], "partialResultToken": "view"})
        await editor.request("pygent/session/delete", others[2])
        results["pygent/session/attach"] = await bounded(view)
        listed = await editor.request("pygent/checkpoint/list", session)
        point = {"checkpointId": listed["checkpoints"][0]["checkpointId"]}
        parameters: dict[str, dict[str, Any]] = {
            "pygent/checkpoint/diff": point,
            "pygent/checkpoint/restore": {**point, "files": True, "conversation": True},
            "pygent/turn/steer": {**session, "turnId": "none", "prompt": "x"},
            "pygent/turn/retry": {**session, "turnId": "none", "action": "now"},
            "pygent/turn/dequeue": {**session, "turnId": "none"},
            "pygent/permission/setMode": {**session, "mode": "plan"},
            "pygent/permission/forget": {"rule": "none"},
            "pygent/background/stop": {**session, "id": "shell_1"},
            "pygent/sideQuestion": {**session, "question": "why?"},
            "pygent/keys/set": {"keys": {"OPENAI_API_KEY": None}},
            "pygent/session/search": {"query": "look"},
            "pygent/session/rename": {**session, "name": "Another"},
            "pygent/session/export": {**session, "format": "plain"},
            "pygent/session/delete": others[0],
            "pygent/session/close": others[1],
            "pygent/complete": {"text": "/", "offset": 1},
            "pygent/mcp/restart": {"name": "docs"},
            "pygent/mcp/log": {"name": "docs"},
            "pygent/mcp/login": {"name": "docs"},
            "pygent/mcp/logout": {"name": "docs"},
            "pygent/edit/suggest": {
                "textDocument": {"uri": (folder / "a.txt").as_uri(), "version": 1},
                "position": {"line": 0, "character": 0},
            },
            "pygent/client/registerTools": {"tools": [{}]},
            "pygent/client/unregisterTools": {"names": ["none"]},
            "pygent/hooks/register": {"hooks": [{"id": "end", "event": "session_end"}, {}]},
            "pygent/hooks/unregister": {"ids": ["end"]},
        }
        editor.core.mcp.statuses.append(ServerStatus(name="docs", state="failed", error="It ended."))
        for method in names.METHODS:
            if method not in results and method != "pygent/turn/resume":  # its prompts are those of a killed daemon
                results[method] = await editor.request(method, parameters.get(method, session))

        for method, result in results.items():
            check(schema()["requests"][method]["result"], result)
        for value in editor.progress("events"):
            check({"$ref": "#/$defs/EventsOut"}, value)
        with pytest.raises(WireError) as refused:
            await editor.request("pygent/session/load", {"sessionId": "none"})
        check(schema()["errorData"], refused.value.data)
        for params in editor.notifications("pygent/session/changed"):
            check({"$ref": "#/$defs/SessionChangedOut"}, params)
        assert {"thinking", "tool_progress", "permission_resolved", "tool_result"} <= set(editor.types())


async def test_what_a_cancelled_request_and_a_command_are_answered_is_what_the_schema_says(folder: Path) -> None:
    async with connected(folder, Setup(script=[[Gate()], say("Hello.")])) as editor:
        turn = editor.begin_turn()
        turn_request = editor.last_id
        await editor.until(lambda: "turn_started" in editor.types())
        session = {"sessionId": editor.core.sessions.all()[0].id}
        view = editor.begin("pygent/session/attach", {**session, "partialResultToken": "view"})
        editor.cancel(editor.last_id)
        editor.cancel(turn_request)
        for method, request in (("pygent/turn/start", turn), ("pygent/session/attach", view)):
            with pytest.raises(WireError) as cancelled:
                await bounded(request)
            check(schema()["requests"][method]["cancelled"], cancelled.value.data)

        for name, arguments in (("ask", ["Hi"]), ("setMode", ["plan"]), ("newSession", []), ("cancel", [])):
            command = {"command": f"pygent.{name}", "arguments": arguments}
            check(schema()["commands"][f"pygent.{name}"], await editor.request("workspace/executeCommand", command))


async def test_a_client_is_asked_to_save_as_the_schema_says(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    script = [
        say("", Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})),
        say("", Call(name="shell", arguments={"command": "cat a.txt"})),
        say("Done."),
    ]
    saves = {**CAPABILITIES, "experimental": {"pygent": {"saveDocuments": True}}}
    async with connected(folder, Setup(script=script), capabilities=saves) as editor:
        editor.documents.open(folder / "a.txt")
        editor.handlers["pygent/client/save"] = lambda params: {"saved": params["uris"]}
        await editor.turn()

        check(
            schema()["clientRequests"]["pygent/client/save"]["params"], editor.requests("pygent/client/save")[0].params
        )


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), "2026-12-31T23:59:59.999999Z"),
    ],
)
def test_a_moment_is_written_in_utc(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text
    assert datetime.fromisoformat(text) == moment


# What comes in


def test_a_prompt_keeps_its_order_and_its_context_comes_after_it() -> None:
    context = valid(EditorContext, {"activeUri": "file:///w/a.py", "visibleUris": ["untitled:b"]})
    kinds = [type(part).__name__ for part in prompt_parts("hi", context)]

    assert kinds == ["str", "EditorPart"]


def test_a_prompt_tells_what_it_carries_and_where_that_is() -> None:
    told = on_the_wire(ev.Steered(content="", attachments=ATTACHMENTS))

    second = {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}}
    assert told["attachments"] == [
        {"type": "file", "uri": "file:///w/a%20b.py"},
        {"type": "selection", "uri": "file:///w/a.py", "range": second},
        {"type": "diagnostics", "uri": "file:///w/a.py", "count": 2},
        {"type": "image", "mimeType": "image/png", "uri": "file:///w/a.png"},
        {"type": "image", "mimeType": "image/png"},
        {"type": "terminal", "command": "make"},
        {"type": "review", "text": "No.", "files": [{"uri": "file:///w/a", "rejected": 2}]},
    ]


def test_usage_tells_the_last_call_beside_the_totals() -> None:
    call = ev.ModelAnswered(model="m/one", finish="end_turn", usage=Usage(input_tokens=2, output_tokens=1), n_calls=0)
    told = on_the_wire(ev.UsageReported(usage=USAGE, answered=call))

    assert told["usage"]["inputTokens"] == 5
    assert (told["call"]["model"], told["call"]["usage"]["inputTokens"]) == ("m/one", 2)


whole_numbers = st.integers(0, 50)


@given(start=whole_numbers, n_lines=whole_numbers, character=whole_numbers)
def test_the_lines_of_a_range_are_the_ones_that_it_touches(start: int, n_lines: int, character: int) -> None:
    end = start + n_lines
    where = {"start": {"line": start, "character": 0}, "end": {"line": end, "character": character}}

    lines = lines_of(valid(WireRange, where))

    touched = end + 1 if character or n_lines == 0 else end
    assert (lines.first, lines.last) == (start + 1, touched)
