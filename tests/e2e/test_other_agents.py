"""Agents of other programs in an LSP editor: the real daemon, and an agent on the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.clients.launching import script_program
from tests.e2e.conftest import SHARED
from tests.e2e.lsp_client import EditorClient, editor_client
from tests.e2e.test_mcp import have_ended

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests" / "extensions" / "acp" / "toy_agent.py"

EDIT = {"kind": "edit", "status": "pending"}
DONE = {"status": "completed"}


def reject(_: types.ShowMessageRequestParams) -> str | None:
    """Rejects whatever is asked."""
    return "Reject"


@dataclass(frozen=True, slots=True)
class Toy:
    """An editor with the toy agent, and what the agent has logged since."""

    editor: EditorClient
    log: Path

    def logged(self, what: str) -> list[str]:
        """The lines about one thing, without its name."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.partition(" ")[2] for line in lines if line.split(" ")[0] == what]

    async def turn(self, *steps: list[Any], **params: Any) -> Any:
        """A turn in which the agent does this."""
        return await self.editor.turn(json.dumps(steps), **{"model": "acp:toy", **params})

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The events of this type."""
        return [event for event in self.editor.events() if event["type"] == kind]

    @property
    def pid(self) -> int:
        """Process of the agent that was started last."""
        return int(self.logged("initialize")[-1])

    @property
    def questions(self) -> list[str]:
        """First lines of what the user was asked."""
        return [prompt.message.splitlines()[0] for prompt in self.editor.prompts]


def settings_of(log: Path, *options: str, name: str = "toy", more: str = "", may_be_warm: bool = True) -> str:
    program = (str(script_program(TOY)),) if may_be_warm else (sys.executable, str(TOY))
    command = json.dumps([*program, f"log={log}", *options])
    return f"{more}\n[acp_agents.{name}]\ncommand = {command}\n"


@asynccontextmanager
async def toy_at(
    folder: Path, *options: str, more: str = "", may_be_warm: bool = True, **environment: str
) -> AsyncGenerator[Toy]:
    """An editor of its own with the toy agent.

    `may_be_warm`: the agent need not start Python; see `script_program`.
    """
    home, log = folder.parent / "home" / ".config" / "pygent-ls", folder.parent / "log"
    await asyncio.to_thread(home.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(
        (home / "config.toml").write_text, settings_of(log, *options, more=more, may_be_warm=may_be_warm)
    )
    async with editor_client(folder, environment) as editor:
        yield Toy(editor, log)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_toy(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Toy]:
    """Yield an editor with the toy agent, as `toy` does."""
    folder = tmp_path_factory.mktemp("toy").resolve() / "project"
    await asyncio.to_thread(folder.mkdir)
    async with toy_at(folder) as toy:
        yield toy


@pytest.fixture
def toy(shared_toy: Toy, folder: Path) -> Toy:
    """An editor with the toy agent, which has closed what was open and has opened `folder`."""
    shared_toy.editor.start_over(folder)
    shared_toy.log.unlink(missing_ok=True)
    return shared_toy


def texts_in(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir()}


def diff(path: Path, old: str | None, new: str) -> dict[str, Any]:
    return {**EDIT, "content": [{"type": "diff", "path": str(path), "oldText": old, "newText": new}]}


def opened(toy: Toy, folder: Path, text: str, unsaved: str = "") -> str:
    """Open a.py, with text at its beginning that is not saved."""
    (folder / "a.py").write_text(text)
    uri = toy.editor.documents.open(folder / "a.py")
    if unsaved:
        toy.editor.documents.type_over(uri, unsaved + text)
    return uri


# Edits through the editor


@SHARED
async def test_it_edits_what_is_unsaved_and_an_undo_brings_that_back(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "x = 1\n", unsaved="unsaved = 2\n")
    before, after = "unsaved = 2\nx = 1\n", "unsaved = 2\nx = 3\n"

    result = await toy.turn(
        ["say", "I look. "],
        ["read", "a.py"],
        ["call", "t1", {**EDIT, "title": "Change x"}],
        ["permit", "t1", diff(folder / "a.py", before, after)],
        ["write", "a.py", after],
        ["progress", "t1", DONE],
        ["say", "Done."],
    )

    assert result["stopReason"] == "end_turn"
    assert result["text"] == f"I look. [{before}]\n\n[yes][written]\n\nDone."
    assert toy.editor.documents.text(uri) == after
    assert (folder / "a.py").read_text() == "x = 1\n"
    assert toy.questions == ["edit_file: toy: Edit a.py (+1 −1)"]
    assert result["filesChanged"] == [{"uri": uri, "kind": "edit", "added": 1, "removed": 1}]
    (call,) = toy.of_type("tool_result")
    assert [each["patch"] for each in call["changes"]] == [
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n unsaved = 2\n-x = 1\n+x = 3\n"
    ]

    await toy.editor.turn("/undo", sessionId=result["sessionId"])

    assert toy.editor.documents.text(uri) == before


@SHARED
async def test_a_rejected_edit_changes_nothing_and_its_agent_hears_why(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "x = 1\n")
    toy.editor.choose = reject

    result = await toy.turn(
        ["call", "t1", {**EDIT, "title": "Change x"}],
        ["permit", "t1", diff(folder / "a.py", "x = 1\n", "x = 3\n")],
        ["progress", "t1", {"status": "failed"}],
        ["write", "a.py", "x = 4\n"],
    )

    assert result["text"].startswith("[no]\n\n[-32603: Permission denied")
    assert toy.editor.documents.text(uri) == "x = 1\n"
    assert [event["isError"] for event in toy.of_type("tool_result")] == [True, True]
    assert toy.questions == ["edit_file: toy: Edit a.py (+1 −1)", "edit_file: toy: Edit a.py (+1 −1)"]


@SHARED
async def test_what_differs_from_what_was_permitted_is_asked_about_again(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "x = 1\ny = 1\n")

    await toy.turn(
        ["call", "t1", {**EDIT, "title": "Change x"}],
        ["permit", "t1", diff(folder / "a.py", "x = 1", "x = 3")],
        ["write", "a.py", "x = 3\ny = 1\n"],
        ["write", "a.py", "x = 3\ny = 3\n"],
        ["progress", "t1", DONE],
    )

    assert len(toy.questions) == 2
    assert "+y = 3" in toy.editor.prompts[1].message
    assert toy.editor.documents.text(uri) == "x = 3\ny = 3\n"


@SHARED
async def test_what_the_user_types_meanwhile_is_merged_and_a_conflict_is_refused(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "one\ntwo\nthree\n")

    def type_first(_: types.ShowMessageRequestParams) -> str:
        toy.editor.documents.type_over(uri, toy.editor.documents.text(uri).replace("three\n", "typed\n"))
        return "Allow once"

    toy.editor.choose = type_first
    result = await toy.turn(
        ["read", "a.py"], ["permit", "t1", diff(folder / "a.py", "one\n", "1\n")], ["write", "a.py", "1\ntwo\nthree\n"],
        ["progress", "t1", DONE], ["write", "a.py", "1\ntwo\n3\n"], ["read", "a.py"],
    )  # fmt: skip

    assert toy.editor.documents.text(uri) == "1\ntwo\ntyped\n"
    assert "has text in the editor that this text does not contain" in result["text"]
    assert result["text"].endswith("[1\ntwo\ntyped\n]")


@SHARED
async def test_a_new_file_and_a_write_that_no_call_announces(toy: Toy, folder: Path) -> None:
    result = await toy.turn(["read", "new.py"], ["write", "new.py", "y = 1\n"], ["write", "../out.py", "no\n"])

    assert result["text"].startswith("[-32002: Resource not found")
    assert "outside" in result["text"].lower()
    assert toy.questions == ["create_file: toy: Edit new.py (+1 −0)"]
    assert [(event["toolName"], event["title"]) for event in toy.of_type("tool_call")] == [
        ("create_file", "Write new.py")
    ]
    assert not (folder.parent / "out.py").exists()


# Permissions


@SHARED
async def test_modes_and_rules_apply_to_its_calls(toy: Toy, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    asking = (
        ["permit", "t1", diff(folder / "a.py", "x = 1\n", "x = 2\n")],
        ["progress", "t1", DONE],
        ["permit", "t2", {"kind": "execute", "title": "List", "rawInput": {"command": "ls"}}],
        ["progress", "t2", DONE],
    )

    accepting = await toy.turn(*asking, mode="accept_edits")
    asked = toy.questions
    planning = await toy.turn(*asking, mode="plan")

    assert accepting["text"] == "[yes]\n\n[yes]"
    assert asked == ["shell: toy: ls"]
    assert planning["text"] == "[no]\n\n[no]"
    assert toy.questions == asked


async def test_a_rule_denies_asks_and_allows_and_tells_of_what_was_not_asked(folder: Path) -> None:
    rules = '[permissions]\ndeny = ["shell(rm:*)", "read_file(.env)"]\nallow = ["shell(ls:*)"]\n'
    (folder / ".env").write_text("KEY=1\n")
    async with toy_at(folder, more=rules) as toy:

        def command(call_id: str, line: str) -> list[Any]:
            return ["permit", call_id, {"kind": "execute", "title": "x", "rawInput": {"command": line}}]

        result = await toy.turn(
            command("t1", "rm -r ."), ["progress", "t1", {"status": "failed"}], command("t2", "ls -l"),
            ["progress", "t2", DONE], ["read", ".env"],
            ["call", "t3", {"kind": "execute", "title": "x", "rawInput": {"command": "rm x"}, "status": "in_progress"}],
            ["progress", "t3", DONE],
        )  # fmt: skip

        assert toy.questions == []
        assert result["text"].startswith("[no]\n\n[yes]\n\n[-32603: ")
        assert "KEY" not in result["text"]
        assert [event["content"] for event in toy.of_type("notice")] == [
            "toy did not ask before this call. the rule shell(rm:*) denies it"
        ]


@pytest.mark.parametrize(
    ("modes", "mode", "chosen"),
    [
        ("accept-edits,ask,auto", "default", ["ask"]),
        ("default,auto", "default", []),
        ("auto,plan,default", "plan", ["plan"]),
        ("fast,other", "default", []),
    ],
)
async def test_it_is_set_to_the_mode_in_which_it_asks(folder: Path, modes: str, mode: str, chosen: list[str]) -> None:
    async with toy_at(folder, f"modes={modes}") as toy:
        await toy.turn(["say", "hi"], mode=mode)

        assert toy.logged("mode") == chosen
        assert any("It is not known" in each["content"] for each in toy.of_type("notice")) == ("fast" in modes)


def asked(call_id: str, kind: str, **fields: Any) -> list[Any]:
    """A permission request, with its arguments."""
    return ["permit", call_id, {"kind": kind, "title": "x", **fields}]


def running(*words: str, kind: str = "execute", **more: Any) -> dict[str, Any]:
    """Fields of a call that runs these words."""
    return {"kind": kind, "title": "x", "rawInput": {"command": list(words), **more}}


async def test_a_permission_covers_what_was_judged_and_no_more(folder: Path) -> None:
    rules = '[permissions]\nallow = ["shell(ls:*)", "edit_file(a.py)"]\ndeny = ["edit_file(secret.py)"]\n'
    for name in ("a.py", "b.py", "secret.py"):
        (folder / name).write_text("x = 1\n")
    (folder / ".git" / "hooks").mkdir(parents=True)
    async with toy_at(folder, more=rules) as toy:
        toy.editor.choose = reject

        def change(name: str) -> dict[str, Any]:
            return diff(folder / name, "x = 1\n", "x = 2\n")

        hook = folder / ".git" / "hooks" / "pre-commit"
        await toy.turn(
            ["permit", "one", running("ls")],
            ["permit", "one", running("touch", "made")],  # the same id for another call
            ["permit", "two", running("bash", "script.sh", "ls")],  # not what stands last
            ["permit", "three", running("rm", "-r", "x", kind="search")],  # a kind that claims to be harmless
            ["permit", "four", {**change("b.py"), "kind": "read"}], ["write", "b.py", "x = 2\n"],
            ["call", "five", change("b.py")],
            ["permit", "five", {"locations": [{"path": str(folder / "a.py")}]}], ["write", "b.py", "x = 2\n"],
            ["call", "six", {"kind": "other", "title": "x", "locations": [{"path": str(folder / "secret.py")}]}],
            ["write", "secret.py", "x = 2\n"],
            ["permit", "seven", {**diff(hook, None, "#!/bin/sh\n"), "kind": "read"}],
            ["write", str(hook), "#!/bin/sh\n"],
        )  # fmt: skip

        assert [each.partition(": toy: ")[2] for each in toy.questions] == [
            "touch made", "bash script.sh ls", "rm -r x", "Edit b.py (+1 −1)", "Edit a.py, b.py (+1 −1)",
            "Edit b.py (+1 −1)",
        ]  # fmt: skip
        names = ("a.py", "b.py", "secret.py")
        assert [(folder / name).read_text() for name in names] == ["x = 1\n"] * 3
        assert texts_in(hook.parent) == {}


@SHARED
async def test_what_is_outside_of_the_workspace_is_always_asked_about(toy: Toy, folder: Path) -> None:
    toy.editor.choose = reject

    result = await toy.turn(
        asked("t1", "edit", rawInput={"file_path": str(folder.parent / "out.py")}),
        asked("t2", "read", rawInput={"file_path": "/etc/hostname"}),
        mode="accept_edits",
    )

    assert result["text"] == "[no]\n\n[no]"
    assert [each.partition(":")[0] for each in toy.questions] == ["external_tool", "external_tool"]


async def test_folder_and_variables_of_a_command_are_judged_with_it(folder: Path) -> None:
    (folder / "sub").mkdir()
    async with toy_at(folder, more='[permissions]\nallow = ["shell(ls:*)"]\n') as toy:
        await toy.turn(
            ["terminal_with", "ls", {"env": [{"name": "PATH", "value": "bin"}]}],
            ["terminal_with", "ls", {"cwd": str(folder / "sub")}],
            ["terminal", "printf", "<%s>", "", "b"],
        )

        assert toy.questions == [
            "shell: toy: env PATH=bin sh -c ls",
            f"shell: toy: cd {folder / 'sub'} && sh -c ls",
            "shell: toy: printf '<%s>' '' b",
        ]


@SHARED
async def test_writes_at_the_same_time_are_each_asked_about(toy: Toy, folder: Path) -> None:
    names = ("a.txt", "b.txt", "c.txt")

    await toy.turn(["together", *(["write", name, f"{name}\n"] for name in names)])

    assert sorted(toy.questions) == [f"create_file: toy: Edit {name} (+1 −0)" for name in names]
    assert texts_in(folder) == {name: f"{name}\n" for name in names}


# What it does to the disk by itself


@SHARED
async def test_what_it_writes_behind_the_editor_is_shown_and_can_be_undone(toy: Toy, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("gone\n")
    run = {"kind": "execute", "status": "in_progress", "title": "make", "rawInput": {"command": "make"}}

    result = await toy.turn(
        ["call", "t1", {**EDIT, "title": "Edit", "locations": [{"path": str(folder / "a.py")}]}],
        ["disk", "a.py", "x = 2\n"],
        ["progress", "t1", DONE],
        ["read", "a.py"],
        ["call", "t2", run],
        ["disk", "new.py", "made\n"],
        ["remove", "b.py"],
        ["progress", "t2", DONE],
        ["read", "a.py"],
        ["disk", "late.py", "late\n"],
    )

    results = toy.of_type("tool_result")
    shown = [[(Path(each["uri"]).name, each["kind"]) for each in call.get("changes", ())] for call in results]
    assert shown == [[("a.py", "edit")], [("b.py", "delete"), ("new.py", "create")]]
    assert [event["content"] for event in toy.of_type("notice")] == ["toy changed on the disk: late.py."]
    assert {Path(each["uri"]).name for each in result["filesChanged"]} == {"a.py", "b.py", "new.py", "late.py"}

    await toy.editor.turn("/undo", sessionId=result["sessionId"])
    await toy.editor.turn("/undo --rest", sessionId=result["sessionId"])

    assert texts_in(folder) == {"a.py": "x = 1\n", "b.py": "gone\n"}


@SHARED
async def test_what_it_writes_behind_the_editor_is_reviewed(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "x = 1\n")

    await toy.turn(["call", "t1", {**EDIT, "title": "Edit"}], ["disk", "a.py", "x = 2\n"], ["progress", "t1", DONE])
    toy.editor.documents.type_over(uri, "x = 2\n")  # the editor loads the file again
    params = {"command": "pygent.rejectChanges", "arguments": [uri]}
    await toy.editor.ask_lsp("workspace/executeCommand", params)

    assert toy.editor.documents.text(uri) == "x = 1\n"


@SHARED
async def test_what_it_writes_behind_unsaved_text_is_merged_into_that(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "x = 1\n", unsaved="unsaved = 2\n")
    fragment = diff(folder / "a.py", "x = 1", "x = 3")

    result = await toy.turn(
        ["call", "t1", fragment], ["permit", "t1", {}], ["disk", "a.py", "x = 3\n"], ["progress", "t1", DONE]
    )

    assert toy.editor.documents.text(uri) == "unsaved = 2\nx = 3\n"
    assert [event["content"] for event in toy.of_type("notice")] == [
        "toy changed a.py on the disk; the change was merged with your unsaved text."
    ]
    assert result["filesChanged"] == [{"uri": uri, "kind": "edit", "added": 1, "removed": 1}]


@SHARED
async def test_what_conflicts_with_unsaved_text_leaves_that_as_it_is(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "x = 1\n")
    toy.editor.documents.type_over(uri, "x = 99\n")

    await toy.turn(["call", "t1", {**EDIT, "title": "Edit"}], ["disk", "a.py", "x = 3\n"], ["progress", "t1", DONE])

    assert toy.editor.documents.text(uri) == "x = 99\n"
    (notice,) = toy.of_type("notice")
    assert "conflicts with your unsaved changes" in notice["content"]
    with pytest.raises(JsonRpcException, match="These lines have changed since"):
        await toy.editor.ask_lsp("workspace/executeCommand", {"command": "pygent.rejectChanges", "arguments": [uri]})


@SHARED
async def test_what_was_typed_during_the_question_is_kept_although_it_reads_again(toy: Toy, folder: Path) -> None:
    uri = opened(toy, folder, "one\ntwo\nthree\n")

    def type_first(_: types.ShowMessageRequestParams) -> str:
        toy.editor.documents.type_over(uri, "typed\none\ntwo\nthree\n")
        return "Allow once"

    toy.editor.choose = type_first
    await toy.turn(["read", "a.py"], ["together", ["write", "a.py", "one\ntwo\n3\n"], ["read", "a.py"]])

    assert toy.editor.documents.text(uri) == "typed\none\ntwo\n3\n"


@SHARED
@pytest.mark.parametrize(
    ("before", "written", "after"),
    [
        (b"one\r\ntwo\r\n", "one\n2\n", b"one\r\n2\r\n"),
        ("é\ntwo\n".encode("latin-1"), "é\n2\n", "é\n2\n".encode("latin-1")),
        (b"\xef\xbb\xbfone\ntwo\n", "one\n2\n", b"\xef\xbb\xbfone\n2\n"),
    ],
)
async def test_a_file_keeps_its_line_endings_and_its_encoding(
    toy: Toy, folder: Path, before: bytes, written: str, after: bytes
) -> None:
    (folder / "a.txt").write_bytes(before)

    await toy.turn(["write", "a.txt", written])

    assert (folder / "a.txt").read_bytes() == after


# Commands


@SHARED
async def test_its_terminals_are_commands_that_the_user_permits(toy: Toy, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")

    result = await toy.turn(["terminal", "cat", "a.py"], ["terminal", "exit 3"])
    asked = toy.questions
    toy.editor.choose = reject
    denied = await toy.turn(["terminal", "touch", "made.txt"])

    assert result["text"].replace("\n\n", "") == "[0: x = 1\n][3: ]"
    assert asked == ["shell: toy: cat a.py", "shell: toy: sh -c 'exit 3'"]
    assert denied["text"].startswith("[126: Permission denied")
    assert not (folder / "made.txt").exists()


# The conversation


@SHARED
async def test_thoughts_plans_and_output_are_shown_as_they_come(toy: Toy) -> None:
    run = {"kind": "execute", "status": "in_progress", "title": "make", "rawInput": {"command": "make"}}
    entries = [{"content": "Look", "priority": "high", "status": "in_progress"}]

    def output(text: str) -> dict[str, Any]:
        return {"content": [{"type": "content", "content": {"type": "text", "text": text}}]}

    result = await toy.turn(
        ["think", "Hm. "],
        ["think", "Well."],
        ["update", {"sessionUpdate": "plan", "entries": entries}],
        ["call", "t1", run],
        ["progress", "t1", output("one\n")],
        ["progress", "t1", output("one\ntwo\n")],
        ["progress", "t1", {**output("one\ntwo\n"), **DONE}],
        ["raw", {"sessionUpdate": "of_another_version", "content": 5}],
        ["noise", "Loading…"],
        ["vendor"],
        ["usage", {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}],
    )

    assert result["text"] == "[-32601]"
    assert [event["content"] for event in toy.of_type("thinking")] == ["Hm. Well."]
    assert toy.of_type("plan")[0]["entries"] == [{"content": "Look", "priority": "high", "status": "in_progress"}]
    assert "".join(event["content"] for event in toy.of_type("tool_progress")) == "one\ntwo\n"
    assert [event["content"] for event in toy.of_type("tool_result")] == ["one\ntwo\n"]
    assert (result["usage"]["inputTokens"], result["usage"]["outputTokens"]) == (10, 2)
    assert {"turn_started", "finished"} <= set(toy.editor.types())


@SHARED
async def test_another_model_hears_what_it_said_and_it_hears_what_that_said(toy: Toy, folder: Path) -> None:
    script = folder.parent / "script.jsonl"
    script.write_text(json.dumps({"text": "I am the model."}) + "\n")
    first = await toy.turn(["say", "I am the agent."])
    session = {"sessionId": first["sessionId"]}

    again = await toy.turn(["prompt"], **session)
    await toy.editor.turn("What are you?", model=f"scripted:{script}", **session)
    last = await toy.turn(["prompt"], **session)

    assert again["text"] == "[]"
    assert len(toy.logged("new")) == 1
    (told,) = json.loads(last["text"])
    assert "What are you?" in told
    assert "I am the model." in told
    assert "I am the agent." not in told


@SHARED
async def test_in_a_copy_of_a_session_it_knows_what_the_copy_has(toy: Toy) -> None:
    first = await toy.turn(["say", "First."])
    session = {"sessionId": first["sessionId"]}
    await toy.turn(["say", "Second."], **session)
    copy = await toy.editor.ask("pygent/session/fork", {**session, "atTurnId": first["turnId"]})

    last = await toy.turn(["prompt"], sessionId=copy["sessionId"])

    assert len(toy.logged("new")) == 2
    assert "Second." not in last["text"]


async def test_after_going_back_it_does_not_know_what_was_undone(folder: Path) -> None:
    async with toy_at(folder, "load=1") as toy:
        first = await toy.turn(["write", "a.txt", "1\n"])
        session = {"sessionId": first["sessionId"]}
        await toy.turn(["write", "b.txt", "2\n"], ["say", "Second."], **session)
        checkpoints = (await toy.editor.ask("pygent/checkpoint/list", session))["checkpoints"]
        chosen = next(each for each in checkpoints if each["turnId"] != first["turnId"])
        await toy.editor.ask(
            "pygent/checkpoint/restore",
            {"checkpointId": chosen["checkpointId"], "files": True, "conversation": True},
        )
        process = os.pidfd_open(toy.pid)
        os.kill(toy.pid, signal.SIGKILL)
        assert await asyncio.to_thread(have_ended, [process])

        last = await toy.turn(["prompt"], **session)

        assert toy.logged("load") == []
        assert len(toy.logged("new")) == 2
        assert "Second." not in last["text"]
        assert "a.txt" in last["text"]


@pytest.mark.parametrize(("option", "method"), [("load=1", "load"), ("resume=1", "resume"), ("load=", "")])
async def test_a_session_goes_on_after_a_restart(folder: Path, option: str, method: str) -> None:
    async with toy_at(folder, option, "modes=auto,ask") as toy:
        first = await toy.turn(["say", "First."])
    async with toy_at(folder, option, "modes=auto,ask") as toy:
        await toy.editor.ask("pygent/session/load", {"sessionId": first["sessionId"]})
        again = await toy.turn(["prompt"], sessionId=first["sessionId"])

    assert ("First." in again["text"]) == (not method)
    assert len(toy.logged("new")) == (1 if method else 2)
    assert len(toy.logged(method)) == 1 if method else True
    assert toy.logged("mode") == ["ask", "ask"]


async def test_it_leaves_its_plan_mode_with_ours(folder: Path) -> None:
    async with toy_at(folder, "modes=auto,plan,ask") as toy:
        first = await toy.turn(["say", "First."], mode="plan")
        await toy.turn(["say", "Second."], sessionId=first["sessionId"], mode="default")

        assert toy.logged("mode") == ["plan", "ask"]


@SHARED
async def test_what_the_user_says_meanwhile_is_its_next_prompt(toy: Toy) -> None:
    steering: list[Any] = []
    session = await toy.editor.ask("pygent/session/new", {})

    def steer(_: types.ShowMessageRequestParams) -> str:
        (running,) = {event["turnId"] for event in toy.editor.events()}
        given = {"sessionId": session["sessionId"], "turnId": running}
        steering.append(toy.editor.begin("pygent/turn/steer", {**given, "prompt": json.dumps([["say", "Steered."]])}))
        return "Allow once"

    toy.editor.choose = steer
    question = ["permit", "t1", {"kind": "other", "title": "Ask"}]
    result = await toy.turn(question, ["say", "First."], sessionId=session["sessionId"])

    assert await steering[0] == {"accepted": True}
    assert toy.logged("prompt")[-1] == json.dumps([json.dumps([["say", "Steered."]])])
    assert result["text"] == "Steered."


@SHARED
async def test_its_own_commands_are_listed_and_reach_it(toy: Toy) -> None:
    offered = [{"name": "review-all", "description": "Review it all"}]
    update = {"sessionUpdate": "available_commands_update", "availableCommands": offered}
    first = await toy.turn(["update", update], ["say", "Ready."])

    listed = (await toy.editor.ask("pygent/commands/list", {}))["commands"]
    await toy.editor.turn("/review-all", model="acp:toy", sessionId=first["sessionId"])

    assert [each["description"] for each in listed if each["source"] == "agent"] == ["Review it all"]
    assert toy.logged("prompt")[-1] == '["/review-all"]'


# Setting up


async def test_it_is_told_which_servers_which_model_and_how_the_user_signs_in(folder: Path) -> None:
    servers = '[mcp_servers.tools]\ncommand = "true"\n'
    async with toy_at(folder, "sign_in=1", "models=small,big", more=servers) as toy:
        toy.editor.choose = lambda prompt: "In the browser"
        result = await toy.turn(["say", "hi"], model="acp:toy/big")
        unknown = await toy.turn(["say", "hi"], model="acp:toy/huge")

        assert result["stopReason"] == "end_turn"
        assert toy.questions[0] == "toy needs you to sign in. How?"
        assert toy.logged("authenticate")[0] == "browser"
        assert toy.logged("new")[0] == f"{folder} tools"
        assert toy.logged("option") == ["m big"]
        assert "toy has no model 'huge': small, big." in unknown["error"]["message"]


async def test_one_that_is_not_installed_says_how_to_install_it(folder: Path) -> None:
    async with toy_at(folder, PATH="/usr/bin:/bin") as toy:
        result = await toy.turn(["say", "hi"], model="acp:claude")
        with pytest.raises(Exception, match="Known agents: toy, claude, codex, gemini"):
            await toy.turn(["say", "hi"], model="acp:nobody")

    assert result["error"]["message"] == (
        "Claude Code is not installed: there is no program 'claude-agent-acp' on the PATH. Install it with: "
        "npm install -g @agentclientprotocol/claude-agent-acp"
    )


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize("options", [(), ("images=1",)])
async def test_an_image_is_sent_to_an_agent_that_takes_images(folder: Path, options: tuple[str, ...]) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    async with toy_at(folder, *options) as toy:
        prompt = [image, {"type": "text", "text": json.dumps([["say", "Seen."]])}]
        result = await toy.editor.turn(prompt, model="acp:toy")
        said = json.loads(toy.logged("prompt")[-1])

    assert result["text"] == "Seen."
    assert said[:-1] == (["<image>"] if options else ["[image: image/png, left out because you take no images]"])


# Faults


@SHARED
async def test_a_cancelled_turn_is_told_and_the_session_goes_on(toy: Toy) -> None:
    running = toy.editor.begin_turn(json.dumps([["hang"]]), model="acp:toy")
    await toy.editor.until(lambda: "Hanging" in "".join(event.get("content", "") for event in toy.editor.events()))
    started = len(toy.logged("initialize"))
    await toy.editor.ask("pygent/turn/cancel", {"sessionId": toy.editor.changed_sessions[-1]["sessionId"]})
    result = await running

    again = await toy.turn(["say", "Still here."], sessionId=result["sessionId"])

    assert result["stopReason"] == "cancelled"
    assert again["text"] == "Still here."
    assert len(toy.logged("initialize")) == started, "the same process goes on"
    assert len(toy.logged("cancel")) == 1


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ([["exit", 3]], "toy stopped working. The program ended with exit code 3. It wrote: It is all over."),
        ([["flood", 9, 1_000_000]], "The answer was stopped after 8,000,000 characters."),
        ([["noise", "x" * 60_000]] * 20, "toy stopped working. It wrote more than 1,000,000 characters"),
    ],
)
async def test_one_that_fails_ends_its_turn_and_the_next_begins_anew(
    folder: Path, steps: list[list[Any]], wrong: str
) -> None:
    async with toy_at(folder) as toy:
        first = await toy.turn(["say", "First."], *steps, ["hang"])
        first_pid = toy.pid
        again = await toy.turn(["prompt"], sessionId=first["sessionId"])

        assert first["error"]["message"].startswith(wrong)
        assert again["stopReason"] == "end_turn"
        assert ("xxx" if steps[0][0] == "flood" else "First.") in again["text"]
        assert toy.pid != first_pid


@SHARED
async def test_what_no_standard_allows_is_skipped(toy: Toy) -> None:
    deep = "[" * 200 + "]" * 200
    update = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":'

    result = await toy.turn(
        ["line", f'{update}{{"sessionUpdate":"tool_call","toolCallId":"t","title":"t","rawInput":{deep}}}}}}}'],
        ["line", f'{update}{{"sessionUpdate":"usage_update","used":NaN,"size":1e999}}}}}}'],
        ["line", '{"jsonrpc":"2.0","id":[1],"result":{}}'],
        ["line", '{"jsonrpc":"2.0","id":1,"error":[5]}'],
        ["raw", {"sessionUpdate": "tool_call", "toolCallId": 5, "title": [], "content": "x", "locations": {}}],
        ["raw", {"sessionUpdate": "plan", "entries": [5, {"content": 5}]}],
        ["say", "Still here."],
    )

    assert result["text"].endswith("Still here.")
    assert result["stopReason"] == "end_turn"


async def test_one_that_hears_nothing_is_ended_when_its_turn_is_cancelled(folder: Path) -> None:
    async with toy_at(folder, may_be_warm=False) as toy:
        running = toy.editor.begin_turn(json.dumps([["hang", "deaf"]]), model="acp:toy")
        await toy.editor.until(lambda: "Hanging" in "".join(event.get("content", "") for event in toy.editor.events()))
        process = os.pidfd_open(toy.pid)
        await toy.editor.ask("pygent/turn/cancel", {"sessionId": toy.editor.changed_sessions[-1]["sessionId"]})
        result = await running

        assert result["stopReason"] == "cancelled"
        assert await asyncio.to_thread(have_ended, [process])


@pytest.mark.parametrize("how", ["shutdown", "kill -9"])
async def test_no_agent_outlives_the_daemon(folder: Path, how: str) -> None:
    def nothing(_: EditorClient) -> None:
        return

    def kill(editor: EditorClient) -> None:
        os.kill(editor.client._server.pid, signal.SIGKILL)

    end: Callable[[EditorClient], None] = kill if how == "kill -9" else nothing
    process = -1
    try:
        async with toy_at(folder, may_be_warm=False) as toy:
            toy.editor.begin_turn(json.dumps([["hang"]]), model="acp:toy")
            await toy.editor.until(lambda: bool(toy.editor.events()) and "text_delta" in toy.editor.types())
            process = os.pidfd_open(toy.pid)
            end(toy.editor)
    except Exception:
        if how == "shutdown":
            raise

    assert await asyncio.to_thread(have_ended, [process])


async def test_what_an_agent_has_started_apart_ends_with_it(folder: Path) -> None:
    async with toy_at(folder, may_be_warm=False) as toy:
        result = await toy.turn(["start", "sleep", "600"])
        process = os.pidfd_open(int(result["text"]))

    assert await asyncio.to_thread(have_ended, [process])


async def test_a_limit_ends_the_turn_and_the_agent_stops(folder: Path) -> None:
    cost = {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 2.0, "currency": "USD"}}
    async with toy_at(folder) as toy:
        toy.editor.choose = lambda prompt: "Stop" if "Stop" in str(prompt.actions) else "Continue"
        result = await toy.turn(["update", cost], ["hang"], maxBudgetUsd=1.0)

        assert result["stopReason"] == "budget_limit"
        assert len(toy.logged("cancel")) == 1
