"""Skills and own tools through the real daemon: what the model is told, what it reads and calls, and what is asked."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.raw import RawClient, raw_client
from tests.e2e.test_mcp import home
from tests.model_server import Call, ModelServer, Step

assert home  # a fixture

SKILL = "---\nname: jam\ndescription: How to cook jam.\n---\nUse three pounds of plums.\n"


def skill(folder: Path) -> Path:
    """A skill with a script, in a folder that contains `skills/`."""
    made = folder / "skills" / "jam"
    (made / "scripts").mkdir(parents=True)
    (made / "SKILL.md").write_text(SKILL)
    (made / "scripts" / "boil.sh").write_text("echo it boils\n")
    return made


@contextmanager
def daemon(folder: Path, model: ModelServer) -> Generator[RawClient]:
    """A daemon with this model."""
    with raw_client(folder, environment={**model.env(), "PYGENT_MODEL": "openai/mock"}) as client:
        yield client


def turn(client: RawClient, prompt: str, answer: str = "") -> tuple[str, list[str]]:
    """The text of a turn, and what the user was asked; with an answer to one question."""
    n_frames = len(client.frames)
    client.begin(prompt, "pygent/turn/start", {"prompt": prompt})
    if answer:
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": answer}})
    text = client.answer(prompt)["result"]["text"]
    questions = [each for each in client.frames[n_frames:] if each.get("method") == "window/showMessageRequest"]
    return text, [each["params"]["message"] for each in questions]


@pytest.mark.parametrize("place", ["user", ".pygent", ".claude", ".agents"])
def test_a_skill_is_listed_and_read_when_it_is_needed(folder: Path, home: Path, place: str) -> None:
    made = skill(home if place == "user" else folder / place)
    steps = [Step(calls=(Call(name="read_skill", arguments={"name": "jam"}),)), Step(text="cooked")]
    with ModelServer(steps) as model, daemon(folder, model) as client:
        client.initialize(folder)
        text, asked = turn(client, "make jam")
        listed, _ = turn(client, "/skills")

    system = model.requests[0].texts("system")[0]
    assert text == "cooked"
    assert asked == []
    assert "jam: How to cook jam." in system
    assert "three pounds" not in system
    assert "Use three pounds of plums." in model.requests[1].texts("tool")[0]
    assert "jam" in listed
    assert "How to cook jam." in listed
    assert str(made) in model.requests[1].texts("tool")[0]


def test_a_script_of_a_skill_is_asked_about_as_each_command_is(folder: Path, home: Path) -> None:
    made = skill(home)
    command = f"sh {made / 'scripts' / 'boil.sh'}"
    steps = [Step(calls=(Call(name="shell", arguments={"command": command}),)), Step(text="done")]
    with ModelServer(steps) as model, daemon(folder, model) as client:
        client.initialize(folder)
        _, asked = turn(client, "boil", "Allow once")

    assert command in asked[0]
    assert "it boils" in model.requests[1].texts("tool")[0]


def test_in_a_restricted_workspace_its_skills_are_left_out(folder: Path) -> None:
    skill(folder / ".claude")
    with ModelServer([Step(text="done")]) as model, daemon(folder, model) as client:
        client.initialize(folder, capabilities={"experimental": {"pygent": {"restricted": True}}})
        turn(client, "make jam")

    assert "How to cook jam." not in model.requests[0].texts("system")[0]


SHOUT = '''
from pygent_ls.api import Context, tool

@tool(risk="low", read_only=True)
def shout(context: Context, of: str) -> str:
    """Say the text of a file loudly."""
    return context.read(of).upper()

@tool(risk="medium")
def whisper(text: str) -> str:
    """Say it quietly."""
    return text.lower()
'''


def test_own_tools_of_the_user_are_called_with_what_the_editor_shows(folder: Path, home: Path) -> None:
    (home / "tools").mkdir()
    (home / "tools" / "say.py").write_text(SHOUT)
    (folder / "a.txt").write_text("on the disk")
    calls = [
        Step(calls=(Call(name="shout", arguments={"of": "a.txt"}),)),
        Step(calls=(Call(name="whisper", arguments={"text": "HUSH"}),)),
    ]
    with ModelServer([*calls, Step(text="done")]) as model, daemon(folder, model) as client:
        client.initialize(folder)
        document = {"uri": (folder / "a.txt").as_uri(), "languageId": "text", "version": 1, "text": "not saved"}
        client.tell("textDocument/didOpen", {"textDocument": document})
        _, asked = turn(client, "speak", "Allow once")

    assert "NOT SAVED" in model.requests[1].texts("tool")[0]
    assert "hush" in model.requests[2].texts("tool")[1]
    [message] = asked
    assert "whisper" in message
