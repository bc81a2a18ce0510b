"""One session used from two editors of one daemon: the rooms put together, over a real socket."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import pytest

from pygent_ls.app.blueprint import read_settings
from pygent_ls.app.shared import Shared
from pygent_ls.editors.lsp.connection import Connection
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, WireError
from tests.editors.lsp.socket_editor import Served, SocketEditor, served
from tests.fakes import WAIT_S, bounded

PROMPT = "window/showMessageRequest"

WITH_FORM: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"permissionRequest": True}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Two:
    """Two editors on one daemon, and the session of the first."""

    daemon: Served
    one: SocketEditor
    two: SocketEditor
    session: str

    async def turn(self, editor: SocketEditor, prompt: str = "go", **params: object) -> Any:
        """A whole turn in the session, from one of the editors."""
        return await editor.turn(prompt, sessionId=self.session, **params)

    async def ask(self, editor: SocketEditor, method: str, **params: object) -> Any:
        """A request about the session."""
        return await editor.request(method, {"sessionId": self.session, **params})


Open = Callable[..., AbstractAsyncContextManager[Two]]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Two editors, each with a folder of its own unless it is said that they have the same; the model's answers."""
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYGENT_SANDBOX", "off")

    @asynccontextmanager
    async def two_editors(
        *answers: Mapping[str, Any], folders: tuple[str, str] = ("work", "work"), **params: Any
    ) -> AsyncGenerator[Two]:
        script = tmp_path / "script.jsonl"
        script.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        monkeypatch.setenv("PYGENT_MODEL", f"scripted:{script}")
        shared = Shared()
        async with (
            served(tmp_path, read_settings=partial(read_settings, shared=shared), core=shared) as daemon,
            daemon.editor(folders[0]) as one,
            daemon.editor(folders[1], **params) as two,
        ):
            await two.request("pygent/status")  # it has initialized by now
            session = (await one.request("pygent/session/new", {}))["sessionId"]
            yield Two(daemon=daemon, one=one, two=two, session=session)

    return two_editors


def call(name: str, **given: Any) -> dict[str, Any]:
    """An answer that calls one tool."""
    return {"tool_calls": [{"name": name, "input": given}]}


def making(name: str, text: str = "made\n") -> dict[str, Any]:
    """An answer that makes a file."""
    return call("create_file", path=name, content=text)


async def waits_for_the_user(two: Two) -> None:
    """The first editor's turn waits for an answer to its prompt."""
    two.one.handlers[PROMPT] = lambda _: NO_ANSWER
    two.one.begin_turn("go", sessionId=two.session)
    await two.one.asks(PROMPT)


def shown(editor: SocketEditor) -> list[str]:
    """What each prompt of the editor is about."""
    return [each.params["message"].splitlines()[0] for each in editor.requests(PROMPT)]


# Seeing it


async def test_what_one_editor_has_begun_another_lists_and_loads_and_hears_of(opened: Open) -> None:
    async with opened({"text": "Plums."}) as two:
        await two.turn(two.one, "what grows here?")

        listed = (await two.two.request("pygent/session/list", {}))["sessions"]
        loaded = await two.ask(two.two, "pygent/session/load")
        assert [each["sessionId"] for each in listed] == [two.session]
        assert [each["content"][0]["text"] for each in loaded["messages"]] == ["what grows here?", "Plums."]
        await two.two.until(lambda: len(two.two.notifications("pygent/session/changed")) >= 3)
        for editor in (two.one, two.two):
            told = editor.notifications("pygent/session/changed")
            assert [(each["sessionId"], each["what"]) for each in told] == [
                (two.session, "created"),
                (two.session, "turn_started"),
                (two.session, "turn_finished"),
            ]


# Using it


