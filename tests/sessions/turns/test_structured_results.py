"""What a session makes of a turn that owes a value."""

from __future__ import annotations

import pytest

from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.errors import SessionError
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import Call, bounded, say
from tests.sessions.conversation import Conversation, conversation
from tests.sessions.subscribers import Reader

GIVE = Call(name="structured_output", arguments={"value": 7})
NUMBER = {"type": "integer"}


async def result_of(talk: Conversation, request: TurnRequest) -> TurnResult:
    task = talk.session.start_turn(request, Reader()).task
    assert task is not None
    return await bounded(task)


async def test_the_next_turn_owes_nothing_and_is_offered_nothing() -> None:
    talk = conversation([say("", GIVE), say("Seven.")])

    first = await result_of(talk, TurnRequest(parts=("how many?",), output_schema=NUMBER))
    second = await result_of(talk, TurnRequest(parts=("in words?",)))

    assert (first.structured, second.structured) == (Structured(value=7), None)
    assert [[tool.name for tool in request.tools] for request in talk.model.requests] == [["structured_output"], []]


async def test_only_the_tools_that_a_request_wants_and_this_one() -> None:
    talk = conversation([say("", GIVE)])
    request = TurnRequest(parts=("how many?",), output_schema=NUMBER, tools=("read_file",))
    assert (await result_of(talk, request)).structured == Structured(value=7)


async def test_a_bad_schema_starts_no_turn() -> None:
    talk = conversation([say("never")])
    with pytest.raises(SessionError, match="is not a valid JSON Schema"):
        talk.session.start_turn(TurnRequest(parts=("go",), output_schema={"type": 7}), Reader())
    assert (talk.session.running, talk.session.waiting, talk.session.messages) == (None, [], [])


async def test_a_command_says_that_it_answers_with_words() -> None:
    talk = conversation([say("never")])
    result = await result_of(talk, TurnRequest(parts=("/help",), output_schema=NUMBER))
    assert (result.stop_reason, result.structured, talk.model.requests) == ("error", None, [])
    assert result.text == (
        "A slash command answers with text and cannot be combined with an output schema. Remove one of the two."
    )
