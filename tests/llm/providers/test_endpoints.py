"""Which endpoint a model is called at, for every pair of providers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pytest

from pygent_ls.errors import ModelError, SettingError
from pygent_ls.llm.http.model import NativeModel
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.endpoints import Endpoints, ProviderSettings, is_same_server
from pygent_ls.llm.providers.known_providers import OTHERS, PROVIDERS, default_model
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routed_model import RoutedModel
from pygent_ls.llm.routing import make_configured_model
from tests.llm.saved import SavedInMemory

NAMES = (*(each.name for each in (*PROVIDERS, *OTHERS)), "perplexity", "azure", "bedrock", "acme")
"""All providers of our table, some that only litellm knows, and an unknown one."""

ONE_SERVER = {frozenset({"ollama", "ollama_chat"})}

PAIRS = [pair for pair in permutations(NAMES, 2) if frozenset(pair) not in ONE_SERVER]

TOP = ProviderSettings(api_base="https://top.example/v1", api_key_env="TOP_KEY", extra_headers={"X-Top": "top-secret"})


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and keys of whoever runs the tests do not count."""
    for each in (*PROVIDERS, *OTHERS):
        for variable in (*each.key_variables, *each.base_variables):
            monkeypatch.delenv(variable, raising=False)


def table(name: str) -> ProviderSettings:
    """The table of a provider, in which everything bears its name."""
    return ProviderSettings(
        api_base=f"https://{name.replace('_', '-')}.example/v1",
        api_key_env=f"KEY_OF_{name.upper()}",
        extra_headers={f"X-{name}": f"header of {name}"},
    )


def facts(endpoint: Endpoint) -> ProviderSettings:
    """What is sent where, as a table would say it."""
    return ProviderSettings(
        api_base=endpoint.api_base or "",
        api_key_env=endpoint.api_key_env or "",
        extra_headers=endpoint.extra_headers,
    )


def endpoint_of(endpoints: Endpoints, name: str, *, agent_base: str = "", **environment: str) -> Endpoint:
    provider = endpoints.provider_of(name)
    assert provider is not None
    return endpoints.choose(name, provider, environment, agent_base=agent_base)


# Pairs


def test_the_top_level_settings_reach_the_provider_of_the_model_and_no_other() -> None:
    wrong: list[tuple[str, str]] = []
    for main, other in PAIRS:
        endpoints = Endpoints(model=f"{main}/one", top_level=TOP, providers={"acme": table("acme")})
        expected = table("acme") if other == "acme" else ProviderSettings()
        if facts(endpoint_of(endpoints, f"{other}/two")) != expected:
            wrong.append((main, other))

    assert wrong == []


@pytest.mark.parametrize("main", NAMES)
def test_all_models_of_the_provider_of_the_model_share_its_settings(main: str) -> None:
    own = {"acme": ProviderSettings()} if main == "acme" else {}
    endpoints = Endpoints(model=f"{main}/one", top_level=TOP, providers=own)

    for name in (f"{main}/one", f"{main}/two", f" {main}/two ", f"litellm/{main}/two"):
        assert facts(endpoint_of(endpoints, name)) == TOP


def test_each_provider_has_its_own_table_whatever_the_model_is() -> None:
    tables = {name: table(name) for name in NAMES}
    for main, other in PAIRS:
        endpoints = Endpoints(model=f"{main}/one", top_level=TOP, providers=tables)

        assert facts(endpoint_of(endpoints, f"{other}/two")) == tables[other]
        assert facts(endpoint_of(endpoints, f"{main}/one")) == tables[main], "no header of another server"


def test_an_agents_address_is_sent_nothing_of_another_provider() -> None:
    for main, other in PAIRS:
        tables = {} if other != "acme" else {"acme": ProviderSettings(api_key_env="KEY_OF_ACME")}
        endpoints = Endpoints(model=f"{main}/one", top_level=TOP, providers=tables)

        found = endpoint_of(endpoints, f"{other}/two", agent_base="https://agent.example")

        assert facts(found) == ProviderSettings(
            api_base="https://agent.example", api_key_env="KEY_OF_ACME" if other == "acme" else ""
        )


# Precedence


def test_a_table_goes_before_the_top_level_value_by_value_if_both_mean_one_server() -> None:
    endpoints = Endpoints(
        model="openai/one",
        top_level=TOP,
        providers={"openai": ProviderSettings(api_key_env="MINE", extra_headers={"X-More": "more"})},
    )

    assert facts(endpoint_of(endpoints, "openai/two")) == ProviderSettings(
        api_base=TOP.api_base, api_key_env="MINE", extra_headers={"X-Top": "top-secret", "X-More": "more"}
    )


