"""`pygent-ls acp` over real stdio, with the client of the official SDK at the other end."""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import ListSessionsResponse, SetSessionConfigOptionResponse

from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment
from tests.editors.acp.client import acp_client
from tests.extensions.mcp.test_npm_servers import NODE
from tests.model_server import Call, ModelServer, Step

EDIT = Call(name="edit_file", arguments={"path": "a.py", "old": "y = 2", "new": "y = 3"})
ROOT = Path(__file__).parents[2]
TYPESCRIPT_CLIENT = ROOT / "tests" / "editors" / "acp" / "typescript_client.mjs"
TYPESCRIPT_SDK = (
    ROOT / "build" / "peers" / "node_modules" / "@agentclientprotocol" / "sdk" / "dist" / "v1" / "stable" / "acp.js"
)
READ = Call(name="read_file", arguments={"path": "a.py"})
UNSAVED = "x = 1\ny = 2\n"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "a.py").write_text("x = 1\n")
    return made.resolve()


def settings(model: ModelServer) -> dict[str, str]:
    return {**model.env(), "PYGENT_MODEL": "openai/mock"}


async def test_an_unsaved_buffer_is_edited_through_the_client_after_a_question_with_the_diff(
    folder: Path, home: Path
) -> None:
    path = str(folder / "a.py")
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Changed.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[path] = UNSAVED
            await client.initialize()
            session = await client.new(folder)
            assert await client.prompt(session, "change y") == "end_turn"
            await client.until(lambda: "available_commands_update" in client.kinds())

    assert client.buffers == {path: "x = 1\ny = 3\n"}
    assert (folder / "a.py").read_text() == "x = 1\n"
    (asked,) = client.asked
    diff = asked["toolCall"]["content"][0]
    assert diff == {"type": "diff", "path": path, "oldText": UNSAVED, "newText": "x = 1\ny = 3\n"}
    kinds = [each["kind"] for each in asked["options"]]
    assert (kinds[0], kinds.count("reject_once")) == ("allow_once", 1)
    read, edit = client.calls()
    assert (read["kind"], read["status"]) == ("read", "completed")
    assert "y = 2" in read["content"][0]["content"]["text"]
    assert (edit["kind"], edit["status"], edit["content"][0]["type"]) == ("edit", "completed", "diff")
    assert edit["locations"] == [{"path": path}]
    assert client.said() == "Changed."
    assert {"usage_update", "session_info_update", "available_commands_update"} <= set(client.kinds())


async def test_what_the_user_types_while_they_are_asked_is_not_overwritten(folder: Path, home: Path) -> None:
    path = str(folder / "a.py")
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Sorry.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[path] = UNSAVED
            client.before_answer = lambda: client.buffers.update({path: "x = 1\ny = 2\n# mine\n"})
            await client.initialize()
            assert await client.prompt(await client.new(folder), "change y") == "end_turn"

    assert client.buffers[path] == "x = 1\ny = 2\n# mine\n"
    assert client.calls()[-1]["status"] == "failed"
    assert "changed by the user" in model.requests[2].texts("tool")[-1]