async def test_a_turn_runs_in_the_editor_that_began_it(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "one"}, making("b.txt"), {"text": "two"}) as two:
        (two.one.folder / "b.txt").unlink(missing_ok=True)
        first = await two.turn(two.one)
        second = await two.turn(two.two)

        assert (first["text"], second["text"]) == ("one", "two")
        assert (shown(two.one), shown(two.two)) == (
            ["create_file: Create a.txt (+1 −0)"],
            ["create_file: Create b.txt (+1 −0)"],
        )
        assert len(two.one.requests("workspace/applyEdit")) == len(two.two.requests("workspace/applyEdit")) == 1
        assert two.one.types()[-1] == two.two.types()[-1] == "finished"
        assert two.two.events()[0]["seq"] == two.one.events()[-1]["seq"] + 1


async def test_what_is_unsaved_in_the_editor_of_the_turn_counts(opened: Open) -> None:
    edit = call("edit_file", path="a.txt", old="typed", new="edited")
    async with opened(edit, {"text": "done"}) as two:
        file = two.one.folder / "a.txt"
        file.write_text("on the disk\n")
        uri = two.two.documents.open(file, text="typed\n")

        await two.turn(two.two)

        assert two.two.documents.text(uri) == "edited\n"
        assert file.read_text() == "on the disk\n"


async def test_a_turn_of_the_other_editor_waits_its_turn_and_then_asks_there(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "one"}, making("b.txt"), {"text": "two"}) as two:
        await waits_for_the_user(two)
        turn = two.two.begin_turn("then this", sessionId=two.session)
        await two.two.until(lambda: two.two.types() == ["turn_queued"])
        queue = await two.ask(two.one, "pygent/turn/queue")

        assert [each["prompt"] for each in queue["items"]] == ["then this"]
        assert shown(two.two) == []
        two.one.answer(two.one.requests(PROMPT)[0], {"title": "Allow once"})
        assert (await bounded(turn))["text"] == "two"
        assert (shown(two.one), shown(two.two)) == (
            ["create_file: Create a.txt (+1 −0)"],
            ["create_file: Create b.txt (+1 −0)"],
        )


async def test_another_editor_may_cancel_steer_and_take_out_of_the_queue(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "steered"}) as two:
        await waits_for_the_user(two)
        running = two.one.events()[0]["turnId"]
        waiting = two.two.begin_turn("later", sessionId=two.session)
        await two.two.until(lambda: two.two.types() == ["turn_queued"])

        steered = await two.ask(two.two, "pygent/turn/steer", turnId=running, prompt="be quick")
        removed = await two.ask(two.one, "pygent/turn/dequeue", turnId=two.two.events()[0]["turnId"])
        cancelled = await two.ask(two.two, "pygent/turn/cancel", turnId=running)

        assert (steered, removed, cancelled) == ({"accepted": True}, {"removed": True}, {"cancelled": True})
        assert (await bounded(waiting))["stopReason"] == "cancelled"
        await two.one.until(lambda: "finished" in two.one.types())
        assert two.one.events()[-1]["stopReason"] == "cancelled"


async def test_a_mode_that_another_editor_sets_counts_for_the_turn_that_runs(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "one"}) as two:
        await waits_for_the_user(two)

        await two.ask(two.two, "pygent/permission/setMode", mode="trust")

        await two.one.until(lambda: "finished" in two.one.types())
        assert two.one.events()[-1]["stopReason"] == "end_turn"
        assert (await two.ask(two.one, "pygent/session/load"))["mode"] == "trust"


async def test_a_mode_set_by_an_answer_in_another_editor_is_reported(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "done"}, capabilities=WITH_FORM) as two:
        two.two.handlers["pygent/permission/request"] = lambda _: {"optionId": "accept_edits"}
        await two.turn(two.two)

        changed = {"sessionId": two.session, "what": "configured"}
        await two.one.until(lambda: changed in two.one.notifications("pygent/session/changed"))


async def test_what_was_allowed_for_the_session_stays_allowed_in_it(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "one"}, making("a.txt", "again\n"), {"text": "two"}) as two:
        two.one.handlers[PROMPT] = lambda _: {"title": "Allow for this session"}
        await two.turn(two.one)
        (two.one.folder / "a.txt").unlink(missing_ok=True)

        await two.turn(two.two)

        assert shown(two.two) == []