def test_a_table_with_another_server_is_sent_no_key_and_header_of_the_top_level() -> None:
    endpoints = Endpoints(
        model="openai/one", top_level=TOP, providers={"openai": ProviderSettings(api_base="https://mine.example")}
    )

    assert facts(endpoint_of(endpoints, "openai/one")) == ProviderSettings(api_base="https://mine.example")


@pytest.mark.parametrize(
    ("bare", "name"),
    [("anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock/x"), ("gemini-2.5-pro", "vertex_ai/x")],
)
async def test_a_bare_name_of_a_provider_of_litellm_shares_the_settings_of_its_provider(bare: str, name: str) -> None:
    model = await routed(name, Endpoints(model=bare, top_level=TOP))
    assert isinstance(model, LitellmModel)
    assert facts(model.endpoint) == TOP

    model = await routed(bare, Endpoints(model=name, top_level=TOP))
    assert isinstance(model, LitellmModel)
    assert facts(model.endpoint) == TOP


def test_an_address_in_the_environment_keeps_the_key_of_a_provider_of_litellm_from_an_agents_server() -> None:
    found = endpoint_of(
        Endpoints(), "azure/one", agent_base="https://agent.example", AZURE_API_BASE="https://mine.example"
    )

    assert found.keys == "none"


def test_two_names_of_ollama_are_one_server() -> None:
    endpoints = Endpoints(model="ollama_chat/one", top_level=TOP)
    assert facts(endpoint_of(endpoints, "ollama/two")) == TOP

    endpoints = Endpoints(model="openai/one", providers={"ollama": table("ollama")})
    assert facts(endpoint_of(endpoints, "ollama_chat/two")) == table("ollama")


@pytest.mark.parametrize("model", ["offline/rules", "cli:claude", "scripted:file.jsonl", ""])
def test_a_model_without_a_provider_gives_its_settings_to_nobody(model: str) -> None:
    endpoints = Endpoints(model=model, top_level=TOP)

    assert facts(endpoint_of(endpoints, "openai/one")) == ProviderSettings()
    assert facts(endpoint_of(endpoints, "unknown/one")) == ProviderSettings()


def test_names_of_no_provider_share_the_server_of_a_model_of_no_provider() -> None:
    endpoints = Endpoints(model="Qwen/Qwen3", top_level=TOP)

    assert facts(endpoint_of(endpoints, "meta-llama/Llama")) == TOP
    assert facts(endpoint_of(endpoints, "openai/one")) == ProviderSettings()


@pytest.mark.parametrize(("provider", "is_sent"), [("anthropic", True), ("bedrock", True), ("openai", False)])
def test_names_of_betas_are_for_those_who_serve_claude(provider: str, is_sent: bool) -> None:
    endpoints = Endpoints(model="openai/one", common=Endpoint(betas=("context-1m",)))

    assert endpoint_of(endpoints, f"{provider}/claude").betas == (("context-1m",) if is_sent else ())


def test_settings_beside_another_model_are_of_its_provider() -> None:
    top_level = ProviderSettings(api_key_env="MINE")
    endpoints = Endpoints(model="anthropic/one", top_level=top_level, set_with_other_models={"openai/two": TOP})

    assert facts(endpoint_of(endpoints, "anthropic/one")) == top_level
    assert facts(endpoint_of(endpoints, "openai/any")) == TOP
    assert facts(endpoint_of(endpoints, "groq/any")) == ProviderSettings()
    assert endpoints.key_variables == {"MINE", "TOP_KEY"}


# An agent's own address


@pytest.mark.parametrize(
    ("configured", "agent_base", "is_sent"),
    [
        ("", "https://agent.example", True),
        ("https://gateway.example/v1", "https://agent.example", False),
        ("https://gateway.example/v1", "https://gateway.example:443/other", True),
        ("https://gateway.example/v1", "http://gateway.example/v1", False),
        ("http://localhost:8080/v1", "http://127.0.0.1:8080", True),
        ("http://localhost:8080/v1", "http://127.0.0.1:8081", False),
    ],
)
def test_an_agents_address_is_sent_the_providers_key_unless_it_belongs_to_another_server(
    configured: str, agent_base: str, is_sent: bool
) -> None:
    own = ProviderSettings(api_base=configured, api_key_env="MINE", extra_headers={"X-Mine": "mine-secret"})
    endpoints = Endpoints(model="groq/one", providers={"openai": own})

    found = endpoint_of(endpoints, "openai/two", agent_base=agent_base)

    assert found.api_base == agent_base
    assert (found.api_key_env, dict(found.extra_headers)) == (
        ("MINE", {"X-Mine": "mine-secret"}) if is_sent else (None, {})
    )
    assert (found.keys == "none") == (not is_sent)


