"""Notes from one session to the next, through the real daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client
from tests.model_server import Call, ModelServer, Step

NOTE = Call(name="remember", arguments={"note": "Tests run with make check."})


def told(client: RawClient, folder: Path, prompt: str, answer: str | None = None) -> dict[str, Any]:
    """A turn in a new session, and what was asked in it; with an answer to the first question."""
    client.initialize(folder)
    client.begin("turn", "pygent/turn/start", {"prompt": prompt})
    if answer is None:
        return client.answer("turn")
    asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": answer}})
    client.answer("turn")
    return asked


def notes_in(folder: Path) -> list[Path]:
    """All files of notes."""
    return list(folder.parent.rglob("memory/*.md"))


def test_a_note_that_the_user_allows_is_told_in_the_next_session(folder: Path) -> None:
    with ModelServer([Step(calls=(NOTE,)), Step(text="Noted."), Step(text="Hello.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock"}
        with raw_client(folder, environment=environment) as client:
            asked = told(client, folder, "remember that", "Allow once")
        [file] = notes_in(folder)
        file.write_text(file.read_text() + "- Mine: use tabs.\n")
        with raw_client(folder, environment=environment) as client:
            told(client, folder, "hello")
            shown = client.request("memory", "pygent/turn/start", {"prompt": "/memory"})

    assert "Notes: + Tests run with make check. −" in asked["params"]["message"]
    assert "Notes from earlier sessions" not in model.requests[0].texts("system")[0]
    system = model.requests[2].texts("system")[0]
    assert "# Notes from earlier sessions\n" in system
    assert "- Tests run with make check.\n- Mine: use tabs." in system
    assert f"The notes in `{file}`:" in str(shown)


def test_a_note_that_the_user_rejects_is_not_written(folder: Path) -> None:
    with ModelServer([Step(calls=(NOTE,)), Step(text="As you like.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock"}
        with raw_client(folder, environment=environment) as client:
            told(client, folder, "remember that", "Reject")

    assert notes_in(folder) == []


def test_in_plan_mode_it_is_refused(folder: Path) -> None:
    with ModelServer([Step(calls=(NOTE,)), Step(text="I only plan.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock", "PYGENT_MODE": "plan"}
        with raw_client(folder, environment=environment) as client:
            told(client, folder, "remember that")

    assert "plan mode" in model.requests[1].texts("tool")[-1]
    assert notes_in(folder) == []


def test_it_can_be_switched_off(folder: Path) -> None:
    with ModelServer([Step(text="Hello.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock", "PYGENT_MEMORY_ENABLED": "false"}
        with raw_client(folder, environment=environment) as client:
            told(client, folder, "hello")

    assert "remember" not in [each["function"]["name"] for each in model.requests[0].body["tools"]]


def test_a_note_with_a_secret_is_refused(folder: Path) -> None:
    secret = Call(name="remember", arguments={"note": "The key is sk-ant-api03-" + "Zq9" * 30})
    with ModelServer([Step(calls=(secret,)), Step(text="I see.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock", "PYGENT_PERMISSIONS": '{"allow": ["remember"]}'}
        with raw_client(folder, environment=environment) as client:
            told(client, folder, "remember the key")

    assert "must not contain a secret" in model.requests[1].texts("tool")[-1]
    assert notes_in(folder) == []
