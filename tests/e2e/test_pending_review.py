"""Review in a client that shows what waits for it and leaves the rest to the daemon."""

from __future__ import annotations

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
class Drawing:
    """A client that draws hunks, and its model."""

    editor: EditorClient
    model: ModelServer

    async def hunks(self, uri: str, number: int) -> list[dict[str, Any]]:
        """The hunks of a file, once there are so many, for the document's version of now."""
        documents = self.editor.documents

        def is_now() -> bool:
            told = self.editor.pending.get(uri)
            open_document = documents.open_documents.get(uri)
            version = open_document.version if open_document is not None else None
            return told is not None and len(told["hunks"]) == number and told["version"] == version

        await self.editor.until(is_now)
        return list(self.editor.pending[uri]["hunks"])

    async def decide(self, what: str, **params: object) -> Any:
        return await self.editor.ask(f"pygent/review/{what}", params)

    @property
    def last_request(self) -> str:
        return json.dumps(self.model.requests[-1].messages, ensure_ascii=False)


@asynccontextmanager
async def drawing(folder: Path, model: ModelServer, **own: bool) -> AsyncGenerator[Drawing]:
    capabilities = types.ClientCapabilities(
        workspace=CAPABILITIES.workspace,
        window=CAPABILITIES.window,
        general=CAPABILITIES.general,
        experimental={"pygent": {"chatPanel": True, "pendingReview": True, **own}},
    )
    environment = {**model.env(), "PYGENT_MODEL": "openai/mock"}
    async with editor_client(folder, environment, capabilities=capabilities) as editor:
        yield Drawing(editor, model)


def edit(path: str, old: str, new: str) -> Step:
    read = Call(name="read_file", arguments={"path": path})
    return Step(calls=(read, Call(name="edit_file", arguments={"path": path, "old": old, "new": new})))


TWO_EDITS = (
    edit("a.txt", "line 5\n", "LINE 5\n"),
    edit("a.txt", "line 15\n", "LINE 15\nand more\n"),
    Step(text="Done."),
)


