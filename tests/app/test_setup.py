"""Setup with the settings of a user: what it calls, what it writes, and what then counts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pygent_ls.agent.ports.processes import Processes
from pygent_ls.agent.ports.questioner import QuestionAnswer, QuestionAnswered
from pygent_ls.app.blueprint import read_settings
from pygent_ls.app.setup import NO_MODEL, AppSetup
from pygent_ls.app.shared import Shared
from pygent_ls.errors import ModelError
from pygent_ls.llm.providers.known_providers import OTHERS, PROVIDERS
from tests.fakes import bounded
from tests.llm.setup.keyrings import NO_KEYRING
from tests.llm.setup.local_servers import nowhere
from tests.model_server import ModelServer, Step
from tests.questioner import FakeQuestioner

KEY = "my0wnkey-of-mistral"

ENTERED = (
    QuestionAnswered(choice="Enter an API key"),
    QuestionAnswered(choice="mistral"),
    QuestionAnswered(text=KEY),
    QuestionAnswered(choice="mistral/mistral-medium-latest"),
)


@dataclass
class House:
    """A user's home, and setup in it."""

    home: Path
    told: list[str] = field(default_factory=list[str])

    @property
    def config(self) -> Path:
        """The user's own settings."""
        return self.home / "config" / "pygent-ls" / "config.toml"

    def says(self, text: str) -> None:
        """The user's own settings are these."""
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(text)

    def setup(self, shared: Shared, *answers: QuestionAnswer, offers: bool = False) -> AppSetup:
        return AppSetup(
            live=read_settings({}, [self.home]).live,
            keys=shared.keys,
            models=shared.models(read_settings({}, [self.home]).taken.loaded.settings, _no_processes(shared)),
            find=lambda _: None,
            folder=lambda: self.home,
            questioner=FakeQuestioner(*answers),
            tell=self.told.append,
            offers=offers,
        )

    async def run(self, *answers: QuestionAnswer) -> str:
        shared = Shared()
        try:
            return (await bounded(self.setup(shared, *answers).run())).text
        finally:
            await shared.close()


def _no_processes(shared: Shared) -> Processes:
    settings = read_settings({}, []).taken.loaded.settings
    return shared.processes(settings, lambda: (), frozenset())[0]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    for each in (*PROVIDERS, *OTHERS):
        for variable in (*each.key_variables, *each.base_variables):
            monkeypatch.delenv(variable, raising=False)
    for name in ("PYGENT_MODEL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    set_all(monkeypatch, {**nowhere(), **NO_KEYRING})
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return House(tmp_path)


def set_all(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


async def test_a_model_that_something_stronger_sets_aside_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYGENT_MODEL", "offline/rules")
    with ModelServer([Step(text="ready")]) as server:
        monkeypatch.setenv("MISTRAL_API_BASE", server.url)
        told = await house.run(*ENTERED)

    assert told.endswith("not used here: environment PYGENT_MODEL sets offline/rules.")
    assert house.config.read_text() == 'model = "mistral/mistral-medium-latest"\n'


async def test_what_is_set_for_the_former_provider_reaches_the_new_one_neither_now_nor_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([]) as gateway, ModelServer([Step(text="ready")]) as mistral:
        house.says(
            f'model = "openai/one"\napi_base = "{gateway.url}"\napi_key_env = "GATEWAY_KEY"\n'
            '[extra_headers]\nX-Gateway = "secret-of-the-gateway"\n'
        )
        set_all(monkeypatch, {"MISTRAL_API_BASE": mistral.url, "GATEWAY_KEY": "key-of-the-gateway"})
        told = await house.run(*ENTERED)

    assert "answered in" in told
    assert gateway.requests == []
    (called,) = mistral.requests
    assert called.headers["authorization"] == f"Bearer {KEY}"
    assert "x-gateway" not in called.headers
    assert [line for line in house.config.read_text().splitlines() if line][:2] == [
        'model = "mistral/mistral-medium-latest"',
        "[providers.openai]",
    ]


async def test_what_the_file_sets_beside_its_own_model_stays_of_that_whatever_model_counts_here(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.says('model = "openai/one"\napi_base = "http://127.0.0.1:9/v1"\n')
    monkeypatch.setenv("PYGENT_MODEL", "mistral/other")
    with ModelServer([Step(text="ready")]) as server:
        monkeypatch.setenv("MISTRAL_API_BASE", server.url)
        await house.run(*ENTERED)

    assert tomllib.loads(house.config.read_text()) == {
        "model": "mistral/mistral-medium-latest",
        "providers": {"openai": {"api_base": "http://127.0.0.1:9/v1"}},
    }


@pytest.mark.parametrize("is_in_file", [True, False])
async def test_a_key_is_not_tried_while_an_address_of_no_provider_would_come_to_count_for_it(
    house: House, monkeypatch: pytest.MonkeyPatch, is_in_file: bool
) -> None:
    with ModelServer([Step(text="stolen")]) as gateway, ModelServer([Step(text="ready")]) as server:
        if is_in_file:
            house.says(f'api_base = "{gateway.url}"\n')
        else:
            set_all(monkeypatch, {"PYGENT_API_BASE": gateway.url, "OPENAI_API_KEY": "key-of-openai"})
        monkeypatch.setenv("MISTRAL_API_BASE", server.url)
        told = await house.run(*ENTERED)

    assert "Move it to `[providers.NAME]`, or remove it. Nothing was changed." in told
    assert (gateway.requests, server.requests) == ([], [])
    assert "mistral" not in (house.config.read_text() if is_in_file else "")


async def test_an_ollama_elsewhere_is_called_there_and_its_address_is_set(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_API_BASE")
    with ModelServer([Step(text="ready")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        told = await house.run(QuestionAnswered(choice=f"Chat completions server at 127.0.0.1:{server.port}"))

    assert "ollama_chat/mock answered in" in told
    assert [each.path for each in server.requests] == ["/v1/chat/completions"]
    assert house.config.read_text() == (f'model = "ollama_chat/mock"\napi_base = "http://127.0.0.1:{server.port}"\n')


async def test_settings_that_cannot_be_changed_are_left_alone_and_said(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.says("model = \n")
    with ModelServer([Step(text="ready")]) as server:
        monkeypatch.setenv("MISTRAL_API_BASE", server.url)
        told = await house.run(*ENTERED)

    assert 'Set model = "mistral/mistral-medium-latest" yourself.' in told
    assert house.config.read_text() == "model = \n"


async def test_a_prompt_is_answered_for_want_of_a_model_alone(house: House) -> None:
    shared = Shared()
    setup = house.setup(shared)

    with pytest.raises(ModelError, match="No model is set up yet"):
        await bounded(setup.answer_without_model("s", "go faster"))
    said = [await bounded(setup.answer_without_model("s", prompt)) for prompt in ("find `x`", "help")]
    house.says('model = "offline/rules"\n')
    chosen = await bounded(setup.answer_without_model("s", "go faster"))
    await shared.close()

    assert said == [None, None]
    assert chosen is None


async def test_who_begins_setup_from_a_prompt_and_stops_is_told_both(house: House) -> None:
    shared = Shared()
    setup = house.setup(
        shared, QuestionAnswered(choice="Set up a model"), QuestionAnswered(choice="Not now"), offers=True
    )

    text = await bounded(setup.answer_without_model("s", "go faster"))
    await shared.close()

    assert text is not None
    assert text.startswith("Nothing was changed.")
    assert text.endswith(NO_MODEL)
