"""Providers that litellm knows and their environment variables. Does not import litellm.

The names and variables are those of litellm 1.106.2; a test compares them with the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

NAMES: frozenset[str] = frozenset(
    """
    a2a a2a_agent ai21 ai21_chat aiml aiohttp_openai amazon_nova anthropic anthropic_text apertis assemblyai
    auto_router aws_polly aws_textract azure azure_ai azure_speech azure_text baseten bedrock bedrock_mantle
    black_forest_labs bytez cerebras charity_engine chatgpt chutes clarifai cloudflare codestral cognition
    cohere cohere_chat cometapi compactifai cortecs cursor custom custom_openai darkbloom dashscope databricks
    datarobot deepgram deepinfra deepseek docker_model_runner dotprompt edenai elevenlabs empower fal_ai
    featherless_ai fireworks_ai friendliai galadriel gdc gemini gigachat github github_copilot gradient_ai groq
    helicone heroku hosted_vllm huggingface humanloop hyperbolic inception infinity jina_ai lambda_ai langflow
    langfuse langgraph lemonade libertai litellm_agent litellm_proxy llamafile lm_studio manus maritalk meta
    meta_llama milvus minimax mistral modelscope mongodb moonshot morph nadir nano-gpt nebius neosantara
    nlp_cloud novita nscale nvidia_nim nvidia_riva oci ollama ollama_chat oobabooga openai openai_like
    openrouter ovhcloud parasail perplexity petals pg_vector pinstripes poe predibase prism publicai
    qwen_ai_platform qwencloud ragflow recraft reducto reka replicate runwayml s3_vectors sagemaker
    sagemaker_chat sagemaker_nova sail sambanova sap scaleway scx-ai snowflake soniox stability strands_decider
    synthetic tencent tensormesh text-completion-codestral text-completion-inception text-completion-openai
    together_ai topaz transcribe triton typesafe v0 valkey vercel_ai_gateway vertex_ai vertex_ai_beta vllm
    volcengine voyage wandb watsonx watsonx_text xai xiaomi_mimo xinference zai
    """.split()  # noqa: SIM905 - a list of 166 strings would fill 166 lines
)
"""All providers that a litellm model string can begin with."""

_AZURE_KEY = "AZURE_API_KEY|AZURE_OPENAI_API_KEY|AZURE_AD_TOKEN|AZURE_CLIENT_ID"

_WATSONX = (
    "WATSONX_APIKEY|WATSONX_API_KEY|WX_API_KEY|WATSONX_TOKEN|WATSONX_ZENAPIKEY "
    "WATSONX_URL|WATSONX_API_BASE|WX_URL|WML_URL"
)

_REQUIRED: Mapping[str, str] = {
    "ai21": "AI21_API_KEY",
    "ai21_chat": "AI21_API_KEY",
    "aiml": "AIML_API_KEY",
    "amazon_nova": "AMAZON_NOVA_API_KEY",
    "anthropic_text": "ANTHROPIC_API_KEY",
    "apertis": "STIMA_API_KEY",
    "assemblyai": "ASSEMBLYAI_API_KEY",
    "azure": f"{_AZURE_KEY} AZURE_API_BASE",
    "azure_ai": f"AZURE_AI_API_KEY|{_AZURE_KEY} AZURE_AI_API_BASE|AZURE_API_BASE",
    "azure_text": f"{_AZURE_KEY} AZURE_API_BASE",
    "baseten": "BASETEN_API_KEY",
    "bedrock_mantle": "BEDROCK_MANTLE_API_KEY|AWS_BEARER_TOKEN_BEDROCK",
    "bytez": "BYTEZ_API_KEY",
    "charity_engine": "CHARITY_ENGINE_API_KEY",
    "chutes": "CHUTES_API_KEY",
    "clarifai": "CLARIFAI_API_KEY",
    "cloudflare": "CLOUDFLARE_API_KEY CLOUDFLARE_ACCOUNT_ID|CLOUDFLARE_API_BASE",
    "codestral": "CODESTRAL_API_KEY",
    "cognition": "COGNITION_API_KEY",
    "cohere": "COHERE_API_KEY|CO_API_KEY",
    "cohere_chat": "COHERE_API_KEY|CO_API_KEY",
    "cometapi": "COMETAPI_API_KEY|COMETAPI_KEY",
    "compactifai": "COMPACTIFAI_API_KEY",
    "cortecs": "CORTECS_API_KEY",
    "darkbloom": "DARKBLOOM_API_KEY",
    "dashscope": "DASHSCOPE_API_KEY",
    "datarobot": "DATAROBOT_API_TOKEN",
    "edenai": "EDENAI_API_KEY",
    "empower": "EMPOWER_API_KEY",
    "featherless_ai": "FEATHERLESS_AI_API_KEY|FEATHERLESS_API_KEY",
    "friendliai": "FRIENDLIAI_API_KEY|FRIENDLI_TOKEN",
    "galadriel": "GALADRIEL_API_KEY",
    "gigachat": "GIGACHAT_API_KEY|GIGACHAT_CREDENTIALS",
    "github": "GITHUB_API_KEY",
    "gradient_ai": "GRADIENT_AI_API_KEY",
    "helicone": "HELICONE_API_KEY",
    "heroku": "HEROKU_API_KEY HEROKU_API_BASE",
    "huggingface": "HUGGINGFACE_API_KEY|HF_TOKEN",
    "hyperbolic": "HYPERBOLIC_API_KEY",
    "inception": "INCEPTION_API_KEY",
    "jina_ai": "JINA_AI_API_KEY|JINA_API_KEY|JINA_AI_TOKEN",
    "lambda_ai": "LAMBDA_API_KEY",
    "libertai": "LIBERTAI_API_KEY",
    "manus": "MANUS_API_KEY",
    "maritalk": "MARITALK_API_KEY",
    "meta": "META_API_KEY",
    "meta_llama": "LLAMA_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "modelscope": "MODELSCOPE_API_KEY",
    "morph": "MORPH_API_KEY",
    "nadir": "NADIR_API_KEY",
    "nano-gpt": "NANOGPT_API_KEY",
    "nebius": "NEBIUS_API_KEY",
    "neosantara": "NEOSANTARA_API_KEY",
    "nlp_cloud": "NLP_CLOUD_API_KEY",
    "novita": "NOVITA_API_KEY",
    "nscale": "NSCALE_API_KEY",
    "ovhcloud": "OVHCLOUD_API_KEY",
    "parasail": "PARASAIL_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY|PERPLEXITY_API_KEY",
    "pinstripes": "PINSTRIPES_API_KEY",
    "poe": "POE_API_KEY",
    "prism": "PRISM_API_KEY",
    "publicai": "PUBLICAI_API_KEY",
    "qwen_ai_platform": "QWEN_AI_PLATFORM_API_KEY|DASHSCOPE_API_KEY",
    "qwencloud": "QWENCLOUD_API_KEY|DASHSCOPE_API_KEY",
    "reka": "REKA_API_KEY",
    "replicate": "REPLICATE_API_KEY|REPLICATE_API_TOKEN",
    "sail": "SAIL_API_KEY",
    "scaleway": "SCW_SECRET_KEY",
    "scx-ai": "SCX_API_KEY",
    "snowflake": "SNOWFLAKE_JWT",
    "synthetic": "SYNTHETIC_API_KEY",
    "tencent": "TENCENT_API_KEY",
    "tensormesh": "TENSORMESH_INFERENCE_API_KEY",
    "text-completion-codestral": "CODESTRAL_API_KEY",
    "text-completion-inception": "INCEPTION_API_KEY",
    "text-completion-openai": "OPENAI_API_KEY",
    "v0": "V0_API_KEY",
    "vercel_ai_gateway": "VERCEL_AI_GATEWAY_API_KEY|VERCEL_OIDC_TOKEN",
    "volcengine": "VOLCENGINE_API_KEY|ARK_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "wandb": "WANDB_API_KEY",
    "watsonx": _WATSONX,
    "watsonx_text": _WATSONX,
    "xiaomi_mimo": "XIAOMI_MIMO_API_KEY",
}
"""Variables of the providers that `pygent_ls.llm.providers.known_providers` does not list. Each word is required; `|`
separates alternatives, of which messages name the first."""

HAS_OTHER_CREDENTIALS = frozenset({"azure", "azure_ai", "azure_text", "watsonx", "watsonx_text"})
"""Providers whose variables may hold a token or an account name, which litellm reads itself."""

SAME_CREDENTIALS: Mapping[str, str] = {
    "bedrock_converse": "bedrock",
    "sagemaker_chat": "sagemaker",
    "sagemaker_nova": "sagemaker",
    "vertex_ai_beta": "vertex_ai",
}
"""Providers that litellm's check leaves out, and the providers whose variables they share."""

