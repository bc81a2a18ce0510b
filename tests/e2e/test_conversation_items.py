"""A client that follows a session as items: it only puts and appends, whenever it comes, and wherever it went on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.e2e.conftest import WITH_HTTP, Rig
from tests.e2e.lsp_client import EditorClient
from tests.e2e.raw import RawClient, raw_client
from tests.e2e.test_lifecycle import with_script
from tests.editors.lsp.conversation.client import ItemsClient
from tests.model_server import Call, Step

READ = Call(name="read_file", arguments={"path": "a.txt"}, id="c1")


def applied(values: Iterable[Any]) -> ItemsClient:
    client = ItemsClient()
    for each in values:
        client.take(each)
    return client


def follow(editor: EditorClient, session: str, token: str, since: int = 0) -> None:
    params = {"sessionId": session, "sinceSeq": since, "as": "items", "partialResultToken": token}
    editor.begin("pygent/session/attach", params)


async def until_ended(editor: EditorClient, token: str, turns: int = 1) -> ItemsClient:
    """Wait until the client has so many ends; all that it shows then."""

    def ends() -> int:
        return sum(each["type"] == "end" for each in applied(editor.progress(token)).items.values())

    await editor.until(lambda: ends() == turns)
    return applied(editor.progress(token))


def kinds(client: ItemsClient) -> list[str]:
    return [each["type"] for each in client.below()]


@WITH_HTTP
async def test_a_turn_is_followed_as_it_runs_and_afterwards_alike_from_any_place(rig: Rig) -> None:
    editor = rig.editor
    (rig.folder / "a.txt").write_text("seven\n")
    rig.model.play(
        Step(thinking="Where is it?", text="I look.", calls=(READ,)),
        Step(text="It says seven, and no more than that.", pause_after=2),
    )
    session = (await editor.ask("pygent/session/new", {}))["sessionId"]
    follow(editor, session, "live")
    running = editor.begin_turn("What does it say?", sessionId=session)
    await editor.until(lambda: "It says" in str(applied(editor.progress("live")).below()))
    during = applied(editor.progress("live"))
    rig.server.resume()
    await running
    live = await until_ended(editor, "live")

    assert [during.below()[-1]["streaming"], during.running] == [True, during.below()[-1]["turnId"]]
    assert kinds(live) == ["prompt", "thinking", "text", "tool", "text", "end"]
    prompt, thought, _, call, text, _ = live.below()
    assert (prompt["text"], thought["text"], text["text"]) == (
        "What does it say?",
        "Where is it?",
        "It says seven, and no more than that.",
    )
    assert (call["toolId"], call["status"]) == ("c1", "done")
    assert "seven" in call["result"]["content"]
    assert live.running is None

    batches = editor.progress("live")
    for number, batch in enumerate(batches):
        token = f"since {batch['seq']}"
        follow(editor, session, token, batch["seq"])
        if batch["seq"] < live.seq:
            await editor.until(lambda token=token: any(each["seq"] == live.seq for each in editor.progress(token)))
        assert applied([*batches[: number + 1], *editor.progress(token)]).shown == live.shown
    follow(editor, session, "again")
    assert (await until_ended(editor, "again")).shown == live.shown
    assert all(each["op"] == "put" for batch in editor.progress("again") for each in batch["items"])


@WITH_HTTP
async def test_a_copy_of_a_session_shows_what_was_said_in_the_other_before_its_own_turns(rig: Rig) -> None:
    editor = rig.editor
    rig.model.play(Step(text="One."), Step(text="Two."))
    first = await editor.turn("First?")
    copy = (await editor.ask("pygent/session/fork", {"sessionId": first["sessionId"]}))["sessionId"]
    await editor.turn("Second?", sessionId=copy)

    follow(editor, copy, "copy")
    shown = await until_ended(editor, "copy")

    assert [each["text"] for each in shown.below()[:-1]] == ["First?", "One.", "Second?", "Two."]
    assert editor.progress("copy")[0]["seq"] == 0
    assert shown.below()[0]["key"].startswith("earlier ")


@WITH_HTTP
async def test_a_client_that_knows_more_than_the_daemon_gets_the_lower_number_at_once(rig: Rig) -> None:
    editor = rig.editor
    rig.model.play(Step(text="One."), Step(text="Two."))
    session = (await editor.turn("First?"))["sessionId"]
    follow(editor, session, "all")
    known = (await until_ended(editor, "all")).seq
    follow(editor, session, "ahead", known + 1)
    await editor.until(lambda: editor.progress("ahead"))
    at_once = editor.progress("ahead")[0]
    await editor.turn("Second?", sessionId=session)
    await until_ended(editor, "all", turns=2)
    await editor.until(lambda: editor.progress("ahead")[-1]["seq"] == editor.progress("all")[-1]["seq"])

    assert (at_once["seq"], at_once["items"]) == (known, [])


def values(client: RawClient) -> list[Any]:
    return [
        frame["params"]["value"]
        for frame in client.frames
        if frame.get("method") == "$/progress" and frame["params"]["token"] == "view"
    ]


def view(client: RawClient, session: str, since: int, last_seq: int) -> None:
    """Follow the session up to that event."""
    params = {"sessionId": session, "sinceSeq": since, "as": "items", "partialResultToken": "view"}
    client.begin("view", "pygent/session/attach", params)
    client.until(lambda _: values(client) and values(client)[-1]["seq"] >= last_seq)


def turn(client: RawClient, **params: object) -> tuple[str, int]:
    """A whole turn; its session, and the number of its last event."""
    given = {"prompt": "go", "partialResultToken": "events", **params}
    session = client.request("turn", "pygent/turn/start", given)["result"]["sessionId"]
    loaded = client.request("load", "pygent/session/load", {"sessionId": session, "messages": False})
    return session, loaded["result"]["lastSeq"]


def test_another_daemon_goes_on_where_the_one_before_was_killed(folder: Path) -> None:
    with raw_client(folder, environment=with_script(folder, {"text": "One."})) as one:
        one.initialize(folder)
        session, known = turn(one)
        view(one, session, 0, known)
        one.kill()
    with raw_client(folder, environment=with_script(folder, {"text": "Two."})) as two:
        two.initialize(folder)
        _, last = turn(two, sessionId=session)
        view(two, session, known, last)
        two.kill()
    with raw_client(folder) as three:
        three.initialize(folder)
        view(three, session, 0, last)

    whole = applied(values(three))
    assert applied([*values(one), *values(two)]).shown == whole.shown
    assert [each["text"] for each in whole.below() if each["type"] == "text"] == ["One.", "Two."]
