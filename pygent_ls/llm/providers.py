"""What is known of providers without loading litellm: key variables, addresses, habits, a model to begin with.

Names, variables and addresses are those of litellm 1.106.2, so that a setting means the same with and without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pygent_ls.llm.keys import SavedKeys

from pygent_ls.agent.model import Effort

OFFLINE = "offline/rules"
"""The model that needs no provider."""

SCRIPTED = "scripted:"
"""Before the file of a model that plays a script."""

Protocol = Literal["chat", "messages", "litellm"]
"""What a provider speaks: chat completions, Anthropic's Messages API, or what only litellm speaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """In what a provider differs from others that speak chat completions."""

    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Under which name it takes the limit; of its own address only, others that are compatible know the older one."""
    own_temperature: float | None = None
    """What it uses by itself, which is then not sent: its newer models refuse to be told any."""
    thinking: Literal["effort", "budget", "switch"] = "effort"
    """How it is asked to think: `reasoning_effort`, `reasoning` (OpenRouter), or `thinking.type`, which is on by itself
    and has to be switched off."""
    efforts: tuple[Effort, ...] = ()
    """Efforts that it takes where no table says so of the model; empty if that is not known."""
    caches_by_key: bool = False
    """Whether it takes `prompt_cache_key`, at its own address."""
    model_prefix: str = ""
    """Before the names of its models."""
    version_path: str = ""
    """Ends its address where the variable or setting does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider, under the name that litellm has for it."""

    name: str
    key_variables: tuple[str, ...]
    """Environment variables that litellm reads its key from; the first is the one to tell people."""
    default_model: str = ""
    """A current model of it that calls tools, as litellm 1.106.2 lists it; a test looks each up there (OpenRouter has
    its own list, and a name that stays)."""
    base_variables: tuple[str, ...] = ()
    """Environment variables that litellm reads its address from, the strongest first."""
    protocol: Protocol = "chat"
    address: str = ""
    """Its own; empty where there is none, and the user must say it."""
    needs_key: bool = True
    habits: Habits = field(default_factory=Habits)


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        name="anthropic",
        key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        base_variables=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        default_model="anthropic/claude-sonnet-5-5",
        protocol="messages",
        address="https://api.anthropic.com",
    ),
    Provider(
        name="openai",
        key_variables=("OPENAI_API_KEY",),
        base_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        default_model="openai/gpt-5.6",
        address="https://api.openai.com/v1",
        habits=Habits(max_tokens="max_completion_tokens", own_temperature=1.0, caches_by_key=True),
    ),
    Provider(
        name="gemini",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        default_model="gemini/gemini-pro-latest",
        protocol="litellm",
    ),
    Provider(
        name="openrouter",
        key_variables=("OPENROUTER_API_KEY", "OR_API_KEY"),
        base_variables=("OPENROUTER_API_BASE",),
        default_model="openrouter/openrouter/auto",
        address="https://openrouter.ai/api/v1",
        habits=Habits(thinking="budget", efforts=("none", "minimal", "low", "medium", "high", "xhigh")),
    ),
    Provider(
        name="mistral",
        key_variables=("MISTRAL_API_KEY",),
        base_variables=("MISTRAL_API_BASE",),
        default_model="mistral/mistral-medium-latest",
        address="https://api.mistral.ai/v1",
    ),
    Provider(
        name="deepseek",
        key_variables=("DEEPSEEK_API_KEY",),
        base_variables=("DEEPSEEK_API_BASE",),
        default_model="deepseek/deepseek-v4-pro",
        address="https://api.deepseek.com/v1",
        habits=Habits(thinking="switch", efforts=("low", "high", "max")),
    ),
    Provider(
        name="xai",
        key_variables=("XAI_API_KEY",),
        base_variables=("XAI_API_BASE",),
        default_model="xai/grok-4.7",
        address="https://api.x.ai/v1",
    ),
    Provider(
        name="groq",
        key_variables=("GROQ_API_KEY",),
        base_variables=("GROQ_API_BASE",),
        default_model="groq/openai/gpt-oss-120b",
        address="https://api.groq.com/openai/v1",
    ),
    Provider(
        name="cerebras",
        key_variables=("CEREBRAS_API_KEY",),
        base_variables=("CEREBRAS_API_BASE",),
        default_model="cerebras/gpt-oss-120b",
        address="https://api.cerebras.ai/v1",
    ),
)
"""In the order in which a model is chosen where the user named none: the first whose key is set."""


OTHERS: tuple[Provider, ...] = (
    Provider(
        name="together_ai",
        key_variables=("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
        base_variables=("TOGETHER_AI_API_BASE",),
        address="https://api.together.ai/v1",
    ),
    Provider(
        name="fireworks_ai",
        key_variables=("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
        base_variables=("FIREWORKS_API_BASE",),
        address="https://api.fireworks.ai/inference/v1",
        habits=Habits(model_prefix="accounts/fireworks/models/"),
    ),
    Provider(
        name="moonshot",
        key_variables=("MOONSHOT_API_KEY",),
        base_variables=("MOONSHOT_API_BASE",),
        address="https://api.moonshot.ai/v1",
        habits=Habits(thinking="switch"),
    ),
    Provider(
        name="zai",
        key_variables=("ZAI_API_KEY",),
        base_variables=("ZAI_API_BASE",),
        address="https://api.z.ai/api/paas/v4",
        habits=Habits(thinking="switch"),
    ),
    Provider(
        name="deepinfra",
        key_variables=("DEEPINFRA_API_KEY",),
        base_variables=("DEEPINFRA_API_BASE",),
        address="https://api.deepinfra.com/v1/openai",
    ),
    Provider(
        name="nvidia_nim",
        key_variables=("NVIDIA_NIM_API_KEY",),
        base_variables=("NVIDIA_NIM_API_BASE",),
        address="https://integrate.api.nvidia.com/v1",
    ),
    Provider(
        name="sambanova",
        key_variables=("SAMBANOVA_API_KEY",),
        base_variables=("SAMBANOVA_API_BASE",),
        address="https://api.sambanova.ai/v1",
    ),
    Provider(
        name="ollama_chat",
        key_variables=("OLLAMA_API_KEY",),
        base_variables=("OLLAMA_API_BASE",),
        address="http://localhost:11434/v1",
        needs_key=False,
        habits=Habits(version_path="/v1"),
    ),
    Provider(
        name="ollama",
        key_variables=("OLLAMA_API_KEY",),
        base_variables=("OLLAMA_API_BASE",),
        address="http://localhost:11434/v1",
        needs_key=False,
        habits=Habits(version_path="/v1"),
    ),
    Provider(
        name="hosted_vllm",
        key_variables=("HOSTED_VLLM_API_KEY",),
        base_variables=("HOSTED_VLLM_API_BASE",),
        address="http://localhost:8000/v1",
        needs_key=False,
    ),
    Provider(
        name="lm_studio",
        key_variables=("LM_STUDIO_API_KEY",),
        base_variables=("LM_STUDIO_API_BASE",),
        address="http://localhost:1234/v1",
        needs_key=False,
    ),
    Provider(
        name="llamafile",
        key_variables=("LLAMAFILE_API_KEY",),
        base_variables=("LLAMAFILE_API_BASE",),
        address="http://localhost:8080/v1",
        needs_key=False,
    ),
    Provider(
        name="litellm_proxy",
        key_variables=("LITELLM_PROXY_API_KEY",),
        base_variables=("LITELLM_PROXY_API_BASE",),
        address="http://localhost:4000",
        needs_key=False,
    ),
)
"""That must be named to be used."""

_BY_NAME: Mapping[str, Provider] = {provider.name: provider for provider in (*PROVIDERS, *OTHERS)}

EXTRAS: Mapping[str, tuple[str, str]] = {
    "bedrock": ("boto3", "bedrock"),
    "bedrock_converse": ("boto3", "bedrock"),
    "sagemaker": ("boto3", "bedrock"),
    "vertex_ai": ("google.auth", "vertex"),
    "vertex_ai_beta": ("google.auth", "vertex"),
}
"""Providers that need a package more: its module, and the extra of pygent-ls that installs it."""


def key_variables(own: Iterable[str] = ()) -> frozenset[str]:
    """Return the variables that hold keys of any provider, and the user's `own`."""
    from pygent_ls.llm.litellm.providers import secret_variables

    known = secret_variables() | {name for each in _BY_NAME.values() for name in each.key_variables}
    return frozenset(known | set(own) - {""})


