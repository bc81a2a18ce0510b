"""A session over the real daemon and its journal: the provider gets back all that is its own after a restart, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw import RawClient, raw_client
from tests.providers.servers.answers import Answer, ToolCall
from tests.providers.servers.families import FAMILIES
from tests.providers.servers.server import StrictServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A model, and how the daemon reaches its provider."""

    model: str
    base_variable: str
    path: str = "/v1"

    @property
    def family(self) -> str:
        return self.model.partition("/")[0]

    def environment(self, server: StrictServer) -> dict[str, str]:
        """The daemon's."""
        return {
            "PYGENT_MODEL": self.model,
            "PYGENT_MAX_THINKING_TOKENS": "4000",
            self.base_variable: server.root + self.path,
            f"{self.family.upper()}_API_KEY": "sk-test-0123456789",
        }


DAYS = (
    Day(model="deepseek/deepseek-v4-pro", base_variable="DEEPSEEK_API_BASE"),
    Day(model="moonshot/kimi-k2.6", base_variable="MOONSHOT_API_BASE"),
    Day(model="openai/gpt-5.6", base_variable="OPENAI_BASE_URL"),
    Day(model="openrouter/google/gemini-3.1-pro-preview", base_variable="OPENROUTER_API_BASE"),
    Day(model="openrouter/anthropic/claude-sonnet-4.6", base_variable="OPENROUTER_API_BASE"),
    Day(model="anthropic/claude-sonnet-4-5", base_variable="ANTHROPIC_BASE_URL", path=""),
    Day(model="anthropic/claude-sonnet-5-5", base_variable="ANTHROPIC_BASE_URL", path=""),
)


def read(name: str) -> ToolCall:
    return ToolCall(name="read_file", arguments={"path": name})


ANSWERS = (
    Answer(thoughts=("The files first.",), calls=(read("a.txt"), read("b.txt"))),
    Answer(thoughts=("One more, ", "then enough."), text="I read on.", calls=(read("c.txt"),)),
    Answer(thoughts=("That is it.",), text="It is plum."),
    Answer(thoughts=("Again.",), calls=(read("d.txt"),)),
    Answer(text="Still plum."),
    Answer(thoughts=("The third time.",), calls=(read("e.txt"),)),
    Answer(thoughts=("Over.",), text="Plum for ever."),
)


def turn(client: RawClient, id: str, prompt: str, **params: object) -> Mapping[str, Any]:
    """A whole turn that ends well."""
    answer = client.request(id, "pygent/turn/start", {"prompt": prompt, **params})
    assert answer.get("result", {}).get("stopReason") == "end_turn", answer
    return answer["result"]


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.model)
def test_a_session_goes_on_after_a_restart_with_all_that_its_provider_wants_back(folder: Path, day: Day) -> None:
    for name in "abcde":
        (folder / f"{name}.txt").write_text("the word is plum\n")
    with StrictServer(FAMILIES[day.family], ANSWERS) as server:
        environment = day.environment(server)
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            session = {"sessionId": turn(client, "one", "What is the word?")["sessionId"]}
            assert turn(client, "two", "Look again.", **session)["text"] == "Still plum."
            assert client.finish() == 0
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            assert turn(client, "three", "And now?", **session)["text"] == "Plum for ever."
            assert client.finish() == 0
        server.check()
        asked = [each.body for each in server.http.requests if "plum" in json.dumps(each.body)]
        for name in "abcde":
            assert f"{name}.txt" in json.dumps(asked[-1])
        assert len(server.memory.given) == len(ANSWERS)
