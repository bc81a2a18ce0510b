"""The wire itself: every request gets exactly one response, whatever it holds, and no input ends the daemon."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame
from tests.editors.lsp.editor import Editor, Setup, WireError, connected, wired
from tests.fakes import Gate, bounded, say

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED = -32002


def errors_without_id(editor: Editor) -> list[tuple[int, str]]:
    """Code and text of every error that answers no request."""
    found = [frame["error"] for frame in editor.frames if "error" in frame and frame["id"] is None]
    return [(error["code"], error["message"]) for error in found]


async def alive(editor: Editor) -> bool:
    """Whether the daemon still answers."""
    return bool((await editor.request("pygent/status"))["version"])


# Invalid messages


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"{broken!}", PARSE_ERROR, "the body is not JSON"),
        (b"", PARSE_ERROR, "the body is not JSON"),
        (b"\xff\xfe\xfa", PARSE_ERROR, "the body is not JSON"),
        (b'{"a": "\xe9"}', PARSE_ERROR, "the body is not JSON"),
        (b"[" * 100_000, PARSE_ERROR, "the body is not JSON"),
        (b"[]", INVALID_REQUEST, "batches"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "pygent/status"}]', INVALID_REQUEST, "batches"),
        (b"7", INVALID_REQUEST, "must be a JSON object"),
        (b"null", INVALID_REQUEST, "must be a JSON object"),
        (b'"pygent/status"', INVALID_REQUEST, "must be a JSON object"),
        (b"{}", INVALID_REQUEST, "neither a method nor a result"),
        (b'{"jsonrpc": "2.0", "method": 7}', INVALID_REQUEST, "`method` must be a string"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "pygent/status"}', INVALID_REQUEST, "`id` must be"),
        (b'{"jsonrpc": "2.0", "id": 1.0, "method": "pygent/status"}', INVALID_REQUEST, "`id` must be"),
        (b'{"jsonrpc": "2.0", "id": 1e400, "method": "pygent/status"}', INVALID_REQUEST, "`id` must be"),
        (b'{"jsonrpc": "2.0", "id": true, "method": "pygent/status"}', INVALID_REQUEST, "`id` must be"),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "pygent/status"}', INVALID_REQUEST, "`id` must be"),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "pygent/status"}', INVALID_REQUEST, "`id` must be"),
    ],
)
async def test_what_is_no_message_is_answered_without_an_id(folder: Path, body: bytes, code: int, said: str) -> None:
    async with connected(folder) as editor:
        editor.send_raw(body)
        await editor.until(lambda: errors_without_id(editor))

        ((given_code, message),) = errors_without_id(editor)
        assert given_code == code
        assert said in message
        assert await alive(editor)


async def test_a_broken_frame_is_a_parse_error(folder: Path) -> None:
    async with connected(folder) as editor:
        editor.send_raw(BrokenFrame("the frame has no Content-Length header"))
        await editor.until(lambda: errors_without_id(editor))

        assert errors_without_id(editor) == [(PARSE_ERROR, "the frame has no Content-Length header")]


async def test_an_id_may_be_text_or_any_whole_number(folder: Path) -> None:
    async with connected(folder) as editor:
        for each in ("", "a-b", "\U0001f600", 0, -7, 10**30):
            assert (await bounded(editor.begin("pygent/status", {}, id=each)))["version"]


async def test_an_id_that_is_used_again_at_the_same_time_is_answered_twice(folder: Path) -> None:
    async with connected(folder) as editor:
        for _ in range(2):
            editor.send({"jsonrpc": "2.0", "id": 77, "method": "pygent/status", "params": {}})
        await editor.until(lambda: sum(frame.get("id") == 77 for frame in editor.frames) == 2)


async def test_a_message_may_leave_out_its_version(folder: Path) -> None:
    async with connected(folder) as editor:
        editor.send({"id": 77, "method": "pygent/status"})
        await editor.until(lambda: any(frame.get("id") == 77 and "result" in frame for frame in editor.frames))


# Requests that are wrong


async def test_a_method_that_nobody_knows_is_not_found(folder: Path) -> None:
    async with connected(folder) as editor:
        for method in ("pygent/nothing", "textDocument/hover", "$/nothing", "", "client/registerCapability"):
            error = await editor.error(method)
            assert error.code == METHOD_NOT_FOUND
            assert method in error.message


@pytest.mark.parametrize(
    "method", ["textDocument/didOpen", "initialized", "$/cancelRequest", "workspace/didChangeWatchedFiles"]
)
async def test_a_notification_that_is_sent_as_a_request_is_answered(folder: Path, method: str) -> None:
    async with connected(folder) as editor:
        assert (await editor.error(method)).code in {INVALID_REQUEST, INVALID_PARAMS}
        assert await alive(editor)


@pytest.mark.parametrize("method", ["pygent/turn/start", "pygent/session/new", "workspace/executeCommand"])
async def test_a_request_that_is_sent_as_a_notification_does_nothing(folder: Path, method: str) -> None:
    async with connected(folder, Setup(script=[say("never")])) as editor:
        editor.tell(method, {"prompt": "go", "command": "pygent.newSession"})
        await editor.until(lambda: errors_without_id(editor))

        ((code, message),) = errors_without_id(editor)
        assert code in {INVALID_REQUEST, INVALID_PARAMS}
        assert method in message
        assert (await editor.request("pygent/status"))["sessions"] == 0


async def test_a_notification_that_nobody_knows_is_left_alone(folder: Path) -> None:
    async with connected(folder) as editor:
        n_frames = len(editor.frames)
        for method in ("$/nothing", "pygent/nothing", "textDocument/nothing", ""):
            editor.tell(method, {"a": 1})

        assert await alive(editor)
        assert [frame for frame in editor.frames[n_frames:] if "error" in frame] == []


@pytest.mark.parametrize("params", [[], ["go"], "go", 7, True])
async def test_parameters_must_be_an_object(folder: Path, params: Any) -> None:
    async with connected(folder) as editor:
        for method in ("pygent/turn/start", "textDocument/codeAction"):
            future = editor.begin(method, params)
            with pytest.raises(WireError) as raised:
                await bounded(future)
            assert raised.value.code == INVALID_PARAMS
            assert raised.value.message == f"the parameters of {method} must be an object"


TURN = "pygent/turn/start"
NOTHING: dict[str, Any] = {}
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        (TURN, NOTHING, "prompt"),
        (TURN, {"prompt": 7}, "prompt"),
        (TURN, {"prompt": ""}, "prompt"),
        (TURN, {"prompt": []}, "prompt"),
        (TURN, {"prompt": None}, "prompt"),
        (TURN, {"prompt": [{"type": "text"}]}, "text"),
        (TURN, {"prompt": [{"type": "sound", "data": ""}]}, "type"),
        (TURN, {"prompt": [{"type": "file", "uri": 7}]}, "uri"),
        (TURN, {"prompt": [{"type": "file", "uri": "untitled:a"}]}, "untitled:a"),
        (TURN, {"prompt": [{"type": "file", "uri": "file://[/a"}]}, "file://[/a"),
        (TURN, {"prompt": [{"type": "file", "uri": "file:///a%00b"}]}, "file:///a%00b"),
        (TURN, {"prompt": [{"type": "file", "uri": "file:///a", "range": {"start": 1}}]}, "start"),
        (TURN, {"prompt": "x", "maxIterations": -1}, "maxIterations"),
        (TURN, {"prompt": "x", "maxIterations": "7"}, "maxIterations"),
        (TURN, {"prompt": "x", "maxIterations": 1.5}, "maxIterations"),
        (TURN, {"prompt": "x", "sessionId": 7}, "sessionId"),
        (TURN, {"prompt": "x", "mode": "yolo"}, "mode"),
        (TURN, {"prompt": "x", "agent": "nobody"}, "agent"),
        (TURN, {"prompt": "x", "model": ["a"]}, "model"),
        (TURN, {"prompt": "x", "model": "nonsense"}, "model"),
        (TURN, {"prompt": "x", "workDoneToken": 1.5}, "workDoneToken"),
        (TURN, {"prompt": "x", "partialResultToken": True}, "partialResultToken"),
        (TURN, {"prompt": "x", "context": {"selection": {"uri": "file:///a"}}}, "context.selection.range"),
        (TURN, {"prompt": "x", "context": {"diagnostics": [{"uri": "file:///a", "items": [NOTHING]}]}}, "message"),
        ("pygent/turn/cancel", {"sessionId": ["x"]}, "sessionId"),
        ("pygent/turn/cancel", NOTHING, "sessionId"),
        ("pygent/turn/dequeue", {"sessionId": "x"}, "turnId"),
        ("pygent/session/new", {"cwd": "relative"}, "cwd"),
        ("pygent/session/new", {"cwd": "/no/such/folder"}, "cwd"),
        ("pygent/session/new", {"mode": 7}, "mode"),
        ("pygent/permission/setMode", {"sessionId": "x", "mode": "yolo"}, "mode"),
        ("pygent/permission/forget", NOTHING, "rule"),
        ("textDocument/codeAction", {"textDocument": {"uri": 7}, "range": RANGE}, "textDocument"),
        ("textDocument/codeAction", {"textDocument": {"uri": "file:///a"}, "range": RANGE}, "context"),
        ("workspace/executeCommand", {"command": "pygent.nothing"}, "pygent.nothing"),
        ("workspace/executeCommand", {"command": None}, "command"),
        ("workspace/executeCommand", {"command": "pygent.ask", "arguments": [7]}, "argument 1"),
    ],
)
async def test_parameters_that_are_wrong_are_refused_with_the_field(
    folder: Path, method: str, params: dict[str, Any], field: str
) -> None:
    async with connected(folder, Setup(script=[say("never")])) as editor:
        error = await editor.error(method, params)

        assert error.code == INVALID_PARAMS
        assert field in error.message
        assert len(error.message) < 2000
        assert (await editor.request("pygent/status"))["sessions"] == 0


async def test_a_session_that_nobody_knows_has_a_kind_of_its_own(folder: Path) -> None:
    async with connected(folder) as editor:
        for method, params in (
            (TURN, {"prompt": "x", "sessionId": "gone"}),
            ("pygent/turn/cancel", {"sessionId": "gone"}),
            ("pygent/turn/queue", {"sessionId": "gone"}),
            ("pygent/turn/dequeue", {"sessionId": "gone", "turnId": "t"}),
            ("pygent/permission/setMode", {"sessionId": "gone", "mode": "plan"}),
            ("pygent/permission/rules", {"sessionId": "gone"}),
        ):
            error = await editor.error(method, params)
            assert (error.code, error.data) == (INVALID_PARAMS, {"kind": "unknown_session"})


@pytest.mark.parametrize("text_document", ["\ud800", {"uri": "file:///a", "version": "\ud800"}], ids=ascii)
async def test_half_a_surrogate_pair_in_place_of_something_else_is_refused(folder: Path, text_document: Any) -> None:
    async with connected(folder) as editor:
        error = await editor.error("textDocument/codeAction", {"textDocument": {"uri": "file:///a"}, "range": "\ud800"})
        assert error.code == INVALID_PARAMS

        uri = editor.documents.open(folder / "a.txt", text="a")
        document = text_document if isinstance(text_document, str) else {**text_document, "uri": uri}
        editor.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": "b"}]})
        assert await alive(editor)


@pytest.mark.parametrize("session_id", ["", "\0", "\ud800", "..", "../x", "/", "x" * 5_000], ids=ascii)
async def test_no_session_has_an_id_that_is_no_name_of_a_file(folder: Path, session_id: str) -> None:
    async with connected(folder, Setup(checkpoints=True, keeps_sessions=True)) as editor:
        for method in ("pygent/checkpoint/list", "pygent/session/load", "pygent/session/delete"):
            error = await editor.error(method, {"sessionId": session_id})
            assert (error.code, error.data) == (INVALID_PARAMS, {"kind": "unknown_session"})
        error = await editor.error("pygent/checkpoint/diff", {"checkpointId": session_id})
        assert error.code == INVALID_PARAMS


# Odd, but right


async def test_half_a_surrogate_pair_in_a_key_is_just_data(folder: Path) -> None:
    async with connected(folder) as editor:
        code: dict[str, Any] = {
            "textDocument": {"uri": "file:///a", "\ud800": 1},
            "range": RANGE,
            "context": {"diagnostics": []},
        }

        assert isinstance(await editor.request("textDocument/codeAction", {**code, "a\udc00": {"\ud800": 2}}), list)
        assert (await editor.request("pygent/session/list", {"\ud800": {"\udfff": 1}}))["sessions"] == []


async def test_odd_keys_and_nested_messages_are_just_data(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("fine")])) as editor:
        block = {"type": "text", "text": "hi", "jsonrpc": "2.0", "id": 5, "method": "exit"}
        result = await editor.turn([block], **{"class": 1, "a-b": 2, "_1": 3, "": 4, "jsonrpc": "2.0"})

        assert result["text"] == "fine"
        assert [message.text for message in editor.core.sessions.all()[0].messages] == ["hi", "fine"]
        assert editor.exit_codes == []


async def test_a_message_with_more_members_than_it_needs_is_read(folder: Path) -> None:
    async with connected(folder) as editor:
        editor.send({"jsonrpc": "2.0", "id": 9, "method": "pygent/status", "params": None, "extra": {"jsonrpc": "1"}})
        await editor.until(lambda: any(frame.get("id") == 9 and "result" in frame for frame in editor.frames))


@pytest.mark.parametrize("text", ["\x00", "a\u2028b", "\U0001f600", "\ufeff"])
async def test_text_of_any_kind_comes_back_as_it_was(folder: Path, text: str) -> None:
    async with connected(folder, Setup(script=[say(f"you said {text}!")])) as editor:
        result = await editor.turn(text)

        assert result["text"] == f"you said {text}!"
        assert editor.events()[0]["prompt"] == text


@pytest.mark.parametrize("half", ["\ud800", "a\udfff"], ids=ascii)
async def test_half_a_surrogate_pair_in_a_prompt_is_replaced_and_in_an_answer_it_is_kept(
    folder: Path, half: str
) -> None:
    async with connected(folder, Setup(script=[say(f"answer {half}!")])) as editor:
        result = await editor.turn([{"type": "text", "text": f"x{half}y"}], sessionId=None)

        assert result["text"] == f"answer {half}!"
        assert editor.core.model.requests[0].messages[-1].text == f"x{half[:-1]}\ufffdy"


async def test_nothing_is_kept_of_requests_and_notifications_that_are_over(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("fine")])) as editor:
        await editor.turn()
        for _ in range(10):
            editor.tell("window/workDoneProgress/cancel", {"token": "none"})
            editor.tell("$/setTrace", {"value": "off"})
            await editor.request("workspace/executeCommand", {"command": "pygent.cancel", "arguments": []})

        endpoint: Any = editor.server.endpoint
        assert (endpoint._running, endpoint._tasks) == ({}, set())
        assert endpoint._outgoing == {}


# Answers of the client


@pytest.mark.parametrize(
    "answer",
    [
        {"id": 999, "result": None},
        {"id": "999", "result": None},
        {"id": None, "result": None},
        {"id": True, "result": None},
        {"id": 1.0, "error": {"code": 1, "message": "x"}},
        {"id": [1], "result": 7},
        {"id": {}, "error": "text"},
        {"result": 7},
        {"error": None},
    ],
    ids=json.dumps,
)
async def test_an_answer_to_nothing_does_nothing(folder: Path, answer: dict[str, Any]) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("done")]])) as editor:
        turn = editor.begin_turn()
        await gate.reached()

        editor.send({"jsonrpc": "2.0", **answer})
        assert await alive(editor)

        gate.open()
        assert (await bounded(turn))["text"] == "done"


@pytest.mark.parametrize("text", ["", "\\ud800"], ids=ascii)
def test_a_number_beyond_all_others_is_null_in_an_answer_whatever_stands_beside_it(text: str) -> None:
    endpoint, sent = RpcEndpoint(), list[bytes]()
    endpoint.phase, endpoint.write, endpoint.mend = "running", sent.append, lambda _, params: dict(params)
    endpoint.on_request("echo", lambda params: params)

    endpoint.receive('{"id": 1, "method": "echo", "params": {"a": [1e999, -1e999], "b": "' + text + '"}}')

    (answer,) = sent
    assert b"Infinity" not in answer
    assert json.loads(answer)["result"]["a"] == [None, None]


async def test_an_answer_without_a_result_fails_its_question_and_is_not_answered_itself() -> None:
    """The client's own requests have the same ids: an error with one of them would be taken for their answer."""
    endpoint, sent = RpcEndpoint(), list[bytes]()
    endpoint.write = sent.append
    asking = asyncio.create_task(endpoint.ask("window/showDocument", {}))
    await asyncio.sleep(0)
    (asked,) = map(json.loads, sent)

    endpoint.receive(json.dumps({"jsonrpc": "2.0", "id": asked["id"]}))

    with pytest.raises(ClientError):
        await bounded(asking)
    assert len(sent) == 1