def written(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_text(TEXT)
    return path


async def test_hunks_are_published_with_their_ranges_as_the_user_types(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            session = (await client.editor.turn("shout"))["sessionId"]
            first, second = await client.hunks(uri, 2)
            client.editor.documents.insert(uri, "line 1\n", "typed\n")
            moved, _ = await client.hunks(uri, 2)
            told = client.editor.pending[uri]

    assert first == {
        "hunkId": moved["hunkId"],
        "sessionId": session,
        "range": {"start": {"line": 4, "character": 0}, "end": {"line": 5, "character": 0}},
        "oldText": "line 5\n",
        "newText": "LINE 5\n",
    }
    assert (second["oldText"], second["newText"]) == ("line 15\n", "LINE 15\nand more\n")
    assert moved["range"] == {"start": {"line": 5, "character": 0}, "end": {"line": 6, "character": 0}}
    assert (told["kind"], told["rejected"]) == ("edit", [])
    assert client.editor.diagnostics == {}


async def test_hunks_files_and_all_are_decided_and_the_model_is_told(folder: Path) -> None:
    (folder / "b.txt").write_text(TEXT)
    steps = (*TWO_EDITS[:2], edit("b.txt", "line 1\n", "LINE 1\n"), Step(text="Done."), Step(text="I see."))
    with ModelServer(steps) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            other = (folder / "b.txt").as_uri()
            session = (await client.editor.turn("shout"))["sessionId"]
            first, second = await client.hunks(uri, 2)
            original = await client.decide("original", uri=uri)
            rejected = await client.decide("reject", uri=uri, hunkIds=[second["hunkId"]])
            await client.hunks(uri, 1)
            untold = client.editor.pending[uri]["rejected"]
            accepted = await client.decide("accept", uri=uri, hunkIds=[first["hunkId"]])
            with pytest.raises(JsonRpcException, match="These lines have changed since"):
                await client.decide("accept", uri=uri, hunkIds=[first["hunkId"]])
            done = await client.decide("accept")
            await client.hunks(uri, 0)
            await client.hunks(other, 0)
            await client.editor.turn("And now?", sessionId=session)
            await client.editor.until(lambda: client.editor.pending[uri]["rejected"] == [])
            text = client.editor.documents.text(uri)

    assert original == {"text": TEXT}
    assert (rejected, accepted, done) == ({"left": 2}, {"left": 1}, {"left": 0})
    assert untold == [{"sessionId": session, "hunks": 1}]
    assert text == TEXT.replace("line 5\n", "LINE 5\n")
    assert "took some back" in client.last_request


async def test_a_rejection_is_undone_and_what_was_typed_since_stays(folder: Path) -> None:
    with ModelServer((*TWO_EDITS, Step(text="I see."), Step(text="I see."))) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            session = (await client.editor.turn("shout"))["sessionId"]
            with pytest.raises(JsonRpcException, match="There is no rejection to undo"):
                await client.decide("undoRejection")
            await client.hunks(uri, 2)
            await client.decide("reject", uri=uri)
            await client.hunks(uri, 0)
            await client.editor.turn("And now?", sessionId=session)
            client.editor.documents.insert(uri, "line 1\n", "typed\n")
            undone = await client.decide("undoRejection", uri=uri)
            hunks = await client.hunks(uri, 2)
            text = client.editor.documents.text(uri)
            with pytest.raises(JsonRpcException, match="There is no rejection to undo"):
                await client.decide("undoRejection")
            await client.editor.turn("And now?", sessionId=session)

    assert undone == {"left": 2, "uri": uri}
    assert text == "typed\n" + TEXT.replace("line 5\n", "LINE 5\n").replace("line 15\n", "LINE 15\nand more\n")
    assert [each["newText"] for each in hunks] == ["LINE 5\n", "LINE 15\nand more\n"]
    assert "I undid the rejection of these edits" in client.last_request


async def test_created_and_deleted_files_are_rejected_and_that_is_undone(folder: Path) -> None:
    gone, made = written(folder), folder / "b.txt"
    delete = Call(name="delete_file", arguments={"path": "a.txt"})
    create = Call(name="create_file", arguments={"path": "b.txt", "content": "made\n"})
    with ModelServer((Step(calls=(delete,)), Step(calls=(create,)), Step(text="Done."))) as model:
        async with drawing(folder, model) as client:
            await client.editor.turn("do it")
            await client.hunks(gone.as_uri(), 1)
            await client.hunks(made.as_uri(), 1)
            kinds = [client.editor.pending[each.as_uri()]["kind"] for each in (gone, made)]
            original = await client.decide("original", uri=made.as_uri())
            await client.decide("reject")
            rejected = (gone.read_text(), made.exists())
            first = await client.decide("undoRejection")
            await client.decide("undoRejection")

    assert kinds == ["delete", "create"]
    assert original == {"text": None}
    assert rejected == (TEXT, False)
    assert first["uri"] == made.as_uri()
    assert (gone.exists(), made.read_text()) == (False, "made\n")


async def test_the_review_and_what_no_model_knows_outlive_the_daemon(folder: Path) -> None:
    gone = folder / "gone.sh"
    gone.write_bytes("größer\n".encode("latin-1"))
    gone.chmod(0o755)
    delete = Step(calls=(Call(name="delete_file", arguments={"path": "gone.sh"}),))
    with ModelServer((*TWO_EDITS[:2], delete, Step(text="Done."), Step(text="I see."))) as model:
        async with drawing(folder, model) as client:
            path = written(folder)
            uri = client.editor.documents.open(path)
            session = (await client.editor.turn("shout"))["sessionId"]
            _, second = await client.hunks(uri, 2)
            await client.decide("reject", uri=uri, hunkIds=[second["hunkId"]])
            client.editor.documents.insert(uri, "line 1\n", "typed\n")
            unsaved = client.editor.documents.text(uri)
            await client.hunks(uri, 1)
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(path, text=unsaved)
            (hunk,) = await client.hunks(uri, 1)
            told = client.editor.pending[uri]
            await client.decide("reject", uri=uri)
            text = client.editor.documents.text(uri)
            await client.decide("reject", uri=gone.as_uri())
            await client.editor.turn("And now?", sessionId=session)

    assert (hunk["newText"], hunk["sessionId"]) == ("LINE 5\n", session)
    assert told["rejected"] == [{"sessionId": session, "hunks": 1}]
    assert text == f"typed\n{TEXT}"
    assert gone.read_bytes() == "größer\n".encode("latin-1")
    assert gone.stat().st_mode & 0o777 == 0o755
    assert r"-line 5\n+LINE 5" in client.last_request
    assert r"-line 15\n+LINE 15" in client.last_request


async def test_a_review_with_half_a_character_in_its_text_outlives_the_daemon(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            await client.editor.turn("shout")
            client.editor.documents.insert(uri, "line 1\n", "half \ud83d\n")
            unsaved = client.editor.documents.text(uri)
            await client.hunks(uri, 2)
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(folder / "a.txt", text=unsaved)
            hunks = await client.hunks(uri, 2)

    assert [each["oldText"] for each in hunks] == ["line 5\n", "line 15\n"]


async def test_what_became_of_the_files_meanwhile_is_taken_up_and_damage_is_skipped(folder: Path) -> None:
    (folder / "b.txt").write_text(TEXT)
    steps = (*TWO_EDITS[:2], edit("b.txt", "line 1\n", "LINE 1\n"), Step(text="Done."))
    with ModelServer(steps) as model:
        async with drawing(folder, model) as client:
            path, other = written(folder), folder / "b.txt"
            await client.editor.turn("shout")
            await client.hunks(path.as_uri(), 2)
        kept = sorted((folder.parent / "home").rglob("reviews/*/*.json"))
        path.write_text(f"written\n{path.read_text()}")
        next(each for each in kept if "b.txt" in each.read_text()).write_text('{"version": 1, "path": 7}')
        async with drawing(folder, model) as client:
            first, _ = await client.hunks(path.as_uri(), 2)
            left = await client.decide("reject", uri=path.as_uri())
            again = other.as_uri() in client.editor.pending

    assert len(kept) == 2
    assert first["range"]["start"]["line"] == 5
    assert left == {"left": 0}
    assert path.read_text() == f"written\n{TEXT}"
    assert not again


async def test_a_change_that_the_client_made_for_the_agent_is_reviewed(folder: Path) -> None:
    with ModelServer((Step(text="Insert this."),)) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            session = (await client.editor.turn("help"))["sessionId"]
            client.editor.documents.insert(uri, "line 5\n", "inserted\n")
            await client.decide("add", uri=uri, sessionId=session, before=TEXT)
            (hunk,) = await client.hunks(uri, 1)
            await client.decide("reject", uri=uri)

            assert (hunk["oldText"], hunk["newText"]) == ("", "inserted\n")
            assert client.editor.documents.text(uri) == TEXT


async def test_the_version_is_published_when_a_file_is_opened_and_closed(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            path = written(folder)
            await client.editor.turn("shout")
            await client.hunks(path.as_uri(), 2)
            closed = client.editor.pending[path.as_uri()]["version"]
            uri = client.editor.documents.open(path, version=7)
            await client.editor.until(lambda: client.editor.pending[uri]["version"] == 7)
            client.editor.documents.close(uri)
            await client.editor.until(lambda: client.editor.pending[uri]["version"] is None)

    assert closed is None


async def test_text_that_was_never_saved_and_is_closed_waits_no_more(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            await client.editor.turn("shout")
            await client.hunks(uri, 2)
            client.editor.documents.close(uri)

            await client.hunks(uri, 0)


async def test_undoing_a_rejection_leaves_accepted_hunks_accepted(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            await client.editor.turn("shout")
            first, second = await client.hunks(uri, 2)
            before = client.editor.documents.text(uri)
            await client.decide("reject", uri=uri, hunkIds=[first["hunkId"]])
            await client.decide("accept", uri=uri, hunkIds=[second["hunkId"]])
            await client.hunks(uri, 0)
            after = client.editor.documents.text(uri)
            client.editor.documents.type_over(uri, before)
            (again,) = await client.hunks(uri, 1)
            client.editor.documents.type_over(uri, after)
            await client.hunks(uri, 0)
            await client.editor.until(lambda: len(client.editor.pending[uri]["rejected"]) == 1)

    assert again["newText"] == "LINE 5\n"


async def test_a_deleted_file_that_is_shown_as_an_empty_document_still_waits(folder: Path) -> None:
    path = written(folder)
    path.chmod(0o640)
    delete = Call(name="delete_file", arguments={"path": "a.txt"})
    with ModelServer((Step(calls=(delete,)), Step(text="Done."))) as model:
        async with drawing(folder, model) as client:
            await client.editor.turn("do it")
            await client.hunks(path.as_uri(), 1)
            uri = client.editor.documents.open(path, text="\n")
            await client.editor.until(lambda: client.editor.pending[uri]["version"] is None)
            original = await client.decide("original", uri=uri)
            left = await client.decide("reject", uri=uri)

    assert original == {"text": TEXT}
    assert left == {"left": 0}
    assert path.read_text() == TEXT
    assert path.stat().st_mode & 0o777 == 0o640


async def test_a_deleted_file_that_was_open_comes_back_in_its_own_encoding(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_bytes("größer\n".encode("latin-1"))
    delete = Call(name="delete_file", arguments={"path": "a.txt"})
    with ModelServer((Step(calls=(delete,)), Step(text="Done."))) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(path, text="größer\n")
            await client.editor.turn("do it")
            await client.editor.until(lambda: client.editor.pending.get(uri, {}).get("kind") == "delete")
            await client.decide("reject", uri=uri)

    assert path.read_bytes() == "größer\n".encode("latin-1")


async def test_a_deleted_file_that_is_not_text_comes_back_byte_for_byte(folder: Path) -> None:
    content = b"\x7fELF\r\n\x00\xff\xfe\r\n"
    for name in ("a.bin", "b.bin"):
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o751)
    first, second = folder / "a.bin", folder / "b.bin"
    delete = tuple(Call(name="delete_file", arguments={"path": each}) for each in ("a.bin", "b.bin"))
    with ModelServer((Step(calls=delete), Step(text="Done."), Step(text="I see."))) as model:
        async with drawing(folder, model) as client:
            session = (await client.editor.turn("do it"))["sessionId"]
            (hunk,) = await client.hunks(first.as_uri(), 1)
            await client.decide("reject", uri=first.as_uri())
            await client.editor.turn("And now?", sessionId=session)
            told = client.last_request
        async with drawing(folder, model) as client:
            await client.hunks(second.as_uri(), 1)
            await client.decide("reject", uri=second.as_uri())

    assert (hunk["oldText"], hunk["newText"]) == ("", "")
    assert [each.read_bytes() for each in (first, second)] == [content, content]
    assert [each.stat().st_mode & 0o777 for each in (first, second)] == [0o751, 0o751]
    assert "a.bin @@" in told
    assert "ELF" not in told


async def test_with_a_review_of_each_edit_nothing_waits(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model, reviewRequest=True) as client:
            uri = client.editor.documents.open(written(folder))
            asked: list[Any] = []

            def accept(params: Any) -> Any:
                asked.append(params)
                return {
                    "hunks": [{"hunkId": h["hunkId"], "accepted": True} for f in params["files"] for h in f["hunks"]]
                }

            client.editor.review = accept
            await client.editor.turn("shout")

            assert len(asked) == 2
            assert client.editor.pending == {}
            assert "LINE 15" in client.editor.documents.text(uri)


@pytest.mark.parametrize(
    ("what", "params", "error"),
    [
        ("accept", {"uri": "https://example.org/a"}, "is not the address of a file"),
        ("reject", {"hunkIds": ["1"]}, "uri is missing"),
        ("reject", {"uri": "file:///nowhere", "hunkIds": ["x" * 40]}, "These lines have changed since"),
        ("accept", {"uri": "file:///nowhere", "hunkIds": [7]}, "hunkIds"),
        ("original", {"uri": "file:///nowhere"}, "has no changes to review"),
        ("add", {"uri": "file:///nowhere/a", "sessionId": "s", "before": ""}, "nowhere"),
    ],
)
async def test_wrong_requests_say_so(folder: Path, what: str, params: dict[str, Any], error: str) -> None:
    with ModelServer(()) as model:
        async with drawing(folder, model) as client:
            with pytest.raises(JsonRpcException, match=error):
                await client.decide(what, **params)


async def test_files_that_are_not_text_come_back_byte_for_byte_and_links_as_links(folder: Path) -> None:
    program, link = folder / "program.bin", folder / "link.txt"
    program.write_bytes(b"\x7fELF\r\n\0\xff\xfe")
    program.chmod(0o751)
    link.symlink_to("nowhere.txt")
    calls = tuple(Call(name="delete_file", arguments={"path": each.name}) for each in (program, link))
    with ModelServer((Step(calls=calls), Step(text="Done."), Step(text="I see."))) as model:
        async with drawing(folder, model) as client:
            session = (await client.editor.turn("delete them"))["sessionId"]
            await client.hunks(program.as_uri(), 1)
            gone = not program.exists() and not link.is_symlink()
            await client.hunks(link.as_uri(), 1)
        async with drawing(folder, model) as client:
            for uri in (program.as_uri(), link.as_uri()):
                (hunk,) = await client.hunks(uri, 1)
                assert (client.editor.pending[uri]["kind"], hunk["oldText"]) == ("delete", "")
                await client.decide("reject", uri=uri)
                await client.hunks(uri, 0)
            await client.editor.turn("And now?", sessionId=session)

    assert gone
    assert program.read_bytes() == b"\x7fELF\r\n\0\xff\xfe"
    assert program.stat().st_mode & 0o777 == 0o751
    assert link.readlink() == Path("nowhere.txt")
    assert "program.bin @@ -1,0 +1,0 @@" in client.last_request


async def test_a_file_that_the_user_renames_is_reviewed_under_its_new_name(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            path, new = written(folder), folder / "new" / "b.txt"
            uri = client.editor.documents.open(path)
            await client.editor.turn("shout")
            await client.hunks(uri, 2)
            path.write_text(client.editor.documents.text(uri))
            client.editor.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
            client.editor.documents.close(uri)
            new.parent.mkdir()
            path.rename(new)
            client.editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 3}]})
            await client.hunks(uri, 0)
            files = {"files": [{"oldUri": uri, "newUri": new.as_uri()}]}
            client.editor.tell("workspace/didRenameFiles", files)
            await client.hunks(new.as_uri(), 2)
            await client.decide("reject", uri=new.as_uri())

    assert new.read_text() == TEXT


async def test_a_document_that_was_closed_without_saving_waits_for_no_review(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            await client.editor.turn("shout")
            await client.hunks(uri, 2)
            text = client.editor.documents.text(uri)
            client.editor.documents.close(uri)
            await client.hunks(uri, 0)
            client.editor.documents.open(folder / "a.txt", text=text, uri=uri)
            await client.hunks(uri, 2)


async def test_an_accepted_hunk_stays_accepted_whatever_the_editor_undoes(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            await client.editor.turn("shout")
            first, second = await client.hunks(uri, 2)
            both = client.editor.documents.text(uri)
            await client.decide("reject", uri=uri, hunkIds=[first["hunkId"]])
            await client.decide("accept", uri=uri, hunkIds=[second["hunkId"]])
            client.editor.documents.type_over(uri, both)
            (again,) = await client.hunks(uri, 1)

    assert again["newText"] == "LINE 5\n"


async def test_other_line_breaks_are_no_change(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            uri = client.editor.documents.open(written(folder))
            await client.editor.turn("shout")
            await client.hunks(uri, 2)
            other = client.editor.documents.text(uri).replace("\n", "\r\n")
            client.editor.documents.type_over(uri, other)
            await client.hunks(uri, 2)
            await client.decide("reject", uri=uri)

            assert client.editor.documents.text(uri) == TEXT.replace("\n", "\r\n")


async def test_a_new_file_with_unsaved_text_to_which_another_program_has_added_is_not_deleted(folder: Path) -> None:
    create = Call(name="create_file", arguments={"path": "b.txt", "content": "made\n"})
    with ModelServer((Step(calls=(create,)), Step(text="Done."))) as model:
        async with drawing(folder, model) as client:
            await client.editor.turn("make it")
            made = folder / "b.txt"
            if made.as_uri() not in client.editor.documents.open_documents:
                made.write_text("")
                client.editor.documents.open(made, text="made\n")
            made.write_text("made\nmore\n")
            with pytest.raises(JsonRpcException, match=r"Another program has changed|You have typed"):
                await client.decide("reject", uri=made.as_uri())

    assert made.read_text() == "made\nmore\n"


async def test_what_an_undone_turn_had_changed_waits_again_after_its_redo(folder: Path) -> None:
    create = Call(name="create_file", arguments={"path": "new.txt", "content": "made\n"})
    delete = Call(name="delete_file", arguments={"path": "old.txt"})
    steps = (edit("a.txt", "line 5\n", "LINE 5\n"), Step(calls=(create, delete)), Step(text="Done."))
    with ModelServer(steps) as model:
        async with drawing(folder, model) as client:
            (folder / "old.txt").write_text("old\n")
            uris = [written(folder).as_uri(), (folder / "new.txt").as_uri(), (folder / "old.txt").as_uri()]
            session = (await client.editor.turn("do it"))["sessionId"]
            for number in (1, 0, 1):
                for uri in uris:
                    assert {each["sessionId"] for each in await client.hunks(uri, number)} <= {session}
                if number == 1 and "LINE 5" in (folder / "a.txt").read_text():
                    await client.editor.turn("/undo", sessionId=session)
                elif number == 0:
                    await client.editor.turn("/redo", sessionId=session)


async def test_an_accepted_new_file_waits_no_more_whatever_is_typed_and_undone(folder: Path) -> None:
    create = Call(name="create_file", arguments={"path": "b.txt", "content": "made\n"})
    with ModelServer((Step(calls=(create,)), Step(text="Done."))) as model:
        async with drawing(folder, model) as client:
            await client.editor.turn("make it")
            uri = client.editor.documents.open(folder / "b.txt")
            await client.hunks(uri, 1)
            await client.decide("accept", uri=uri)
            client.editor.documents.insert(uri, "made", "mine and ")
            client.editor.documents.type_over(uri, "made\n")
            left = await client.decide("accept")

    assert left == {"left": 0}
    assert client.editor.pending[uri]["hunks"] == []


async def test_undoing_the_rejection_of_a_deletion_deletes_the_file_that_is_not_text(folder: Path) -> None:
    path, link = folder / "a.bin", folder / "link.txt"
    path.write_bytes(b"\x7fELF\0\xff")
    path.chmod(0o751)
    link.symlink_to("nowhere.txt")
    calls = tuple(Call(name="delete_file", arguments={"path": each.name}) for each in (path, link))
    with ModelServer((Step(calls=calls), Step(text="Done."), Step(text="I see."), Step(text="I see."))) as model:
        async with drawing(folder, model) as client:
            session = (await client.editor.turn("do it"))["sessionId"]
            for each in (path, link):
                await client.decide("reject", uri=each.as_uri())
            await client.editor.turn("And now?", sessionId=session)
            undone = await client.decide("undoRejection", uri=path.as_uri())
            await client.decide("undoRejection")
            gone = not path.exists() and not link.is_symlink()
            (hunk,) = await client.hunks(path.as_uri(), 1)
            kind = client.editor.pending[path.as_uri()]["kind"]
            await client.editor.turn("And now?", sessionId=session)
            told = client.last_request
            for each in (path, link):
                await client.decide("reject", uri=each.as_uri())
            again = (path.read_bytes(), path.stat().st_mode & 0o777, link.readlink())
            path.write_bytes(b"\0other")
            with pytest.raises(JsonRpcException, match="These lines have changed since"):
                await client.decide("undoRejection", uri=path.as_uri())

    assert undone == {"left": 1, "uri": path.as_uri()}
    assert gone
    assert (kind, hunk["oldText"], hunk["newText"], hunk["sessionId"]) == ("delete", "", "", session)
    assert "I undid the rejection of these edits" in told
    assert again == (b"\x7fELF\0\xff", 0o751, Path("nowhere.txt"))
    assert path.read_bytes() == b"\0other"


async def test_hunks_that_another_program_removes_wait_again_once_it_brings_them_back(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            path = written(folder)
            await client.editor.turn("shout")
            await client.hunks(path.as_uri(), 2)
            path.write_text(f"mine\n{path.read_text()}")
            changed = {"changes": [{"uri": path.as_uri(), "type": 2}]}
            client.editor.tell("workspace/didChangeWatchedFiles", changed)
            await client.editor.until(
                lambda: client.editor.pending[path.as_uri()]["hunks"][0]["range"]["start"]["line"] == 5
            )
            text = path.read_text()
            path.write_text("something else\n")
            client.editor.tell("workspace/didChangeWatchedFiles", changed)
            await client.hunks(path.as_uri(), 0)
            path.write_text(text)
            client.editor.tell("workspace/didChangeWatchedFiles", changed)
            hunks = await client.hunks(path.as_uri(), 2)
            await client.decide("reject")

    assert [each["newText"] for each in hunks] == ["LINE 5\n", "LINE 15\nand more\n"]
    assert path.read_text() == f"mine\n{TEXT}"


@pytest.mark.parametrize("n_chars", [None, 0, 60], ids=["missing", "empty", "half"])
@pytest.mark.parametrize("n_events", [1, 2])
async def test_hunks_wait_again_in_a_file_that_was_read_while_another_program_wrote_it(
    folder: Path, n_chars: int | None, n_events: int
) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            path = written(folder)
            await client.editor.turn("shout")
            await client.hunks(path.as_uri(), 2)
            text = f"mine\n{path.read_text()}"
            changed = {"changes": [{"uri": path.as_uri(), "type": 2}]}
            if n_chars is None:
                path.unlink()
            else:
                path.write_text(text[:n_chars])
            for _ in range(n_events):
                client.editor.tell("workspace/didChangeWatchedFiles", changed)
            await client.hunks(path.as_uri(), 1 if n_chars else 0)
            path.write_text(text)
            client.editor.tell("workspace/didChangeWatchedFiles", changed)
            hunks = await client.hunks(path.as_uri(), 2)
            left = await client.decide("reject", uri=path.as_uri())

    assert [each["newText"] for each in hunks] == ["LINE 5\n", "LINE 15\nand more\n"]
    assert left == {"left": 0}
    assert path.read_text() == f"mine\n{TEXT}"


async def test_hunks_wait_again_in_an_open_file_that_was_read_while_another_program_wrote_it(folder: Path) -> None:
    with ModelServer(TWO_EDITS) as model:
        async with drawing(folder, model) as client:
            path = written(folder)
            uri = client.editor.documents.open(path)
            await client.editor.turn("shout")
            client.editor.documents.save(uri)
            await client.hunks(uri, 2)
            text = path.read_text()
            path.write_text("")
            await client.decide("reject", uri=uri)
            vanished = client.editor.pending[uri]["hunks"]
            path.write_text(text)
            client.editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
            await client.hunks(uri, 2)
            await client.decide("reject", uri=uri)

            assert vanished == []
            assert client.editor.documents.text(uri) == TEXT


async def test_deleted_files_of_a_folder_that_the_user_renames_come_back_in_it(folder: Path) -> None:
    (folder / "old").mkdir()
    program, text = folder / "old" / "a.bin", folder / "old" / "a.txt"
    program.write_bytes(b"\x7fELF\0\xff")
    text.write_bytes("größer\n".encode("latin-1"))
    calls = tuple(Call(name="delete_file", arguments={"path": f"old/{each.name}"}) for each in (program, text))
    with ModelServer((Step(calls=calls), Step(text="Done."))) as model:
        async with drawing(folder, model) as client:
            await client.editor.turn("delete them")
            await client.hunks(text.as_uri(), 1)
            new = folder / "new"
            (folder / "old").rename(new)
            files = {"files": [{"oldUri": (folder / "old").as_uri(), "newUri": new.as_uri()}]}
            client.editor.tell("workspace/didRenameFiles", files)
            await client.hunks((new / "a.bin").as_uri(), 1)
            await client.decide("reject")

    assert (new / "a.bin").read_bytes() == b"\x7fELF\0\xff"
    assert (new / "a.txt").read_bytes() == "größer\n".encode("latin-1")
