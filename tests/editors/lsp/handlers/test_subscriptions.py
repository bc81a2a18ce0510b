"""`pygent/session/attach` over the wire: a second view beside the turn's own, until it is cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.sessions.subscriptions import BATCH_BYTES
from tests.editors.lsp.editor import Editor, Setup, WireError, connected
from tests.fakes import Gate, bounded, say


def attach(editor: Editor, session_id: str, token: str | int = "view", **params: object) -> asyncio.Future[Any]:
    params = {"sessionId": session_id, "partialResultToken": token, **params}
    return editor.begin("pygent/session/attach", params)


async def test_a_second_view_is_sent_what_was_and_what_comes_until_it_is_cancelled(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[*say("one")[:1], gate, *say("more")], say("two")])) as editor:
        session = await editor.request("pygent/session/new")
        key = {"sessionId": session["sessionId"]}
        running = editor.begin_turn("a", **key)
        await gate.reached()
        await editor.until(lambda: "text_delta" in editor.types())
        seen = editor.events()[-1]["seq"]
        view = attach(editor, session_id=session["sessionId"])
        view_id = editor.last_id
        attach(editor, session["sessionId"], 7, sinceSeq=seen)
        gate.open()
        await bounded(running)
        await editor.turn("b", **key)
        await editor.until(lambda: editor.types("view").count("finished") == editor.types(7).count("finished") == 2)

        editor.cancel(view_id)
        with pytest.raises(WireError) as caught:
            await bounded(view)

        assert editor.events("view") == editor.events()
        assert editor.events(7) == editor.events()[seen:]
        assert caught.value.code == -32800
        assert caught.value.data == {**key, "lastSeq": editor.events()[-1]["seq"]}


async def test_a_view_of_a_session_that_is_deleted_ends_and_says_so(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one")])) as editor:
        done = await editor.turn("a")
        view = attach(editor, done["sessionId"])
        await editor.until(lambda: "finished" in editor.types("view"))
        await editor.request("pygent/session/delete", {"sessionId": done["sessionId"]})

        result = await bounded(view)

        last = editor.events()[-1]["seq"]
        assert result == {"sessionId": done["sessionId"], "lastSeq": last, "ended": "deleted"}


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"sessionId": "s"}, "partialResultToken"),
        ({"sessionId": "s", "partialResultToken": "t", "sinceSeq": -1}, "sinceSeq"),
        ({"partialResultToken": "t"}, "sessionId"),
    ],
)
async def test_what_is_wrong_with_the_parameters_is_named(folder: Path, params: dict[str, Any], field: str) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/session/attach", params)

    assert (error.code, field in error.message) == (-32602, True)


async def test_a_session_that_there_is_not_is_unknown(folder: Path) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/session/attach", {"sessionId": "none", "partialResultToken": "t"})

    assert (error.code, error.data) == (-32602, {"kind": "unknown_session"})


async def test_a_view_ends_with_its_client(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one")])) as editor:
        done = await editor.turn("a")
        view = attach(editor, done["sessionId"])
        await editor.until(lambda: "finished" in editor.types("view"))

        await editor.request("shutdown")

        last_seq = editor.events("view")[-1]["seq"]
        assert await bounded(view) == {"sessionId": done["sessionId"], "lastSeq": last_seq, "ended": "closed"}


async def test_much_is_sent_in_parts_that_an_editor_takes(folder: Path) -> None:
    script = [say("x" * 50_000) for _ in range(12)]
    async with connected(folder, Setup(script=script)) as editor:
        session_id = (await editor.request("pygent/session/new"))["sessionId"]
        for _ in script:
            await editor.turn("go", sessionId=session_id)

        attach(editor, session_id)
        await editor.until(lambda: editor.types("view").count("finished") == len(script))

        assert editor.events("view") == editor.events()
        assert len(editor.progress("view")) > 4
        assert max(len(str(each)) for each in editor.progress("view")) < BATCH_BYTES
