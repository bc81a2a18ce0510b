"""`pygent-ls chat` on a real pseudo terminal: the person types, and sees what a terminal shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pygent_ls.editors.terminal.line_editor import PAUSE_S
from tests.e2e.command_line import OnTerminal, clean_environment, on_terminal, run, script, tool
from tests.e2e.test_setup import of_mistral
from tests.llm.setup.local_servers import nowhere
from tests.model_server import ModelServer, Received, Step

QUIET_S = PAUSE_S + 0.1
"""Time without a key in front of one that answers."""

TAKEN_S = 10.0
"""Wait before a key is pressed again."""

READS_KEYS = "\x1b[?2004h"
"""Told to the terminal when keys are read one by one: bracketed paste is on."""

READS_NO_KEYS = "\x1b[?2004l"
"""Told to the terminal when a prompt or a question is over."""

EDIT = tool("edit_file", path="notes.txt", old="water", new="feed")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "notes.txt").write_text("water the plants\n")
    return made


@contextmanager
def chat(folder: Path, home: Path, *arguments: str, **variables: str) -> Generator[OnTerminal]:
    """A chat whose prompt is on the screen. Its terminal does not tell where its cursor is."""
    environment = clean_environment(home, PROMPT_TOOLKIT_NO_CPR="1", **variables)
    with on_terminal("chat", "--cwd", str(folder), *arguments, environment=environment, columns=100) as terminal:
        terminal.sees("Ctrl-D leaves")
        terminal.sees(READS_KEYS)
        yield terminal


def chooses(terminal: OnTerminal, key: str, title: str) -> None:
    """Mark a choice, and take it. A key that came too soon behind another marks nothing, so it is pressed again."""
    terminal.sees(title)
    for _ in range(20):
        terminal.shows("\0", QUIET_S)
        terminal.forget()
        terminal.types(key)
        if terminal.shows("Enter: this", TAKEN_S):
            terminal.types("\r")
            if terminal.shows(READS_NO_KEYS, TAKEN_S):
                return
    raise AssertionError(f"{key} was not taken; the screen shows:\n{terminal.seen}")


def leaves(terminal: OnTerminal) -> int:
    """Press Ctrl-D; the exit code of the chat."""
    terminal.types("\x04")
    return terminal.ends()


def test_the_terminal_is_left_as_it_was_if_a_question_is_open_in_the_end(folder: Path, home: Path) -> None:
    with chat(folder, home, "--model", script(home, EDIT)) as terminal:
        terminal.types("edit\r")
        terminal.sees("A number or letter, then Enter")
        os.kill(terminal.process.pid, signal.SIGTERM)
        terminal.ends()
        assert terminal.echoes()


def test_who_answers_in_their_own_words_is_not_shown_the_choices_again(folder: Path, home: Path) -> None:
    asks = tool("ask_user", question="Which colour?", choices=[{"title": "Red"}, {"title": "Blue"}])
    with chat(folder, home, "--model", script(home, asks, {"text": "Noted."})) as terminal:
        terminal.types("paint it\r")
        chooses(terminal, "w", "Answer in your own words")
        terminal.sees("Your answer")
        terminal.types("a dark green\r")
        terminal.sees("Noted.")
        assert "  1. Red\n  2. Blue\n" not in terminal.seen
        assert leaves(terminal) == 0


def test_without_a_model_the_first_prompt_offers_to_set_one_up(folder: Path, home: Path) -> None:
    with chat(folder, home, **nowhere()) as terminal:
        terminal.types("hello\r")
        terminal.sees("Set one up now?")
        chooses(terminal, "2", "Not now")
        terminal.sees("No model is set up yet, so nothing was done.")

        terminal.types("/help\r")
        terminal.sees("/compact")
        assert leaves(terminal) == 0


def test_a_model_that_is_set_up_in_the_chat_answers_the_prompt(folder: Path, home: Path) -> None:
    def provider(request: Received, _: int) -> Step:
        return Step(text=f"you said: {request.texts('user')[-1][-40:]}")

    with ModelServer(provider) as server, chat(folder, home, **of_mistral(server)) as terminal:
        terminal.types("hello\r")
        terminal.sees("Set one up now?")
        chooses(terminal, "1", "Set up a model")
        chooses(terminal, "1", "Enter an API key")
        terminal.sees("A number or a name")
        terminal.types("mistral\r")
        terminal.sees("API key for mistral")
        terminal.sees("Your answer")
        terminal.forget()
        terminal.types("any-key\r")
        terminal.sees("mistral-medium-latest")
        terminal.sees("A number or a name")
        terminal.types("1\r")
        terminal.sees("you said: hello")
        assert "any-key" not in terminal.seen
        assert leaves(terminal) == 0


def test_prompts_are_answered_one_after_the_other_and_ctrl_d_leaves(folder: Path, home: Path) -> None:
    model = script(home, {"text": "A **bold** word.\n\n```python\nx = 1\n```\n"}, {"text": "And another."})
    with chat(folder, home, "--model", model) as terminal:
        terminal.types("first\r")
        terminal.sees("bold")
        terminal.sees("Done")
        terminal.types("second\r")
        terminal.sees("And another.")
        assert leaves(terminal) == 0
        assert "**" not in terminal.seen
        assert "```" not in terminal.seen


def test_a_permission_shows_the_diff_and_is_answered_by_a_choice(folder: Path, home: Path) -> None:
    with chat(folder, home, "--model", script(home, EDIT, {"text": "Fed."})) as terminal:
        terminal.types("feed them\r")
        terminal.sees("-water the plants")
        terminal.sees("+feed the plants")
        chooses(terminal, "o", "Always reject")
        terminal.sees("Fed.")
        assert (folder / "notes.txt").read_text() == "feed the plants\n"
        assert leaves(terminal) == 0


def test_all_edits_are_accepted_from_one_answer_on(folder: Path, home: Path) -> None:
    more = tool("edit_file", path="notes.txt", old="feed", new="prune")
    with chat(folder, home, "--model", script(home, EDIT, more, {"text": "Pruned."})) as terminal:
        terminal.types("prune them\r")
        chooses(terminal, "e", "Always reject")
        terminal.sees("Pruned.")
        assert (folder / "notes.txt").read_text() == "prune the plants\n"
        assert leaves(terminal) == 0


def test_a_marked_choice_says_what_it_covers_and_may_cover_more(folder: Path, home: Path) -> None:
    call = tool("shell", command="ls notes.txt", description="Look at the notes")
    with chat(folder, home, "--model", script(home, call, {"text": "Seen."})) as terminal:
        terminal.types("look\r")
        terminal.sees("Look at the notes")
        chooses(terminal, "p", "every command that starts with `ls`")
        terminal.sees("this exact command")
        chooses(terminal, "s", "Always reject")
        terminal.sees("Seen.")
        assert leaves(terminal) == 0


def test_a_rejection_tells_the_model_what_to_do_instead(folder: Path, home: Path) -> None:
    with chat(folder, home, "--model", script(home, EDIT, {"text": "As you say."})) as terminal:
        terminal.types("feed them\r")
        chooses(terminal, "5", "Always reject")
        terminal.sees("What should it do instead?")
        terminal.types("leave the plants alone\r")
        terminal.sees("They said: leave the plants alone")
        terminal.sees("As you say.")
        assert (folder / "notes.txt").read_text() == "water the plants\n"


def test_words_that_are_typed_when_a_question_comes_answer_nothing(folder: Path, home: Path) -> None:
    with chat(folder, home, "--model", script(home, EDIT, {"text": "Fed."})) as terminal:
        terminal.types("feed them\r")
        terminal.sees("Always reject")
        terminal.types("so also allow rats\r" * 3)
        chooses(terminal, "r", "Always reject")
        terminal.sees("What should it do instead?")
        terminal.types("\r")
        terminal.sees("the user rejected it")
        assert (folder / "notes.txt").read_text() == "water the plants\n"


@contextmanager
def waiting_command(folder: Path, home: Path, *answers: dict[str, object]) -> Generator[tuple[OnTerminal, Path]]:
    """A chat in whose turn a command waits until somebody opens the pipe."""
    pipe = folder.parent / "pipe"
    os.mkfifo(pipe)
    model = script(home, tool("shell", command=f"echo begun; cat {pipe}"), *answers)
    with chat(folder, home, "--model", model, "--allowed-tools", "shell") as terminal:
        terminal.types("wait\r")
        terminal.sees("│ ")
        terminal.sees("begun", times=2)
        yield terminal, pipe


def test_the_end_of_a_command_that_failed_is_red(folder: Path, home: Path) -> None:
    model = script(home, tool("shell", command="echo seen; exit 3"), {"text": "It failed."})
    with chat(folder, home, "--model", model, "--allowed-tools", "shell") as terminal:
        terminal.types("run it\r")
        terminal.sees("It failed.")
        assert "\x1b[31m  [exit code 3" in terminal.seen


def test_what_is_sent_while_a_turn_runs_joins_it(folder: Path, home: Path) -> None:
    with waiting_command(folder, home, {"text": "I have heard you."}) as (terminal, pipe):
        terminal.types("and hurry\r")
        terminal.sees("The model reads it before its next step.")
        pipe.write_text("")
        terminal.sees("You: and hurry")
        terminal.sees("I have heard you.")


def test_a_prompt_that_is_being_written_when_a_question_comes_is_kept(folder: Path, home: Path) -> None:
    with waiting_command(folder, home, EDIT, {"text": "Fed."}, {"text": "Second answer."}) as (terminal, pipe):
        terminal.types("my next prompt")
        terminal.sees("my next prompt")
        pipe.write_text("")
        chooses(terminal, "o", "Always reject")
        terminal.sees("Fed.")
        terminal.types("\r")
        terminal.sees("Second answer.")
        sessions = run("sessions", "search", "my next prompt", environment=clean_environment(home))
        assert "my next prompt" in sessions.stdout


def test_ctrl_c_stops_the_turn_and_the_conversation_goes_on(folder: Path, home: Path) -> None:
    with waiting_command(folder, home, {"text": "Here again."}) as (terminal, _):
        terminal.types("\x03")
        terminal.sees("Cancelled.")
        terminal.types("go on\r")
        terminal.sees("Here again.")
        assert leaves(terminal) == 0


def test_an_interrupt_that_comes_as_a_signal_stops_the_turn_alone(folder: Path, home: Path) -> None:
    with waiting_command(folder, home, {"text": "Here again."}) as (terminal, _):
        os.kill(terminal.process.pid, signal.SIGINT)  # as a terminal does while output is written
        terminal.sees("Cancelled.")
        terminal.types("go on\r")
        terminal.sees("Here again.")


def test_the_terminal_takes_no_key_itself_while_output_is_written_or_between_two_prompts(
    folder: Path, home: Path
) -> None:
    lines = tool("shell", command="for n in $(seq 20); do echo line $n; done")
    answers = (lines, {"text": "".join(f"Word {n}.\n\n" for n in range(100))}) * 3
    with chat(folder, home, "--model", script(home, *answers), "--allowed-tools", "shell") as terminal:
        terminal.forget()
        for number in range(1, 4):
            terminal.types("again\r")
            terminal.sees("Word 99.", times=number)
            terminal.sees("Done", times=number)
        assert not terminal.has_echoed
        assert leaves(terminal) == 0


def test_leaving_while_a_turn_runs_cancels_it(folder: Path, home: Path) -> None:
    with waiting_command(folder, home) as (terminal, _):
        assert leaves(terminal) == 0
        assert "Cancelled." in terminal.seen


def test_at_a_limit_the_person_says_whether_the_turn_goes_on(folder: Path, home: Path) -> None:
    model = script(home, tool("read_file", path="notes.txt"), {"text": "Read it."})
    with chat(folder, home, "--model", model, "--max-turns", "1") as terminal:
        terminal.types("read\r")
        terminal.sees("The limit of 1 model calls per turn was reached.")
        chooses(terminal, "2", "Continue")
        terminal.sees("Read it.")


def test_a_run_asks_at_a_limit_on_its_terminal(folder: Path, home: Path) -> None:
    model = script(home, tool("read_file", path="notes.txt"), {"text": "Read it."})
    given = ("run", "--cwd", str(folder), "--model", model, "--max-turns", "1", "go")
    with on_terminal(*given, environment=clean_environment(home)) as terminal:
        terminal.sees("(Enter to cancel): ")
        assert terminal.seen.index("The limit of 1 model calls") < terminal.seen.index("(Enter to cancel)")
        terminal.types("continue\n")
        terminal.sees("Read it.")
        assert terminal.ends() == 0


def test_a_former_session_is_gone_on_with(folder: Path, home: Path) -> None:
    environment = clean_environment(home)
    run(
        "run",
        "--cwd",
        str(folder),
        "--model",
        script(home, {"text": "The answer was 42."}),
        "the question",
        environment=environment,
    )
    with chat(folder, home, "--model", script(home, {"text": "New words."})) as terminal:
        terminal.types("/resume\r")
        terminal.sees("the question")
        chooses(terminal, "1", "Which session do you want to continue?")
        terminal.sees("The answer was 42.")
        terminal.types("and now\r")
        terminal.sees("New words.")


def test_what_can_go_on_is_offered_while_a_command_is_typed(folder: Path, home: Path) -> None:
    with chat(folder, home, "--model", "offline/rules") as terminal:
        terminal.types("/res")
        terminal.sees("continue another session of this folder")
        terminal.types("\x03")
        terminal.types("look at @not")
        terminal.sees("notes.txt")


def test_several_lines_are_one_prompt(folder: Path, home: Path) -> None:
    with chat(folder, home, "--model", script(home, {"text": "Both."})) as terminal:
        terminal.types("one\x1b\rtwo\r")
        terminal.sees("Both.")
        found = run("sessions", "list", "--json", environment=clean_environment(home), cwd=folder)
        assert "one two" in found.stdout


def test_on_a_terminal_the_daemon_is_a_chat(folder: Path, home: Path) -> None:
    environment = clean_environment(home, PROMPT_TOOLKIT_NO_CPR="1", PYGENT_MODEL="offline/rules")
    with on_terminal(environment=environment, columns=200) as terminal:
        terminal.sees("pygent-ls is a language server")
        terminal.sees("Ctrl-D leaves")
        terminal.sees(READS_KEYS)
        assert leaves(terminal) == 0


def test_the_hook_of_the_end_is_told_why_each_session_ended(folder: Path, home: Path) -> None:
    told = folder.parent / "told"
    config = home / "config" / "pygent-ls" / "config.toml"
    config.parent.mkdir(parents=True)
    command = f"{sys.executable} -c 'import json, sys; print(json.load(sys.stdin)[\\\"reason\\\"])' >> {told}"
    config.write_text(f'[[hooks]]\nevent = "session_end"\ncommand = "{command}"\n')
    with chat(folder, home, "--model", script(home, {"text": "One."})) as terminal:
        terminal.types("first\r")
        terminal.sees("One.")
        terminal.sees("Done")
        terminal.types("/new\r")
        terminal.sees("Started a new session.")
        terminal.types("second\r")
        terminal.sees("One.", times=2)
        terminal.sees("Done", times=2)
        assert leaves(terminal) == 0

    assert told.read_text().split() == ["close", "exit"]


def test_without_a_terminal_there_is_no_chat(home: Path) -> None:
    done = run("chat", environment=clean_environment(home))

    assert done.returncode == 2
    assert "chat requires a terminal" in done.stderr
    assert "pygent-ls run" in done.stderr


def test_an_abbreviated_option_is_refused(home: Path) -> None:
    done = run("run", "--debug", "words", environment=clean_environment(home))

    assert (done.returncode, "--debug" in done.stderr) == (2, True)


def test_what_is_cut_off_by_head_ends_quietly(home: Path) -> None:
    line = f"{sys.executable} -m pygent_ls schema | head -1"
    done = subprocess.run(
        ["/bin/sh", "-c", line], env=clean_environment(home), capture_output=True, text=True, timeout=40, check=True
    )

    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize(("key", "asks"), [("i", True), ("e", False)])
def test_an_approved_plan_is_implemented_in_the_chosen_mode(folder: Path, home: Path, key: str, asks: bool) -> None:
    model = script(home, {"text": "Feed them."}, EDIT, {"text": "Fed."})
    with chat(folder, home, "--model", model, "--permission-mode", "plan") as terminal:
        terminal.types("what would you do?\r")
        chooses(terminal, key, "Keep planning")
        if asks:
            chooses(terminal, "o", "Always reject")
        terminal.sees("Fed.")
        assert (folder / "notes.txt").read_text() == "feed the plants\n"
        assert leaves(terminal) == 0


def test_a_plan_that_is_not_approved_stays_a_plan(folder: Path, home: Path) -> None:
    model = script(home, {"text": "Feed them."}, {"text": "Or prune them."})
    with chat(folder, home, "--model", model, "--permission-mode", "plan") as terminal:
        terminal.types("what would you do?\r")
        chooses(terminal, "k", "Keep planning")
        terminal.forget()  # the first question, so that the next key goes to the second
        terminal.types("and what else?\r")
        terminal.sees("Or prune them.")
        chooses(terminal, "k", "Keep planning")
        assert leaves(terminal) == 0
