"""A session: one turn at a time, a queue, and a cancel at every point of a turn."""

from __future__ import annotations

import pytest

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.events import Finished, PermissionResolved, TurnQueued, TurnStarted
from pygent_ls.agent.messages import ToolResultBlock
from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.errors import ModelError
from pygent_ls.sessions.event_stream import MAX_PENDING_CHARS
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import edit_file, read_file
from tests.fakes import Call, FakeApprover, FakeModel, Gate, bounded, say
from tests.sessions.conversation import Conversation, conversation
from tests.sessions.subscribers import Reader


def begins_and_ends_once(reader: Reader) -> bool:
    """What every turn's events do, however it ended."""
    types = reader.types
    if types[0] == "turn_queued":
        types = types[1:]
    return types[0] == "turn_started" and types.count("turn_started") == types.count("finished") == 1 == (
        types[-1] == "finished"
    )


def unanswered(talk: Conversation) -> set[str]:
    """Tool calls of the history without a result."""
    messages = talk.session.messages
    calls = {call.id for message in messages for call in message.tool_calls}
    blocks = [block for message in messages for block in message.blocks]
    return calls - {block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)}


# One turn


async def test_a_turn_tells_its_events_in_order_and_returns_its_text() -> None:
    talk = conversation([say("Hello there")])

    turn, reader = talk.start("hi")
    result = await turn.result()

    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "Hello there", 1)
    assert [kind for kind in reader.types if kind != "text_delta"] == ["turn_started", "text", "usage", "finished"]
    assert reader.events[0].event == TurnStarted(prompt="hi", model="fake/model", mode="default", agent="default")
    assert {each.turn_id for each in reader.events} == {turn.id}
    assert [each.seq for each in reader.events] == list(range(1, talk.session.last_seq + 1))


async def test_all_events_are_delivered_before_the_turn_returns_even_to_a_reader_that_does_not_read() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("Hello")]])
    turn, reader = talk.start()
    await gate.reached()
    reader.stop_reading()

    gate.open()
    await turn.result()

    assert begins_and_ends_once(reader)


async def test_turns_add_to_one_history_one_usage_and_one_row_of_numbers() -> None:
    talk = conversation([say("one"), say("two")])

    first, _ = talk.start("a")
    await first.result()
    before = talk.session.last_seq
    second, reader = talk.start("b")
    await second.result()

    assert [message.text for message in talk.session.messages] == ["a", "one", "b", "two"]
    assert talk.session.usage.total_tokens == 240
    assert reader.events[0].seq == before + 1
    assert (talk.session.usage.total_tokens, talk.session.usage.cost_usd) == (240, None)


async def test_a_session_tells_when_its_turn_starts_and_ends() -> None:
    talk = conversation([say("one")])

    await talk.turn()

    assert talk.changes == [("session-1", "turn_started"), ("session-1", "turn_finished")]
    assert talk.session.updated_at > talk.session.created_at


async def test_a_failed_model_call_is_a_result_and_the_session_goes_on() -> None:
    talk = conversation([[ModelError("no credit left", type="auth")], say("better")])

    turn, reader = talk.start()
    failed = await turn.result()

    assert failed.stop_reason == "error"
    assert failed.error is not None
    assert (failed.error.type, failed.error.message) == ("auth", "no credit left")
    assert begins_and_ends_once(reader)
    assert "llm_error" in reader.types
    assert (await talk.turn()).text == "better"


async def test_a_turn_may_have_a_model_of_its_own() -> None:
    talk = conversation([say("own")])

    turn, reader = talk.start(model="other/model")
    await turn.result()

    assert [each.event.model for each in reader.events if isinstance(each.event, TurnStarted)] == ["other/model"]
    assert talk.session.model == "fake/model"
    assert (await talk.turn()).text == "own"


async def test_a_model_that_cannot_be_had_is_refused_before_the_turn_begins() -> None:
    talk = conversation([say("own")])

    with pytest.raises(ModelError, match="there is no model nonsense"):
        talk.start(model="nonsense")
    with pytest.raises(ModelError, match="there is no model nonsense"):
        talk.session.set_model("nonsense")

    assert talk.session.last_seq == 0
    assert (await talk.turn()).text == "own"


async def test_another_model_counts_from_the_next_turn_on() -> None:
    talk = conversation([say("own")])
    talk.session.set_model("other/model")

    turn, reader = talk.start()
    await turn.result()

    assert reader.events[0].event == TurnStarted(prompt="go", model="other/model", mode="default", agent="default")


