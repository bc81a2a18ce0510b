"""ask_user in an editor: its own form of a question, or a message with buttons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Setup, WireError, connected
from tests.fakes import Call, bounded, say

REQUEST = "pygent/question/request"
MESSAGE = "window/showMessageRequest"

WITH_FORM: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"questionRequest": True}}}

COLOURS = [{"title": "Red", "description": "as now"}, {"title": "Blue"}]


def ask(**given: Any) -> Call:
    return Call(name="ask_user", arguments={"question": "Which colour?", **given})


async def answered(folder: Path, method: str, answer: object, **given: Any) -> str:
    """What the model reads when the editor answers so."""
    capabilities = WITH_FORM if method == REQUEST else CAPABILITIES
    async with connected(folder, Setup(script=[say("", ask(**given)), say("ok")]), capabilities=capabilities) as editor:
        editor.handlers[method] = lambda _: answer
        assert (await editor.turn())["stopReason"] == "end_turn"
        assert len(editor.asked) == 1
        return editor.tool_results[0]


async def test_an_editor_with_a_form_of_its_own_shows_the_question_in_it(folder: Path) -> None:
    script = [say("", ask(choices=COLOURS)), say("ok")]
    async with connected(folder, Setup(script=script), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"choice": "Blue"}
        result = await editor.turn()

        (asked,) = editor.asked
        question_id = asked.params["questionId"]
        assert asked.params == {
            "questionId": question_id,
            "sessionId": result["sessionId"],
            "question": "Which colour?",
            "choices": COLOURS,
            "allowText": True,
        }
        assert editor.tool_results == ["The user chose: Blue"]
        assert editor.notifications("pygent/question/cancelled") == []


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ({"choice": "Red", "text": None}, "The user chose: Red"),
        ({"text": " green "}, "The user answered: green"),
        ({"choice": None, "text": "green"}, "The user answered: green"),
        ({"choice": "Red", "text": "dark"}, "The user chose: Red\nThey added: dark"),
        ({"choice": "Pink", "text": "dark"}, "The user answered: dark"),
        ({"text": "half \ud83d"}, "The user answered: half \ufffd"),
    ],
    ids=str,
)
async def test_the_user_chooses_or_writes_or_both(folder: Path, answer: object, read: str) -> None:
    assert await answered(folder, REQUEST, answer, choices=COLOURS) == read


@pytest.mark.parametrize(
    "answer",
    [None, {}, {"choice": "Pink"}, {"choice": 1}, {"text": " "}, {"text": ["Red"]}, {"choice": "red"}, "Red", 1, []],
    ids=str,
)
@pytest.mark.parametrize("method", [REQUEST, MESSAGE])
async def test_every_odd_answer_is_none(folder: Path, method: str, answer: object) -> None:
    assert "did not answer" in await answered(folder, method, answer, choices=COLOURS)


async def test_a_plain_editor_shows_a_message_with_the_choices(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", ask(choices=COLOURS)), say("ok")])) as editor:
        editor.handlers[MESSAGE] = lambda _: {"title": "Red"}
        await editor.turn()

        (asked,) = editor.asked
        assert asked.params == {
            "type": 3,
            "message": "pygent asks: Which colour?\nRed: as now",
            "actions": [{"title": "Red"}, {"title": "Blue"}],
        }
        assert editor.tool_results == ["The user chose: Red"]


async def test_a_plain_editor_has_no_place_to_type_and_the_model_is_told(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", ask()), say("ok")])) as editor:
        await editor.turn()

        assert editor.asked == []
        assert "can only offer choices" in editor.tool_results[0]


@pytest.mark.parametrize("capabilities", [CAPABILITIES, WITH_FORM], ids=["plain", "form"])
async def test_an_editor_that_cannot_ask_after_all_gave_no_answer(
    folder: Path, capabilities: Mapping[str, Any]
) -> None:
    script = [say("", ask(choices=COLOURS)), say("ok")]
    async with connected(folder, Setup(script=script), capabilities=capabilities) as editor:
        editor.handlers.pop(MESSAGE)
        await editor.turn()

        assert "did not answer" in editor.tool_results[0]


async def test_a_cancel_withdraws_the_question_and_a_late_answer_counts_no_more(folder: Path) -> None:
    script = [say("", ask()), say("on")]
    async with connected(folder, Setup(script=script), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked = await editor.asks(REQUEST)

        editor.cancel(editor.last_id)

        with pytest.raises(WireError):
            await bounded(turn)
        assert editor.notifications("pygent/question/cancelled") == [{"questionId": asked.params["questionId"]}]
        assert editor.notifications("$/cancelRequest") == [{"id": asked.id}]
        editor.answer(asked, {"text": "late"})
        session_id = editor.core.sessions.all()[0].id
        assert (await editor.turn(sessionId=session_id))["text"] == "on"


async def test_a_question_waits_for_the_prompt_before_it(folder: Path) -> None:
    script = [say("", Call(name="shell", arguments={"command": "true"}), ask()), say("ok")]
    async with connected(folder, Setup(script=script), capabilities=WITH_FORM) as editor:
        editor.handlers[MESSAGE] = lambda _: NO_ANSWER
        editor.handlers[REQUEST] = lambda _: {"text": "blue"}
        turn = editor.begin_turn()
        prompt = await editor.asks(MESSAGE)
        assert editor.requests(REQUEST) == []

        editor.answer(prompt, {"title": "Reject"})

        await bounded(turn)
        assert editor.tool_results[1] == "The user answered: blue"


@pytest.mark.parametrize(
    ("capabilities", "answer", "told"),
    [
        (WITH_FORM, {"text": " my key "}, "pygent: my key"),
        (WITH_FORM, {"choice": "my key"}, "pygent: QuestionNotAnswered"),
        (WITH_FORM, {"text": ""}, "pygent: QuestionNotAnswered"),
        (WITH_FORM, None, "pygent: QuestionNotAnswered"),
        (CAPABILITIES, None, "pygent: CannotAsk"),
    ],
)
async def test_a_key_is_asked_for_unseen_or_not_at_all(
    folder: Path, capabilities: Mapping[str, Any], answer: object, told: str
) -> None:
    async with connected(folder, Setup(), capabilities=capabilities) as editor:
        editor.handlers[REQUEST] = lambda _: answer
        run = await editor.request("workspace/executeCommand", {"command": "pygent.setup", "arguments": []})
        await editor.until(lambda: editor.notifications("window/showMessage"))

        expected: Mapping[str, Any] = {
            "questionId": "q",
            "sessionId": "",
            "question": "Key?",
            "choices": [],
            "allowText": True,
            "secret": True,
        }
        assert run == {"started": True}
        assert [each["message"] for each in editor.notifications("window/showMessage")] == [told]
        assert [each.params for each in editor.asked] == ([expected] if capabilities is WITH_FORM else [])
