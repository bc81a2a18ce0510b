"""Anthropic's Messages API: the rules of everything but the order of messages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.providers.servers.answers import Body, Memory, parts_of
from tests.providers.servers.rules import Broken, Rule

MAX_MARKS = 4
LEAST_BUDGET = 1024
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")

# lidge-jun/opencodex#65 tried the models one by one
ADAPTIVE_ONLY = re.compile(r"claude-(sonnet-5|fable-5|opus-5|opus-4-[78])")
"""Models that take no budget."""

ADAPTIVE = re.compile(r"claude-(sonnet-5|fable-5|opus-5|opus-4-[678]|sonnet-4-6)")
"""Models that decide themselves how much they think."""

ON_BY_DEFAULT = re.compile(r"claude-(sonnet-5|fable-5|opus-5)")
"""Models that think without being asked (promptfoo/promptfoo#10631, ChatGPTBox-dev/chatGPTBox#1026)."""


def budget_is_asked_for(body: Body) -> bool:
    """Whether the request has a budget to think."""
    return body.get("thinking", {}).get("type") == "enabled"


def is_asked_to_think(body: Body) -> bool:
    """Whether an answer to the request has thoughts."""
    kind = body.get("thinking", {}).get("type", "default")
    return kind in ("enabled", "adaptive") or (kind == "default" and ON_BY_DEFAULT.search(body["model"]) is not None)


def thinking_is_of_the_models_kind(body: Body, _: Memory) -> Broken | None:
    """A model takes a budget, or `adaptive`, or both."""
    kind = body.get("thinking", {}).get("type")
    if kind == "enabled" and ADAPTIVE_ONLY.search(body["model"]):
        message = (
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
        return Broken(message=message, about="parameter")
    if kind == "adaptive" and not ADAPTIVE.search(body["model"]):
        return Broken(message="adaptive thinking is not supported on this model", about="parameter")
    return None


# https://docs.claude.com/en/docs/build-with-claude/extended-thinking#how-to-use-extended-thinking
def the_budget_fits(body: Body, _: Memory) -> Broken | None:
    """The budget is at least 1024, and less than `max_tokens`."""
    if not budget_is_asked_for(body):
        return None
    budget = body["thinking"]["budget_tokens"]
    if budget < LEAST_BUDGET:
        message = f"thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}"
        return Broken(message=message)
    if body["max_tokens"] <= budget:
        message = (
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
        )
        return Broken(message=message)
    return None


# https://docs.claude.com/en/docs/build-with-claude/extended-thinking#feature-compatibility
def thinking_excludes_temperature(body: Body, _: Memory) -> Broken | None:
    """Thinking goes with temperature 1 alone."""
    if budget_is_asked_for(body) and body.get("temperature", 1) != 1:
        message = (
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations"
        )
        return Broken(message=message, about="parameter")
    return None


# affaan-m/ECC#2967: sampling parameters are gone from models that think adaptively alone
def new_models_take_no_temperature(body: Body, _: Memory) -> Broken | None:
    """Models that think adaptively alone take no sampling parameters."""
    if ADAPTIVE_ONLY.search(body["model"]) and "temperature" in body:
        return Broken(message="`temperature` is deprecated for this model.", about="parameter")
    return None


# tghamm/Anthropic.SDK#50 has the whole answer
def there_are_few_marks(body: Body, _: Memory) -> Broken | None:
    """At most four parts are marked for the cache."""
    n_marks = sum("cache_control" in part for part in _parts(body))
    if n_marks > MAX_MARKS:
        message = f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {n_marks}."
        return Broken(message=message)
    return None


# https://docs.claude.com/en/docs/build-with-claude/prompt-caching#what-cannot-be-cached
def no_thought_is_marked(body: Body, _: Memory) -> Broken | None:
    """Thoughts are not marked for the cache, and empty texts are not."""
    for part in _parts(body):
        kind = part.get("type", "")
        if "cache_control" in part and kind in ("thinking", "redacted_thinking"):
            return Broken(message=f"{kind}.cache_control: Extra inputs are not permitted")
        if "cache_control" in part and kind == "text" and not part["text"]:
            return Broken(message="cache_control cannot be set for empty text blocks")
    return None


def _parts(body: Body) -> Iterator[Body]:
    yield from body.get("tools") or ()
    if isinstance(body.get("system"), list):
        yield from body["system"]
    for message in body["messages"]:
        if isinstance(message["content"], list):
            yield from message["content"]


# https://docs.claude.com/en/api/messages#body-system
def the_system_prompt_says_something(body: Body, _: Memory) -> Broken | None:
    """No block of the system prompt is empty."""
    if any(not block["text"] for block in parts_of(body.get("system"))):
        return Broken(message="system: text content blocks must be non-empty")
    return None


# https://docs.claude.com/en/api/messages#body-tools; BerriAI/litellm has `modify_params` for it
def calls_have_tools(body: Body, _: Memory) -> Broken | None:
    """A history with calls goes with tools; names of tools have few kinds of characters."""
    for index, tool in enumerate(body.get("tools") or ()):
        if not NAME.match(tool["name"]):
            message = f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            return Broken(message=message)
        if tool["input_schema"].get("type") != "object":
            return Broken(message=f"tools.{index}.custom.input_schema.type: Field required")
    has_calls = any(part.get("type") in ("tool_use", "tool_result") for part in _parts(body))
    if has_calls and not body.get("tools"):
        return Broken(message="Requests which include `tool_use` or `tool_result` blocks must define tools")
    return None


PARAMETERS: tuple[Rule, ...] = (
    thinking_is_of_the_models_kind,
    the_budget_fits,
    thinking_excludes_temperature,
    new_models_take_no_temperature,
    there_are_few_marks,
    no_thought_is_marked,
    the_system_prompt_says_something,
    calls_have_tools,
)
