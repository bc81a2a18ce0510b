"""Servers of the registries, called by the model through the real daemon."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.e2e.command_line import clean_environment, script
from tests.e2e.raw import WAIT_S, RawClient, raw_client
from tests.e2e.test_lifecycle import GONE_S
from tests.e2e.test_mcp import COUNT, have_ended, home, is_new, server_of, toml_of, until_connected, watched
from tests.extensions.mcp.test_npm_servers import INSTALLED, NODE
from tests.extensions.mcp.test_servers import serving_page
from tests.model_server import Call, ModelServer, Received, Step

assert home  # a fixture

CAPABILITIES = {"experimental": {"pygent": {"chatPanel": True, "questionRequest": True}}}

SCRIPTS = Path(sys.executable).parent


def node_server(name: str, *args: str) -> list[str]:
    """Command of a server from npm."""
    return [str(NODE), str(INSTALLED / f"server-{name}" / "dist" / "index.js"), *args]


def settings_of(servers: Mapping[str, list[str]]) -> str:
    return "".join(
        f"[mcp_servers.{name}]\ncommand = {json.dumps(argv[0])}\nargs = {json.dumps(argv[1:])}\n"
        "startup_timeout_s = 60\n"
        for name, argv in servers.items()
    )


def until_all_connected(client: RawClient) -> None:
    for number in COUNT:
        servers = client.request(f"status {number}", "pygent/mcp/status")["result"]["servers"]
        if servers and all(each["state"] == "connected" for each in servers):
            return
        known = {id(frame) for frame in client.frames}
        client.until(lambda frame, known=known: is_new(known, frame))


def answering(client: RawClient, id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer to a request, and the questions that came before it, each answered: a choice with the first title,
    another question with what it asks for."""
    asked: list[dict[str, Any]] = []
    seen: set[int] = set()

    def is_next(frame: dict[str, Any]) -> bool:
        is_question = frame.get("method") == "pygent/question/request" and id_of(frame) not in seen
        return is_question or ("method" not in frame and frame["id"] == id)

    while True:
        frame = client.until(is_next)
        if "method" not in frame:
            return frame["result"], asked
        seen.add(id_of(frame))
        question = frame["params"]
        asked.append(question)
        titles = [each["title"] for each in question["choices"]]
        answer = {"choice": titles[0]} if titles else {"text": word_for(question["question"])}
        client.send({"jsonrpc": "2.0", "id": frame["id"], "result": answer})


def id_of(frame: dict[str, Any]) -> int:
    return frame["id"]


def word_for(question: str) -> str:
    """An answer in the user's own words to a field of the form."""
    if "separated by commas: " in question:
        return question.rpartition("separated by commas: ")[2].partition(",")[0].removesuffix(" (- for none)")
    return "plum"


def test_the_model_calls_servers_of_others_and_they_ask_the_user(folder: Path, home: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "plum.txt").write_text("plums are blue\n")
    calls = [
        Call(name="mcp__git__git_status", arguments={"repo_path": str(folder)}),
        Call(name="mcp__filesystem__read_text_file", arguments={"path": str(folder / "plum.txt")}),
        Call(name="mcp__everything__echo", arguments={"message": "pears"}),
        Call(name="mcp__everything__trigger-long-running-operation", arguments={"duration": 1, "steps": 2}),
        Call(name="mcp__everything__trigger-sampling-request", arguments={"prompt": "which fruit", "maxTokens": 9}),
        Call(name="mcp__everything__trigger-elicitation-request", arguments={}),
    ]

    def answer(request: Received, _: int) -> Step:
        said = json.dumps(request.messages)
        if "which fruit" in request.texts("user")[-1]:
            return Step(text="a quince")
        done = sum(f'"tool_call_id": "call-{number}"' in said for number in range(len(calls) + 1))
        return (
            Step(calls=(Call(name=(call := calls[done]).name, arguments=call.arguments, id=f"call-{done}"),))
            if (done < len(calls))
            else Step(text="done")
        )

    with serving_page("<html><body><h1>Plums</h1><p>They are purple.</p></body></html>") as address:
        calls.append(Call(name="mcp__fetch__fetch", arguments={"url": f"{address}/plums"}))
        servers = {
            "git": [str(SCRIPTS / "mcp-server-git")],
            "fetch": [str(SCRIPTS / "mcp-server-fetch"), "--allow-private-ips"],
            "everything": node_server("everything", "stdio"),
            "filesystem": node_server("filesystem", str(folder)),
        }
        (home / "config.toml").write_text(settings_of(servers))
        with ModelServer(answer) as model:
            rules = json.dumps({"allow": [f"mcp__{name}__*" for name in servers]})
            environment = {**model.env(), "PYGENT_MODEL": "openai/mock", "PYGENT_PERMISSIONS": rules}
            with raw_client(folder, environment=environment) as client:
                client.initialize(folder, capabilities=CAPABILITIES)
                until_all_connected(client)
                client.begin("turn", "pygent/turn/start", {"prompt": "fruit", "partialResultToken": "turn"})
                result, asked = answering(client, "turn")

    results = [each for each in model.requests[-1].messages if each["role"] == "tool"]
    texts = [each["content"] for each in results]
    assert result["text"].endswith("done")
    for text, expected in zip(
        texts,
        ("plum.txt", "plums are blue", "Echo: pears", "2", "a quince", "", "They are purple."),
        strict=True,
    ):
        assert expected in text
    events = [event for frame in client.frames for event in frame.get("params", {}).get("value", {}).get("events", ())]
    assert any("of 2" in event["content"] for event in events if event["type"] == "tool_progress")
    assert "which fruit" in asked[0]["question"]
    assert {each["mcpServer"] for each in asked} == {"everything"}
    assert "User action: accept" in texts[5] or "✅" in texts[5]


