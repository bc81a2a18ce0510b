"""docs/scripts.md: its examples run, and its tables hold what there is."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

from pygent_ls.cli.run import add_run
from pygent_ls.cli.run_options import add_options
from pygent_ls.editors.scripts.input_lines import SUBTYPES as REQUESTS
from pygent_ls.editors.scripts.results import SUBTYPES
from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment, script, tool

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+(?![\w])")

PAGE = (Path(__file__).parents[1] / "docs" / "scripts.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.S)
    assert found
    return found[1]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_run(made.add_subparsers().add_parser)
    return made


def test_each_command_line_of_the_page_is_one() -> None:
    lines = [line.partition("pygent-ls ")[2].partition(" > ")[0] for line in block("sh").splitlines()]

    assert len(lines) == 5
    for line in lines:
        assert parser().parse_args(shlex.split(line)).prompt


def test_the_options_of_the_page_are_those_that_there_are() -> None:
    table = PAGE.partition("## Options")[2].partition("\n## ")[0]
    told = argparse.ArgumentParser()
    add_options(told)

    there_are = set(OPTION.findall(told.format_help().partition("\n\n")[2]))
    assert set(OPTION.findall(table)) == there_are - {"--help", "--verbose"}


def test_the_page_names_every_way_to_end_and_every_request() -> None:
    words = {*SUBTYPES.values(), *SUBTYPES, *REQUESTS}

    assert {each for each in words if f"`{each}`" not in PAGE} == set()


def test_the_program_of_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "w").mkdir()
    model = script(
        tmp_path,
        {"text": "I write it.", **tool("create_file", path="NOTES.md", content="All is well.\n")},
        tool("create_file", path="more.md", content="And more.\n"),
        {"text": "Done."},
    )
    command = (*COMMAND, "run", "--cwd", str(tmp_path / "w"), "--model", model)

    done = subprocess.run(
        [sys.executable, "-c", block("python"), *command],
        env=clean_environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("I write it.\nDone.\nsuccess 3\n", 0), done.stderr
    assert [each.name for each in (tmp_path / "w").iterdir()] == ["NOTES.md"]
