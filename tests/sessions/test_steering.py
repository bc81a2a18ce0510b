"""What the user says to a session's running turn, and to a retry of it that waits."""

from __future__ import annotations

import asyncio

from pygent_ls.agent.context.attachments import FilePart
from pygent_ls.agent.events import Finished, LlmError, Location, Notice, PromptAttachment, Steered
from pygent_ls.agent.ports.hooks import HookInput, HookOutcome
from pygent_ls.errors import ModelError
from pygent_ls.sessions.steering import decide_retry, steer
from tests.agent.abilities import place
from tests.fakes import Gate, bounded, say
from tests.hooks import FakeHooks, deny
from tests.sessions.conversation import conversation
from tests.sessions.test_secrets_of_a_session import KEY, redactor


async def test_secrets_in_the_users_words_reach_neither_the_model_nor_an_event() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("one")], say("two")], files={".env": f"A={KEY}\nREGION=eu\n"}, redactor=redactor())
    turn, reader = talk.start("go")
    await gate.reached()
    said = (f"use {KEY} of ", FilePart(path=place(".env")))

    assert await steer(talk.session, turn.id, said)
    gate.open()
    await turn.result()

    mark = await redactor().redact(KEY)
    assert [each.event for each in reader.events if isinstance(each.event, Steered)] == [
        Steered(
            content=f"use {mark} of ",
            attachments=(PromptAttachment(kind="file", location=Location(path=place(".env"))),),
        )
    ]
    assert f"use {mark} of " in talk.model.requests[1].messages[-1].text
    assert "REGION=" in talk.model.requests[1].messages[-1].text
    assert KEY not in repr([reader.events, talk.model.requests, talk.session.messages])


async def test_hooks_judge_what_is_said_meanwhile_as_they_judge_a_prompt() -> None:
    def judge(given: HookInput) -> HookOutcome:
        return deny() if given.prompt == "no" else HookOutcome(context=f"on {given.prompt}")

    gate = Gate()
    hooks = FakeHooks({"user_prompt_submit": judge})
    talk = conversation([[gate, *say("one")], say("two")], hooks=hooks)
    turn, reader = talk.start("go")
    await gate.reached()

    accepted = [await steer(talk.session, turn.id, (words,)) for words in ("no", "yes")]
    gate.open()
    await turn.result()

    assert accepted == [False, True]
    assert [each.prompt for each in hooks.given] == ["go", "no", "yes"]
    notices = [each.event.content for each in reader.events if isinstance(each.event, Notice)]
    assert notices == ["A hook that you configured denied this prompt, so it was not sent: not today"]
    assert [each.event.content for each in reader.events if isinstance(each.event, Steered)] == ["yes"]
    last = talk.model.requests[1].messages[-1].text
    assert "on yes" in last
    assert last.endswith("yes")


async def test_what_is_wrong_with_a_hook_is_told_once_for_a_prompt_and_all_that_is_said_after_it() -> None:
    gate = Gate()
    broken = HookOutcome(notices=("The hook check.sh cannot be run.",))
    hooks = FakeHooks({"user_prompt_submit": broken})
    talk = conversation([[gate, *say("one")], say("two")], hooks=hooks)
    turn, reader = talk.start("go")
    await gate.reached()

    assert [await steer(talk.session, turn.id, (words,)) for words in ("a", "b")] == [True, True]
    gate.open()
    await turn.result()

    assert [each.prompt for each in hooks.given] == ["go", "a", "b"]
    notices = [each.event.content for each in reader.events if isinstance(each.event, Notice)]
    assert notices == ["The hook check.sh cannot be run."]


async def test_a_hook_that_thinks_beyond_the_turns_end_tells_nothing_after_it() -> None:
    gate = Gate()
    hooks = FakeHooks({"user_prompt_submit": HookOutcome()})
    talk = conversation([[gate, *say("one")]], hooks=hooks)
    turn, reader = talk.start("go")
    await gate.reached()
    thinks = hooks.gates["user_prompt_submit"] = Gate()
    steering = asyncio.ensure_future(steer(talk.session, turn.id, ("wait",)))
    await thinks.reached()
    gate.open()
    await turn.result()
    thinks.open()

    assert not await bounded(steering)
    assert isinstance(reader.events[-1].event, Finished)


async def test_a_session_without_a_turn_and_another_turn_hear_nothing() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("one")]])
    assert not await steer(talk.session, "turn-1", ("hello?",))
    assert not decide_retry(talk.session.running, "turn-1", "now")
    turn, _ = talk.start("go")
    await gate.reached()
    assert not await steer(talk.session, "another", ("hello?",))
    assert not decide_retry(talk.session.running, turn.id, "now")
    gate.open()
    await turn.result()
    assert not await steer(talk.session, turn.id, ("hello?",))


async def test_a_command_that_needs_no_model_is_not_steered() -> None:
    talk = conversation([])
    turn, _ = talk.start("/help")
    assert not await steer(talk.session, turn.id, ("hello?",))
    await turn.result()


async def test_the_user_hurries_a_retry() -> None:
    talk = conversation([[ModelError("busy", type="overloaded", retry_after_s=100)], say("Here.")])
    turn, reader = talk.start("go")
    await reader.until(2)
    assert any(isinstance(each.event, LlmError) for each in reader.events)
    assert decide_retry(talk.session.running, turn.id, "now")
    assert (await turn.result()).text == "Here."