@pytest.mark.parametrize(
    "call",
    [
        Call(name="delete_file", arguments={"path": "a.py"}),
        Call(name="move_file", arguments={"source": "a.py", "destination": "b.py"}),
    ],
    ids=["delete", "move"],
)
async def test_a_file_with_unsaved_text_is_neither_deleted_nor_moved(folder: Path, home: Path, call: Call) -> None:
    path = str(folder / "a.py")
    with ModelServer([Step(calls=(READ,)), Step(calls=(call,)), Step(text="Done.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[path] = UNSAVED
            await client.initialize()
            await client.prompt(await client.new(folder), "away with it")
            assert (folder / "a.py").exists()
            assert client.calls()[1]["status"] == "failed"

    assert "unsaved changes" in model.requests[2].texts("tool")[-1]


async def test_an_edit_is_undone_in_the_buffer(folder: Path, home: Path) -> None:
    path = str(folder / "a.py")
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Changed.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[path] = UNSAVED
            await client.initialize()
            session = await client.new(folder)
            await client.prompt(session, "change y")
            assert client.buffers[path] == "x = 1\ny = 3\n"
            await client.prompt(session, "/undo")

    assert client.buffers[path] == UNSAVED
    assert (folder / "a.py").read_text() == "x = 1\n"


async def test_a_folder_that_is_a_link_is_named_as_the_client_names_it(
    folder: Path, home: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    path = str(link / "a.py")
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Changed.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[path] = UNSAVED
            await client.initialize()
            await client.prompt(await client.new(link), "change y")
            listed = await client.request("session/list", {"cwd": str(link)}, ListSessionsResponse)

    assert client.buffers == {path: "x = 1\ny = 3\n"}
    assert client.asked[0]["toolCall"]["content"][0]["path"] == path
    assert {each["path"] for call in client.calls() for each in call["locations"]} == {path}
    assert len(listed.sessions) == 1


async def test_an_edit_that_the_client_drops_is_told_to_the_model(folder: Path, home: Path) -> None:
    path = str(folder / "a.py")
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Sorry.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[path] = UNSAVED
            client.drops_writes = True
            await client.initialize()
            await client.prompt(await client.new(folder), "change y")

    assert "did not apply the edit" in model.requests[2].texts("tool")[-1]


@pytest.mark.parametrize(
    ("files", "on_disk"),
    [
        ({}, "x = 1\ny = 3\n"),
        ({"fs": {"readTextFile": True}}, "x = 1\ny = 2\n"),
        ({"fs": {"writeTextFile": True}}, "x = 1\ny = 3\n"),
    ],
    ids=["no files", "reads only", "writes only"],
)
async def test_a_client_that_serves_no_files_or_half_of_it(
    folder: Path, home: Path, files: Mapping[str, Any], on_disk: str
) -> None:
    """Without reading, the disk is written; unsaved text that the client cannot write is not written around."""
    (folder / "a.py").write_text(UNSAVED)
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Done.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[str(folder / "a.py")] = UNSAVED + "# unsaved\n"
            await client.initialize(files)
            await client.prompt(await client.new(folder), "change y")

    assert (folder / "a.py").read_text() == on_disk
    assert client.buffers[str(folder / "a.py")] == UNSAVED + "# unsaved\n"


async def test_a_rejected_call_does_not_run(folder: Path, home: Path) -> None:
    call = Call(name="shell", arguments={"command": "touch made"})
    for answer in ("reject_once", ""):
        with ModelServer([Step(calls=(call,)), Step(text="Fine.")]) as model:
            async with acp_client(folder, home, **settings(model)) as client:
                client.answer = answer
                await client.initialize()
                assert await client.prompt(await client.new(folder), "run it") == "end_turn"
        assert client.calls()[0]["status"] == "failed"
        assert not (folder / "made").exists()


async def test_output_of_a_command_is_shown_while_it_runs_as_text_without_markup(folder: Path, home: Path) -> None:
    command = "echo '```'; echo '![x](http://127.0.0.1:9/x.png)'"
    with ModelServer([Step(calls=(Call(name="shell", arguments={"command": command}),)), Step(text="Ran.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            await client.prompt(await client.new(folder), "run it")

    (call,) = client.calls()
    text = call["content"][0]["content"]["text"]
    assert (call["kind"], call["status"]) == ("execute", "completed")
    assert text.startswith("````\n")
    assert text.endswith("\n````")


TERMINALS = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


async def test_a_command_outside_the_sandbox_runs_in_a_terminal_of_the_client(folder: Path, home: Path) -> None:
    run = Call(name="shell", arguments={"command": "echo seen; exit 3"})
    with ModelServer([Step(calls=(run,)), Step(text="Ran.")]) as model:
        async with acp_client(folder, home, **settings(model), PYGENT_SANDBOX="off") as client:
            await client.initialize(TERMINALS)
            assert await client.prompt(await client.new(folder), "run it") == "end_turn"

    assert [each[1:] for each in client.commands] == [["-c", "echo seen; exit 3"]]
    assert client.released == ["terminal-1"]
    assert client.calls()[-1]["content"] == [{"type": "terminal", "terminalId": "terminal-1"}]
    assert "seen" in model.requests[1].texts("tool")[0]
    assert "exit code 3" in model.requests[1].texts("tool")[0]


async def test_a_command_in_a_terminal_of_the_client_ends_with_its_turn(folder: Path, home: Path) -> None:
    run = Call(name="shell", arguments={"command": "sleep 600"})
    with ModelServer([Step(calls=(run,)), Step(text="Never.")]) as model:
        async with acp_client(folder, home, **settings(model), PYGENT_SANDBOX="off") as client:
            await client.initialize(TERMINALS)
            session = await client.new(folder)
            prompt = asyncio.create_task(client.prompt(session, "run it"))
            await client.until(lambda: any(each.get("content", [{}])[0].get("type") == "terminal"
                                           for each in client.calls() if each.get("content")))  # fmt: skip
            await client.notify("session/cancel", {"sessionId": session})

            assert await prompt == "cancelled"
            await asyncio.wait_for(client.terminals["terminal-1"].wait(), 30)
            assert client.released == ["terminal-1"]


@pytest.mark.parametrize("method", ["session/cancel", "$/cancel_request"])
async def test_a_turn_is_cancelled(folder: Path, home: Path, method: str) -> None:
    with ModelServer([Step(text="a long answer " * 40, pause_after=2)]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            session = await client.new(folder)
            running = asyncio.create_task(client.prompt(session, "talk"))
            await client.until(lambda: bool(client.said()))
            request_id = client.n_requests - 1
            await client.notify("$/cancel_request", {"requestId": "none"})
            await client.notify(method, {"sessionId": session, "requestId": request_id})
            assert await running == "cancelled"


async def test_a_session_is_listed_loaded_by_another_process_and_deleted(folder: Path, home: Path) -> None:
    script = [Step(thinking="Hm.", calls=(READ,)), Step(text="It is x."), Step(text="As I said.")]
    with ModelServer(script) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            session = await client.new(folder)
            await client.prompt(session, "what is in a.py?")
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            listed = await client.request("session/list", {"cwd": str(folder)}, ListSessionsResponse)
            assert [(each.session_id, each.cwd, each.title) for each in listed.sessions] == [
                (session, str(folder), "what is in a.py?")
            ]
            loaded = await client.load(folder, session)
            assert loaded.modes is not None
            assert client.kinds()[:3] == ["user_message_chunk", "agent_thought_chunk", "tool_call"]
            assert (client.said("user_message_chunk"), client.said()) == ("what is in a.py?", "It is x.")
            await client.prompt(session, "sure?")
            assert [each["content"] for each in model.requests[2].messages if each["role"] == "user"][-1] == "sure?"
            await client.raw("session/close", {"sessionId": session})
            with pytest.raises(RequestError, match="Load it first"):
                await client.prompt(session, "still there?")
            await client.raw("session/resume", {"cwd": str(folder), "sessionId": session, "mcpServers": []})
            await client.raw("session/delete", {"sessionId": session})
            after = await client.request("session/list", {}, ListSessionsResponse)
            assert after.sessions == []


async def test_modes_models_agents_and_efforts_are_chosen_and_told(folder: Path, home: Path) -> None:
    with ModelServer([Step(calls=(EDIT,)), Step(text="I may not.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            session = await client.new(folder)
            await client.raw("session/set_mode", {"sessionId": session, "modeId": "plan"})
            await client.until(lambda: "current_mode_update" in client.kinds())
            chosen = await client.request(
                "session/set_config_option",
                {"sessionId": session, "configId": "effort", "value": "high"},
                SetSessionConfigOptionResponse,
            )
            values = {each.id: each.current_value for each in chosen.config_options}
            assert values == {"mode": "plan", "model": "openai/mock", "agent": "default", "effort": "high"}
            for option, value in (("effort", "huge"), ("mode", "wild"), ("agent", "nobody"), ("colour", "red")):
                with pytest.raises(RequestError):
                    await client.raw(
                        "session/set_config_option", {"sessionId": session, "configId": option, "value": value}
                    )
            await client.prompt(session, "edit it")

    assert client.asked == []
    assert client.calls()[0]["status"] == "failed"


async def test_a_question_of_the_model_is_a_choice_or_a_form(folder: Path, home: Path) -> None:
    choices = [{"title": "Plums"}, {"title": "Pears"}]
    script = [
        Step(calls=(Call(name="ask_user", arguments={"question": "Which?", "choices": choices}),)),
        Step(text="Ok."),
    ]
    forms: Mapping[str, Any] = {"elicitation": {"form": {}}}
    for capabilities, answer in (({}, "Plums"), (forms, "Pears")):
        with ModelServer(script) as model:
            async with acp_client(folder, home, **settings(model)) as client:
                client.form_answer = "Pears"
                await client.initialize(capabilities)
                await client.prompt(await client.new(folder), "ask me")
        assert answer in model.requests[1].texts("tool")[-1]
        shown = [each["name"] for each in client.asked[0]["options"]] if client.asked else client.forms[0]
        expected = {"answer": {"type": "string", "title": "Answer", "enum": ["Plums", "Pears"]}}
        assert shown in (
            ["Plums", "Pears"],
            ("Which?", {"type": "object", "properties": expected, "required": ["answer"]}),
        )


async def test_files_pictures_and_resources_of_a_prompt_reach_the_model(folder: Path, home: Path) -> None:
    with ModelServer([Step(text="Seen.")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            client.buffers[str(folder / "a.py")] = UNSAVED
            await client.initialize()
            session = await client.new(folder)
            await client.prompt(
                session,
                "look at",
                {"type": "resource_link", "uri": (folder / "a.py").as_uri() + "#L2:2", "name": "a.py"},
                {
                    "type": "resource",
                    "resource": {"uri": "zed://rules/1", "text": "Be brief.", "mimeType": "text/plain"},
                },
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            )
            for broken in ({"type": "image", "data": "%%%", "mimeType": "image/png"}, {"type": "text", "text": "  "}):
                with pytest.raises(RequestError):
                    await client.prompt(session, broken)

    said = json.dumps(model.requests[0].messages[-1])
    assert "y = 2" in said
    assert "x = 1" not in said
    assert "Be brief." in said
    assert "data:image/png;base64," in said


async def test_tools_of_the_clients_mcp_server_are_offered(folder: Path, home: Path) -> None:
    server = {"name": "my time", "command": sys.executable, "args": ["-m", "mcp_server_time"], "env": []}
    name = "mcp__my-time__get_current_time"

    def offered(number: int) -> bool:
        return name in [each["function"]["name"] for each in model.requests[number].body["tools"]]

    with ModelServer(lambda _, number: Step(text=f"Answer {number}.")) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            session = await client.new(folder, [server])
            async with asyncio.timeout(WAIT_S):
                await client.prompt(session, "hello")
                while not offered(-1):  # a server that starts late counts from the next turn on
                    await client.prompt(session, "hello")
            with pytest.raises(RequestError, match="only servers"):
                await client.new(folder, [{"type": "sse", "name": "old", "url": "http://127.0.0.1:9", "headers": []}])


async def test_without_a_model_the_client_is_told_how_to_get_one(folder: Path, home: Path) -> None:
    async with acp_client(folder, home) as client:
        greeting = await client.initialize({"auth": {"terminal": True}})
        assert [each.id for each in greeting.auth_methods or ()] == ["setup", "keys"]
        with pytest.raises(RequestError, match="pygent-ls setup") as told:
            await client.new(folder)
        assert told.value.code == -32000
        with pytest.raises(RequestError, match="pygent-ls setup"):
            await client.raw("authenticate", {"methodId": "setup"})


async def test_a_failed_model_is_an_error_of_the_prompt(folder: Path, home: Path) -> None:
    with ModelServer([Step(status=401, error="bad key", error_type="invalid_api_key")]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            session = await client.new(folder)
            with pytest.raises(RequestError) as told:
                await client.prompt(session, "hello")
    assert told.value.code == -32000


async def test_lines_that_are_no_messages_are_answered_and_the_end_of_input_ends_the_process(
    folder: Path, home: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "acp",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
        env=clean_environment(home, PYGENT_MODEL="offline/rules"),
    )
    lines = [b"hello", b"[1]", b"[" * 100_000, b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}', b""]
    lines += [
        b'{"jsonrpc":"2.0","id":2,"method":"no/such"}',
        b'{"jsonrpc":"2.0","id":3,"method":"initialize","params":[]}',
    ]
    async with asyncio.timeout(WAIT_S):
        out, _ = await process.communicate(b"\n".join(lines) + b"\n")

    answers = {each.get("id"): each for each in map(json.loads, out.splitlines())}
    codes = [each["error"]["code"] for each in map(json.loads, out.splitlines()) if each.get("id") is None]
    assert codes == [-32700, -32600, -32700]
    assert (answers[1]["error"]["code"], answers[1]["error"]["message"]) == (
        -32602,
        "cwd: Field required; mcpServers: Field required",
    )
    assert answers[2]["error"]["code"] == -32601
    assert answers[3]["result"]["protocolVersion"] == 1
    assert process.returncode == 0


async def test_the_end_of_input_ends_a_running_turn_and_its_commands(folder: Path, home: Path) -> None:
    os.mkfifo(folder / "pid")
    told_pid = os.open(folder / "pid", os.O_RDONLY | os.O_NONBLOCK)
    call = Call(name="shell", arguments={"command": "echo $$ > pid; exec sleep 600"})
    with ModelServer([Step(calls=(call,))]) as model:
        async with acp_client(folder, home, **settings(model)) as client:
            await client.initialize()
            session = await client.new(folder)
            running = asyncio.create_task(client.prompt(session, "sleep"))
            assert await asyncio.to_thread(select.select, [told_pid], [], [], WAIT_S) != ([], [], [])
            sleeper = os.pidfd_open(int(os.read(told_pid, 20)))
            assert client.process.stdin is not None
            client.process.stdin.close()
            async with asyncio.timeout(WAIT_S):
                await client.process.wait()
            running.cancel()
    assert await asyncio.to_thread(select.select, [sleeper], [], [], WAIT_S) != ([], [], [])
    os.close(sleeper)
    os.close(told_pid)


async def test_the_client_of_the_typescript_sdk_has_a_whole_story(folder: Path, home: Path) -> None:
    with ModelServer([Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Changed.")]) as model:
        process = await asyncio.create_subprocess_exec(
            str(NODE),
            str(TYPESCRIPT_CLIENT),
            str(TYPESCRIPT_SDK),
            str(folder),
            *COMMAND,
            "acp",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=clean_environment(home, **settings(model)),
        )
        async with asyncio.timeout(WAIT_S):
            out, err = await process.communicate()

    assert process.returncode == 0, err.decode()
    seen = json.loads(out)
    assert (seen["agent"], seen["stopReason"], seen["exit"]) == ("pygent-ls", "end_turn", 0)
    assert seen["asked"] == [["diff", "content"]]
    assert seen["buffer"] == "x = 1\ny = 3\n"
    assert {"tool_call", "tool_call_update", "agent_message_chunk", "usage_update"} <= set(seen["kinds"])
    assert (seen["effort"], seen["listed"], seen["replayed"]) == ("low", ["change y"], 1)
    assert seen["options"] == ["mode", "model", "agent", "effort"]
    assert "Invalid" not in err.decode()
