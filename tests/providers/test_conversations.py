"""Conversations that every strict server takes: histories of all kinds, switches, cancels, pictures, compaction."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.window import CompactionRules, Strategy
from pygent_ls.agent.messages import Block, ImageBlock, TextBlock
from tests.providers.conversations import Prompt, Reply, stage, talk

MODELS = (
    "openai/gpt-5.6",
    "openai/gpt-4.1",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-sonnet-5-5",
    "deepseek/deepseek-v4-pro",
    "moonshot/kimi-k2.6",
    "openrouter/google/gemini-3.1-pro-preview",
    "openrouter/anthropic/claude-sonnet-4.6",
    "mistral/mistral-medium-latest",
    "groq/openai/gpt-oss-120b",
    "groq/llama-3.3-70b-versatile",
    "xai/grok-4.7",
    "zai/glm-4.7",
)

PICTURE: tuple[Block, ...] = (
    TextBlock(text="Look at this."),
    ImageBlock(mime_type="image/png", data="iVBORw0KGgo="),
)

replies = st.builds(
    Reply,
    n_thoughts=st.sampled_from([0, 1, 1, 3]),
    text=st.booleans(),
    tools=st.lists(st.sampled_from(["look", "look", "change", "fail", "nonsense"]), max_size=3).map(tuple),
    cut_off=st.sampled_from([False, False, False, True]),
    empty_ids=st.sampled_from([False, False, False, True]),
    long_ids=st.sampled_from([False, False, False, True]),
    redacted=st.sampled_from([False, False, True]),
    stall_after=st.sampled_from([None] * 9 + [1, 5, 15]),
    steering=st.sampled_from([False, False, True]),
    status=st.sampled_from([200] * 9 + [529]),
)
calls = st.builds(
    Reply,
    n_thoughts=st.sampled_from([0, 1, 2]),
    tools=st.lists(st.sampled_from(["look", "change"]), min_size=1, max_size=3).map(tuple),
    steering=st.sampled_from([False, False, True]),
)
strategies: st.SearchStrategy[Strategy] = st.sampled_from(["summarize", "drop_tool_results", "trim"])
prompts = st.builds(
    Prompt,
    model=st.just(""),
    replies=st.lists(calls | calls | replies, min_size=1, max_size=5).map(tuple),
    content=st.just("Look.") | st.just("Look again. " * 800) | st.just(PICTURE),
    thinking=st.sampled_from([0, 2_000, 2_000, 20_000]),
    window=st.sampled_from([0, 6_000]),
    compaction=st.builds(CompactionRules, strategy=strategies),
    agent=st.sampled_from(["default", "reviewer"]),
    rounds=st.integers(0, 40),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Prompt]:
    """Turns of three models by turns, so that a session goes to another model and comes back."""
    chance = random.Random(draw(st.integers(0, 2**64)))  # hypothesis itself prefers some models to others
    models = chance.sample(MODELS, 3)
    order = chance.sample([0, 0, 0, 1, 1, 2, 2], 7)
    fallbacks = st.sampled_from(["", *models])
    return [replace(draw(prompts), model=models[place], fallback=draw(fallbacks)) for place in order]


def test_no_server_refuses_a_request_of_a_random_conversation() -> None:
    seen: Counter[str] = Counter()

    @given(conversation=conversations())
    def converse(conversation: list[Prompt]) -> None:
        seen.update(asyncio.run(talk(conversation)).rig.events.types)
        seen.update(prompt.model.partition("/")[0] for prompt in conversation)

    converse()
    wanted = {"compacted", "steered", "cancelled", "llm_error", "tool_result", "thinking"}
    wanted |= {model.partition("/")[0] for model in MODELS}
    assert wanted - seen.keys() == set(), "the conversations are too simple"


def turn(model: str, *answers: Reply, thinking: int = 2_000) -> Prompt:
    return Prompt(model=model, replies=answers, thinking=thinking)


CALL = Reply(n_thoughts=1, tools=("look",))
CALLS = Reply(n_thoughts=2, text=True, tools=("look", "change"))
SAY = Reply(n_thoughts=1, text=True)


@pytest.mark.parametrize("model", MODELS)
async def test_tools_run_in_two_turns_and_all_that_is_opaque_comes_back(model: str) -> None:
    conversation = await talk([turn(model, CALL, CALLS, SAY), turn(model, CALLS, SAY)])
    assert len(conversation.history) == 10


@pytest.mark.parametrize("model", MODELS)
async def test_a_conversation_goes_on_without_thinking(model: str) -> None:
    await talk([turn(model, CALL, SAY), turn(model, CALL, SAY, thinking=0), turn(model, CALL, SAY)])


@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_may_be_cut_off_in_the_middle_of_a_thought_a_text_or_a_call(model: str) -> None:
    thought, text = Reply(n_thoughts=2, cut_off=True), Reply(n_thoughts=1, text=True, cut_off=True)
    call = Reply(n_thoughts=1, tools=("look", "look"), cut_off=True)
    await talk([turn(model, thought, thought), turn(model, text, SAY), turn(model, CALL, call, SAY), turn(model, SAY)])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("other", ["openai/gpt-5.6", "anthropic/claude-sonnet-4-5", "deepseek/deepseek-v4-pro"])
async def test_a_session_goes_to_another_provider_and_comes_back(model: str, other: str) -> None:
    long = Reply(n_thoughts=1, tools=("look",), long_ids=True)
    await talk([turn(model, CALLS, long, SAY), turn(other, CALLS, long, SAY), turn(model, CALL, SAY)])


@pytest.mark.parametrize("model", MODELS)
async def test_a_provider_that_fails_while_tools_run_is_replaced(model: str) -> None:
    failing = Reply(status=529)
    first = Prompt(model=model, replies=(CALL, failing, failing, CALL, SAY), thinking=2_000, fallback="openai/gpt-5.6")
    await talk([first, turn(model, CALL, SAY)])


@pytest.mark.parametrize("model", MODELS)
async def test_the_user_cancels_speaks_and_shows_pictures(model: str) -> None:
    stalling = Reply(n_thoughts=1, text=True, tools=("look",), stall_after=6)
    await talk(
        [
            Prompt(model=model, replies=(CALL, stalling), thinking=2_000, rounds=30),
            Prompt(model=model, replies=(Reply(n_thoughts=1, tools=("look",), steering=True),), content=PICTURE),
            Prompt(model=model, replies=(Reply(n_thoughts=1, tools=("look",), steering=True), CALL), thinking=2_000),
        ]
    )


async def test_a_call_that_groqs_model_made_wrongly_is_asked_for_again() -> None:
    conversation = await talk([turn("groq/openai/gpt-oss-120b", CALL, Reply(status=400), CALL, SAY)])
    assert len(conversation.history) == 6
    assert len(conversation.servers["groq"].http.requests) == 4


async def test_an_id_of_another_model_behind_the_same_gateway_is_short_for_openais_models() -> None:
    long = Reply(tools=("look",), long_ids=True)
    await talk([turn("openai/big-pickle", long, SAY), turn("openai/gpt-4.1", CALL, SAY)])


async def test_gemini_is_called_through_its_endpoint_that_speaks_chat_completions() -> None:
    model = "openai/gemini-3.1-pro-preview"
    async with stage("gemini", "deepseek") as conversation:
        conversation.addresses["openai"] = f"{conversation.servers['gemini'].root}/v1beta/openai"
        for name in (model, "deepseek/deepseek-v4-pro", model, model):
            await conversation.take(turn(name, CALLS, CALL, SAY))
        conversation.check()