@pytest.mark.parametrize("name", [".mcp.json", ".vscode/mcp.json"])
def test_a_server_of_a_workspaces_json_file_is_started_once_it_is_trusted(folder: Path, name: str) -> None:
    (folder / ".vscode").mkdir()
    key = "mcpServers" if name == ".mcp.json" else "servers"
    (folder / name).write_text(json.dumps({key: {"toy": server_of(folder)}}))
    add = {"tool_calls": [{"name": "mcp__toy__add", "input": {"a": 19, "b": 23}}]}
    model = script(folder.parent, {"text": "hello"}, add, {"text": "done"})
    environment = {"PYGENT_MODEL": model, "PYGENT_PERMISSIONS": '{"allow": ["mcp__toy__*"]}'}
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder, capabilities={"experimental": {"pygent": {"chatPanel": True}}})
        client.begin("one", "pygent/turn/start", {"prompt": "hi"})
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        yes = next(each for each in asked["params"]["actions"] if each["title"].startswith("Trust"))
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": yes})
        first = client.answer("one")["result"]
        until_connected(client)
        client.request("two", "pygent/turn/start", {"prompt": "add", "sessionId": first["sessionId"]})

    assert name in asked["params"]["message"]
    assert "start the MCP server toy: " in asked["params"]["message"]
    assert "the sum is 42" in json.dumps(client.frames) or "the sum is 42" in "".join(
        path.read_text() for path in folder.parent.rglob("*.jsonl")
    )


def test_a_server_that_never_answers_delays_neither_the_start_nor_a_turn(folder: Path, home: Path) -> None:
    stuck = "[mcp_servers.stuck]\ncommand = 'sleep'\nargs = ['600']\nstartup_timeout_s = 600\n"
    (home / "config.toml").write_text(stuck)
    with raw_client(folder, environment={"PYGENT_MODEL": script(folder.parent, {"text": "done"})}) as client:
        client.initialize(folder, capabilities=CAPABILITIES)
        turn = client.request("turn", "pygent/turn/start", {"prompt": "hi"})["result"]
        [server] = client.request("status", "pygent/mcp/status")["result"]["servers"]

    assert turn["text"] == "done"
    assert server["state"] == "starting"


@pytest.mark.parametrize("how", ["kill -9 of the daemon", "kill -9 of the editor"])
def test_servers_are_gone_in_time_even_if_the_editor_or_the_daemon_is_killed(
    how: str, folder: Path, home: Path, tmp_path: Path
) -> None:
    (home / "config.toml").write_text(toml_of(folder))
    # The editor: a process that owns the daemon's pipes, and that the daemon is told of.
    with subprocess.Popen(["sleep", "600"]) as editor, raw_client(folder) as client:
        client.initialize(folder, processId=editor.pid, capabilities=CAPABILITIES)
        until_connected(client)
        servers = watched(folder)
        began_s = monotonic()
        if how == "kill -9 of the daemon":
            client.process.send_signal(signal.SIGKILL)
        else:
            editor.kill()
            editor.wait()
            client.stdin.close()
        client.wait()
        assert servers
        assert have_ended(servers)
        took_s = monotonic() - began_s
        editor.kill()

    assert took_s < GONE_S


def test_two_hundred_tools_cost_the_request_less_than_four_thousand_tokens(folder: Path, home: Path) -> None:
    """What tools of servers add to the request, counted as litellm counts for GPT-4o."""
    bodies: list[Mapping[str, Any]] = []
    for more in ("", toml_of(folder, "--many")):
        (home / "config.toml").write_text(more)
        with ModelServer([Step(text="done")]) as model:
            environment = {**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}
            with raw_client(folder, environment=environment) as client:
                client.initialize(folder, capabilities=CAPABILITIES)
                if more:
                    until_connected(client)
                turn = client.request("turn", "pygent/turn/start", {"prompt": "hi"})["result"]
                size = client.request(
                    "size", "pygent/turn/start", {"prompt": "/context", "sessionId": turn["sessionId"]}
                )
        bodies.append(model.requests[0].body)

    assert "- system prompt and tools: about " in size["result"]["text"]
    without, with_many = tokens_of(bodies)
    assert without < with_many < without + 4000


COUNTING = """
import json, sys, litellm
for body in json.load(sys.stdin):
    print(litellm.token_counter(model="gpt-4o", text=json.dumps([body["messages"], body["tools"]])))
"""


def tokens_of(bodies: Sequence[Mapping[str, Any]]) -> list[int]:
    """Tokens of requests."""
    environment = clean_environment(Path("/tmp"), LITELLM_LOCAL_MODEL_COST_MAP="True")
    argv = [sys.executable, "-c", COUNTING]
    done = subprocess.run(
        argv, input=json.dumps(bodies), capture_output=True, text=True, env=environment, check=True, timeout=WAIT_S
    )
    return [int(line) for line in done.stdout.split()]
