"""MCP servers through the real daemon: permission, trust, and no process that outlives it."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.launching import script_program
from tests.e2e.command_line import clean_environment, run, script
from tests.e2e.raw import WAIT_S, RawClient, raw_client
from tests.extensions.mcp.test_oauth import guarded
from tests.extensions.mcp.test_servers import TOY
from tests.extensions.mcp.toy_server import MANY
from tests.llm.setup.keyrings import NO_KEYRING, environment_with, kept
from tests.model_server import Call, ModelServer, Step


def server_of(folder: Path, *, may_be_warm: bool = True) -> dict[str, Any]:
    """The toy server, as settings have it.

    `may_be_warm`: it need not start Python; see `script_program`.
    """
    env = {"PID_FILE": str(folder / "pids")}
    if may_be_warm:
        return {"command": str(script_program(TOY)), "args": [], "env": env}
    return {"command": sys.executable, "args": [str(TOY)], "env": env}


def toml_of(folder: Path, *more: str, may_be_warm: bool = True) -> str:
    """The same in a settings file, with more arguments."""
    server = server_of(folder, may_be_warm=may_be_warm)
    server["args"] += more
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
    lines = [f"command = {json.dumps(server['command'])}", f"args = {json.dumps(server['args'])}", f"env = {{ {env} }}"]
    return "\n".join(["[mcp_servers.toy]", *lines, ""])


def watched(folder: Path) -> list[int]:
    """A descriptor for each server that runs, which can be read once it has ended."""
    found: list[int] = []
    for line in (folder / "pids").read_text().split():
        with suppress(ProcessLookupError):
            found.append(os.pidfd_open(int(line)))
    return found


def have_ended(descriptors: list[int]) -> bool:
    """Whether all of them end within the limit."""
    return all(select.select([each], [], [], WAIT_S)[0] for each in descriptors)


def is_new(known: set[int], frame: dict[str, Any]) -> bool:
    """Whether it is another notification about servers than those that came before."""
    return id(frame) not in known and frame.get("method") == "pygent/mcp/changed"


COUNT = itertools.count()
"""Ids of requests, each used once."""


def until_connected(client: RawClient, state: str = "connected") -> dict[str, Any]:
    """The only server, once it is in this state."""
    for number in COUNT:
        servers = client.request(f"status {number}", "pygent/mcp/status")["result"]["servers"]
        if servers and servers[0]["state"] == state:
            return servers[0]
        client.until(partial(is_new, {id(frame) for frame in client.frames}))
    raise AssertionError


@pytest.fixture
def home(folder: Path) -> Path:
    """The user's settings folder."""
    made = folder.parent / "home" / ".config" / "pygent-ls"
    made.mkdir(parents=True)
    return made


def started(client: RawClient, folder: Path) -> None:
    """The handshake of a client that is told of servers."""
    client.initialize(folder, capabilities={"experimental": {"pygent": {"chatPanel": True}}})


ADD = {"tool_calls": [{"name": "mcp__toy__add", "input": {"a": 19, "b": 23}}]}


def test_a_tool_of_a_server_asks_until_it_is_always_allowed(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder))
    model = script(folder.parent, ADD, {"text": "done"}, ADD, {"text": "done"})
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        started(client, folder)
        server = until_connected(client)
        client.begin("turn", "pygent/turn/start", {"prompt": "add", "partialResultToken": "turn"})
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        always = next(each for each in asked["params"]["actions"] if each["title"].startswith("Always allow"))
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": always})
        first = client.answer("turn")["result"]
        again = client.request("again", "pygent/turn/start", {"prompt": "add", "sessionId": first["sessionId"]})

    assert "mcp__toy__add" in server["tools"]
    assert 'toy: add {"a": 19, "b": 23}' in asked["params"]["message"]
    assert again["result"]["stopReason"] == "end_turn"
    assert len([frame for frame in client.frames if frame.get("method") == "window/showMessageRequest"]) == 1
    assert "the sum is 42" in json.dumps(client.frames)


