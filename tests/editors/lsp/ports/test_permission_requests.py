"""A prompt for permission in the client's own form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, connected
from tests.fakes import Call, bounded, say

REQUEST = "pygent/permission/request"
CANCELLED = "pygent/permission/cancelled"

WITH_FORM: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"permissionRequest": True}}}

EDIT = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
SHELL = Call(name="shell", arguments={"command": "echo hi"})


@pytest.fixture
def file(folder: Path) -> Path:
    file = folder / "a.txt"
    file.write_text("one\n")
    return file


MORE_EDITS = [("two", "three"), ("three", "four")]


def option(outcome: str, key: str, title: str, applies_to: str, **more: Any) -> Mapping[str, Any]:
    return {"optionId": outcome, "kind": outcome, "title": title, "key": key, "appliesTo": applies_to, **more}


def text_of(file: Path) -> str:
    return file.read_text()


def setup(*calls: Call) -> Setup:
    return Setup(script=[*(say("", call) for call in calls or (EDIT,)), say("ok")])


def outcomes(editor: Editor) -> list[tuple[str, str]]:
    return [(event["outcome"], event["by"]) for event in editor.events() if event["type"] == "permission_resolved"]


async def test_the_client_is_told_everything_that_it_shows(folder: Path, file: Path) -> None:
    async with connected(folder, setup(), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "allow_once"}
        result = await editor.turn()

        (asked,) = editor.requests(REQUEST)
        call = next(event for event in editor.events() if event["type"] == "tool_call")
        requested = next(event for event in editor.events() if event["type"] == "permission_requested")
        storing = {"rule": "edit_file(a.txt)", "rules": ["edit_file(a.txt)"]}
        kept = "edit_file(a.txt), in this workspace, until you revoke it."
        assert asked.params == {
            "permissionId": requested["permissionId"],
            "sessionId": result["sessionId"],
            "turnId": result["turnId"],
            "toolCall": {
                key: call[key] for key in ("toolId", "toolName", "input", "title", "kind", "readOnly", "locations")
            },
            "title": "Edit a.txt",
            "message": "Edit a.txt (+1 −1)",
            "description": "",
            "confinement": "",
            "risk": "medium",
            "severity": "medium",
            "diff": [
                {
                    "uri": file.as_uri(),
                    "oldText": "one\n",
                    "newText": "two\n",
                    "patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n",
                }
            ],
            "options": [
                option("allow_once", "o", "Allow once", "this call only."),
                option(
                    "allow_session",
                    "s",
                    "Allow for this session",
                    "edit_file(a.txt), until this session ends.",
                    **storing,
                ),
                option("allow_always", "a", "Always allow", kept, **storing),
                option(
                    "accept_edits",
                    "e",
                    "Accept all edits in this session",
                    "this edit and all later edits in this session; moves, deletions and commands still ask.",
                    kind="allow_session",
                ),
                option("reject_once", "r", "Reject", "this call only."),
                option("reject_always", "n", "Always reject", kept, **storing),
            ],
            "ruleSuggestions": [],
            "source": "",
        }
        assert editor.requests("window/showMessageRequest") == []
        assert text_of(file) == "two\n"


async def test_the_order_is_the_same_for_high_risk_and_what_changes_no_file_has_no_diff(folder: Path) -> None:
    async with connected(folder, setup(SHELL), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "reject_once"}
        await editor.turn()

        (asked,) = editor.asked
        assert (asked.params["risk"], "diff" in asked.params) == ("high", False)
        kinds = [option["kind"] for option in asked.params["options"]]
        assert kinds == ["allow_once", "allow_session", "allow_always", "reject_once", "reject_always"]


async def test_a_command_says_what_it_is_for_and_offers_a_rule_by_its_first_words(folder: Path) -> None:
    call = Call(name="shell", arguments={"command": "npm test a", "description": "Test a"})
    other = Call(name="shell", arguments={"command": "npm test b"})
    async with connected(folder, setup(call, other), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "allow_always", "rules": ["shell(npm test:*)"]}
        await editor.turn()

        (asked,) = editor.asked
        params = asked.params
        assert (params["description"], params["message"], params["severity"]) == ("Test a", "npm test a", "medium")
        assert [option["appliesTo"] for option in params["options"]] == [
            "this call only.",
            "this exact command, until this session ends.",
            "this exact command, in this workspace, until you revoke it.",
            "this call only.",
            "this exact command, in this workspace, until you revoke it.",
        ]
        wider = "every command that starts with `npm test`"
        assert params["ruleSuggestions"] == [
            {
                "rule": "shell(npm test:*)",
                "title": "npm test:*",
                "appliesTo": {
                    "allow_session": f"{wider}, until this session ends.",
                    "allow_always": f"{wider}, in this workspace, until you revoke it.",
                    "reject_always": f"{wider}, in this workspace, until you revoke it.",
                },
            }
        ]
        stored = {"rule": "shell(npm test:*)", "decision": "allow", "origin": "always_allow", "stored": True}
        assert await editor.request("pygent/permission/rules") == {"rules": [stored]}


async def test_to_accept_all_edits_sets_the_mode_and_lets_the_next_ones_through(folder: Path, file: Path) -> None:
    more = [Call(name="edit_file", arguments={"path": "a.txt", "old": old, "new": new}) for old, new in MORE_EDITS]
    together = say("", EDIT, *more)
    async with connected(folder, Setup(script=[together, say("ok")]), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "accept_edits"}
        session_id = (await editor.turn())["sessionId"]

        assert len(editor.requests(REQUEST)) == 1
        assert text_of(file) == "four\n"
        assert outcomes(editor) == [("allow_session", "user")]
        assert (await editor.request("pygent/session/load", {"sessionId": session_id}))["mode"] == "accept_edits"
        assert await editor.request("pygent/permission/rules", {"sessionId": session_id}) == {"rules": []}
        changed = {"sessionId": session_id, "what": "configured"}
        assert changed in editor.notifications("pygent/session/changed")


async def test_a_command_is_not_answered_by_accepting_edits(folder: Path) -> None:
    async with connected(folder, setup(SHELL), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "accept_edits"}
        session_id = (await editor.turn())["sessionId"]

        assert outcomes(editor) == [("reject_once", "user")]
        assert (await editor.request("pygent/session/load", {"sessionId": session_id}))["mode"] == "default"


async def test_where_no_rule_could_be_stored_none_is_offered(folder: Path) -> None:
    broken = Call(name="shell", arguments={"command": "echo $("})
    async with connected(folder, setup(broken), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "reject_always", "rules": ["shell"]}
        await editor.turn()

        options = editor.asked[0].params["options"]
        assert [option["kind"] for option in options] == ["allow_once", "reject_once"]
        assert [option for option in options if "rule" in option or "rules" in option] == []
        assert await editor.request("pygent/permission/rules") == {"rules": []}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        [],
        "allow_once",
        {"optionId": "surprise"},
        {"optionId": "Allow once"},
        {"optionId": 1},
        {"optionId": ["allow_once"]},
        {"optionId": "allow_once", "feedback": 1},
        {"optionId": "allow_always", "rules": "edit_file"},
        {"optionId": "allow_always", "rules": [1]},
        {"optionId": "allow_always", "rules": ["edit_file(b.txt)"]},
        {"optionId": "allow_session", "rules": ["edit_file(a.txt"]},
        {"optionId": "cancelled"},
    ],
    ids=str,
)
async def test_every_odd_answer_is_a_no(folder: Path, file: Path, answer: object) -> None:
    async with connected(folder, setup(), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: answer
        assert (await editor.turn())["stopReason"] == "end_turn"

        assert text_of(file) == "one\n"
        assert outcomes(editor) == [("reject_once", "user")]
        assert await editor.request("pygent/permission/rules") == {"rules": []}


async def test_a_client_that_answers_with_an_error_says_no(folder: Path, file: Path) -> None:
    async with connected(folder, setup(), capabilities=WITH_FORM) as editor:
        await editor.turn()

        assert text_of(file) == "one\n"
        assert [asked.method for asked in editor.asked] == [REQUEST]


async def test_what_the_user_says_reaches_the_model_whether_they_allow_or_not(folder: Path, file: Path) -> None:
    answers = iter(
        [
            {"optionId": "reject_once", "feedback": "use three"},
            {"optionId": "allow_once", "feedback": "last time"},
            {"optionId": "no such", "feedback": "hm"},
        ]
    )
    async with connected(folder, setup(EDIT, EDIT, SHELL), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: next(answers)
        await editor.turn()

        assert "They said: use three" in editor.tool_results[0]
        assert "They said: hm" in editor.tool_results[2]
        assert "The user allowed this call and said: last time" in editor.core.model.requests[2].messages[-1].text


async def test_the_client_may_store_rules_that_the_user_edited(folder: Path, file: Path) -> None:
    (folder / "b.txt").write_text("one\n")
    other = Call(name="edit_file", arguments={"path": "b.txt", "old": "one", "new": "two"})
    async with connected(folder, setup(EDIT, other), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "allow_always", "rules": ["edit_file(*.txt)"]}
        await editor.turn()

        assert len(editor.requests(REQUEST)) == 1
        assert (folder / "b.txt").read_text() == "two\n"
        stored = {"rule": "edit_file(*.txt)", "decision": "allow", "origin": "always_allow", "stored": True}
        assert await editor.request("pygent/permission/rules") == {"rules": [stored]}


async def test_always_reject_holds_in_the_next_daemon_until_it_is_taken_back(folder: Path, file: Path) -> None:
    async with connected(folder, setup(EDIT, EDIT), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "reject_always"}
        await editor.turn()
        assert len(editor.requests(REQUEST)) == 1

    async with connected(folder, setup(EDIT, EDIT), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: {"optionId": "allow_once"}
        session_id = (await editor.turn())["sessionId"]
        assert (editor.asked, text_of(file)) == ([], "one\n")
        stored = {"rule": "edit_file(a.txt)", "decision": "deny", "origin": "always_reject", "stored": True}
        assert await editor.request("pygent/permission/rules") == {"rules": [stored]}
        assert await editor.request("pygent/permission/forget", {"rule": stored["rule"]}) == {"forgotten": True}
        assert await editor.request("pygent/permission/rules", {"sessionId": session_id}) == {"rules": []}


async def test_a_cancel_withdraws_the_prompt_and_a_late_answer_counts_no_more(folder: Path, file: Path) -> None:
    async with connected(folder, setup(), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked = await editor.asks(REQUEST)

        await editor.request("pygent/turn/cancel", {"sessionId": asked.params["sessionId"]})

        await bounded(turn)
        assert editor.notifications(CANCELLED) == [{"permissionId": asked.params["permissionId"]}]
        editor.answer(asked, {"optionId": "allow_always"})
        assert await editor.request("pygent/permission/rules") == {"rules": []}
        assert (text_of(file), outcomes(editor)) == ("one\n", [("cancelled", "user")])


@pytest.mark.parametrize(
    ("mode", "text", "outcome"), [("accept_edits", "two\n", "allow_once"), ("plan", "one\n", "reject_once")]
)
async def test_a_mode_that_settles_the_open_prompt_withdraws_it(
    folder: Path, file: Path, mode: str, text: str, outcome: str
) -> None:
    async with connected(folder, setup(), capabilities=WITH_FORM) as editor:
        editor.handlers[REQUEST] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked = await editor.asks(REQUEST)

        await editor.request("pygent/permission/setMode", {"sessionId": asked.params["sessionId"], "mode": mode})

        await bounded(turn)
        assert editor.notifications(CANCELLED) == [{"permissionId": asked.params["permissionId"]}]
        assert (text_of(file), outcomes(editor)) == (text, [(outcome, "mode")])
