"""`pygent-ls run` in scripts: each option with a real process, and a real model server if it needs one."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command_line import (
    COMMAND,
    WAIT_S,
    Lifeline,
    clean_environment,
    on_terminal,
    run,
    run_for_nobody,
    script,
    tool,
)
from tests.e2e.transcripts import prompt, request
from tests.model_server import Call, ModelServer, Step

EDIT = tool("edit_file", path="app.py", old="x = 1", new="x = 2")
READ = Call(name="read_file", arguments={"path": "app.py"})
JSON = ("--output-format", "json")
STREAM = ("--output-format", "stream-json")
BOTH_WAYS = (*STREAM, "--input-format", "stream-json")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return clean_environment(home)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with one file."""
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()
    (workspace / "app.py").write_text("x = 1\n", encoding="utf-8")
    return workspace


@pytest.fixture
def lifeline(tmp_path: Path) -> Generator[Lifeline]:
    line = Lifeline(tmp_path / "lifeline")
    yield line
    line.close()


def asked(server: ModelServer, environment: dict[str, str], *arguments: str, stdin: str = "") -> dict[str, Any]:
    """The result of a run that asks this server."""
    given = {**environment, **server.env(), "PYGENT_MODEL": "openai/mock"}
    done = run("run", *arguments, *JSON, environment=given, stdin=stdin)
    assert done.stdout.count("\n") == 1, done.stderr
    return json.loads(done.stdout)


def sessions_in(environment: dict[str, str]) -> list[Path]:
    return sorted(Path(environment["XDG_STATE_HOME"], "pygent-ls", "sessions").glob("*.jsonl"))


# The prompt


def test_what_is_piped_in_stands_behind_the_prompt(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="ok")]) as server:
        asked(server, environment, "explain this", "--cwd", str(folder), stdin="some log\nof two lines\n")

    assert server.requests[0].texts("user")[-1].endswith("explain this\n\nsome log\nof two lines\n")


def test_an_empty_pipe_adds_nothing(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="ok")]) as server:
        asked(server, environment, "explain this", "--cwd", str(folder), stdin="\ufeff \n")

    assert server.requests[0].texts("user")[-1].endswith("explain this")


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [*COMMAND, "run", "go", "--cwd", str(folder), "--model", script(tmp_path, {"text": "ok"})],
            env=environment,
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)

    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "No input on the pipe within 3 s; continuing with only the prompt.\n" in done.stderr


# Sessions


def test_a_session_goes_on_by_its_id_and_as_the_newest_of_its_folder(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with ModelServer([Step(text=f"answer {n}") for n in range(5)]) as server:
        first = asked(server, environment, "remember PLUM", "--cwd", str(folder))["session_id"]
        other = asked(server, environment, "another", "--cwd", str(folder))["session_id"]
        asked(server, environment, "in another folder", "--cwd", str(elsewhere))
        newest = asked(server, environment, "and now?", "--cwd", str(folder), "--continue")
        resumed = asked(server, environment, "and now?", "--cwd", str(folder), "--resume", first)

    assert (newest["session_id"], resumed["session_id"]) == (other, first)
    assert "another" in json.dumps(server.requests[3].messages)
    assert "PLUM" not in json.dumps(server.requests[3].messages)
    assert "PLUM" in json.dumps(server.requests[4].messages)


def test_a_session_goes_on_by_what_a_list_shows_of_it_if_it_is_the_only_one(
    environment: dict[str, str], folder: Path
) -> None:
    with ModelServer([Step(text=f"answer {n}") for n in range(5)]) as server:
        there = ("--cwd", str(folder))
        first = asked(server, environment, "PLUM", *there)["session_id"]
        shown = (first[:8], "PLUM")
        goes_on = [asked(server, environment, "on", *there, "--resume", each)["session_id"] for each in shown]
        asked(server, environment, "PLUM", *there)
        given = {**environment, **server.env(), "PYGENT_MODEL": "openai/mock"}
        done = run("run", "on", *there, "--resume", "PLUM", environment=given)

    assert goes_on == [first, first]
    assert (done.returncode, done.stdout) == (1, "")
    assert "--resume: 'PLUM' matches 2 sessions. `pygent-ls sessions list` lists" in done.stderr


def test_a_session_that_goes_on_in_another_folder_says_where_it_is(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with ModelServer([Step(text="one"), Step(text="two")]) as server:
        session_id = asked(server, environment, "go", "--cwd", str(folder))["session_id"]
        given = {**environment, **server.env(), "PYGENT_MODEL": "openai/mock"}
        there = ("--cwd", str(elsewhere), *STREAM)
        done = run("run", "go on", "--resume", session_id, *there, environment=given)

    begun, *_, ended = map(json.loads, done.stdout.splitlines())
    assert (begun["cwd"], ended["result"]) == (str(elsewhere), "two")


def test_what_is_chosen_for_a_session_that_goes_on_counts(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="one"), Step(calls=(READ,)), Step(text="two")]) as server:
        given = ("--cwd", str(folder))
        asked(server, environment, "one", *given)
        environment.update(server.env(), PYGENT_MODEL="openai/mock")
        done = run(
            *("run", "two", *given, *STREAM, "--continue", "--model", "openai/other", "--agent", "review"),
            environment=environment,
        )

    init = json.loads(done.stdout.splitlines()[0])
    assert (init["model"], init["permissionMode"]) == ("openai/other", "plan")
    assert server.requests[1].body["model"] == "other"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--continue",), "has no session yet. Omit it to start one."),
        (("--resume", "0" * 32), f"--resume: there is no session '{'0' * 32}'. `pygent-ls sessions list` lists"),
        (("--resume", "../../etc/passwd"), "there is no session '../../etc/passwd'"),
    ],
)
def test_no_such_session_is_told(
    environment: dict[str, str], folder: Path, arguments: tuple[str, ...], problem: str
) -> None:
    done = run("run", "go", "--cwd", str(folder), *arguments, *JSON, environment=environment)

    line = json.loads(done.stdout)
    assert (done.returncode, line["subtype"], line["is_error"]) == (1, "error_during_execution", True)
    assert problem in line["result"]