JUDGED = frozenset({"bedrock", "infinity", "sagemaker", "vertex_ai"})
"""Providers, not listed above, that litellm's check of the environment covers."""


_IS_SECRET = re.compile(r"KEY|TOKEN|JWT|CREDENTIALS")


OF_PLATFORMS = frozenset(
    {
        "CLOUDFLARE_API_KEY",
        "GITHUB_API_KEY",
        "HEROKU_API_KEY",
        "HF_TOKEN",
        "SCW_SECRET_KEY",
        "SNOWFLAKE_JWT",
        "VERCEL_OIDC_TOKEN",
        "WANDB_API_KEY",
    }
)
"""Variables of platforms that do more than serve models: the user's own commands need them."""


def secret_variables() -> frozenset[str]:
    """Return the variables that may hold a key of these providers, except those in `OF_PLATFORMS`."""
    words = (word for required in _REQUIRED.values() for word in re.split(r"[| ]", required))
    return frozenset(word for word in words if _IS_SECRET.search(word)) - OF_PLATFORMS


def has_requirements(provider: str) -> bool:
    """Return whether the variables of a provider are known here."""
    return provider in _REQUIRED


def key_names(provider: str) -> tuple[str, ...]:
    """Return the variables that may hold the key of a provider; empty if they are not known here."""
    return next(_alternatives(provider), ())


def missing_variables(provider: str, environment: Mapping[str, str], *, has_key: bool, has_address: bool) -> list[str]:
    """Return the variables to set before a provider can be called.

    `has_key` and `has_address` say that the settings provide the key or the address, so that its variable is not
    needed.
    """
    missing = [names for names in _alternatives(provider) if not any(environment.get(name) for name in names)]
    given = {"key": has_key, "address": has_address}
    return [names[0] for names in missing if not given[_kind(provider, names)]]


def _alternatives(provider: str) -> Iterator[tuple[str, ...]]:
    return (tuple(word.split("|")) for word in _REQUIRED.get(provider, "").split())


def _kind(provider: str, names: tuple[str, ...]) -> str:
    return "key" if names == key_names(provider) else "address"
