"""A chat document is a client of its own: its lens, its session, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.errors import ModelError
from tests.editors.lsp.chat_document.conversation import (
    WITH_PROGRESS,
    answered,
    chat_in,
    command,
    lens_of,
    said_to_the_model,
    send,
    told,
)
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, WireError, connected
from tests.fakes import Call, Gate, say

START = "## You\n\nWhy?\n"
TALK = (
    "notes\n\n## You\n\nWhy?\n\n## pygent\n\n> tool: ls\n\nSince.\n\n*The turn ended: cancelled*\n\n"
    "## You\n\nAnd then?\n"
)

NOTHING = {"sessionId": None, "turnId": None}
"""Result for a prompt that is not sent."""


async def refused(editor: Editor, name: str, *arguments: object) -> str:
    with pytest.raises(WireError) as raised:
        await command(editor, name, *arguments)
    assert raised.value.code == -32602
    return raised.value.message


async def actions(editor: Editor, uri: str, line: int = 0, **context: object) -> list[dict[str, Any]]:
    where = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
    looking: dict[str, object] = {"diagnostics": [], **context}
    params: dict[str, object] = {"textDocument": {"uri": uri}, "range": where, "context": looking}
    return await editor.request("textDocument/codeAction", params)


def asks_on(editor: Editor, uri: str, question: str) -> None:
    """Write below the last heading."""
    editor.documents.type_over(uri, editor.documents.text(uri) + question + "\n")


def text_of(uri: str) -> str:
    """What is on the disk."""
    return Path(uri.removeprefix("file://")).read_text()


# What is offered


async def test_there_is_one_lens_on_the_last_question_and_an_action_everywhere(folder: Path) -> None:
    async with connected(folder) as editor:
        text = f"{TALK}\n```\n## You\n```\n# pygent: do harm\n"
        uri = editor.documents.open(chat_in(folder, text))

        lens = await lens_of(editor, uri)

        assert lens["range"]["start"] == {"line": text[: text.rindex("## You\n\nAnd")].count("\n"), "character": 0}
        assert lens["command"] == {"title": "Send to pygent", "command": "pygent.sendChat", "arguments": [uri]}
        for line in (0, 5, 99):
            (action,) = await actions(editor, uri, line)
            assert action["command"] == lens["command"]
            assert (action["title"], action["kind"]) == ("Send to pygent", "refactor")
            assert "isPreferred" not in action
        assert await actions(editor, uri, only=["quickfix"]) == []
        assert editor.core.model.requests == []


@pytest.mark.parametrize(
    ("text", "line", "heading"),
    [("", 0, 0), ("Why?\n", 0, 0), ("notes\n\nWhy is\nit so?\n", 3, 2), ("notes\n\n```\na\n\nb\n```\n", 5, 2)],
)
async def test_a_document_without_a_question_is_offered_one(folder: Path, text: str, line: int, heading: int) -> None:
    async with connected(folder) as editor:
        uri = editor.documents.open(chat_in(folder, text))

        assert await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
        assert await command(editor, "pygent.sendChat", uri) == NOTHING
        assert "There is no question in notes.pygent.md" in await told(editor)
        (action,) = await actions(editor, uri, line)

        place = {"line": heading, "character": 0}
        assert action["title"] == "Ask pygent: add “## You” here"
        assert action["edit"] == {
            "changes": {uri: [{"range": {"start": place, "end": place}, "newText": "## You\n\n"}]}
        }


# What is sent


async def test_the_last_question_is_sent_with_what_was_said_above(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Then this.")])) as editor:
        uri = editor.documents.open(chat_in(folder, TALK))
        begun = await send(editor, uri)
        text = await answered(editor, 2, uri=uri)

        assert said_to_the_model(editor) == [("user", "Why?"), ("assistant", "Since."), ("user", "And then?")]
        assert text == f"{TALK}\n## pygent\n\nThen this.\n\n## You\n\n"
        assert begun == {"sessionId": editor.core.sessions.all()[0].id, "turnId": begun["turnId"]}


async def test_a_file_that_is_mentioned_comes_along(folder: Path) -> None:
    (folder / "app.py").write_text("answer = 42\n")
    async with connected(folder, Setup(script=[say("42.")])) as editor:
        uri = editor.documents.open(chat_in(folder, "## You\n\nWhat is in @app.py?\n"))
        await send(editor, uri)
        await answered(editor, uri=uri)

        assert "answer = 42" in editor.core.model.requests[0].messages[-1].text


@pytest.mark.parametrize("question", ["", "  \n\n", "\n## You\n"])
async def test_an_empty_question_is_not_sent(folder: Path, question: str) -> None:
    async with connected(folder) as editor:
        uri = editor.documents.open(chat_in(folder, f"{TALK}\n## You\n{question}"))

        assert await send(editor, uri) == NOTHING

        assert "Write one below the last line “## You”" in await told(editor)
        assert editor.core.sessions.all() == []


async def test_a_document_without_headings_is_told_which_one_to_write(folder: Path) -> None:
    async with connected(folder) as editor:
        uri = editor.documents.open(chat_in(folder, "Why?\n"))

        assert await command(editor, "pygent.sendChat", uri) == NOTHING
        assert "Write one below a line “## You”" in await told(editor)


async def test_what_is_no_chat_document_cannot_be_sent(folder: Path) -> None:
    async with connected(folder) as editor:
        assert "no chat document given" in await refused(editor, "pygent.sendChat")
        assert "must end in .pygent.md" in await refused(editor, "pygent.sendChat", (folder / "a.md").as_uri())
        assert "Save the document first" in await refused(editor, "pygent.sendChat", "untitled:a.pygent.md")
        assert "argument 1 must be the URI" in await refused(editor, "pygent.sendChat", 7)
        (folder / "d.pygent.md").mkdir()
        assert "cannot be read" in await refused(editor, "pygent.sendChat", (folder / "d.pygent.md").as_uri())


async def test_without_an_argument_the_document_is_sent_that_was_looked_at_last(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Yes.")])) as editor:
        uris = [editor.documents.open(chat_in(folder, START, f"{name}.pygent.md")) for name in "ab"]
        for uri in uris:
            await lens_of(editor, uri)
        await command(editor, "pygent.sendChat")

        assert "Yes." in await answered(editor, uri=uris[1])


async def test_a_document_that_is_being_answered_can_be_stopped_and_not_sent(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[*say("Half ")[:2], gate], say("Whole.")])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        begun = await send(editor, uri)
        await gate.reached()

        assert await command(editor, "pygent.sendChat", uri) == NOTHING
        assert "still being answered" in await told(editor)
        (action,) = await actions(editor, uri)
        assert action["title"] == "Stop pygent"
        assert (await lens_of(editor, uri))["command"] == {
            "title": "Stop pygent",
            "command": "pygent.cancel",
            "arguments": [{"sessionId": begun["sessionId"]}],
        }
        assert await send(editor, uri) == {"cancelled": True}

        text = await answered(editor, uri=uri)
        assert text == f"{START}\n## pygent\n\nHalf\n\n*The turn ended: cancelled*\n\n## You\n\n".replace(
            "Half", "Half "
        )
        asks_on(editor, uri, "Whole?")
        assert await send(editor, uri) != NOTHING
        await answered(editor, 2, uri=uri)


async def test_an_editor_that_can_is_told_to_ask_for_the_lens_again(folder: Path) -> None:
    gate = Gate()
    capabilities = {**CAPABILITIES, "workspace": {**CAPABILITIES["workspace"], "codeLens": {"refreshSupport": True}}}
    async with connected(folder, Setup(script=[[gate, *say("Yes.")]]), capabilities=capabilities) as editor:
        titles: list[object] = []
        editor.handlers["workspace/codeLens/refresh"] = lambda _: None
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        for number in (1, 2):
            await editor.asks("workspace/codeLens/refresh", number)
            titles.append((await lens_of(editor, uri))["command"]["title"])
            gate.open()

        assert titles == ["Stop pygent", "Send to pygent"]


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ([[ModelError("no credit left", type="auth")]], "*The turn failed: no credit left*"),
        ([[ZeroDivisionError()]], "*The turn failed: ZeroDivisionError*"),
    ],
    ids=["model", "bug"],
)
async def test_a_turn_that_fails_says_why_and_asks_for_the_next_question(
    folder: Path, script: list[list[Any]], line: str
) -> None:
    async with connected(folder, Setup(script=script), capabilities=WITH_PROGRESS) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)

        assert await answered(editor, uri=uri) == f"{START}\n## pygent\n\n{line}\n\n## You\n\n"


async def test_the_heading_for_the_next_question_stands_there_before_the_progress_ends(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Yes.")]), capabilities=WITH_PROGRESS) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        token = (await editor.asks("window/workDoneProgress/create")).params["token"]
        await editor.until(lambda: any(each["kind"] == "end" for each in editor.progress(token)))

        assert editor.documents.text(uri) == f"{START}\n## pygent\n\nYes.\n\n## You\n\n"
        assert editor.frames.index(last_edit(editor)) < editor.frames.index(end_of(editor, token))


def last_edit(editor: Editor) -> dict[str, Any]:
    return [each for each in editor.frames if each.get("method") == "workspace/applyEdit"][-1]


def end_of(editor: Editor, token: str) -> dict[str, Any]:
    told = [each for each in editor.frames if each.get("method") == "$/progress" and each["params"]["token"] == token]
    return next(each for each in told if each["params"]["value"]["kind"] == "end")


async def test_calls_are_lines_and_permission_is_asked_for_in_a_box(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    async with connected(folder, Setup(script=[say("I edit it.", edit), say("Done.")])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        text = await answered(editor, uri=uri)

        assert len(editor.requests("window/showMessageRequest")) == 1
        assert (folder / "a.txt").read_text() == "two\n"
        lines = text.removeprefix(f"{START}\n## pygent\n\n").split("\n")
        assert (lines[0], lines[2].startswith("> tool: "), lines[4]) == ("I edit it.", True, "Done.")


# Which session


async def test_a_document_goes_on_with_its_session(folder: Path) -> None:
    call = Call(name="read_file", arguments={"path": "app.py"})
    (folder / "app.py").write_text("x = 1\n")
    async with connected(folder, Setup(script=[say("", call), say("It is 1."), say("Yes.")])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        first = await send(editor, uri)
        await answered(editor, uri=uri)
        asks_on(editor, uri, "Sure?")
        second = await send(editor, uri)
        await answered(editor, 2, uri=uri)

        assert first["sessionId"] == second["sessionId"]
        assert any(each.tool_calls for each in editor.core.model.requests[-1].messages)


async def test_a_document_goes_on_with_its_session_after_a_restart_and_where_an_editor_trimmed_it(folder: Path) -> None:
    path = chat_in(folder, START)
    async with connected(folder, Setup(script=[say("One:  \n\ntwo")], keeps_sessions=True)) as editor:
        uri = editor.documents.open(path)
        first = await send(editor, uri)
        text = await answered(editor, uri=uri)
    chat_in(folder, text.replace(":  \n", ":\n").rstrip() + "\nMore?")
    async with connected(folder, Setup(script=[say("Yes.")], keeps_sessions=True)) as editor:
        uri = editor.documents.open(path)
        second = await send(editor, uri)
        await answered(editor, 2, uri=uri)

        assert second["sessionId"] == first["sessionId"]
        assert said_to_the_model(editor) == [("user", "Why?"), ("assistant", "One:  \n\ntwo"), ("user", "More?")]


async def test_a_document_counts_where_its_user_changed_what_was_said(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("No."), say("Yes.")])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        first = await send(editor, uri)
        await command(editor, "pygent.setMode", "plan", {"sessionId": first["sessionId"]})
        text = await answered(editor, uri=uri)
        editor.documents.type_over(uri, text.replace("No.", "Perhaps.") + "Sure?")
        second = await send(editor, uri)
        await answered(editor, 2, uri=uri)

        assert first["sessionId"] != second["sessionId"]
        assert said_to_the_model(editor) == [("user", "Why?"), ("assistant", "Perhaps."), ("user", "Sure?")]
        assert next(each.mode for each in editor.core.sessions.all() if each.id == second["sessionId"]) == "plan"


async def test_a_document_counts_where_its_session_went_on_or_back_elsewhere(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("No."), say("Yes.")])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        first = await send(editor, uri)
        await answered(editor, uri=uri)
        await editor.request("pygent/session/clear", {"sessionId": first["sessionId"]})
        asks_on(editor, uri, "Sure?")
        second = await send(editor, uri)
        await answered(editor, 2, uri=uri)

        assert first["sessionId"] != second["sessionId"]
        assert said_to_the_model(editor) == [("user", "Why?"), ("assistant", "No."), ("user", "Sure?")]


async def test_undo_takes_back_what_a_document_asked_for_last(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Asked."), say("Sent.")], checkpoints=True)) as editor:
        asked = await command(editor, "pygent.ask", "first")
        await answered(editor)
        uri = editor.documents.open(chat_in(folder, START))
        sent = await send(editor, uri)
        await answered(editor, uri=uri)
        await command(editor, "pygent.undo")

        by_id = {each.id: each for each in editor.core.sessions.all()}
        assert by_id[sent["sessionId"]].messages == []
        assert by_id[asked["sessionId"]].messages != []


async def test_undo_says_nothing_of_the_document_that_the_conversation_stands_in(folder: Path) -> None:
    create = Call(name="create_file", arguments={"path": "made.py", "content": "x = 1\n"})
    setup = Setup(script=[say("", create), say("Made.")], mode="trust", checkpoints=True)
    async with connected(folder, setup) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        text = await answered(editor, uri=uri)
        done = await command(editor, "pygent.undo")

        assert (len(done["restored"]), done["skipped"]) == (1, [])
        assert await told(editor) == "Restored: made.py."
        assert editor.documents.text(uri) == text


# The workspace's document


async def test_commands_and_their_document_are_one_conversation(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("One."), say("Two."), say("Three.")])) as editor:
        first = await command(editor, "pygent.ask", "first")
        await answered(editor)
        uri = editor.requests("window/showDocument")[0].params["uri"]
        asks_on(editor, uri, "second")
        second = await send(editor, uri)
        await answered(editor, 2)
        third = await command(editor, "pygent.ask", "third")
        await answered(editor, 3)

        assert first["sessionId"] == second["sessionId"] == third["sessionId"]
        assert [text for _, text in said_to_the_model(editor)] == ["first", "One.", "second", "Two.", "third"]


async def test_a_draft_stays_where_it_is_and_the_next_exchange_stands_below_it(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("One."), say("Two.")])) as editor:
        await command(editor, "pygent.ask", "first")
        text = await answered(editor)
        uri = editor.requests("window/showDocument")[0].params["uri"]
        asks_on(editor, uri, "a draft")
        await command(editor, "pygent.ask", "second")

        after = await answered(editor, 2)

        assert after == f"{text}a draft\n\n## You\n\nsecond\n\n## pygent\n\nTwo.\n\n## You\n\n"


async def test_commands_that_run_together_are_written_one_below_the_other(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("One.")], say("Two.")])) as editor:
        for prompt in ("first", "second"):
            await command(editor, "pygent.ask", prompt)
        await gate.reached()
        gate.open()

        text = await answered(editor, 2)

        lines = [line for line in text.splitlines() if line]
        assert lines == ["## You", "first", "## pygent", "One.", "## You", "second", "## pygent", "Two.", "## You"]


async def test_the_document_of_a_command_is_on_the_disk_and_shown_when_the_work_starts(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("One.")]])) as editor:
        held: list[str] = []

        def show(params: Mapping[str, Any]) -> Mapping[str, Any]:
            held.append(text_of(params["uri"]))
            return editor.show(params)

        editor.handlers["window/showDocument"] = show
        await command(editor, "pygent.ask", "Why?")
        await editor.asks("window/showDocument")
        await gate.reached()

        assert held == ["## You\n\n"]
        gate.open()
        await answered(editor)


@pytest.mark.parametrize("answer", [{"success": True}, None, NO_ANSWER], ids=["success", "null", "none"])
async def test_the_document_of_a_command_that_is_not_opened_is_written_on_the_disk(
    folder: Path, answer: object
) -> None:
    async with connected(folder, Setup(script=[say("One.")]), capabilities=WITH_PROGRESS) as editor:
        editor.handlers["window/showDocument"] = lambda _: answer
        await command(editor, "pygent.ask", "Why?")
        uri = (await editor.asks("window/showDocument")).params["uri"]
        token = (await editor.asks("window/workDoneProgress/create")).params["token"]
        await editor.until(lambda: any(each["kind"] == "end" for each in editor.progress(token)))

        assert text_of(uri) == "## You\n\nWhy?\n\n## pygent\n\nOne.\n\n## You\n\n"


# Opening


async def test_the_workspaces_document_is_made_and_opened(folder: Path) -> None:
    async with connected(folder) as editor:
        opened = await command(editor, "pygent.openChat")
        shown = await editor.asks("window/showDocument")

        assert shown.params == {"uri": opened["uri"], "takeFocus": True}
        assert editor.documents.text(opened["uri"]) == "## You\n\n"
        assert folder not in Path(opened["uri"].removeprefix("file://")).parents
        assert editor.core.sessions.all() == []


async def test_a_document_of_the_users_is_opened_and_left_as_it_is(folder: Path) -> None:
    async with connected(folder) as editor:
        path = chat_in(folder, TALK)
        for place in (path, folder / "new" / "b.pygent.md"):
            assert (await command(editor, "pygent.openChat", place.as_uri())) == {"uri": place.as_uri()}

        assert path.read_text() == TALK
        assert (folder / "new" / "b.pygent.md").read_text() == "## You\n\n"
        assert "must end in .pygent.md" in await refused(editor, "pygent.openChat", (folder / "a.md").as_uri())
        assert "cannot be created" in await refused(editor, "pygent.openChat", (path / "b.pygent.md").as_uri())


@pytest.mark.parametrize("answer", [{"success": False}, None])
async def test_where_a_document_cannot_be_shown_its_path_is_said(folder: Path, answer: object) -> None:
    async with connected(folder) as editor:
        editor.handlers["window/showDocument"] = lambda _: answer
        opened = await command(editor, "pygent.openChat")

        assert await told(editor) == f"Chat document: {opened['uri'].removeprefix('file://')}"


async def test_an_editor_that_shows_no_documents_is_told_the_path(folder: Path) -> None:
    async with connected(folder, capabilities={**CAPABILITIES, "window": {}}) as editor:
        opened = await command(editor, "pygent.openChat")

        assert await told(editor) == f"Chat document: {opened['uri'].removeprefix('file://')}"
        assert editor.requests("window/showDocument") == []