@pytest.mark.parametrize("how", ["shutdown", "end of input", "kill -9"])
def test_no_server_outlives_the_daemon(how: str, folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder, may_be_warm=False))
    with raw_client(folder) as client:
        started(client, folder)
        until_connected(client)
        servers = watched(folder)
        match how:
            case "shutdown":
                assert client.finish() == 0
            case "end of input":
                client.stdin.close()
                client.wait()
            case _:
                client.process.send_signal(signal.SIGKILL)
                client.wait()

    assert servers
    assert have_ended(servers)


def test_a_server_of_an_untrusted_workspace_is_not_started(folder: Path) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text(toml_of(folder, may_be_warm=False))
    model = script(folder.parent, ADD, {"text": "done"})
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        started(client, folder)
        client.begin("turn", "pygent/turn/start", {"prompt": "add"})
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
        client.answer("turn")
        servers = client.request("status", "pygent/mcp/status")["result"]["servers"]

    assert "start the MCP server toy: " in asked["params"]["message"]
    assert str(TOY) in asked["params"]["message"]
    assert servers == []
    assert not (folder / "pids").exists()


def test_in_a_restricted_workspace_no_server_is_started(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder))
    model = script(folder.parent, {"text": "done"})
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder, capabilities={"experimental": {"pygent": {"restricted": True}}})
        client.request("turn", "pygent/turn/start", {"prompt": "add"})
        servers = client.request("status", "pygent/mcp/status")["result"]["servers"]

    assert servers == []
    assert not (folder / "pids").exists()


def test_a_run_without_an_editor_waits_for_its_servers(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder))
    environment = clean_environment(folder.parent / "home", XDG_CONFIG_HOME=str(home.parent))
    model = script(folder.parent, ADD, {"text": "done"})
    options = ("--model", model, "--allowed-tools", "mcp__toy__*", "--output-format", "stream-json")

    done = run("run", *options, "add", environment=environment, cwd=folder)

    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["mcp_servers"] == [{"name": "toy", "status": "connected"}]
    assert "mcp__toy__add" in lines[0]["tools"]
    assert "the sum is 42" in done.stdout
    assert have_ended(watched(folder))


def test_of_many_tools_the_model_is_given_those_that_it_has_found(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder, "--many"))
    picking = Call(name="mcp__toy__pick_from_tree_117", arguments={"fruit": "plums", "count": 3})
    script = [
        Step(calls=(Call(name="search_tools", arguments={"query": "tree 117"}),)),
        Step(calls=(picking,)),
        Step(text="done"),
    ]
    with ModelServer(script) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock", "PYGENT_PERMISSIONS": '{"allow": ["mcp__toy__*"]}'}
        with raw_client(folder, environment=environment) as client:
            started(client, folder)
            until_connected(client)
            listed = client.request("tools", "pygent/tools/list")["result"]["tools"]
            client.request("turn", "pygent/turn/start", {"prompt": "pick plums"})

    [first, second, third] = [request.body["tools"] for request in model.requests]
    names = [[each["function"]["name"] for each in tools] for tools in (first, second, third)]
    many = [each for each in listed if each["name"].startswith("mcp__toy__pick_from_tree_")]
    assert len(many) == MANY
    assert [name for name in names[0] if name.startswith("mcp__")] == []
    assert "mcp__toy__pick_from_tree_117" in names[1]
    assert names[1] == names[2]
    result = model.requests[2].texts("tool")[-1]
    assert "3 of plums" in result
    assert result.startswith("<untrusted-")
    of_search = [each for each in first if each["function"]["name"] == "search_tools"]
    assert f"toy ({MANY + 10} tools)" in of_search[0]["function"]["description"]
    assert len(json.dumps(of_search)) < len(json.dumps(many)) / 100


