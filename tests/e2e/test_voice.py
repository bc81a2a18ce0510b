"""Voice input through the real daemon: synthetic speech, a real recogniser behind a real MCP server, real turns."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.clients.speech import speech_settings, spoken
from tests.e2e.lsp_client import editor_client
from tests.e2e.raw import RawClient, raw_client
from tests.e2e.test_mcp import have_ended, started, until_connected
from tests.model_server import ModelServer, Step


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Spoken prompts, by their text."""
    folder = tmp_path_factory.mktemp("recordings")
    return {text: spoken(text, folder) for text in ("run the tests", "show the changes", "fix the failing test")}


@pytest.fixture
def home(folder: Path) -> Path:
    """The user's settings folder."""
    made = folder.parent / "home" / ".config" / "pygent-ls"
    made.mkdir(parents=True)
    return made


def configure(home: Path, folder: Path, microphone: list[Path], poll_ms: int = 50, **environment: str) -> None:
    """Write settings with a speech server that hears these recordings."""
    files = {"PID_FILE": str(folder / "pids"), "STOPPED_FILE": str(folder / "stopped")}
    (home / "config.toml").write_text(speech_settings(*microphone, poll_ms=poll_ms, **files, **environment))


def new_session(client: RawClient) -> str:
    """Start a session."""
    return client.request("new session", "pygent/session/new")["result"]["sessionId"]


def updates(client: RawClient) -> list[dict[str, Any]]:
    """What the client was told was heard."""
    return [frame["params"] for frame in client.frames if frame.get("method") == "pygent/voice/update"]


def is_final(text: str, frame: dict[str, Any]) -> bool:
    """Whether the frame says that this whole utterance was heard."""
    return frame.get("method") == "pygent/voice/update" and frame["params"]["final"] and frame["params"]["text"] == text


def has_stopped(frame: dict[str, Any]) -> bool:
    """Whether the frame says that voice input is off."""
    return frame.get("method") == "pygent/voice/changed" and frame["params"]["state"] == "off"