# Lifecycle


async def test_before_initialize_every_request_is_refused_and_every_notification_dropped(folder: Path) -> None:
    async with wired(folder) as editor:
        editor.tell("textDocument/didOpen", {"textDocument": {}})
        editor.tell("initialized", {})
        for method in (TURN, "pygent/status", "shutdown", "pygent/nothing"):
            assert (await editor.error(method)).code == NOT_INITIALIZED

        assert editor.blueprint.core is None
        assert [frame for frame in editor.frames if frame.get("id") is None] == []


async def test_a_refused_initialize_may_be_tried_again(folder: Path) -> None:
    async with wired(folder) as editor:
        assert (await editor.error("initialize", {"processId": "x", "capabilities": 7})).code == INVALID_PARAMS
        assert (await editor.error("pygent/status")).code == NOT_INITIALIZED

        await editor.request("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        assert await alive(editor)


async def test_a_second_initialize_is_refused_and_changes_nothing(folder: Path) -> None:
    async with connected(folder) as editor:
        error = await editor.error("initialize", {"processId": None, "capabilities": {}, "rootUri": "file:///tmp"})

        assert error.code == INVALID_REQUEST
        assert editor.blueprint.folders == [folder]
        assert await alive(editor)


async def test_after_shutdown_every_request_is_refused_and_exit_is_clean(folder: Path) -> None:
    async with connected(folder) as editor:
        assert await editor.request("shutdown") is None
        for method in (TURN, "pygent/status", "initialize", "shutdown"):
            assert (await editor.error(method, {"prompt": "x"})).code == INVALID_REQUEST

        editor.tell("exit", {})
        assert editor.exit_codes == [0]


async def test_exit_without_shutdown_is_not_clean(folder: Path) -> None:
    async with wired(folder) as editor:
        editor.tell("exit", {})

        assert editor.exit_codes == [1]


@pytest.mark.parametrize("params", [{}, None, [], {"some": "thing"}], ids=str)
async def test_shutdown_takes_whatever_clients_send_with_it(folder: Path, params: Any) -> None:
    async with connected(folder) as editor:
        assert await bounded(editor.begin("shutdown", params)) is None


async def test_shutdown_ends_the_turns_first(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate]])) as editor:
        turn = editor.begin_turn()
        await gate.reached()

        await editor.request("shutdown")

        assert (await bounded(turn))["stopReason"] == "cancelled"
        assert editor.core.model.open_streams == 0


