"""A real command with a model that our own adapters call: litellm stays out of the process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command_line import WAIT_S, clean_environment
from tests.e2e.executed_modules import WATCHED, executed_in
from tests.model_server import Call, ModelServer, Step


@pytest.mark.parametrize(
    ("model", "cost"),
    [("openai/gpt-4o", "$0.0009"), ("anthropic/claude-sonnet-4-5", "$0.0012"), ("groq/own-model", "cost unknown")],
)
def test_a_turn_with_tools_and_its_cost_takes_no_litellm(tmp_path: Path, model: str, cost: str) -> None:
    (tmp_path / "a.txt").write_text("the word is plum\n")
    calls = (Call(name="read_file", arguments={"path": "a.txt"}),)
    with ModelServer([Step(calls=calls), Step(text="It is plum.")]) as server:
        environment = clean_environment(
            tmp_path / "home", PYGENT_MODEL=model, PYGENT_API_BASE=server.url, ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k"
        )
        done = subprocess.run(
            [*WATCHED, "run", "what is the word?"],
            env={**environment, "PYTHONWARNINGS": "always"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )

    imports = executed_in(done.stderr)
    assert (done.stdout, done.returncode) == ("It is plum.\n", 0), done.stderr
    assert "the word is plum" in json.dumps(server.requests[1].body)
    assert server.n_connections == 1
    assert "aiohttp" in imports
    assert not {"litellm", "openai", "httpx", "anthropic"} & imports
    assert cost in done.stderr
    assert "Unclosed" not in done.stderr
    assert "ResourceWarning" not in done.stderr
