"""Sessions that are kept beside others, and in files: `/session`, `/search`, `/save`, `/load`, `/export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from tests.fakes import Call, say
from tests.sessions.shelf import Shelf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    return made


SECRET = "AKIA" + "Q3EGW7MJ5NPXU4TR"


def said(session: Session) -> list[str]:
    return [message.text for message in session.messages]


# Sessions


async def test_a_session_that_begins_anew_keeps_what_was_before_as_one_of_its_own(folder: Path) -> None:
    shelf = Shelf(folder, [say("one"), say("two")])
    await shelf.say("first")

    begun = await shelf.text("/session new Other things")
    _, kept = shelf.sessions.all()
    await shelf.say("second")

    assert begun == (
        f"Started a new conversation. The previous conversation is saved; `/session load {kept.id}` restores it."
    )
    assert (said(kept), kept.name) == (["first", "one"], "first")
    assert (said(shelf.session), shelf.session.name) == (["second", "two"], "Other things")
    assert (shelf.session.id, "renamed") in shelf.changes


async def test_a_session_is_loaded_here_by_the_beginning_of_its_id_and_the_other_stays_as_it_is(folder: Path) -> None:
    shelf = Shelf(folder, [say("one"), say("two"), say("on")])
    await shelf.say("first")
    await shelf.text("/session new")
    await shelf.say("second")
    _, kept = shelf.sessions.all()

    loaded = await shelf.text(f"/session load {kept.id[:8]}")
    await shelf.say("go on")

    assert loaded.startswith(f"Continuing from `{kept.id}` first: 2 messages. The previous conversation is saved; ")
    assert said(shelf.session) == ["first", "one", "go on", "on"]
    assert said(kept) == ["first", "one"]
    assert [said(each) for each in shelf.sessions.all()[2:]] == [["second", "two"]]


async def test_an_undo_in_a_conversation_from_elsewhere_says_that_files_stay(folder: Path) -> None:
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    shelf = Shelf(folder, [say("", edit), say("done")])
    other = shelf.sessions.new(NewSession())
    await shelf.say("change it", session=other)
    await shelf.text(f"/session load {other.id}")

    undone = await shelf.text("/undo")

    assert "Files that are not listed here were not changed" in undone
    assert (folder / "a.txt").read_text() == "two\n"
    assert said(shelf.session) == []


async def test_a_fork_has_the_conversation_to_the_end_of_a_turn_by_its_number(folder: Path) -> None:
    shelf = Shelf(folder, [say("one"), say("two")])
    await shelf.say("first")
    await shelf.say("second")

    forked = await shelf.text("/session fork 1")
    whole = await shelf.text("/session fork")

    _, at_first, at_end = shelf.sessions.all()
    assert forked.startswith(f"Created `{at_first.id}` first (fork), a separate copy with 2 messages.")
    assert whole.startswith(f"Created `{at_end.id}` first (fork), a separate copy with 4 messages.")
    assert (said(at_first), len(said(shelf.session))) == (["first", "one"], 4)


async def test_sessions_are_listed_renamed_and_forgotten_but_for_this_one(folder: Path) -> None:
    shelf = Shelf(folder, [say("one")])
    await shelf.say("first")
    await shelf.text("/session fork")
    other = shelf.sessions.all()[1]

    by_prompt = await shelf.text("/session rename")
    renamed = await shelf.text("/session rename  Better \n name")
    listed = await shelf.text("/session")
    own = await shelf.say(f"/session delete {shelf.session.id}")
    deleted = await shelf.text("/session delete first (fork)")

    assert (by_prompt, renamed) == ("Session renamed to 'first'.", "Session renamed to 'Better name'.")
    first, *lines = listed.splitlines()
    assert first == "Most recently used first:"
    assert lines[0].startswith(f"- `{shelf.session.id}` Better name: 2 messages, ")
    assert lines[0].endswith(" (this one)")
    assert lines[1].startswith(f"- `{other.id}` first (fork): 2 messages, ")
    assert own.text.startswith("This is the current session; `/clear` clears it.")
    assert deleted == f"`{other.id}` first (fork) was deleted."
    assert shelf.sessions.all() == [shelf.session]


async def test_words_are_searched_in_all_sessions(folder: Path) -> None:
    shelf = Shelf(folder, [say("The Zygote question is settled."), say("other")])
    await shelf.say("tell me")
    await shelf.text("/session new")
    await shelf.say("unrelated")
    kept = shelf.sessions.all()[1]

    found = await shelf.text("/search zygote settled")
    nothing = await shelf.text("/search zygote unrelated")

    assert found.splitlines() == [
        "Turns that contain all of: zygote settled",
        f"- `{kept.id}` tell me: tell me The Zygote question is settled.",
    ]
    assert nothing == "No turn contains all of: zygote unrelated"


# Files


async def test_a_session_is_saved_to_a_file_and_loaded_from_it_whole(folder: Path) -> None:
    read = Call(name="read_file", arguments={"path": "a.txt"})
    shelf = Shelf(folder, [say("", read, thinking="hm"), say("it says one"), say("on")])
    await shelf.say("what does it say?")
    before = list(shelf.session.messages)

    saved = await shelf.text("/save notes/talk.json")
    content = json.loads((folder / "notes" / "talk.json").read_text())
    await shelf.text("/clear")
    loaded = await shelf.text("/load notes/talk.json")

    assert saved == "Wrote 4 messages to `notes/talk.json`. `/load notes/talk.json` loads it."
    assert list(content) == [
        "version",
        "id",
        "name",
        "created",
        "updated",
        "working_directory",
        "agent",
        "model",
        "context_format",
        "messages",
        "metadata",
    ]
    assert content["metadata"] == {"tokens_used": 240, "cost_usd": None}
    assert (content["version"], content["id"], content["working_directory"]) == (1, shelf.session.id, str(folder))
    assert loaded == "Continuing from `notes/talk.json`, what does it say?: 4 messages."
    assert [_comparable(each) for each in shelf.session.messages] == [_comparable(each) for each in before]
    assert (await shelf.say("go on")).text == "on"


def _comparable(message: Message) -> tuple[object, ...]:
    """Plain text is a block in a file."""
    return message.role, message.blocks, message.turn_id, message.timestamp


async def test_a_file_that_is_there_stays_unless_it_is_said_that_it_shall_not(folder: Path) -> None:
    shelf = Shelf(folder, [say("one")])
    await shelf.say("first")

    refused = await shelf.say("/save a.txt")
    outside = await shelf.say("/save ../elsewhere.json")
    kept = (folder / "a.txt").read_text()
    forced = await shelf.text("/save a.txt --force")

    assert refused.text == "`a.txt` already exists and was not changed. Name another file, or add `--force`."
    assert (refused.stop_reason, outside.stop_reason) == ("error", "error")
    assert not (folder.parent / "elsewhere.json").exists()
    assert kept == "one\n"
    assert forced.startswith("Wrote 2 messages to `a.txt`")


async def test_without_a_name_a_file_is_named_after_the_session(folder: Path) -> None:
    shelf = Shelf(folder, [say("one")])
    await shelf.say("Mend the parser: dates!")

    assert (await shelf.text("/save")).startswith("Wrote 2 messages to `mend-the-parser-dates.pygent.json`")


async def test_a_conversation_is_shown_or_written_as_text(folder: Path) -> None:
    shelf = Shelf(folder, [say("one ```code```")])
    await shelf.say("first")

    shown = await shelf.text("/export markdown")
    plain = await shelf.text("/export plain")
    written = await shelf.text("/export xml 'my talk.xml'")

    assert shown == "## User\n\nfirst\n\n## Assistant\n\none ```code```\n"
    assert plain == "````text\nUser: first\nAssistant: one ```code```\n````"
    assert written == "Wrote 2 messages to `my talk.xml`."
    assert (folder / "my talk.xml").read_text().startswith('<conversation>\n<message role="user">first</message>')


VALID: dict[str, object] = {
    "version": 1,
    "id": "x",
    "name": "Saved",
    "created": "2026-01-01T00:00:00Z",
    "updated": "2026-01-01T00:00:00Z",
    "messages": [],
}


def message(role: str, *blocks: object) -> dict[str, object]:
    return {"role": role, "content": list(blocks), "timestamp": "2026-01-01T00:00:00Z"}


CALL: dict[str, object] = {"type": "tool_use", "id": "c", "name": "read_file", "input": {}}
RESULT = {"type": "tool_result", "toolUseId": "c", "content": "x"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ("[" * 100_000, "it is nested too deeply"),
        ({**VALID, "version": 2}, "its `version` is 2, but this program reads 1"),
        ({"version": 1}, "id: it is missing"),
        ({**VALID, "messages": [{"role": "system", "content": "x"}]}, "messages.0.role: "),
        ({**VALID, "messages": [message("user", {"type": "film"})]}, "messages.0.content.0.type: "),
        ({**VALID, "messages": [message("assistant", CALL)]}, "the tool calls c at its end have no results"),
        (
            {**VALID, "messages": [message("user", RESULT)]},
            "messages.0: it answers the tool calls c, but the preceding",
        ),
        (
            {**VALID, "messages": [message("assistant", CALL), message("user", RESULT, RESULT)]},
            "messages.1: it answers the tool calls c, c, but the preceding calls are c",
        ),
        (
            {**VALID, "messages": [message("assistant", CALL), message("user", RESULT)] * 2},
            "messages.2: the id of a tool call is not unique",
        ),
        (
            {**VALID, "messages": [message("user", CALL)]},
            "messages.0: only a message of the assistant may contain a tool call",
        ),
    ],
)
async def test_a_file_that_is_no_saved_session_says_why_and_changes_nothing(
    folder: Path, content: object, says: str
) -> None:
    shelf = Shelf(folder, [say("one")])
    await shelf.say("first")
    (folder / "x.json").write_text(content if isinstance(content, str) else json.dumps(content))

    result = await shelf.say("/load x.json")

    assert result.stop_reason == "error"
    assert result.text.startswith("`x.json` is not a saved session: ")
    assert says in result.text
    assert said(shelf.session) == ["first", "one"]
    assert shelf.sessions.all() == [shelf.session]


async def test_a_file_that_is_not_there_or_lies_outside_is_not_loaded(folder: Path) -> None:
    shelf = Shelf(folder)
    (folder.parent / "x.json").write_text(json.dumps(VALID))

    missing, outside = await shelf.say("/load none.json"), await shelf.say("/load ../x.json")

    assert (missing.stop_reason, outside.stop_reason) == ("error", "error")
    assert "none.json" in missing.text


async def test_what_a_loaded_file_holds_goes_on_without_its_secrets(folder: Path) -> None:
    call = {**CALL, "input": {"text": [f"key {SECRET}"]}}
    messages = [
        message("user", {"type": "text", "text": f"use {SECRET}"}),
        message("assistant", call),
        message("user", {**RESULT, "content": f"it was {SECRET}"}),
        message("assistant", {"type": "text", "text": "fine"}),
    ]
    (folder / "x.json").write_text(json.dumps({**VALID, "messages": messages}))
    shelf = Shelf(folder, redactor=Redactor(find_secrets, key=b"k"))

    await shelf.text("/load x.json")

    texts = [
        block.text if isinstance(block, TextBlock) else block.content if isinstance(block, ToolResultBlock) else ""
        for each in shelf.session.messages
        for block in each.blocks
    ]
    inputs = [
        str(block.input) for each in shelf.session.messages for block in each.blocks if isinstance(block, ToolUseBlock)
    ]
    assert len(shelf.session.messages) == 4
    assert SECRET not in "".join([*texts, *inputs])
    assert all("{{SECRET_" in text for text in (texts[0], texts[2], *inputs))
