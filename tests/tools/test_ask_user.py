"""ask_user: a question of the model to the user, and what it reads of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from pygent_ls.agent.events import PermissionRequested, ToolResult
from pygent_ls.agent.kinds import Mode, ToolRisk
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.ports.questioner import (
    AnswerChoice,
    CannotAsk,
    QuestionAnswer,
    QuestionAnswered,
    QuestionNotAnswered,
)
from pygent_ls.tools.ask_user import MAX_CHOICES, ask_user
from tests.agent.abilities import saying
from tests.agent.executor import Executor
from tests.fakes import Gate, Rig, bounded, make_rig, with_parts
from tests.questioner import FakeQuestioner

COLOURS = [{"title": "Red", "description": "as now"}, {"title": "Blue"}]


def rig_of(questioner: FakeQuestioner, *, mode: Mode = "default") -> tuple[Rig, Executor]:
    rig = make_rig(ask_user, saying("fetch", "fetched", risk=ToolRisk.HIGH), mode=mode)
    services = with_parts(rig.services, questioner=questioner)
    return rig, Executor(services, rig.events.emit)


def call(id: str = "c1", **given: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name="ask_user", input=given)


async def asked(questioner: FakeQuestioner, *, mode: Mode = "default", **given: Any) -> ToolResult:
    """What the model reads after it asked."""
    rig, executor = rig_of(questioner, mode=mode)
    await bounded(executor.run(call(**given)))
    (result,) = rig.events.of(ToolResult)
    assert rig.events.of(PermissionRequested) == []
    return result


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        (QuestionAnswered(choice="Blue"), "The user chose: Blue"),
        (QuestionAnswered(text="green, please"), "The user answered: green, please"),
        (QuestionAnswered(choice="Blue", text="a dark one"), "The user chose: Blue\nThey added: a dark one"),
    ],
)
async def test_the_model_reads_what_the_user_chose_or_said(answer: QuestionAnswer, read: str) -> None:
    questioner = FakeQuestioner(answer)
    result = await asked(questioner, question="Which colour?", choices=COLOURS)

    assert (result.content, result.is_error) == (read, False)
    (question,) = questioner.questions
    assert question.text == "Which colour?"
    assert question.choices == (AnswerChoice(title="Red", description="as now"), AnswerChoice(title="Blue"))
    assert (question.session_id, question.tool_id) == ("session-1", "c1")


async def test_no_answer_is_no_error_and_not_to_be_asked_for_again() -> None:
    result = await asked(FakeQuestioner(QuestionNotAnswered()), question="Which?")

    assert not result.is_error
    assert result.content.startswith("The user did not answer. Do not ask the same question again")


async def test_where_nobody_can_be_asked_the_model_reads_why() -> None:
    result = await asked(FakeQuestioner(CannotAsk("There is no terminal.")), question="Which?")

    assert (result.content, result.is_error) == ("Error: There is no terminal.", True)


async def test_choices_may_be_plain_texts() -> None:
    questioner = FakeQuestioner()
    await asked(questioner, question="Which?", choices=["Red", {"title": "Blue"}])

    assert questioner.questions[0].choices == (AnswerChoice(title="Red"), AnswerChoice(title="Blue"))


@pytest.mark.parametrize(
    "given",
    [
        {"question": ""},
        {"question": " \n"},
        {"question": "Which?", "choices": ["Red", "red"]},
        {"question": "Which?", "choices": [" "]},
        {"question": "Which?", "choices": [{"title": ""}]},
        {"question": "Which?", "choices": [{"title": "Red", "colour": 1}]},
        {"question": "Which?", "choices": [str(n) for n in range(MAX_CHOICES + 1)]},
        {"choices": ["Red"]},
    ],
    ids=str,
)
async def test_a_question_that_is_none_is_the_models_error_and_nobody_is_asked(given: Mapping[str, Any]) -> None:
    questioner = FakeQuestioner()

    assert (await asked(questioner, **given)).is_error
    assert questioner.questions == []


async def test_what_is_shown_hides_nothing_and_a_title_is_one_line() -> None:
    questioner = FakeQuestioner()
    await asked(questioner, question="Delete\u202e it?", choices=["Yes\nAllow once", "x" * 500])

    (question,) = questioner.questions
    assert question.text == "Delete\\u202e it?"
    first, second = (choice.title for choice in question.choices)
    assert first == "Yes Allow once"
    assert len(second) == 80


async def test_plan_mode_may_ask() -> None:
    result = await asked(FakeQuestioner(QuestionAnswered(text="yes")), mode="plan", question="Is this the plan?")

    assert result.content == "The user answered: yes"


async def test_questions_and_prompts_for_permission_are_shown_one_at_a_time() -> None:
    questioner = FakeQuestioner(QuestionAnswered(text="yes"))
    questioner.gate = Gate()
    rig, executor = rig_of(questioner)
    async with asyncio.TaskGroup() as group:
        group.create_task(executor.run(call(question="Which?")))
        await questioner.gate.reached()
        group.create_task(executor.run(ToolUseBlock(id="c2", name="fetch", input={})))
        group.create_task(executor.run(call("c3", question="And this?")))
        await asyncio.sleep(0)
        assert (rig.approver.requests, questioner.n_open) == ([], 1)
        questioner.gate.open()
    assert len(rig.approver.requests) == 1
    ids = [question.question_id for question in questioner.questions]
    assert len(set(ids)) == len(ids) == 2


async def test_a_cancel_closes_the_question() -> None:
    questioner = FakeQuestioner()
    questioner.gate = Gate()
    _, executor = rig_of(questioner)
    task = asyncio.ensure_future(executor.run(call(question="Which?")))
    await questioner.gate.reached()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await bounded(task)
    assert questioner.n_open == 0
