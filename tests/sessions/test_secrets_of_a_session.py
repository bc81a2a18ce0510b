"""Secrets in what the user writes and attaches, and in what a session tells of itself."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.context.attachments import FilePart
from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import PLACEHOLDER, Redactor
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import FILE_TOOLS, place
from tests.fakes import Call, FakeApprover, Gate, bounded, say
from tests.sessions.conversation import conversation
from tests.sessions.subscribers import Reader

KEY = "AKIA" + "Q3EGW7MJ5NPXU4TR"


def redactor() -> Redactor:
    return Redactor(find_secrets, key=b"k")


async def test_a_key_in_the_users_own_words_reaches_neither_the_model_nor_an_event_and_can_be_written() -> None:
    async def use_the_key(_: PromptFor) -> str:
        return f"The user's instructions: use {KEY}."

    mark = await redactor().redact(KEY)
    write = Call(name="create_file", arguments={"path": "key.txt", "content": f"key: {mark}\n"})
    talk = conversation(
        [say("", write), say("done")],
        *FILE_TOOLS,
        approver=FakeApprover(otherwise="allow_once"),
        redactor=redactor(),
        make_system_prompt=use_the_key,
    )

    turn, reader = talk.start(f"put {KEY} into key.txt")
    await turn.result()

    assert talk.rig.workspace.text("key.txt") == f"key: {KEY}\n"
    assert talk.model.requests[0].messages[0].text == f"put {mark} into key.txt"
    assert turn.running.prompt == f"put {mark} into key.txt"
    assert KEY not in repr([reader.events, talk.model.requests, talk.session.messages])


async def test_a_waiting_prompt_is_shown_without_its_key_and_so_is_one_that_never_ran() -> None:
    gate = Gate()
    talk = conversation([[gate, *say("one")]], redactor=redactor())
    first, _ = talk.start("a")
    await gate.reached()

    second, reader = talk.start(f"use {KEY}")
    await reader.until(1)
    assert [PLACEHOLDER.sub("…", each.prompt) for each in talk.session.waiting] == ["use …"]
    talk.session.cancel(second.id)
    await second.result()
    gate.open()
    await first.result()

    assert reader.types == ["turn_queued", "turn_started", "cancelled", "finished"]
    assert KEY not in repr(reader.events)


async def test_an_attached_env_file_is_read_without_its_values() -> None:
    talk = conversation([say("ok")], files={".env": f"A={KEY}\nDB_PASS=abc\nREGION=eu\n"}, redactor=redactor())
    request = TurnRequest(parts=(FilePart(path=place(".env")), "what is this?"))

    running = talk.session.start_turn(request, Reader())
    assert running.task
    await bounded(running.task)

    (sent,) = talk.model.requests
    assert KEY not in repr(sent)
    assert "DB_PASS=abc" not in repr(sent)
    assert "REGION={{SECRET_region_" in repr(sent)


async def test_what_differs_from_a_checkpoint_is_shown_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("one\n")
    write = Call(name="edit_file", arguments={"path": "a.conf", "old": "one", "new": "two"})
    talk = conversation(
        [say("", write), say("done")],
        *FILE_TOOLS,
        approver=FakeApprover(otherwise="allow_once"),
        folder=tmp_path,
        redactor=redactor(),
    )
    await talk.turn()
    (tmp_path / "a.conf").write_text(f"two\napi_key = {KEY}\n")

    (diff,) = await talk.session.diff(talk.session.checkpoints[0])

    assert "+api_key = {{SECRET_" in diff.patch
    assert KEY not in diff.patch