def compatible_provider(name: str) -> Provider:
    """A server of the user's own that speaks chat completions; it has no address, and no key, but those of settings."""
    return Provider(name=name, key_variables=(), needs_key=False)


def provider_named(name: str) -> Provider | None:
    """What is known of a provider; None where only litellm may know it."""
    return _BY_NAME.get(name)


def key_variable(provider: str) -> str:
    """The variable that a person should set for a provider; by custom, where it is not one of ours."""
    known = provider_named(provider)
    return known.key_variables[0] if known else f"{provider.upper().replace('-', '_')}_API_KEY"


def first_set(variables: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """The first of these variables that is set and not blank."""
    return next((variable for variable in variables if env.get(variable, "").strip()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModel:
    """A model that was chosen for the user, and why, in words for `doctor`."""

    name: str
    reason: str


def default_model(
    env: Mapping[str, str], saved: SavedKeys | None = None, own: Mapping[str, str] | None = None
) -> DefaultModel:
    """The model for a user who named none: of the first provider in `PROVIDERS` whose key is set, else saved.

    `own` are the variables that the user names for keys, by provider; they take the place of the provider's. Saved keys
    are read only if no variable is set.
    """
    own = own or {}
    for provider in PROVIDERS:
        named = own.get(provider.name)
        variable = first_set((named,) if named else provider.key_variables, env)
        if variable is not None:
            return DefaultModel(name=provider.default_model, reason=f"{variable} is set and no model is configured")
    kept = frozenset(saved.providers() if saved is not None else ())
    for provider in PROVIDERS:
        if provider.name in kept:
            reason = f"pygent-ls setup saved a key for {provider.name} and no model is configured"
            return DefaultModel(name=provider.default_model, reason=reason)
    variables = ", ".join(provider.key_variables[0] for provider in PROVIDERS)
    return DefaultModel(
        name=OFFLINE,
        reason=(f"no model is configured and none of {variables} is set; run `pygent-ls setup` to set one up"),
    )
