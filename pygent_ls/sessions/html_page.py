"""A conversation as a web page that needs nothing beside itself. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from pygent_ls.agent.conversation_text import utf8
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

_STYLE = """\
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
section { border-left: .25rem solid #bbb; margin: 1rem 0; padding: .1rem 1rem; }
section.user { border-color: #4a7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
p.words { white-space: pre-wrap; font: inherit; }
details { color: #666; }
img { max-width: 100%; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } }"""

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser shows and cannot run."""


def html_page(name: str, messages: Sequence[Message]) -> str:
    """The page. Nothing of the conversation counts as markup, nothing is loaded, and nothing can be run."""
    body = "\n".join(_section(message) for message in messages)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    page = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(name)}</title>
<style>
{_STYLE}
</style>
</head>
<body>
<h1>{escape(name)}</h1>
{body}
</body>
</html>
"""
    return utf8(page)


def _section(message: Message) -> str:
    blocks = "\n".join(_blocks(message))
    if all(isinstance(block, ToolResultBlock) for block in message.blocks):
        return blocks  # what tools returned is nobody's word
    title = "You" if message.role == "user" else "pygent"
    return f'<section class="{message.role}">\n<h2>{title}</h2>\n{blocks}\n</section>'


def _blocks(message: Message) -> Iterator[str]:
    for block in message.blocks:
        yield _block(block)


def _block(block: Block) -> str:
    match block:
        case TextBlock(text=text, from_outside=True):
            return _folded("Attached", text)
        case TextBlock(text=text):
            return f'<p class="words">{escape(text)}</p>'
        case ThinkingBlock(thinking=thinking):
            return _folded("Thinking", thinking)
        case ImageBlock(mime_type=mime_type, data=data) if mime_type in _PICTURES:
            return f'<img alt="Attached picture" src="data:{mime_type};base64,{escape(data)}">'
        case ImageBlock(mime_type=mime_type):
            return f"<p>[Image: {escape(mime_type)}]</p>"
        case ToolUseBlock(name=name, input=given):
            return _folded(f"Tool call: {name}", json.dumps(dict(given), ensure_ascii=False, indent=2, default=str))
        case ToolResultBlock(content=content, is_error=is_error):
            return _folded("Error" if is_error else "Result", content)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
