"""An answer streams into the user's own document, while they type there, in editors as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.editors.lsp.chat_document.writer import EDIT_INTERVAL_S
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.chat_document.conversation import answered, chat_in, command, is_answered, send, told
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, WireError, connected
from tests.editors.lsp.editor_documents import edited
from tests.fakes import Gate, Step, bounded, say

START = "# Scratch 😀\n\nsome notes\n\n## You\n\nWhy?\n"
ANSWER = "Since **it** is.\n\n```py\n## You\n```\n\nThat is all. 😀"
WHOLE = f"{START}\n## pygent\n\n{ANSWER}\n\n## You\n\n"

Apply = Callable[[Editor, Mapping[str, Any]], Any]


def in_two(gate: Gate, answer: str = ANSWER, at: int = 10) -> list[Step]:
    """An answer that stops in its midst."""
    return [TextChunk(text=answer[:at]), gate, TextChunk(text=answer[at:]), *say()]


def quick(editor: Editor) -> None:
    """Shorten the time for which the daemon waits for this editor."""
    editor.server.endpoint.patience = Patience(answer_s=0.2, proof_s=0.2)


def kept_elsewhere(message: str) -> str:
    """What is in the file that the message names at its end."""
    return Path(message.rpartition(" It was saved to ")[2].removesuffix(".")).read_text()


async def begun(editor: Editor, uri: str, words: str = "Since **it") -> None:
    """Wait for the first words of the answer."""
    await editor.until(lambda: words in editor.documents.text(uri))


def takes_at_most_a_line_break(edit: Mapping[str, Any]) -> bool:
    start, end = edit["range"]["start"], edit["range"]["end"]
    return start == end or (
        end == {"line": start["line"] + 1, "character": 0} and edit["newText"].startswith(("\n", "\r\n"))
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
async def test_an_answer_comes_in_small_edits_at_the_end(folder: Path, encoding: str, ending: str) -> None:
    gate = Gate()
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
    async with connected(folder, Setup(script=[in_two(gate)]), capabilities=capabilities) as editor:
        start = START.replace("\n", ending)
        path = chat_in(folder, start)
        uri = editor.documents.open(path)
        await send(editor, uri)
        await begun(editor, uri)
        gate.open()

        text = await answered(editor, uri=uri)

        assert text.replace(ending, "\n").replace("\r\n", "\n") == WHOLE
        assert ending == "\r" or text == WHOLE.replace("\n", ending)
        edits = [each.params["edit"]["documentChanges"] for each in editor.requests("workspace/applyEdit")]
        assert len(edits) >= 2
        assert all(len(each) == 1 and isinstance(each[0]["textDocument"]["version"], int) for each in edits)
        new = [edit for (change,) in edits for edit in change["edits"]]
        assert all(takes_at_most_a_line_break(each) for each in new)
        assert "notes" not in "".join(each["newText"] for each in new)
        assert path.read_bytes().decode() == start


async def test_the_user_types_everywhere_meanwhile_and_nothing_is_lost(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        await begun(editor, uri)
        editor.documents.insert(uri, "some", "typed above\n")
        editor.documents.type_over(uri, editor.documents.text(uri) + "a draft")
        editor.documents.type_over(uri, editor.documents.text(uri).replace("Since", "SINCE"))
        gate.open()

        await editor.until(lambda: editor.documents.text(uri).endswith("## You\n\na draft"))

        expected = WHOLE.replace("some", "typed above\nsome").replace("Since", "SINCE") + "a draft"
        assert editor.documents.text(uri) == expected


def drops_the_first(editor: Editor, params: Mapping[str, Any]) -> Any:
    """Drop the first edit, but report it as applied."""
    return {"applied": True} if len(editor.requests("workspace/applyEdit")) == 1 else editor.documents.apply(params)


def refuses_the_first(editor: Editor, params: Mapping[str, Any]) -> Any:
    return {"applied": False} if len(editor.requests("workspace/applyEdit")) == 1 else editor.documents.apply(params)


def answers_null(editor: Editor, params: Mapping[str, Any]) -> Any:
    editor.documents.apply(params)
    return None


def makes_it_and_never_answers(editor: Editor, params: Mapping[str, Any]) -> Any:
    editor.documents.apply(params)
    return NO_ANSWER


def does_nothing_at_first(editor: Editor, params: Mapping[str, Any]) -> Any:
    return NO_ANSWER if len(editor.requests("workspace/applyEdit")) == 1 else editor.documents.apply(params)


def fails_at_first(editor: Editor, params: Mapping[str, Any]) -> Any:
    if len(editor.requests("workspace/applyEdit")) == 1:
        raise WireError(-32603, "busy")
    return editor.documents.apply(params)


def is_typed_into_first(editor: Editor, params: Mapping[str, Any]) -> Any:
    """Its version is stale: the user was faster."""
    if len(editor.requests("workspace/applyEdit")) < 3:
        (uri,) = editor.documents.open_documents
        editor.documents.insert(uri, "some", "typed ")
    return editor.documents.apply(params)


def drops_what_is_stale_and_says_it_made_it(editor: Editor, params: Mapping[str, Any]) -> Any:
    is_typed_into_first(editor, params)
    return {"applied": True}


def makes_it_together_with_typing(editor: Editor, params: Mapping[str, Any]) -> Any:
    """Report the edit and typed text as one change."""
    (uri,) = editor.documents.open_documents
    text = edited(editor.documents.text(uri), params["edit"]["documentChanges"][0]["edits"], "utf-16")
    editor.documents.type_over(uri, text.replace("some", "typed some", 1))
    return {"applied": True}


def ends_every_text_with_a_line(editor: Editor, params: Mapping[str, Any]) -> Any:
    """As Neovim does."""
    (uri,) = editor.documents.open_documents
    text = edited(editor.documents.text(uri), params["edit"]["documentChanges"][0]["edits"], "utf-16")
    editor.documents.type_over(uri, text if text.endswith("\n") else text + "\n")
    return {"applied": True}


@pytest.mark.parametrize(
    "apply",
    [
        drops_the_first,
        refuses_the_first,
        answers_null,
        makes_it_and_never_answers,
        does_nothing_at_first,
        fails_at_first,
        is_typed_into_first,
        drops_what_is_stale_and_says_it_made_it,
        makes_it_together_with_typing,
        ends_every_text_with_a_line,
    ],
    ids=lambda apply: apply.__name__,
)
async def test_whatever_the_editor_does_with_an_edit_the_answer_stands_there_once(folder: Path, apply: Apply) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        quick(editor)
        editor.handlers["workspace/applyEdit"] = lambda params: apply(editor, params)
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        await begun(editor, uri)
        gate.open()

        await editor.until(lambda: is_answered(editor.documents.text(uri), 1))

        assert editor.documents.text(uri).replace("typed ", "").rstrip() == WHOLE.rstrip()


async def test_pieces_of_an_answer_gather_for_a_while_before_each_edit(folder: Path) -> None:
    gates = [Gate() for _ in range(5)]
    script: list[Step] = [step for number, gate in enumerate(gates) for step in (TextChunk(text=f"{number} "), gate)]
    async with connected(folder, Setup(script=[[*script, *say()]])) as editor:
        came_at_s: list[float] = []

        def tell_of_it_and_then_answer(params: Mapping[str, Any]) -> Any:
            came_at_s.append(asyncio.get_running_loop().time())
            result = editor.documents.apply(params)
            if len(came_at_s) <= len(gates):
                gates[len(came_at_s) - 1].open()
            return result

        editor.handlers["workspace/applyEdit"] = tell_of_it_and_then_answer
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        await answered(editor, uri=uri)

        streamed_at_s = came_at_s[: len(gates)]
        assert streamed_at_s[-1] - streamed_at_s[0] > 0.8 * EDIT_INTERVAL_S * (len(gates) - 1)


async def test_one_edit_is_on_its_way_at_a_time_also_where_changes_are_told_late(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        under_way: list[Mapping[str, Any]] = []
        is_done = asyncio.Event()

        def make_it_and_tell_of_it_later(params: Mapping[str, Any]) -> Any:
            under_way.append(params)
            assert len(under_way) == 1

            def tell() -> None:
                editor.documents.apply(under_way[0])
                under_way.clear()
                if is_answered(editor.documents.text(uri), 1):
                    is_done.set()

            asyncio.get_running_loop().call_later(0.12, tell)
            return {"applied": True}

        editor.handlers["workspace/applyEdit"] = make_it_and_tell_of_it_later
        await send(editor, uri)
        await gate.reached()
        await editor.asks("workspace/applyEdit")
        gate.open()
        await bounded(is_done.wait())

        assert editor.documents.text(uri) == WHOLE
        assert len(editor.requests("workspace/applyEdit")) > 1


async def test_an_edit_that_is_made_after_it_was_given_up_is_not_made_again(folder: Path) -> None:
    async with connected(folder, Setup(script=[say(ANSWER)])) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.05, proof_s=0.05)
        uri = editor.documents.open(chat_in(folder, START))
        late: list[Mapping[str, Any]] = []

        def make_the_first_with_the_second(params: Mapping[str, Any]) -> Any:
            if not late:
                late.append(params)
                return {"applied": True}
            if len(late) == 1:
                late.append(params)
                assert editor.documents.apply(late[0]) == {"applied": True}
            return editor.documents.apply(params)

        editor.handlers["workspace/applyEdit"] = make_the_first_with_the_second
        await send(editor, uri)

        assert await answered(editor, uri=uri) == WHOLE
        assert len(late) == 2


async def test_an_editor_without_versions_is_sent_none(folder: Path) -> None:
    capabilities = {**CAPABILITIES, "workspace": {"applyEdit": True}}
    async with connected(folder, Setup(script=[say(ANSWER)]), capabilities=capabilities) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)

        assert await answered(editor, uri=uri) == WHOLE
        assert set(editor.requests("workspace/applyEdit")[0].params["edit"]) == {"changes"}


@pytest.mark.parametrize("is_saved", [True, False])
async def test_a_document_that_is_closed_in_mid_turn_is_written_on_the_disk(folder: Path, is_saved: bool) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        path = chat_in(folder, START if is_saved else "# Scratch 😀\n\nsome notes\n")
        uri = editor.documents.open(path, text=START)
        await send(editor, uri)
        await begun(editor, uri)
        if is_saved:
            editor.documents.save(uri)
        editor.documents.close(uri)
        gate.open()

        assert str(path) in await told(editor)
        assert path.read_bytes().decode() == WHOLE


async def test_a_document_that_is_opened_in_mid_turn_is_written_in_its_buffer(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        path = chat_in(folder, START)
        await command(editor, "pygent.sendChat", path.as_uri())
        await gate.reached()
        uri = editor.documents.open(path, text=START)  # as it was before the first words came
        gate.open()

        assert await answered(editor, uri=uri) == WHOLE


async def test_a_document_that_is_opened_twice_is_answered_once(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        await begun(editor, uri)
        editor.documents.open(Path(), text=editor.documents.text(uri), uri=uri, version=90)
        gate.open()

        assert await answered(editor, uri=uri) == WHOLE


async def test_an_undo_of_the_user_stands_and_the_answer_goes_on(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        uri = editor.documents.open(chat_in(folder, START))
        await send(editor, uri)
        await begun(editor, uri)
        editor.documents.type_over(uri, START)
        gate.open()

        await editor.until(lambda: editor.documents.text(uri).endswith("## You\n\n"))
        assert editor.documents.text(uri) == f"{START}{ANSWER[10:]}\n\n## You\n\n"


async def test_an_editor_that_cannot_be_asked_for_edits_finds_the_answer_in_the_file(folder: Path) -> None:
    async with connected(folder, Setup(script=[say(ANSWER)]), capabilities={"window": {}}) as editor:
        path = chat_in(folder, "")
        uri = editor.documents.open(path, text=START)  # not saved
        await command(editor, "pygent.sendChat", uri)

        message = await told(editor)

        assert message.startswith("Since **it** is.")
        assert str(path) in message
        assert path.read_bytes().decode() == WHOLE
        assert editor.requests("workspace/applyEdit") == []


async def test_an_answer_is_not_written_over_what_another_program_has_put_into_the_file(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)]), capabilities={"window": {}}) as editor:
        path = chat_in(folder, "")
        uri = editor.documents.open(path, text=START)  # not saved
        await command(editor, "pygent.sendChat", uri)
        path.write_text("theirs\n")
        gate.open()

        message = await told(editor)

        assert "another program has changed the file" in message
        assert path.read_text() == "theirs\n"


async def test_an_answer_that_an_editor_never_takes_is_kept_elsewhere(folder: Path) -> None:
    reason = "the buffer is read-only"
    async with connected(folder, Setup(script=[say(ANSWER)])) as editor:
        path = chat_in(folder, START)
        editor.handlers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": reason}
        uri = editor.documents.open(path)
        await send(editor, uri)

        message = await told(editor)

        assert reason in message
        assert kept_elsewhere(message) == f"## You\n\nWhy?\n\n## pygent\n\n{ANSWER}\n"
        assert (editor.documents.text(uri), path.read_text()) == (START, START)


async def test_a_document_that_cannot_be_written_says_so_and_the_answer_is_kept(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        path = chat_in(folder, START)
        uri = editor.documents.open(path)
        await send(editor, uri)
        await begun(editor, uri)
        editor.documents.close(uri)
        path.write_bytes(b"\xff\xfe\x80")
        gate.open()

        message = await told(editor)

        assert "could not be written" in message
        assert "not UTF-8" in message
        assert path.read_bytes() == b"\xff\xfe\x80"
        assert ANSWER in kept_elsewhere(message)


async def test_documents_are_answered_at_the_same_time(folder: Path) -> None:
    gates = [Gate(), Gate()]
    script = [in_two(gate, answer) for gate, answer in zip(gates, ("First answer.", "Second answer."), strict=True)]
    async with connected(folder, Setup(script=script)) as editor:
        uris = [editor.documents.open(chat_in(folder, START, f"{name}.pygent.md")) for name in "ab"]
        for uri, gate in zip(uris, gates, strict=True):
            await send(editor, uri)
            await gate.reached()
        for gate in reversed(gates):
            gate.open()

        texts = [await answered(editor, uri=uri) for uri in uris]

        assert ["First answer." in text for text in texts] == [True, False]
        assert ["Second answer." in text for text in texts] == [False, True]


async def test_a_mark_of_the_byte_order_stays(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Yes.")])) as editor:
        path = chat_in(folder, "\ufeff" + START)
        await command(editor, "pygent.sendChat", path.as_uri())
        await told(editor)

        assert path.read_bytes().decode() == "\ufeff" + WHOLE.replace(ANSWER, "Yes.")


async def test_what_is_there_is_written_when_the_daemon_ends(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[in_two(gate)])) as editor:
        path = chat_in(folder, START)
        await command(editor, "pygent.sendChat", path.as_uri())
        await gate.reached()

    assert path.read_text() == f"{START}\n## pygent\n\nSince **it\n\n*The turn ended: cancelled*\n\n## You\n\n"
