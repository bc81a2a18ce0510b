"""Gemini by its own protocol, which litellm speaks: its signatures come back through the library and our history."""

from __future__ import annotations

import pytest

from pygent_ls.llm.litellm.loader import LitellmLoader
from tests.providers.conversations import Prompt, Reply, talk

GEMINI = "gemini/gemini-3.1-pro-preview"

CALL = Reply(n_thoughts=1, tools=("look",))
CALLS = Reply(n_thoughts=1, text=True, tools=("look", "change"))
SAY = Reply(text=True)


@pytest.fixture(scope="module")
def loader() -> LitellmLoader:
    """litellm, loaded once by the first test that calls it."""
    return LitellmLoader()


def turn(model: str, *replies: Reply, thinking: int = 0) -> Prompt:
    return Prompt(model=model, replies=replies, thinking=thinking)


async def test_signatures_of_calls_come_back_in_both_turns(loader: LitellmLoader) -> None:
    await talk([turn(GEMINI, CALL, CALLS, SAY), turn(GEMINI, CALLS, SAY, thinking=2_000)], loader=loader)


async def test_a_session_comes_from_other_providers_and_goes_back(loader: LitellmLoader) -> None:
    models = ("openai/gpt-5.6", GEMINI, "deepseek/deepseek-v4-pro", "anthropic/claude-sonnet-5-5", GEMINI)
    await talk([turn(model, CALLS, CALL, SAY, thinking=2_000) for model in models], loader=loader)


async def test_a_provider_that_fails_while_tools_run_is_replaced_by_gemini(loader: LitellmLoader) -> None:
    failing = Reply(status=529)
    replies = (CALLS, failing, failing, CALL, SAY)
    await talk([Prompt(model="deepseek/deepseek-v4-pro", replies=replies, fallback=GEMINI)], loader=loader)


async def test_the_user_speaks_while_tools_run_and_answers_are_cut_off(loader: LitellmLoader) -> None:
    steered = Reply(tools=("look",), steering=True)
    cut_off = Reply(n_thoughts=1, text=True, cut_off=True)
    await talk([turn(GEMINI, steered, steered, CALL, SAY), turn(GEMINI, cut_off, cut_off, CALL)], loader=loader)