async def test_what_the_model_has_read_from_one_editor_it_knows_in_the_other(opened: Open) -> None:
    edit = call("edit_file", path="a.txt", old="old", new="new")
    async with opened(call("read_file", path="a.txt"), {"text": "read"}, edit, {"text": "done"}) as two:
        (two.one.folder / "a.txt").write_text("old\n")
        await two.turn(two.one)
        (two.one.folder / "a.txt").write_text("old, and changed\n")

        await two.turn(two.two)

        (result,) = [each for each in two.two.events() if each["type"] == "tool_result"]
        assert result["isError"]
        assert "old, and changed" in result["content"]


async def test_the_settings_are_those_of_the_editor_of_the_turn(opened: Open) -> None:
    read = call("read_file", path="a.txt")
    options = {"pygent": {"maxIterations": 1}}
    async with opened(read, {"text": "one"}, read, {"text": "two"}, initializationOptions=options) as two:
        (two.one.folder / "a.txt").write_text("text\n")
        two.two.handlers[PROMPT] = lambda _: {"title": "Stop"}

        reasons = [(await two.turn(each))["stopReason"] for each in (two.one, two.two)]

        assert reasons == ["end_turn", "max_iterations"]


async def test_in_an_editor_with_another_folder_the_session_goes_on_there_and_says_so(opened: Open) -> None:
    where = call("shell", command="pwd")
    async with opened(
        where, {"text": "one"}, where, {"text": "two"}, where, {"text": "three"}, folders=("here", "there")
    ) as two:
        for editor in (two.one, two.two, two.one):
            await two.turn(editor)

        here, there = two.one.folder, two.two.folder
        assert [each.splitlines()[0] for each in two.one.tool_results] == [str(here), str(here)]
        assert [each.splitlines()[0] for each in two.two.tool_results] == [str(there)]
        told = [
            each["content"] for editor in (two.two, two.one) for each in editor.events() if each["type"] == "notice"
        ]
        assert told == [
            f"The folder of the session changed from {here} to {there}.",
            f"The folder of the session changed from {there} to {here}.",
        ]


def folders_of(editor: SocketEditor) -> list[str]:
    """Where the commands of the editor's turns ran, and what the user was told."""
    ran = [each.splitlines()[0] for each in editor.tool_results]
    return ran + [each["content"] for each in editor.events() if each["type"] == "notice"]


async def test_in_the_editor_that_chose_its_folder_a_session_is_in_it_again(opened: Open, tmp_path: Path) -> None:
    where, text = call("shell", command="pwd"), {"text": "done"}
    outside = tmp_path / "outside"
    outside.mkdir()
    async with opened(*(where, text) * 3, folders=("here", "there")) as two:
        session = (await two.one.request("pygent/session/new", {"cwd": str(outside)}))["sessionId"]
        for editor in (two.one, two.two, two.one):
            await editor.turn("go", sessionId=session)

        there = two.two.folder
        assert folders_of(two.two) == [str(there), f"The folder of the session changed from {outside} to {there}."]
        assert folders_of(two.one) == [
            str(outside),
            str(outside),
            f"The folder of the session changed from {there} to {outside}.",
        ]


async def test_a_session_that_another_editor_has_only_looked_at_is_where_it_was(opened: Open) -> None:
    async with opened(call("shell", command="pwd"), {"text": "done"}, folders=("here", "there")) as two:
        inner = two.one.folder / "inner"
        inner.mkdir()
        session = (await two.one.request("pygent/session/new", {"cwd": str(inner)}))["sessionId"]
        await two.one.request("pygent/session/close", {"sessionId": session})

        shown = await two.two.request("pygent/session/rename", {"sessionId": session, "name": "taken up"})
        await two.one.turn("go", sessionId=session)

        assert shown["cwd"] == str(inner)
        assert folders_of(two.one) == [str(inner)]


