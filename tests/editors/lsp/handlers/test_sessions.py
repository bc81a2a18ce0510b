"""Sessions over the wire: listed, loaded, named, forked, exported, changed and forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.editors.lsp.editor import Editor, Setup, connected
from tests.fakes import Call, Gate, say


def changes(editor: Editor, session_id: str) -> list[str]:
    """What was told of a session, beside the beginnings and ends of its turns."""
    told = editor.notifications("pygent/session/changed")
    found = [each["what"] for each in told if each["sessionId"] == session_id]
    return [what for what in found if not what.startswith("turn_")]


async def test_a_session_is_loaded_with_its_messages_and_exported_in_each_form(folder: Path) -> None:
    (folder / "a.txt").write_text("plum\n")
    call = Call(name="read_file", arguments={"path": "a.txt"}, id="call-1")
    script = [say("", call, thinking="hm"), say("It says <plum> & more.")]
    async with connected(folder, Setup(script=script)) as editor:
        done = await editor.turn("what does it say?")
        session = {"sessionId": done["sessionId"]}

        loaded = await editor.request("pygent/session/load", session)
        texts = {
            form: (await editor.request("pygent/session/export", {**session, "format": form}))["content"]
            for form in ("markdown", "plain", "json", "xml", "html")
        }

        asked, called, result, answer = loaded["messages"]
        assert asked["role"] == "user"
        assert asked["content"] == [{"type": "text", "text": "what does it say?"}]
        assert [each["type"] for each in called["content"]] == ["thinking", "tool_use"]
        assert called["content"][1]["name"] == "read_file"
        assert result["content"][0]["toolUseId"] == called["content"][1]["id"]
        assert not result["content"][0]["isError"]
        assert answer["content"] == [{"type": "text", "text": "It says <plum> & more."}]
        assert {each["turnId"] for each in loaded["messages"]} == {done["turnId"]}
        assert (loaded["name"], loaded["messageCount"]) == ("what does it say?", 4)
        assert "It says <plum> & more." in texts["markdown"]
        assert texts["plain"].startswith("User: what does it say?\n")
        assert json.loads(texts["json"])["messages"] == loaded["messages"]
        assert ElementTree.fromstring(texts["xml"]).findall("message")[-1].text == "It says <plum> & more."


async def test_a_session_is_looked_at_without_its_messages(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("One."), say("Two.")])) as editor:
        first = await editor.turn("first")
        second = await editor.turn("second", sessionId=first["sessionId"])
        session = {"sessionId": first["sessionId"]}

        whole = await editor.request("pygent/session/load", session)
        facts = await editor.request("pygent/session/load", {**session, "messages": False})

        assert facts == {**whole, "messages": []}
        assert facts["turnIds"] == [first["turnId"], second["turnId"]]
        assert facts["messageCount"] == 4


async def test_sessions_are_listed_the_last_one_used_first_a_page_at_a_time(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("The zygote is settled."), say("Other.")])) as editor:
        first = (await editor.turn("tell me"))["sessionId"]
        second = (await editor.request("pygent/session/new", {"name": "Second"}))["sessionId"]
        third = (await editor.turn("unrelated"))["sessionId"]

        async def ids(**params: Any) -> list[str]:
            listed = await editor.request("pygent/session/list", params)
            return [each["sessionId"] for each in listed["sessions"]]

        page = await editor.request("pygent/session/list", {"limit": 2})

        assert await ids() == [third, second, first]
        assert [each["sessionId"] for each in page["sessions"]] == [third, second]
        assert await ids(limit=2, cursor=page["nextCursor"]) == [first]
        assert "nextCursor" not in await editor.request("pygent/session/list", {"limit": 3})
        assert await ids(query="ZYGOTE") == [first]
        assert await ids(query="second") == [second]
        assert await ids(cwd=str(folder / "elsewhere")) == []
        assert await ids(cwd=str(folder)) == [third, second, first]
        (folder / "link").symlink_to(folder)
        assert await ids(cwd=str(folder / "link")) == [third, second, first]
        error = await editor.error("pygent/session/list", {"cursor": "zz"})
        assert (error.code, error.data) == (-32602, {"kind": "invalid_cursor"})


@pytest.mark.parametrize("cwd", ["", "here", "~", "file:///w", "/a\0b"])
async def test_a_list_of_what_is_no_folder_is_an_error_that_says_so(folder: Path, cwd: str) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/session/list", {"cwd": cwd})

        assert error.code == -32602
        assert error.message.startswith("cwd: ")
        assert error.message.endswith(" is not the absolute path of a folder")


async def test_turns_are_found_by_their_words(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("The zygote is settled."), say("Other.")])) as editor:
        done = await editor.turn("tell me about it")
        await editor.turn("unrelated")

        found = await editor.request("pygent/session/search", {"query": "zygote tell"})
        error = await editor.error("pygent/session/search", {"query": ""})

        (match,) = found["matches"]
        assert (match["sessionId"], match["turnId"]) == (done["sessionId"], done["turnId"])
        assert "zygote" in match["snippet"]
        assert (error.code, "query" in error.message) == (-32602, True)


async def test_a_fork_goes_its_own_way_from_the_end_of_a_turn(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two"), say("forked")])) as editor:
        first = await editor.turn("first")
        session = {"sessionId": first["sessionId"]}
        await editor.turn("second", **session)

        fork = await editor.request("pygent/session/fork", {**session, "atTurnId": first["turnId"]})
        whole = await editor.request("pygent/session/fork", session)
        await editor.turn("in the fork", sessionId=fork["sessionId"])
        error = await editor.error("pygent/session/fork", {**session, "atTurnId": "turn-9"})

        sent = [message.text for message in editor.core.model.requests[-1].messages]
        origin = await editor.request("pygent/session/load", session)
        assert sent == ["first", "one", "in the fork"]
        assert (fork["messageCount"], whole["messageCount"], origin["messageCount"]) == (2, 4, 4)
        assert (fork["name"], fork["model"]) == ("first (fork)", origin["model"])
        assert (error.code, error.data) == (-32602, {"kind": "unknown_turn"})


async def test_a_fork_of_a_session_whose_turn_runs_has_what_was_before_it(folder: Path) -> None:
    gate = Gate()
    call = Call(name="read_file", arguments={"path": "a.txt"})
    async with connected(folder, Setup(script=[say("one"), say("", call), [gate, *say("two")]])) as editor:
        session = {"sessionId": (await editor.turn("first"))["sessionId"]}
        running = editor.begin_turn("second", **session)
        await gate.reached()

        fork = await editor.request("pygent/session/fork", session)

        gate.open()
        await running
        assert fork["messageCount"] == 2


async def test_a_session_is_named_by_its_first_prompt_until_it_is_renamed(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two")])) as editor:
        session = await editor.request("pygent/session/new", {})
        key = {"sessionId": session["sessionId"]}
        await editor.turn("/help", **key)
        unnamed = (await editor.request("pygent/session/load", key))["name"]
        await editor.turn("\n  Mend the   parser\nof dates", **key)
        named = (await editor.request("pygent/session/load", key))["name"]

        renamed = await editor.request("pygent/session/rename", {**key, "name": "Dates"})
        await editor.turn("go on", **key)
        kept = (await editor.request("pygent/session/load", key))["name"]
        error = await editor.error("pygent/session/rename", {**key, "name": "x" * 1_001})
        named_again = (await editor.request("pygent/session/rename", {**key, "name": " "}))["name"]

        assert (session["name"], unnamed, named) == ("New session", "New session", "Mend the parser")
        assert renamed["name"] == kept == "Dates"
        assert error.code == -32602
        assert named_again == "Mend the parser"
        assert changes(editor, key["sessionId"]) == ["created", "renamed", "renamed"]


async def test_a_session_that_is_deleted_is_gone_and_one_whose_turn_runs_is_not(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("done")]])) as editor:
        key = {"sessionId": (await editor.request("pygent/session/new", {}))["sessionId"]}
        running = editor.begin_turn("go", **key)
        await gate.reached()

        refused = await editor.error("pygent/session/delete", key)
        gate.open()
        await running
        deleted = await editor.request("pygent/session/delete", key)
        gone = await editor.error("pygent/session/load", key)

        assert (refused.code, refused.data) == (-32602, {"kind": "turn_running"})
        assert deleted == {"deleted": True}
        assert gone.data == {"kind": "unknown_session"}
        assert (await editor.request("pygent/session/list", {}))["sessions"] == []
        assert changes(editor, key["sessionId"]) == ["created", "deleted"]


async def test_what_a_session_is_configured_with_counts_from_then_on_all_of_it_or_nothing(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one")])) as editor:
        key = {"sessionId": (await editor.request("pygent/session/new", {}))["sessionId"]}

        configured = await editor.request("pygent/session/configure", {**key, "mode": "plan", "model": "fake/model"})
        no_model = await editor.error("pygent/session/configure", {**key, "mode": "trust", "model": "none/such"})
        no_mode = await editor.error("pygent/session/configure", {**key, "mode": "bypass"})

        assert (configured["mode"], configured["model"]) == ("plan", "fake/model")
        assert (no_model.code, "none/such" in no_model.message) == (-32602, True)
        assert no_mode.data == {"kind": "bypass_not_allowed"}
        assert (await editor.request("pygent/session/load", key))["mode"] == "plan"
        assert changes(editor, key["sessionId"]) == ["created", "configured"]


async def test_how_much_is_thought_and_sent_is_the_sessions_own_and_its_forks(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two"), say("three")])) as editor:
        key = {"sessionId": (await editor.turn("first"))["sessionId"]}

        await editor.request("pygent/session/configure", {**key, "maxThinkingTokens": 2048, "contextMode": "fresh"})
        await editor.turn("second", **key)
        fork = await editor.request("pygent/session/fork", key)
        await editor.turn("third", sessionId=fork["sessionId"])

        before, *after = editor.core.model.requests
        assert before.max_thinking_tokens == 0
        assert [request.max_thinking_tokens for request in after] == [2048, 2048]
        assert [[message.text for message in request.messages] for request in after] == [["second"], ["third"]]


async def test_an_effort_is_a_turns_or_else_the_sessions_and_its_forks(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two"), say("three"), say("four")])) as editor:
        key = {"sessionId": (await editor.turn("first"))["sessionId"]}

        await editor.request("pygent/session/configure", {**key, "effort": "low"})
        await editor.turn("second", **key)
        await editor.turn("third", **key, effort="max")
        fork = await editor.request("pygent/session/fork", key)
        await editor.turn("fourth", sessionId=fork["sessionId"])
        wrong = await editor.error("pygent/session/configure", {**key, "effort": "huge"})

        assert [request.effort for request in editor.core.model.requests] == [None, "low", "max", "low"]
        keys = [request.cache_key for request in editor.core.model.requests]
        assert keys == [key["sessionId"]] * 3 + [fork["sessionId"]]
        assert (wrong.code, "effort" in wrong.message) == (-32602, True)


async def test_closing_a_session_ends_its_turn_and_it_can_be_gone_on_with(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("never")], say("again")])) as editor:
        key = {"sessionId": (await editor.request("pygent/session/new", {}))["sessionId"]}
        running = editor.begin_turn("go", **key)
        await gate.reached()

        closed = await editor.request("pygent/session/close", key)

        assert closed == {"closed": True}
        assert (await running)["stopReason"] == "cancelled"
        assert (await editor.turn("on", **key))["text"] == "again"


@pytest.mark.parametrize("method", ["load", "rename", "delete", "fork", "export", "configure", "close"])
async def test_a_session_that_there_is_not_is_an_error_of_its_kind(folder: Path, method: str) -> None:
    async with connected(folder) as editor:
        params = {"sessionId": "none", "name": "n", "format": "json"}
        error = await editor.error(f"pygent/session/{method}", params)

        assert (error.code, error.data) == (-32602, {"kind": "unknown_session"})


async def test_a_form_that_there_is_not_is_an_error_that_names_those_that_there_are(folder: Path) -> None:
    async with connected(folder) as editor:
        key = {"sessionId": (await editor.request("pygent/session/new", {}))["sessionId"]}
        error = await editor.error("pygent/session/export", {**key, "format": "pdf"})

        assert error.code == -32602
        assert all(form in error.message for form in ("markdown", "json", "xml", "plain"))
