"""Export of a conversation as plain text, markdown, JSON or XML, for other programs and people. Pure.

Only JSON includes thinking. Whatever the messages hold, the text can be encoded as UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

TextForm = Literal["plain", "markdown", "json", "xml"]

Speaker = Literal["system", "user", "assistant"]


def conversation_text(messages: Sequence[Message], form: TextForm, *, system: str = "") -> str:
    """Return the conversation in the given form, ending with a line break. `system` comes first unless it is empty.

    - plain: `User: …`, `Assistant: …`, `[Tool: NAME ARGUMENTS]`, `[Result: …]`, each on a new line. The further lines
      of a text are indented by two spaces, so that none of them can pass for another message.
    - markdown: `## User`, `## Assistant`; `**Tool call**: NAME` and its input in a fenced block; results are quoted.
    - json: an array of `{role, content}`, the roles system, user, assistant and tool_result; content is text, or
      blocks as the Messages API has them.
    - xml: `<message role="…">`, `<tool_call name="…">`, `<tool_result>` in `<conversation>`. Characters that XML
      cannot hold become U+FFFD.
    """
    match form:
        case "plain":
            text = "\n".join(_plain(_said(messages, system)))
        case "markdown":
            text = "\n\n".join(_markdown(_said(messages, system)))
        case "json":
            text = _json(_json_messages(messages, system), indent=1)
        case "xml":
            text = "\n".join(("<conversation>", *_xml(_said(messages, system)), "</conversation>"))
    return utf8(text) + "\n" if text else ""


def utf8(text: str) -> str:
    """Return the text with unpaired surrogates replaced: a model can send them in JSON, and UTF-8 has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# What was said, in order

_Said = tuple[Speaker, str] | ToolUseBlock | ToolResultBlock


def _said(messages: Sequence[Message], system: str) -> Iterator[_Said]:
    if system.strip():
        yield "system", system
    for message in messages:
        results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
        yield from results  # before the text in the same message, which is later
        said = "\n\n".join(text for block in message.blocks if (text := _words(block)).strip())
        if said:
            yield message.role, said
        yield from message.tool_calls


def _words(block: Block) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ImageBlock(mime_type=mime_type):
            return f"[Image: {mime_type}]"
        case ThinkingBlock() | ToolUseBlock() | ToolResultBlock():
            return ""


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


# Plain

_LINE_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Everything that some program treats as the end of a line."""


def _plain(said: Iterator[_Said]) -> Iterator[str]:
    for each in said:
        match each:
            case (speaker, text):
                yield _indented(f"{speaker.capitalize()}: {text}")
            case ToolUseBlock(name=name, input=given):
                yield _indented(f"[Tool: {name} {_json(dict(given))}]")
            case ToolResultBlock(content=content):
                yield _indented(f"[Result: {content}]")


def _indented(text: str) -> str:
    return _LINE_BREAK.sub("\n  ", text)


# Markdown

_OURS = re.compile(r"^( {0,3})(?=##\s+(?:System|User|Assistant)\b|\*\*Tool call\*\*:)", re.MULTILINE)
"""Start of a line in a message's text that would read as one of this format."""


def _markdown(said: Iterator[_Said]) -> Iterator[str]:
    last = ""
    for each in said:
        match each:
            case (speaker, text):
                yield f"## {speaker.capitalize()}"
                yield _OURS.sub(r"\1\\", text)
                last = speaker
            case ToolUseBlock(name=name, input=given):
                if last != "assistant":
                    yield "## Assistant"
                yield f"**Tool call**: {_one_line(name)}\n\n{fenced(_json(dict(given), indent=2), 'json')}"
                last = "assistant"
            case ToolResultBlock(content=content):
                yield "\n".join(f"> {line}".rstrip() for line in _LINE_BREAK.split(content))
                last = ""


def fenced(text: str, language: str) -> str:
    """Return the text in a code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


# JSON


def _json_messages(messages: Sequence[Message], system: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "system", "content": system}] if system.strip() else []
    for message in messages:
        results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
        if results:
            found.append({"role": "tool_result", "content": [_json_block(block) for block in results]})
        rest = [block for block in message.blocks if not isinstance(block, ToolResultBlock)]
        if isinstance(message.content, str):
            found.append({"role": message.role, "content": message.content})
        elif rest:
            found.append({"role": message.role, "content": [_json_block(block) for block in rest]})
    return found


def _json_block(block: Block) -> Mapping[str, Any]:
    match block:
        case TextBlock(text=text):
            return {"type": "text", "text": text}
        case ThinkingBlock(thinking=thinking, signature=signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature or ""}
        case ImageBlock(mime_type=mime_type, data=data):
            return {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}}
        case ToolUseBlock(id=call_id, name=name, input=given):
            return {"type": "tool_use", "id": call_id, "name": name, "input": dict(given)}
        case ToolResultBlock(tool_use_id=call_id, content=content, is_error=is_error):
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}


# XML

_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that no XML 1.0 document may hold, not even escaped. Compiling it takes 4 ms, so it is not compiled at
start."""

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
"""A carriage return is escaped because parsers turn a literal one into a line feed."""

_IN_ATTRIBUTES = {"\n": "&#10;", "\t": "&#9;"}
"""Escapes in attributes, where parsers turn the literal characters into spaces."""


def _xml(said: Iterator[_Said]) -> Iterator[str]:
    for each in said:
        match each:
            case (speaker, text):
                yield f'<message role="{speaker}">{_escaped(text)}</message>'
            case ToolUseBlock(name=name, input=given):
                shown = _escaped(name).translate(str.maketrans(_IN_ATTRIBUTES))
                yield f'<tool_call name="{shown}">{_escaped(_json(dict(given)))}</tool_call>'
            case ToolResultBlock(content=content):
                yield f"<tool_result>{_escaped(content)}</tool_result>"


def _escaped(text: str) -> str:
    return re.sub(_NOT_XML, "\ufffd", utf8(text)).translate(str.maketrans(_ESCAPES))
