"""Subagents in the background over real daemons, whose model answers over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.command_line import clean_environment, run
from tests.e2e.lsp_client import EditorClient, editor_client
from tests.e2e.raw import raw_client
from tests.e2e.test_conversation import PLUGIN
from tests.model_server import Call, ModelServer, Received, Step

START = Call(
    name="task", arguments={"description": "count files", "prompt": "COUNT the files.", "background": True}, id="bg"
)


class Scripts:
    """A model that tells its conversations apart by what their first message contains, and plays a script for each."""

    def __init__(self, turns: list[Step], **agents: list[Step]) -> None:
        self.turns, self.agents = turns, agents

    def __call__(self, request: Received, _: int) -> Step:
        first = request.texts("user")[0]
        mine = next((steps for word, steps in self.agents.items() if word in first), self.turns)
        return mine.pop(0) if mine else Step(status=400, error="the test's script is over")


def is_of(word: str) -> Callable[[Received], bool]:
    return lambda request: word in request.texts("user")[0]


@asynccontextmanager
async def agents_in(
    folder: Path, scripts: Scripts, **variables: str
) -> AsyncGenerator[tuple[EditorClient, ModelServer]]:
    async with (
        ModelServer(scripts) as server,
        editor_client(
            folder, {**server.env(), "PYGENT_MODEL": "openai/mock", **variables}, capabilities=PLUGIN
        ) as editor,
    ):
        yield editor, server


async def new_session(editor: EditorClient) -> str:
    session = (await editor.ask("pygent/session/new", {}))["sessionId"]
    editor.begin("pygent/session/attach", {"sessionId": session, "partialResultToken": "all"})
    return session


async def listed(editor: EditorClient, session: str) -> list[dict[str, Any]]:
    return (await editor.ask("pygent/background/list", {"sessionId": session}))["commands"]


def of_agent(editor: EditorClient) -> list[dict[str, Any]]:
    return [each for each in editor.events("all") if each.get("parentToolId") == "bg"]


def last_text(request: Received) -> str:
    return "\n".join(request.texts("user"))


async def test_it_works_on_after_the_turn_and_its_report_comes_with_the_next_prompt(folder: Path) -> None:
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="Started."), Step(text="It says seven.")],
        COUNT=[Step(text="There are seven files.", pause_after=2, usage=(1000, 10))],
    )
    async with agents_in(folder, scripts) as (editor, server):
        session = await new_session(editor)
        first = await editor.turn("count in the background", sessionId=session)
        assert first["text"] == "Started."
        (job,) = await listed(editor, session)
        assert (job["id"], job["command"], job["kind"], job["running"]) == ("agent_1", "count files", "agent", True)
        with pytest.raises(JsonRpcException, match="agent_1"):
            await undo(editor, session)

        server.resume()
        await editor.until(lambda: any("finished" in each for each in editor.messages))
        (job,) = await listed(editor, session)
        assert (job["running"], job["ending"]) == (False, "finished")
        assert "There are seven files." in job["lastOutput"]

        second = await editor.turn("and?", sessionId=session)
        assert second["text"] == "It says seven."
        assert "There are seven files." in last_text(server.requests[-1])
        loaded = await editor.ask("pygent/session/load", {"sessionId": session})
        assert loaded["usage"]["totalTokens"] == 3 * 120 + 1010
        seqs = [each["seq"] for each in editor.events("all")]
        assert seqs == [*range(1, len(seqs) + 1)]
        texts = [each["content"] for each in of_agent(editor) if each["type"] == "text"]
        assert texts == ["There are seven files."]
        await editor.turn("again", sessionId=session)
        assert last_text(server.requests[-1]).count("There are seven files.") == 1


def _allow(_: Any) -> Any:
    return {"optionId": "allow_once"}


async def undo(editor: EditorClient, session: str) -> Any:
    params = {"command": "pygent.undo", "arguments": [{"sessionId": session}]}
    return await editor.ask_lsp("workspace/executeCommand", params)


async def test_a_report_during_a_turn_is_read_in_that_turn_even_if_it_was_about_to_end(folder: Path) -> None:
    make = Call(name="create_file", arguments={"path": "made.txt", "content": "x\n"}, id="make")
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="I am done already", pause_after=2), Step(text="It says seven.")],
        COUNT=[Step(calls=(make,)), Step(text="There are seven files.")],
    )
    async with agents_in(folder, scripts) as (editor, server):
        may_go_on = asyncio.Event()

        async def permission(_: Any) -> Any:
            await may_go_on.wait()
            return {"optionId": "allow_once"}

        editor.client.feature("pygent/permission/request")(permission)
        session = await new_session(editor)
        running = editor.begin_turn("count", sessionId=session)
        await server.until(lambda: len(server.requests) == 3)  # two of the turn, one of the agent
        may_go_on.set()
        await editor.until(lambda: any("finished" in str(each.get("content")) for each in editor.events("all")))
        server.resume()
        result = await running

    assert result["text"] == "It says seven."
    assert "There are seven files." in last_text(server.requests[-1])
    own = [each["type"] for each in editor.events() if "parentToolId" not in each]
    assert own[-1] == "finished"


async def test_a_report_that_a_call_returns_is_not_said_again(folder: Path) -> None:
    make = Call(name="create_file", arguments={"path": "made.txt", "content": "x\n"}, id="make")
    look = Call(name="shell_output", arguments={"shell_id": "agent_1", "wait_s": 60})
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="I look", calls=(look,), pause_after=1), Step(text="Seven.")],
        COUNT=[Step(calls=(make,)), Step(text="There are seven files.")],
    )
    async with agents_in(folder, scripts) as (editor, server):
        session = await new_session(editor)
        may_go_on = asyncio.Event()

        async def permission(_: Any) -> Any:
            await may_go_on.wait()
            return {"optionId": "allow_once"}

        editor.client.feature("pygent/permission/request")(permission)
        running = editor.begin_turn("count", sessionId=session)
        await server.until(lambda: len(server.requests) == 3)  # two of the turn, one of the agent
        may_go_on.set()
        await editor.until(lambda: any("finished" in str(each.get("content")) for each in editor.events("all")))
        server.resume()
        result = await running

    assert result["text"] == "Seven."
    assert server.requests[-1].texts("user") == ["count"]


async def test_the_model_waits_for_it_reads_it_once_and_stops_another(folder: Path) -> None:
    other = Call(name="task", arguments={"description": "hang", "prompt": "HANG on.", "background": True}, id="b2")
    wait = Call(name="shell_output", arguments={"shell_id": "agent_1", "wait_s": 60})
    kill = Call(name="shell_kill", arguments={"shell_id": "agent_2"})
    write = Call(name="shell_input", arguments={"shell_id": "agent_2", "text": "x"})
    scripts = Scripts(
        [
            Step(calls=(START,)),
            Step(calls=(other,)),
            Step(calls=(wait, write)),
            Step(calls=(kill,)),
            Step(text="Done."),
            Step(text="x"),
        ],
        COUNT=[Step(text="There are seven files.", pause_after=1)],
        HANG=[Step(hang=True)],
    )
    async with agents_in(folder, scripts, PYGENT_MODE="trust") as (editor, server):
        editor.client.feature("pygent/permission/request")(_allow)
        session = await new_session(editor)
        running = editor.begin_turn("count", sessionId=session)
        await editor.until(lambda: any(each.get("toolName") == "shell_output" for each in editor.events()))
        server.resume()
        result = await running
        assert result["text"] == "Done."
        jobs = await listed(editor, session)
        await editor.turn("more", sessionId=session)

    said = [content for _, content in editor.results()]
    assert any("Report:\nThere are seven files." in each for each in said)
    assert any("reads no input" in each for each in said)
    assert [(each["id"], each["running"]) for each in jobs] == [("agent_1", False), ("agent_2", False)]
    users = last_text(server.requests[-1])
    assert "Its report" not in users
    assert server.disconnects == 1


async def test_the_user_stops_it_and_a_cancel_of_the_turn_does_not(folder: Path) -> None:
    scripts = Scripts([Step(calls=(START,)), Step(hang=True), Step(text="I see.")], COUNT=[Step(hang=True)])
    async with agents_in(folder, scripts) as (editor, server):
        session = await new_session(editor)
        running = editor.begin_turn("count", sessionId=session)
        await server.until(lambda: len(server.requests) == 3)
        await editor.ask("pygent/turn/cancel", {"sessionId": session})
        assert (await running)["stopReason"] == "cancelled"
        (job,) = await listed(editor, session)
        assert job["running"]

        assert await editor.ask("pygent/background/stop", {"sessionId": session, "id": "agent_1"}) == {"stopped": True}
        (job,) = await listed(editor, session)
        assert (job["running"], job["stoppedByUser"]) == (False, True)
        await editor.turn("well?", sessionId=session)

    assert "was stopped by the user" in last_text(server.requests[-1])


async def test_its_questions_name_it_and_its_mode_is_not_loosened(folder: Path) -> None:
    make = Call(name="create_file", arguments={"path": "made.txt", "content": "x\n"}, id="make")
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="Started."), Step(text="In trust.")],
        COUNT=[Step(text="Wait", pause_after=1, calls=(make,)), Step(text="Made it.")],
    )
    async with agents_in(folder, scripts) as (editor, server):
        asked: list[Any] = []

        def permission(params: Any) -> Any:
            asked.append(params if isinstance(params, dict) else vars(params))
            return {"optionId": "allow_once"}

        editor.client.feature("pygent/permission/request")(permission)
        session = await new_session(editor)
        await editor.turn("count", sessionId=session)
        await editor.ask("pygent/permission/setMode", {"sessionId": session, "mode": "trust"})
        server.resume()
        await editor.until(lambda: any("finished" in each for each in editor.messages))

    (question,) = asked
    assert question["source"] == "subagent default: count files"
    assert (folder / "made.txt").read_text() == "x\n"


async def test_its_edits_and_those_of_the_turn_are_told_apart_and_undone(folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "ONE"}, id="e1")
    again = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "ONE"}, id="e3")
    mine = Call(name="edit_file", arguments={"path": "a.txt", "old": "two", "new": "TWO"}, id="e2")
    read = Call(name="read_file", arguments={"path": "a.txt"}, id="r1")
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="Started."), Step(calls=(mine,)), Step(text="Edited.")],
        COUNT=[
            Step(calls=(read,)),
            Step(text="Wait", pause_after=1, calls=(edit,)),
            Step(calls=(again,)),
            Step(text="Edited, too."),
        ],
    )
    async with agents_in(folder, scripts, PYGENT_MODE="accept_edits") as (editor, server):
        session = await new_session(editor)
        first = await editor.turn("count", sessionId=session)
        second = await editor.turn("edit", sessionId=session)
        assert (folder / "a.txt").read_text() == "one\nTWO\n"
        server.resume()
        await editor.until(lambda: any(each.get("content") == "Edited, too." for each in of_agent(editor)))
        await editor.until(lambda: any("finished" in each for each in editor.messages))
        results = [each for each in of_agent(editor) if each["type"] == "tool_result"]
        assert (folder / "a.txt").read_text() == "ONE\nTWO\n"
        undone = await undo(editor, session)

    assert [each["turnId"] for each in of_agent(editor)] == [first["turnId"]] * len(of_agent(editor))
    assert [each["uri"] for each in second["filesChanged"]] == [(folder / "a.txt").as_uri()]
    stale = [each["content"] for each in results if each["isError"]]
    assert len(stale) == 1  # it had read the file before the turn changed it
    assert "TWO" in stale[0]
    assert [each["changes"][0]["added"] for each in results if each.get("changes")] == [1]
    assert undone["restored"] == [(folder / "a.txt").as_uri()]
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


async def test_an_agent_in_the_background_starts_none_and_too_many_are_refused(folder: Path) -> None:
    many = tuple(
        Call(name="task", arguments={"description": "hang", "prompt": f"HANG {n}", "background": True}, id=f"h{n}")
        for n in range(5)
    )
    nested = Call(name="task", arguments={"description": "x", "prompt": "NESTED", "background": True}, id="n1")
    scripts = Scripts(
        [Step(calls=(START,)), Step(calls=many), Step(text="Done.")],
        COUNT=[Step(calls=(nested,)), Step(text="It refused.", pause_after=1)],
        HANG=[Step(hang=True) for _ in many],
        NESTED=[Step(text="never")],
    )
    async with agents_in(folder, scripts) as (editor, server):
        session = await new_session(editor)
        await editor.turn("count", sessionId=session)
        own = [each for each in editor.events() if each["type"] == "tool_result" and "parentToolId" not in each]
        refused = [each["content"] for each in own if each["isError"]]
        await editor.until(lambda: any(each["type"] == "tool_result" for each in of_agent(editor)))
        (inner,) = [each for each in of_agent(editor) if each["type"] == "tool_result"]
        assert len(await listed(editor, session)) == 4

    assert len(refused) == 2
    assert all("4 subagents are already running" in each for each in refused)
    assert "cannot start one in the background" in inner["content"]
    assert not any(is_of("NESTED")(each) for each in server.requests)


async def test_the_limits_of_its_turn_are_its_own_after_the_end_of_that(folder: Path) -> None:
    read = Call(name="read_file", arguments={"path": "a.txt"})
    (folder / "a.txt").write_text("x\n")
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="Started.")],
        COUNT=[Step(text="I look.", pause_after=1, calls=(read,), usage=(5000, 10)), Step(text="never")],
    )
    async with agents_in(folder, scripts) as (editor, server):
        session = await new_session(editor)
        await editor.turn("count", sessionId=session, maxTokens=2000)
        server.resume()
        await editor.until(lambda: any("without finishing" in each for each in editor.messages))
        (job,) = await listed(editor, session)

    assert "reached its token limit" in job["lastOutput"]
    assert len(server.requests) == 3


async def test_reports_start_turns_if_the_settings_say_so_but_not_without_end(folder: Path) -> None:
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="Started."), *(Step(calls=(START,)), Step(text="Again.")) * 10],
        COUNT=[Step(text="Report.", delay_s=0.2) for _ in range(20)],
    )
    async with agents_in(folder, scripts, PYGENT_BACKGROUND_REPORTS="start_turn") as (editor, _):
        session = await new_session(editor)
        await editor.turn("count", sessionId=session)

        def n_finished() -> int:
            return sum(each["type"] == "finished" for each in editor.events("all"))

        await editor.until(lambda: n_finished() == 4)
        await editor.until(lambda: sum("finished" in each for each in editor.messages) == 4)
        jobs = await listed(editor, session)
        starts = [each for each in editor.events("all") if each["type"] == "turn_started"]

    assert len(jobs) == 4
    assert [each["prompt"].startswith("[Not from the user") for each in starts] == [False, True, True, True]


def test_after_a_kill_and_after_a_close_the_model_learns_that_it_was_interrupted(folder: Path) -> None:
    scripts = Scripts(
        [Step(calls=(START,)), Step(text="Started."), Step(text="I see."), Step(text="And now?")],
        COUNT=[Step(hang=True)],
    )
    with ModelServer(scripts) as server:
        environment = {**server.env(), "PYGENT_MODEL": "openai/mock"}
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            session = client.request(1, "pygent/session/new", {})["result"]["sessionId"]
            client.request(2, "pygent/turn/start", {"sessionId": session, "prompt": "count"})
            server.wait_for(lambda: len(server.requests) == 3)
            client.kill()
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            client.request(2, "pygent/turn/start", {"sessionId": session, "prompt": "well?"})
            first = last_text(server.requests[-1])
            client.request(3, "pygent/turn/start", {"sessionId": session, "prompt": "more"})
            second = last_text(server.requests[-1])

    assert "agent_1 (count files) was interrupted" in first
    assert second.count("was interrupted") == 1


async def test_a_closed_session_leaves_no_agent_behind_and_deleting_ends_it(folder: Path) -> None:
    scripts = Scripts([Step(calls=(START,)), Step(text="Started.")] * 2, COUNT=[Step(hang=True), Step(hang=True)])
    async with agents_in(folder, scripts) as (editor, server):
        for method in ("pygent/session/close", "pygent/session/delete"):
            before = len(server.requests), server.disconnects
            session = (await editor.ask("pygent/session/new", {}))["sessionId"]
            await editor.turn("count", sessionId=session)
            await server.until(partial(_has_more, server, before[0] + 3, before[1]))
            await editor.ask(method, {"sessionId": session})
            await server.until(partial(_has_more, server, before[0] + 3, before[1] + 1))


def _has_more(server: ModelServer, n_requests: int, n_disconnects: int) -> bool:
    return len(server.requests) >= n_requests and server.disconnects >= n_disconnects


def test_a_run_names_the_agents_that_end_with_it(folder: Path) -> None:
    home = folder.parent / "home"
    home.mkdir()
    scripts = Scripts([Step(calls=(START,)), Step(text="Started.")], COUNT=[Step(hang=True)])
    with ModelServer(scripts) as server:
        variables = {**server.env(), "PYGENT_MODEL": "openai/mock"}
        done = run("run", "--yes", "count", environment=clean_environment(home, **variables), cwd=folder)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Started."
    assert "agent_1 (count files) had not finished" in done.stderr
