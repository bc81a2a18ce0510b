"""Keys and headers of two providers, each with a server of its own, from the settings' file to what is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import pytest

from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.llm.providers.known_providers import OTHERS, PROVIDERS
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.model_server import Call, ModelServer, Received, Step
from tests.sessions.subscribers import Reader

NAMES = ("openai", "anthropic", "groq", "acme")
"""Two protocols, one that is compatible with the first, and an unknown one."""

PAIRS = [*permutations(NAMES, 2), ("openai", "perplexity"), ("perplexity", "openai")]
"""The last two go through litellm, which is slow to load."""

pytestmark = pytest.mark.filterwarnings("ignore")  # litellm ignores its own, and the end of a test takes that back

LONG = "word " * 400


@dataclass(slots=True)
class Provider:
    """A provider as the settings know it, and its server."""

    name: str
    server: ModelServer
    fails: bool = False

    @property
    def secrets(self) -> tuple[str, str]:
        """The key, and the value of a header."""
        return f"key-of-{self.name}-0123456789", f"header-of-{self.name}-0123456789"

    @property
    def variable(self) -> str:
        return f"TEST_KEY_OF_{self.name.upper()}"

    @property
    def values(self) -> str:
        """The settings of it, as lines of TOML."""
        header = f'extra_headers = {{"X-{self.name}" = "{self.secrets[1]}"}}'
        return f'api_base = "{self.server.url}"\napi_key_env = "{self.variable}"\n{header}\n'

    def asked_as(self) -> list[str]:
        """The models that were asked for."""
        return [each.body["model"] for each in self.server.requests]

    def sent(self) -> list[str]:
        """The values of all headers that came in."""
        return [value for each in self.server.requests for value in each.headers.values()]


@dataclass
class Desk:
    """A workspace folder and the user's settings."""

    root: Path
    agents: list[Agent] = field(default_factory=list["Agent"])

    def begin(self, text: str) -> Session:
        file = self.root / "config" / "pygent-ls" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        folder = self.root / "project"
        folder.mkdir()

        async def no_trust(_: TrustQuestion) -> bool | None:
            return False

        agent = read_settings({}, [folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([folder]),
                approver=FakeApprover(),
                questioner=NobodyToAsk("nobody"),
                ask_trust=no_trust,
                on_session_change=lambda _session, _what: None,
            )
        )
        self.agents.append(agent)
        return agent.sessions.new(NewSession())


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Desk]:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("PYGENT_MODEL", raising=False)
    for each in (*PROVIDERS, *OTHERS):
        for variable in (*each.key_variables, *each.base_variables):
            monkeypatch.delenv(variable, raising=False)
    made = Desk(tmp_path)
    yield made
    for agent in made.agents:
        await agent.close()


async def ask(session: Session, text: str = "go") -> None:
    running = session.start_turn(TurnRequest(parts=(text,)), Reader())
    assert running.task is not None
    await bounded(running.task)


async def ask_for_model(session: Session, other: str) -> None:
    await ask(session)
    session.set_model(f"{other}/two")
    await ask(session)


async def ask_an_agent(session: Session, other: str) -> None:
    await ask(session)
    await ask(session, f"@agent-of-{other} go")


async def compact(session: Session, other: str) -> None:
    del other
    for number in range(4):
        await ask(session, f"question {number}")
    await bounded(session.compact())


async def delegate(session: Session, other: str) -> None:
    del other
    await ask(session, "delegate")


async def fall_back(session: Session, other: str) -> None:
    del other
    await ask(session, "fail")


WAYS: Mapping[str, Callable[[Session, str], Awaitable[None]]] = {
    "model of the session": ask_for_model,
    "agent": ask_an_agent,
    "compaction.model": compact,
    "subagent": delegate,
    "fallback": fall_back,
}


def script(other: str) -> Callable[[Received, int], Step]:
    """What the server of the settings' model answers."""

    def answer(request: Received, _: int) -> Step:
        last = request.texts("user")[-1] if request.messages[-1]["role"] == "user" else ""
        if "fail" in last:
            return Step(status=503)
        if "delegate" in last:
            task = {"description": "look at it", "prompt": "look", "agent": f"of-{other}"}
            return Step(calls=(Call(name="task", arguments=task),))
        return Step(text=f"answer {LONG}")

    return answer


