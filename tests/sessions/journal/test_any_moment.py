"""Whatever was done with a session: a kill in that moment leaves on the disk what there was in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.context.window import ContextRules
from pygent_ls.agent.messages import Usage
from pygent_ls.sessions.checkpoints.rewind import RewindTarget
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun
from pygent_ls.sessions.journal.replay import Recalled
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.session_parts import SessionParts
from pygent_ls.tools.tasks import plan
from tests.agent.abilities import edit_file
from tests.fakes import Call, bounded, say
from tests.sessions.conversation import LIMITS, conversation

USAGE = Usage(input_tokens=400, output_tokens=500)
LONG = "word " * 400

PLANNING = say("", Call(name="plan", arguments={"entries": [{"content": "look", "status": "in_progress"}]}))


def edit(old: str, new: str) -> Call:
    return Call(name="edit_file", arguments={"path": "a.txt", "old": old, "new": new})


SCRIPT = (
    *(PLANNING, say(f"Planned. {LONG}", usage=USAGE)),
    *(say("", edit("one", "two")), say(f"Done. {LONG}", usage=USAGE)),
    *(say("", edit("two", "three")), say(f"Done. {LONG}", usage=USAGE)),
    say("SUMMARY", usage=USAGE),
    say("After it went back."),
    say("After it was emptied."),
)


def facts(session: Session | Recalled) -> Mapping[str, object]:
    is_live = isinstance(session, Session)
    return {
        "messages": list(session.messages),
        "plan": session.services.memory.plan.entries if is_live else session.plan,
        "usage": (session.usage, session.last_turn_usage),
        "moments": (session.created_at, session.updated_at),
        "name, model, mode": (session.name, session.model, session.mode),
        "last_seq": session.last_seq,
    }


async def test_what_is_on_the_disk_is_at_any_moment_what_there_is_in_memory(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")

    def change(parts: SessionParts) -> SessionParts:
        return replace(
            parts, limits=replace(LIMITS, model=replace(LIMITS.model, context=ContextRules(max_tokens=40_000)))
        )

    talking = conversation(SCRIPT, edit_file, plan, mode="accept_edits", folder=folder, change=change)
    model = talking.model.name
    session, journals = talking.session, JournalFolder(tmp_path / "sessions")
    begun = Begun(id=session.id, created=session.created_at, working_directory=session.working_directory)
    session.keep_in(journals.create(begun))

    def check(n_messages: int, text: str) -> None:
        assert facts(journals.recall(session.id)) == facts(session)
        assert (len(session.messages), (folder / "a.txt").read_text()) == (n_messages, f"{text}\n")

    for n_turns, text in enumerate(("one", "two", "three"), 1):
        await talking.turn(f"question {n_turns}")
        check(4 * n_turns, text)
    await bounded(session.compact())
    assert [each.summary[:7] for each in journals.recall(session.id).compactions] == ["SUMMARY"]
    check(12, "three")
    await bounded(session.undo())
    check(8, "two")
    await bounded(session.undo())
    check(4, "one")
    await bounded(session.restorer.redo())
    check(8, "two")
    await talking.turn("and then?")
    check(10, "two")
    await bounded(session.restore(session.checkpoints[0], RewindTarget(files=True, conversation=False)))
    check(11, "one")
    await bounded(session.restore(session.checkpoints[0], RewindTarget(files=True, conversation=True)))
    check(4, "one")
    session.rename("another")
    session.set_model("other/model")
    session.changed("configured")
    check(4, "one")
    session.clear()
    check(0, "one")
    session.set_model(model)
    await talking.turn("once more")
    check(2, "one")
    await bounded(session.restore(session.checkpoints[-1], RewindTarget(files=False, conversation=True)))
    check(11, "one")
    await bounded(session.close())
    check(11, "one")
