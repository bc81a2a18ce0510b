"""What a person sees of a chat in a terminal of 60 columns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.neovim.terminal import Terminal
from tests.clients.speech import speech_settings, spoken
from tests.clients.waiting import WAIT_S
from tests.e2e.command_line import clean_environment, script, tool
from tests.model_server import ModelServer

HELP = """
/help: commands · Enter sends, Alt-Enter starts a new line ·
Ctrl-C stops a turn · Ctrl-D leaves
"""

COLUMNS, ROWS = 60, 40


@contextmanager
def chat(folder: Path, *answers: Mapping[str, Any], arguments: tuple[str, ...] = ()) -> Generator[Terminal]:
    """A chat with a model that gives these answers, once its prompt is on the screen."""
    home, project = folder / "home", folder / "project"
    home.mkdir(exist_ok=True)
    project.mkdir()
    (project / "notes.txt").write_text("water the plants\n")
    environment = clean_environment(
        home, TERM="screen-256color", SHELL=shutil.which("sh") or "/bin/sh", PYTHONPATH=str(Path.cwd())
    )
    environment.pop("TMUX", None)
    command = [sys.executable, "-m", "pygent_ls", "chat", "--model", script(home, *answers), *arguments]
    with ModelServer([]) as unused:
        found = Terminal(model=unused, socket=home / "tmux", environment=environment)
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        found._tmux("-f", os.devnull, "new-session", "-d", *size, "-c", str(project), *command)  # pyright: ignore[reportPrivateUsage]
        try:
            found.shows("Ctrl-D leaves", "\n>")
            yield found
        finally:
            subprocess.run(
                ["tmux", "-S", str(found.socket), "kill-server"], env=environment, timeout=WAIT_S, check=False
            )


def test_the_first_lines_break_between_words(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        assert HELP in terminal.screen


def test_the_line_below_the_prompt_shows_the_mode_beside_a_long_name_of_a_model(tmp_path: Path) -> None:
    with chat(tmp_path, {"text": "Yes."}) as terminal:
        terminal.keys("are you there?", "Enter")

        screen = terminal.shows("Yes.", "… · default · 120 tokens · ")

        assert screen.count("scripted:") == 2


def test_of_a_question_that_was_answered_only_the_answer_stays(tmp_path: Path) -> None:
    edit = tool("edit_file", path="notes.txt", old="water", new="feed")
    with chat(tmp_path, edit, {"text": "Fed."}) as terminal:
        terminal.keys("feed them", "Enter")
        terminal.shows("-water the plants", "[e] Accept all edits in this session")
        terminal.keys("Down")
        terminal.shows("❯ 1. [o] Allow once", "Applies to: this call only.")
        terminal.keys("Enter")

        screen = terminal.shows("Fed.", "Done")

        assert "\n+feed the plants\n  Allow once\n  edit notes.txt (+1 −1)\nFed.\n" in screen
        assert "[o]" not in screen


def test_what_the_model_thinks_is_whole_and_breaks_between_words(tmp_path: Path) -> None:
    thinking = "The user asks for a thing that takes more than one line of this terminal to say, and then some."
    with chat(tmp_path, {"thinking": thinking, "text": "Yes."}) as terminal:
        terminal.keys("think", "Enter")

        screen = terminal.shows("Yes.", "Done")

    wanted = (
        "\nThe user asks for a thing that takes more than one line of\nthis terminal to say, and then some.\nYes.\n"
    )
    assert wanted in screen


def test_output_that_ends_no_line_is_whole_when_the_command_ends(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    call = tool("shell", command=f"printf 'no end'; cat {pipe}")
    with chat(tmp_path, call, {"text": "Seen."}, arguments=("--allowed-tools", "shell")) as terminal:
        terminal.keys("run it", "Enter")
        terminal.shows("Ctrl-C stops", "printf")
        terminal.keys("typed")
        terminal.shows("> typed")
        pipe.write_text(" of it")

        screen = terminal.shows("Seen.", "> typed")

    assert "\n  │ no end of it\n" in screen


def test_a_spoken_prompt_is_answered_like_a_typed_one(tmp_path: Path) -> None:
    recording = spoken("run the tests", tmp_path)
    settings = tmp_path / "home" / "config" / "pygent-ls"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(speech_settings(recording))
    with chat(tmp_path, {"text": "They pass."}) as terminal:
        terminal.keys("/voice start", "Enter")
        terminal.shows("> run the tests", "They pass.", " · ●")
        terminal.keys("/voice stop", "Enter")
        terminal.shows("Voice input is off.")