def test_the_shipped_agent_for_ollama_is_sent_no_key_of_a_remote_server() -> None:
    local = "http://127.0.0.1:11434"
    remote = Endpoints(providers={"ollama_chat": ProviderSettings(api_base="https://ollama.example")})

    assert endpoint_of(remote, "ollama_chat/qwen3", agent_base=local).keys == "none"
    by_variable = endpoint_of(
        Endpoints(), "ollama_chat/qwen3", agent_base=local, OLLAMA_API_BASE="https://ollama.example"
    )
    assert by_variable.keys == "none"
    assert endpoint_of(Endpoints(), "ollama_chat/qwen3", agent_base=local).keys == "all"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example", "https://A.example:443/v1", True),
        ("http://[::1]:80", "http://localhost/v1", True),
        ("https://a.example", "https://a.example.evil.example", False),
        ("https://a.example", "https://a.example@evil.example", False),
        ("http://[broken", "http://[broken", True),
        ("http://[broken", "http://[other", False),
        ("", "https://a.example", False),
    ],
)
def test_servers_are_told_apart_by_scheme_host_and_port(one: str, other: str, same: bool) -> None:
    assert is_same_server(one, other) is same


# Models


async def routed(name: str, endpoints: Endpoints, resources: ModelResources | None = None) -> object:
    model = make_configured_model(name, endpoints, resources or ModelResources())
    return await model.routed() if isinstance(model, RoutedModel) else model


async def target_of(
    name: str, endpoints: Endpoints, environment: Mapping[str, str], resources: ModelResources | None = None
) -> NativeTarget:
    model = await routed(name, endpoints, resources)
    assert isinstance(model, NativeModel)
    return model.target(environment)


@pytest.mark.parametrize(
    ("main", "other", "is_shared"),
    [
        ("gpt-5", "openai/two", True),
        ("openai/one", "gpt-5", True),
        ("gpt-5", "gpt-4o", True),
        ("gpt-5", "claude-sonnet-4-5", False),
        ("gpt-5", "anthropic/claude", False),
        ("claude-newer-than-the-table", "anthropic/claude", True),
        ("my-model", "my-other-model", True),
        ("my-model", "openai/gpt", False),
        ("Qwen/Qwen3", "my-model", True),
    ],
)
async def test_bare_names_are_of_the_provider_that_the_table_says(main: str, other: str, is_shared: bool) -> None:
    endpoints = Endpoints(model=main, top_level=TOP)
    keys = {"TOP_KEY": "top", "OPENAI_API_KEY": "openais", "ANTHROPIC_API_KEY": "anthropics"}

    target = await target_of(other, endpoints, keys)

    assert (target.base == TOP.api_base) is is_shared
    assert (target.key == "top") is is_shared


async def test_a_table_of_a_name_that_nobody_knows_makes_a_provider_that_speaks_chat_completions() -> None:
    endpoints = Endpoints(model="openai/one", top_level=TOP, providers={"acme": table("acme")})
    keys = {"TOP_KEY": "top", "OPENAI_API_KEY": "openais", "KEY_OF_ACME": "acmes"}

    assert isinstance(await routed("acme/deep/model", endpoints), OpenAIModel)
    target = await target_of("acme/deep/model", endpoints, keys)
    assert (target.base, target.model, target.key) == ("https://acme.example/v1", "deep/model", "acmes")

    with pytest.raises(ModelError, match="Set the environment variable KEY_OF_ACME"):
        await target_of("acme/model", endpoints, {"OPENAI_API_KEY": "openais"})
    keyless = Endpoints(providers={"acme": ProviderSettings(api_base="https://acme.example/v1")})
    assert (await target_of("acme/model", keyless, keys)).key is None


def test_a_table_of_a_name_that_nobody_knows_needs_an_address() -> None:
    endpoints = Endpoints(providers={"acme": ProviderSettings(api_key_env="KEY_OF_ACME")})

    with pytest.raises(SettingError, match=r"Set `providers\.acme\.api_base`"):
        make_configured_model("acme/model", endpoints, ModelResources())


