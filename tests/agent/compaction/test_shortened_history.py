"""History that is shortened because it alone is too long to be summarised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.compaction.shortened_history import MARGIN, least_chars, share_that_fits, shortened
from pygent_ls.agent.context.window import chars_of
from pygent_ls.agent.messages import Message, user_message
from tests.agent.histories import check_pairs, histories


@pytest.mark.parametrize(
    ("refusal", "share"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 16384 tokens.", 0.5),
        ("However, you requested 10,000 tokens (7000 in the messages, 3000 in the completion): at most 8,000", 0.8),
        ("prompt is too long: 250000 tokens > 200000 maximum", 0.8),
        ("The input token count (2097152) exceeds the maximum number of tokens allowed (1048576).", 0.5),
        ("claude-3-5-sonnet-20241022: prompt is too long: 250000 tokens > 200000 maximum", 0.8),
    ],
)
def test_how_much_there_is_room_for_is_read_from_a_refusal(refusal: str, share: float) -> None:
    assert share_that_fits(refusal) == pytest.approx(share * MARGIN)


@pytest.mark.parametrize(
    "refusal",
    ["", "too long", "at most 8192 tokens", "model gpt-4-0613 has no room, request 12", f"1000 {'9' * 5_000}"],
)
def test_a_refusal_without_both_sizes_says_nothing(refusal: str) -> None:
    assert share_that_fits(refusal) == 1.0


@given(histories(), st.integers(0, 2_000), st.integers(0, 2_000))
def test_only_results_and_what_the_user_said_are_cut(messages: list[Message], target: int, most: int) -> None:
    shorter = shortened(messages, target, most)

    check_pairs(shorter)
    assert [each.role for each in shorter] == [each.role for each in messages]
    for before, after in zip(messages, shorter, strict=True):
        if before.role == "assistant":
            assert after is before
        if sum(map(chars_of, messages)) <= min(target, most):
            assert after is before
    assert least_chars(messages) <= sum(map(chars_of, messages))


def test_a_prompt_is_cut_to_the_room_that_is_left_beside_the_rest() -> None:
    messages = [user_message("a" * 9_000), Message(role="assistant", content="b" * 1_000)]

    prompt, answer = shortened(messages, 0, 5_000)

    assert answer is messages[1]
    assert 4_000 <= len(prompt.text) < 4_100
    assert prompt.text.startswith("aaa")
    assert prompt.text.endswith("aaa")
