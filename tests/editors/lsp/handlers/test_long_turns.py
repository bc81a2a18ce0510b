"""A turn that takes long, in an editor: the user steers it, is asked at its limits, and decides about retries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.errors import ModelError
from tests.agent.abilities import saying, waiting
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, connected
from tests.fakes import Call, FakeModel, Gate, bounded, say

MESSAGE, QUESTION = "window/showMessageRequest", "pygent/question/request"
WITH_FORM: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"questionRequest": True}}}
BUSY = ModelError("slow down.", type="rate_limit", retry_after_s=100)
LOOK = Call(name="look", arguments={})


async def running(editor: Editor) -> dict[str, Any]:
    """The ids of the turn that runs."""
    await editor.until(editor.events)
    return {"sessionId": editor.core.sessions.all()[0].id, "turnId": editor.events()[0]["turnId"]}


def messages(editor: Editor, token: str) -> list[str]:
    """What a work-done progress said."""
    return [value["message"] for value in editor.progress(token)]


# Steering


async def test_what_the_user_says_meanwhile_reaches_the_next_call(folder: Path) -> None:
    gate = Gate()
    model = FakeModel([say("", LOOK), say("Done.")])
    async with connected(folder, Setup(script=model, tools=[waiting("look", gate)])) as editor:
        turn = editor.begin_turn()
        await gate.reached()
        ids = await running(editor)

        wrong = {**ids, "turnId": "another", "prompt": "x"}
        assert await editor.request("pygent/turn/steer", wrong) == {"accepted": False}
        right = {**ids, "prompt": "also look at b"}
        assert await editor.request("pygent/turn/steer", right) == {"accepted": True}
        gate.open()

        assert (await bounded(turn))["text"] == "Done."
        assert model.requests[1].messages[-1].text == "also look at b"
        assert [each["content"] for each in editor.events() if each["type"] == "steered"] == ["also look at b"]
        assert await editor.request("pygent/turn/steer", right) == {"accepted": False}


async def test_a_turn_is_steered_with_files_too(folder: Path) -> None:
    (folder / "b.txt").write_text("uno\n")
    gate = Gate()
    model = FakeModel([say("", LOOK), say("Done.")])
    async with connected(folder, Setup(script=model, tools=[waiting("look", gate)])) as editor:
        turn = editor.begin_turn()
        await gate.reached()
        prompt = [{"type": "text", "text": "here: "}, {"type": "file", "uri": (folder / "b.txt").as_uri()}]
        await editor.request("pygent/turn/steer", {**await running(editor), "prompt": prompt})
        gate.open()
        await bounded(turn)
        assert "uno" in model.requests[1].messages[-1].text


@pytest.mark.parametrize(("prompt", "why"), [("", "prompt"), (" \n", "it is empty"), ([], "prompt"), (None, "prompt")])
async def test_a_word_that_says_nothing_is_refused(folder: Path, prompt: object, why: str) -> None:
    async with connected(folder, Setup(script=[say("x")])) as editor:
        session = await editor.request("pygent/session/new", {})
        params = {"sessionId": session["sessionId"], "turnId": "t", "prompt": prompt}
        assert why in str(await editor.error("pygent/turn/steer", params))


# Limits


async def test_at_a_limit_the_user_is_asked_in_a_message_with_two_buttons(folder: Path) -> None:
    script = [say("", LOOK), say("", LOOK), say("Done.")]
    async with connected(folder, Setup(script=script, tools=[saying("look", "seen")])) as editor:
        editor.handlers[MESSAGE] = lambda _: {"title": "Continue"}
        result = await editor.turn(maxIterations=2, workDoneToken="work")

        assert (result["stopReason"], result["text"]) == ("end_turn", "Done.")
        (asked,) = editor.requests(MESSAGE)
        assert asked.params["message"] == "Paused after 2 iterations (240 tokens, cost unknown). Continue?"
        assert asked.params["actions"] == [{"title": "Stop"}, {"title": "Continue"}]
        assert "The limit of 2 model calls per turn was reached." in messages(editor, "work")
        assert "The user let the turn continue." in messages(editor, "work")


async def test_an_editor_with_a_form_of_its_own_asks_in_it_and_takes_no_words(folder: Path) -> None:
    script = [say("", LOOK), say("never")]
    setup = Setup(script=script, tools=[saying("look", "seen")])
    async with connected(folder, setup, capabilities=WITH_FORM) as editor:
        editor.handlers[QUESTION] = lambda _: {"text": "Continue"}
        result = await editor.turn(maxIterations=1)

        assert result["stopReason"] == "max_iterations"
        (asked,) = editor.requests(QUESTION)
        assert asked.params == {
            "questionId": f"{result['turnId']}-pause1",
            "sessionId": result["sessionId"],
            "question": "Paused after 1 iteration (120 tokens, cost unknown). Continue?",
            "choices": [{"title": "Stop"}, {"title": "Continue"}],
            "allowText": False,
        }


@pytest.mark.parametrize("answer", [{"title": "Stop"}, None, {"title": "Go on"}, "Continue", 7])
async def test_every_odd_answer_stops(folder: Path, answer: object) -> None:
    script = [say("", LOOK), say("never")]
    async with connected(folder, Setup(script=script, tools=[saying("look", "seen")])) as editor:
        editor.handlers[MESSAGE] = lambda _: answer
        assert (await editor.turn(maxIterations=1))["stopReason"] == "max_iterations"


async def test_a_cancel_withdraws_the_question_whether_to_go_on(folder: Path) -> None:
    script = [say("", LOOK), say("never")]
    async with connected(folder, Setup(script=script, tools=[saying("look", "seen")])) as editor:
        editor.handlers[MESSAGE] = lambda _: NO_ANSWER
        turn = editor.begin_turn(maxIterations=1)
        asked = await editor.asks(MESSAGE)
        await editor.request("pygent/turn/cancel", {"sessionId": editor.core.sessions.all()[0].id})
        assert (await bounded(turn))["stopReason"] == "cancelled"
        assert editor.notifications("$/cancelRequest") == [{"id": asked.id}]


async def test_what_the_user_says_while_they_are_asked_reaches_the_next_call(folder: Path) -> None:
    model = FakeModel([say("", LOOK), say("Done.")])
    async with connected(folder, Setup(script=model, tools=[saying("look", "seen")])) as editor:
        editor.handlers[MESSAGE] = lambda _: NO_ANSWER
        turn = editor.begin_turn(maxIterations=1)
        asked = await editor.asks(MESSAGE)
        word = {**await running(editor), "prompt": "but be quick"}
        assert await editor.request("pygent/turn/steer", word) == {"accepted": True}

        editor.answer(asked, {"title": "Continue"})
        assert (await bounded(turn))["text"] == "Done."
        assert model.requests[1].messages[-1].text == "but be quick"


async def test_a_session_can_be_closed_while_the_user_is_asked(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", LOOK)], tools=[saying("look", "seen")])) as editor:
        editor.handlers[MESSAGE] = lambda _: NO_ANSWER
        turn = editor.begin_turn(maxIterations=1)
        asked = await editor.asks(MESSAGE)
        waiting = editor.begin_turn(sessionId=(await running(editor))["sessionId"])
        await editor.request("pygent/session/close", {"sessionId": (await running(editor))["sessionId"]})
        assert [(await bounded(each))["stopReason"] for each in (turn, waiting)] == ["cancelled", "cancelled"]
        assert editor.notifications("$/cancelRequest") == [{"id": asked.id}]


# Retries


@pytest.mark.parametrize(("action", "stop_reason"), [("now", "end_turn"), ("give_up", "error")])
async def test_the_user_decides_about_a_retry_that_waits(folder: Path, action: str, stop_reason: str) -> None:
    script = [[TextChunk(text="half"), BUSY], say("Here.")]
    async with connected(folder, Setup(script=script)) as editor:
        turn = editor.begin_turn(workDoneToken="work")
        ids = await running(editor)
        await editor.until(lambda: "llm_error" in editor.types())

        assert await editor.request("pygent/turn/retry", {**ids, "turnId": "x", "action": action}) == {
            "accepted": False
        }
        assert await editor.request("pygent/turn/retry", {**ids, "action": action}) == {"accepted": True}

        assert (await bounded(turn))["stopReason"] == stop_reason
        errors = [each for each in editor.events() if each["type"] == "llm_error"]
        assert (errors[0]["willRetry"], errors[0]["retryInSeconds"], errors[0]["attempt"]) == (True, 100, 1)
        assert len(errors[0]["withdrawn"]) == 1
        assert [each["willRetry"] for each in errors[1:]] == ([] if action == "now" else [False])
        assert "slow down. Retrying in 100.0 s (attempt 2)." in messages(editor, "work")
        assert await editor.request("pygent/turn/retry", {**ids, "action": action}) == {"accepted": False}


async def test_a_cancel_ends_the_wait_for_a_retry(folder: Path) -> None:
    async with connected(folder, Setup(script=[[BUSY], say("on")])) as editor:
        turn = editor.begin_turn()
        await editor.until(lambda: "llm_error" in editor.types())
        session_id = editor.core.sessions.all()[0].id
        assert await editor.request("pygent/turn/cancel", {"sessionId": session_id}) == {"cancelled": True}
        assert (await bounded(turn))["stopReason"] == "cancelled"
        assert (await editor.turn(sessionId=session_id))["text"] == "on"


async def test_an_action_that_is_none_is_refused(folder: Path) -> None:
    async with connected(folder, Setup(script=[])) as editor:
        params = {"sessionId": "x", "turnId": "t", "action": "later"}
        assert "action" in str(await editor.error("pygent/turn/retry", params))
