"""The command line, as a person or a script calls it: real processes, real terminals, exit codes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

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
from tests.model_server import ModelServer, Step

EDIT = tool("edit_file", path="app.py", old="x = 1", new="x = 2")
QUESTION = "Your choice"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return clean_environment(home)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with one file."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "app.py").write_text("x = 1\n", encoding="utf-8")
    return workspace


@pytest.fixture
def lifeline(tmp_path: Path) -> Generator[Lifeline]:
    line = Lifeline(tmp_path / "lifeline")
    yield line
    line.close()


# A turn without a terminal


def test_the_answer_alone_is_on_standard_output(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "I'll read it.", **tool("read_file", path="app.py")}, {"text": "It sets x."})

    done = run("run", "what is it?", "--cwd", str(folder), "--model", model, environment=environment)

    assert (done.returncode, done.stdout) == (0, "I'll read it.\nIt sets x.\n")
    assert "● Read app.py\n" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_what_would_ask_is_refused_and_listed_where_there_is_nobody_to_ask(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, EDIT, tool("shell", command="touch made"), {"text": "I may not."})

    done = run("run", "change it", "--cwd", str(folder), "--model", model, environment=environment)

    assert (done.returncode, done.stdout) == (0, "I may not.\n")
    listed = done.stderr.partition("Rejected because there is no terminal to ask on")[2]
    assert listed.splitlines()[1:] == ["  - edit_file: Edit app.py (+1 −1)", "  - shell: touch made"]
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 1\n"
    assert not (folder / "made").exists()


def test_yes_allows_everything_that_would_ask(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, EDIT, tool("shell", command="echo out; touch made"), {"text": "done"})
    again = script(tmp_path, tool("shell", command="echo out; touch made"), {"text": "done"})

    done = run("run", "change it", "--cwd", str(folder), "--model", model, "--yes", environment=environment)

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "  edit app.py (+1 −1)\n" in done.stderr
    assert "  │ out\n" in done.stderr
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 2\n"
    assert (folder / "made").exists()
    without = run("run", "again", "--cwd", str(folder), "--model", again, environment=environment)
    assert "  - shell: echo out; touch made" in without.stderr, "and it was allowed once, not for good"


def test_an_agent_is_chosen_by_its_name(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, EDIT, {"text": "done"})

    done = run(
        "run", "go", "--cwd", str(folder), "--model", model, "--agent", "review", "--yes", environment=environment
    )

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert re.search(r"^agent review · scripted:.* · mode plan$", done.stderr, re.M)
    assert "edit_file is not offered to the agent review" in done.stderr
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 1\n"
    wrong = run("run", "go", "--cwd", str(folder), "--model", model, "--agent", "nobody", environment=environment)
    assert wrong.returncode == 1
    assert "there is no agent 'nobody'. The agents are: default, plan, review" in wrong.stderr


def test_the_current_folder_is_the_workspace_where_none_is_named(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, EDIT, {"text": "done"})

    done = run("run", "change it", "--model", model, "--yes", environment=environment, cwd=folder)

    assert done.returncode == 0
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 2\n"


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_prompt_may_come_through_a_pipe(
    environment: dict[str, str], folder: Path, arguments: tuple[str, ...]
) -> None:
    environment["PYGENT_MODEL"] = "offline/rules"

    done = run("run", *arguments, "--cwd", str(folder), environment=environment, stdin="show `app.py`\n")

    assert done.returncode == 0, done.stderr
    assert "● Read app.py\n" in done.stderr


def test_a_failed_model_call_is_told_and_exits_with_1_and_half_an_answer_is_none(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, {"text": "half", "error": {"type": "auth", "message": "The key is wrong."}})

    done = run("run", "hi", "--cwd", str(folder), "--model", model, environment=environment)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Error: The key is wrong.\n" in done.stderr


def test_a_model_that_cannot_be_had_is_told_and_exits_with_1(environment: dict[str, str], folder: Path) -> None:
    done = run("run", "hi", "--cwd", str(folder), "--model", "scripted:", environment=environment)

    assert (done.returncode, done.stdout) == (1, "")
    assert "does not name a file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_limit_exits_with_1(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    environment["PYGENT_MAX_ITERATIONS"] = "1"
    model = script(tmp_path, tool("read_file", path="app.py"), {"text": "never said"})

    done = run("run", "hi", "--cwd", str(folder), "--model", model, environment=environment)

    assert (done.returncode, done.stdout) == (1, "")
    assert "The limit of 1 model calls per turn was reached.\n" in done.stderr


def test_a_wrong_setting_is_told_and_the_turn_runs(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    environment["PYGENT_MAX_ITERATIONS"] = "many"

    done = run("run", "hi", "--cwd", str(folder), "--model", script(tmp_path, {"text": "ok"}), environment=environment)

    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "PYGENT_MAX_ITERATIONS" in done.stderr
    assert "many" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run",), "no prompt given"),
        (("run", "  "), "no prompt given"),
        (("run", "hi", "--cwd", "/no/such/folder"), "the folder /no/such/folder does not exist"),
        (("run", "hi", "--colour"), "--colour"),
        (("frobnicate",), "'frobnicate'"),
    ],
)
def test_bad_usage_is_told_and_exits_with_2(
    environment: dict[str, str], arguments: tuple[str, ...], problem: str
) -> None:
    done = run(*arguments, environment=environment)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: pygent-ls")
    assert problem in done.stderr


def test_a_file_is_no_folder_to_work_in(environment: dict[str, str], folder: Path) -> None:
    assert run("run", "hi", "--cwd", str(folder / "app.py"), environment=environment).returncode == 2


def test_a_reader_who_leaves_ends_the_turn_without_a_traceback(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, {"text": "word " * 100_000, "chunk": 5000})

    done = run_for_nobody("run", "talk", "--cwd", str(folder), "--model", model, environment=environment)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


# The end before the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_turn_and_ends_what_it_started(
    environment: dict[str, str], folder: Path, tmp_path: Path, lifeline: Lifeline, number: signal.Signals
) -> None:
    model = script(tmp_path, tool("shell", command=lifeline.command), {"text": "never said"})
    process = subprocess.Popen(
        [*COMMAND, "run", "wait", "--cwd", str(folder), "--model", model, "--yes"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lifeline.wait_until_up()

    process.send_signal(number)

    answer, status = process.communicate(timeout=WAIT_S)
    lifeline.wait_until_gone()
    assert (process.returncode, answer) == (130, "")
    assert status.endswith("Cancelled.\nCancelled · 120 tokens · $0.0000\n")
    assert "Traceback" not in status


def test_ctrl_c_on_the_terminal_cancels_the_turn(
    environment: dict[str, str], folder: Path, tmp_path: Path, lifeline: Lifeline
) -> None:
    model = script(tmp_path, tool("shell", command=lifeline.command), {"text": "never said"})

    with on_terminal(
        "run", "wait", "--cwd", str(folder), "--model", model, "--yes", environment=environment
    ) as terminal:
        lifeline.wait_until_up()
        terminal.types("\x03")

        assert terminal.ends() == 130
        lifeline.wait_until_gone()
        assert "Cancelled." in terminal.seen


def test_a_second_ctrl_c_waits_for_nothing_and_leaves_nothing_behind(
    environment: dict[str, str], folder: Path, tmp_path: Path, lifeline: Lifeline
) -> None:
    model = script(tmp_path, tool("shell", command=lifeline.stubborn_command), {"text": "never said"})

    with on_terminal(
        "run", "wait", "--cwd", str(folder), "--model", model, "--yes", environment=environment
    ) as terminal:
        lifeline.wait_until_up()
        terminal.types("\x03")
        terminal.sees("Stopping.")
        terminal.types("\x03")

        assert terminal.ends() == 130
        lifeline.wait_until_gone()
        assert "Traceback" not in terminal.seen


def test_ctrl_c_at_the_question_cancels_the_turn(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path, EDIT, {"text": "never said"})

    with on_terminal("run", "edit", "--cwd", str(folder), "--model", model, environment=environment) as terminal:
        terminal.sees(QUESTION)
        terminal.types("\x03")

        assert terminal.ends() == 130
        assert "never said" not in terminal.seen
        assert "Traceback" not in terminal.seen
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 1\n"


# Asked on the terminal


def test_the_terminal_shows_the_whole_question_in_colour_and_once_is_once(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    back = tool("edit_file", path="app.py", old="x = 2", new="x = 1")
    model = script(tmp_path, {"text": "I'll edit it.", **EDIT}, back, {"text": "done"})

    with on_terminal("run", "edit", "--cwd", str(folder), "--model", model, environment=environment) as terminal:
        terminal.sees(QUESTION)
        asked = terminal.seen
        terminal.types("o\n")
        terminal.sees(QUESTION, times=2)
        terminal.types("r\n")

        assert terminal.ends() == 0
    assert asked.index("I'll edit it.") < asked.index("● Edit app.py") < asked.index("Permission for edit_file")
    assert "\x1b[31m-x = 1\x1b[0m\n\x1b[32m+x = 2\x1b[0m\n" in asked
    assert "Applies to: edit_file(app.py), in this workspace, until you revoke it." in asked
    assert "not run: the user rejected it." in terminal.seen
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 2\n"


def test_all_edits_are_accepted_from_one_answer_on(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    more = tool("edit_file", path="app.py", old="x = 2", new="x = 3")
    model = script(tmp_path, EDIT, more, {"text": "done"})

    with on_terminal("run", "edit", "--cwd", str(folder), "--model", model, environment=environment) as terminal:
        terminal.sees(QUESTION)
        terminal.types("e\n")

        assert terminal.ends() == 0
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 3\n"


def test_a_rule_by_first_words_is_kept_and_covers_the_next_run(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    def model(target: str) -> str:
        return script(tmp_path, tool("shell", command=f"ls {target}", description="Look"), {"text": "done"})

    with on_terminal(
        "run", "ls", "--cwd", str(folder), "--model", model("app.py"), environment=environment
    ) as terminal:
        terminal.sees(QUESTION)
        assert terminal.seen.index("Look") < terminal.seen.index("    ls app.py") < terminal.seen.index("andboxed")
        terminal.types("p\n")
        terminal.sees("every command that starts with `ls`, in this workspace")
        terminal.types("a\n")
        assert terminal.ends() == 0
    done = run("run", "ls", "--cwd", str(folder), "--model", model("-a"), environment=environment)

    assert "Refused" not in done.stderr


def test_no_color_is_honoured_on_a_terminal(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    environment["NO_COLOR"] = "1"

    with on_terminal(
        "run", "edit", "--cwd", str(folder), "--model", script(tmp_path, EDIT, {"text": "no"}), environment=environment
    ) as terminal:
        terminal.sees(QUESTION)
        terminal.types("r\n")

        assert terminal.ends() == 0
        assert "\x1b" not in terminal.seen


def test_always_is_not_asked_again_and_lies_outside_the_workspace(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    def model() -> str:
        return script(tmp_path, tool("shell", command="echo again >> log"), {"text": "done"})

    with on_terminal("run", "log", "--cwd", str(folder), "--model", model(), environment=environment) as terminal:
        terminal.sees(QUESTION)
        terminal.types("a\n")
        assert terminal.ends() == 0
    done = run("run", "log", "--cwd", str(folder), "--model", model(), environment=environment)

    assert "Refused" not in done.stderr
    assert (folder / "log").read_text(encoding="utf-8") == "again\nagain\n"
    assert sorted(each.name for each in folder.iterdir()) == ["app.py", "log"]


def test_the_question_reaches_the_person_although_the_streams_are_redirected(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    """`echo PROMPT | pygent-ls run > answer.txt`: standard error is still the terminal."""
    model = script(tmp_path, EDIT, {"text": "done"})
    answer = tmp_path / "answer.txt"
    line = f'echo edit | "$@" > {answer}'

    with on_terminal(
        *(*COMMAND, "run", "--cwd", str(folder), "--model", model),
        environment=environment,
        command=("/bin/sh", "-c", line, "sh"),
    ) as terminal:
        terminal.sees(QUESTION)
        terminal.types("o\n")

        assert terminal.ends() == 0
    assert answer.read_text(encoding="utf-8") == "done\n"
    assert (folder / "app.py").read_text(encoding="utf-8") == "x = 2\n"


def test_a_terminal_without_a_prompt_is_bad_usage_and_does_not_wait(environment: dict[str, str]) -> None:
    with on_terminal("run", environment=environment) as terminal:
        assert terminal.ends() == 2
        assert "no prompt given" in terminal.seen


# The other commands


def test_doctor_says_which_model_and_why_and_that_a_turn_can_run(environment: dict[str, str], folder: Path) -> None:
    environment["PYGENT_MAX_ITERATIONS"] = "7"

    done = run("doctor", environment=environment, cwd=folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert "offline/rules" in done.stdout
    assert "PYGENT_MAX_ITERATIONS" in done.stdout


def test_doctor_exits_with_1_for_a_setting_that_does_not_count(environment: dict[str, str]) -> None:
    environment["PYGENT_MAX_ITERATIONS"] = "many"

    done = run("doctor", environment=environment)

    assert done.returncode == 1
    assert "many" in done.stdout


def test_doctor_reads_the_settings_of_the_folder_it_is_called_in(environment: dict[str, str], folder: Path) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text('mode = "plan"\n', encoding="utf-8")

    done = run("doctor", environment=environment, cwd=folder)

    assert str(folder / ".pygent" / "config.toml") in done.stdout


def test_doctor_looks_at_the_model_of_the_agent(environment: dict[str, str], folder: Path) -> None:
    environment["PYGENT_AGENT"] = "opus"

    done = run("doctor", environment=environment, cwd=folder)

    assert done.returncode == 1
    assert "set by the agent opus" in done.stdout
    assert "Set the environment variable ANTHROPIC_API_KEY" in done.stdout


def test_doctor_calls_the_model_if_it_is_told_to(environment: dict[str, str], folder: Path) -> None:
    with ModelServer([Step(text="ready"), Step(status=401, error="wrong")]) as server:
        environment |= {**server.env(), "PYGENT_MODEL": "openai/mock"}

        answered = run("doctor", "--call", environment=environment, cwd=folder)
        refused = run("doctor", "--call", environment=environment, cwd=folder)

    assert (answered.returncode, answered.stderr) == (0, "")
    assert "answered in " in answered.stdout
    assert refused.returncode == 1
    assert "did not accept the API key" in refused.stdout
    assert "sk-test" not in answered.stdout + refused.stdout


def test_schema_prints_json(environment: dict[str, str]) -> None:
    done = run("schema", environment=environment)

    assert done.returncode == 0
    assert "partialResultToken" in json.dumps(json.loads(done.stdout))


def test_the_version_is_told(environment: dict[str, str]) -> None:
    assert run("--version", environment=environment).stdout.startswith("pygent-ls 0.")


@pytest.mark.parametrize("arguments", [(), ("--stdio",)])
def test_without_a_command_it_speaks_lsp(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})

    done = run(*arguments, environment=environment, stdin=f"Content-Length: {len(body)}\r\n\r\n{body}")

    head, _, answer = done.stdout.partition("\n\n")
    assert head.startswith("Content-Length: ")
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "pygent-ls"
    assert done.returncode == 1, "the end of input without `shutdown` is no orderly end"


INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})


def served(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python code that serves, to the end of an input that holds `initialize` alone."""
    return subprocess.run(
        [sys.executable, "-c", code],
        input=f"Content-Length: {len(INITIALIZE)}\r\n\r\n{INITIALIZE}",
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )


def test_a_stray_print_does_not_reach_the_wire(environment: dict[str, str]) -> None:
    code = """
import os
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.lsp.daemon.stdio_server import serve

def noisy(options, folders):
    print("a stray print", flush=True)
    os.system("echo a stray child; cat")
    return read_settings(options, folders)

serve(noisy)
"""

    done = served(code, environment)

    head, _, answer = done.stdout.partition("\n\n")
    assert re.fullmatch(r"Content-Length: \d+", head)
    assert json.loads(answer)["id"] == 1
    assert done.stderr.splitlines() == ["a stray print", "a stray child"]


def test_initialize_is_answered_without_a_heavy_library(environment: dict[str, str]) -> None:
    code = """
import json, sys
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.lsp.daemon.stdio_server import serve

serve(read_settings)
json.dump(sorted(sys.modules), sys.stderr)
"""

    done = served(code, environment)

    assert '"serverInfo"' in done.stdout
    loaded = set(json.loads(done.stderr))
    assert "pygent_ls.editors.lsp.server" in loaded
    assert not loaded & {"litellm", "mcp", "openai", "httpx", "aiohttp", "tiktoken"}
