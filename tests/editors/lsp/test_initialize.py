"""`initialize`: what editors say of themselves, and what they are told."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Generator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from pygent_ls import __version__
from pygent_ls.editors.lsp import method_names as names
from tests.editors.lsp.editor import Setup, connected, wired
from tests.fakes import say

CLIENTS = {
    Path(str(file)).stem: json.loads(file.read_text())
    for file in resources.files("pytest_lsp.clients").iterdir()
    if file.name.endswith(".json")
}
"""What real editors sent, recorded by pytest-lsp."""


NOTHING: dict[str, Any] = {}


def offered(encodings: object) -> dict[str, Any]:
    return {"capabilities": {"general": {"positionEncodings": encodings}}}


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_real_editors_initialize_is_taken(folder: Path, client: str) -> None:
    async with wired(folder, Setup(script=[say("hi")])) as editor:
        result = await editor.request("initialize", {**CLIENTS[client], "rootUri": folder.as_uri(), "processId": None})
        editor.tell("initialized", {})

        assert result["serverInfo"] == {"name": "pygent-ls", "version": __version__}
        assert (await editor.turn())["text"] == "hi"


async def test_the_result_says_what_the_daemon_can_do(folder: Path) -> None:
    async with connected(folder) as editor:
        capabilities = editor.initialize_result["capabilities"]

        assert capabilities["experimental"]["pygent"] == {
            "protocolVersion": 1,
            "methods": list(names.METHODS),
            "events": list(names.EVENTS),
            "model": "fake/model",
            "restricted": False,
            "processId": os.getpid(),
            "resumed": [],
        }
        sync = capabilities["textDocumentSync"]
        assert (sync["openClose"], sync["change"], sync["save"]) == (True, 2, {"includeText": False})
        assert capabilities["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}


@pytest.mark.parametrize(
    ("told", "is_asked"),
    [({"synchronization": {"dynamicRegistration": True}}, True), ({}, True), (None, False), ("yes", False)],
)
async def test_cells_of_notebooks_are_asked_for_if_the_editor_has_notebooks(
    folder: Path, told: object, is_asked: bool
) -> None:
    async with wired(folder) as editor:
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {"notebookDocument": told}}
        capabilities = (await editor.request("initialize", params))["capabilities"]

        notebooks = {"notebook": {"pattern": "**/*.ipynb", "scheme": "file"}}
        expected = {"notebookSelector": [notebooks], "save": True} if is_asked else None
        assert capabilities.get("notebookDocumentSync") == expected


@pytest.mark.parametrize(
    ("params", "encoding"),
    [
        ({"capabilities": {}}, "utf-16"),
        (offered(["utf-16"]), "utf-16"),
        (offered(["utf-32"]), "utf-16"),
        (offered(["utf-32", "utf-8"]), "utf-8"),
        (offered(["utf-16", "utf-8"]), "utf-8"),
        (offered(["utf-7", "utf-8"]), "utf-8"),
        (offered([]), "utf-16"),
        (offered(None), "utf-16"),
        ({}, "utf-16"),
        ({"capabilities": None}, "utf-16"),
    ],
    ids=str,
)
async def test_the_position_encoding_is_utf_8_where_it_is_offered(
    folder: Path, params: dict[str, Any], encoding: str
) -> None:
    async with wired(folder) as editor:
        result = await editor.request("initialize", {"processId": None, "rootUri": folder.as_uri(), **params})

        assert result["capabilities"]["positionEncoding"] == encoding
        assert editor.server.buffers.encoding == encoding


@pytest.mark.parametrize(
    "params",
    [
        {"capabilities": {"workspace": {"workspaceEdit": {"resourceOperations": ["create", "conjure"]}}}},
        {"capabilities": {"textDocument": {"hover": {"contentFormat": ["markdown", "sound"]}}}},
        {
            "capabilities": {
                "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["x.y"]}}}}
            }
        },
        {"capabilities": {"window": {"somethingNew": {"a": [1, NOTHING]}}, "somethingNew": True}},
        {"capabilities": {"window": 7, "general": {"positionEncodings": 7}, "workspace": {"workspaceEdit": []}}},
        {"capabilities": {"experimental": {"pygent": 7}}},
        {"capabilities": {"experimental": [1, 2]}},
        {"capabilities": NOTHING, "initializationOptions": [1]},
        {"capabilities": NOTHING, "initializationOptions": {"pygent": "x"}},
        {"capabilities": NOTHING, "initializationOptions": None, "trace": "off", "locale": "de", "workDoneToken": 1},
        {"capabilities": NOTHING, "clientInfo": {"name": "some editor"}},
    ],
    ids=json.dumps,
)
async def test_what_the_daemon_does_not_know_of_a_client_does_no_harm(folder: Path, params: dict[str, Any]) -> None:
    async with wired(folder) as editor:
        await editor.request("initialize", {"processId": None, "rootUri": folder.as_uri(), **params})

        assert (await editor.request("pygent/status"))["version"] == __version__


async def test_settings_come_as_initialization_options(folder: Path) -> None:
    options = {"pygent": {"maxIterations": 3}, "other": 1}
    async with connected(folder, initializationOptions=options) as editor:
        assert editor.blueprint.options == {"maxIterations": 3}


# Folders


@pytest.mark.parametrize("key", ["workspaceFolders", "rootUri", "rootPath"])
async def test_the_workspace_may_be_named_in_every_way_there_was(folder: Path, key: str) -> None:
    uri = folder.as_uri()
    named = {"workspaceFolders": [{"uri": uri, "name": "x"}], "rootUri": uri, "rootPath": str(folder)}[key]
    async with wired(folder) as editor:
        params: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}, key: named}
        await editor.request("initialize", params)

        assert editor.blueprint.folders == [folder]


@pytest.mark.parametrize(
    "root",
    [
        {},
        {"rootUri": None},
        {"rootUri": ""},
        {"rootUri": "vscode-remote://x/y"},
        {"rootUri": "file://[/x"},
        {"rootPath": "relative"},
        {"rootPath": ""},
        {"workspaceFolders": []},
        {"workspaceFolders": None},
        {"workspaceFolders": [{"uri": "untitled:x", "name": "x"}]},
    ],
    ids=json.dumps,
)
async def test_without_a_folder_on_the_disk_there_is_none(folder: Path, root: dict[str, Any]) -> None:
    async with wired(folder) as editor:
        await editor.request("initialize", {"processId": None, "capabilities": {}, **root})

        assert list(editor.blueprint.folders) == []


async def test_folders_come_and_go(folder: Path) -> None:
    second = folder.parent / "second"
    second.mkdir()
    added = {"uri": second.as_uri(), "name": "second"}
    removed = {"uri": folder.as_uri(), "name": folder.name}
    async with connected(folder) as editor:
        workspace = editor.server.connection.workspace
        assert list(workspace.folders) == [folder]

        change = {"event": {"added": [added, added], "removed": []}}
        editor.tell("workspace/didChangeWorkspaceFolders", change)
        assert list(workspace.folders) == [folder, second]

        editor.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [removed]}})
        assert list(workspace.folders) == [second]


@pytest.fixture
def starting() -> Generator[None]:
    """As the command begins the daemon: nothing is collected until the first client is there."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("starting")
async def test_no_collection_looks_at_what_was_there_before_the_first_client_but_at_what_a_client_leaves(
    folder: Path,
) -> None:
    n_before = gc.get_freeze_count()
    async with connected(folder):
        n_kept = gc.get_freeze_count()
        assert gc.isenabled()
        assert n_kept > n_before
        async with connected(folder):
            assert gc.get_freeze_count() <= n_kept


async def test_a_process_to_live_with_is_watched(folder: Path) -> None:
    async with wired(folder) as editor:
        watched: list[int] = []
        editor.server.on_process_id = watched.append

        await editor.request("initialize", {"processId": 4711, "rootUri": None, "capabilities": {}})

        assert watched == [4711]


async def test_files_that_changed_outside_are_told_to_the_agent(folder: Path) -> None:
    async with connected(folder) as editor:
        await editor.request("pygent/status")
        changes = [{"uri": (folder / "a.txt").as_uri(), "type": 2}, {"uri": "untitled:x", "type": 1}]
        editor.tell("workspace/didChangeWatchedFiles", {"changes": changes})

        assert editor.core.changed_files == [folder / "a.txt"]
