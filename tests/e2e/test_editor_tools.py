"""Tools and hooks that a client registers, with the real daemon: calls, permission, refusals and disconnections."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command_line import script, tool
from tests.e2e.raw import RawClient, raw_client
from tests.e2e.test_socket import socket_daemon
from tests.model_server import Call, ModelServer, Step

DONE = {"text": "done"}

WORD = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}

SAY = {"name": "say", "description": "Say a word.", "inputSchema": WORD, "readOnly": True}
"""A tool that is not asked about."""

RUN = {
    "name": "open",
    "description": "Run a command in a terminal.",
    "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}},
    "commandArgument": "command",
}
"""A tool that runs command lines outside of the sandbox."""


def is_call(frame: Mapping[str, Any]) -> bool:
    """Whether the daemon calls a tool."""
    return frame.get("method") == "pygent/client/callTool"


def is_hook(frame: Mapping[str, Any]) -> bool:
    """Whether the daemon runs a hook."""
    return frame.get("method") == "pygent/client/hook"


def is_question(frame: Mapping[str, Any]) -> bool:
    """Whether the user is asked."""
    return frame.get("method") == "window/showMessageRequest"


def text(said: str, **more: Any) -> dict[str, Any]:
    """A result of a call."""
    return {"content": [{"type": "text", "text": said}], **more}


def events(client: RawClient) -> list[dict[str, Any]]:
    """All events that came."""
    values = [frame["params"]["value"] for frame in client.frames if frame.get("method") == "$/progress"]
    return [event for value in values for event in value.get("events", ())]


def results(client: RawClient) -> list[dict[str, Any]]:
    """The results of the calls so far."""
    return [event for event in events(client) if event["type"] == "tool_result"]


def register(client: RawClient, *tools: object, id: str = "register") -> dict[str, Any]:
    """Register tools; returns the whole answer."""
    return client.request(id, "pygent/client/registerTools", {"tools": tools})


def begin(client: RawClient, **params: object) -> None:
    """Start a turn whose events come."""
    client.begin("turn", "pygent/turn/start", {"prompt": "go", "partialResultToken": "events", **params})


def answer(client: RawClient, true: Callable[[dict[str, Any]], bool], result: object) -> dict[str, Any]:
    """Answer the first request of a kind; returns the request."""
    asked = client.until(true)
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    return asked


def choose(client: RawClient, title: str) -> str:
    """Answer the first question; returns its text."""
    return answer(client, is_question, {"title": title})["params"]["message"]


@contextmanager
def editor_of(folder: Path, model: ModelServer) -> Generator[RawClient]:
    """An editor on a daemon that uses this model."""
    with raw_client(folder, environment={**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}) as client:
        yield client


# Registration and calls


def test_a_registered_tool_is_called_with_valid_arguments(folder: Path) -> None:
    with (
        ModelServer([Step(calls=(Call(name="editor__say", arguments={"word": "hi"}),)), Step(text="done")]) as model,
        editor_of(folder, model) as client,
    ):
        client.initialize(folder)
        registered = register(client, SAY)["result"]
        listed = client.request("tools", "pygent/tools/list")["result"]["tools"]
        begin(client)
        call = client.until(is_call)
        client.tell("pygent/client/toolProgress", {"callId": call["params"]["callId"], "text": "half way\n"})
        client.send({"jsonrpc": "2.0", "id": call["id"], "result": text("it said hi")})
        turn = client.answer("turn")["result"]

    assert registered == {"registered": ["editor__say"], "refused": []}
    [own] = [each for each in listed if each["name"] == "editor__say"]
    assert (own["source"], own["risk"], own["readOnly"]) == ("editor", "low", True)
    assert {each["source"] for each in listed} == {"pygent", "editor"}
    asked = call["params"]
    assert (asked["name"], asked["arguments"], asked["cwd"]) == ("say", {"word": "hi"}, str(folder))
    assert (asked["sessionId"], asked["turnId"]) == (turn["sessionId"], turn["turnId"])
    [result] = results(client)
    assert (result["content"], result["isError"], result["toolId"]) == ("it said hi", False, asked["toolId"])
    assert [each["content"] for each in events(client) if each["type"] == "tool_progress"] == ["half way\n"]
    [given] = [each for each in model.requests[0].body["tools"] if each["function"]["name"] == "editor__say"]
    assert given["function"]["parameters"]["properties"] == {"word": {"type": "string"}}
    assert model.requests[1].texts("tool")[-1].startswith("<untrusted-")
    assert not any(map(is_question, client.frames))


def test_tools_of_initialize_are_there_in_the_first_turn_and_bad_ones_are_reported(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        own = {"tools": [{"name": "say"}, SAY], "hooks": [{"id": "x", "event": "never"}]}
        client.initialize(folder, capabilities={"experimental": {"pygent": own}})
        begin(client)
        answer(client, is_call, text("yes"))
        client.answer("turn")
    said = [frame["params"]["message"] for frame in client.frames if frame.get("method") == "window/showMessage"]
    assert [each["content"] for each in results(client)] == ["yes"]
    assert any("say of the editor was not registered. description: Field required" in each for each in said)
    assert any("x of the editor was not registered. event: Input should be" in each for each in said)


BAD: list[tuple[Any, str]] = [
    ({"name": "say"}, "description: Field required; inputSchema: Field required"),
    (7, "value: Input should be a valid dictionary"),
    ({**SAY, "name": "not a name"}, "The name 'not a name' is not valid"),
    ({**SAY, "name": "x" * 57}, "at most 56"),
    ({**SAY, "description": " "}, "The description is empty"),
    ({**SAY, "inputSchema": {}}, 'must have "type": "object"'),
    ({**SAY, "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}}, "not a valid JSON Schema"),
    (
        {**SAY, "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}},
        "points outside the schema",
    ),
    ({**SAY, "inputSchema": {"type": "object", "description": "x" * 20_001}}, "the limit is 20,000"),
    ({**SAY, "readOnly": False, "risk": "low"}, 'The risk "low" needs readOnly'),
    ({**SAY, "runsPrograms": True}, "A tool with readOnly cannot have runsPrograms"),
    ({**RUN, "commandArgument": "line"}, "the schema has no property 'line'"),
    ({**SAY, "timeoutS": 0}, "timeoutS: Input should be greater than 0"),
]


def test_a_bad_tool_is_refused_with_the_reason_and_hides_no_other(folder: Path) -> None:
    with raw_client(folder) as client:
        client.initialize(folder)
        said = register(client, *(bad for bad, _ in BAD), SAY, SAY)["result"]
        named = {each["name"] for each in client.request("tools", "pygent/tools/list")["result"]["tools"]}
        wrong = client.request("wrong", "pygent/client/registerTools", {"tools": "say"})["error"]

    assert said["registered"] == ["editor__say"]
    assert len(said["refused"]) == len(BAD) + 1
    for (_, why), refused in zip(BAD, said["refused"], strict=False):
        assert why in refused["problem"]
    assert "two tools of this name" in said["refused"][-1]["problem"]
    assert [each for each in named if each.startswith("editor__")] == ["editor__say"]
    assert (wrong["code"], "it must be a list" in wrong["message"]) == (-32602, True)


def test_a_tool_cannot_take_the_name_of_another(folder: Path) -> None:
    with raw_client(folder) as client:
        client.initialize(folder)
        register(client, {**SAY, "name": "shell"}, {**SAY, "name": "mcp__x__y"})
        listed = client.request("tools", "pygent/tools/list")["result"]["tools"]

    assert {"shell", "editor__shell", "editor__mcp__x__y"} <= {each["name"] for each in listed}
    assert next(each["risk"] for each in listed if each["name"] == "shell") == "high"


@pytest.mark.parametrize(
    ("given", "why"), [({}, "'word' is a required property"), ({"word": 7}, "$.word: 7 is not of type 'string'")]
)
def test_invalid_arguments_do_not_reach_the_client(folder: Path, given: dict[str, Any], why: str) -> None:
    model = script(folder.parent, tool("editor__say", **given), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        begin(client)
        client.answer("turn")

    assert not any(map(is_call, client.frames))
    [result] = results(client)
    assert why in result["content"]


def test_a_schema_with_a_regular_expression_does_not_hold_up_the_daemon(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="a" * 100 + "!"), DONE)
    word = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(a+)+$"}}}
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, {**SAY, "inputSchema": word})
        begin(client)
        answer(client, is_call, text("not a word", isError=True))  # the editor checks it
        client.answer("turn")

    assert results(client)[0]["isError"]


def test_a_thousand_tools_are_found_on_demand(folder: Path) -> None:
    many = [{**SAY, "name": f"say_{number}", "description": f"Say word {number}."} for number in range(1_001)]
    steps = [
        Step(calls=(Call(name="search_tools", arguments={"query": "say 777"}),)),
        Step(calls=(Call(name="editor__say_777", arguments={"word": "hi"}),)),
        Step(text="done"),
    ]
    with ModelServer(steps) as model, editor_of(folder, model) as client:
        client.initialize(folder)
        said = register(client, *many)["result"]
        begin(client)
        call = answer(client, is_call, text("found"))
        client.answer("turn")

    assert len(said["registered"]) == 1_000
    assert said["refused"] == [{"name": "say_1000", "problem": "A client can register 1,000 tools at most."}]
    assert call["params"]["name"] == "say_777"
    offered = [each["function"]["name"] for each in model.requests[0].body["tools"]]
    assert not any(each.startswith("editor__") for each in offered)
    [search] = [each for each in model.requests[0].body["tools"] if each["function"]["name"] == "search_tools"]
    assert "Servers: editor (1000 tools)." in search["function"]["description"]


# Results


ANSWERS: list[tuple[Any, bool, str]] = [
    (text("", isError=True), True, "The editor reports an error without a message."),
    (text("no such task", isError=True), True, "no such task"),
    ({"content": [], "structured": {"a": 1}}, False, '"a": 1'),
    ({"content": []}, False, "(no output)"),
    (None, True, "invalid result"),
    ([], True, "invalid result"),
    ({"content": "text"}, True, "invalid result"),
    ({"content": [{"type": "video"}]}, True, "content.0.type: Input should be 'text' or 'image'"),
    ({"content": [{"type": "image", "data": "AAAA"}]}, False, "is not a PNG, JPEG, GIF or WebP image"),
    (text("half of a pair: \ud83d"), False, "half of a pair: \ufffd"),
]


def test_any_answer_of_a_client_is_a_result(folder: Path) -> None:
    calls = {"tool_calls": [{"name": "editor__say", "input": {"word": str(number)}} for number in range(len(ANSWERS))]}
    model = script(folder.parent, calls, DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        begin(client)
        for number, (said, _, _) in enumerate(ANSWERS):
            answer(
                client, lambda frame, n=number: is_call(frame) and frame["params"]["arguments"]["word"] == str(n), said
            )
        ended = client.answer("turn")["result"]

    assert ended["stopReason"] == "end_turn"
    for (_, is_error, words), result in zip(ANSWERS, results(client), strict=True):
        assert (result["isError"], words in result["content"]) == (is_error, True), result


def test_an_error_response_is_an_error_of_the_call(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        begin(client)
        asked = client.until(is_call)
        client.send(
            {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "Lua: attempt to index"}}
        )
        client.answer("turn")

    assert "say failed in the editor: Lua: attempt to index" in results(client)[0]["content"]


def test_a_huge_result_is_cut_and_the_live_output_is_bounded(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        begin(client)
        asked = client.until(is_call)
        for _ in range(30):
            told = {"callId": asked["params"]["callId"], "text": "word " * 20_000}
            client.tell("pygent/client/toolProgress", told)
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": text("line of text\n" * 2_000_000)})
        ended = client.answer("turn")["result"]

    [result] = results(client)
    assert ended["stopReason"] == "end_turn"
    assert len(result["content"]) < 100_000
    assert "OUTPUT TRUNCATED" in result["content"]
    assert sum(len(each["content"]) for each in events(client) if each["type"] == "tool_progress") <= 1_000_000


# The end of a call


def test_a_call_that_takes_too_long_is_cancelled(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, {**SAY, "timeoutS": 0.2})
        begin(client)
        asked = client.until(is_call)
        cancelled = client.notification("$/cancelRequest")
        told = client.notification("pygent/client/toolCancelled")
        ended = client.answer("turn")["result"]

    assert cancelled == {"id": asked["id"]}
    assert told == {"callId": asked["params"]["callId"]}
    assert "say did not end within 0.2 s and was cancelled" in results(client)[0]["content"]
    assert ended["stopReason"] == "end_turn"


def test_a_cancelled_turn_cancels_the_call(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        begin(client)
        asked = client.until(is_call)
        client.tell("$/cancelRequest", {"id": "turn"})
        cancelled = client.until(lambda frame: frame.get("method") == "$/cancelRequest")["params"]
        ended = client.answer("turn")["error"]

    assert cancelled == {"id": asked["id"]}
    assert ended["data"]["stopReason"] == "cancelled"


def test_a_tool_that_is_withdrawn_ends_its_call_and_is_gone(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="a"), tool("editor__say", word="b"), DONE, DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        begin(client)
        client.until(is_call)
        removed = client.request("away", "pygent/client/unregisterTools", {"names": ["say", "other", "say"]})["result"]
        client.answer("turn")
        listed = client.request("tools", "pygent/tools/list")["result"]["tools"]

    assert removed == {"removed": ["say"]}
    first, second = results(client)
    assert "The editor has withdrawn say while it ran" in first["content"]
    assert "The editor no longer offers say. Nothing was run." in second["content"]
    assert not any(each["name"].startswith("editor__") for each in listed)


def test_a_client_that_disconnects_ends_its_call_and_loses_its_tools(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="a"), tool("editor__say", word="b"), DONE, DONE)
    window = {"capabilities": {"experimental": {"pygent": {"windowId": "w"}}}}
    with socket_daemon(folder, {"PYGENT_MODEL": model}, "--linger", "60") as daemon:
        first = daemon.editor(folder, **window)
        register(first, SAY)
        begin(first)
        call = first.until(is_call)
        first.kill()
        back = daemon.editor(folder, **window)
        attached = {"sessionId": call["params"]["sessionId"], "sinceSeq": 0, "partialResultToken": "events"}
        back.begin("attach", "pygent/session/attach", attached)
        back.until(lambda _: any(event["type"] == "finished" for event in events(back)))
        listed = back.request("tools", "pygent/tools/list")["result"]["tools"]
        again = register(back, SAY)["result"]

    gone, missing = results(back)
    assert "the editor disconnected before it answered" in gone["content"]
    assert "The editor no longer offers say" in missing["content"]
    assert not any(each["name"].startswith("editor__") for each in listed)
    assert again["registered"] == ["editor__say"]


def test_each_of_two_editors_has_its_own_tools(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="a"), DONE, tool("editor__say", word="b"), DONE)
    with socket_daemon(folder, {"PYGENT_MODEL": model}) as daemon:
        one, two = daemon.editor(folder), daemon.editor(folder)
        register(one, SAY)
        register(two, {**SAY, "name": "sing"})
        names = [
            [each["name"] for each in editor.request("tools", "pygent/tools/list")["result"]["tools"]]
            for editor in (one, two)
        ]
        begin(one)
        call = answer(one, is_call, text("one"))
        session = one.answer("turn")["result"]["sessionId"]
        begin(two, sessionId=session)  # the session moves to the second editor, which does not have the tool
        two.answer("turn")

    assert [each for each in names[0] if each.startswith("editor__")] == ["editor__say"]
    assert [each for each in names[1] if each.startswith("editor__")] == ["editor__sing"]
    assert call["params"]["arguments"] == {"word": "a"}
    assert len(list(filter(is_call, one.frames))) == 1
    assert "There is no tool named 'editor__say'" in results(two)[0]["content"]


# Permission


def test_a_tool_that_changes_something_asks_and_a_rejected_call_does_not_run(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, {**SAY, "readOnly": False})
        begin(client)
        question = choose(client, "Reject")
        client.answer("turn")

    assert 'Editor: say {"word": "hi"}' in question
    assert not any(map(is_call, client.frames))
    assert "Permission denied" in results(client)[0]["content"]


def test_always_allow_covers_the_whole_tool(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="a"), tool("editor__say", word="b"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, {**SAY, "readOnly": False})
        begin(client)
        asked = client.until(is_question)
        always = next(each for each in asked["params"]["actions"] if each["title"].startswith("Always allow"))
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": always})
        for word in ("a", "b"):
            answer(
                client, lambda frame, w=word: is_call(frame) and frame["params"]["arguments"]["word"] == w, text("ok")
            )
        client.answer("turn")
        rules = client.request("rules", "pygent/permission/rules", {})["result"]["rules"]

    assert len(list(filter(is_question, client.frames))) == 1
    assert ("editor__say", "allow") in [(each["rule"], each["decision"]) for each in rules]


@pytest.mark.parametrize("capabilities", [{}, {"experimental": {"pygent": {"restricted": True}}}])
def test_plan_mode_and_a_restricted_workspace_run_only_tools_that_read(
    folder: Path, capabilities: dict[str, Any]
) -> None:
    model = script(folder.parent, tool("editor__write", word="a"), tool("editor__say", word="b"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder, capabilities=capabilities)
        register(client, SAY, {**SAY, "name": "write", "readOnly": False, "destructive": False})
        begin(client, mode="plan")
        call = answer(client, is_call, text("read"))
        client.answer("turn")

    assert call["params"]["name"] == "say"
    refused, said = results(client)
    assert "Permission denied" in refused["content"]
    assert said["content"] == "read"


@pytest.mark.parametrize("mode", ["default", "bypass"])
@pytest.mark.parametrize(
    "line", ["git push", "cd x && git  push -f", "sh -c 'git push'", "git push\necho", "FOO=1 git push"]
)
def test_a_denied_command_does_not_run_in_a_terminal_either(folder: Path, mode: str, line: str) -> None:
    settings = folder.parent / "home" / ".config" / "pygent-ls"
    settings.mkdir(parents=True)
    rules = '[permissions]\ndeny = ["shell(git push:*)"]\nallow = ["editor__open"]\n'
    (settings / "config.toml").write_text(f"allow_bypass = true\n{rules}")
    model = script(folder.parent, tool("editor__open", command=line), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, RUN)
        begin(client, mode=mode)
        client.answer("turn")

    assert not any(map(is_call, client.frames))
    assert "its command: the rule shell(git push:*) denies it" in results(client)[0]["content"]


def test_a_command_in_a_terminal_asks_although_the_shell_may_run_it(folder: Path) -> None:
    settings = {"PYGENT_PERMISSIONS": '{"allow": ["shell"]}'}
    model = script(folder.parent, tool("editor__open", command="make"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model, **settings}) as client:
        client.initialize(folder)
        register(client, RUN)
        begin(client)
        asked = client.until(is_question)
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
        call = answer(client, is_call, text("opened"))
        client.answer("turn")

    assert "Editor: open $ make" in asked["params"]["message"]
    assert "Not sandboxed" in asked["params"]["message"]
    assert not [each for each in asked["params"]["actions"] if each["title"].startswith("Always")]
    assert call["params"]["arguments"] == {"command": "make"}


@pytest.mark.parametrize("line", ["echo \x15rm -rf x", "true\x1b[A", "a\x7fb"])
def test_keys_in_a_command_are_refused(folder: Path, line: str) -> None:
    model = script(folder.parent, tool("editor__open", command=line), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, RUN)
        begin(client)
        client.answer("turn")

    assert not any(map(is_call, client.frames))
    assert "has control characters" in results(client)[0]["content"]


def test_what_a_tool_of_the_editor_changes_belongs_to_the_undo(folder: Path) -> None:
    (folder / "made.txt").write_text("before\n")
    environment = {"PYGENT_PERMISSIONS": '{"allow": ["editor__*"]}'}
    environment["PYGENT_MODEL"] = script(folder.parent, tool("editor__build", word="x"), DONE)
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder)
        register(client, {**SAY, "name": "build", "readOnly": False, "runsPrograms": True})
        begin(client)
        asked = client.until(is_call)
        (folder / "made.txt").write_text("after\n")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": text("built")})
        session = client.answer("turn")["result"]["sessionId"]
        undo = {"command": "pygent.undo", "arguments": [{"sessionId": session}]}
        undone = client.request("undo", "workspace/executeCommand", undo)["result"]

    assert undone["uncertain"] == [(folder / "made.txt").as_uri()]  # as for a command that does not name the file


@pytest.mark.parametrize("settings", [{"PYGENT_DISALLOWED_TOOLS": "shell"}, {"PYGENT_SANDBOX": "require"}])
def test_settings_that_prevent_unconfined_commands_prevent_them_in_terminals(
    folder: Path, settings: dict[str, str]
) -> None:
    model = script(folder.parent, tool("editor__open", command="make"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model, **settings}) as client:
        client.initialize(folder)
        register(client, RUN)
        begin(client)
        client.answer("turn")

    assert not any(map(is_call, client.frames))
    assert not any(map(is_question, client.frames))
    assert results(client)[0]["isError"]


# Hooks


def hooked(client: RawClient, *hooks: object, id: str = "hooks") -> dict[str, Any]:
    """Register hooks."""
    return client.request(id, "pygent/hooks/register", {"hooks": hooks})["result"]


BEFORE = {"id": "before", "event": "pre_tool_use", "matcher": "editor__.*|shell"}


def test_a_hook_of_the_editor_reads_what_a_command_reads_and_denies(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        said = hooked(client, BEFORE, {**BEFORE, "id": "bad", "matcher": "("}, {"id": "", "event": "stop"}, BEFORE)
        begin(client)
        asked = answer(client, is_hook, {"decision": "deny", "reason": "not today"})
        client.answer("turn")

    assert said["registered"] == ["before"]
    why = [each["problem"] for each in said["refused"]]
    assert "matcher: it is not a regular expression" in why[0]
    assert "id: String should have at least 1 character" in why[1]
    assert "two hooks of this id" in why[2]
    given = asked["params"]["input"]
    assert asked["params"]["hookId"] == "before"
    assert (given["hook_event"], given["tool_name"], given["tool_input"]) == (
        "pre_tool_use",
        "editor__say",
        {"word": "hi"},
    )
    assert given["cwd"] == str(folder)
    assert not any(map(is_call, client.frames))
    assert "a hook configured by the user denied it: not today" in results(client)[0]["content"]
    [ran] = [each for each in events(client) if each["type"] == "hook"]
    assert (ran["command"], ran["decision"]) == ("editor: before", "deny")


def test_a_hook_of_the_editor_changes_the_input_and_asks(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        hooked(client, BEFORE)
        begin(client)
        answer(client, is_hook, {"decision": "ask", "reason": "sure?", "tool_input": {"word": "ho"}})
        question = choose(client, "Allow once")
        call = answer(client, is_call, text("ho"))
        client.answer("turn")

    assert "a hook requires your confirmation: sure?" in question
    assert call["params"]["arguments"] == {"word": "ho"}


def test_a_changed_input_is_validated(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        hooked(client, BEFORE)
        begin(client)
        answer(client, is_hook, {"tool_input": {"word": 7}})
        client.answer("turn")

    assert "a hook changed the input of this call to an invalid one" in results(client)[0]["content"]


def test_a_hook_of_the_editor_cannot_allow_what_a_rule_denies(folder: Path) -> None:
    model = script(folder.parent, tool("shell", command="git push"), DONE)
    rules = {"PYGENT_PERMISSIONS": '{"deny": ["shell(git push:*)"]}'}
    with raw_client(folder, environment={"PYGENT_MODEL": model, **rules}) as client:
        client.initialize(folder)
        hooked(client, BEFORE)
        begin(client)
        answer(client, is_hook, {"decision": "allow"})
        client.answer("turn")

    assert "the rule shell(git push:*) denies it" in results(client)[0]["content"]


HOOK_ANSWERS: list[tuple[Any, str]] = [
    (7, "its output is not a JSON object: 7"),
    ({"decision": "perhaps"}, 'must be "allow", "ask" or "deny"'),
    ({"tool_input": []}, "its tool_input must be an object"),
    ({"wrong": 1}, "returns unknown fields: wrong"),
    ({"context": "x" * 400_001}, "its answer is longer than 400,000 characters"),
]


@pytest.mark.parametrize(("said", "why"), HOOK_ANSWERS)
def test_an_invalid_answer_of_a_hook_is_a_notice(folder: Path, said: object, why: str) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        hooked(client, BEFORE)
        begin(client)
        answer(client, is_hook, said)
        answer(client, is_call, text("hi"))
        client.answer("turn")

    assert any(why in each["content"] for each in events(client) if each["type"] == "notice")
    assert results(client)[0]["content"] == "hi"


def test_a_hook_that_is_late_or_fails_decides_nothing(folder: Path) -> None:
    model = script(folder.parent, tool("editor__say", word="hi"), DONE)
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder)
        register(client, SAY)
        hooked(client, {**BEFORE, "timeoutS": 0.2}, {**BEFORE, "id": "fails"})
        begin(client)
        asked = client.until(lambda frame: is_hook(frame) and frame["params"]["hookId"] == "fails")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1, "message": "boom"}})
        answer(client, is_call, text("hi"))
        client.answer("turn")
        gone = client.request("off", "pygent/hooks/unregister", {"ids": ["before", "fails", "x"]})["result"]

    told = [each["content"] for each in events(client) if each["type"] == "notice"]
    assert "The pre_tool_use hook `editor: before` did not answer within 0.2 s and is ignored." in told
    assert "The pre_tool_use hook `editor: fails` failed (boom) and is ignored." in told
    assert results(client)[0]["content"] == "hi"
    assert gone == {"removed": ["before", "fails"]}


AWAY = {"id": "before", "event": "pre_tool_use", "matcher": "grep_search", "timeoutS": 5}


def has_hooks(*hooks: object) -> dict[str, Any]:
    """What a window sends with `initialize`."""
    return {"capabilities": {"experimental": {"pygent": {"windowId": "w", "hooks": hooks}}}}


def attach(client: RawClient, session: str) -> None:
    """See the events of a turn that continues."""
    params = {"sessionId": session, "sinceSeq": 0, "partialResultToken": "events"}
    client.begin("attach", "pygent/session/attach", params)


@pytest.mark.parametrize("way", ["by request", "with initialize"])
def test_a_hook_that_was_asked_when_its_window_was_lost_is_asked_again_and_denies(folder: Path, way: str) -> None:
    (folder / "a.txt").write_text("needle in a file")
    model = script(folder.parent, tool("grep_search", pattern="needle"), tool("grep_search", pattern="needle"), DONE)
    window = has_hooks(AWAY) if way == "with initialize" else has_hooks()
    with socket_daemon(folder, {"PYGENT_MODEL": model}, "--linger", "60") as daemon:
        first = daemon.editor(folder, **window)
        if way == "by request":
            hooked(first, AWAY)
        begin(first)
        session = first.until(is_hook)["params"]["input"]["session_id"]
        first.kill()
        back = daemon.editor(folder, **window)
        attach(back, session)
        if way == "by request":
            assert not any(map(is_hook, back.frames))
            hooked(back, AWAY)
        for number in (1, 2):
            back.until(lambda _, number=number: len([each for each in back.frames if is_hook(each)]) == number)
            asked = [each for each in back.frames if is_hook(each)][-1]
            back.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"decision": "deny", "reason": "never"}})
        back.until(lambda _: any(event["type"] == "finished" for event in events(back)))

    assert len(results(back)) == 2
    assert all("denied it: never" in each["content"] for each in results(back))


def test_a_hook_whose_window_does_not_come_back_lets_nothing_run(folder: Path) -> None:
    model = script(folder.parent, tool("shell", command="touch made"), DONE)
    hook = {**AWAY, "matcher": "shell"}
    environment = {"PYGENT_MODEL": model, "PYGENT_MODE": "bypass", "PYGENT_ALLOW_BYPASS": "true"}
    with socket_daemon(folder, environment, "--linger", "1") as daemon:
        first = daemon.editor(folder, **has_hooks(hook, {"id": "end", "event": "session_end"}))
        begin(first)
        first.until(is_hook)
        first.kill()
        assert daemon.process.wait() == 0

    assert not (folder / "made").exists()


def test_nothing_is_loaded_or_offered_until_something_is_registered(folder: Path) -> None:
    with ModelServer([Step(text="done")]) as model, editor_of(folder, model) as client:
        client.initialize(folder)
        begin(client)
        client.answer("turn")

    assert "editor__" not in json.dumps(model.requests[0].body)
