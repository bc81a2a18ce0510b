"""Current models that litellm's table lacks, each with the source of its numbers. Pure.

An entry has the fields of litellm's table and a `source`. litellm's entry takes precedence as soon as it exists; a test
names the entries that are no longer needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MODELS_DEV = "models.dev, 2026-07-01"
"""github.com/anomalyco/models.dev at f3fc692."""

_KIMI_K3_1 = "docs.apiyi.com and docs.venice.ai, 2026-10"
"""Moonshot's prices as listed by docs.apiyi.com/en/api-capabilities/kimi-k3-1/overview; the window is from
docs.venice.ai/models/kimi-k3-1-pro-highspeed."""


def _entry(
    provider: str, usd_per_mtok: tuple[float, float, float], limits: tuple[int, int], source: str
) -> dict[str, Any]:
    """Return a table entry. `usd_per_mtok`: input, output, cached input. `limits`: window, output."""
    price, output, cached = (each / 1e6 for each in usd_per_mtok)
    return {
        "litellm_provider": provider,
        "mode": "chat",
        "input_cost_per_token": price,
        "output_cost_per_token": output,
        "cache_read_input_token_cost": cached,
        "max_input_tokens": limits[0],
        "max_output_tokens": limits[1],
        "supports_function_calling": True,
        "supports_reasoning": True,
        "source": source,
    }


OWN_MODELS: Mapping[str, Mapping[str, Any]] = {
    "moonshot/kimi-k3.1-pro": {
        **_entry("moonshot", (2.0, 10.0, 0.2), (1_000_000, 128_000), _KIMI_K3_1),
        "thinking_always_on": True,
    },
    "moonshot/kimi-k3.1-pro-highspeed": {
        **_entry("moonshot", (4.0, 20.0, 0.2), (1_000_000, 128_000), _KIMI_K3_1),
        "thinking_always_on": True,
    },
    "moonshot/kimi-k2.7-code-highspeed": {
        **_entry("moonshot", (1.9, 8.0, 0.38), (262_144, 262_144), _MODELS_DEV),
        "thinking_always_on": True,
    },
    "zai/glm-5-turbo": _entry("zai", (1.2, 4.0, 0.24), (200_000, 131_072), _MODELS_DEV),
    "zai/glm-5v-turbo": _entry("zai", (1.2, 4.0, 0.24), (200_000, 131_072), _MODELS_DEV),
    "zai/glm-4.7-flashx": _entry("zai", (0.07, 0.4, 0.01), (200_000, 131_072), _MODELS_DEV),
    "together_ai/deepseek-ai/DeepSeek-V4-Pro": _entry(
        "together_ai", (1.74, 3.48, 0.2), (512_000, 384_000), _MODELS_DEV
    ),
}
"""Entries by provider and name."""
