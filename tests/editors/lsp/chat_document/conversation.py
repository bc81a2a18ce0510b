"""A user who talks with the model in a document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.editors.lsp.editor import CAPABILITIES, Editor

WITH_PROGRESS: Mapping[str, Any] = {
    **CAPABILITIES,
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}


async def command(editor: Editor, name: str, *arguments: object) -> Any:
    """`workspace/executeCommand`, and its result."""
    return await editor.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})


def is_answered(text: str, number: int) -> bool:
    """Whether so many answers stand there, and below them the heading for the next question."""
    return text.count("\n## pygent") == number and text.rstrip().endswith("\n## You")


async def answered(editor: Editor, number: int = 1, *, uri: str | None = None) -> str:
    """Wait for the first (second, …) answer to be whole, in that document, else in the one that is shown for commands;
    returns the document."""

    def text() -> str:
        shown = editor.requests("window/showDocument")
        where = uri or (shown[-1].params["uri"] if shown else None)
        held = editor.documents.open_documents.get(where) if where else None
        return held.text if held else ""

    await editor.until(lambda: is_answered(text(), number))
    return text()


def chat_in(folder: Path, text: str, name: str = "notes.pygent.md") -> Path:
    """A chat document on the disk."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


async def lens_of(editor: Editor, uri: str) -> dict[str, Any]:
    """The lens of a document that sends its question, or stops its turn; those of a plan come behind it."""
    lens, *_ = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return lens


async def send(editor: Editor, uri: str) -> Any:
    """Press the lens."""
    chosen = (await lens_of(editor, uri))["command"]
    return await command(editor, chosen["command"], *chosen["arguments"])


def said_to_the_model(editor: Editor, number: int = -1) -> list[tuple[str, str]]:
    """The conversation of a request."""
    return [(each.role, each.text) for each in editor.core.model.requests[number].messages]


async def told(editor: Editor, number: int = 1) -> str:
    """The first (second, …) message in a box."""
    await editor.until(lambda: len(editor.notifications("window/showMessage")) >= number)
    return editor.notifications("window/showMessage")[number - 1]["message"]
