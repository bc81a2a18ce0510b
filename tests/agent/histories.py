"""Random conversations as the loop leaves them, and as other programs may: for properties of what is sent of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import strategies as st

from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

WHEN = datetime(2026, 1, 1, tzinfo=UTC)

WORDS = st.sampled_from(["a", "two words", "some more\nof them here", "quite a few words to be read " * 2])


@st.composite
def histories(draw: st.DrawFn, *, max_turns: int = 4) -> list[Message]:
    """Generate conversations: prompts, steering, notes outside of turns, answers with thinking, several calls in one
    answer, and their results in one message or several, with remarks beside them."""
    messages: list[Message] = []
    n_calls = 0
    for number in range(draw(st.integers(1, max_turns))):
        turn_id = f"turn-{number}"
        attached = draw(st.lists(st.just(TextBlock(text="a file " * 20, from_outside=True)), max_size=1))
        images = draw(st.lists(st.just(ImageBlock(mime_type="image/png", data="AAAA")), max_size=1))
        prompt = draw(WORDS) + f" prompt {number}"
        messages.append(
            _user((*attached, *images, TextBlock(text=prompt)), turn_id)
            if attached or images
            else _user(prompt, turn_id)
        )
        for _ in range(draw(st.integers(0, 3))):
            calls = [
                ToolUseBlock(id=f"call-{n_calls + n}", name="look", input={"path": draw(WORDS)})
                for n in range(draw(st.integers(0, 3)))
            ]
            n_calls += len(calls)
            thinking = draw(st.lists(st.just(ThinkingBlock(thinking="hm " * 9, signature="sealed")), max_size=1))
            said = draw(st.lists(WORDS.map(lambda text: TextBlock(text=text)), min_size=0 if calls else 1, max_size=1))
            messages.append(
                Message(role="assistant", content=(*thinking, *said, *calls), turn_id=turn_id, timestamp=WHEN)
            )
            if calls:
                messages += draw(_answers(calls, turn_id))
            elif draw(st.booleans()):
                messages.append(_user("steering: " + draw(WORDS), turn_id))
        if draw(st.booleans()):
            messages.append(Message(role="assistant", content="That is all.", turn_id=turn_id, timestamp=WHEN))
        if draw(st.integers(0, 4)) == 0:
            messages.append(_user("[files went back]", ""))
    return messages


@st.composite
def _answers(draw: st.DrawFn, calls: Sequence[ToolUseBlock], turn_id: str) -> list[Message]:
    results = [ToolResultBlock(tool_use_id=call.id, content=draw(WORDS) * (n + 1)) for n, call in enumerate(calls)]
    split = draw(st.integers(0, len(results)))
    parts = [part for part in (results[:split], results[split:]) if part]
    remark = draw(st.lists(st.just(TextBlock(text="<user-feedback>not so</user-feedback>")), max_size=1))
    return [_user((*part, *(remark if part is parts[-1] else ())), turn_id) for part in parts]


def _user(content: str | tuple[Block, ...], turn_id: str) -> Message:
    return Message(role="user", content=content, turn_id=turn_id, timestamp=WHEN)


def check_pairs(messages: Sequence[Message]) -> None:
    """Every call has its result and every result its call, once, the call first."""
    called: list[str] = []
    answered: list[str] = []
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolUseBlock):
                called.append(block.id)
            elif isinstance(block, ToolResultBlock):
                assert block.tool_use_id in called, "a result without its call"
                answered.append(block.tool_use_id)
    assert sorted(called) == sorted(answered), "a call and its result were separated"
    assert len(set(called)) == len(called), "a call was sent twice"
