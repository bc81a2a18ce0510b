"""A turn in each known client: the daemon uses what the client has, and nothing that it lacks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import Editor, Setup, connected
from tests.editors.lsp.editor_documents import document_changes, path_of
from tests.editors.lsp.known_clients import KNOWN_CLIENTS, KnownClient
from tests.fakes import Call, say

TEXT = "é𝒳 = 1\n"
"""A place behind these two characters is another one in each encoding."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "workspace/applyEdit": ("workspace", "applyEdit"),
    "workspace/configuration": ("workspace", "configuration"),
    "client/registerCapability": ("workspace", "didChangeConfiguration", "dynamicRegistration"),
    "window/showDocument": ("window", "showDocument", "support"),
    "window/workDoneProgress/create": ("window", "workDoneProgress"),
}
"""What a client must say that it has, for the daemon to send it that request."""

EVERY_CLIENT = pytest.mark.parametrize("client", KNOWN_CLIENTS.values(), ids=KNOWN_CLIENTS)


@asynccontextmanager
async def running(folder: Path, client: KnownClient, *calls: Call) -> AsyncGenerator[Editor]:
    """The client, with `a.txt` open in it, whose model makes these calls and has the last word."""
    name = {} if client.name is None else {"clientInfo": {"name": client.name}}
    setup = Setup(script=[*(say("", call) for call in calls), say("All is done.")])
    async with connected(folder, setup, capabilities=client.capabilities, **name) as editor:
        editor.documents.encoding = client.encoding
        editor.handlers["workspace/configuration"] = lambda params: [None for _ in params["items"]]
        editor.handlers["client/registerCapability"] = lambda _: None
        yield editor


async def ask(editor: Editor, prompt: str = "go") -> None:
    """Run the command, and wait for the end of its turn."""
    begun = await editor.request("workspace/executeCommand", {"command": "pygent.ask", "arguments": [prompt]})
    ended = {"sessionId": begun["sessionId"], "what": "turn_finished"}
    await editor.until(lambda: ended in editor.notifications("pygent/session/changed"))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def text_in(editor: Editor, path: Path) -> str:
    """What the user sees of a file, in a buffer or on the disk."""
    held = editor.documents.open_documents.get(path.as_uri())
    return held.text if held else path.read_text()


def lacking(client: KnownClient) -> set[str]:
    return {method for method, needed in NEEDED.items() if not client.has(*needed)}


@EVERY_CLIENT
async def test_a_turn_edits_and_makes_files_with_what_the_client_has(folder: Path, client: KnownClient) -> None:
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "= 1", "new": "= 2"})
    create = Call(name="create_file", arguments={"path": "new.txt", "content": "fresh\n"})
    async with running(folder, client, edit, create) as editor:
        uri = editor.documents.open(write(folder / "a.txt", TEXT))
        await ask(editor)

        assert editor.initialize_result["capabilities"]["positionEncoding"] == client.encoding
        assert text_in(editor, folder / "new.txt") == "fresh\n"
        if client.has("workspace", "applyEdit"):
            assert editor.documents.text(uri) == TEXT.replace("1", "2")
        else:
            assert path_of(uri).read_bytes().decode() == TEXT.replace("1", "2")
        assert {asked.method for asked in editor.asked}.isdisjoint(lacking(client))
        for asked in editor.requests("workspace/applyEdit"):
            the_edit: Mapping[str, Any] = asked.params["edit"]
            assert set(the_edit) == {"documentChanges" if has_document_changes(client) else "changes"}
            assert {each["kind"] for each in document_changes(the_edit) if "kind" in each} <= set(client.operations)


def has_document_changes(client: KnownClient) -> bool:
    return client.has("workspace", "workspaceEdit", "documentChanges")


@EVERY_CLIENT
async def test_the_answer_to_a_command_is_seen_in_every_client(folder: Path, client: KnownClient) -> None:
    async with running(folder, client) as editor:
        await ask(editor)
        if client.has("window", "showDocument", "support"):
            shown = await editor.asks("window/showDocument")
            chat = path_of(shown.params["uri"])
            await editor.until(lambda: "All is done." in text_in(editor, chat))
        else:
            await editor.until(lambda: editor.notifications("window/showMessage"))
            assert "All is done." in editor.notifications("window/showMessage")[-1]["message"]


@EVERY_CLIENT
async def test_a_program_of_high_risk_runs_for_nobody_who_can_only_take_the_first_action(
    folder: Path, client: KnownClient
) -> None:
    remove = Call(name="shell", arguments={"command": "rm -rf a.txt"})
    async with running(folder, client, remove) as editor:
        write(folder / "a.txt", TEXT)
        editor.handlers["window/showMessageRequest"] = lambda params: choose(client, params, "Allow once")
        await ask(editor)

        assert (folder / "a.txt").exists() == client.only_first_action


def choose(client: KnownClient, params: Mapping[str, Any], title: str) -> object:
    """The user takes an action; the client passes it on as well as it can."""
    actions: list[Mapping[str, Any]] = params["actions"]
    chosen = next(each for each in actions if each["title"] == title)
    return None if client.only_first_action and chosen is not actions[0] else chosen


def edits_of_files(editor: Editor) -> list[Mapping[str, Any]]:
    """But for those of the document that the answer is written to."""
    edits = [asked.params["edit"] for asked in editor.requests("workspace/applyEdit")]
    return [edit for edit in edits if ".pygent.md" not in str(edit)]


CREATES: Mapping[str, Any] = {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]}


@asynccontextmanager
async def that_says_it_creates(folder: Path, name: str, call: Call) -> AsyncGenerator[Editor]:
    client = KNOWN_CLIENTS[name]
    workspace = {**client.capabilities["workspace"], "workspaceEdit": CREATES}
    client = replace(client, capabilities={**client.capabilities, "workspace": workspace})
    async with running(folder, client, call) as editor:
        yield editor


@pytest.mark.parametrize("name", ["lsp-mode", "yegappan/lsp"])
async def test_a_new_file_is_written_for_a_client_that_would_spoil_it_whatever_it_says(folder: Path, name: str) -> None:
    create = Call(name="create_file", arguments={"path": "new.txt", "content": "fresh\n"})
    async with that_says_it_creates(folder, name, create) as editor:
        await ask(editor)

        assert text_in(editor, folder / "new.txt") == "fresh\n"
        assert edits_of_files(editor) == []


@pytest.mark.parametrize("name", ["lsp-mode", "yegappan/lsp"])
async def test_it_deletes_files_as_any_other(folder: Path, name: str) -> None:
    write(folder / "a.txt", TEXT)
    async with that_says_it_creates(folder, name, Call(name="delete_file", arguments={"path": "a.txt"})) as editor:
        await ask(editor)

        (deletion,) = edits_of_files(editor)
        assert [each["kind"] for each in document_changes(deletion)] == ["delete"]
