"""A session's context between its turns: reported, compacted by hand, and right after going back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.window import ContextMode, ContextRules
from pygent_ls.agent.events import Compacted, Notice
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.hooks import HookOutcome, Hooks
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun
from pygent_ls.sessions.turns.context import ContextReport
from pygent_ls.sessions.turns.session_parts import SessionParts
from tests.fakes import Gate, Step, bounded, say
from tests.hooks import FakeHooks, deny
from tests.sessions.conversation import LIMITS, Conversation, conversation

LONG = "word " * 400
"""500 tokens."""


def talk(
    *last: Sequence[Step],
    n_turns: int = 4,
    summarizer: str = "",
    folder: Path | None = None,
    hooks: Hooks | None = None,
) -> Conversation:
    """A session whose first answers are long, and whose window holds 4,000 tokens."""

    def change(parts: SessionParts) -> SessionParts:
        limits = replace(
            LIMITS, model=replace(LIMITS.model, context=ContextRules(max_tokens=4_000)), summarizer=summarizer
        )
        return replace(parts, limits=limits)

    usage = Usage(input_tokens=400, output_tokens=500)
    script = [say(f"answer {n} {LONG}", usage=usage) for n in range(n_turns)]
    return conversation([*script, *last], change=change, folder=folder, hooks=hooks)


async def talked(*last: Sequence[Step], n_turns: int = 4, summarizer: str = "") -> Conversation:
    talking = talk(*last, n_turns=n_turns, summarizer=summarizer)
    for number in range(n_turns):
        await talking.turn(f"question {number}")
    return talking


def sent_last(talking: Conversation) -> str:
    return "".join(message.text for message in talking.model.requests[-1].messages)


async def test_compacted_by_hand_the_next_turn_goes_on_from_the_summary() -> None:
    talking = await talked(say("SUMMARY"), say("done"))
    before = list(talking.session.messages)

    done = await bounded(talking.session.compact("keep the numbers"))
    await talking.turn("question 4")

    assert done.tokens_after < done.tokens_before
    assert talking.session.messages[: len(before)] == before
    sent = sent_last(talking)
    assert "SUMMARY" in sent
    assert "question 2" in sent
    assert "answer 2" not in sent
    assert "answer 3" in sent, "the last exchange stays"


async def test_what_it_costs_counts_for_the_session() -> None:
    talking = await talked(say("SUMMARY", usage=Usage(input_tokens=1_000, output_tokens=11)))
    await bounded(talking.session.compact())
    usage = talking.session.usage
    assert usage.total_tokens == 4 * 900 + 1_011
    assert usage.context_tokens == talking.session.context.report().tokens < 1_500, "not what summing up has taken"


async def test_a_compaction_by_hand_that_fails_leaves_all_as_it_was_and_may_be_asked_for_again() -> None:
    talking = await talked([ModelError("no luck", type="auth")], say("SUMMARY"))
    context = talking.session.context
    before = context.report()

    with pytest.raises(ModelError, match="no luck"):
        await bounded(talking.session.compact())

    assert context.report() == before
    assert isinstance(await bounded(talking.session.compact()), Compacted)
    with pytest.raises(SessionError, match="nothing to compact"):
        await bounded(talking.session.compact())


async def test_a_hook_that_denies_a_compaction_by_hand_is_named_and_may_be_asked_again() -> None:
    answers = [deny("the branch is not pushed"), HookOutcome()]
    hooks = FakeHooks({"pre_compact": lambda _: answers.pop(0)})
    talking = talk(say("SUMMARY"), hooks=hooks)
    for number in range(4):
        await talking.turn(f"question {number}")

    with pytest.raises(SessionError, match=r"A hook that you configured .* the branch is not pushed") as refused:
        await bounded(talking.session.compact())

    assert refused.value.kind == "denied_by_hook"
    assert isinstance(await bounded(talking.session.compact()), Compacted)
    assert [each.reason for each in hooks.given] == ["manual", "manual"]


async def test_a_command_compacts_tells_of_it_and_can_be_cancelled() -> None:
    gate = Gate()
    talking = await talked([gate, *say("never")], say("SUMMARY"))
    turn, _ = talking.start("/compact")
    await gate.reached()
    assert turn.running.cancel()
    assert (await turn.result()).stop_reason == "cancelled"

    turn, reader = talking.start("/compact the numbers")
    result = await turn.result()

    assert result.stop_reason == "end_turn"
    assert result.usage.total_tokens == 120
    assert reader.types == ["turn_started", "notice", "compacted", "usage", "text_delta", "text", "finished"]
    assert result.usage.context_tokens == talking.session.context.report().tokens
    assert result.usage.context_limit == 4_000
    assert [each.total_tokens for each in reader.events] == [0, 0, 0, 120, 120, 120, 120]


async def test_the_report_says_how_full_the_window_is() -> None:
    talking = await talked(say("SUMMARY"))
    assert talking.session.context.report() == ContextReport(
        mode="continue",
        n_messages=8,
        n_sent=8,
        n_replaced=0,
        tokens=900,
        limit=4_000,
        strategy="summarize",
        compacts_at=3_200,
    )

    await bounded(talking.session.compact())

    after = talking.session.context.report()
    assert (after.n_messages, after.n_sent, after.n_replaced) == (8, 2, 7)


@pytest.mark.parametrize(("mode", "n_sent"), [("fresh", 2), ("sliding", 8), ("continue", 8)])
async def test_a_session_may_have_a_mode_of_its_own(mode: ContextMode, n_sent: int) -> None:
    talking = await talked()
    talking.session.context.mode = mode
    assert talking.session.context.report().n_sent == n_sent


async def test_the_model_of_the_settings_sums_up() -> None:
    talking = await talked(summarizer="other/model")
    other = talking.models["other/model"]
    with pytest.raises(ModelError, match="the script is over"):
        await bounded(talking.session.compact())
    assert len(other.requests) == 1


async def test_one_that_cannot_be_had_is_told_of_and_the_turns_own_sums_up() -> None:
    talking = talk(say("SUMMARY"), summarizer="none/such")
    turn, reader = talking.start("question")
    await turn.result()
    told = [each.event.content for each in reader.events if isinstance(each.event, Notice)]
    assert told == [
        "compaction.model none/such is not available, so the model of the turn writes the summary: there is no "
        "model none/such"
    ]


async def test_a_turn_that_is_taken_back_leaves_the_right_context(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    talking = talk(say("SUMMARY"), say("late"), say("later"), say("again"), folder=folder)
    for number in range(4):
        await talking.turn(f"question {number}")
    await bounded(talking.session.compact())
    await talking.turn("question 4")
    assert "SUMMARY" in sent_last(talking)

    for _ in range(2):  # the turn after the compaction, and one that it is of
        await bounded(talking.session.undo())
    await talking.turn("question 5")

    sent = sent_last(talking)
    assert "SUMMARY" not in sent
    assert "answer 2" in sent
    assert "question 3" not in sent


async def test_a_cleared_session_begins_anew() -> None:
    talking = await talked(say("SUMMARY"), say("done"))
    await bounded(talking.session.compact())
    talking.session.clear()
    await talking.turn("a new question")
    assert sent_last(talking) == "a new question"


async def kept_in(folder: Path, talking: Conversation) -> JournalFolder:
    """A long conversation, whose journal is there."""
    session, journals = talking.session, JournalFolder(folder)
    begun = Begun(id=session.id, created=session.created_at, working_directory=session.working_directory)
    session.keep_in(journals.create(begun))
    for number in range(4):
        await talking.turn(f"question {number}")
    return journals


async def test_a_compaction_by_hand_is_kept_at_once(tmp_path: Path) -> None:
    talking = talk(say("SUMMARY", usage=Usage(input_tokens=9)))
    journals = await kept_in(tmp_path, talking)

    await bounded(talking.session.compact())

    found = journals.recall(talking.session.id)  # as after a kill in this moment
    assert [each.summary for each in found.compactions] == ["SUMMARY"]
    assert (found.usage, found.updated_at) == (talking.session.usage, talking.session.updated_at)
    await bounded(talking.session.close())


async def test_a_session_that_is_closed_while_it_is_compacted_keeps_what_came_of_that(tmp_path: Path) -> None:
    gate = Gate()
    talking = talk([gate, *say("SUMMARY")])
    journals = await kept_in(tmp_path, talking)
    compacting = asyncio.create_task(talking.session.compact())
    await bounded(gate.reached())

    closing = asyncio.create_task(talking.session.close())
    gate.open()
    await bounded(closing)
    talking.session.journal.close()

    assert isinstance(await bounded(compacting), Compacted)
    assert [each.summary for each in journals.recall(talking.session.id).compactions] == ["SUMMARY"]
