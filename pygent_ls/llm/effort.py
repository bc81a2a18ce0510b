"""Reasoning effort: levels, token budgets, and the values that a model accepts. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from pygent_ls.agent.ports.model import EFFORTS, Effort, ModelRequest

BUDGETS: Mapping[Effort, int] = {
    "none": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 16_384,
    "high": 32_768,
    "xhigh": 49_152,
    "max": 64_000,
}
"""Thinking budget of each effort, in tokens, for models that take a number. Ours: providers publish no such table."""

_REASONING_NAME = re.compile(r"(?:^|/)(?:gpt-(?:[6-9]|5(?!.*chat))|o[1-9](?:-|$)|codex|gpt-oss)", re.I)


def wanted_effort(request: ModelRequest) -> Effort | None:
    """Return the effort that a request asks for; None leaves it to the provider.

    A budget of thinking tokens is mapped to the lowest effort that includes it.
    """
    if request.effort is not None:
        return request.effort
    if request.max_thinking_tokens <= 0:
        return None
    if request.max_thinking_tokens <= BUDGETS["low"]:
        return "low"
    return "medium" if request.max_thinking_tokens <= BUDGETS["medium"] else "high"


def thinking_budget(request: ModelRequest) -> int:
    """Return the thinking budget of a request, in tokens; 0 disables thinking."""
    if request.effort is None:
        return max(request.max_thinking_tokens, 0)
    return BUDGETS[request.effort] and (request.max_thinking_tokens or BUDGETS[request.effort])


def nearest(effort: Effort, levels: Collection[str] | None) -> Effort | None:
    """Return the accepted level nearest to an effort, the higher one of two; None if `levels` is empty.

    If the model's levels are unknown (`levels` None), the effort is returned unchanged. An effort other than `none`
    becomes `none` only if that is the only level.
    """
    if levels is None:
        return effort
    known = [each for each in EFFORTS if each in levels]
    if effort != "none" and known != ["none"]:
        known = [each for each in known if each != "none"]
    place = EFFORTS.index(effort)
    places = sorted((abs(EFFORTS.index(each) - place), -EFFORTS.index(each)) for each in known)
    return EFFORTS[-places[0][1]] if places else None


def named_efforts(text: str, sent: object) -> tuple[Effort, ...]:
    """Return the efforts that a refusal names as separate words, except the one that was sent."""
    found = {word.lower() for word in re.findall(r"[A-Za-z_]+", text)}
    return tuple(each for each in EFFORTS if each in found and each != sent)


def is_reasoning_name(model: str) -> bool:
    """Whether a model missing from the tables is named like an OpenAI reasoning model."""
    return bool(_REASONING_NAME.search(model))
