"""Turns on the wire: results, events, cancelling, the queue, modes and rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.errors import ModelError
from tests.editors.lsp.editor import NO_ANSWER, Asked, Setup, WireError, connected
from tests.fakes import Call, FakeModel, Gate, bounded, say

REQUEST_CANCELLED = -32800


def edit(path: str = "a.txt", old: str = "one", new: str = "two") -> Call:
    return Call(name="edit_file", arguments={"path": path, "old": old, "new": new})


def read(path: str = "a.txt") -> Call:
    return Call(name="read_file", arguments={"path": path})


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


# Results and events


async def test_a_turn_returns_what_it_did(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("I edit.", edit()), say("Done.")])) as editor:
        result = await editor.turn("change it")

        assert result == {
            "sessionId": editor.core.sessions.all()[0].id,
            "turnId": editor.events()[0]["turnId"],
            "stopReason": "end_turn",
            "text": "Done.",
            "usage": {
                "inputTokens": 200,
                "outputTokens": 40,
                "cacheReadTokens": 0,
                "cacheWriteTokens": 0,
                "totalTokens": 240,
                "costUsd": None,
                "contextTokens": 120,
                "contextLimit": 100_000,
            },
            "iterations": 2,
            "filesChanged": [{"uri": (folder / "a.txt").as_uri(), "kind": "edit", "added": 1, "removed": 1}],
        }


async def test_all_events_come_before_the_response_numbered_without_a_gap(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("I read.", read()), say("Done.")])) as editor:
        await editor.turn()

        last_frames = [frame.get("method", "response") for frame in editor.frames[-3:]]
        assert "$/progress" in last_frames[:2]
        assert last_frames[-1] == "response"
        assert [event["seq"] for event in editor.events()] == list(range(1, len(editor.events()) + 1))
        assert [kind for kind in editor.types() if not kind.endswith("_delta")] == [
            *("turn_started", "text", "usage", "tool_call", "tool_result"),
            *("text", "usage", "finished"),
        ]
        assert [event["iteration"] for event in editor.events() if event["type"] in ("usage", "finished")] == [1, 2, 2]


async def test_a_turn_without_a_token_sends_no_events(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Hi")])) as editor:
        assert (await editor.request("pygent/turn/start", {"prompt": "x"}))["text"] == "Hi"

        assert editor.notifications("$/progress") == []


async def test_a_token_may_be_a_number(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Hi")])) as editor:
        await editor.turn(partialResultToken=0, workDoneToken=1)

        assert editor.types(0)[-1] == "finished"
        assert editor.progress(1)[0]["kind"] == "begin"


async def test_turns_of_one_session_share_its_history(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two")])) as editor:
        first = await editor.turn("a")
        second = await editor.turn("b", sessionId=first["sessionId"])

        assert second["sessionId"] == first["sessionId"]
        assert [message.text for message in editor.core.model.requests[1].messages] == ["a", "one", "b"]


async def test_a_failed_model_call_is_a_result_that_says_why(folder: Path) -> None:
    script = [[TextChunk(text="half"), ModelError("no key", type="auth")], say("fine")]
    async with connected(folder, Setup(script=script)) as editor:
        failed = await editor.turn()

        assert failed["stopReason"] == "error"
        assert failed["error"] == {"type": "auth", "message": "no key", "retryable": False}
        (error,) = [event for event in editor.events() if event["type"] == "llm_error"]
        withdrawn = {event["itemId"] for event in editor.events() if event["type"] == "text_delta"}
        assert set(error["withdrawn"]) == withdrawn
        assert (error["attempt"], error["willRetry"]) == (1, False)
        assert (await editor.turn(sessionId=failed["sessionId"]))["text"] == "fine"


async def test_a_limit_of_the_turn_is_told_before_it_ends(folder: Path) -> None:
    script = [say("", read()), say("", read()), say("never")]
    async with connected(folder, Setup(script=script)) as editor:
        result = await editor.turn(maxIterations=2)

        assert (result["stopReason"], result["iterations"]) == ("max_iterations", 2)
        (reached,) = [event for event in editor.events() if event["type"] == "iteration_limit_reached"]
        assert (reached["limit"], reached["value"]) == (2, 2)


async def test_attachments_reach_the_model_and_the_prompt_is_the_users_words(folder: Path) -> None:
    (folder / "a.txt").write_text("line 1\nline 2\nline 3\n")
    uri = (folder / "a.txt").as_uri()
    second_line = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    prompt = [
        {"type": "text", "text": "Look: "},
        {"type": "file", "uri": uri, "range": second_line},
        {"type": "selection", "uri": uri, "range": second_line, "text": "line 2"},
        {"type": "diagnostics", "uri": uri, "items": [{"range": second_line, "message": "bad", "severity": 2}]},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        {"type": "terminal", "command": "make", "output": "no rule to make target\n", "exitCode": 2},
        {"type": "text", "text": "why?"},
    ]
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        await editor.turn(prompt, context={"activeUri": uri, "visibleUris": [uri]})

        assert editor.events()[0]["prompt"] == "Look: why?"
        (message,) = editor.core.model.requests[0].messages
        assert message.text.endswith("Look: why?")
        for said in ("line 2", "line 2: warning: bad", "Active file: a.txt", "$ make\nno rule", "[exit code 2]"):
            assert said in message.text
        assert "line 1" not in message.text
        assert "image" in [block.type for block in message.blocks]


# Cancelling


async def test_a_cancelled_request_is_an_error_that_carries_the_whole_result(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[TextChunk(text="half"), gate]])) as editor:
        turn = editor.begin_turn()
        await gate.reached()

        editor.cancel(editor.last_id)

        with pytest.raises(WireError) as raised:
            await bounded(turn)
        assert raised.value.code == REQUEST_CANCELLED
        assert raised.value.data["stopReason"] == "cancelled"
        assert raised.value.data["text"] == "half"
        assert raised.value.data["sessionId"] == editor.core.sessions.all()[0].id
        assert editor.core.model.open_streams == 0
        assert editor.types()[-2:] == ["cancelled", "finished"]


async def test_a_request_that_is_cancelled_together_with_its_sending_carries_a_result_too(folder: Path) -> None:
    async with connected(folder, Setup(script=[[Gate()]])) as editor:
        turn = editor.begin_turn()
        editor.cancel(editor.last_id)

        with pytest.raises(WireError) as raised:
            await bounded(turn)
        assert raised.value.code == REQUEST_CANCELLED
        assert raised.value.data["stopReason"] == "cancelled"
        assert editor.types() == ["turn_started", "cancelled", "finished"]


async def test_cancelling_a_request_twice_is_one_cancel(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate]])) as editor:
        turn = editor.begin_turn()
        await gate.reached()

        for _ in range(3):
            editor.cancel(editor.last_id)

        with pytest.raises(WireError) as raised:
            await bounded(turn)
        assert raised.value.data["stopReason"] == "cancelled"
        answers = [frame for frame in editor.frames if frame.get("id") == editor.last_id]
        assert len(answers) == 1


async def test_cancelling_a_request_that_is_over_or_unknown_does_nothing(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("done"), say("again")])) as editor:
        await editor.turn()
        for id_ in (editor.last_id, 999, "no such"):
            editor.cancel(id_)

        assert (await editor.turn())["text"] == "again"


async def test_turn_cancel_makes_the_turn_return_its_result(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[TextChunk(text="half"), gate], say("on")])) as editor:
        turn = editor.begin_turn()
        await gate.reached()
        session_id = editor.core.sessions.all()[0].id

        assert await editor.request("pygent/turn/cancel", {"sessionId": session_id}) == {"cancelled": True}

        result = await bounded(turn)
        assert (result["stopReason"], result["text"]) == ("cancelled", "half")
        assert await editor.request("pygent/turn/cancel", {"sessionId": session_id}) == {"cancelled": False}
        assert (await editor.turn(sessionId=session_id))["text"] == "on"


async def test_turn_cancel_names_the_turn_that_it_means(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("done")]])) as editor:
        turn = editor.begin_turn()
        await gate.reached()
        await editor.until(editor.events)
        session_id = editor.core.sessions.all()[0].id

        for turn_id, cancelled in (("another", False), (editor.events()[0]["turnId"], True)):
            params = {"sessionId": session_id, "turnId": turn_id}
            assert await editor.request("pygent/turn/cancel", params) == {"cancelled": cancelled}
        assert (await bounded(turn))["stopReason"] == "cancelled"


async def test_a_cancel_withdraws_the_open_question_and_a_late_answer_counts_no_more(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("", edit()), say("on")])) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked: Asked = await editor.asks("window/showMessageRequest")

        await editor.request("pygent/turn/cancel", {"sessionId": editor.core.sessions.all()[0].id})

        result = await bounded(turn)
        assert result["stopReason"] == "cancelled"
        assert editor.notifications("$/cancelRequest") == [{"id": asked.id}]
        editor.answer(asked, {"title": "Always allow"})
        assert await editor.request("pygent/permission/rules") == {"rules": []}
        assert (folder / "a.txt").read_text() == "one\n"
        resolved = [event["outcome"] for event in editor.events() if event["type"] == "permission_resolved"]
        assert resolved == ["cancelled"]
        assert (await editor.turn(sessionId=result["sessionId"]))["text"] == "on"


# The queue


async def test_a_second_turn_is_told_at_once_that_it_waits(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")], say("two")])) as editor:
        first = editor.begin_turn("a", partialResultToken="first")
        await gate.reached()
        session_id = editor.core.sessions.all()[0].id
        second = editor.begin_turn("b", sessionId=session_id, partialResultToken="second")
        await editor.until(lambda: editor.types("second") == ["turn_queued"])

        queued = editor.events("second")[0]
        assert (queued["prompt"], queued["model"], queued["mode"]) == ("b", "fake/model", "default")
        assert await editor.request("pygent/turn/queue", {"sessionId": session_id}) == {
            "items": [{"turnId": queued["turnId"], "prompt": "b"}]
        }
        gate.open()
        assert [(await bounded(turn))["text"] for turn in (first, second)] == ["one", "two"]
        assert [kind for kind in editor.types("second") if kind.startswith("turn_")] == ["turn_queued", "turn_started"]
        assert await editor.request("pygent/turn/queue", {"sessionId": session_id}) == {"items": []}


async def test_a_turn_that_is_taken_out_of_the_queue_returns_cancelled(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")], say("three")])) as editor:
        first = editor.begin_turn("a")
        await gate.reached()
        session_id = editor.core.sessions.all()[0].id
        second = editor.begin_turn("b", sessionId=session_id, partialResultToken="second")
        third = editor.begin_turn("c", sessionId=session_id)
        await editor.until(lambda: editor.types("second"))
        waiting = {"sessionId": session_id, "turnId": editor.events("second")[0]["turnId"]}
        await editor.until(editor.events)
        running = {"sessionId": session_id, "turnId": editor.events()[0]["turnId"]}

        assert await editor.request("pygent/turn/dequeue", running) == {"removed": False}
        assert await editor.request("pygent/turn/dequeue", waiting) == {"removed": True}
        assert (await bounded(second))["stopReason"] == "cancelled"
        assert await editor.request("pygent/turn/dequeue", waiting) == {"removed": False}

        gate.open()
        assert [(await bounded(turn))["text"] for turn in (first, third)] == ["one", "three"]


async def test_cancelling_the_request_of_a_waiting_turn_takes_it_out_of_the_queue(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")]])) as editor:
        first = editor.begin_turn("a")
        await gate.reached()
        second = editor.begin_turn("b", sessionId=editor.core.sessions.all()[0].id, partialResultToken="second")
        await editor.until(lambda: editor.types("second"))

        editor.cancel(editor.last_id)

        with pytest.raises(WireError) as raised:
            await bounded(second)
        assert (raised.value.code, raised.value.data["stopReason"]) == (REQUEST_CANCELLED, "cancelled")
        gate.open()
        assert (await bounded(first))["text"] == "one"


async def test_a_turn_has_the_id_that_the_client_chose_from_its_first_event_on(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")], say("two")])) as editor:
        first = editor.begin_turn("a", turnId="mine-1", partialResultToken="first")
        await gate.reached()
        session_id = editor.core.sessions.all()[0].id
        second = editor.begin_turn("b", sessionId=session_id, turnId="mine_2", partialResultToken="second")
        await editor.until(lambda: editor.types("second") == ["turn_queued"])
        gate.open()

        assert [(await bounded(turn))["turnId"] for turn in (first, second)] == ["mine-1", "mine_2"]
        assert {each["turnId"] for each in editor.events("first")} == {"mine-1"}
        assert {each["turnId"] for each in editor.events("second")} == {"mine_2"}


async def test_a_turn_id_that_is_taken_or_malformed_is_refused_and_nothing_begins(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")], say("two")])) as editor:
        first = editor.begin_turn("a", turnId="mine")
        await gate.reached()
        session_id = editor.core.sessions.all()[0].id
        with pytest.raises(WireError) as running:
            await editor.turn("b", sessionId=session_id, turnId="mine")
        gate.open()
        await bounded(first)
        with pytest.raises(WireError) as over:
            await editor.turn("b", sessionId=session_id, turnId="mine")
        with pytest.raises(WireError) as malformed:
            await editor.turn("b", sessionId=session_id, turnId="not an id")

        taken = "The session already has a turn 'mine'. Choose another turnId, or omit it."
        assert [each.value.message for each in (running, over)] == [taken, taken]
        assert over.value.data == {"kind": "turn_id_taken"}
        assert "turnId" in str(malformed.value)
        assert len(editor.core.sessions.all()[0].messages) == 2
        assert (await editor.turn("b", turnId="mine"))["turnId"] == "mine"


# Sessions, modes and rules


async def test_a_new_session_begins_as_asked(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("hi")])) as editor:
        inner = folder / "inner"
        inner.mkdir()
        session = await editor.request("pygent/session/new", {"name": "Mine", "mode": "plan", "cwd": str(inner)})

        assert (session["name"], session["mode"], session["cwd"]) == ("Mine", "plan", str(inner))
        assert (session["messageCount"], session["lastSeq"], session["agent"]) == (0, 0, "default")
        assert session["createdAt"].endswith("Z")
        result = await editor.turn(sessionId=session["sessionId"])
        assert result["text"] == "hi"
        assert editor.events()[0]["mode"] == "plan"


async def test_the_client_is_told_what_happens_to_sessions(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("hi")])) as editor:
        session_id = (await editor.turn())["sessionId"]

        assert editor.notifications("pygent/session/changed") == [
            {"sessionId": session_id, "what": what} for what in ("created", "turn_started", "turn_finished")
        ]


async def test_a_mode_that_is_set_while_a_turn_runs_counts_from_its_next_check(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("", edit())], say("done")])) as editor:
        turn = editor.begin_turn(mode="default")
        await gate.reached()
        session_id = editor.core.sessions.all()[0].id

        params = {"sessionId": session_id, "mode": "accept_edits"}
        assert await editor.request("pygent/permission/setMode", params) == params
        gate.open()
        await bounded(turn)

        assert editor.asked[0].method == "workspace/applyEdit"
        assert (folder / "a.txt").read_text() == "two\n"


async def test_plan_mode_reads_and_changes_nothing(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("", read(), edit()), say("done")])) as editor:
        await editor.turn(mode="plan")

        assert editor.asked == []
        assert "one" in editor.tool_results[0]
        assert "plan mode" in editor.tool_results[1]
        assert (folder / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"title": "Reject"},
        {"title": "surprise"},
        {"title": 7},
        {"title": ["Allow once"]},
        "Allow once",
        1,
        [],
    ],
    ids=str,
)
async def test_every_odd_answer_to_a_question_is_a_no(folder: Path, answer: object) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("", edit()), say("ok")])) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: answer

        assert (await editor.turn())["stopReason"] == "end_turn"

        assert (folder / "a.txt").read_text() == "one\n"
        assert "denied" in editor.tool_results[0]
        denied = [kind for kind in editor.types() if kind.startswith("permission_")]
        assert denied == ["permission_requested", "permission_resolved", "permission_denied"]
        assert editor.requests("workspace/applyEdit") == []


async def test_a_choice_that_was_not_offered_is_a_no(folder: Path) -> None:
    unparsed = Call(name="shell", arguments={"command": "touch made; echo $("})
    async with connected(folder, Setup(script=[say("", unparsed), say("ok")])) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": "Always allow"}

        await editor.turn()

        (asked,) = editor.requests("window/showMessageRequest")
        assert "Always allow" not in [action["title"] for action in asked.params["actions"]]
        assert "denied" in editor.tool_results[0]


async def test_an_editor_that_cannot_ask_says_no(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("", edit()), say("ok")])) as editor:
        del editor.handlers["window/showMessageRequest"]

        await editor.turn()

        assert (folder / "a.txt").read_text() == "one\n"
        assert "denied" in editor.tool_results[0]


@pytest.mark.parametrize("answer", [{"success": True}, {"success": False}, None])
async def test_a_diff_that_has_no_room_in_the_question_is_shown_beside_it(folder: Path, answer: object) -> None:
    (folder / "a.txt").write_text("one\n")
    new = "".join(f"line {number}\n" for number in range(40))
    read: list[str] = []

    def show(params: Mapping[str, Any]) -> object:
        read.append(Path(unquote(urlsplit(str(params["uri"])).path)).read_text(encoding="utf-8"))
        return answer

    async with connected(folder, Setup(script=[say("", edit(old="one\n", new=new)), say("ok")])) as editor:
        editor.handlers["window/showDocument"] = show
        await editor.turn()

        (asked,) = editor.requests("window/showMessageRequest")
        first, *diff, last = asked.params["message"].split("\n")
        assert (first, last) == ("edit_file: Edit a.txt (+40 −1)", "Always allow adds: edit_file(a.txt)")
        assert [line for line in read[0].splitlines() if line.startswith("+line")] == [f"+line {n}" for n in range(40)]
        if answer == {"success": True}:
            assert diff == ["The diff is shown in the opened document."]
        else:
            assert diff[:3] == ["-one", "+line 0", "+line 1"]
            assert diff[-1] == "[… 41 changed lines in total]"
        assert list(editor.core.state_folder.glob("permission/question-*")) == []


async def test_the_question_says_what_will_happen_and_what_always_would_store(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    shell = Call(name="shell", arguments={"command": "echo hi"})
    async with connected(folder, Setup(script=[say("", edit(), shell), say("ok")])) as editor:
        await editor.turn()

        medium, high = (asked.params for asked in editor.requests("window/showMessageRequest"))
        assert medium["type"] == 3
        assert medium["message"] == ("edit_file: Edit a.txt (+1 −1)\n-one\n+two\nAlways allow adds: edit_file(a.txt)")
        assert [action["title"] for action in medium["actions"]] == [
            *("Allow once", "Allow for this session", "Always allow", "Reject")
        ]
        assert high["type"] == 2
        assert "echo hi" in high["message"]
        assert [action["title"] for action in high["actions"]] == [
            *("Reject", "Allow once", "Allow for this session", "Always allow")
        ]


async def test_for_this_session_ends_with_the_session(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("", edit()), say("ok")] * 3)) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow for this session"}
        session_id = (await editor.turn())["sessionId"]
        rules = await editor.request("pygent/permission/rules", {"sessionId": session_id})
        assert rules == {
            "rules": [{"rule": "edit_file(a.txt)", "decision": "allow", "origin": "session", "stored": False}]
        }
        (folder / "a.txt").write_text("one\n")
        await editor.turn(sessionId=session_id)
        assert len(editor.requests("window/showMessageRequest")) == 1

        (folder / "a.txt").write_text("one\n")
        await editor.turn()
        assert len(editor.requests("window/showMessageRequest")) == 2


async def test_always_allow_holds_in_the_next_daemon_until_it_is_taken_back(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    setup = Setup(script=[say("", edit()), say("ok")])
    async with connected(folder, setup) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": "Always allow"}
        await editor.turn()
        assert names(folder) == ["a.txt"]

    (folder / "a.txt").write_text("one\n")
    async with connected(folder, setup) as editor:
        result = await editor.turn()
        assert editor.requests("window/showMessageRequest") == []
        assert (folder / "a.txt").read_text() == "two\n"
        stored = {"rule": "edit_file(a.txt)", "decision": "allow", "origin": "always_allow", "stored": True}
        for params in ({}, {"sessionId": result["sessionId"]}):
            assert await editor.request("pygent/permission/rules", params) == {"rules": [stored]}

        forget = {"rule": "edit_file(a.txt)"}
        assert await editor.request("pygent/permission/forget", forget) == {"forgotten": True}
        assert await editor.request("pygent/permission/forget", forget) == {"forgotten": False}
        assert await editor.request("pygent/permission/rules") == {"rules": []}

    (folder / "a.txt").write_text("one\n")
    async with connected(folder, setup) as editor:
        await editor.turn()
        assert len(editor.requests("window/showMessageRequest")) == 1


# Lists and status


async def test_the_status_counts_sessions_and_running_turns(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate]])) as editor:
        status = await editor.request("pygent/status")
        assert (status["sessions"], status["runningTurns"], status["model"]) == (0, 0, "fake/model")
        assert status["modelReady"] is True
        assert 1_000_000 < status["rssBytes"] < 2_000_000_000
        assert status["uptimeSeconds"] >= 0

        editor.begin_turn().cancel()
        await gate.reached()
        status = await editor.request("pygent/status")
        assert (status["sessions"], status["runningTurns"]) == (1, 1)


async def test_the_list_of_tools_is_what_the_model_is_offered(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("hi")])) as editor:
        tools = (await editor.request("pygent/tools/list"))["tools"]
        await editor.turn()

        offered = editor.core.model.requests[0].tools
        assert [(tool["name"], tool["schema"]) for tool in tools] == [
            (each.name, dict(each.schema)) for each in offered
        ]
        risks = {tool["name"]: (tool["risk"], tool["readOnly"]) for tool in tools}
        assert risks["read_file"] == ("low", True)
        assert risks["edit_file"] == ("medium", False)
        assert risks["shell"] == ("high", False)


async def test_agents_are_listed_and_chosen_for_a_session_or_a_turn(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("one"), say("two")])) as editor:
        agents = (await editor.request("pygent/agents/list"))["agents"]
        assert [each["name"] for each in agents] == ["default", "plan", "review", "yolo", "opus", "local"]
        assert {key: agents[1][key] for key in ("model", "mode")} == {"model": None, "mode": "plan"}

        session = await editor.request("pygent/session/new", {"agent": "review"})
        assert (session["agent"], session["mode"]) == ("review", "plan")
        await editor.turn("go", sessionId=session["sessionId"])
        (started,) = [each for each in editor.events() if each["type"] == "turn_started"]
        assert (started["agent"], started["mode"]) == ("review", "plan")

        for method, params in (("session/new", {}), ("turn/start", {"prompt": "x"})):
            error = await editor.error(f"pygent/{method}", {**params, "agent": "nobody"})
            assert (error.code, error.data) == (-32602, {"kind": "unknown_agent"})
            assert "The agents are: default, plan, review, yolo, opus, local." in error.message


# Going on


async def test_a_notification_that_goes_wrong_is_not_shown_to_the_user(folder: Path) -> None:
    async with connected(folder) as editor:
        bad_range = {"start": {"line": -5, "character": -5}, "end": {"line": 10**30, "character": 0}}
        uri = editor.documents.open(folder / "a.txt", text="one")
        document = {"uri": uri, "version": 2}
        editor.tell(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": bad_range, "text": "x"}]}
        )
        editor.tell("window/workDoneProgress/cancel", {"token": "no such"})

        assert (await editor.request("pygent/status"))["version"]
        assert editor.notifications("window/showMessage") == []


async def test_what_is_wrong_with_the_settings_is_shown_once_and_loading_begins(folder: Path) -> None:
    async with connected(folder, Setup(problems=["user file: `modle` is not a setting", "second"])) as editor:
        await editor.request("pygent/status")

        assert [each["message"] for each in editor.notifications("window/showMessage")] == [
            "pygent-ls: user file: `modle` is not a setting",
            "pygent-ls: second",
        ]
        assert editor.core.n_starts == 1


async def test_one_model_serves_a_session_in_all_its_turns(folder: Path) -> None:
    model = FakeModel([say("one"), say("two")])
    async with connected(folder, Setup(script=model)) as editor:
        first = await editor.turn()

        assert [first["text"], (await editor.turn(sessionId=first["sessionId"]))["text"]] == ["one", "two"]
