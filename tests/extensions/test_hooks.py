"""Hooks as commands: real programs, what they are given, and what counts of what they say."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.ports.hooks import HookEvent, HookInput, HookOutcome
from pygent_ls.agent.ports.processes import ProcessResult
from pygent_ls.extensions.hooks import OF_TOOLS, CommandHooks, HookCommand, said_by
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.fakes import bounded
from tests.workspace.programs import LIMIT_S, UP, OnceUp, runs

GIVEN = HookInput(event="pre_tool_use", session_id="s", turn_id="t", cwd=Path("/"), tool_name="shell", tool_input={})


def hook(command: str, event: HookEvent = "pre_tool_use", **changes: Any) -> HookCommand:
    return HookCommand(event=event, command=command, **changes)


async def run(folder: Path, *commands: HookCommand, given: HookInput = GIVEN) -> HookOutcome:
    """Run them with real processes; returns what they said, without how long they took."""
    said = await bounded(CommandHooks(commands, LocalProcesses()).run(replace(given, cwd=folder)))
    return replace(said, ran=tuple(replace(each, duration_s=0.0) for each in said.ran))


def decisions(said: HookOutcome) -> Sequence[str]:
    return [each.decision for each in said.ran]


# What they are given


async def test_a_hook_reads_what_happens_as_json_and_runs_in_the_folder(tmp_path: Path) -> None:
    given = replace(GIVEN, tool_name="edit_file", tool_input={"path": "ä \ud800.txt", "n": [1, None]})
    await run(tmp_path, hook("cat > seen.json; pwd > where; printenv PYGENT_PROJECT_DIR > project"), given=given)

    assert json.loads((tmp_path / "seen.json").read_text()) == {
        "hook_event": "pre_tool_use",
        "session_id": "s",
        "turn_id": "t",
        "cwd": str(tmp_path),
        "tool_name": "edit_file",
        "tool_input": {"path": "ä \ud800.txt", "n": [1, None]},
    }
    assert {(tmp_path / name).read_text() for name in ("where", "project")} == {f"{tmp_path}\n"}


@pytest.mark.parametrize("facts", [{"source": "resume"}, {"prompt": "do it"}, {"tool_result": "ok"}, {"error": "oh"}])
async def test_a_field_is_there_where_the_event_has_it(tmp_path: Path, facts: dict[str, Any]) -> None:
    given = HookInput(event="session_start", session_id="s", turn_id="", cwd=tmp_path, **facts)
    await run(tmp_path, hook("cat > seen.json", "session_start"), given=given)
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen == {"hook_event": "session_start", "session_id": "s", "turn_id": "", "cwd": str(tmp_path), **facts}


async def test_a_hook_that_never_reads_holds_up_nothing(tmp_path: Path) -> None:
    given = replace(GIVEN, event="post_tool_use", tool_result="x" * 3_000_000)
    said = await run(tmp_path, hook("exec echo '{}'", "post_tool_use"), given=given)
    assert said.notices == ()


async def test_a_hook_is_not_given_the_keys_that_the_daemon_pays_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    hooks = CommandHooks([hook("env > env.txt")], LocalProcesses(hidden_variables={"OPENAI_API_KEY"}))
    await bounded(hooks.run(replace(GIVEN, cwd=tmp_path)))
    names = {line.partition("=")[0] for line in (tmp_path / "env.txt").read_text().splitlines()}
    assert ("OPENAI_API_KEY" in names, "PYGENT_HOOK_EVENT" in names) == (False, True)


# Which run


@pytest.mark.parametrize(
    ("matcher", "name", "matches"),
    [
        ("", "shell", True),
        ("shell", "shell", True),
        ("shell", "shell_output", False),
        ("edit_file|create_file", "create_file", True),
        ("mcp__github__.*", "mcp__github__merge", True),
        (".*_file", "read_file", True),
        ("Shell", "shell", False),
    ],
)
def test_a_matcher_is_about_the_whole_name_of_the_tool(matcher: str, name: str, matches: bool) -> None:
    hooks = CommandHooks([hook("true", matcher=matcher)], LocalProcesses())
    assert hooks.listens("pre_tool_use", name) == matches
    assert not hooks.listens("post_tool_use", name)


@pytest.mark.parametrize("event", ["session_start", "stop", "user_prompt_submit", "subagent_stop"])
def test_a_matcher_means_nothing_where_there_is_no_tool(event: HookEvent) -> None:
    assert CommandHooks([hook("true", event, matcher="shell")], LocalProcesses()).listens(event)


async def test_the_hooks_of_one_event_run_side_by_side_and_the_strictest_counts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "meet")
    said = await run(
        tmp_path,
        hook('echo > meet; echo \'{"decision": "allow"}\''),  # opens the pipe once the other one has
        hook("cat < meet; echo no >&2; exit 2"),
        hook("false", matcher="other"),
    )
    assert (said.decision, said.reason, decisions(said)) == ("deny", "no", ["allow", "deny"])


# What they say


async def test_exit_2_denies_and_what_it_wrote_for_people_is_the_reason(tmp_path: Path) -> None:
    said = await run(tmp_path, hook('echo \'{"decision": "allow"}\'; echo "not on my machine" >&2; exit 2'))
    assert (said.decision, said.reason, said.notices) == ("deny", "not on my machine", ())


async def test_json_on_standard_output_decides_changes_and_adds(tmp_path: Path) -> None:
    whole = {"decision": "ask", "reason": "why", "tool_input": {"command": "ls"}, "context": "it is late"}
    (tmp_path / "said.json").write_text(json.dumps(whole))
    said = await run(tmp_path, hook("cat said.json"))
    assert (said.decision, said.reason, said.tool_input, said.context, said.notices) == (
        "ask",
        "why",
        {"command": "ls"},
        "it is late",
        (),
    )


async def test_one_that_says_nothing_decides_nothing(tmp_path: Path) -> None:
    said = await run(tmp_path, hook("echo looked at it >&2"))
    assert replace(said, ran=()) == HookOutcome()
    assert decisions(said) == [""]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("exit 1", "The pre_tool_use hook `exit 1` exited with code 1 and is ignored."),
        ("echo oh >&2; exit 3", "The pre_tool_use hook `echo oh >&2; exit 3` exited with code 3 and is ignored: oh"),
        ("kill -9 $$", "The pre_tool_use hook `kill -9 $$` ended by signal 9 and is ignored."),
        (
            "echo done",
            "The pre_tool_use hook `echo done` is ignored: its output is not JSON: done (write messages for "
            "people to standard error)",
        ),
        ("echo 7", "The pre_tool_use hook `echo 7` is ignored: its output is not a JSON object: 7"),
    ],
)
async def test_whatever_goes_wrong_is_told_and_changes_nothing(tmp_path: Path, command: str, problem: str) -> None:
    said = await run(tmp_path, hook(command))
    assert replace(said, ran=()) == HookOutcome(notices=(problem,))
    assert decisions(said) == [""]


async def test_a_program_that_there_is_not_is_told(tmp_path: Path) -> None:
    said = await run(tmp_path, hook("./no-such-program"))
    assert said.decision is None
    assert "no-such-program" in said.notices[0]
    assert "exited with code 127" in said.notices[0]


async def test_a_folder_that_there_is_not_is_told(tmp_path: Path) -> None:
    said = await run(tmp_path / "gone", hook("true"))
    assert said.notices[0].startswith("The pre_tool_use hook `true` did not run and is ignored. ")
    assert said.decision is None


@pytest.mark.parametrize(
    ("wrote", "problem"),
    [
        ({"decision": "block"}, 'its decision is "block", but must be "allow", "ask" or "deny"'),
        ({"decision": ["deny"]}, 'its decision is ["deny"], but must be "allow", "ask" or "deny"'),
        ({"decision": "deny", "reason": 7}, "its reason and its context must be strings"),
        ({"tool_input": "ls"}, "its tool_input must be an object: the complete input of the tool"),
    ],
)
def test_a_wrong_value_is_named(wrote: dict[str, Any], problem: str) -> None:
    said = said_by(hook("x"), ended(json.dumps(wrote)))
    assert said.notices == (f"The pre_tool_use hook `x` is ignored: {problem}",)
    assert said.decision is None


def test_a_field_that_there_is_not_is_told_and_the_rest_counts() -> None:
    said = said_by(hook("x"), ended('{"decision": "deny", "reasn": "typo"}'))
    assert said.decision == "deny"
    assert said.notices == (
        "The pre_tool_use hook `x` returns unknown fields: reasn. Known fields are decision, reason, tool_input, "
        "context.",
    )


@pytest.mark.parametrize(
    ("event", "wrote", "problem"),
    [
        ("session_start", {"decision": "deny"}, "decides deny, which has no effect for this event."),
        ("stop", {"decision": "ask", "reason": "hm"}, "decides ask, which has no effect for this event: hm"),
        (
            "post_tool_use",
            {"tool_input": {}},
            "returns a tool_input, which only pre_tool_use and permission_request accept.",
        ),
        (
            "permission_request",
            {"tool_input": {}},
            "returns a tool_input but does not allow the call, so the input is ignored.",
        ),
        ("permission_request", {"context": "c"}, "returns context, which has no effect for this event."),
    ],
)
def test_what_an_event_does_not_take_is_told(event: HookEvent, wrote: dict[str, Any], problem: str) -> None:
    said = said_by(hook("x", event), ended(json.dumps(wrote)))
    assert said.notices == (f"The {event} hook `x` {problem}",)
    assert (said.decision, said.tool_input, said.context) == (None, None, "")


values = st.none() | st.sampled_from(["allow", "ask", "deny", "", 7]) | st.dictionaries(st.text(max_size=2), st.none())
objects = st.dictionaries(st.sampled_from(["decision", "reason", "tool_input", "context", "x"]), values, max_size=4)
written = st.text(max_size=30) | (values | st.lists(values, max_size=2) | objects).map(json.dumps)


@given(st.sampled_from([*sorted(OF_TOOLS), "stop", "session_end"]), written, st.integers(-9, 3))
def test_nothing_that_a_hook_writes_is_an_exception(event: HookEvent, stdout: str, code: int) -> None:
    said = said_by(hook("x", event), ended(stdout, exit_code=code))
    assert code == 2 or said.decision is None or f'"{said.decision}"' in stdout
    assert len(said.ran) == 1


@pytest.mark.parametrize("depth", [65, 900, 100_000])
def test_json_that_is_nested_too_deep_is_told(depth: int) -> None:
    said = said_by(hook("x"), ended('{"tool_input": {"a": ' + "[" * depth + "]" * depth + "}}"))
    assert "is not JSON" in said.notices[0]
    assert said.tool_input is None


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '"\\ud800"'])
def test_what_no_provider_takes_is_not_taken_from_a_hook(value: str) -> None:
    for wrote in (f'{{"tool_input": {{"command": {value}}}}}', f'{{"context": {value}}}'):
        said = said_by(hook("x"), ended(wrote))
        assert "is not JSON" in said.notices[0]
        assert (said.tool_input, said.context) == (None, "")


# How they end


async def test_one_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    command = f"sleep 60 & echo $! > pid; {UP}; wait"
    said = await bounded(CommandHooks([hook(command, timeout_s=0.2)], OnceUp()).run(replace(GIVEN, cwd=tmp_path)))
    assert said.notices == (f"The pre_tool_use hook `{command}` was stopped after 0.2 s and is ignored.",)
    assert said.decision is None
    assert not runs(int((tmp_path / "pid").read_text()))


async def test_a_cancel_ends_all_that_run(tmp_path: Path) -> None:
    for number in "12":
        os.mkfifo(tmp_path / f"here{number}")
    command = "sleep 60 & echo $! > pid$0; echo > here$0; wait"
    both = [hook(command.replace("$0", number)) for number in "12"]
    work = asyncio.ensure_future(CommandHooks(both, LocalProcesses()).run(replace(GIVEN, cwd=tmp_path)))
    for number in "12":
        async with asyncio.timeout(LIMIT_S):
            await asyncio.to_thread((tmp_path / f"here{number}").read_bytes)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(work)
    assert [runs(int((tmp_path / f"pid{number}").read_text())) for number in "12"] == [False, False]


def ended(stdout: str, *, exit_code: int = 0) -> ProcessResult:
    return ProcessResult(
        exit_code=exit_code, stdout=stdout, stderr="", omitted_chars=0, timed_out=False, duration_s=0.0
    )
