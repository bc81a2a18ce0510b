"""Providers known without loading litellm: key variables, addresses, API differences, default models.

Names, variables and addresses are those of litellm 1.106.2, so that a setting means the same with and without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from pygent_ls.llm.keys.saved_keys import SavedKeys

from pygent_ls.agent.ports.model import Effort

OFFLINE = "offline/rules"
"""The model that needs no provider."""

LITELLM_PREFIX = "litellm/"
"""Beginning of the names of models that are called through litellm whatever their provider is."""

SCRIPTED = "scripted:"
"""Prefix of a scripted model, followed by its file."""

Protocol = Literal["chat", "messages", "litellm"]
"""Protocol of a provider: chat completions, Anthropic's Messages API, or one that only litellm implements."""


class Habits(Struct, frozen=True, kw_only=True):
    """Differences of a provider from other chat completions providers."""

    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name of the output limit at its own address; compatible servers know the older name."""
    own_temperature: float | None = None
    """Default temperature, which is not sent: the provider's newer models refuse any explicit one."""
    thinking: Literal["effort", "budget", "switch"] = "effort"
    """How thinking is requested: `reasoning_effort`, `reasoning` (OpenRouter), or `thinking.type`, which is on by
    default and has to be disabled."""
    efforts: tuple[Effort, ...] = ()
    """Efforts that it accepts if no table lists the model's; empty if unknown."""
    caches_by_key: bool = False
    """Whether it takes `prompt_cache_key`, at its own address."""
    model_prefix: str = ""
    """Prefix of its models' names."""
    version_path: str = ""
    """End of its address, added if the variable or setting lacks it."""


class Provider(Struct, frozen=True, kw_only=True):
    """One provider, by litellm's name for it."""

    name: str
    key_variables: tuple[str, ...]
    """Environment variables that litellm reads its key from; messages name the first."""
    default_model: str = ""
    """A current model with tool calls, as litellm 1.106.2 lists it; a test looks each up there (OpenRouter has its own
    list, and a permanent name)."""
    base_variables: tuple[str, ...] = ()
    """Environment variables that litellm reads its address from, the highest precedence first."""
    protocol: Protocol = "chat"
    address: str = ""
    """Its own address; empty if the user must set one."""
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
"""Providers in the order in which a default model is chosen: the first with a key."""


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
"""Providers that are used only if the user names them."""

_BY_NAME: Mapping[str, Provider] = {provider.name: provider for provider in (*PROVIDERS, *OTHERS)}

EXTRAS: Mapping[str, tuple[str, str]] = {
    "bedrock": ("boto3", "bedrock"),
    "bedrock_converse": ("boto3", "bedrock"),
    "sagemaker": ("boto3", "bedrock"),
    "vertex_ai": ("google.auth", "vertex"),
    "vertex_ai_beta": ("google.auth", "vertex"),
}
"""Providers that need an additional package: its module, and the extra of pygent-ls that installs it."""


def key_variables(own: Iterable[str] = ()) -> frozenset[str]:
    """Return the variables that hold keys of any provider, and the user's `own`."""
    from pygent_ls.llm.providers.litellm_providers import secret_variables

    known = secret_variables() | {name for each in _BY_NAME.values() for name in each.key_variables}
    return frozenset(known | set(own) - {""})


def compatible_provider(name: str) -> Provider:
    """Return a provider for the user's own chat completions server; its address and key come from the settings only."""
    return Provider(name=name, key_variables=(), needs_key=False)


def provider_named(name: str) -> Provider | None:
    """Return the facts about a provider; None if only litellm may know it."""
    return _BY_NAME.get(name)


def key_variable(provider: str) -> str:
    """Return the variable that the user should set for a provider; a conventional name for an unlisted one."""
    known = provider_named(provider)
    return known.key_variables[0] if known else f"{provider.upper().replace('-', '_')}_API_KEY"


def first_set(variables: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """Return the first of these variables that is set and not blank."""
    return next((variable for variable in variables if env.get(variable, "").strip()), None)


class DefaultModel(Struct, frozen=True, kw_only=True):
    """A model chosen by default, and the reason, as shown by `doctor`."""

    name: str
    reason: str


def default_model(
    env: Mapping[str, str], saved: SavedKeys | None = None, own: Mapping[str, str] | None = None
) -> DefaultModel:
    """Return the default model: of the first provider in `PROVIDERS` whose key is set, else saved.

    `own` maps providers to the variables that the user names for their keys, which replace the provider's. Saved keys
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
