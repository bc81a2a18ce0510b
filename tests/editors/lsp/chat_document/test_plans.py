"""A plan in a chat document is approved there or by a command; no question is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.sessions.session import Session
from tests.editors.lsp.chat_document.conversation import (
    answered,
    chat_in,
    command,
    is_answered,
    said_to_the_model,
    send,
    told,
)
from tests.editors.lsp.editor import CAPABILITIES, Editor, Setup, WireError, connected
from tests.fakes import Step, bounded, say

START = "## You\n\nHow would you do it?\n"

APPROVED = "I approve the plan. Implement it."

NOTHING = {"sessionId": None, "turnId": None}

TITLES = ["Send to pygent", "Implement: ask for each edit", "Implement: accept edits"]


def plans(*script: Sequence[Step]) -> Setup:
    return Setup(script=script, mode="plan")


def begin_asking(editor: Editor, uri: str) -> tuple[asyncio.Future[Any], asyncio.Future[Any]]:
    """Ask for the code actions and the lenses."""
    document = {"textDocument": {"uri": uri}}
    where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    actions = editor.begin("textDocument/codeAction", {**document, "range": where, "context": {"diagnostics": []}})
    return actions, editor.begin("textDocument/codeLens", document)


async def offered(editor: Editor, uri: str) -> list[dict[str, Any]]:
    """The commands of the code actions, which are those of the lenses, too."""
    return await commands_of(*begin_asking(editor, uri))


async def commands_of(actions: asyncio.Future[Any], lenses: asyncio.Future[Any]) -> list[dict[str, Any]]:
    """The commands of both, which are the same."""
    commands = [each["command"] for each in await bounded(actions)]
    assert commands == [each["command"] for each in await bounded(lenses)]
    return commands


async def titles(editor: Editor, uri: str) -> list[str]:
    return [each["title"] for each in await offered(editor, uri)]


def only_session(editor: Editor) -> Session:
    (session,) = editor.core.sessions.all()
    return session


def n_refreshed(editor: Editor) -> int:
    return len(editor.requests("workspace/codeLens/refresh"))


async def planned(editor: Editor, folder: Path, name: str = "notes.pygent.md") -> str:
    """A document with a plan; the editor has been told to ask for its lenses."""
    uri = editor.documents.open(chat_in(folder, START, name))
    await send(editor, uri)
    await answered(editor, uri=uri)
    await editor.until(lambda: n_refreshed(editor) == 3)
    return uri


REFRESHING = {**CAPABILITIES, "workspace": {**CAPABILITIES["workspace"], "codeLens": {"refreshSupport": True}}}


@pytest.mark.parametrize("mode", ["default", "accept_edits"])
async def test_a_plan_is_implemented_in_the_mode_of_the_action(folder: Path, mode: str) -> None:
    async with connected(folder, plans(say("First this."), say("Done.")), capabilities=REFRESHING) as editor:
        uri = await planned(editor, folder)
        commands = await offered(editor, uri)
        assert [each["title"] for each in commands] == TITLES
        (chosen,) = (each for each in commands if each["arguments"][0] == mode)

        begun = await command(editor, chosen["command"], *chosen["arguments"])
        text = await answered(editor, 2, uri=uri)

        assert text == f"{START}\n## pygent\n\nFirst this.\n\n## You\n\n{APPROVED}\n\n## pygent\n\nDone.\n\n## You\n\n"
        assert said_to_the_model(editor)[-1] == ("user", APPROVED)
        assert begun["sessionId"] == only_session(editor).id
        assert only_session(editor).mode == mode
        assert await titles(editor, uri) == TITLES[:1]
        assert editor.requests("window/showMessageRequest") == []


async def test_the_last_plan_is_approved_by_the_command_alone_and_once(folder: Path) -> None:
    async with connected(folder, plans(say("First this."), say("Done.")), capabilities=REFRESHING) as editor:
        uri = await planned(editor, folder)

        begun = await command(editor, "pygent.implement")
        again = await command(editor, "pygent.implement")
        await answered(editor, 2, uri=uri)

        assert (begun["sessionId"], again) == (only_session(editor).id, NOTHING)
        assert await told(editor) == "There is no plan to approve."
        assert only_session(editor).mode == "default"


async def test_a_plan_is_approved_as_soon_as_it_stands_there(folder: Path) -> None:
    async with connected(folder, plans(say("First this."), say("Done."))) as editor:
        await command(editor, "pygent.ask", "how?")
        await answered(editor)

        begun = await command(editor, "pygent.implement")

        assert begun["sessionId"] == only_session(editor).id


async def test_a_plan_is_offered_to_an_editor_that_asks_before_it_confirms_the_last_edit(folder: Path) -> None:
    async with connected(folder, plans(say("First this."))) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        asked: list[tuple[asyncio.Future[Any], asyncio.Future[Any]]] = []

        def make_it_and_ask(params: Mapping[str, Any]) -> Any:
            result = editor.documents.apply(params)
            if is_answered(editor.documents.text(uri), 1):
                asked.append(begin_asking(editor, uri))
            return result

        editor.handlers["workspace/applyEdit"] = make_it_and_ask
        await send(editor, uri)
        await answered(editor, uri=uri)

        assert [each["title"] for each in await commands_of(*asked[0])] == TITLES


async def test_a_mode_that_is_set_before_the_first_question_counts_for_its_document(folder: Path) -> None:
    setup = Setup(script=[say("First this."), say("Hello.")])
    async with connected(folder, setup, capabilities=REFRESHING) as editor:
        await command(editor, "pygent.setMode", "plan")
        uri = await planned(editor, folder)
        assert await titles(editor, uri) == TITLES

        begun = "## You\n\nHi.\n\n## pygent\n\nHi!\n\n## You\n\nHello?\n"
        later = editor.documents.open(chat_in(folder, begun, "begun.pygent.md"))
        session_id = (await send(editor, later))["sessionId"]
        await answered(editor, 2, uri=later)

        (session,) = (each for each in editor.core.sessions.all() if each.id == session_id)
        assert session.mode == "default"


async def test_a_plan_of_a_command_is_approved_in_the_workspaces_document(folder: Path) -> None:
    async with connected(folder, plans(say("First this."), say("Done.")), capabilities=REFRESHING) as editor:
        await command(editor, "pygent.ask", "how?")
        await answered(editor)
        uri = editor.requests("window/showDocument")[-1].params["uri"]
        await editor.until(lambda: n_refreshed(editor) == 3)
        assert await titles(editor, uri) == TITLES

        await command(editor, "pygent.implement", "accept_edits", uri)

        assert "Done." in await answered(editor, 2, uri=uri)
        assert only_session(editor).mode == "accept_edits"


async def test_a_plan_that_is_gone_on_with_is_the_next_one(folder: Path) -> None:
    async with connected(folder, plans(say("First this."), say("Or that.")), capabilities=REFRESHING) as editor:
        uri = await planned(editor, folder)
        editor.documents.type_over(uri, editor.documents.text(uri) + "And else?\n")
        assert await titles(editor, uri) == TITLES

        await command(editor, "pygent.sendChat", uri)
        await answered(editor, 2, uri=uri)
        await editor.until(lambda: n_refreshed(editor) == 6)

        assert await titles(editor, uri) == TITLES
        assert only_session(editor).mode == "plan"


async def test_what_is_no_plan_is_not_offered(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("An answer."), say("Another one.")])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        await answered(editor, uri=uri)
        assert await titles(editor, uri) == TITLES[:1]
        only_session(editor).permissions.set_mode("plan")
        assert await titles(editor, uri) == TITLES[:1]

        assert await command(editor, "pygent.implement", "default", uri) == NOTHING
        with pytest.raises(WireError, match="'twice' must be one of default, accept_edits"):
            await command(editor, "pygent.implement", "twice")


async def test_a_mode_that_was_set_meanwhile_ends_the_offer(folder: Path) -> None:
    async with connected(folder, plans(say("First this.")), capabilities=REFRESHING) as editor:
        uri = await planned(editor, folder)
        await command(editor, "pygent.setMode", "default")

        assert await titles(editor, uri) == TITLES[:1]
        assert await command(editor, "pygent.implement") == NOTHING