def test_resources_and_prompts_of_a_server_reach_the_model(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder))
    with ModelServer([Step(text="blue"), Step(text="fine")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}
        with raw_client(folder, environment=environment) as client:
            started(client, folder)
            server = until_connected(client)
            completed = client.request("complete", "pygent/complete", {"text": "what is @plum", "offset": 13})["result"]
            commands = client.request("commands", "pygent/commands/list")["result"]["commands"]
            client.request("one", "pygent/turn/start", {"prompt": "explain @toy:toy://fruit/plum"})
            client.request("two", "pygent/turn/start", {"prompt": "/mcp__toy__review plum stern"})

    assert (server["prompts"], server["resources"]) == (["mcp__toy__review"], 2)
    [item] = completed["items"]
    assert (item["insertText"], item["kind"]) == ("@toy:toy://fruit/plum", "resource")
    [command] = [each for each in commands if each["source"] == "mcp"]
    assert command == {
        "name": "mcp__toy__review",
        "description": "Review a fruit",
        "source": "mcp",
        "takes": "[FRUIT [TONE]]",
    }
    first, second = model.requests
    assert "toy:toy://fruit/plum:\nPlums are blue." in first.texts("user")[-1]
    *_, asked = second.body["messages"]
    assert [part["type"] for part in asked["content"]] == ["image_url", "text"]
    assert asked["content"][1]["text"] == "Review the plum in a stern tone.\n\n[image: image/png, see below]"


def test_a_client_starts_a_server_again_and_reads_its_log(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text(toml_of(folder))
    with raw_client(folder) as client:
        started(client, folder)
        until_connected(client)
        client.request("again", "pygent/mcp/restart", {"name": "toy"})
        until_connected(client)
        log = client.request("log", "pygent/mcp/log", {"name": "toy"})["result"]["lines"]
        unknown = client.request("unknown", "pygent/mcp/log", {"name": "pear"})

    assert log.count("[connected]") == 2
    assert unknown["error"]["message"] == "There is no MCP server 'pear' in the settings."
    assert len((folder / "pids").read_text().split()) == 2


SIGNING_IN = {"window": {"showDocument": {"support": True}}, "experimental": {"pygent": {"chatPanel": True}}}


@pytest.mark.parametrize("keyring", [None, "WorkingKeyring"])
def test_a_user_signs_in_to_a_server_with_their_browser(
    keyring: str | None, folder: Path, home: Path, tmp_path: Path
) -> None:
    environment = environment_with(keyring, tmp_path / "keyring") if keyring else NO_KEYRING
    with guarded(tmp_path) as url:
        (home / "config.toml").write_text(f'[mcp_servers.guarded]\nurl = "{url}"\n')
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder, capabilities=SIGNING_IN)
            until_connected(client, "needs_sign_in")
            client.begin("sign in", "pygent/mcp/login", {"name": "guarded"})
            shown = client.until(lambda frame: frame.get("method") == "window/showDocument")
            client.send({"jsonrpc": "2.0", "id": shown["id"], "result": {"success": True}})
            page = httpx.get(shown["params"]["uri"], follow_redirects=True, timeout=WAIT_S)
            client.answer("sign in")
            server = until_connected(client)
            during = kept(tmp_path / "keyring") if keyring else None
            [stored] = folder.parent.rglob("mcp/keys.json")
            files = stored.read_text()
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder, capabilities=SIGNING_IN)
            again = until_connected(client)
            log = client.request("log", "pygent/mcp/log", {"name": "guarded"})
            out = client.request("out", "pygent/mcp/logout", {"name": "guarded"})["result"]
            until_connected(client, "needs_sign_in")

    assert page.text.strip() == "You are signed in. You can close this page."
    assert shown["params"]["external"] is True
    assert server["tools"] == again["tools"] == ["mcp__guarded__secret"]
    assert out == {"forgotten": True}
    assert (tmp_path / "grants").read_text().split().count("authorization_code") == 1
    [file] = folder.parent.rglob("mcp/keys.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert "access-" not in file.read_text()  # signed out
    if keyring:
        assert during is not None
        assert "access-" in json.dumps(during)
        assert "access-" not in files
    else:
        assert "access-" in files
    assert "access-" not in json.dumps(log)
    assert [each for each in folder.parent.rglob("*.log") if "access-" in each.read_text()] == []
