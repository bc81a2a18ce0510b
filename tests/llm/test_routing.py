"""Which model a name stands for."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pygent_ls.errors import ModelError, SettingError
from pygent_ls.llm.anthropic.model import AnthropicModel
from pygent_ls.llm.cli.model import CliEnvironment, CliModel
from pygent_ls.llm.cli.programs import CliProgram
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.offline.model import OfflineModel
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.openai.responses_model import ResponsesModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import EXTRAS, OTHERS, PROVIDERS, default_model, key_variable
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routed_model import RoutedModel
from pygent_ls.llm.routing import adapter_of, make_model, make_turn_model, missing_extra
from pygent_ls.llm.scripted.model import ScriptedModel
from pygent_ls.llm.text_tools.model import TextToolCalls, TextToolCallsSetting
from tests.fakes import FakeProcesses

COMPATIBLE = (
    *("openrouter", "groq", "deepseek", "mistral", "xai", "together_ai", "fireworks_ai", "cerebras"),
    *("ollama", "ollama_chat", "hosted_vllm", "lm_studio", "litellm_proxy"),
)
"""Providers whose models our own adapter of chat completions calls."""


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and keys of whoever runs the tests do not count."""
    for each in (*PROVIDERS, *OTHERS):
        for variable in (*each.key_variables, *each.base_variables):
            monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("offline/rules", OfflineModel),
        ("scripted:answers.jsonl", ScriptedModel),
        ("openai/gpt-5", ResponsesModel),
        ("openai/gpt-4o", OpenAIModel),
        ("gpt-5", RoutedModel),
        ("anthropic/claude-sonnet-5-5", AnthropicModel),
        *((f"{each.name}/x", OpenAIModel) for each in (*PROVIDERS, *OTHERS) if each.name in COMPATIBLE),
        ("gemini/gemini-pro", LitellmModel),
        ("litellm/openai/gpt-5", LitellmModel),
        ("bedrock/anthropic.claude", LitellmModel),
        ("offline/other", LitellmModel),
    ],
)
def test_a_name_stands_for_its_model(name: str, kind: type) -> None:
    model = make_model(f" {name} ", Endpoint(), ModelResources())

    assert isinstance(model, kind)
    assert model.name == name
    assert model.ready == (kind is not LitellmModel)