def settings(main: Provider, other: Provider) -> str:
    """The model's provider at the top level, or in its table where its name needs one."""
    own = f"[providers.{main.name}]\n{main.values}" if main.name == "acme" else ""
    return f"""
model = "{main.name}/one"
fallback_models = ["{other.name}/two"]
{"" if own else main.values}
{own}
[providers.{other.name}]
{other.values}
[agents.of-{other.name}]
model = "{other.name}/two"
[compaction]
model = "{other.name}/two"
[retry]
max_attempts = 1
[context]
max_tokens = 40000
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("main", "other"), PAIRS)
async def test_each_provider_is_sent_its_own_key_and_headers_and_nothing_of_the_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, main: str, other: str, way: str
) -> None:
    async with ModelServer(script(other)) as one, ModelServer(lambda _, __: Step(text="from the other")) as two:
        first, second = Provider(main, one), Provider(other, two)
        for each in (first, second):
            monkeypatch.setenv(each.variable, each.secrets[0])
            monkeypatch.setenv(f"{each.name.upper()}_API_KEY", f"usual-key-of-{each.name}")

        await WAYS[way](desk.begin(settings(first, second)), other)

    assert set(first.asked_as()) == {"one"}
    assert set(second.asked_as()) == {"two"}
    for own, foreign in ((first, second), (second, first)):
        said = " ".join(own.sent())
        assert all(secret in said for secret in own.secrets)
        assert not any(secret in said for secret in foreign.secrets)
        assert "usual-key" not in said


async def test_the_shipped_agent_opus_does_not_send_anthropics_key_to_the_server_of_another_provider(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(lambda _, __: Step(text="ok")) as one, ModelServer(lambda _, __: Step(text="ok")) as two:
        first, real = Provider("openai", one), Provider("anthropic", two)
        monkeypatch.setenv(first.variable, first.secrets[0])
        monkeypatch.setenv("ANTHROPIC_API_KEY", real.secrets[0])
        monkeypatch.setenv("ANTHROPIC_BASE_URL", two.url)
        session = desk.begin(f'model = "openai/one"\n{first.values}')

        await ask(session)
        await ask(session, "@agent-opus go")

    assert first.asked_as() == ["one"]
    assert real.asked_as() == ["claude-opus-5-5"]
    assert real.secrets[0] not in " ".join(first.sent())
    assert real.secrets[0] in real.sent()
    assert not any(secret in " ".join(real.sent()) for secret in first.secrets)


async def test_the_shipped_agent_local_with_another_providers_model_is_not_reached_at_ollama(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        session = desk.begin('model = "offline/rules"\n[agents.local]\nmodel = "openai/one"\n')

        await ask(session, "@agent-local go")

        assert [each.headers["authorization"] for each in server.requests] == ["Bearer key-of-openai"]


async def test_an_agents_own_server_is_not_sent_the_key_of_the_configured_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Step(text="ok")]) as one, ModelServer([Step(text="ok")]) as two:
        first, second = Provider("openai", one), Provider("openai", two)
        monkeypatch.setenv(first.variable, first.secrets[0])
        monkeypatch.setenv("OPENAI_API_KEY", "usual-key")
        session = desk.begin(
            f'model = "openai/one"\n{first.values}\n[agents.there]\nmodel = "openai/two"\napi_base = "{two.url}"\n'
        )

        await ask(session)
        await ask(session, "@agent-there go")

    assert first.asked_as() == ["one"]
    assert second.asked_as() == ["two"]
    assert not any(secret in " ".join(second.sent()) for secret in (*first.secrets, "usual-key"))


async def test_a_model_of_a_stronger_layer_is_not_called_at_the_address_beside_the_model_of_a_weaker_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(lambda _, __: Step(text="ok")) as one, ModelServer(lambda _, __: Step(text="ok")) as two:
        first, second = Provider("openai", one), Provider("anthropic", two)
        monkeypatch.setenv(first.variable, first.secrets[0])
        monkeypatch.setenv("ANTHROPIC_API_KEY", second.secrets[0])
        monkeypatch.setenv("ANTHROPIC_BASE_URL", two.url)
        monkeypatch.setenv("PYGENT_MODEL", "anthropic/two")
        session = desk.begin(f'model = "openai/one"\n{first.values}')

        await ask(session)
        session.set_model("openai/one")
        await ask(session)

    assert first.asked_as() == ["one"]
    assert second.asked_as() == ["two"]
    assert second.secrets[0] not in " ".join(first.sent())
    assert not any(secret in " ".join(second.sent()) for secret in first.secrets)


async def test_an_address_without_a_model_beside_it_is_of_whatever_model_counts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        monkeypatch.setenv("PYGENT_API_BASE", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
        session = desk.begin('model = "anthropic/two"\n')

        await ask(session)

        assert [each.headers["x-api-key"] for each in server.requests] == ["key-of-anthropic"]