def test_a_session_without_persistence_leaves_nothing_behind(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = ("--model", script(tmp_path, {"text": "ok"}), "--cwd", str(folder))

    run("run", "PLUM", *model, "--no-session-persistence", environment=environment)
    assert sessions_in(environment) == []

    run("run", "PLUM", "--model", script(tmp_path, {"text": "ok"}), "--cwd", str(folder), environment=environment)
    (journal,) = sessions_in(environment)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


# Limits


@pytest.mark.parametrize(
    ("arguments", "subtype", "said"),
    [
        (("--max-turns", "1"), "error_max_turns", "The limit of 1 model calls per turn was reached."),
        (("--max-tokens", "100"), "error_limit", "The limit of 100 tokens per turn was reached: 120 used."),
        (("--max-budget-usd", "1"), "error_max_budget_usd", "The limit of $1 per turn was reached: $1.2000 spent."),
    ],
)
def test_a_limit_ends_the_turn_and_says_which(
    environment: dict[str, str], folder: Path, arguments: tuple[str, ...], subtype: str, said: str
) -> None:
    prices = {"openai/mock": {"input_usd_per_mtok": 10_000, "output_usd_per_mtok": 10_000}}
    environment["PYGENT_MODELS"] = json.dumps(prices)
    with ModelServer([Step(calls=(READ,)), Step(text="never said")]) as server:
        line = asked(server, environment, "go", "--cwd", str(folder), *arguments)

    assert (line["subtype"], line["result"], line["num_turns"]) == (subtype, said, 1)
    assert line["total_cost_usd"] == 1.2
    assert len(server.requests) == 1


def test_a_limit_of_0_is_none(environment: dict[str, str], folder: Path) -> None:
    environment["PYGENT_MAX_ITERATIONS"] = "1"
    with ModelServer([Step(calls=(READ,)), Step(text="done")]) as server:
        line = asked(server, environment, "go", "--cwd", str(folder), "--max-turns", "0")

    assert (line["subtype"], line["num_turns"]) == ("success", 2)


@pytest.mark.parametrize(("option", "limit"), [("--max-chars", "60"), ("--max-words", "12")])
def test_what_is_sent_of_the_conversation_can_be_limited(
    environment: dict[str, str], folder: Path, option: str, limit: str
) -> None:
    with ModelServer([Step(text="one " * 20), Step(text="two")]) as server:
        asked(server, environment, "the first question of all", "--cwd", str(folder))
        asked(server, environment, "the second", "--cwd", str(folder), "--continue", option, limit)

    sent = json.dumps(server.requests[1].messages)
    assert "the second" in sent
    assert "the first question" not in sent


def test_the_time_in_the_model_is_measured(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="ok", delay_s=0.3)]) as server:
        line = asked(server, environment, "go", "--cwd", str(folder))

    assert 300 <= line["duration_api_ms"] <= line["duration_ms"]
    assert line["total_cost_usd"] is None, "nobody knows the price of this model"