def test_spoken_prompts_run_as_turns_of_their_session(folder: Path, home: Path, recordings: dict[str, Path]) -> None:
    configure(home, folder, [recordings["run the tests"], recordings["show the changes"]])
    with ModelServer([Step(text="They pass."), Step(text="None.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            session = new_session(client)
            before = client.request("status", "pygent/voice/status")["result"]
            client.begin("attach", "pygent/session/attach", {"sessionId": session, "partialResultToken": "events"})
            on = client.request("on", "pygent/voice/start", {"sessionId": session, "source": "microphone"})["result"]
            client.until(lambda frame: is_final("show the changes", frame))
            client.until(lambda frame: "None." in json.dumps(frame) and '"finished"' in json.dumps(frame))
            [server] = client.request("servers", "pygent/mcp/status")["result"]["servers"]
            off = client.request("off", "pygent/voice/stop")["result"]
            loaded = client.request("load", "pygent/session/load", {"sessionId": session})["result"]

    assert before == {"state": "off", "sessionId": None, "source": "microphone", "server": None, "text": ""}
    assert (on["state"], on["sessionId"], on["server"]) == ("listening", session, "speech")
    assert server["speech"] is True
    assert (off["state"], off["text"]) == ("off", "")
    heard = updates(client)
    assert [each["text"] for each in heard if each["final"]] == ["run the tests", "show the changes"]
    assert {each["sessionId"] for each in heard} == {session}
    assert "run the" in [each["text"] for each in heard if not each["final"]]
    assert [each["content"][0]["text"] for each in loaded["messages"] if each["role"] == "user"] == [
        "run the tests",
        "show the changes",
    ]
    assert [request.texts("user")[-1] for request in model.requests] == ["run the tests", "show the changes"]


def test_stopping_in_mid_utterance_sends_what_was_recognised(
    folder: Path, home: Path, recordings: dict[str, Path]
) -> None:
    configure(home, folder, [recordings["fix the failing test"]])
    with ModelServer([Step(text="Fixed.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            session = new_session(client)
            client.request("on", "pygent/voice/start", {"sessionId": session})
            client.until(lambda frame: frame.get("method") == "pygent/voice/update")
            off = client.request("off", "pygent/voice/stop")["result"]
            client.until(has_stopped)

    final = [each["text"] for each in updates(client) if each["final"]]
    partial = [each["text"] for each in updates(client) if not each["final"]]
    assert (folder / "stopped").exists()
    assert len(final) <= 1
    assert off["text"] == ("" if final else partial[-1])


def test_the_death_of_the_server_is_told_and_loses_nothing(
    folder: Path, home: Path, recordings: dict[str, Path]
) -> None:
    configure(home, folder, [recordings["fix the failing test"]], poll_ms=500)  # it ends in mid-utterance
    with raw_client(folder, environment={"PYGENT_MODEL": "offline"}) as client:
        started(client, folder)
        session = new_session(client)
        client.request("on", "pygent/voice/start", {"sessionId": session})
        client.until(lambda frame: frame.get("method") == "pygent/voice/update")
        os.kill(int((folder / "pids").read_text()), signal.SIGKILL)
        changed = client.until(has_stopped)["params"]

        wanted = f"pygent: {changed['error']} Not sent: {changed['text']}"
        client.until(lambda frame: frame.get("params", {}).get("message") == wanted)

    assert changed["error"].startswith("The MCP server speech")
    assert changed["text"] == updates(client)[-1]["text"]


def test_the_end_of_the_daemon_stops_the_server(folder: Path, home: Path, recordings: dict[str, Path]) -> None:
    configure(home, folder, [recordings["run the tests"]])
    with raw_client(folder, environment={"PYGENT_MODEL": "offline"}) as client:
        client.initialize(folder)
        client.request("on", "pygent/voice/start", {"sessionId": new_session(client)})
        server = os.pidfd_open(int((folder / "pids").read_text()))
        assert client.finish() == 0

    assert have_ended([server])
    assert (folder / "stopped").exists()


def test_without_a_speech_server_it_says_what_is_missing(folder: Path) -> None:
    with raw_client(folder, environment={"PYGENT_MODEL": "offline"}) as client:
        client.initialize(folder)
        session = new_session(client)
        by_request = client.request("on", "pygent/voice/start", {"sessionId": session})["error"]
        by_command = client.request("on 2", "pygent/turn/start", {"prompt": "/voice start", "sessionId": session})
        unknown = client.request("on 3", "pygent/voice/start", {"sessionId": "no such session"})["error"]

    assert "stt_get_updates" in by_request["message"]
    assert by_command["result"]["stopReason"] == "error"
    assert unknown["data"]["kind"] == "unknown_session"


def test_the_command_starts_shows_and_stops_it(folder: Path, home: Path, recordings: dict[str, Path]) -> None:
    configure(home, folder, [recordings["run the tests"]])
    with raw_client(folder, environment={"PYGENT_MODEL": "offline"}) as client:
        started(client, folder)
        until_connected(client)
        session = new_session(client)
        said: list[str] = []
        for number, command in enumerate(("start loopback", "start", "status", "stop", "status", "start radio")):
            asked = {"prompt": f"/voice {command}", "sessionId": session}
            said.append(client.request(number, "pygent/turn/start", asked)["result"]["text"])

    assert said[0].endswith("There is no loopback")
    assert said[1] == (
        "The speech server `speech` listens to the microphone. Each utterance is sent as a prompt; `/voice stop` ends "
        "this."
    )
    assert said[2].startswith("The speech server `speech` listens to the microphone.")
    assert said[3] == said[4] == "Voice input is off."
    assert "must be one of `microphone`, `loopback`" in said[5]


async def test_in_an_editor_without_a_plugin_the_chat_document_has_prompt_and_answer(
    folder: Path, home: Path, recordings: dict[str, Path]
) -> None:
    configure(home, folder, [recordings["run the tests"]])
    with ModelServer([Step(text="They pass.")]) as model:
        async with editor_client(folder, {**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}) as editor:
            await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["/voice start"]})
            text = await editor.answered(2)
            await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["/voice stop"]})
            stopped = await editor.answered(3)

    assert "## You\n\n/voice start\n\n## pygent\n\nThe speech server `speech` listens to the microphone." in text
    assert "## You\n\nrun the tests\n\n## pygent\n\nThey pass." in text
    assert "Voice input is off." in stopped


def test_an_utterance_is_text_for_the_model_and_neither_a_command_nor_a_mention(
    folder: Path, home: Path, recordings: dict[str, Path]
) -> None:
    (folder / "plum.txt").write_text("blue")
    said = "/export markdown out.md @plum.txt @agent-review"
    configure(home, folder, [recordings["run the tests"]], SAYS=said)
    with (
        ModelServer([Step(text="No."), Step(text="They pass.")]) as model,
        raw_client(folder, environment={**model.env(), "PYGENT_MODEL": "openai/gpt-4o"}) as client,
    ):
        client.initialize(folder)
        client.request("on", "pygent/voice/start", {"sessionId": new_session(client)})
        client.until(lambda frame: is_final("run the tests", frame))
        client.request("off", "pygent/voice/stop")
        client.until(lambda _: model.requests)

    assert model.requests[0].texts("user")[-1] == said
    assert not (folder / "out.md").exists()
