"""Side questions over real daemons, whose model answers over HTTP: beside a turn, in each front end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.lsp_client import EditorClient, editor_client
from tests.e2e.test_chat import chat, leaves
from tests.e2e.test_conversation import PLUGIN
from tests.editors.acp.client import acp_client
from tests.model_server import Call, ModelServer, Received, Step

ASIDE = "Side question:"

DELETE = Call(name="delete_file", arguments={"path": "a.txt"}, id="d1")


def is_aside(request: Received) -> bool:
    return ASIDE in str(request.messages[-1])


def answering(turn: list[Step], aside: Step) -> Any:
    """The script of a model whose turns play these steps, and whose side questions are answered with `aside`."""

    def answer(request: Received, _: int) -> Step:
        if is_aside(request):
            return aside
        return turn.pop(0) if turn else Step(status=400, error="the test's script is over")

    return answer


def environment(server: ModelServer) -> dict[str, str]:
    return {**server.env(), "PYGENT_MODEL": "openai/mock"}


async def ask(editor: EditorClient, session: str, question: str = "why?", **params: object) -> Any:
    given = {"sessionId": session, "question": question, "partialResultToken": "aside", **params}
    return await editor.ask("pygent/sideQuestion", given)


async def test_a_question_is_answered_while_the_turn_waits_for_permission(folder: Path) -> None:
    (folder / "a.txt").write_text("x\n")
    turn = [Step(text="I delete it.", calls=(DELETE,)), Step(text="Done."), Step(text="Later.")]
    async with (
        ModelServer(answering(turn, Step(text="Because it is old.", usage=(50, 7)))) as server,
        editor_client(folder, environment(server), capabilities=PLUGIN) as editor,
    ):
        asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def permission(_: Any) -> Any:
            asked.set()
            return await answer

        editor.client.feature("pygent/permission/request")(permission)
        session = (await editor.ask("pygent/session/new", {}))["sessionId"]
        running = editor.begin_turn("delete a.txt", sessionId=session)
        await asyncio.wait_for(asked.wait(), 60)

        result = await ask(editor, session, questionId="q1")

        assert (result["text"], result["turnId"], result["stopReason"]) == ("Because it is old.", "q1", "end_turn")
        assert "".join(e["content"] for e in editor.events("aside") if e["type"] == "text_delta") == result["text"]
        aside = next(each for each in server.requests if is_aside(each))
        turns = [each for each in server.requests if not is_aside(each)]
        assert aside.body["tools"] == turns[0].body["tools"]
        assert "tool_choice" not in aside.body
        assert aside.messages[: len(turns[0].messages)] == turns[0].messages
        pending = [each["tool_call_id"] for each in aside.messages if each["role"] == "tool"]
        assert pending == [aside.messages[-3]["tool_calls"][0]["id"]]
        answer.set_result({"optionId": "allow_once"})
        done = await running
        assert done.get("text") == "Done."
        assert done["usage"]["totalTokens"] == 2 * 120 + 57
        assert not (folder / "a.txt").exists()

        loaded = await editor.ask("pygent/session/load", {"sessionId": session})
        assert "why?" not in str(loaded["messages"])
        assert loaded["lastSeq"] == editor.events()[-1]["seq"]
        assert [each["seq"] for each in editor.events()] == [*range(1, loaded["lastSeq"] + 1)]
        await editor.turn("and now?", sessionId=session)
        assert ASIDE not in str(server.requests[-1].messages)
        journals = [each.read_text() for each in (folder.parent / "home").rglob("*.jsonl")]
        assert any("delete a.txt" in each for each in journals)
        assert not any("Because it is old" in each or ASIDE in each for each in journals)


async def test_the_command_in_a_prompt_is_not_queued_and_each_is_cancelled_on_its_own(folder: Path) -> None:
    turn = [Step(text="A long answer", pause_after=2)]
    async with (
        ModelServer(answering(turn, Step(text="Half an answer", pause_after=2))) as server,
        editor_client(folder, environment(server)) as editor,
    ):
        session = (await editor.ask("pygent/session/new", {}))["sessionId"]
        running = editor.begin_turn("go", sessionId=session)
        await editor.until(lambda: "text_delta" in editor.types())
        first = editor.begin_turn("/btw why?", sessionId=session, turnId="b1", partialResultToken="b1")
        await editor.until(lambda: "text_delta" in editor.types("b1"))
        second = editor.begin("pygent/sideQuestion", {"sessionId": session, "question": "how?"}, id_="second")
        await server.until(lambda: len(server.requests) == 3)

        assert await editor.ask("pygent/turn/cancel", {"sessionId": session, "turnId": "b1"}) == {"cancelled": True}
        assert (await first)["stopReason"] == "cancelled"
        assert editor.types("b1")[-2:] == ["cancelled", "finished"]
        editor.tell("$/cancelRequest", {"id": "second"})
        with pytest.raises(JsonRpcException) as cancelled:
            await second
        assert cancelled.value.code == -32800
        await server.until(lambda: server.disconnects == 2)
        server.resume()
        assert (await running)["text"] == "A long answer"


async def test_a_flood_is_refused_and_the_session_goes_on(folder: Path) -> None:
    async with (
        ModelServer(answering([Step(text="Hello.")], Step(hang=True))) as server,
        editor_client(folder, environment(server)) as editor,
    ):
        session = (await editor.ask("pygent/session/new", {}))["sessionId"]
        asked = [editor.begin("pygent/sideQuestion", {"sessionId": session, "question": f"{n}?"}) for n in range(40)]
        await server.until(lambda: len(server.requests) == 3)
        over: set[asyncio.Future[Any]] = set()
        open_ones = set(asked)
        while len(open_ones) > 3:
            over, open_ones = await asyncio.wait(open_ones, timeout=60, return_when=asyncio.FIRST_COMPLETED)
            assert over
            assert all("already being answered" in str(each.exception()) for each in over)

        assert (await editor.turn("hi", sessionId=session))["text"] == "Hello."
        await editor.ask("pygent/session/close", {"sessionId": session})
        ended: list[Any] = await asyncio.wait_for(asyncio.gather(*open_ones), 60)
        assert [each["stopReason"] for each in ended] == ["cancelled"] * 3


async def test_its_usage_is_kept_with_the_session(folder: Path) -> None:
    async with (
        ModelServer(answering([Step(text="Hello.")], Step(text="So.", usage=(50, 7)))) as server,
        editor_client(folder, environment(server)) as editor,
    ):
        session = (await editor.ask("pygent/session/new", {}))["sessionId"]
        await editor.turn("hi", sessionId=session)
        await ask(editor, session)
        await editor.ask("pygent/session/close", {"sessionId": session})
        loaded = await editor.ask("pygent/session/load", {"sessionId": session})

    assert loaded["usage"]["totalTokens"] == 120 + 57
    assert loaded["messageCount"] == 2


async def test_a_plain_editor_gets_the_answer_as_a_message_and_not_in_its_chat_document(folder: Path) -> None:
    turn = [Step(text="A long answer", pause_after=2), Step(text="Second.")]
    async with (
        ModelServer(answering(turn, Step(text="Because.\nSo."))) as server,
        editor_client(folder, environment(server)) as editor,
    ):
        await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["go"]})
        await server.until(lambda: len(server.requests) == 1)
        await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["/btw why?"]})
        await editor.until(lambda: any("Because.\nSo." in each for each in editor.messages))
        server.resume()
        document = await editor.answered()

    assert "why?\n\nBecause.\nSo." in editor.messages
    assert "A long answer" in document
    assert "Because" not in document


async def test_a_side_question_in_a_chat_document_is_not_part_of_its_conversation(folder: Path) -> None:
    path = folder / "talk.pygent.md"
    async with (
        ModelServer(answering([Step(text="Hello."), Step(text="Bye.")], Step(text="An aside."))) as server,
        editor_client(folder, environment(server)) as editor,
    ):
        uri = editor.documents.open(path, text="## You\n\nhi\n")

        async def sends(number: int, question: str) -> str:
            if question:
                editor.documents.type_over(uri, f"{editor.documents.text(uri).rstrip()}\n\n{question}\n")
            await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.sendChat", "arguments": [uri]})
            return await editor.answered(number, uri=uri)

        await sends(1, "")
        assert "An aside." in await sends(2, "/btw why?")
        await sends(3, "and now?")

    assert "An aside." not in str(server.requests[-1].messages)
    assert "hi" in str(server.requests[-1].messages)


async def test_an_acp_client_gets_it_whole_beside_the_running_turn(folder: Path) -> None:
    turn = [Step(text="A long answer", pause_after=2)]
    with ModelServer(answering(turn, Step(text="Because of this and that."))) as server:
        async with acp_client(folder, folder.parent / "home", **environment(server)) as client:
            await client.initialize()
            session = await client.new(folder)
            running = asyncio.ensure_future(client.prompt(session, "go"))
            await server.until(lambda: len(server.requests) == 1)
            assert await client.prompt(session, "/btw why?") == "end_turn"
            assert not running.done()
            server.resume()
            assert await running == "end_turn"
            said = [
                each["content"]["text"] for each in client.updates if each["sessionUpdate"] == "agent_message_chunk"
            ]
    assert "Because of this and that." in said
    assert "".join(each for each in said if each != "Because of this and that.") == "A long answer"


def test_in_a_terminal_chat_the_answer_comes_as_a_whole_while_the_turn_runs(folder: Path) -> None:
    home = folder.parent / "home"
    home.mkdir()
    turn = [Step(text="A long answer.", pause_after=2)]
    with (
        ModelServer(answering(turn, Step(text="Because of this and that."))) as server,
        chat(folder, home, **environment(server)) as terminal,
    ):
        terminal.types("go\r")
        server.wait_for(lambda: len(server.requests) == 1)
        terminal.types("/btw why do you wait?\r")
        terminal.sees("btw · why do you wait?")
        terminal.sees("Because of this and that.")
        terminal.sees("end of the side answer")
        assert "Queued" not in terminal.seen
        server.resume()
        terminal.sees("A long answer.")
        assert leaves(terminal) == 0