# Tools and permission


def test_only_the_tools_that_are_named_are_offered(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="ok")] * 3) as server:
        given = ("go", "--cwd", str(folder))
        asked(server, environment, *given, "--tools", "read_file,git_s*")
        asked(server, environment, *given, "--tools", "")
        asked(server, environment, *given, "--disallowed-tools", "shell,web_*")

    named, none, less = ([each["function"]["name"] for each in r.body.get("tools", [])] for r in server.requests)
    assert (named, none) == (["read_file", "git_status"], [])
    assert not {"shell", "web_fetch"} & set(less)
    assert "edit_file" in less


def test_rules_of_the_command_line_allow_and_deny(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(
        tmp_path, tool("shell", command="touch made"), tool("shell", command="touch not_made"), {"text": "ok"}
    )

    done = run(
        *("run", "go", "--cwd", str(folder), "--model", model, *JSON),
        *("--allowed-tools", "shell(touch:*) read_file", "--disallowed-tools", "shell(touch not_made)"),
        environment=environment,
    )

    denied = [each["tool_input"] for each in json.loads(done.stdout)["permission_denials"]]
    assert denied == [{"command": "touch not_made"}]
    assert [each.name for each in folder.iterdir() if "made" in each.name] == ["made"]


def test_a_mode_is_chosen_for_the_run(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, EDIT, {"text": "ok"})

    done = run(
        *("run", "go", "--cwd", str(folder), "--model", model, *JSON, "--permission-mode", "acceptEdits"),
        environment=environment,
    )

    assert json.loads(done.stdout)["permission_denials"] == []
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 2\n"


def test_a_folder_beside_the_workspace_can_be_used(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    shared, more = tmp_path / "shared", tmp_path / "more"
    for each in (shared, more):
        each.mkdir()
        (each / "note.txt").write_text("PLUM\n", encoding="utf-8")
    steps = [tool("read_file", path=str((each / "note.txt").resolve())) for each in (shared, more)]
    model = script(tmp_path, *steps, {"text": "ok"})
    given = ("run", "go", "--cwd", str(folder), *STREAM, "--model", model)

    done = run(*given, "--add-dir", str(shared), "--add-dir", str(more), environment=environment)
    without = run(*given, environment=environment)

    assert done.stdout.count("PLUM") == 2
    assert "PLUM" not in without.stdout


# Settings


def test_text_is_added_to_the_system_prompt_of_the_settings(environment: dict[str, str], folder: Path) -> None:
    config = Path(environment["XDG_CONFIG_HOME"], "pygent-ls")
    config.mkdir(parents=True)
    (config / "config.toml").write_text('system_prompt = "Be brief."\n', encoding="utf-8")
    with ModelServer([Step(text="ok")] * 2) as server:
        given = ("go", "--cwd", str(folder), "--append-system-prompt", "Answer in French.")
        asked(server, environment, *given)
        asked(server, environment, *given, "--setting-sources", "project")

    with_file, without = (each.texts("system")[0] for each in server.requests)
    assert "Be brief.\n\nAnswer in French." in with_file
    assert "Answer in French." in without
    assert "Be brief." not in without


def test_what_the_command_line_chooses_reaches_the_provider(environment: dict[str, str], folder: Path) -> None:
    chosen = (
        *("--model", "anthropic/claude-sonnet-4-5", "--fallback-model", "anthropic/claude-haiku-4-5"),
        *("--max-thinking-tokens", "2000", "--system-prompt", "You are a poet."),
        *("--agents", '{"rhymer": {"description": "Rhymes", "prompt": "Rhyme.", "tools": ["read_file"]}}'),
    )
    with ModelServer([Step(status=529, error="busy"), Step(text="Roses are red.")]) as server:
        keys = {"PYGENT_API_BASE": server.url, "ANTHROPIC_API_KEY": "k", "PYGENT_RETRY_MAX_ATTEMPTS": "1"}
        given = ("run", "@agent-rhymer roses", "--cwd", str(folder), *chosen, *STREAM)
        done = run(*given, environment={**environment, **keys})

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (again,) = [line for line in lines if line.get("subtype") == "api_retry"]
    assert (again["error"], again["fallback_model"]) == ("overloaded", "anthropic/claude-haiku-4-5")
    assert (lines[-1]["result"], done.returncode) == ("Roses are red.", 0)
    assert [each.body["model"] for each in server.requests] == ["claude-sonnet-4-5", "claude-haiku-4-5"]
    asked = server.requests[1].body
    assert asked["thinking"]["budget_tokens"] == 2000
    assert [each["name"] for each in asked["tools"]] == ["read_file"]
    assert "Rhyme." in json.dumps(asked["system"])


def test_the_system_prompt_of_the_command_line_takes_the_place_of_ours(
    environment: dict[str, str], folder: Path
) -> None:
    with ModelServer([Step(text="ok")]) as server:
        asked(server, environment, "go", "--cwd", str(folder), "--system-prompt", "You are a poet.")

    (system,) = server.requests[0].texts("system")
    assert system.startswith("You are a poet.")


def test_the_lines_of_a_call_say_when_it_starts_and_ends(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, tool("shell", command="echo one"), {"text": "ok"})
    given = ("run", "go", "--cwd", str(folder), "--model", model, *STREAM, "--allowed-tools", "shell")

    done = run(*given, "--include-partial-messages", environment=environment)

    told = [json.loads(line) for line in done.stdout.splitlines()]
    states = [each["status"] for each in told if each["type"] == "tool_progress"]
    assert (states[0], states[-1]) == ("started", "ended")
    assert "one\n" in "".join(each["content"] for each in told if each["type"] == "tool_progress")


def test_a_debug_file_has_all_that_happens_but_no_key(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "debug.log"
    key = "sk-ant-api03-0123456789abcdef"
    model = script(tmp_path, {"text": f"PLUM {key}"})

    run(
        *("run", "go", "--cwd", str(folder), "--model", model, "--debug-file", str(file)),
        environment={**environment, "PYGENT_REDACT_SECRETS": "false"},
    )

    text = file.read_text(encoding="utf-8")
    assert "PLUM" in text
    assert key not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    refused = run("run", "go", "--debug-file", str(tmp_path), environment=environment)
    assert refused.returncode == 2
    assert f"--debug-file: {tmp_path} cannot be written: Is a directory" in refused.stderr


# Structured results


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize("spelled", ["text", "@file", "file"])
def test_an_answer_that_a_schema_asks_for_is_all_that_there_is(
    environment: dict[str, str], folder: Path, tmp_path: Path, spelled: str
) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")
    schema = {"text": json.dumps(SCHEMA), "@file": f"@{file}", "file": str(file)}[spelled]
    model = script(tmp_path, {"text": "I count.", **tool("structured_output", n=7)})

    done = run(
        "run", "how many?", "--cwd", str(folder), "--model", model, "--json-schema", schema, environment=environment
    )

    assert (done.returncode, done.stdout) == (0, '{"n": 7}\n'), done.stderr
    assert "I count.\n" in done.stderr


def test_json_has_the_structured_result_beside_the_words(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(calls=(Call(name="structured_output", arguments={"n": 7}),))]) as server:
        line = asked(server, environment, "how many?", "--cwd", str(folder), "--json-schema", json.dumps(SCHEMA))

    assert (line["subtype"], line["structured_output"]) == ("success", {"n": 7})


# Standard output


def test_standard_output_holds_nothing_but_the_protocol(environment: dict[str, str], folder: Path) -> None:
    """Neither what a program prints, nor problems with settings, nor what a wrong model name leads to."""
    environment.update(PYGENT_MAX_ITERATIONS="many", PYGENT_MODEL="scripted:")
    config = folder / ".pygent"
    config.mkdir()
    (config / "config.toml").write_text("nonsense = [", encoding="utf-8")

    done = run("run", "go", "--cwd", str(folder), *STREAM, environment=environment)

    (line,) = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, line["type"], line["subtype"]) == (1, "result", "error_during_execution")
    assert "does not name a file" in line["result"]
    assert "PYGENT_MAX_ITERATIONS" in done.stderr


def test_the_first_line_says_what_there_is(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "ok"})

    done = run("run", "go", "--cwd", str(folder), "--model", model, *STREAM, environment=environment)

    init = json.loads(done.stdout.splitlines()[0])
    assert (init["cwd"], init["model"], init["permissionMode"]) == (str(folder), model, "default")
    assert {"read_file", "edit_file", "shell", "task"} <= set(init["tools"])
    assert {"default", "plan", "review"} <= set(init["agents"])
    assert {"help", "mode", "compact"} <= set(init["slash_commands"])
    assert re.fullmatch(r"[0-9a-f]{32}", init["session_id"])