async def test_a_fork_goes_on_in_the_editor_that_makes_it(opened: Open) -> None:
    async with opened(call("shell", command="pwd"), {"text": "done"}, folders=("here", "there")) as two:
        fork = (await two.ask(two.two, "pygent/session/fork"))["sessionId"]

        await two.two.turn("go", sessionId=fork)

        here, there = two.one.folder, two.two.folder
        assert folders_of(two.two) == [str(there), f"The folder of the session changed from {here} to {there}."]


async def test_a_background_command_goes_on_for_whoever_uses_the_session(opened: Open) -> None:
    start = call("shell", command="until [ -e stop ]; do sleep 0.05; done; echo stopped", background=True)
    read = call("shell_output", shell_id="shell_1", wait_s=30)
    async with opened(start, {"text": "one"}, making("stop"), read, {"text": "two"}) as two:
        await two.turn(two.one)

        await two.turn(two.two)

        assert two.two.tool_results[1].startswith("stopped\n")


# Watching it


def watch(two: Two, **params: object) -> asyncio.Future[Any]:
    """The second editor attaches to the session of the first."""
    return two.two.begin("pygent/session/attach", {"sessionId": two.session, "partialResultToken": "view", **params})


async def test_another_editor_is_told_what_was_and_what_comes_whoever_begins_the_turn(opened: Open) -> None:
    async with opened({"text": "one"}, making("a.txt"), {"text": "two"}, {"text": "three"}) as two:
        await two.turn(two.one)
        watch(two, sinceSeq=0)

        two.one.handlers[PROMPT] = lambda _: {"title": "Allow once"}
        await two.turn(two.one)
        await two.turn(two.two)
        await two.two.until(lambda: two.two.types("view").count("finished") == 3)

        assert two.two.events("view") == two.one.events() + two.two.events()
        assert [each["seq"] for each in two.two.events("view")] == list(range(1, len(two.two.events("view")) + 1))


async def test_an_editor_that_watches_and_does_not_read_holds_no_turn_and_is_told_all_once_it_reads(
    opened: Open,
) -> None:
    long = "words " * 100_000
    async with opened({"text": long, "chunk": 1_000}, {"text": "and more"}) as two:
        watch(two)
        await two.two.request("pygent/status")
        two.two.stop_reading()

        assert (await two.turn(two.one))["text"] == long
        assert (await two.turn(two.one))["text"] == "and more"
        assert two.two.types("view").count("finished") < 2

        two.two.read_on()
        await two.two.until(lambda: two.two.types("view").count("finished") == 2)
        assert two.two.events("view") == two.one.events()


async def test_who_watches_sees_how_the_turn_of_an_editor_ends_that_goes_and_is_told_of_the_next(opened: Open) -> None:
    async with opened(call("shell", command="true"), {"text": "mine"}) as two:
        watch(two)
        await waits_for_the_user(two)

        two.one.leave()
        await two.one.hung_up()
        await two.turn(two.two)
        await two.two.until(lambda: two.two.types("view").count("finished") == 2)

        ends = [each["stopReason"] for each in two.two.events("view") if each["type"] == "finished"]
        assert ends == ["cancelled", "end_turn"]


async def test_an_editor_that_says_goodbye_is_told_how_far_it_has_watched_and_the_session_stays(opened: Open) -> None:
    async with opened({"text": "one"}, {"text": "two"}) as two:
        view = watch(two)
        await two.turn(two.one)
        await two.two.until(lambda: "finished" in two.two.types("view"))

        await two.two.request("shutdown")
        with pytest.raises(WireError) as caught:
            await bounded(view)

        last_seq = two.one.events()[-1]["seq"]
        assert (caught.value.code, caught.value.data) == (-32800, {"sessionId": two.session, "lastSeq": last_seq})
        assert (await two.turn(two.one))["text"] == "two"


# Going back in it


