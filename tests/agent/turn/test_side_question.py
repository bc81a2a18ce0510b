"""Side questions: the history that they are asked about."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.turn.side_question import PENDING_RESULT, with_results


def called(*ids: str) -> Message:
    calls = tuple(ToolUseBlock(id=each, name="read_file", input={}) for each in ids)
    return Message(role="assistant", content=(TextBlock(text="I look."), *calls), turn_id="t")


def resulting(*ids: str) -> Message:
    results = tuple(ToolResultBlock(tool_use_id=each, content=f"result of {each}") for each in ids)
    return user_message(results, turn_id="t")


@st.composite
def histories(draw: st.DrawFn) -> Sequence[Message]:
    """Histories of a running turn: answers with calls, of which any may lack results, and words."""
    history: list[Message] = [user_message("go", turn_id="t")]
    for number in range(draw(st.integers(0, 5))):
        ids = [f"c{number}_{place}" for place in range(draw(st.integers(0, 3)))]
        history.append(called(*ids))
        answered = [each for each in ids if draw(st.booleans())]
        if answered:
            history.append(resulting(*answered))
        if draw(st.booleans()):
            history.append(user_message("and this", turn_id="t"))
    return history


@given(histories())
def test_each_call_has_exactly_one_result_right_after_its_answer(history: Sequence[Message]) -> None:
    found = with_results(history)

    for place, message in enumerate(found):
        wanted = [call.id for call in message.tool_calls]
        given: list[str] = []
        for each in found[place + 1 :]:
            results = [block.tool_use_id for block in each.blocks if isinstance(block, ToolResultBlock)]
            if not results:
                break
            given += results
        assert sorted(wanted) == sorted(given[: len(wanted)])
    results = [b for each in found for b in each.blocks if isinstance(b, ToolResultBlock)]
    assert len({each.tool_use_id for each in results}) == len(results)


@given(histories())
def test_nothing_that_was_said_is_changed_moved_or_lost(history: Sequence[Message]) -> None:
    found = with_results(history)

    kept = [each for each in found if any(each is other for other in history)]
    assert len(kept) == len(history)
    assert all(one is other for one, other in zip(kept, history, strict=True))
    added = [each for each in found if not any(each is other for other in history)]
    assert all(
        block.content == PENDING_RESULT for each in added for block in each.blocks if isinstance(block, ToolResultBlock)
    )


def test_a_complete_history_stays_as_it_is() -> None:
    history = [user_message("go"), called("a", "b"), resulting("a", "b")]

    assert with_results(history) == history
