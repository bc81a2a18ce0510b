"""Notebooks as the model reads them: cells with their sources and shortened outputs."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import whole_placeholders
from pygent_ls.tools.files.file_parts import Span, shown_part
from pygent_ls.tools.notebooks.notebook_text import Cell, Notebook, joined

MAX_OUTPUT_CHARS = 2_000
"""Maximum characters of one output that are shown."""

MAX_PICTURES = 5
"""Maximum number of pictures in outputs that one reading shows."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

PICTURES = ("image/png", "image/jpeg")


async def shown_notebook(context: ToolContext, document: Document, name: str, span: Span) -> str:
    """Return the wanted lines of the notebook's cells; pictures in its outputs are added to what the model sees.

    A text that is not a notebook is shown as it is, with the reason. Raises `ToolError` for lines that do not exist.
    """
    text = document.text
    try:
        lines, pictures = await asyncio.to_thread(_rendered, text)
    except ToolError as error:
        lines = [line.rstrip("\r") for line in text.rstrip("\n").split("\n")]
        return f"{shown_part(lines, name, span)}\n[{name} is shown as text: {error}.]"
    if not lines:
        return f"{name} is a notebook without cells. Insert one with edit_notebook."
    part = shown_part(lines, name, span)
    last = min(span.end_line or len(lines), len(lines))
    wanted = [each for each in pictures if span.first <= each[0] <= last]
    notes = [await _show(context, output, kind, name) for _, output, kind in wanted[:MAX_PICTURES]]
    if len(wanted) > MAX_PICTURES:
        notes.append(f"{len(wanted) - MAX_PICTURES} more pictures are not shown.")
    if context.workspace.resolve(name) in context.editor.unsaved_notebooks:
        notes.append("The user has unsaved changes in it, which are not shown: ask the user to save it.")
    elif document.version is not None:
        notes.append("It is open in the editor: sources are as they are there, outputs as they were last saved.")
    notes.append("These are the cells of the notebook: edit them with edit_notebook.")
    return f"{part}\n[{' '.join(filter(None, notes))}]"


def _rendered(text: str) -> tuple[list[str], list[tuple[int, Mapping[str, Any], str]]]:
    """Return the lines of all cells, and the outputs with pictures, each with its last line and its type."""
    lines: list[str] = []
    pictures: list[tuple[int, Mapping[str, Any], str]] = []
    for cell in Notebook(text).cells:
        lines += [_head(cell), *_lines(cell.source)]
        for output in _outputs(cell):
            shown, mime_type = _output(output)
            lines += [f"── output of cell {cell.number}: {_kind(output)}", *shown]
            if mime_type:
                pictures.append((len(lines), output, mime_type))
    return lines, pictures


def _head(cell: Cell) -> str:
    count = cell.value.get("execution_count")
    parts = [f"cell {cell.number}", cell.kind, *([f"id {cell.id}"] if cell.id else [])]
    return f"── {' · '.join([*parts, *([f'run {count}'] if isinstance(count, int) else [])])}"


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _outputs(cell: Cell) -> Iterator[Mapping[str, Any]]:
    outputs = cell.value.get("outputs")
    for output in cast("list[object]", outputs) if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield cast("dict[str, Any]", output)


def _kind(output: Mapping[str, Any]) -> str:
    return str(output.get("name") or output.get("output_type") or "unknown")


def _output(output: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the lines of an output, and the type of its picture, if it has one."""
    data = output.get("data")
    given = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    mime_type = next((kind for kind in PICTURES if joined(given.get(kind))), "")
    if output.get("output_type") == "error":
        text = joined(output.get("traceback")) if not isinstance(output.get("traceback"), list) else ""
        trace = output.get("traceback")
        text = "\n".join(map(str, cast("list[object]", trace))) if isinstance(trace, list) else text
        text = text or f"{output.get('ename')}: {output.get('evalue')}"
    else:
        text = joined(output.get("text")) or joined(given.get("text/markdown")) or joined(given.get("text/plain"))
    others = [kind for kind in given if kind not in ("text/plain", "text/markdown", mime_type)]
    lines = _lines(_shortened(_COLOURS.sub("", text)))
    if mime_type:
        lines.append(f"[{mime_type}]")
    return [*lines, *([f"[also as {', '.join(map(str, others))[:200]}]"] if others else [])], mime_type


def _shortened(text: str) -> str:
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    end = whole_placeholders(text, MAX_OUTPUT_CHARS)
    return f"{text[:end]}\n[… {len(text) - end} more characters of this output]"


async def _show(context: ToolContext, output: Mapping[str, Any], mime_type: str, name: str) -> str:
    """Show the picture of an output; return a note if that fails."""
    if context.pictures is None:
        return ""
    try:
        data = base64.b64decode("".join(joined(output["data"].get(mime_type)).split()), validate=True)
        picture = await context.pictures.fitted(data, f"A picture in {name}")
    except (binascii.Error, ValueError):
        return f"A picture in {name} is not valid base64."
    except ToolError as error:
        return str(error)
    context.cacheable = False  # a cached result is text alone
    context.images.append(picture.image)
    return ""
