"""The models that are listed for a user to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pygent_ls.llm.cli.programs import CliProgram
from pygent_ls.llm.model_list import MAX_A_PROVIDER, ListedModel, listed_models
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.endpoints import Endpoints, ProviderSettings
from pygent_ls.llm.providers.known_providers import PROVIDERS
from pygent_ls.llm.resources import ModelResources
from tests.llm.saved import SavedInMemory


async def listing(
    *named: str,
    env: Mapping[str, str] | None = None,
    endpoints: Endpoints | None = None,
    found: Sequence[str] = (),
    resources: ModelResources | None = None,
) -> dict[str, ListedModel]:
    models = await listed_models(
        named,
        lambda name: name if name in found else None,
        endpoints or Endpoints(),
        resources or ModelResources(),
        env or {},
    )
    by_name = {each.name: each for each in models}
    assert len(by_name) == len(models), "each once"
    return by_name


async def test_without_a_key_each_provider_is_one_line_that_names_its_variable() -> None:
    models = await listing()

    assert [models[each.default_model] for each in PROVIDERS] == [
        ListedModel(
            name=each.default_model,
            available=False,
            reason=f"{each.key_variables[0]} is not set",
            key_variable=each.key_variables[0],
            lacks_key=True,
        )
        for each in PROVIDERS
    ]
    assert models["offline/rules"] == ListedModel(name="offline/rules")


async def test_a_key_brings_the_models_of_its_provider_that_call_tools() -> None:
    models = await listing(env={"ANTHROPIC_API_KEY": "k"})

    claudes = [each for name, each in models.items() if name.startswith("anthropic/")]
    assert ListedModel(name="anthropic/claude-sonnet-4-5", key_variable="ANTHROPIC_API_KEY") in claudes
    assert 5 < len(claudes) <= MAX_A_PROVIDER
    assert all(each.available for each in claudes)


async def test_what_the_settings_name_comes_first_and_says_what_it_lacks() -> None:
    endpoints = Endpoints(model="openai/own", top_level=ProviderSettings(api_base="http://localhost:9/v1"))
    assert next(iter((await listing("openai/own", endpoints=endpoints)).values())) == ListedModel(
        name="openai/own", key_variable="OPENAI_API_KEY"
    )

    models = await listing("groq/x", "scripted:", "openai/gpt-5")
    assert "GROQ_API_KEY" in models["groq/x"].reason
    assert "does not name a file" in models["scripted:"].reason
    assert "OPENAI_API_KEY" in models["openai/gpt-5"].reason


async def test_programs_are_there_where_they_are_found() -> None:
    endpoints = Endpoints(common=Endpoint(programs={"toy": CliProgram(command=("toy-model",))}))

    models = await listing(endpoints=endpoints, found=["claude"])

    assert models["cli:claude"] == ListedModel(name="cli:claude")
    assert models["cli:toy"] == ListedModel(name="cli:toy", available=False, reason="toy-model was not found")
    assert models["cli:ollama/MODEL"].reason == "ollama was not found"


async def test_a_provider_with_a_table_or_a_saved_key_is_available_and_others_are_not() -> None:
    endpoints = Endpoints(
        model="openai/one",
        top_level=ProviderSettings(api_base="http://localhost:9/v1"),
        providers={"groq": ProviderSettings(api_key_env="MY_GROQ"), "mistral": ProviderSettings(api_key_env="UNSET")},
    )
    models = await listing(
        env={"MY_GROQ": "k", "MISTRAL_API_KEY": "k"},
        endpoints=endpoints,
        resources=ModelResources(saved_keys=SavedInMemory({"deepseek": "k"})),
    )

    available = {each.name for each in PROVIDERS if models[each.default_model].available}
    assert available == {"openai", "groq", "deepseek"}
    assert models["mistral/mistral-medium-latest"].reason == "UNSET is not set"
    assert models["anthropic/claude-sonnet-5-5"].reason == "ANTHROPIC_API_KEY is not set"