@pytest.mark.parametrize(
    ("name", "kind", "provider"),
    [
        ("gpt-4o", OpenAIModel, "openai"),
        ("gpt-5.6", ResponsesModel, "openai"),
        ("claude-sonnet-4-5", AnthropicModel, "anthropic"),
        ("claude-newer-than-the-table", AnthropicModel, "anthropic"),
        ("gpt-99", ResponsesModel, "openai"),
        ("o9-mini", OpenAIModel, "openai"),
        ("gpt-5-codex", ResponsesModel, "openai"),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", LitellmModel, ""),  # bedrock's, says the table
        ("gemini-99", LitellmModel, ""),
    ],
)
async def test_a_bare_name_goes_to_its_provider(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: type, provider: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    routed = make_model(name, Endpoint(), ModelResources())
    assert isinstance(routed, RoutedModel)

    model = await routed.routed()

    assert isinstance(model, kind)
    assert model.name == name
    if isinstance(model, OpenAIModel | AnthropicModel):
        with pytest.raises(ModelError, match=f"No key for {provider}"):
            model.check({})


async def test_a_bare_name_that_nobody_knows_is_one_of_the_users_own_server_or_refused() -> None:
    own = make_model("my-model", Endpoint(api_base="http://localhost:9/v1"), ModelResources())
    assert isinstance(own, RoutedModel)
    assert isinstance(await own.routed(), OpenAIModel)

    with pytest.raises(ModelError, match="PROVIDER/MODEL") as caught:
        await make_model("my-model", Endpoint(), ModelResources()).prepare()
    assert caught.value.type == "invalid_request"


def test_a_server_of_ones_own_is_asked_as_it_is_whatever_the_model_is_called() -> None:
    model = make_model("openai/gpt-5-codex", Endpoint(api_base="http://localhost:9/v1"), ModelResources())

    assert isinstance(model, OpenAIModel)


@pytest.mark.parametrize("name", ["", " ", "scripted:"])
def test_a_name_that_can_be_none_is_said(name: str) -> None:
    with pytest.raises(SettingError, match="model"):
        make_model(name, Endpoint(), ModelResources())


def test_a_package_that_a_provider_lacks_is_named_with_its_extra() -> None:
    missing = missing_extra("vertex_ai/gemini-pro")

    is_there = any(each.name == "google" for each in pkgutil.iter_modules())
    assert missing == (
        "" if is_there else "vertex_ai needs a package that is not installed: pip install 'pygent-ls[vertex]'"
    )
    assert missing_extra("openai/gpt-5") == ""


def test_each_extra_that_is_named_can_be_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert {extra for _, extra in EXTRAS.values()} <= set(project["project"]["optional-dependencies"])


def test_the_first_key_that_is_set_chooses_the_model() -> None:
    keys = {variable: "k" for provider in PROVIDERS for variable in provider.key_variables}

    for provider in PROVIDERS:
        chosen = default_model(keys)
        assert chosen.name == provider.default_model
        assert provider.key_variables[0] in chosen.reason
        for variable in provider.key_variables:
            del keys[variable]
    assert default_model(keys).name == "offline/rules"


def test_the_order_of_the_providers_is_the_documented_one() -> None:
    assert [provider.key_variables[0] for provider in PROVIDERS[:3]] == [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
    ]


def test_an_empty_key_is_none_and_the_reason_names_what_would_do() -> None:
    chosen = default_model({"OPENAI_API_KEY": "", "PATH": "/bin"})

    assert chosen.name == "offline/rules"
    assert "ANTHROPIC_API_KEY" in chosen.reason
    assert "OPENAI_API_KEY" in chosen.reason


def test_a_provider_that_is_not_listed_has_a_key_variable_by_custom() -> None:
    assert key_variable("fireworks-ai") == "FIREWORKS_AI_API_KEY"


def test_choosing_a_model_imports_nothing_heavy() -> None:
    program = (
        "import sys; from pygent_ls.llm.routing import *; "
        "[make_model(name, Endpoint(), ModelResources()) for name in ('openai/x', 'x', 'anthropic/x', 'gemini/x')]; "
        "print([name for name in ('litellm', 'openai', 'httpx', 'aiohttp', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)

    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("name", "setting", "as_text"),
    [
        ("openai/gpt-4o", "auto", True),
        ("gemini/gemini-pro", "on", True),
        ("openai/gpt-4o", "off", False),
        ("scripted:answers.jsonl", "on", True),
        ("scripted:answers.jsonl", "auto", False),
        ("offline/rules", "on", False),
        ("cli:gemini", "on", False),
    ],
)
def test_tools_may_become_text_where_the_setting_leaves_it_open(
    tmp_path: Path, name: str, setting: TextToolCallsSetting, as_text: bool
) -> None:
    resources = ModelResources(cli=CliEnvironment(processes=FakeProcesses(), folder=tmp_path))
    model = make_turn_model(name, Endpoint(text_tool_calls=setting), resources)
    assert isinstance(model, TextToolCalls) is as_text
    assert model.name == name


def test_a_program_is_run_as_the_settings_say(tmp_path: Path) -> None:
    resources = ModelResources(cli=CliEnvironment(processes=FakeProcesses(), folder=tmp_path))
    program = CliProgram(command=("mine",), form="xml")
    endpoint = Endpoint(
        programs={"toy": program}, first_byte_timeout_s=7, idle_timeout_s=8, text_tool_calls="off", api_base="http://x"
    )

    model = make_model("cli:toy", endpoint, resources)

    assert isinstance(model, CliModel)
    assert (model.program, model.around.first_byte_timeout_s, model.around.idle_timeout_s) == (program, 7, 8)
    assert not model.around.text_tool_calls
    assert adapter_of(model) == "the program mine, run for each answer, outside the sandbox"


def test_where_no_program_may_be_run_that_is_said() -> None:
    with pytest.raises(SettingError, match="programs cannot be run here"):
        make_model("cli:claude", Endpoint(), ModelResources())


def test_a_providers_model_is_made_without_those_that_need_none() -> None:
    program = """
import sys
from pygent_ls.llm.routing import make_turn_model
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
make_turn_model("openai/gpt-4o", Endpoint(), ModelResources())
print(sorted(name for name in sys.modules if name.startswith(("pygent_ls.llm.offline", "pygent_ls.llm.scripted"))))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True)

    assert run.stdout.strip() == "[]"
