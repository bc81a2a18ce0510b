"""What stands for a conversation that was made shorter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.compaction.summary import (
    covering,
    fitted,
    latest,
    left_out,
    middle_cut,
    parts_of,
    said_in,
    shortened_results,
    summed_up,
    transcript,
    with_results_dropped,
    without_results,
)
from pygent_ls.agent.context.memory import Compaction, ContextMemory
from pygent_ls.agent.context.window import ContextRows, ContextRules, chars_of, is_prompt
from pygent_ls.agent.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, user_message
from tests.agent.histories import check_pairs, histories

ROOM = 100_000
"""Characters of a window in which nothing has to be cut."""

RULES = st.builds(
    ContextRules,
    mode=st.sampled_from(["continue", "continue", "fresh", "sliding"]),
    sliding_messages=st.integers(1, 12),
    max_messages=st.one_of(st.just(0), st.integers(1, 12)),
)


def last_turn(messages: list[Message]) -> str:
    return next((each.turn_id for each in reversed(messages) if each.turn_id), "")


def compacted(memory: ContextMemory, history: list[Message], rules: ContextRules, kind: str, tail: int) -> None:
    """Compact as the loop does, without a model."""
    memory.follow(history)
    cut = memory.cut(rules, last_turn(history))
    parts = parts_of(memory.rows, memory.messages, cut, memory.compaction, tail)
    if not parts.middle:  # nothing can go
        return
    if kind == "drop":
        standing = with_results_dropped(parts, memory.messages[parts.place : parts.tail_place])
    elif kind == "trim":
        standing = left_out(parts, ROOM)
    else:
        standing = summed_up(parts, f"{parts.summary}+", ROOM)
    memory.add(covering(memory, history, parts, standing), history)


@given(
    histories(),
    st.lists(
        st.tuples(RULES, st.sampled_from(["drop", "trim", "summarize", "back", "again"]), st.integers(0, 400)),
        min_size=1,
        max_size=5,
    ),
)
def test_whatever_is_compacted_taken_back_and_gone_on_with_what_is_sent_is_a_conversation(
    history: list[Message], steps: list[tuple[ContextRules, str, int]]
) -> None:
    memory, whole = ContextMemory(), list(history)
    for rules, kind, size in steps:
        if kind == "back":
            rows = ContextRows(history)
            history = history[: max(rows[size % len(history)].unit, 1)]
        elif kind == "again":
            history = list(whole)
        else:
            compacted(memory, history, rules, kind, size)
        before = list(history)
        memory.follow(history)
        sent = memory.cut(rules, last_turn(history)).of(memory.messages)

        check_pairs(sent)
        assert is_prompt(sent[0])
        assert len({id(each) for each in sent}) == len(sent), "a message twice"
        assert history == before, "the history is the session's"
        used = memory.compaction
        is_gone = used is not None and used.end == len(history)  # taken back to there; a prompt comes next
        assert sent[-1] == history[-1] or without_results([history[-1]]) == (sent[-1],) or is_gone


@given(histories(), st.sampled_from(["trim", "summarize"]), st.integers(0, 400))
def test_the_task_and_the_users_words_stay_word_for_word(history: list[Message], kind: str, tail: int) -> None:
    memory = ContextMemory()
    for _ in range(2):
        compacted(memory, history, ContextRules(), kind, tail)
        sent = memory.messages
        assert sent[0].blocks[: len(history[0].blocks)] == history[0].blocks
        words = [text for message in sent for text in said_in([message])]
        assert [text for text in words if not text.startswith("[")] == [
            text for text in said_in(history) if not text.startswith("[")
        ]


@given(histories())
def test_a_compaction_counts_only_for_the_history_that_it_is_of(history: list[Message]) -> None:
    memory = ContextMemory()
    compacted(memory, history, ContextRules(), "summarize", 0)
    used = memory.compaction
    if used is None:
        return
    memory.follow(history[: used.end - 1])
    assert (memory.compaction, memory.messages) == (None, history[: used.end - 1])
    memory.follow([user_message("another"), *history[1:]])
    assert memory.compaction is None
    memory.follow(list(history))
    assert memory.compaction is used


def test_the_last_exchange_stays_however_little_room_there_is() -> None:
    history = [user_message("task", turn_id="t"), Message(role="assistant", content="x" * 5_000, turn_id="t")]
    rows = ContextRows(history)
    parts = parts_of(rows, history, ContextMemory().cut(ContextRules(), "t"), None, 0)
    assert (parts.tail_place, parts.middle) == (1, ())


# Pieces


@given(histories(), st.integers(200, 3_000))
def test_what_is_to_be_summed_up_fits(history: list[Message], most: int) -> None:
    long = [
        user_message((*message.blocks, TextBlock(text="word " * 300))) if message.role == "user" else message
        for message in history
    ]
    memory = ContextMemory()
    memory.follow(long)
    parts = parts_of(memory.rows, memory.messages, memory.cut(ContextRules(), ""), None, 0)
    assert len(transcript(parts, most)) <= most + 200


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=5), st.integers(0, 6_000))
def test_results_are_cut_fairly_and_only_where_they_must(lengths: list[int], most: int) -> None:
    blocks = tuple(ToolResultBlock(tool_use_id=str(n), content="x" * length) for n, length in enumerate(lengths))
    (message,) = shortened_results([user_message(blocks)], most)
    left = [block.content for block in message.blocks if isinstance(block, ToolResultBlock)]
    if sum(lengths) <= most:
        assert message.blocks == blocks
        return
    assert chars_of(message) <= max(most, 200 * len(lengths)) + 60 * len(lengths)
    cut = [length for length, content in zip(lengths, left, strict=True) if len(content) != length]
    whole = [length for length, content in zip(lengths, left, strict=True) if len(content) == length]
    assert not cut or not whole or max(whole) <= max(min(cut), 200)


def test_of_a_message_that_is_too_long_attachments_go_first() -> None:
    attached, words = TextBlock(text="data" * 500, from_outside=True), TextBlock(text="what is this? " * 20)
    image = ImageBlock(mime_type="image/png", data="AAAA")
    blocks: tuple[Block, ...] = (attached, image, words)
    assert fitted(blocks, 100_000) == blocks
    short = fitted(blocks, 1_000)
    assert short[2] == words
    assert short[1] == TextBlock(text="[An image was left out here to make room.]")
    assert sum(len(each.text) for each in short if isinstance(each, TextBlock)) < 1_200


def test_of_what_was_said_the_last_stays() -> None:
    assert latest(("one", "two", "three"), 8) == (
        "[Earlier messages were left out to make room.]",
        "two",
        "three",
    )
    assert latest(("one", "x" * 1_000), 10) == (
        "[Earlier messages were left out to make room.]",
        middle_cut("x" * 1_000, 200),
    )
    assert latest((), 10) == ()


def test_results_that_say_little_are_not_left_out() -> None:
    short = user_message((ToolResultBlock(tool_use_id="1", content="ok"),))
    assert without_results([short])[0] is short


def test_a_compaction_that_is_loaded_again_is_found_by_what_it_says() -> None:
    """Messages are compared by value if they are other objects."""
    history = [user_message("a"), Message(role="assistant", content="b"), user_message("c")]
    made = Compaction(start=0, end=2, first=history[0], last=history[1], stands=(user_message("a and b"),))
    copies = [Message(role=m.role, content=m.content, turn_id=m.turn_id, timestamp=m.timestamp) for m in history]
    assert made.applies_to(copies)
    assert [each.text for each in made.applied(copies)] == ["a and b", "c"]