# Anything at all

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
methods = st.sampled_from(
    [
        "initialize",
        "initialized",
        TURN,
        "pygent/turn/cancel",
        "pygent/status",
        "pygent/permission/forget",
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/codeAction",
        "workspace/executeCommand",
        "workspace/didChangeWorkspaceFolders",
        "workspace/didChangeWatchedFiles",
        "window/workDoneProgress/cancel",
        "$/cancelRequest",
        "$/setTrace",
        "no/such",
    ]
)
keys = st.sampled_from(
    ["prompt", "sessionId", "textDocument", "uri", "range", "contentChanges", "command", "arguments"]
)
parameters = st.one_of(json_values, st.dictionaries(keys, json_values, max_size=4))


@given(calls=st.lists(st.tuples(methods, parameters), min_size=1, max_size=16))
async def test_whatever_a_request_holds_it_is_answered_once(folder: Path, calls: list[tuple[str, Any]]) -> None:
    async with connected(folder) as editor:
        ids = [f"r{number}" for number in range(len(calls))]
        for request_id, (method, params) in zip(ids, calls, strict=True):
            editor.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
            editor.send({"jsonrpc": "2.0", "method": method, "params": params})
        await editor.until(lambda: all(any(frame.get("id") == each for frame in editor.frames) for each in ids))
        assert await alive(editor)

        answers = [frame["id"] for frame in editor.frames if frame.get("id") in ids and "method" not in frame]
        assert sorted(answers) == sorted(ids)
