"""The context over the wire: compacted, cleared, and in another mode."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.editors.lsp.editor import Setup, WireError, connected
from tests.fakes import Gate, bounded, say

LONG = "word " * 400


async def test_a_session_is_compacted_by_hand_and_its_messages_stay(folder: Path) -> None:
    script = [say(f"answer {n} {LONG}") for n in range(4)] + [say("SUMMARY"), say("done")]
    async with connected(folder, Setup(script=script)) as editor:
        session = {"sessionId": (await editor.turn("question 0"))["sessionId"]}
        for number in range(1, 4):
            await editor.turn(f"question {number}", **session)

        compacted = await editor.request("pygent/session/compact", {**session, "instruction": "keep the numbers"})
        await editor.turn("question 4", **session)

        assert compacted["tokensAfter"] < compacted["tokensBefore"]
        assert compacted["messagesSummarised"] == 6
        summary, request = editor.core.model.requests[-2:]
        assert "keep the numbers" in summary.messages[0].text
        sent = "".join(message.text for message in request.messages)
        assert "SUMMARY" in sent
        assert "answer 1" not in sent
        assert "question 1" in sent, "the user's words stay"
        loaded = await editor.request("pygent/session/load", session)
        assert loaded["messageCount"] == 10
        assert loaded["messages"][3]["content"][0]["text"].startswith("answer 1 ")
        fresh = await editor.request("pygent/session/new", {})
        with pytest.raises(WireError, match="nothing to compact"):
            await editor.request("pygent/session/compact", {"sessionId": fresh["sessionId"]})


async def test_while_a_turn_runs_nothing_is_compacted_or_cleared(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")]])) as editor:
        session = await editor.request("pygent/session/new", {})
        turn = asyncio.ensure_future(editor.turn(sessionId=session["sessionId"]))
        await gate.reached()
        for method in ("pygent/session/compact", "pygent/session/clear"):
            with pytest.raises(WireError, match="A turn is running"):
                await editor.request(method, {"sessionId": session["sessionId"]})
        gate.open()
        await bounded(turn)


async def test_a_cleared_session_is_empty_and_keeps_what_it_cost(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two")])) as editor:
        session = {"sessionId": (await editor.turn("a"))["sessionId"]}

        cleared = await editor.request("pygent/session/clear", session)
        await editor.turn("b", **session)

        assert (cleared["messageCount"], cleared["usage"]["totalTokens"]) == (0, 120)
        assert [message.text for message in editor.core.model.requests[1].messages] == ["b"]


async def test_a_session_may_have_a_context_mode_of_its_own(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two")])) as editor:
        session = {"sessionId": (await editor.turn("a"))["sessionId"]}

        await editor.request("pygent/session/configure", {**session, "contextMode": "fresh"})
        await editor.turn("b", **session)

        assert [message.text for message in editor.core.model.requests[1].messages] == ["b"]
