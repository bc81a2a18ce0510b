"""Conversations in the OpenAI chat format."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.untrusted_text import Marks
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    now,
    user_message,
)
from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.llm.openai.chat_format import NO_OUTPUT, chat_messages, chat_tools

ANY_TEXT = st.text(st.characters(), max_size=20)  # half surrogate pairs included
IDS = st.text("abc123", min_size=1, max_size=6)
INPUTS = st.dictionaries(ANY_TEXT, st.one_of(ANY_TEXT, st.integers(), st.lists(ANY_TEXT, max_size=2)), max_size=3)

TEXTS = st.builds(TextBlock, text=ANY_TEXT)
IMAGES = st.builds(ImageBlock, mime_type=st.just("image/png"), data=st.text("abc+/=", min_size=1, max_size=9))
RESULTS = st.builds(ToolResultBlock, tool_use_id=IDS, content=ANY_TEXT)
THINKING = st.builds(ThinkingBlock, thinking=ANY_TEXT)
CALLS = st.builds(ToolUseBlock, id=IDS, name=IDS, input=INPUTS)

USER_BLOCKS = st.lists(st.one_of(TEXTS, IMAGES, RESULTS), max_size=5).map(tuple)
ASSISTANT_BLOCKS = st.lists(st.one_of(TEXTS, THINKING, CALLS), max_size=5).map(tuple)
USERS = st.builds(user_message, ANY_TEXT | USER_BLOCKS)
ASSISTANTS = st.builds(Message, role=st.just("assistant"), content=ASSISTANT_BLOCKS, timestamp=st.just(now()))
CONVERSATIONS = st.lists(USERS | ASSISTANTS, max_size=6)


def assistant(*blocks: Block) -> Message:
    return Message(role="assistant", content=blocks)


def results(*pairs: tuple[str, str]) -> tuple[ToolResultBlock, ...]:
    return tuple(ToolResultBlock(tool_use_id=call_id, content=content) for call_id, content in pairs)


def test_marked_text_stands_whole_and_on_lines_of_its_own_in_what_the_provider_reads() -> None:
    marks = Marks("0123456789")
    conversation = (
        user_message((TextBlock(text="KEY=1\n", from_outside=True), TextBlock(text="what is it?"))),
        assistant(ToolUseBlock(id="1", name="read_file", input={}), ToolUseBlock(id="2", name="shell", input={})),
        user_message(results(("1", "a\nb"), ("2", ""))),
    )
    sent = chat_messages("", [marks.marked(message) for message in conversation])
    assert [message["content"] for message in sent] == [
        "<untrusted-0123456789>\nKEY=1\n\n</untrusted-0123456789>\n\nwhat is it?",
        None,
        "<untrusted-0123456789>\na\nb\n</untrusted-0123456789>",
        NO_OUTPUT,
    ]


def test_a_turn_with_two_tool_calls_reads_as_the_provider_wants_it() -> None:
    conversation = (
        user_message("what is in a and b?"),
        assistant(
            ThinkingBlock(thinking="hm"),
            TextBlock(text="I'll look."),
            ToolUseBlock(id="1", name="read_file", input={"path": "a"}),
            ToolUseBlock(id="2", name="read_file", input={"path": "é"}),
        ),
        user_message(results(("1", "A"), ("2", ""))),
        assistant(TextBlock(text="A, and nothing.")),
    )

    chat = chat_messages("Be brief.", conversation)

    call = {"type": "function"}
    assert chat == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "what is in a and b?"},
        {
            "role": "assistant",
            "content": "I'll look.",
            "tool_calls": [
                {"id": "1", "function": {"name": "read_file", "arguments": '{"path": "a"}'}, **call},
                {"id": "2", "function": {"name": "read_file", "arguments": '{"path": "é"}'}, **call},
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "A"},
        {"role": "tool", "tool_call_id": "2", "content": NO_OUTPUT},
        {"role": "assistant", "content": "A, and nothing."},
    ]


def test_a_call_without_text_has_no_content() -> None:
    chat = chat_messages("", (assistant(TextBlock(text=" \n"), ToolUseBlock(id="1", name="f", input={})),))

    assert [message["content"] for message in chat] == [None]


def test_results_come_before_what_the_user_said_with_them() -> None:
    message = user_message((TextBlock(text="also look at b"), *results(("1", "A"))))

    assert chat_messages("", (message,)) == [
        {"role": "tool", "tool_call_id": "1", "content": "A"},
        {"role": "user", "content": "also look at b"},
    ]


def test_context_and_prompt_are_paragraphs_of_one_text() -> None:
    message = user_message((TextBlock(text="<context>x</context>"), TextBlock(text="fix it")))

    assert chat_messages("", (message,)) == [{"role": "user", "content": "<context>x</context>\n\nfix it"}]


def test_what_the_user_said_twice_before_an_answer_is_one_message() -> None:
    chat = chat_messages("", (user_message("first"), user_message("second")))

    assert chat == [{"role": "user", "content": "first\n\nsecond"}]


def test_a_call_of_an_impossible_tool_goes_back_under_a_name_that_providers_take() -> None:
    chat = chat_messages("", (assistant(ToolUseBlock(id="1", name="functions.read file", input={})),))

    assert chat[0]["tool_calls"][0]["function"]["name"] == "functions_read_file"
    assert (
        chat_messages("", (assistant(ToolUseBlock(id="1", name="", input={})),))[0]["tool_calls"][0]["function"]["name"]
        == "unnamed"
    )


def test_a_picture_is_a_part_beside_the_text() -> None:
    message = user_message((ImageBlock(mime_type="image/png", data="QUJD"), TextBlock(text="what is this?")))

    assert chat_messages("", (message,))[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "what is this?"},
    ]


def test_messages_with_nothing_in_them_are_left_out() -> None:
    conversation = (user_message("  "), assistant(ThinkingBlock(thinking="hm")), user_message(()), user_message("hi"))

    assert chat_messages("\n", conversation) == [{"role": "user", "content": "hi"}]


def test_a_tool_is_a_function_with_properties_even_where_it_has_none() -> None:
    tools = [
        ToolDefinition(name="git_status", description="What changed.", schema={"type": "object"}),
        ToolDefinition(name="f", description="", schema={"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    ]

    assert [tool["function"] for tool in chat_tools(tools)] == [
        {
            "name": "git_status",
            "description": "What changed.",
            "parameters": {"type": "object", "properties": {}},
        },
        {
            "name": "f",
            "description": "",
            "parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        },
    ]
    assert {tool["type"] for tool in chat_tools(tools)} == {"function"}


@given(ANY_TEXT, CONVERSATIONS)
def test_whatever_was_said_can_be_sent(system: str, conversation: list[Message]) -> None:
    chat = chat_messages(system, conversation)

    json.dumps(chat, ensure_ascii=False).encode()  # a half surrogate pair would raise
    for message in chat:
        assert message.get("content") or message.get("tool_calls"), "an empty message"
        assert message["role"] == "tool" or not isinstance(message["content"], str) or message["content"].strip()


@given(CONVERSATIONS)
def test_every_call_and_every_result_is_there_in_order(conversation: list[Message]) -> None:
    chat = chat_messages("", conversation)

    calls = [call for message in chat for call in message.get("tool_calls", ())]
    assert [(call["id"], call["function"]["name"]) for call in calls] == [
        (call.id, call.name) for message in conversation for call in message.tool_calls
    ]
    assert all(isinstance(_arguments(call), dict) for call in calls)
    assert [message["tool_call_id"] for message in chat if message["role"] == "tool"] == [
        block.tool_use_id for message in conversation for block in message.blocks if isinstance(block, ToolResultBlock)
    ]


@given(st.lists(st.builds(user_message, st.text("abc ", min_size=1)), max_size=4))
def test_plain_text_is_sent_as_it_is_in_one_message(conversation: list[Message]) -> None:
    said = "\n\n".join(message.text for message in conversation if message.text.strip())

    assert [message["content"] for message in chat_messages("", conversation)] == ([said] if said else [])


def _arguments(call: dict[str, Any]) -> object:
    return json.loads(call["function"]["arguments"])