async def test_a_bug_before_the_turn_begins_ends_it_all_the_same() -> None:
    async def broken(wanted: PromptFor) -> str:
        raise ZeroDivisionError(wanted)

    talk = conversation([say("never")], make_system_prompt=broken)

    turn, reader = talk.start()
    with pytest.raises(ZeroDivisionError):
        await turn.result()

    assert begins_and_ends_once(reader)
    assert [each.event.stop_reason for each in reader.events if isinstance(each.event, Finished)] == ["error"]
    assert talk.session.running is None
    assert list(talk.session.waiting) == []


# The queue


async def test_a_second_turn_is_queued_at_once_and_runs_after_the_first() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("one")], say("two")])
    first, first_reader = talk.start("a")
    await gate.reached()

    second, second_reader = talk.start("b", mode="plan")
    await second_reader.until(1)
    assert second_reader.events[0].event == TurnQueued(prompt="b", model="fake/model", mode="plan", agent="default")
    assert [(each.turn_id, each.request.prompt) for each in talk.session.waiting] == [(second.id, "b")]
    assert talk.session.running is first.running

    gate.open()
    assert ((await first.result()).text, (await second.result()).text) == ("one", "two")
    assert "turn_queued" not in first_reader.types
    assert begins_and_ends_once(first_reader)
    assert begins_and_ends_once(second_reader)
    assert [message.text for message in talk.session.messages] == ["a", "one", "b", "two"]


async def test_queued_turns_run_in_the_order_in_which_they_came() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("0")], say("1"), say("2"), say("3")])
    turns = [talk.start(str(number))[0] for number in range(4)]
    await gate.reached()
    assert [each.request.prompt for each in talk.session.waiting] == ["1", "2", "3"]

    gate.open()

    assert [(await turn.result()).text for turn in turns] == ["0", "1", "2", "3"]


async def test_a_queued_turn_that_is_cancelled_never_runs_and_leaves_the_others() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("one")], say("three")])
    first, _ = talk.start("a")
    second, second_reader = talk.start("b")
    third, _ = talk.start("c")
    await gate.reached()
    await second_reader.until(1)

    assert talk.session.cancel(second.id)
    result = await second.result()

    assert (result.stop_reason, result.text, result.iterations) == ("cancelled", "", 0)
    assert second_reader.types == ["turn_queued", "turn_started", "cancelled", "finished"]
    gate.open()
    assert ((await first.result()).text, (await third.result()).text) == ("one", "three")
    assert [message.text for message in talk.session.messages] == ["a", "one", "c", "three"]


# Cancelling


async def test_a_turn_that_is_cancelled_before_it_began_still_begins_and_ends() -> None:
    talk = conversation([say("never")])

    turn, reader = talk.start()
    assert talk.session.cancel()
    result = await turn.result()

    assert result.stop_reason == "cancelled"
    assert reader.types == ["turn_started", "cancelled", "finished"]
    assert talk.model.requests == []
    assert (await talk.turn()).text == "never"


async def test_a_cancel_in_mid_stream_closes_the_stream_and_keeps_what_was_said() -> None:
    gate = Gate()
    talk = conversation([[TextChunk(text="half an "), gate, TextChunk(text="answer")], say("whole")])
    turn, reader = talk.start()
    await gate.reached()

    assert talk.session.cancel(turn.id)
    result = await turn.result()

    assert (result.stop_reason, result.text) == ("cancelled", "half an ")
    assert talk.model.open_streams == 0
    assert begins_and_ends_once(reader)
    assert reader.types[-2:] == ["cancelled", "finished"]
    assert (await talk.turn()).text == "whole"


async def test_a_cancel_while_a_tool_runs_leaves_every_call_with_a_result() -> None:
    gate = Gate()
    talk = conversation(
        [
            say(
                "",
                Call(name="edit_file", arguments={"path": "a.txt", "old": "a", "new": "b"}, id="1"),
                Call(name="read_file", arguments={"path": "a.txt"}, id="2"),
            ),
            say("on"),
        ],
        edit_file,
        read_file,
        files={"a.txt": "a"},
        mode="trust",
    )
    talk.rig.workspace.gate_before_apply = gate
    turn, reader = talk.start()
    await gate.reached()

    assert talk.session.cancel()
    result = await turn.result()

    assert result.stop_reason == "cancelled"
    assert unanswered(talk) == set()
    assert reader.types.count("tool_result") == 2
    assert begins_and_ends_once(reader)
    assert talk.rig.workspace.text("a.txt") == "a"
    assert (await talk.turn()).text == "on"


