"""Review in an editor without a plugin: changes are shown, accepted and rejected by what every LSP client has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.e2e.lsp_client import CAPABILITIES, EditorClient, editor_client
from tests.model_server import Call, ModelServer, Step

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


@dataclass(frozen=True, slots=True)
class Review:
    """An editor without a plugin, and its model."""

    editor: EditorClient
    model: ModelServer
    folder: Path

    async def turn(self, prompt: str, **params: object) -> Any:
        return await self.editor.turn(prompt, **params)

    async def actions(self, uri: str, line: int, to: int | None = None) -> dict[str, Any]:
        """The code actions of the review at a line, counted from 0, by title."""
        given = {"start": {"line": line, "character": 0}, "end": {"line": to or line, "character": 0}}
        params: dict[str, Any] = {"textDocument": {"uri": uri}, "range": given, "context": {"diagnostics": []}}
        found = await self.editor.ask_lsp("textDocument/codeAction", params)
        return {each["title"]: each["command"] for each in found if "change" in each["title"]}

    async def run(self, command: Any) -> Any:
        """Run the command of an action, or one by name."""
        named: dict[str, Any] = {"command": command} if isinstance(command, str) else command
        params: dict[str, Any] = {"command": named["command"], "arguments": named.get("arguments", [])}
        return await self.editor.ask_lsp("workspace/executeCommand", params)

    async def hints(self, uri: str, number: int) -> list[tuple[int, str]]:
        """The lines and messages of the diagnostics, once there are so many."""
        await self.editor.until(lambda: len(self.editor.diagnostics.get(uri, [None] * (number + 1))) == number)
        return [(each.range.start.line, each.message) for each in self.editor.diagnostics[uri]]

    @property
    def last_request(self) -> str:
        """The messages of the last request to the model."""
        return json.dumps(self.model.requests[-1].messages, ensure_ascii=False)


@asynccontextmanager
async def reviewing(
    folder: Path, *steps: Step, capabilities: types.ClientCapabilities = CAPABILITIES
) -> AsyncGenerator[Review]:
    with ModelServer(steps) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock"}
        async with editor_client(folder, environment, capabilities=capabilities) as editor:
            yield Review(editor, model, folder)


def edit(path: str, old: str, new: str) -> Step:
    read = Call(name="read_file", arguments={"path": path})
    return Step(calls=(read, Call(name="edit_file", arguments={"path": path, "old": old, "new": new})))


TWO_EDITS = (
    edit("a.txt", "line 5\n", "LINE 5\n"),
    edit("a.txt", "line 15\n", "LINE 15\nand more\n"),
    Step(text="Done."),
)


def opened(review: Review, text: str = TEXT, name: str = "a.txt") -> str:
    (review.folder / name).write_text(text)
    return review.editor.documents.open(review.folder / name)


async def test_hunks_are_accepted_and_rejected_and_the_model_is_told(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS, Step(text="I see.")) as review:
        uri = opened(review)
        session = (await review.turn("shout"))["sessionId"]
        hints = await review.hints(uri, 2)
        assert await review.actions(uri, 0) == {}
        at_deep = await review.actions(uri, 15)
        rejected = await review.run(at_deep["Reject change"])
        accepted = await review.run((await review.actions(uri, 4))["Accept change"])
        assert await review.actions(uri, 4) == {}
        await review.turn("And now?", sessionId=session)
        text = review.editor.documents.text(uri)
        assert await review.hints(uri, 0) == []

    assert hints == [
        (4, "pygent changed 1 line. Accept or reject the change with a code action."),
        (14, "pygent changed 2 lines. Accept or reject the change with a code action."),
    ]
    assert list(at_deep) == [
        "Accept change",
        "Reject change",
        "Accept all 2 changes in this file",
        "Reject all 2 changes in this file",
    ]
    assert (rejected, accepted) == ({"left": 1}, {"left": 0})
    assert text == TEXT.replace("line 5\n", "LINE 5\n")
    assert "took some back" in review.last_request
    assert r"a.txt @@ -15,1 +15,2 @@\n-line 15\n+LINE 15\n+and more" in review.last_request
    assert "LINE 5\\n+" not in review.last_request


async def test_what_is_typed_beside_a_hunk_stays_and_what_is_typed_in_it_belongs_to_it(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        await review.turn("shout")
        review.editor.documents.insert(uri, "line 1\n", "typed\n")
        review.editor.documents.insert(uri, "LINE 15", "in the hunk ")

        lenses = await review.editor.ask_lsp("textDocument/codeLens", {"textDocument": {"uri": uri}})
        await review.run((await review.actions(uri, 5))["Reject change"])
        await review.run((await review.actions(uri, 15))["Reject change"])
        text = review.editor.documents.text(uri)

    assert [(each["range"]["start"]["line"], each["command"]["title"]) for each in lenses] == [
        (5, "Accept change"),
        (5, "Reject change"),
        (15, "Accept change"),
        (15, "Reject change"),
    ]
    assert text == f"typed\n{TEXT}"


async def test_the_editors_undo_of_a_rejection_brings_the_hunk_back(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS, Step(text="I see."), Step(text="Fine.")) as review:
        uri = opened(review)
        session = (await review.turn("shout"))["sessionId"]
        before = review.editor.documents.text(uri)
        await review.run((await review.actions(uri, 4))["Reject change"])
        await review.turn("And now?", sessionId=session)
        assert "-line 5" in review.last_request
        review.editor.documents.type_over(uri, before)
        assert "Reject change" in await review.actions(uri, 4)
        await review.turn("And now?", sessionId=session)

    assert "I undid the rejection of these edits" in review.last_request


async def test_a_new_file_is_rejected_unless_the_user_has_typed_in_it(folder: Path) -> None:
    make = [Call(name="create_file", arguments={"path": name, "content": "made\n"}) for name in ("b.txt", "c.txt")]
    more = (edit("c.txt", "made", "MADE"), Step(text="Done."))
    async with reviewing(folder, Step(calls=(make[0],)), Step(calls=(make[1],)), Step(text="Made."), *more) as review:
        session = (await review.turn("make them"))["sessionId"]
        made, typed = (review.editor.documents.open(folder / name) for name in ("b.txt", "c.txt"))
        review.editor.documents.insert(typed, "made", "mine and ")
        await review.run((await review.actions(made, 0))["Reject change"])
        await review.turn("And now?", sessionId=session)
        with pytest.raises(JsonRpcException, match="You have typed in this new file"):
            await review.run((await review.actions(typed, 0))["Reject change"])

    assert not (folder / "b.txt").exists()
    assert "+made" in review.last_request
    assert review.editor.documents.text(typed) == "mine and MADE\n"


async def test_a_deleted_file_comes_back_with_its_encoding_and_its_permissions(folder: Path) -> None:
    run = folder / "run.sh"
    run.write_bytes("echo größer\n".encode("latin-1"))
    run.chmod(0o755)
    delete = Call(name="delete_file", arguments={"path": "run.sh"})
    async with reviewing(folder, Step(calls=(delete,)), Step(text="Done.")) as review:
        await review.turn("delete it")
        assert not run.exists()
        await review.run({"command": "pygent.rejectChanges", "arguments": [run.as_uri()]})

    assert run.read_bytes() == "echo größer\n".encode("latin-1")
    assert run.stat().st_mode & 0o777 == 0o755


async def test_a_running_turn_is_told_of_a_rejection(folder: Path) -> None:
    slow = Step(calls=(Call(name="read_file", arguments={"path": "a.txt"}),), delay_s=1.0)
    async with reviewing(folder, TWO_EDITS[0], slow, Step(text="I see.")) as review:
        uri = opened(review)
        turn = review.editor.begin_turn("shout")
        await review.hints(uri, 1)
        await review.run((await review.actions(uri, 4))["Reject change"])
        async with asyncio.timeout(60):
            await turn

    assert "took some back" in review.last_request
    assert review.editor.documents.text(uri) == TEXT


async def test_the_walk_shows_each_hunk_and_asks(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        await review.turn("shout")
        answers = iter(["Later", "Reject"])
        review.editor.prompts.clear()
        review.editor.choose = lambda _: next(answers)
        await review.run("pygent.review")
        await review.editor.until(lambda: len(review.editor.prompts) == 2)
        await review.hints(uri, 1)
        first, second = (each.message for each in review.editor.prompts)
        review.editor.choose = lambda _: "Accept all"
        await review.run("pygent.review")
        await review.hints(uri, 0)
        text = review.editor.documents.text(uri)
        await review.run("pygent.review")
        await review.editor.until(lambda: "pygent: There are no changes to review." in review.editor.messages)

    assert first == "a.txt, line 5 (2 changes left to review)\n-line 5\n+LINE 5"
    assert second == "a.txt, lines 15–16 (2 changes left to review)\n-line 15\n+LINE 15\n+and more"
    assert text == TEXT.replace("line 5\n", "LINE 5\n")
    assert review.editor.shown_documents[:2] == [uri, uri]


async def test_an_undone_turn_leaves_nothing_to_review(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        session = (await review.turn("shout"))["sessionId"]
        await review.hints(uri, 2)
        await review.run({"command": "pygent.undo", "arguments": [{"sessionId": session}]})
        assert await review.hints(uri, 0) == []
        assert review.editor.documents.text(uri) == TEXT


async def test_a_file_that_is_not_open_is_reviewed_with_what_another_program_wrote(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        path = folder / "a.txt"
        path.write_text(TEXT)
        await review.turn("shout")
        path.write_text(f"written\n{path.read_text()}")
        await review.run({"command": "pygent.rejectChanges", "arguments": [path.as_uri()]})

    assert path.read_text() == f"written\n{TEXT}"


async def test_commands_without_arguments_apply_to_the_last_place_and_wrong_ones_say_so(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        with pytest.raises(JsonRpcException, match="There are no changes to review"):
            await review.run("pygent.acceptChanges")
        await review.turn("shout")
        await review.actions(uri, 0, 20)
        assert await review.run("pygent.rejectChanges") == {"left": 0}
        assert await review.run("pygent.undoRejection") == {"left": 2}
        with pytest.raises(JsonRpcException, match="There is no rejection to undo"):
            await review.run({"command": "pygent.undoRejection", "arguments": [uri]})
        assert await review.run("pygent.rejectChanges") == {"left": 0}
        with pytest.raises(JsonRpcException, match="These lines have changed since"):
            await review.run({"command": "pygent.acceptChanges", "arguments": [uri, 1]})
        with pytest.raises(JsonRpcException, match="argument 2 must be the id of a change"):
            await review.run({"command": "pygent.acceptChanges", "arguments": [uri, "1"]})
        assert review.editor.documents.text(uri) == TEXT


async def test_typing_on_both_sides_of_a_hunk_that_is_told_as_one_change_stays(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        await review.turn("shout")
        text = review.editor.documents.text(uri)
        review.editor.documents.type_over(uri, f"first\n{text}last\n")
        await review.run({"command": "pygent.rejectChanges", "arguments": [uri]})

        assert review.editor.documents.text(uri) == f"first\n{TEXT}last\n"


async def test_undo_and_redo_of_an_edit_leave_it_to_be_reviewed(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        await review.turn("shout")
        text = review.editor.documents.text(uri)
        review.editor.documents.type_over(uri, TEXT)
        assert await review.hints(uri, 0) == []
        review.editor.documents.type_over(uri, text)
        await review.hints(uri, 2)


async def test_an_action_decides_on_what_it_showed(folder: Path) -> None:
    third = edit("a.txt", "line 10\n", "LINE 10\n")
    steps = (*TWO_EDITS, third, Step(text="Done."))
    async with reviewing(folder, *steps) as review:
        uri = opened(review)
        await review.turn("shout")
        all_two = (await review.actions(uri, 4))["Reject all 2 changes in this file"]
        await review.turn("more")

        assert await review.run(all_two) == {"left": 1}
        assert review.editor.documents.text(uri) == TEXT.replace("line 10\n", "LINE 10\n")


async def test_each_session_is_told_of_its_own_hunks(folder: Path) -> None:
    steps = (TWO_EDITS[0], Step(text="One."), TWO_EDITS[1], Step(text="Two."), *(Step(text="I see."),) * 3)
    async with reviewing(folder, *steps) as review:
        uri = opened(review)
        one = (await review.turn("shout"))["sessionId"]
        two = (await review.turn("shout on"))["sessionId"]
        await review.run((await review.actions(uri, 4))["Reject change"])
        await review.run((await review.actions(uri, 14))["Reject change"])
        await review.turn("And now?", sessionId=two)
        of_two = review.last_request
        await review.turn("hello")
        of_new = review.last_request
        await review.turn("And now?", sessionId=one)

    assert "-line 5" not in of_two
    assert "-line 15" in of_two
    assert "In an earlier conversation I reviewed edits of yours" in of_new
    assert "-line 5" in of_new
    assert "-line 15" not in of_new
    assert "-line 5" in review.last_request


async def test_a_report_of_an_undone_turn_is_told_again_and_a_path_is_no_command(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS, Step(text="I see."), Step(text="Again.")) as review:
        uri = opened(review)
        session = (await review.turn("shout"))["sessionId"]
        await review.run((await review.actions(uri, 4))["Reject change"])
        await review.turn("/src/a.py is broken", sessionId=session)
        assert "took some back" in review.last_request
        await review.run({"command": "pygent.undo", "arguments": [{"sessionId": session}]})
        await review.turn("And now?", sessionId=session)

    assert "took some back" in review.last_request
    assert "is broken" not in review.last_request


async def test_a_file_that_is_open_by_a_link_is_still_reviewed(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        (folder / "link.txt").symlink_to(folder / "a.txt")
        await review.turn("shout")
        review.editor.documents.open(folder / "link.txt")

        assert "Reject change" in await review.actions(uri, 4)


async def test_a_document_that_is_closed_and_opened_with_its_unsaved_text_is_still_reviewed(folder: Path) -> None:
    async with reviewing(folder, *TWO_EDITS) as review:
        uri = opened(review)
        await review.turn("shout")
        text = review.editor.documents.text(uri)
        review.editor.documents.close(uri)
        review.editor.documents.open(folder / "a.txt", text=text, uri=uri)

        assert "Reject change" in await review.actions(uri, 4)


async def test_the_hunks_of_a_moved_folder_are_reviewed_where_it_is(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text(TEXT)
    move = Call(name="move_file", arguments={"source": "sub", "destination": "new"})
    steps = (edit("sub/a.txt", "line 5\n", "LINE 5\n"), Step(calls=(move,)), Step(text="Done."))
    async with reviewing(folder, *steps) as review:
        await review.turn("move")
        moved = folder / "new" / "a.txt"
        assert moved.read_text() != TEXT
        await review.run({"command": "pygent.rejectChanges", "arguments": [moved.as_uri()]})

    assert moved.read_text() == TEXT


async def test_a_client_with_its_own_review_is_shown_nothing(folder: Path) -> None:
    own = replace_experimental({"pygent": {"chatPanel": True}})
    async with reviewing(folder, *TWO_EDITS, capabilities=own) as review:
        uri = opened(review)
        await review.turn("shout")
        assert await review.actions(uri, 4) == {}
        assert review.editor.diagnostics == {}


def replace_experimental(experimental: Any) -> types.ClientCapabilities:
    return types.ClientCapabilities(
        workspace=CAPABILITIES.workspace,
        window=CAPABILITIES.window,
        general=CAPABILITIES.general,
        experimental=experimental,
    )
