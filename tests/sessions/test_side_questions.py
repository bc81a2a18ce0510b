"""Side questions of a session: answered beside its turns, without a trace in its conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.agent.messages import ToolResultBlock, Usage
from pygent_ls.agent.ports.hooks import HookOutcome
from pygent_ls.agent.ports.model import ModelRequest, TextChunk
from pygent_ls.agent.turn.side_question import NO_TOOLS_RESULT, PENDING_RESULT
from pygent_ls.errors import SessionError
from pygent_ls.sessions.side_questions import MAX_AT_ONCE, question_in
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import FILE_TOOLS
from tests.fakes import Call, FakeApprover, Gate, say
from tests.hooks import FakeHooks
from tests.sessions.conversation import Conversation, Turn, conversation
from tests.sessions.subscribers import Reader

USAGE = Usage(input_tokens=10, output_tokens=5, cost_usd=0.5)

DELETE = Call(name="delete_file", arguments={"path": "a.py"}, id="d1")

READ = Call(name="read_file", arguments={"path": "a.py"}, id="r1")


def asked(talk: Conversation, question: str = "why?") -> tuple[Turn, Reader]:
    return talk.start(f"/btw {question}")


def results_in(request: ModelRequest) -> list[ToolResultBlock]:
    return [block for each in request.messages for block in each.blocks if isinstance(block, ToolResultBlock)]


def says(request: ModelRequest) -> str:
    return request.messages[-1].text


async def test_a_question_in_an_idle_session_leaves_nothing_but_its_usage() -> None:
    talk = conversation([say("Hello."), say("Because.", usage=USAGE), say("Bye.")])
    await talk.turn("hi")
    before, journal, spent = [*talk.session.messages], talk.session.last_seq, talk.session.usage

    turn, reader = asked(talk)
    result = await turn.result()

    assert (result.stop_reason, result.text) == ("end_turn", "Because.")
    assert reader.types[0] == "turn_started"
    assert reader.types[-1] == "finished"
    assert [each.seq for each in reader.events] == [*range(1, len(reader.events) + 1)]
    assert talk.session.messages == before
    assert talk.session.last_seq == journal
    assert talk.session.usage.total_tokens == spent.total_tokens + USAGE.total_tokens
    assert talk.session.usage.context_tokens == spent.context_tokens
    await talk.turn("bye")
    assert "why?" not in str(talk.model.requests[-1].messages)


async def test_its_request_begins_like_that_of_the_next_turn() -> None:
    talk = conversation([say("Hello."), say("Because."), say("Bye.")], *FILE_TOOLS)
    await talk.turn("hi")

    await asked(talk)[0].result()
    await talk.turn("bye")

    _, aside, following = talk.model.requests
    assert (aside.system, aside.tools, aside.cache_key) == (following.system, following.tools, following.cache_key)
    assert aside.messages[:2] == following.messages[:2]
    assert "why?" in says(aside)


async def test_while_a_tool_waits_for_permission_the_question_sees_the_call_as_unfinished() -> None:
    approver = FakeApprover("reject_once")
    approver.gate = Gate()
    talk = conversation(
        [say("I delete.", DELETE), say("It waits for you."), say("Done.")],
        *FILE_TOOLS,
        approver=approver,
        files={"a.py": "x"},
    )
    turn, reader = talk.start("go")
    await approver.gate.reached()

    aside, _ = asked(talk, "what do you do?")
    assert (await aside.result()).text == "It waits for you."
    assert [(each.tool_use_id, each.content) for each in results_in(talk.model.requests[1])] == [("d1", PENDING_RESULT)]
    approver.gate.open()

    assert (await turn.result()).text == "Done."
    assert [each.tool_use_id for each in results_in(talk.model.requests[2])] == ["d1"]
    assert results_in(talk.model.requests[2])[0].content != PENDING_RESULT
    assert "what do you do?" not in str(talk.session.messages)
    assert [each.seq for each in reader.events] == [*range(1, len(reader.events) + 1)]


async def test_a_tool_that_the_model_calls_anyway_does_not_run() -> None:
    talk = conversation([say("", READ), say("In words.")], *FILE_TOOLS, files={"a.py": "x"})

    turn, reader = asked(talk)
    result = await turn.result()

    assert result.text == "In words."
    assert [each.content for each in results_in(talk.model.requests[1])] == [NO_TOOLS_RESULT]
    assert "tool_call" not in reader.types
    assert not talk.session.messages


async def test_a_model_that_only_calls_tools_ends_the_question_with_an_error() -> None:
    talk = conversation([say("", READ), say("", READ)], *FILE_TOOLS)

    turn, reader = asked(talk)
    result = await turn.result()

    assert result.stop_reason == "error"
    assert result.error is not None
    assert "Ask it as a prompt" in result.error.message
    assert len(talk.model.requests) == 2
    assert "llm_error" in reader.types


async def test_it_is_cancelled_on_its_own_and_its_usage_counts() -> None:
    gate = Gate()
    talk = conversation([[TextChunk(text="Half"), gate]])
    turn, reader = asked(talk)
    await gate.reached()

    assert talk.session.cancel(turn.id)
    result = await turn.result()

    assert (result.stop_reason, result.text) == ("cancelled", "Half")
    assert reader.types[-2:] == ["cancelled", "finished"]
    assert not talk.session.cancel(turn.id)
    assert not talk.session.side_questions.open


async def test_a_cancel_of_the_turn_does_not_end_the_question_nor_the_reverse() -> None:
    gate, other = Gate(), Gate()
    talk = conversation([[gate, *say("turn")], [other, *say("aside")]])
    turn, _ = talk.start("go")
    await gate.reached()
    aside, _ = asked(talk)
    await other.reached()

    assert talk.session.cancel()
    assert (await turn.result()).stop_reason == "cancelled"
    other.open()
    assert (await aside.result()).text == "aside"


async def test_only_some_are_answered_at_once_and_the_others_are_refused() -> None:
    gates = [Gate() for _ in range(MAX_AT_ONCE)]
    talk = conversation([[gate, *say("x")] for gate in gates])
    turns = [asked(talk)[0] for _ in gates]

    with pytest.raises(SessionError) as refused:
        asked(talk)

    assert refused.value.kind == "too_many_side_questions"
    for gate in gates:
        gate.open()
    assert [(await each.result()).text for each in turns] == ["x"] * MAX_AT_ONCE


async def test_its_usage_is_part_of_the_running_turn() -> None:
    gate = Gate()
    talk = conversation([[*say("turn", usage=USAGE)[:-1], gate, say("")[-1]], say("aside", usage=USAGE)])
    turn, reader = talk.start("go")
    await gate.reached()

    await asked(talk)[0].result()
    gate.open()
    result = await turn.result()

    assert result.usage.total_tokens == 2 * USAGE.total_tokens
    assert talk.session.usage.total_tokens == 2 * USAGE.total_tokens
    assert reader.types[-1] == "finished"


async def test_a_hook_that_denies_prompts_denies_questions() -> None:
    hooks = FakeHooks({"user_prompt_submit": HookOutcome(decision="deny", reason="no secrets")})
    talk = conversation([say("never")], hooks=hooks)

    turn, _ = asked(talk)
    result = await turn.result()

    assert result.stop_reason == "refusal"
    assert "no secrets" in result.text
    assert not talk.model.requests


async def test_the_session_ends_while_a_question_is_open() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("x")]])
    turn, _ = asked(talk)
    await gate.reached()

    await talk.session.close()

    assert (await turn.result()).stop_reason == "cancelled"


async def test_a_compaction_and_a_rewind_do_not_disturb_an_open_question(tmp_path: Path) -> None:
    gate = Gate()
    talk = conversation([say("Hello."), [gate, *say("Because.")]], folder=tmp_path)
    await talk.turn("hi")
    turn, _ = asked(talk)
    await gate.reached()

    await talk.session.undo()
    talk.session.clear()
    talk.session.set_model("other/model")
    gate.open()

    assert (await turn.result()).text == "Because."
    assert talk.session.messages == []


def test_only_a_command_with_a_question_is_one() -> None:
    def found(prompt: str) -> str | None:
        request = question_in(TurnRequest(parts=(prompt,)))
        return None if request is None else request.prompt

    assert found("/btw why?") == "why?"
    assert found("  /BTW\nwhy\nso? ") == "why\nso?"
    assert found("/btw") is None
    assert found("/btwx y") is None
    assert found("say /btw why") is None
    assert question_in(TurnRequest(parts=("/btw x",), takes_commands=False)) is None
    assert question_in(TurnRequest(parts=("/btw x",), output_schema={"type": "object"})) is None
