"""docs/fleet.md: its examples are valid, and its tables hold what there is."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from pygent_ls.cli.fleet import add_fleet
from pygent_ls.fleet.results import ResultRow
from pygent_ls.fleet.tasks import TaskLine, read_tasks

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+(?![\w])")

PAGE = (Path(__file__).parents[1] / "docs" / "fleet.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.S)
    assert found
    return found[1]


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def fields_of(title: str) -> list[str]:
    cells = re.findall(r"^\| (`[^|]+`) \|", section(title), re.M)
    return sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell))


def test_each_command_line_of_the_page_is_one() -> None:
    parser = argparse.ArgumentParser()
    add_fleet(parser.add_subparsers().add_parser)
    lines = [line.partition("pygent-ls ")[2] for line in block("sh").splitlines()]

    assert len(lines) == 4
    for line in lines:
        assert parser.parse_args(shlex.split(line)).tasks.endswith(".jsonl")


def test_the_options_of_the_page_are_those_that_there_are() -> None:
    told = argparse.ArgumentParser()
    fleet = add_fleet(told.add_subparsers().add_parser)

    there_are = set(OPTION.findall(fleet.format_help().partition("\n\n")[2]))
    assert set(OPTION.findall(section("Options"))) == there_are - {"--help", "--allowedTools", "--disallowedTools"}


def test_the_tasks_of_the_page_are_valid_and_its_fields_are_those_that_there_are(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(block("json"), encoding="utf-8")

    assert [each.is_remote for each in read_tasks(file, None, tmp_path)] == [False, True, False]
    assert fields_of("Tasks") == sorted(TaskLine.__struct_fields__)
    assert fields_of("Results") == sorted(ResultRow.__struct_fields__)
