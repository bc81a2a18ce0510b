"""Conversion between core values and the protocol's content blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pygent_ls.agent.context.attachments import FilePart, NotePart, PromptPart
from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.agent.context.images import picture_from_base64
from pygent_ls.agent.display_text import visible
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.errors import SessionError, ToolError

MAX_SHOWN_CHARS = 20_000
"""Maximum characters of a tool's output in one update; the end is kept."""

_HUNK = re.compile(r"^@@ [^\n]*\n", re.M)

_LINES = re.compile(r"L(\d{1,9})(?:[-:]L?(\d{1,9}))?")
"""Fragment of a link to lines of a file, as Zed writes it: `#L10:20`."""


def prompt_parts(blocks: Sequence[Mapping[str, Any]]) -> tuple[PromptPart, ...]:
    """Return the parts of a prompt. Raises `SessionError` for a block that cannot be read."""
    parts = tuple(part for block in blocks for part in _parts(block))
    if not any(not isinstance(part, str) or part.strip() for part in parts):
        raise SessionError("The prompt is empty.", kind="empty_prompt")
    return parts


def _parts(block: Mapping[str, Any]) -> Iterator[PromptPart]:
    match block:
        case {"type": "text", "text": str(text)}:
            yield text
        case {"type": "image", "data": str(data)}:
            try:
                yield picture_from_base64(data, "The image")
            except ToolError as error:
                raise SessionError(f"prompt: {error}", kind="unusable_block") from None
        case {"type": "resource_link", "uri": str(uri)}:
            yield _linked(uri)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            yield NotePart(kind=f"resource {uri}", text=text)
        case {"type": str(kind)}:
            raise SessionError(f"prompt: a block of the type {kind!r} cannot be used.", kind="unusable_block")
        case _:
            raise SessionError("prompt: a block has no type.", kind="unusable_block")


def _linked(uri: str) -> PromptPart:
    """Return a linked file as an attachment, and a link to anything else as text."""
    try:
        link = urlsplit(uri)
    except ValueError:
        return uri
    path = Path(unquote(link.path, errors="surrogateescape"))
    if link.scheme not in ("file", "") or not path.is_absolute():
        return uri
    found = _LINES.fullmatch(link.fragment)
    if found is None:
        return FilePart(path=path)
    first = int(found[1])
    return FilePart(path=path, lines=LineRange(first=first, last=max(first, int(found[2] or first))))


def text_block(text: str) -> dict[str, Any]:
    """Return text as a block."""
    return {"type": "text", "text": text}


def output_content(text: str) -> list[dict[str, Any]]:
    """Return a tool's output as content: a code block, since clients render Markdown and the output may be from
    anywhere. The end of a long output is kept."""
    shown = visible(text)
    if len(shown) > MAX_SHOWN_CHARS:
        shown = f"[{len(shown) - MAX_SHOWN_CHARS:,} characters left out]\n{shown[-MAX_SHOWN_CHARS:]}"
    return [{"type": "content", "content": text_block(fenced(shown, ""))}] if shown.strip() else []


def diff_content(changes: Sequence[FileChange], spelled: Callable[[Path], str]) -> list[dict[str, Any]]:
    """Return the changes of text files as diffs: of whole files if their texts are known, else one for each hunk."""
    return [
        {"type": "diff", "path": spelled(change.path), "oldText": old, "newText": new}
        for change in changes
        for old, new in _texts(change)
    ]


def _texts(change: FileChange) -> Iterator[tuple[str | None, str]]:
    """Yield old and new texts; None as the old one of a new file."""
    is_new = change.kind == "create"
    if change.old_text or change.new_text:
        yield None if is_new else change.old_text, change.new_text
        return
    for hunk in _HUNK.split(change.patch)[1:]:
        lines = [line for line in hunk.splitlines(keepends=True) if not line.startswith("\\")]
        old = "".join(line[1:] for line in lines if line[0] in " -")
        yield None if is_new else old, "".join(line[1:] for line in lines if line[0] in " +")
