"""read_file of a picture, with real commands: models that see get it in the form of their provider, others a text."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command_line import clean_environment, run
from tests.model_server import Call, ModelServer, Step
from tests.pictures import picture_file
from tests.providers.official_types import problems

PICTURE = picture_file(64, 48)

BASE64 = base64.b64encode(PICTURE).decode()

SAID = f"shot.txt is an image: PNG, 64×48 pixels, {len(PICTURE):,} bytes."


def played(
    tmp_path: Path, model: str, *steps: Step, output: str = "text", prompt: str = "what is in it?"
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """The finished command, and the bodies of its requests."""
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    (folder / "shot.txt").write_bytes(PICTURE)
    with ModelServer(list(steps)) as server:
        environment = clean_environment(
            tmp_path / "home", PYGENT_MODEL=model, PYGENT_API_BASE=server.url, ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k"
        )
        done = run("run", "--output-format", output, prompt, environment=environment, cwd=folder)
    return done, [request.body for request in server.requests]


READ = Step(calls=(Call(name="read_file", arguments={"path": "shot.txt"}),))


@pytest.mark.parametrize(
    ("model", "api", "part"),
    [
        (
            "openai/gpt-4o",
            "openai",
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}},
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "anthropic",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
        ),
    ],
)
def test_a_model_that_sees_gets_the_picture_after_the_result(
    tmp_path: Path, model: str, api: str, part: Mapping[str, Any]
) -> None:
    done, bodies = played(tmp_path, model, READ, Step(text="Noise."))

    assert (done.stdout, done.returncode) == ("Noise.\n", 0), done.stderr
    last = bodies[1]["messages"][-1]
    assert last["role"] == "user"
    assert part.items() <= last["content"][-1].items()
    assert "Images in the result of read_file of shot.txt:" in json.dumps(last)
    assert SAID in json.dumps(bodies[1], ensure_ascii=False)
    assert problems(api, {"openai": "chat", "anthropic": "messages"}[api], bodies[1]) == []


def test_a_model_without_vision_gets_a_text(tmp_path: Path) -> None:
    done, bodies = played(tmp_path, "deepseek/deepseek-chat", READ, Step(text="I cannot see it."))

    assert (done.stdout, done.returncode) == ("I cannot see it.\n", 0), done.stderr
    sent = json.dumps(bodies[1], ensure_ascii=False)
    assert SAID in sent
    assert "this model does not accept images" in sent
    assert BASE64[:100] not in sent
    assert "does not accept images" in done.stderr


def test_lines_for_scripts_have_the_text_and_not_the_bytes(tmp_path: Path) -> None:
    done, _ = played(tmp_path, "openai/gpt-4o", READ, Step(text="Noise."), output="stream-json")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (result,) = [each for line in lines if line["type"] == "user" for each in line["message"]["content"]]
    assert (result["type"], result["content"]) == ("tool_result", SAID)
    assert lines[-1]["result"] == "Noise."


def test_the_next_turn_of_a_stored_session_still_has_the_picture(tmp_path: Path) -> None:
    played(tmp_path, "openai/gpt-4o", READ, Step(text="Noise."))
    folder = tmp_path / "project"
    with ModelServer([Step(text="Still noise.")]) as server:
        environment = clean_environment(
            tmp_path / "home", PYGENT_MODEL="openai/gpt-4o", PYGENT_API_BASE=server.url, OPENAI_API_KEY="k"
        )
        done = run("run", "--continue", "and now?", environment=environment, cwd=folder)

    assert (done.stdout, done.returncode) == ("Still noise.\n", 0), done.stderr
    assert BASE64 in json.dumps(server.requests[0].body)
