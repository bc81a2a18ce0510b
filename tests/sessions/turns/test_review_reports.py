"""What the user rejected of the agent's edits reaches the model, the journal and every view as a message of its own."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.context.attachments import ReviewPart
from pygent_ls.agent.events import PromptAttachment, Steered, TurnStarted
from pygent_ls.agent.messages import RejectedFile, TextBlock, rejections_in_words
from pygent_ls.llm.anthropic.request import anthropic_messages
from pygent_ls.llm.openai.chat_format import chat_messages
from pygent_ls.sessions.steering import steer
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import Gate, bounded, say
from tests.sessions.conversation import conversation
from tests.sessions.journal.kept import daemon, journal_of
from tests.sessions.subscribers import Reader

PRICES = RejectedFile(uri="file:///w/prices.py", n_changes=1)
REPORT = ReviewPart(text="I took this back:\n+x = 1", files=(PRICES,))
SHOWN = PromptAttachment(kind="review", text=REPORT.text, rejected=REPORT.files)


async def test_a_report_is_a_block_of_its_own_before_the_words_that_it_came_with() -> None:
    talk = conversation([say("done")])
    reader = Reader()
    turn = talk.session.start_turn(TurnRequest(parts=("explain it", REPORT)), reader)
    assert turn.task is not None
    await bounded(turn.task)

    asked = talk.session.messages[0]
    assert asked.blocks == (TextBlock(text=REPORT.text, rejected=(PRICES,)), TextBlock(text="explain it"))
    assert asked.text == "explain it"
    started = reader.events[0].event
    assert isinstance(started, TurnStarted)
    assert (started.prompt, started.attachments) == ("explain it", (SHOWN,))
    assert anthropic_messages(talk.model.requests[0].messages, thinking=False)[0]["content"][:2] == [
        {"type": "text", "text": REPORT.text},
        {"type": "text", "text": "explain it"},
    ]
    assert f"{REPORT.text}\n\nexplain it" in str(chat_messages("", talk.model.requests[0].messages)[0]["content"])


async def test_a_report_alone_steers_the_running_turn_and_is_nobodys_words() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("one")], say("two")])
    turn, reader = talk.start("go")
    await gate.reached()

    assert await steer(talk.session, turn.id, (REPORT,))
    gate.open()
    await turn.result()

    steered = [each.event for each in reader.events if isinstance(each.event, Steered)]
    assert steered == [Steered(content="", attachments=(SHOWN,))]
    assert TextBlock(text=REPORT.text, rejected=(PRICES,)) in talk.model.requests[1].messages[-1].blocks


async def test_a_report_outlives_the_daemon_in_a_message_and_in_a_prompt_that_waits(tmp_path: Path) -> None:
    gate = Gate()
    async with daemon(tmp_path, [say("done"), [gate, *say("late")]]) as kept:
        session = kept.new()
        first = session.start_turn(TurnRequest(parts=("explain it", REPORT)), Reader())
        assert first.task is not None
        await bounded(first.task)
        session.start_turn(TurnRequest(parts=("go",)), Reader())
        await gate.reached()
        reader = Reader()
        session.start_turn(TurnRequest(parts=("and then", REPORT), turn_id="waits"), reader)
        await reader.until(1)
        data = (tmp_path / f"{session.id}.jsonl").read_bytes()
        gate.open()

    with journal_of(data, session.id) as root:
        async with daemon(root) as later:
            again = await later.sessions.hold(session.id)
            assert TextBlock(text=REPORT.text, rejected=(PRICES,)) in again.messages[0].blocks
            (held,) = again.held
            assert held.attachments == (REPORT,)
            assert held.told.attachments == (SHOWN,)


def test_what_was_rejected_is_said_in_one_line() -> None:
    others = [RejectedFile(uri=f"file:///w/{name}", n_changes=2) for name in ("tax%20rate.py", "c.py")]

    assert rejections_in_words((PRICES,)) == "You rejected 1 change in prices.py"
    assert rejections_in_words((PRICES, others[0])) == "You rejected 3 changes in prices.py and tax rate.py"
    assert rejections_in_words((PRICES, *others)) == "You rejected 5 changes in 3 files"
