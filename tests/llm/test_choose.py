"""Which model a name stands for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pygent_ls.errors import SettingError
from pygent_ls.llm.choose import make_model
from pygent_ls.llm.litellm_model import LitellmLoader, LitellmModel
from pygent_ls.llm.litellm_target import Endpoint
from pygent_ls.llm.offline_model import OfflineModel
from pygent_ls.llm.providers import PROVIDERS, default_model, key_variable
from pygent_ls.llm.scripted_model import ScriptedModel


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("offline/rules", OfflineModel),
        ("scripted:answers.jsonl", ScriptedModel),
        ("openai/gpt-5", LitellmModel),
        ("litellm/openai/gpt-5", LitellmModel),
        ("gpt-5", LitellmModel),
        ("offline/other", LitellmModel),
    ],
)
def test_a_name_stands_for_its_model(name: str, kind: type) -> None:
    model = make_model(f" {name} ", Endpoint(), LitellmLoader())

    assert isinstance(model, kind)
    assert model.name == name
    assert model.ready == (kind is not LitellmModel)


@pytest.mark.parametrize("name", ["", " ", "scripted:"])
def test_a_name_that_can_be_none_is_said(name: str) -> None:
    with pytest.raises(SettingError, match="model"):
        make_model(name, Endpoint(), LitellmLoader())


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
        "import sys; from pygent_ls.llm.choose import *; "
        "make_model('openai/x', Endpoint(), LitellmLoader()); "
        "print([name for name in ('litellm', 'openai', 'httpx', 'aiohttp', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)

    assert (done.stdout.strip(), done.stderr) == ("[]", "")