@pytest.mark.parametrize("arguments", [JSON, STREAM])
def test_a_reader_who_leaves_ends_the_run(
    environment: dict[str, str], folder: Path, arguments: tuple[str, ...]
) -> None:
    with ModelServer([Step(text="ok")]) as server:
        environment.update(server.env(), PYGENT_MODEL="openai/mock")
        done = run_for_nobody("run", "go", "--cwd", str(folder), *arguments, environment=environment)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr, "`| head` has what it wanted"


@pytest.mark.parametrize(("closed", "expected"), [("<&-", (0, "ok\n")), (">&-", (1, "")), ("2>&-", (0, "ok\n"))])
def test_a_standard_stream_may_be_closed(
    environment: dict[str, str], folder: Path, tmp_path: Path, closed: str, expected: tuple[int, str]
) -> None:
    command = (*COMMAND, "run", "go", "--cwd", str(folder), "--model", script(tmp_path, {"text": "ok"}))

    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )

    assert (done.returncode, done.stdout) == expected, done.stderr
    assert ("the answer could not be written" in done.stderr) is (closed == ">&-")


# The end before the end


def test_a_reader_who_stands_still_holds_up_neither_the_turn_nor_its_end(
    environment: dict[str, str], folder: Path, tmp_path: Path, lifeline: Lifeline
) -> None:
    """Far more than a pipe holds is said, and then a program runs."""
    model = script(tmp_path, {"text": "x" * 300_000, **tool("shell", command=lifeline.command)})
    process = subprocess.Popen(
        [*COMMAND, "run", "go", "--cwd", str(folder), "--model", model, "--yes"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    lifeline.wait_until_up()

    process.terminate()

    lifeline.wait_until_gone()
    assert process.wait(WAIT_S) == 130
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("both_ways", [False, True])
def test_a_signal_ends_the_turn_with_its_result(
    environment: dict[str, str],
    folder: Path,
    tmp_path: Path,
    lifeline: Lifeline,
    number: signal.Signals,
    both_ways: bool,
) -> None:
    model = script(tmp_path, tool("shell", command=lifeline.command), {"text": "never said"})
    given = BOTH_WAYS if both_ways else (*STREAM, "go")
    process = subprocess.Popen(
        [*COMMAND, "run", "--cwd", str(folder), "--model", model, "--yes", *given],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin
    if both_ways:
        process.stdin.write(json.dumps(prompt("go")) + "\n")
        process.stdin.flush()
    else:
        process.stdin.close()
        process.stdin = None
    lifeline.wait_until_up()

    process.send_signal(number)

    lifeline.wait_until_gone()
    output, status = process.communicate(timeout=WAIT_S)
    last = json.loads(output.splitlines()[-1])
    assert (process.returncode, last["type"], last["subtype"]) == (130, "result", "interrupted")
    assert "Traceback" not in status


def test_the_exit_code_is_the_last_turns(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    failing = script(tmp_path, {"text": "fine"}, {"error": {"type": "auth", "message": "The key is wrong."}})
    two = f"{json.dumps(prompt('one'))}\n{json.dumps(prompt('two'))}\n"
    given = ("run", "--cwd", str(folder), *BOTH_WAYS, "--model")

    failed = run(*given, failing, environment=environment, stdin=two)
    none = run(*given, failing, environment=environment, stdin=json.dumps(request("r1", "interrupt")) + "\n")

    results = [line for line in map(json.loads, failed.stdout.splitlines()) if line["type"] == "result"]
    assert [(each["is_error"], each["result"]) for each in results] == [(False, "fine"), (True, "The key is wrong.")]
    assert (failed.returncode, none.returncode) == (1, 0)


def test_help_tells_the_exit_codes(environment: dict[str, str]) -> None:
    told = run("run", "--help", environment=environment).stdout

    for code, meaning in (("0", "the turn finished"), ("1", "an error, a limit"), ("130", "cancelled by")):
        assert re.search(rf"^  {code} +{meaning}", told, re.M)


# On a terminal


def test_while_a_model_is_slow_the_terminal_says_what_is_waited_for(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="Done.", hang=True)]) as server:
        environment.update(server.env(), PYGENT_MODEL="openai/mock", NO_COLOR="1")
        with on_terminal("run", "go", "--cwd", str(folder), environment=environment) as terminal:
            terminal.sees("waiting for openai/mock · ")

            assert terminal.interrupted() == 130
            assert "\r" in terminal.seen
            assert terminal.seen.rstrip("\n").splitlines()[-1].startswith("Cancelled · ")


def test_what_is_piped_on_has_no_spinner_in_it(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "ok", "delay_s": 1.2})

    done = run("run", "go", "--cwd", str(folder), "--model", model, environment=environment)

    assert (done.stdout, "\r" in done.stderr) == ("ok\n", False)


def test_who_sits_at_the_terminal_is_asked_whatever_the_format(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    line = f'"$@" > {output}'
    given = ("run", "edit", "--cwd", str(folder), *JSON, "--model", script(tmp_path, EDIT, {"text": "done"}))

    with on_terminal(*COMMAND, *given, environment=environment, command=("/bin/sh", "-c", line, "sh")) as terminal:
        terminal.sees("Your choice")
        terminal.types("o\n")

        assert terminal.ends() == 0
    assert json.loads(output.read_text(encoding="utf-8"))["permission_denials"] == []
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 2\n"


def test_a_session_that_is_in_use_is_told_and_left_alone(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="one"), Step(text="two", hang=True)]) as server:
        environment.update(server.env(), PYGENT_MODEL="openai/mock")
        given = (*COMMAND, "run", "go", "--cwd", str(folder), *JSON)
        session_id = asked(server, environment, "go", "--cwd", str(folder))["session_id"]
        holder = subprocess.Popen(
            [*given, "--resume", session_id], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        server.wait_for(lambda: len(server.requests) == 2)

        refused = asked(server, environment, "go", "--cwd", str(folder), "--continue")
        holder.terminate()
        output, _ = holder.communicate(timeout=WAIT_S)

    assert "is in use by another pygent-ls" in refused["result"]
    assert json.loads(output)["subtype"] == "interrupted"


# The session's id, and its end


UUID = "123e4567-e89b-42d3-a456-426614174000"


def test_a_session_can_be_given_its_id_once(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "ok"}, {"text": "again"})
    given = ("run", "go", "--cwd", str(folder), "--model", model, *JSON)

    first = run(*given, "--session-id", UUID.upper(), environment=environment)
    second = run(*given, "--session-id", UUID, environment=environment)
    resumed = run(*given, "--resume", UUID, environment=environment)

    assert json.loads(first.stdout)["session_id"] == UUID
    refused = json.loads(second.stdout)
    assert (refused["is_error"], second.returncode) == (True, 1)
    assert refused["result"] == f"A session {UUID} already exists. Resume it, or choose another id."
    assert json.loads(resumed.stdout)["session_id"] == UUID