async def test_a_server_of_no_providers_model_is_not_sent_the_key_of_openai() -> None:
    endpoints = Endpoints(model="my-model", top_level=ProviderSettings(api_base="http://localhost:9/v1"))

    assert (await target_of("my-model", endpoints, {"OPENAI_API_KEY": "openais"})).key is None


async def test_a_custom_server_under_the_name_of_openai_is_sent_openais_key() -> None:
    endpoints = Endpoints(model="openai/one", top_level=ProviderSettings(api_base="http://localhost:9/v1"))

    for name in ("openai/one", "openai/two"):
        target = await target_of(name, endpoints, {"OPENAI_API_KEY": "openais"})
        assert (target.base, target.key) == ("http://localhost:9/v1", "openais")


async def test_a_litellm_provider_has_its_table_too() -> None:
    endpoints = Endpoints(model="openai/one", top_level=TOP, providers={"perplexity": table("perplexity")})

    model = await routed("perplexity/sonar", endpoints)

    assert isinstance(model, LitellmModel)
    assert facts(model.endpoint) == table("perplexity")


async def test_an_address_that_is_none_is_named_by_its_setting() -> None:
    endpoints = Endpoints(providers={"groq": ProviderSettings(api_base="nonsense")})

    with pytest.raises(ModelError, match=r"setting `providers\.groq\.api_base` is not an HTTP address"):
        await target_of("groq/one", endpoints, {"GROQ_API_KEY": "k"})


# Saved keys


@pytest.mark.parametrize(
    ("environment", "own", "key", "source"),
    [
        ({}, ProviderSettings(), "saved", "saved by pygent-ls setup"),
        ({"GROQ_API_KEY": "groqs"}, ProviderSettings(), "groqs", "GROQ_API_KEY"),
        ({"GROQ_API_KEY": "groqs", "MINE": "mine"}, ProviderSettings(api_key_env="MINE"), "mine", "MINE"),
        ({}, ProviderSettings(api_base="https://mine.example"), "saved", "saved by pygent-ls setup"),
        ({"GROQ_API_BASE": "https://mine.example"}, ProviderSettings(), "saved", "saved by pygent-ls setup"),
    ],
)
async def test_a_saved_key_counts_where_no_variable_holds_one(
    environment: dict[str, str], own: ProviderSettings, key: str, source: str
) -> None:
    resources = ModelResources(saved_keys=SavedInMemory({"groq": "saved", "openai": "other"}))

    target = await target_of("groq/one", Endpoints(providers={"groq": own}), environment, resources)

    assert (target.key, target.key_source) == (key, source)
    assert "saved" not in repr(target).replace(source, "")


async def test_a_saved_key_does_not_go_to_an_agents_own_address() -> None:
    resources = ModelResources(saved_keys=SavedInMemory({"groq": "saved"}))
    model = make_configured_model("groq/one", Endpoints(), resources, agent_base="https://agent.example")

    assert isinstance(model, NativeModel)
    assert model.target({}).key is None
    assert model.target({"GROQ_API_KEY": "groqs"}).key == "groqs"


async def test_a_variable_that_the_user_names_and_that_is_not_set_is_not_replaced_by_a_saved_key() -> None:
    resources = ModelResources(saved_keys=SavedInMemory({"groq": "saved"}))
    endpoints = Endpoints(providers={"groq": ProviderSettings(api_key_env="MINE")})

    with pytest.raises(ModelError, match="MINE"):
        await target_of("groq/one", endpoints, {}, resources)


def test_a_saved_key_chooses_the_model_where_no_variable_does() -> None:
    saved = SavedInMemory({"mistral": "saved"})

    chosen = default_model({}, saved)
    assert chosen.name == "mistral/mistral-medium-latest"
    assert "mistral" in chosen.reason

    saved = SavedInMemory({"anthropic": "saved"})
    assert default_model({"GROQ_API_KEY": "k"}, saved).name.startswith("groq/")
    assert saved.asked == [], "no key is read where a variable decides"


def test_a_variable_that_the_user_names_for_a_provider_chooses_its_default_model() -> None:
    own = {"anthropic": "MINE"}

    assert default_model({"MINE": "k"}, own=own).reason == "MINE is set and no model is configured"
    assert default_model({"ANTHROPIC_API_KEY": "k"}, own=own).name == "offline/rules"
