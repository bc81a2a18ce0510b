"""What was said before a session's first event."""

from __future__ import annotations

from typing import Any

from pygent_ls.agent.messages import (
    Block,
    Message,
    RejectedFile,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from pygent_ls.editors.lsp.conversation.earlier_messages import BATCH_ITEMS, earlier_items
from tests.editors.lsp.conversation.client import ItemsClient


def message(role: Role, turn: str, *content: Block) -> Message:
    return Message(role=role, content=content, turn_id=turn)


COPIED = (
    message("user", "t1", TextBlock(text="Look"), TextBlock(text="<context/>", from_outside=True)),
    message(
        "assistant",
        "t1",
        ThinkingBlock(thinking="Where?"),
        ThinkingBlock(thinking="", redacted="x"),
        ToolUseBlock(id="c1", name="read_file", input={"path": "cart.py"}),
        ToolUseBlock(id="c2", name="shell", input={"command": "ls"}),
    ),
    message("user", "t1", ToolResultBlock(tool_use_id="c1", content="total = 0")),
    message("user", "t1", TextBlock(text="+x", rejected=(RejectedFile(uri="file:///w/a.py", n_changes=1),))),
    message("user", "t1", TextBlock(text="And be quick")),
    message("assistant", "t1", TextBlock(text="It is zero.")),
)


def told(item: dict[str, Any]) -> str:
    match item:
        case {"type": "prompt", "steered": steered, "text": text}:
            return f"{'steered' if steered else 'prompt'}: {text}"
        case {"type": "tool", "title": title, "status": status, "result": result}:
            return f"{title}: {status}, {result and result['content']}"
        case _:
            return f"{item['type']}: {item['text']}"


def shown(*messages: Message, known: frozenset[str] = frozenset()) -> list[str]:
    client = ItemsClient()
    for each in earlier_items(messages, known):
        client.take(each)
    return [told(each) for each in client.below()]


def test_a_copy_of_a_session_shows_what_it_was_copied_from() -> None:
    assert shown(*COPIED) == [
        "prompt: Look",
        "thinking: Where?",
        "read_file cart.py: done, total = 0",
        "shell ls: cancelled, None",
        "review: +x",
        "steered: And be quick",
        "text: It is zero.",
    ]


def test_what_the_events_tell_is_not_told_twice() -> None:
    own = message("user", "t2", TextBlock(text="Go on"))

    assert shown(*COPIED, own, known=frozenset({"t2"})) == shown(*COPIED)
    assert shown(*COPIED, known=frozenset({"t1"})) == []


def test_a_long_conversation_comes_in_batches() -> None:
    long = [message("user", f"t{index}", TextBlock(text="Look")) for index in range(2 * BATCH_ITEMS + 1)]

    assert [len(each["items"]) for each in earlier_items(long, ())] == [BATCH_ITEMS, BATCH_ITEMS, 1]