async def test_a_cancel_while_the_user_is_asked_withdraws_the_question() -> None:
    gate, approver = Gate(), FakeApprover()
    approver.gate = gate
    talk = conversation(
        [say("", Call(name="edit_file", arguments={"path": "a.txt", "old": "a", "new": "b"}, id="1"))],
        edit_file,
        files={"a.txt": "a"},
        approver=approver,
    )
    turn, reader = talk.start()
    await gate.reached()

    assert talk.session.cancel()
    result = await turn.result()

    assert result.stop_reason == "cancelled"
    assert approver.open_questions == 0
    outcomes = [each.event.outcome for each in reader.events if isinstance(each.event, PermissionResolved)]
    assert outcomes == ["cancelled"]
    assert unanswered(talk) == set()


async def test_cancelling_twice_is_one_cancel() -> None:
    gate = Gate()
    talk = conversation([[gate]])
    turn, reader = talk.start()
    await gate.reached()

    assert talk.session.cancel()
    assert talk.session.cancel()
    await turn.result()

    assert reader.types.count("cancelled") == 1


async def test_there_is_nothing_to_cancel_when_the_turn_is_over_or_has_another_id() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("done")]])
    turn, _ = talk.start()
    await gate.reached()
    assert not talk.session.cancel("turn-of-another-session")

    gate.open()
    await turn.result()

    assert not talk.session.cancel(turn.id)
    assert not talk.session.cancel()
    assert not turn.running.cancel()


async def test_a_turn_that_is_cancelled_while_its_reader_does_not_read_ends() -> None:
    gate = Gate()
    talk = conversation([[gate]])
    turn, reader = talk.start()
    await gate.reached()
    reader.stop_reading()

    assert talk.session.cancel()
    await turn.result()

    assert begins_and_ends_once(reader)


async def test_a_turn_that_waits_for_its_reader_can_be_cancelled_and_the_next_one_runs() -> None:
    summary = say("What was said before.")
    talk = conversation([say("x" * MAX_PENDING_CHARS + "y"), summary, say("two")])
    reader = Reader()
    reader.stop_reading()
    running = talk.session.start_turn(TurnRequest(parts=("one",)), reader)
    second, _ = talk.start("two")
    for _ in range(5):
        await reader.asked()

    assert talk.session.cancel()

    assert running.task is not None
    assert (await bounded(running.task)).stop_reason == "cancelled"
    assert begins_and_ends_once(reader)
    assert (await second.result()).text == "two"


async def test_closing_a_session_cancels_what_runs_and_what_waits() -> None:
    gate = Gate()
    talk = conversation([[gate], say("never")])
    turns = [talk.start(), talk.start(), talk.start()]
    await gate.reached()

    await bounded(talk.session.close())

    assert [(await turn.result()).stop_reason for turn, _ in turns] == ["cancelled"] * 3
    assert talk.model.open_streams == 0
    assert len(talk.model.requests) == 1
    assert all(begins_and_ends_once(reader) for _, reader in turns)


# Modes


async def test_a_mode_that_is_set_while_a_turn_runs_counts_from_its_next_check() -> None:
    gate = Gate()
    edit = {"path": "a.txt", "old": "a", "new": "b"}
    talk = conversation(
        [[gate, *say("", Call(name="edit_file", arguments=edit))], say("done")],
        edit_file,
        files={"a.txt": "a"},
        mode="default",
    )
    turn, reader = talk.start()
    await gate.reached()

    talk.session.permissions.set_mode("accept_edits")
    gate.open()
    await turn.result()

    assert talk.rig.approver.requests == []
    assert "permission_requested" not in reader.types
    assert talk.rig.workspace.text("a.txt") == "b"


async def test_a_turns_own_mode_ends_with_it() -> None:
    talk = conversation([say("one"), say("two")])

    await talk.turn(mode="plan")

    assert talk.session.permissions.mode == "default"
    marks = talk.rig.services.memory.marks
    assert [request.system for request in talk.model.requests] == [marks.explained("You are in mode plan.")]
    await talk.turn()
    assert talk.model.requests[1].system == marks.explained("You are in mode default.")


async def test_a_model_keeps_its_place_from_turn_to_turn() -> None:
    model = FakeModel([say("one"), say("two")])
    talk = conversation(model)

    assert [(await talk.turn()).text, (await talk.turn()).text] == ["one", "two"]
