"""Commit messages: one request to the model, with the staged diff, and without what it must not see."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.lsp_client import EditorClient, editor_client
from tests.model_server import ModelServer, Step
from tests.tools.repository import git, make_repository

MESSAGE = "shapes: multiply the sides\n\nThe sum is not an area."

TEMPLATE = "\n# Please enter the commit message for your changes.\n#\n# On branch main\n"


@pytest.fixture
def repository(folder: Path) -> Path:
    make_repository(folder)
    (folder / "shapes.py").write_text("area = width + height\n")
    (folder / "private.txt").write_text("hidden\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "shapes: add the area")
    (folder / "shapes.py").write_text("area = width * height\n")
    git(folder, "add", "shapes.py")
    return folder


@asynccontextmanager
async def editing(folder: Path, *steps: Step) -> AsyncGenerator[tuple[EditorClient, ModelServer]]:
    with ModelServer(steps) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock"}
        async with editor_client(folder, environment) as editor:
            yield editor, model


async def write(editor: EditorClient, **params: object) -> str:
    return (await editor.ask("pygent/commitMessage/write", params))["message"]


async def command(editor: EditorClient, name: str, *arguments: object) -> Any:
    return await editor.ask_lsp("workspace/executeCommand", {"command": name, "arguments": list(arguments)})


async def test_the_staged_diff_recent_subjects_and_instructions_make_the_message(repository: Path) -> None:
    (repository / "later.py").write_text("not staged\n")
    (repository / "AGENTS.md").write_text("Commit subjects name the module.\n")
    async with editing(repository, Step(text=f"```\n{MESSAGE}\n```\n")) as (editor, model):
        assert await write(editor) == MESSAGE
        (request,) = model.requests
        assert not request.body.get("tools")
        (told,) = request.texts("user")
        assert "+area = width * height" in told
        assert "shapes: add the area" in told
        assert "Commit subjects name the module." in told
        assert "not staged" not in told


async def test_secrets_and_withheld_files_do_not_reach_the_model(repository: Path) -> None:
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    (repository / "shapes.py").write_text(f'token = "{key}"\n')
    (repository / "private.txt").write_text("hidden and changed\n")
    git(repository, "add", "--all")
    async with editing(repository, Step(text=MESSAGE)) as (editor, model):
        (repository / ".pygent").mkdir()
        (repository / ".pygent" / "config.toml").write_text('[permissions]\ndeny = ["read_file(private.txt)"]\n')
        await write(editor, uri=repository.as_uri())
        told = str(model.requests[0].body)
        assert "token = " in told
        assert key not in told
        assert "hidden" not in told
        assert "private.txt" not in told


async def test_what_cannot_be_done_is_said(repository: Path, tmp_path: Path) -> None:
    async with editing(repository, Step(text="```\n```"), Step(status=401, error="wrong key")) as (editor, _):
        with pytest.raises(JsonRpcException, match="gave no commit message"):
            await write(editor)
        with pytest.raises(JsonRpcException, match=r"model: .*wrong key"):
            await write(editor)
        with pytest.raises(JsonRpcException, match="is not in a workspace folder"):
            await write(editor, uri=tmp_path.as_uri())
        git(repository, "commit", "--quiet", "-m", "all")
        with pytest.raises(JsonRpcException, match="no changes to commit"):
            await write(editor)


async def test_the_request_can_be_cancelled(repository: Path) -> None:
    async with editing(repository, Step(hang=True)) as (editor, model):
        asked = editor.begin("pygent/commitMessage/write", {}, id_="message")
        await model.until(lambda: len(model.requests) == 1)
        editor.tell("$/cancelRequest", {"id": "message"})
        with pytest.raises(JsonRpcException):
            await asked
        await model.until(lambda: model.disconnects == 1)


async def test_any_editor_writes_the_message_into_the_document_of_git(repository: Path) -> None:
    file = repository / ".git" / "COMMIT_EDITMSG"
    file.write_text(TEMPLATE)
    async with editing(repository, Step(text=MESSAGE), Step(hang=True)) as (editor, model):
        uri = editor.documents.open(file)
        place = {"line": 0, "character": 0}
        given: dict[str, Any] = {
            "textDocument": {"uri": uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        (action,) = await editor.ask_lsp("textDocument/codeAction", given)
        assert action["title"] == "Write commit message with pygent"
        assert await command(editor, action["command"]["command"], *action["command"]["arguments"]) == {"started": True}
        await editor.until(lambda: editor.documents.text(uri).startswith(MESSAGE))
        assert editor.documents.text(uri) == f"{MESSAGE}\n\n{TEMPLATE.lstrip()}"

        while not (await command(editor, "pygent.commitMessage", uri))["started"]:
            pass  # the edit is being verified
        await editor.until(lambda: any("already has a commit message" in each for each in editor.messages))
        assert len(model.requests) == 1

        editor.documents.type_over(uri, TEMPLATE)
        while not (await command(editor, "pygent.commitMessage", uri))["started"]:
            pass
        await model.until(lambda: len(model.requests) == 2)
        assert await command(editor, "pygent.cancel") == {"cancelled": True}
        await model.until(lambda: model.disconnects == 1)
        assert editor.documents.text(uri) == TEMPLATE


async def test_a_message_that_the_user_types_meanwhile_stays(repository: Path) -> None:
    file = repository / ".git" / "COMMIT_EDITMSG"
    file.write_text(TEMPLATE)
    async with editing(repository, Step(text=MESSAGE, pause_after=1)) as (editor, model):
        uri = editor.documents.open(file)
        await command(editor, "pygent.commitMessage", uri)
        await model.until(lambda: len(model.requests) == 1)
        editor.documents.type_over(uri, f"mine{TEMPLATE}")
        assert await command(editor, "pygent.commitMessage", uri) == {"started": False}
        model.resume()
        await editor.until(lambda: any("already has a commit message" in each for each in editor.messages))
        assert editor.documents.text(uri) == f"mine{TEMPLATE}"