def test_the_hook_of_the_end_is_told_that_the_process_exits(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told.json"
    config = Path(environment["XDG_CONFIG_HOME"], "pygent-ls", "config.toml")
    config.parent.mkdir(parents=True)
    config.write_text(f"[[hooks]]\nevent = 'session_end'\ncommand = 'cat > {told}'\n", encoding="utf-8")

    run("run", "go", "--cwd", str(folder), "--model", script(tmp_path, {"text": "ok"}), environment=environment)

    assert json.loads(told.read_text())["reason"] == "exit"


@pytest.mark.parametrize(("sources", "mode"), [(None, "plan"), ("user,project,local", "plan"), ("project", "default")])
def test_the_local_file_of_a_workspace_counts(
    environment: dict[str, str], folder: Path, tmp_path: Path, sources: str | None, mode: str
) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.local.toml").write_text("mode = 'plan'\n", encoding="utf-8")
    chosen = () if sources is None else ("--setting-sources", sources)
    model = script(tmp_path, {"text": "ok"})

    done = run("run", "go", "--cwd", str(folder), "--model", model, *STREAM, *chosen, environment=environment)

    assert json.loads(done.stdout.splitlines()[0])["permissionMode"] == mode


def test_the_local_file_of_a_workspace_loosens_nothing_untrusted(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.local.toml").write_text(
        "[[hooks]]\nevent = 'session_start'\ncommand = 'touch ran'\n", encoding="utf-8"
    )
    given = ("run", "go", "--cwd", str(folder), "--model", script(tmp_path, {"text": "ok"}, {"text": "ok"}))

    done = run(*given, environment=environment)
    assert ".pygent/config.local.toml" in done.stderr
    assert not (folder / "ran").exists()

    run("trust", str(folder), environment=environment, stdin="y\n")
    run(*given, environment=environment)
    assert (folder / "ran").exists()