async def test_checkpoints_hold_what_both_editors_turns_have_changed(opened: Open) -> None:
    edits = [call("edit_file", path="a.txt", old=old, new=new) for old, new in (("zero", "one"), ("one", "two"))]
    async with opened(edits[0], {"text": "1"}, edits[1], {"text": "2"}) as two:
        file = two.one.folder / "a.txt"
        file.write_text("zero\n")
        await two.turn(two.one)
        await two.turn(two.two)
        checkpoints = (await two.ask(two.one, "pygent/checkpoint/list"))["checkpoints"]
        assert file.read_text() == "two\n"

        def restore(editor: SocketEditor, number: int) -> Any:
            wanted = {"checkpointId": checkpoints[number]["checkpointId"], "files": True, "conversation": True}
            return editor.request("pygent/checkpoint/restore", wanted)

        second = await restore(two.one, 1)
        assert (file.read_text(), second["skipped"]) == ("one\n", [])
        first = await restore(two.two, 0)
        assert (file.read_text(), first["skipped"]) == ("zero\n", [])
        assert (await two.ask(two.one, "pygent/session/load"))["messages"] == []


async def test_files_that_are_not_open_in_an_editor_do_not_go_back_from_there(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "1"}, folders=("here", "there")) as two:
        await two.turn(two.one)
        (checkpoint,) = (await two.ask(two.two, "pygent/checkpoint/list"))["checkpoints"]
        wanted = {"checkpointId": checkpoint["checkpointId"], "files": True, "conversation": False}

        with pytest.raises(WireError) as caught:
            await two.two.request("pygent/checkpoint/restore", wanted)
        assert caught.value.data == {"kind": "other_workspace"}
        assert (two.one.folder / "a.txt").exists()
        assert (await two.one.request("pygent/checkpoint/restore", wanted))["skipped"] == []
        assert not (two.one.folder / "a.txt").exists()


# Leaving it


async def test_when_an_editor_goes_its_turn_is_cancelled_and_the_next_one_runs(opened: Open) -> None:
    async with opened(making("a.txt"), {"text": "two"}) as two:
        await waits_for_the_user(two)
        turn = two.two.begin_turn("and then", sessionId=two.session)
        await two.two.until(lambda: two.two.types() == ["turn_queued"])

        two.one.leave()
        await two.one.hung_up()

        assert (await bounded(turn))["text"] == "two"
        said = [each["role"] for each in (await two.ask(two.two, "pygent/session/load"))["messages"]]
        assert said == ["user", "assistant", "user", "user", "assistant"]
        assert await two.ask(two.two, "pygent/session/rename", name="mine now")


def connection_of(editor: SocketEditor) -> ReferenceType[Connection]:
    """The daemon's end of an editor."""
    every = (each for each in gc.get_objects() if isinstance(each, Connection))
    (found,) = [ref(each) for each in every if list(each.workspace.folders) == [editor.folder]]
    return found


async def let_go_of(kept: ReferenceType[Connection], other: SocketEditor) -> None:
    """Wait until nothing holds it, while the other editor goes on."""
    async with asyncio.timeout(WAIT_S):
        while kept() is not None:
            await other.request("pygent/status")
            gc.collect()


async def test_an_editor_that_is_gone_is_not_held_by_the_sessions_that_it_leaves(opened: Open) -> None:
    async with opened({"text": "one"}, folders=("here", "there")) as two:
        await two.turn(two.one)
        kept = connection_of(two.one)

        two.one.leave()
        await two.one.hung_up()

        await let_go_of(kept, two.two)
        assert (await two.ask(two.two, "pygent/session/load"))["messages"]


async def test_nor_where_it_was_the_last_one_and_another_comes_later(opened: Open) -> None:
    async with opened({"text": "one"}, folders=("here", "there")) as two:
        await two.turn(two.one)
        kept = connection_of(two.one)
        for editor in (two.two, two.one):
            editor.leave()
            await editor.hung_up()

        async with two.daemon.editor("elsewhere") as three:
            await three.request("pygent/session/new", {})

            await let_go_of(kept, three)
            loaded = await three.request("pygent/session/load", {"sessionId": two.session})
            assert loaded["messages"][0]["content"][0]["text"] == "go"
