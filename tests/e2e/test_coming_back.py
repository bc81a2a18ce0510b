"""A window that is loaded anew in the midst of a turn: the daemon at its socket goes on, real processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.e2e.raw import WAIT_S, RawClient
from tests.e2e.test_lifecycle import STUBBORN, is_alive, live_output, run_in_shell, with_script
from tests.e2e.test_socket import SocketDaemon, busy_pids, events, gone, said_by, socket_daemon

Params = Mapping[str, Any]

LINGER = ("--linger", "40")

ASK, PERMISSION, EDIT = "window/showMessageRequest", "pygent/permission/request", "workspace/applyEdit"


def window(name: str = "one", **own: object) -> dict[str, Any]:
    """What a window says of itself in `initialize`."""
    return {
        "capabilities": {
            "workspace": {
                "applyEdit": True,
                "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
            },
            "experimental": {"pygent": {"windowId": name, "permissionRequest": True, **own}},
        },
        "clientInfo": {"name": "An editor", "version": "1"},
    }


def create(name: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "create_file", "input": {"path": name, "content": "two\n"}}]}


def edit(name: str, old: str, new: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "edit_file", "input": {"path": name, "old": old, "new": new}}]}


def begin(client: RawClient, prompt: str = "go", **params: object) -> str:
    """Start a turn; its session."""
    client.begin("turn", "pygent/turn/start", {"prompt": prompt, "partialResultToken": "events", **params})
    changed = client.until(lambda frame: of(frame, "pygent/session/changed", "turn_started"))
    return str(changed["params"]["sessionId"])


def of(frame: Mapping[str, Any], method: str, what: str) -> bool:
    return frame.get("method") == method and frame["params"]["what"] == what


def asked(client: RawClient, method: str) -> dict[str, Any]:
    return client.until(lambda frame: frame.get("method") == method and "id" in frame)


def answer(client: RawClient, request: Mapping[str, Any], result: object) -> None:
    client.send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def allow(client: RawClient) -> None:
    answer(client, asked(client, PERMISSION), {"optionId": "allow_once"})


def attach(client: RawClient, session: str, since: int = 0) -> None:
    params = {"sessionId": session, "sinceSeq": since, "partialResultToken": "view"}
    client.begin("view", "pygent/session/attach", params)


def last_seq(client: RawClient) -> int:
    return max(each["seq"] for each in events(client))


def until_event(client: RawClient, kind: str) -> dict[str, Any]:
    """Wait for the first event of that type."""
    client.until(lambda _: kind in [each["type"] for each in events(client)])
    return next(each for each in events(client) if each["type"] == kind)


def back(daemon: SocketDaemon, client: RawClient, folder: Path) -> RawClient:
    """Lose a window without a word, and load it anew."""
    client.kill()
    return daemon.editor(folder, **window())


def test_a_turn_goes_on_while_its_window_is_loaded_anew_and_the_rest_of_its_events_come_by_attaching(
    folder: Path,
) -> None:
    wait = "echo begun; until [ -e go ]; do sleep 0.02; done; echo over"
    with socket_daemon(folder, with_script(folder, run_in_shell(wait), {"text": "Done."}), *LINGER) as daemon:
        one = daemon.editor(folder, **window())
        session = begin(one)
        allow(one)
        one.until(lambda _: "begun" in live_output(one))
        seen = events(one)

        two = back(daemon, one, folder)
        (folder / "go").touch()
        attach(two, session, last_seq(one))
        until_event(two, "finished")

        assert (one.initialized_pygent["resumed"], two.initialized_pygent["resumed"]) == ([], [session])
        assert two.initialized_pygent["processId"] == daemon.process.process.pid
        assert [each["seq"] for each in (*seen, *events(two))] == list(range(1, last_seq(two) + 1))
        assert events(two)[-1]["stopReason"] == "end_turn"
        assert "over" in until_event(two, "tool_result")["content"]
        assert not [frame for frame in two.frames if "method" not in frame and frame["id"] == "turn"]
        told = [frame["params"]["token"] for frame in two.frames if frame.get("method") == "$/progress"]
        assert set(told) == {"view"}  # nothing on tokens that the window before had given
        two.until(lambda frame: of(frame, "pygent/session/changed", "turn_finished"))
        assert two.request("next", "pygent/status")["result"]["runningTurns"] == 0


def test_a_prompt_that_was_open_is_asked_again_once_the_window_attaches(folder: Path) -> None:
    with socket_daemon(folder, with_script(folder, create("made.txt"), {"text": "Done."}), *LINGER) as daemon:
        one = daemon.editor(folder, **window())
        session = begin(one)
        before = asked(one, PERMISSION)

        two = back(daemon, one, folder)
        two.request("status", "pygent/status")
        assert not [frame for frame in two.frames if frame.get("method") == PERMISSION]
        attach(two, session)
        again = asked(two, PERMISSION)
        answer(two, again, {"optionId": "allow_once"})
        request = asked(two, EDIT)
        (folder / "made.txt").write_text("two\n")
        answer(two, request, {"applied": True})
        until_event(two, "finished")

        assert again["params"] == before["params"]
        assert until_event(two, "permission_resolved")["outcome"] == "allow_once"


def test_what_needs_the_user_while_nobody_is_there_waits_and_never_runs(folder: Path) -> None:
    """The prompt comes up after the window has gone; it is asked once it is back."""
    wait = "echo begun; until [ -e go ]; do sleep 0.02; done"
    script = with_script(folder, run_in_shell(wait), run_in_shell("touch ran"), {"text": "Done."})
    with socket_daemon(folder, script, *LINGER) as daemon:
        one, other = daemon.editor(folder, **window()), daemon.editor(folder, **window("other"))
        session = begin(one)
        allow(one)
        one.until(lambda _: "begun" in live_output(one))
        attach(other, session)  # another window may watch, and is asked nothing
        one.kill()
        (folder / "go").touch()
        until_event(other, "permission_requested")
        other.until(lambda _: len([each for each in events(other) if each["type"] == "permission_requested"]) == 2)

        assert not (folder / "ran").exists()
        two = daemon.editor(folder, **window())
        attach(two, session)
        answer(two, asked(two, PERMISSION), {"optionId": "reject_once", "feedback": "Not that."})
        until_event(two, "finished")

        assert not (folder / "ran").exists()
        assert not [frame for frame in other.frames if frame.get("method") == PERMISSION]
        results = [each["content"] for each in events(two) if each["type"] == "tool_result"]
        assert "Not that." in results[-1]


def test_an_edit_waits_for_the_window_and_sees_what_it_has_open_by_then(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    wait = "echo begun; until [ -e go ]; do sleep 0.02; done"
    script = with_script(folder, run_in_shell(wait), edit("a.txt", "one", "two"), {"text": "Done."})
    with socket_daemon(folder, script, *LINGER) as daemon:
        one, other = daemon.editor(folder, **window()), daemon.editor(folder, **window("other"))
        session = begin(one, mode="accept_edits")
        allow(one)
        one.until(lambda _: "begun" in live_output(one))
        attach(other, session)
        one.kill()
        (folder / "go").touch()
        other.until(lambda _: [each["type"] for each in events(other)].count("tool_call") == 2)

        two = daemon.editor(folder, **window())
        assert (folder / "a.txt").read_text() == "one\n"
        document = {"uri": (folder / "a.txt").as_uri(), "languageId": "plaintext", "version": 7, "text": "one\nmine\n"}
        two.tell("textDocument/didOpen", {"textDocument": document})
        attach(two, session)
        until_event(two, "finished")

        refused = [each for each in events(two) if each["type"] == "tool_result"][-1]
        assert refused["isError"]  # what the user has typed meanwhile is not run over
        assert "mine" in refused["content"]
        assert (folder / "a.txt").read_text() == "one\n"


def test_an_edit_that_the_daemon_makes_itself_waits_for_the_window_too(folder: Path) -> None:
    """The editor takes no edits; what it has open by then is all the same not changed behind its back."""
    (folder / "a.txt").write_text("one\n")
    wait = "echo begun; until [ -e go ]; do sleep 0.02; done"
    script = with_script(folder, run_in_shell(wait), edit("a.txt", "one", "two"), {"text": "Done."})
    plain = {"capabilities": {"experimental": window()["capabilities"]["experimental"]}}
    with socket_daemon(folder, script, *LINGER) as daemon:
        one, other = daemon.editor(folder, **plain), daemon.editor(folder, **window("other"))
        session = begin(one, mode="accept_edits")
        allow(one)
        one.until(lambda _: "begun" in live_output(one))
        attach(other, session)
        one.kill()
        (folder / "go").touch()
        other.until(lambda _: [each["type"] for each in events(other)].count("tool_call") == 2)

        two = daemon.editor(folder, **plain)
        document = {"uri": (folder / "a.txt").as_uri(), "languageId": "plaintext", "version": 7, "text": "one\nmine\n"}
        two.tell("textDocument/didOpen", {"textDocument": document})
        attach(two, session)
        until_event(two, "finished")

        assert [each for each in events(two) if each["type"] == "tool_result"][-1]["isError"]
        assert (folder / "a.txt").read_text() == "one\n"


def test_an_edit_that_was_under_way_is_proven_by_what_the_window_has_open_when_it_is_back(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    document = {"uri": (folder / "a.txt").as_uri(), "languageId": "plaintext", "version": 1}
    with socket_daemon(folder, with_script(folder, edit("a.txt", "one", "two"), {"text": "Done."}), *LINGER) as daemon:
        one = daemon.editor(folder, **window())
        one.tell("textDocument/didOpen", {"textDocument": {**document, "text": "one\n"}})
        session = begin(one, mode="accept_edits")
        asked(one, EDIT)  # and makes it, and is gone before it could say so

        two = back(daemon, one, folder)
        two.tell("textDocument/didOpen", {"textDocument": {**document, "text": "two\n"}})
        attach(two, session)
        until_event(two, "finished")

        assert not until_event(two, "tool_result")["isError"]
        assert not [frame for frame in two.frames if frame.get("method") == EDIT]


def change(client: RawClient, request: Mapping[str, Any], text: str, version: int) -> None:
    """Make an edit in an open document: it is all of `text` now."""
    uri = request["params"]["edit"]["documentChanges"][0]["textDocument"]["uri"]
    document = {"uri": uri, "version": version}
    client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
    answer(client, request, {"applied": True})


def test_a_review_that_was_open_is_asked_again_and_what_is_rejected_is_taken_back(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    document = {"uri": (folder / "a.txt").as_uri(), "languageId": "plaintext", "version": 1}
    with socket_daemon(folder, with_script(folder, edit("a.txt", "one", "two"), {"text": "Done."}), *LINGER) as daemon:
        one = daemon.editor(folder, **window(reviewRequest=True))
        one.tell("textDocument/didOpen", {"textDocument": {**document, "text": "one\n"}})
        session = begin(one, mode="accept_edits")
        change(one, asked(one, EDIT), "two\n", 2)
        review = asked(one, "pygent/review/request")["params"]
        one.kill()

        two = daemon.editor(folder, **window(reviewRequest=True))
        two.tell("textDocument/didOpen", {"textDocument": {**document, "text": "two\n"}})  # as it was, not saved
        attach(two, session)
        again = asked(two, "pygent/review/request")
        (hunk,) = again["params"]["files"][0]["hunks"]
        answer(two, again, {"hunks": [{"hunkId": hunk["hunkId"], "accepted": False}], "feedback": "Keep it."})
        change(two, asked(two, EDIT), "one\n", 2)
        until_event(two, "finished")

        assert again["params"] == review
        assert "Keep it." in until_event(two, "tool_result")["content"]
        assert (folder / "a.txt").read_text() == "one\n"


def test_a_new_connection_takes_the_place_of_one_that_only_seems_to_be_there(folder: Path) -> None:
    with socket_daemon(folder, with_script(folder, create("made.txt"), {"text": "Done."}), *LINGER) as daemon:
        one = daemon.editor(folder, **window())
        session = begin(one)
        asked(one, PERMISSION)

        two = daemon.editor(folder, **window())
        attach(two, session)
        asked(two, PERMISSION)

        assert two.initialized_pygent["resumed"] == [session]
        assert one.wait() == 1
        answer(two, asked(two, PERMISSION), {"optionId": "reject_once"})
        assert until_event(two, "finished")["stopReason"] == "end_turn"


@pytest.mark.parametrize("way", ["shutdown", "another id", "no id", "another kind"])
def test_a_turn_ends_where_its_window_says_goodbye_or_is_another_one_that_comes(folder: Path, way: str) -> None:
    with socket_daemon(folder, with_script(folder, run_in_shell(STUBBORN), {"text": "never"}), *LINGER) as daemon:
        own = {} if way == "no id" else window()
        one = daemon.editor(folder, **(own or {"capabilities": {}}))
        if own:
            begin(one)
            allow(one)
            one.until(lambda _: len(live_output(one).split()) == 2)
            pids = [int(pid) for pid in live_output(one).split()]
        else:
            pids = busy_pids(one)
        match way:
            case "shutdown":
                assert one.finish() == 0
            case "another kind":
                one.kill()
                other = daemon.editor(folder, **window(contextUpdates=True))
                assert other.initialized_pygent["resumed"] == []
            case "another id":
                one.kill()
                other = daemon.editor(folder, **window("other"))
                assert other.initialized_pygent["resumed"] == []
                assert all(map(is_alive, pids))
                return
            case _:
                one.kill()
        gone(pids)


def test_a_window_that_is_late_finds_its_turn_cancelled_and_the_daemon_ends(folder: Path) -> None:
    script = with_script(folder, run_in_shell(STUBBORN), {"text": "never"})
    with socket_daemon(folder, script, "--linger", "1") as daemon:
        one = daemon.editor(folder, **window())
        begin(one)
        allow(one)
        one.until(lambda _: len(live_output(one).split()) == 2)
        pids = [int(pid) for pid in live_output(one).split()]
        lost_s = monotonic()
        one.kill()

        gone(pids)
        assert daemon.process.wait() == 0
        assert 1.0 <= monotonic() - lost_s < WAIT_S
        assert not daemon.path.exists()
        journals = list((folder.parent / "home").rglob("*.jsonl"))
        kept = "".join(path.read_text() for path in journals)
        assert '"cancelled"' in kept


def test_a_daemon_to_which_nobody_comes_back_ends_by_itself_and_one_with_a_client_does_not(folder: Path) -> None:
    with socket_daemon(folder, None, "--linger", "0.5") as daemon:
        one = daemon.editor(folder, **window())
        two = daemon.editor(folder)
        assert one.finish() == 0
        assert "result" in two.request("status", "pygent/status")
        assert two.finish() == 0
        assert daemon.process.wait() == 0


@pytest.mark.parametrize(
    "arguments", [("--linger", "5"), ("--socket", "x", "--linger", "0"), ("--socket", "x", "--linger", "nan")], ids=str
)
def test_lingering_that_makes_no_sense_is_bad_usage(folder: Path, arguments: tuple[str, ...]) -> None:
    code, said = said_by(folder, *arguments)

    assert code == 2
    assert "--linger" in said


def test_a_steer_and_a_cancel_reach_a_turn_that_another_connection_began(folder: Path) -> None:
    wait = "echo begun; until [ -e go ]; do sleep 0.02; done"
    script = with_script(folder, run_in_shell(wait), run_in_shell(STUBBORN), {"text": "never"})
    with socket_daemon(folder, script, *LINGER) as daemon:
        one = daemon.editor(folder, **window())
        session = begin(one)
        allow(one)
        one.until(lambda _: "begun" in live_output(one))
        two = back(daemon, one, folder)
        attach(two, session)
        turn = {"sessionId": session, "turnId": until_event(two, "turn_started")["turnId"]}
        steered = two.request("steer", "pygent/turn/steer", {**turn, "prompt": "and this"})
        (folder / "go").touch()
        asked(two, PERMISSION)
        cancelled = two.request("cancel", "pygent/turn/cancel", turn)

        assert (steered["result"], cancelled["result"]) == ({"accepted": True}, {"cancelled": True})
        assert until_event(two, "finished")["stopReason"] == "cancelled"
        assert until_event(two, "steered")["content"] == "and this"
        assert [frame for frame in two.frames if frame.get("method") == "pygent/permission/cancelled"]
