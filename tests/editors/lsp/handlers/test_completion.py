"""Completion over the wire: places count as the client counts, and no session is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import CAPABILITIES, Editor, Setup, connected
from tests.fakes import say


@pytest.mark.parametrize(("encoding", "n_units"), [("utf-16", 2), ("utf-8", 4)])
async def test_places_in_the_text_count_as_the_client_counts(folder: Path, encoding: str, n_units: int) -> None:
    (folder / "notes.md").write_text("x")
    capabilities: dict[str, Any] = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
    async with connected(folder, capabilities=capabilities) as editor:
        text = "😀 see @not and more"
        offset = n_units + len(" see @not")

        found = await editor.request("pygent/complete", {"text": text, "offset": offset})

        assert found == {
            "items": [{"label": "@notes.md", "insertText": "@notes.md", "kind": "file"}],
            "start": n_units + len(" see "),
        }


async def test_a_session_that_is_named_completes_what_is_its_own(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one")])) as editor:
        await editor.turn("the first one")
        session = (await editor.request("pygent/session/new", {}))["sessionId"]
        text = "/session load "

        found = await editor.request("pygent/complete", {"text": text, "offset": len(text), "sessionId": session})
        error = await editor.error("pygent/complete", {"text": text, "offset": 0, "sessionId": "none"})

        assert [each["detail"] for each in found["items"]] == ["the first one"]
        assert found["start"] == len(text)
        assert error.data == {"kind": "unknown_session"}


async def test_completing_makes_no_session(folder: Path) -> None:
    async with connected(folder) as editor:
        found = await editor.request("pygent/complete", {"text": "/undo", "offset": 5})

        assert [each["label"] for each in found["items"]] == ["/undo"]
        assert (await editor.request("pygent/session/list", {}))["sessions"] == []
        assert editor.notifications("pygent/session/changed") == []


async def offered(editor: Editor) -> list[str]:
    """The files that are offered first, as `@` inserts them."""
    found = await editor.request("pygent/complete", {"text": "@", "offset": 1})
    return [each["insertText"] for each in found["items"] if each["kind"] == "file"]


async def test_documents_that_are_open_are_offered_first_the_one_that_was_changed_last_before_the_others(
    folder: Path,
) -> None:
    for name in "abcd":
        (folder / name).write_text("x")
    async with connected(folder) as editor:
        uri = editor.documents.open(folder / "c")
        editor.documents.open(folder / "d")
        assert await offered(editor) == ["@d", "@c", "@a", "@b"]
        editor.documents.type_over(uri, "y")
        assert await offered(editor) == ["@c", "@d", "@a", "@b"]


async def test_the_file_in_front_is_first_then_those_that_were_and_then_the_open_tabs(folder: Path) -> None:
    for name in "abcde":
        (folder / name).write_text("x")
    async with connected(folder) as editor:
        for name in "cb":
            editor.tell("pygent/context/didChange", {"activeUri": (folder / name).as_uri()})
        editor.tell("pygent/context/didChange", {"activeUri": None})
        assert await offered(editor) == ["@b", "@c", "@a", "@d", "@e"]
        editor.tell("pygent/context/didChange", {"openUris": [(folder / "e").as_uri(), "untitled:Untitled-1"]})
        assert await offered(editor) == ["@b", "@c", "@e", "@a", "@d"]
