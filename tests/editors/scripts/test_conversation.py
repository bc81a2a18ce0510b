"""A program that speaks to `pygent-ls run` by lines: turns one after the other, requests at any time, questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pygent_ls.tools.ask_user import ask_user
from tests.agent.abilities import FILE_TOOLS
from tests.editors.scripts.program import program
from tests.fakes import Call, FakeModel, Gate, bounded, say

EDIT = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"}, id="c1")
READ = Call(name="read_file", arguments={"path": "a.txt"}, id="c2")
FILES = {"a.txt": "one\n", "b.txt": "one\n"}


def result_of(line: dict[str, Any]) -> tuple[str, str]:
    return line["subtype"], line["result"]


def question_in(line: dict[str, Any]) -> dict[str, Any]:
    assert line["request"]["subtype"] == "can_use_tool"
    return line["request"]


# Turns


async def test_each_prompt_is_a_turn_of_one_session_and_the_end_of_input_ends_it() -> None:
    model = FakeModel([say("first"), say("second")])
    async with program(model) as (other, running):
        other.prompts("one")
        other.prompts("two")
        other.leaves()

        lines = await other.reads_all()
        await bounded(running)

    assert [line["result"] for line in lines if line["type"] == "result"] == ["first", "second"]
    assert {line["session_id"] for line in lines} == {"session-1"}
    assert len({line["uuid"] for line in lines}) == len(lines)
    assert [[each.text for each in request.messages] for request in model.requests] == [
        ["one"],
        ["one", "first", "two"],
    ]


async def test_a_prompt_may_be_blocks_and_hold_a_picture() -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    source = {"type": "base64", "media_type": "image/png", "data": pixel}
    content = [{"type": "text", "text": "What is it?"}, {"type": "image", "source": source}]
    model = FakeModel([say("A dot.")])

    async with program(model) as (other, _):
        other.says({"type": "user", "message": {"role": "user", "content": content}})

        assert result_of(await other.reads("result")) == ("success", "A dot.")

    (message,) = model.requests[0].messages
    assert [block.type for block in message.blocks] == ["image", "text"]


async def test_no_prompt_at_all_is_no_turn() -> None:
    async with program([]) as (other, running):
        other.leaves()
        assert await other.reads_all() == []
        await bounded(running)


async def test_a_turn_that_cannot_begin_has_a_result_and_the_next_one_runs() -> None:
    async with program([say("fine")]) as (other, _):
        other.prompts("@agent-nobody do it")
        assert result_of(await other.reads("result"))[0] == "error_during_execution"

        other.prompts("go")
        assert result_of(await other.reads("result")) == ("success", "fine")


# Requests


async def test_an_interrupt_ends_the_turn_that_runs_and_not_the_one_behind_it() -> None:
    gate = Gate()
    async with program([[*say("half")[:1], gate], say("whole")]) as (other, _):
        other.prompts("one")
        await gate.reached()
        other.prompts("two")

        other.asks("interrupt")

        response = (await other.reads("control_response"))["response"]
        assert response == {"subtype": "success", "request_id": "r1", "response": {"cancelled": True}}
        assert result_of(await other.reads("result")) == ("interrupted", "The turn was cancelled.")
        assert result_of(await other.reads("result")) == ("success", "whole")


async def test_an_interrupt_right_behind_its_prompt_finds_the_turn() -> None:
    async with program([[Gate()]]) as (other, _):
        other.says(
            {"type": "user", "message": {"role": "user", "content": "go"}},
            {"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}},
        )

        assert (await other.reads("control_response"))["response"]["response"] == {"cancelled": True}
        assert (await other.reads("result"))["subtype"] == "interrupted"


async def test_an_interrupt_without_a_turn_is_answered_too() -> None:
    async with program([]) as (other, _):
        other.asks("interrupt")

        assert (await other.reads("control_response"))["response"]["response"] == {"cancelled": False}


@pytest.mark.parametrize(("named", "mode"), [("acceptEdits", "accept_edits"), ("trust", "trust"), ("plan", "plan")])
async def test_the_mode_can_be_set_by_either_name(named: str, mode: str) -> None:
    async with program([]) as (other, _):
        other.asks("set_permission_mode", mode=named)

        assert (await other.reads("control_response"))["response"]["response"] == {"mode": mode}
        assert other.conversation.session.permissions.mode == mode


async def test_a_mode_that_is_set_while_a_question_is_open_settles_it() -> None:
    async with program([say("", EDIT), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        other.asks("set_permission_mode", mode="acceptEdits")

        assert (await other.reads("control_cancel_request"))["request_id"] == asked["request_id"]
        assert result_of(await other.reads("result")) == ("success", "done")
        assert other.conversation.rig.workspace.text("a.txt") == "two\n"


async def test_the_model_can_be_set_and_set_back() -> None:
    async with program([say("usual")], other=[say("other")]) as (other, _):
        other.asks("set_model", model="other/model")
        assert (await other.reads("control_response"))["response"]["response"] == {"model": "other/model"}
        other.prompts("go")
        assert result_of(await other.reads("result")) == ("success", "other")

        other.asks("set_model", model=None)
        assert (await other.reads("control_response"))["response"]["response"] == {"model": "fake/model"}
        other.prompts("go")
        assert result_of(await other.reads("result")) == ("success", "usual")


async def test_the_room_to_think_can_be_set_and_set_back() -> None:
    model = FakeModel([say("one"), say("two")])
    async with program(model) as (other, _):
        other.asks("set_max_thinking_tokens", max_thinking_tokens=2_000)
        other.prompts("go")
        await other.reads("result")
        other.asks("set_max_thinking_tokens", max_thinking_tokens=None)
        other.prompts("go")
        await other.reads("result")

    assert [request.max_thinking_tokens for request in model.requests] == [2_000, 0]


@pytest.mark.parametrize(
    ("subtype", "given", "problem"),
    [
        ("set_permission_mode", {"mode": "dontAsk"}, "mode: 'dontAsk' must be one of default, accept_edits"),
        ("set_permission_mode", {"mode": "bypassPermissions"}, "bypass needs `allow_bypass = true`"),
        ("set_permission_mode", {}, "request.set_permission_mode.mode: Field required"),
        ("set_model", {"model": "no/such"}, "there is no model no/such"),
        ("set_max_thinking_tokens", {"max_thinking_tokens": -1}, "greater than or equal to 0"),
        ("mcp_message", {}, "request.subtype: 'mcp_message' must be one of initialize, interrupt"),
        ("initialize", {"hooks": {"Notification": []}}, "hooks: there is no event 'Notification'; use one of"),
        (
            "initialize",
            {"hooks": {"PreToolUse": [{"matcher": "(", "hookCallbackIds": ["h"]}]}},
            "request.hooks.PreToolUse.0.matcher: not a regular expression",
        ),
        ("initialize", {"hooks": {"Stop": [{"timeout": 1}]}}, "request.hooks.Stop.0.hookCallbackIds: Field required"),
        ("initialize", {"sdkMcpServers": ["x"]}, "sdkMcpServers: in-process servers are not supported"),
    ],
)
async def test_a_request_that_cannot_be_met_is_answered_with_why(
    subtype: str, given: dict[str, Any], problem: str
) -> None:
    async with program([]) as (other, _):
        other.asks(subtype, **given)

        response = (await other.reads("control_response"))["response"]
        assert (response["subtype"], response["request_id"]) == ("error", "r1")
        assert problem in response["error"]


async def test_initialize_is_told_what_there_is() -> None:
    async with program([]) as (other, _):
        other.asks("initialize", hooks=None)

        assert (await other.reads("control_response"))["response"]["response"] == {
            "commands": [],
            "agents": [{"name": "default", "description": ""}],
            "hooks_applied": True,
            "hook_on_failure_supported": True,
        }


async def test_initialize_defines_agents() -> None:
    async with program([]) as (other, _):
        other.asks("initialize", agents={"poet": {"description": "Rhymes.", "prompt": "Rhyme."}})

        told = (await other.reads("control_response"))["response"]["response"]["agents"]
        assert told == [{"name": "default", "description": ""}, {"name": "poet", "description": "Rhymes."}]


# Hooks


def hooked(event: str, **matcher: Any) -> dict[str, Any]:
    return {event: [{"matcher": None, "hookCallbackIds": ["hook_0"], **matcher}]}


async def test_a_hook_of_the_program_reads_a_call_and_denies_it() -> None:
    model = FakeModel([say("", EDIT), say("I see.")])
    async with program(model, *FILE_TOOLS, files=FILES) as (other, _):
        other.asks("initialize", hooks=hooked("PreToolUse", matcher="edit_.*|write"))
        other.prompts("edit")
        asked = await other.reads("control_request")
        assert asked["request"] == {
            "subtype": "hook_callback",
            "callback_id": "hook_0",
            "tool_use_id": "c1",
            "input": {
                "hook_event_name": "PreToolUse",
                "session_id": "session-1",
                "transcript_path": "",
                "cwd": ".",
                "tool_name": "edit_file",
                "tool_input": EDIT.arguments,
                "tool_use_id": "c1",
            },
        }
        specific = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not on a Sunday",
        }
        other.answers(asked["request_id"], hookSpecificOutput=specific)

        await other.reads("result")
        assert other.conversation.rig.workspace.text("a.txt") == "one\n"
        assert "not on a Sunday" in str(model.requests[1].messages)


CHANGED: Mapping[str, Any] = {"path": "b.txt", "old": "one", "new": "three"}


@pytest.mark.parametrize(
    ("event", "specific", "times"),
    [
        ("PreToolUse", {"permissionDecision": "allow", "updatedInput": CHANGED}, 1),
        ("PermissionRequest", {"decision": {"behavior": "allow", "updatedInput": CHANGED}}, 2),
    ],
)
async def test_a_hook_of_the_program_allows_a_call_with_another_input(
    event: str, specific: Mapping[str, Any], times: int
) -> None:
    async with program([say("", EDIT), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.asks("initialize", hooks=hooked(event))
        other.prompts("edit")
        for _ in range(times):  # the new input is judged like the model's
            asked = await other.reads("control_request")
            assert asked["request"]["subtype"] == "hook_callback"
            other.answers(asked["request_id"], hookSpecificOutput=specific)

        await other.reads("result")
        workspace = other.conversation.rig.workspace
        assert (workspace.text("a.txt"), workspace.text("b.txt")) == ("one\n", "three\n")
        assert other.kinds.count("control_request") == times


async def test_what_a_hook_says_of_a_prompt_reaches_the_model() -> None:
    model = FakeModel([say("ok")])
    async with program(model) as (other, _):
        other.asks("initialize", hooks=hooked("UserPromptSubmit"))
        other.prompts("go")
        asked = await other.reads("control_request")
        assert asked["request"]["input"]["prompt"] == "go"
        other.answers(asked["request_id"], hookSpecificOutput={"additionalContext": "It is raining."})

        await other.reads("result")
        assert "It is raining." in str(model.requests[0].messages)


async def test_a_hook_may_end_the_turn() -> None:
    async with program([say("", READ), say("unheard")], *FILE_TOOLS, files=FILES) as (other, _):
        other.asks("initialize", hooks=hooked("PostToolUse"))
        other.prompts("read")
        asked = await other.reads("control_request")
        assert asked["request"]["input"]["tool_response"]
        other.answers(asked["request_id"], **{"continue": False, "stopReason": "enough"})

        assert (await other.reads("result"))["stop_reason"] == "cancelled"


@pytest.mark.parametrize("on_failure", [None, "continue", "block"])
@pytest.mark.parametrize(
    "response",
    [
        {"subtype": "error", "error": "KeyError: 'x'"},
        {"subtype": "success", "response": {"decision": "perhaps"}},
        {"subtype": "success", "response": {"hookSpecificOutput": {"permissionDecision": 3}}},
    ],
)
async def test_a_hook_that_fails_blocks_only_if_it_is_to(on_failure: str | None, response: dict[str, Any]) -> None:
    model = FakeModel([say("", READ), say("done")])
    async with program(model, *FILE_TOOLS, files=FILES) as (other, _):
        other.asks("initialize", hooks=hooked("PreToolUse", onFailure=on_failure))
        other.prompts("read")
        asked = await other.reads("control_request")
        other.says({"type": "control_response", "response": {**response, "request_id": asked["request_id"]}})

        await other.reads("result")
        is_blocked = "hook hook_0 failed: " in str(model.requests[1].messages[-1])
        assert is_blocked == (on_failure == "block")


async def test_a_hook_that_does_not_answer_is_given_up() -> None:
    model = FakeModel([say("", READ), say("done")])
    async with program(model, *FILE_TOOLS, files=FILES) as (other, _):
        other.asks("initialize", hooks=hooked("PreToolUse", timeout=0.01))
        other.prompts("read")
        asked = await other.reads("control_request")
        cancelled = await other.reads("control_cancel_request")
        assert cancelled["request_id"] == asked["request_id"]

        assert (await other.reads("result"))["result"] == "done"


async def test_who_closes_standard_input_answers_no_hook() -> None:
    async with program([say("", READ), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.asks("initialize", hooks=hooked("PreToolUse"))
        other.prompts("read")
        await other.reads("control_request")
        other.leaves()

        assert (await other.reads("result"))["result"] == "done"


# Lines that cannot be taken


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ("[" * 20_000, "it is not JSON"),
        ('{"type": "assistant"}', "its type is 'assistant'; it must be one of user, control_request"),
        ("{}", "its type is None"),
        ('{"type": "user"}', "message: Field required"),
        ('{"type": "user", "message": {"content": "  "}}', "the prompt is empty"),
        ('{"type": "user", "message": {"content": [{"type": "audio"}]}}', "message.content"),
        ('{"type": "control_request", "request": {}}', "request_id: a control request requires a string"),
        ('{"type": "control_response", "request_id": "x", "behavior": "allow"}', "no open request 'x'"),
        ('{"type": "control_response"}', "response.request_id"),
    ],
)  # fmt: skip
async def test_a_line_that_cannot_be_taken_is_told_and_nothing_ends(line: str, problem: str) -> None:
    async with program([say("fine")]) as (other, _):
        other.says("", line)

        told = await other.reads("input_error")
        assert told["line"] == 2
        assert told["error"].startswith("line 2 was ignored: ")
        assert problem in told["error"]
        other.prompts("go")
        assert result_of(await other.reads("result")) == ("success", "fine")


async def test_lines_that_ask_for_nothing_are_passed_over() -> None:
    async with program([say("fine")]) as (other, _):
        other.says({"type": "keep_alive"}, "  ")
        other.prompts("go")
        await other.reads("result")

    assert "input_error" not in other.kinds


async def test_lines_may_be_written_as_windows_does() -> None:
    model = FakeModel([say("fine"), say("fine")])
    async with program(model) as (other, _):
        for first in ("\ufeff", ""):
            other.says(first + json.dumps({"type": "user", "message": {"content": "go"}}) + "\r", "\r")
            await other.reads("result")

    assert "input_error" not in other.kinds
    assert model.requests[0].messages[-1].text == "go"


# Questions


async def test_an_allowed_call_runs_and_the_question_says_what_it_is_about() -> None:
    async with program([say("", EDIT), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        assert question_in(asked) == {
            "subtype": "can_use_tool",
            "tool_name": "edit_file",
            "tool_use_id": "c1",
            "input": EDIT.arguments,
            "title": "Edit a.txt",
            "description": "Edit a.txt (+1 −1)",
            "risk": "medium",
            "permission_suggestions": [
                {
                    "type": "addRules",
                    "rules": [{"toolName": "edit_file", "ruleContent": "a.txt"}],
                    "behavior": "allow",
                    "destination": "session",
                }
            ],
        }
        assert "tool_use" in json.dumps(other.lines), "the call was told before the question"
        other.answers(asked["request_id"], behavior="allow", updatedInput=EDIT.arguments)

        line = await other.reads("result")
        assert (line["result"], line["permission_denials"]) == ("done", [])
        assert other.conversation.rig.workspace.text("a.txt") == "two\n"


@pytest.mark.parametrize("key", ["updatedInput", "updated_input"])
async def test_it_may_be_allowed_with_another_input(key: str) -> None:
    async with program([say("", EDIT), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")
        changed = {"path": "b.txt", "old": "one", "new": "three"}

        other.answers(asked["request_id"], behavior="allow", **{key: changed})

        await other.reads("result")
        workspace = other.conversation.rig.workspace
        assert (workspace.text("a.txt"), workspace.text("b.txt")) == ("one\n", "three\n")


async def test_a_denied_call_does_not_run_and_the_model_is_told_why() -> None:
    model = FakeModel([say("", EDIT), say("I see.")])
    async with program(model, *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        other.answers(asked["request_id"], behavior="deny", message="not on a Sunday")

        line = await other.reads("result")
        denial = {"tool_name": "edit_file", "tool_use_id": "c1", "tool_input": EDIT.arguments}
        assert (line["subtype"], line["permission_denials"]) == ("success", [denial])
    assert "not on a Sunday" in str(model.requests[1].messages[-1])


async def test_a_denial_may_end_the_turn() -> None:
    async with program([say("", EDIT)], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        other.answers(asked["request_id"], behavior="deny", message="stop", interrupt=True)

        assert (await other.reads("result"))["subtype"] == "interrupted"


async def test_what_is_suggested_can_be_allowed_for_the_session() -> None:
    again = Call(name="edit_file", arguments={"path": "a.txt", "old": "two", "new": "six"}, id="c3")
    async with program([say("", EDIT), say("", again), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        other.answers(
            asked["request_id"], behavior="allow", updatedPermissions=question_in(asked)["permission_suggestions"]
        )

        await other.reads("result")
        assert other.kinds.count("control_request") == 1
        assert other.conversation.rig.workspace.text("a.txt") == "six\n"


async def test_an_answer_may_set_the_mode() -> None:
    again = Call(name="edit_file", arguments={"path": "b.txt", "old": "one", "new": "six"}, id="c3")
    async with program([say("", EDIT), say("", again), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        updates = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
        other.answers(asked["request_id"], behavior="allow", updatedPermissions=updates)

        await other.reads("result")
        assert other.kinds.count("control_request") == 1


@pytest.mark.parametrize(
    "response",
    [
        {"subtype": "success", "request_id": "ID", "response": {"behavior": "perhaps"}},
        {"subtype": "success", "request_id": "ID", "response": {"behavior": "allow", "updatedInput": "text"}},
        {"subtype": "success", "request_id": "ID", "response": {}},
        {"subtype": "error", "request_id": "ID", "error": "the callback failed"},
    ],
)
async def test_whatever_is_no_answer_is_a_denial(response: dict[str, Any]) -> None:
    async with program([say("", EDIT), say("I see.")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        other.says({"type": "control_response", "response": {**response, "request_id": asked["request_id"]}})

        assert len((await other.reads("result"))["permission_denials"]) == 1
        assert other.conversation.rig.workspace.text("a.txt") == "one\n"


@pytest.mark.parametrize("beside", [True, False])
async def test_an_answer_may_be_written_flat(*, beside: bool) -> None:
    async with program([say("", EDIT), say("done")], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = (await other.reads("control_request"))["request_id"]

        decision = {"behavior": "allow"}
        flat = {"request_id": asked, **decision} if beside else {"request_id": asked, "response": decision}
        other.says({"type": "control_response", **flat})

        assert (await other.reads("result"))["permission_denials"] == []


WHICH = Call(name="ask_user", arguments={"question": "Which?", "choices": ["Left", "Right"]}, id="c1")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"behavior": "allow", "updatedInput": {"answer": "right"}}, "The user chose: Right"),
        ({"behavior": "allow", "updated_input": {"answers": {"Which?": "Left"}}}, "The user chose: Left"),
        ({"behavior": "allow", "updatedInput": {"answer": " straight on\n"}}, "The user answered: straight on"),
        ({"behavior": "allow"}, "The user did not answer."),
        ({"behavior": "allow", "updatedInput": {"question": "Which?"}}, "The user did not answer."),
        ({"behavior": "allow", "updatedInput": {"answer": 1, "answers": []}}, "The user did not answer."),
        ({"behavior": "deny", "updatedInput": {"answer": "Left"}}, "The user did not answer."),
        ({"behavior": "perhaps"}, "The user did not answer."),
    ],
)
async def test_a_question_of_the_models_is_put_to_the_program(answer: dict[str, Any], told: str) -> None:
    async with program([say("", WHICH), say("done")], ask_user) as (other, _):
        other.prompts("go")
        asked = await other.reads("control_request")
        assert question_in(asked) == {
            "subtype": "can_use_tool",
            "tool_name": ask_user.name,
            "tool_use_id": "c1",
            "input": {
                "question": "Which?",
                "choices": [{"title": "Left", "description": ""}, {"title": "Right", "description": ""}],
            },
            "title": "Which?",
            "description": "Which?",
            "risk": "low",
            "permission_suggestions": [],
        }
        other.answers(asked["request_id"], **answer)

        (block,) = (await other.reads("user"))["message"]["content"]
        assert block["content"].startswith(told)
        assert result_of(await other.reads("result")) == ("success", "done")


async def test_who_closes_standard_input_is_asked_no_question_of_the_models() -> None:
    model = FakeModel([say("", WHICH), say("", WHICH), say("done")])
    async with program(model, ask_user) as (other, running):
        other.prompts("go")
        await other.reads("control_request")
        other.leaves()

        results = [line for line in await other.reads_all() if line["type"] == "user"]
        await bounded(running)

    told = [line["message"]["content"][0]["content"] for line in results]
    assert told[0].startswith("The user did not answer.")
    assert "The program that would answer has closed the connection. Decide yourself" in told[1]


async def test_an_interrupt_withdraws_the_question() -> None:
    async with program([say("", EDIT)], *FILE_TOOLS, files=FILES) as (other, _):
        other.prompts("edit")
        asked = await other.reads("control_request")

        other.asks("interrupt")

        assert (await other.reads("control_cancel_request"))["request_id"] == asked["request_id"]
        assert (await other.reads("result"))["subtype"] == "interrupted"


async def test_who_closes_standard_input_answers_no_question() -> None:
    model = FakeModel([say("", EDIT), say("I see.")])
    async with program(model, *FILE_TOOLS, files=FILES) as (other, running):
        other.prompts("edit")
        await other.reads("control_request")

        other.leaves()

        assert len((await other.reads("result"))["permission_denials"]) == 1
        await bounded(running)
    assert "has closed the connection" in str(model.requests[1].messages[-1])


# The end before the end


async def test_a_cancel_ends_the_turn_with_its_result_and_begins_no_other() -> None:
    gate = Gate()
    async with program([[gate], say("never said")]) as (other, running):
        other.prompts("one")
        other.prompts("two")
        await gate.reached()

        running.cancel()

        lines = await other.reads_all()
        assert [result_of(line) for line in lines if line["type"] == "result"] == [
            ("interrupted", "The turn was cancelled.")
        ]
