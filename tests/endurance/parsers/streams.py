"""What arrives in pieces: answers of providers, and the text and the calls in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Protocol, cast

import openai._streaming

from pygent_ls.agent.model.argument_stream import ArgumentStream
from pygent_ls.agent.ports.model import Chunk, TextChunk, ThinkingChunk, ToolCallChunk
from pygent_ls.agent.tools.arguments import parse_arguments
from pygent_ls.editors.terminal.markdown import MarkdownStream
from pygent_ls.editors.terminal.text import harmless
from pygent_ls.llm.anthropic.stream import MessageStream
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.cli.output import Cleaner, without_escapes
from pygent_ls.llm.errors.answer_errors import AnswerError, retry_after_s, retry_said_s
from pygent_ls.llm.errors.model_errors import Called, model_error
from pygent_ls.llm.openai.chat_stream import ChatStream
from pygent_ls.llm.openai.responses_stream import ResponsesStream
from pygent_ls.llm.openai.think_tags import ThinkTags
from pygent_ls.llm.server_sent_events import EventReader, SentEvent, TooLongError
from pygent_ls.llm.text_tools.blocks import Piece
from tests.endurance.parsers.target import Target, bytes_in_pieces, json_text_of, pieces_of, sized, text_of
from tests.llm.text_tools.pieces import found_in

# Server-sent events


def sent_events(data: bytes) -> None:
    """Events are the same whatever pieces they come in, and those that the SDK of OpenAI reads."""
    size, data = sized(data)
    found = _events(bytes_in_pieces(data, size))
    assert found == _events([data])
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    if b"error" in data or b"\xef\xbb\xbf" in data:  # fields and a mark that the SDK does not know
        return
    theirs = openai._streaming.SSEDecoder().iter_bytes(iter([data + b"\n\n"]))  # pyright: ignore[reportPrivateUsage]
    assert [event for event in found if event.data] == [
        (event.event or "", event.data) for event in theirs if event.data
    ]


def _events(pieces: Iterable[bytes]) -> list[SentEvent]:
    reader, found = EventReader(100_000), list[SentEvent]()
    try:
        for each in pieces:
            found += reader.feed(each)
        return found + reader.end()
    except TooLongError:
        return []


# Answers of providers


class Stream(Protocol):
    def chunks(self, event: SentEvent) -> Iterator[Chunk]: ...

    def whole(self, body: Mapping[str, Any]) -> Iterator[Chunk]: ...

    def end(self) -> Iterator[Chunk]: ...


STREAMS = (ChatStream, MessageStream, ResponsesStream)


def answers(data: bytes) -> None:
    """Whatever a provider sends becomes chunks or an `AnswerError`, whose cause becomes a `ModelError`."""
    kind = STREAMS[data[0] % len(STREAMS) if data else 0]
    try:
        body = json.loads(data[1:].partition(b"\n")[0])
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        _answered(kind(known=KnownModel()).whole(cast("dict[str, Any]", body)))
    stream: Stream = kind(known=KnownModel())
    events = (SentEvent("", line) for line in json_text_of(data[1:]).split("\n"))
    _answered(chunk for event in events for chunk in stream.chunks(event))
    _answered(stream.end())


CALLED = Called(name="openai/m", provider="openai", address=None, key_variable="OPENAI_API_KEY", keys=("sk-secret",))


def _answered(chunks: Iterable[Chunk]) -> None:
    try:
        for chunk in chunks:
            match chunk:
                case TextChunk():
                    assert isinstance(chunk.text, str)
                case ThinkingChunk():
                    assert isinstance(chunk.thinking, str)
                case ToolCallChunk():
                    assert all(
                        isinstance(each, str) for each in (chunk.id or "", chunk.name or "", chunk.arguments or "")
                    )
                case _:
                    assert chunk is not None
    except AnswerError as error:
        model_error(error, CALLED)


def waits(data: bytes) -> None:
    """Times to wait are numbers from 0, whatever a header or an error says."""
    said = text_of(data)
    for found in (retry_after_s({"retry-after": said}), retry_after_s({"retry-after-ms": said}), retry_said_s(said)):
        assert found is None or 0 <= found < float("inf")


# Text of a model


def think_tags(data: bytes) -> None:
    """Nothing is lost but the tags, whatever pieces the text comes in."""
    size, data = sized(data)
    given = text_of(data)
    whole = _thought(given, len(given) or 1)
    assert _thought(given, size) == whole
    said = _dense("".join(text for _, text in whole))
    assert said in {_dense(each) for each in (given, given.replace("<think>", "", 1), *_without_tags(given))}


def _dense(text: str) -> str:
    return "".join(text.split())


def _without_tags(given: str) -> Iterator[str]:
    yield given.replace("</think>", "", 1)
    head, _, rest = given.partition("<think>")
    yield head + rest.replace("</think>", "", 1)


def _thought(given: str, size: int) -> list[tuple[bool, str]]:
    tags = ThinkTags(may_be_open=bool(len(given) % 2))
    found = [chunk for piece in pieces_of(given, size) for chunk in tags.feed(piece)] + list(tags.close())
    pairs = ((isinstance(c, ThinkingChunk), c.thinking if isinstance(c, ThinkingChunk) else c.text) for c in found)
    return [(kind, "".join(text for _, text in each)) for kind, each in groupby(pairs, key=lambda pair: pair[0])]


def tool_blocks(data: bytes) -> None:
    """Calls in a text are the same whatever pieces the text comes in."""
    size, data = sized(data)
    given = text_of(data)
    assert _blocks(given, size) == _blocks(given, len(given) or 1)


def _blocks(given: str, size: int) -> list[Piece]:
    return found_in(given, ["read_file", "a"], size)


def arguments(data: bytes) -> None:
    """Arguments that `json` reads are what it reads; whatever else comes is an error in words."""
    given = json_text_of(data)
    found, problem = parse_arguments(given)
    parse_arguments(given, may_close=True)
    try:
        expected: Any = json.loads(given)
        json.dumps(expected, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        assert problem is None or not found
        return
    assert (found == expected) if problem is None else (not isinstance(expected, dict) or "nested" in problem)


def live_arguments(data: bytes) -> None:
    """Texts in arguments that arrive in pieces are those that `json` reads once all has arrived."""
    size, data = sized(data)
    given = text_of(data)
    found = _live(given, size)
    assert found == _live(given, len(given) or 1)
    try:
        expected = json.loads(given, object_pairs_hook=_Pairs, strict=False)
    except (ValueError, RecursionError):
        return
    if isinstance(expected, _Pairs) and given.count("{") + given.count("[") < 60:
        texts = [(name, _repaired(text)) for name, text in _flat("", expected) if text]
        if all(len(name) < 90 and _repaired(name) == name for name, _ in texts):
            assert found == [
                (name, "".join(text for _, text in each)) for name, each in groupby(texts, key=lambda pair: pair[0])
            ]


class _Pairs(list[tuple[str, Any]]):
    """An object, its keys as often as they occur."""


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case _Pairs():
            for key, inner in value:
                yield from _flat(f"{name}.{key}", inner)
        case list():
            for index, inner in enumerate(cast("list[Any]", value)):
                yield from _flat(f"{name}.{index}", inner)
        case str():
            yield name[1:], value
        case _:
            return


def _repaired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _live(given: str, size: int) -> list[tuple[str, str]]:
    stream = ArgumentStream()
    pieces = [each for piece in pieces_of(given, size) for each in stream.feed(piece)]
    return [(name, "".join(text for _, text in each)) for name, each in groupby(pieces, key=lambda pair: pair[0])]


# Text for a terminal, and from programs


def program_output(data: bytes) -> None:
    """Text of a program has no escapes left, whatever pieces it comes in."""
    size, data = sized(data)
    given = text_of(data)
    found = _cleaned(given, size)
    assert found == _cleaned(given, len(given) or 1)
    assert "\x1b" not in without_escapes(given)


def _cleaned(given: str, size: int) -> str:
    cleaner = Cleaner()
    return "".join([*(cleaner.feed(piece) for piece in pieces_of(given, size)), cleaner.close()])


def terminal(data: bytes) -> None:
    """What a terminal shows of a text has no control characters but ours, whatever pieces it comes in."""
    size, data = sized(data)
    given = text_of(data)
    assert "\x1b" not in harmless(given)
    pieces, whole = MarkdownStream(lambda: 40, coloured=False), MarkdownStream(lambda: 40, coloured=False)
    shown = "".join([*map(pieces.feed, pieces_of(given, size)), pieces.close()])
    assert "\x1b" not in shown
    if not {"\r", "\x1b", "\t"} & set(given):  # a line break in two pieces is two; tabs have no width of their own
        assert shown == whole.feed(given) + whole.close()


CHAT = (
    b'{"id":"c","choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"i","function":{"name":"n",'
)
TARGETS: Mapping[str, Target] = {
    "sent_events": Target(
        sent_events, [b"\x02event: x\ndata: a\r\ndata:b\r\r: c\n\nid: 1\ndata: c", b"\x01error: {}\n"]
    ),
    "answers": Target(
        answers,
        [
            b"\x00" + CHAT + b'"arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}\n[DONE]',
            b'\x01{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}\n{"type":"content_block_start",'
            b'"index":0,"content_block":{"type":"tool_use","id":"i","name":"n","input":{}}}\n{"type":"content_block_delta",'
            b'"index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}\n{"type":"message_stop"}',
            b'\x02{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c",'
            b'"name":"n"}}\n{"type":"response.completed","response":{"status":"completed","output":[{"type":"message",'
            b'"content":[{"type":"output_text","text":"t","annotations":[]}]}],"usage":{"input_tokens":1}}}',
            b'\x02{"error":{"message":"m","code":"c"},"output":[]}',
            b'\x01{"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},{"type":'
            b'"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u","title":"t"}]}]}',
        ],
    ),
    "waits": Target(waits, [b"12", b"Wed, 21 Oct 2015 07:28:00 GMT", b"Please try again in 1m2.5s."]),
    "think_tags": Target(think_tags, [b"\x02<think>a</think>\n\nb", b"\x04 <think> x", b"\x01no"]),
    "tool_blocks": Target(
        tool_blocks,
        [
            b'\x05a\n```tool\n{"name": "read_file", "input": {"path": "a"}}\n```\nb\n```json\n[{"name":"a"}]\n```',
            b"\x02```python\nx\n```\n~~~\n```tool\n~~~\nResult of a: b",
        ],
    ),
    "arguments": Target(arguments, [b'{"a": [1, "b\\n",],}', b'```json\n{"a": "\n"}\n```', b'{"a": [{']),
    "live_arguments": Target(live_arguments, [b'\x02{"a": "b\\ud83d\\ude00\\n", "c": [{"d": "e"}, 1, "f"]}']),
    "program_output": Target(program_output, [b"\x02\x1b[1ma\x1b[0m\r\nb\x1b]0;t\x07c\n> d"]),
    "terminal": Target(
        terminal,
        [b"\x02# a **b** `c`\n```py\nx\n```\n- [d](http://e)\n|a|b|\n|-|-|\n", b"\x01\x1b[2Ja"],
        is_linear=False,  # only up to the block that is rendered as a whole
    ),
}
