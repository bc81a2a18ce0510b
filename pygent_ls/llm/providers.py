"""What is known of providers without loading litellm: their key variables, addresses and a model to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OFFLINE = "offline/rules"
"""The model that needs no provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider, under the name that litellm has for it."""

    name: str
    key_variables: tuple[str, ...]
    """Environment variables that litellm reads its key from; the first is the one to tell people."""
    default_model: str
    """A current model of it that calls tools, as litellm 1.106.2 lists it; a test looks each up there (OpenRouter has
    its own list, and a name that stays)."""
    base_variables: tuple[str, ...] = ()
    """Environment variables that litellm reads its address from, the strongest first."""


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        name="anthropic",
        key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        base_variables=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        default_model="anthropic/claude-sonnet-5-5",
    ),
    Provider(
        name="openai",
        key_variables=("OPENAI_API_KEY",),
        base_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        default_model="openai/gpt-5.6",
    ),
    Provider(
        name="gemini",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        default_model="gemini/gemini-pro-latest",
    ),
    Provider(
        name="openrouter",
        key_variables=("OPENROUTER_API_KEY", "OR_API_KEY"),
        base_variables=("OPENROUTER_API_BASE",),
        default_model="openrouter/openrouter/auto",
    ),
    Provider(name="mistral", key_variables=("MISTRAL_API_KEY",), default_model="mistral/mistral-medium-latest"),
    Provider(name="deepseek", key_variables=("DEEPSEEK_API_KEY",), default_model="deepseek/deepseek-v4-pro"),
    Provider(name="xai", key_variables=("XAI_API_KEY",), default_model="xai/grok-4.7"),
    Provider(name="groq", key_variables=("GROQ_API_KEY",), default_model="groq/openai/gpt-oss-120b"),
    Provider(name="cerebras", key_variables=("CEREBRAS_API_KEY",), default_model="cerebras/gpt-oss-120b"),
)
"""In the order in which a model is chosen where the user named none: the first whose key is set."""


def key_variables(own: str = "") -> frozenset[str]:
    """The variables that hold keys of providers, and the user's `own`."""
    known = {name for each in PROVIDERS for name in each.key_variables}
    return frozenset(known | {own} - {""})


def provider_named(name: str) -> Provider | None:
    """What is known of a provider."""
    return next((provider for provider in PROVIDERS if provider.name == name), None)


def key_variable(provider: str) -> str:
    """The variable that a person should set for a provider; by custom, where it is not one of ours."""
    known = provider_named(provider)
    return known.key_variables[0] if known else f"{provider.upper().replace('-', '_')}_API_KEY"


def first_set(variables: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """The first of these variables that is set and not empty."""
    return next((variable for variable in variables if env.get(variable)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModel:
    """A model that was chosen for the user, and why, in words for `doctor`."""

    name: str
    reason: str


def default_model(env: Mapping[str, str]) -> DefaultModel:
    """The model for a user who named none: of the first provider in `PROVIDERS` whose key is set."""
    for provider in PROVIDERS:
        variable = first_set(provider.key_variables, env)
        if variable is not None:
            return DefaultModel(name=provider.default_model, reason=f"{variable} is set, and no model is named")
    variables = ", ".join(provider.key_variables[0] for provider in PROVIDERS)
    return DefaultModel(name=OFFLINE, reason=f"no model is named, and none of {variables} is set")
