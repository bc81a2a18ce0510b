"""Unsaved changes and programs: what is saved before one runs, and what is told after it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, connected
from tests.fakes import Call, say

SAVES: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"saveDocuments": True}}}
SAVE = "pygent/client/save"
ASK = "window/showMessageRequest"


def edit(old: str = "one", new: str = "two") -> Call:
    return Call(name="edit_file", arguments={"path": "a.txt", "old": old, "new": new})


def shell(command: str = "cat a.txt") -> Call:
    return Call(name="shell", arguments={"command": command})


def calling(*calls: Call) -> Setup:
    return Setup(script=[*(say("", call) for call in calls), say("done")], mode="trust")


class User:
    """Allows every program, and answers the questions about unsaved changes one after another."""

    def __init__(self, *titles: str | None) -> None:
        self.questions: list[str] = []
        self._titles = list(titles)

    def answer(self, params: Mapping[str, Any]) -> object:
        if "unsaved changes" not in params["message"]:
            return {"title": "Allow once"}
        self.questions.append(params["message"])
        assert [each["title"] for each in params["actions"]] == [
            "Save and continue",
            "Continue without saving",
            "Cancel",
        ]
        title = self._titles.pop(0)
        return {"title": title} if title else None


async def run(editor: Editor, user: User) -> list[tuple[bool, str]]:
    """Open the document, run the turn; what the tools returned."""
    editor.documents.open(editor.folder / "a.txt")
    editor.handlers[ASK] = user.answer
    await editor.turn()
    return [(not event["isError"], event["content"]) for event in editor.events() if event["type"] == "tool_result"]


def text_of(path: Path) -> str:
    return path.read_text()


def texts_of_documents_in(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("*.txt")]


@pytest.fixture
def document(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_text("one\n")
    return path


@pytest.mark.usefixtures("document")
async def test_an_editor_that_can_saves_what_the_agent_changed_before_a_program_runs(folder: Path) -> None:
    async with connected(folder, calling(edit(), shell()), capabilities=SAVES) as editor:

        def save(params: Mapping[str, Any]) -> object:
            for uri in params["uris"]:
                editor.documents.save(uri)
            return {"saved": params["uris"]}

        editor.handlers[SAVE] = save
        user = User()

        (_, (ran, output)) = await run(editor, user)

        assert ran
        assert "two" in output
        assert user.questions == []
        assert [asked.params["uris"] for asked in editor.requests(SAVE)] == [[(folder / "a.txt").as_uri()]]


@pytest.mark.parametrize("answer", [{"saved": []}, None, {}, {"saved": "all"}, NO_ANSWER], ids=str)
async def test_what_the_editor_did_not_save_is_asked_about(folder: Path, document: Path, answer: object) -> None:
    async with connected(folder, calling(edit(), shell()), capabilities=SAVES) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.1)
        editor.handlers[SAVE] = lambda _: answer
        user = User("Save and continue")

        assert "two" in (await run(editor, user))[1][1]

        assert user.questions == ["a.txt has unsaved changes, and shell reads files from disk."]
        assert text_of(document) == "two\n"


async def test_an_editor_that_says_it_saved_but_did_not_is_not_believed(folder: Path, document: Path) -> None:
    async with connected(folder, calling(edit(), shell()), capabilities=SAVES) as editor:
        editor.handlers[SAVE] = lambda params: {"saved": params["uris"]}
        user = User("Save and continue")

        await run(editor, user)

        assert len(user.questions) == 1
        assert text_of(document) == "two\n"


async def test_the_user_may_let_the_program_see_the_old_file_and_is_asked_again_next_time(
    folder: Path, document: Path
) -> None:
    async with connected(folder, calling(edit(), shell(), shell("cat a.txt; echo again"))) as editor:
        user = User("Continue without saving", "Save and continue")

        _, first, second = await run(editor, user)

        assert "one" in first[1]
        assert "two" in second[1]
        assert len(user.questions) == 2
        assert text_of(document) == "two\n"


@pytest.mark.parametrize("title", ["Cancel", None, "Something else"])
async def test_the_user_may_stop_the_program_and_is_asked_again_next_time(
    folder: Path, document: Path, title: str | None
) -> None:
    async with connected(folder, calling(edit(), shell("touch ran"), shell("touch ran again"))) as editor:
        user = User(title, "Cancel")

        _, first, second = await run(editor, user)

        assert not first[0]
        assert not second[0]
        assert "cancelled" in first[1]
        assert not (folder / "ran").exists()
        assert text_of(document) == "one\n"
        assert len(user.questions) == 2


async def test_what_the_user_saved_meanwhile_is_not_asked_about(folder: Path, document: Path) -> None:
    async with connected(folder, calling(edit(), shell())) as editor:
        uri = document.as_uri()
        apply = editor.handlers["workspace/applyEdit"]

        def apply_and_save(params: Mapping[str, Any]) -> object:
            applied = apply(params)
            editor.documents.save(uri)
            return applied

        editor.handlers["workspace/applyEdit"] = apply_and_save
        user = User()

        assert "two" in (await run(editor, user))[1][1]
        assert user.questions == []


@pytest.mark.usefixtures("document")
async def test_what_only_the_user_changed_is_the_users_to_save(folder: Path) -> None:
    other = folder / "b.txt"
    other.write_text("theirs\n")
    async with connected(folder, calling(shell("cat b.txt"))) as editor:
        editor.documents.type_over(editor.documents.open(other), "typed\n")
        user = User()

        assert "theirs" in (await run(editor, user))[0][1]
        assert user.questions == []


async def test_a_saved_document_keeps_its_encoding(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_bytes("é one\r\n".encode("latin-1"))
    async with connected(folder, calling(edit(), shell("true"))) as editor:
        editor.documents.open(path, text="é one\r\n")
        editor.handlers[ASK] = User("Save and continue").answer

        await editor.turn()

        assert path.read_bytes() == "é two\r\n".encode("latin-1")


@pytest.mark.parametrize(("by_program", "left"), [("echo three > a.txt", ["three\n"]), ("rm a.txt", [])])
async def test_what_a_program_changed_after_the_agent_is_not_written_over(
    folder: Path, document: Path, by_program: str, left: list[str]
) -> None:
    async with connected(folder, calling(edit(), shell(by_program), shell("touch ran"))) as editor:
        user = User("Continue without saving", "Save and continue")

        *_, (ran, said) = await run(editor, user)

        assert not ran
        assert "a.txt cannot be saved: another program changed or deleted the file" in said
        assert not (folder / "ran").exists()
        assert texts_of_documents_in(folder) == left
        assert editor.documents.text(document.as_uri()) == "two\n"


@pytest.mark.usefixtures("document")
async def test_an_editor_is_not_asked_to_save_over_what_a_program_changed(folder: Path) -> None:
    setup = calling(edit(), shell("echo three > a.txt"), shell("touch ran"))
    async with connected(folder, setup, capabilities=SAVES) as editor:
        editor.handlers[SAVE] = lambda _: {"saved": []}
        user = User("Continue without saving", "Cancel")

        await run(editor, user)

        assert len(editor.requests(SAVE)) == 1
        assert len(user.questions) == 2


async def test_the_model_is_told_once_which_open_documents_a_program_changed(folder: Path, document: Path) -> None:
    async with connected(folder, calling(shell("echo three > a.txt"), shell("true"))) as editor:
        first, second = await run(editor, User())

        assert "[changed on disk while open in the editor: a.txt; read them again]" in first[1]
        assert "changed on the disk" not in second[1]
        assert text_of(document) == "three\n"


async def test_a_document_that_was_saved_for_the_editor_has_what_a_program_then_writes(
    folder: Path, document: Path
) -> None:
    setup = calling(edit(), shell("echo three >> a.txt"), shell("echo four >> a.txt"))
    async with connected(folder, setup) as editor:
        user = User("Save and continue")

        *_, (_, said) = await run(editor, user)

        assert text_of(document) == editor.documents.text(document.as_uri()) == "two\nthree\nfour\n"
        assert "[changed on disk while open in the editor: a.txt; read them again]" in said
        assert len(user.questions) == 1


async def test_what_the_user_typed_after_their_document_was_saved_for_the_editor_stays(
    folder: Path, document: Path
) -> None:
    async with connected(folder, calling(edit(), shell(), shell("echo three > a.txt"))) as editor:
        uri = document.as_uri()
        user = User("Save and continue", "Continue without saving")

        def answer(params: Mapping[str, Any]) -> object:
            if len(user.questions) == 1 and editor.documents.text(uri) == "two\n":
                editor.documents.type_over(uri, "two\ntyped\n")
            return user.answer(params)

        editor.documents.open(document)
        editor.handlers[ASK] = answer
        await editor.turn()

        assert editor.documents.text(uri) == "two\ntyped\n"
        assert text_of(document) == "three\n"
        assert len(user.questions) == 2
