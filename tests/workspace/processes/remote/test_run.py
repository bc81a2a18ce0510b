"""The whole program, whose settings name a place for commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.config.admin import NO_ADMIN
from pygent_ls.config.layers import load
from pygent_ls.config.sources import environment_layer
from tests.e2e.command_line import clean_environment, run, script, tool
from tests.workspace.processes.remote.places import Place


@pytest.fixture
def environment(place: Place, tmp_path: Path) -> dict[str, str]:
    return clean_environment(
        tmp_path, PATH=place.path, PYGENT_REMOTE_COMMANDS=place.commands, PYGENT_REMOTE_FOLDER=place.folder
    )


def test_commands_and_tests_run_there(environment: dict[str, str], place: Place, tmp_path: Path) -> None:
    (place.here / "Makefile").write_text("test:\n\techo tested\n")
    model = script(
        tmp_path,
        tool("shell", command="pwd; touch made; exit 3"),
        tool("run_tests"),
        {"text": "Done."},
    )

    done = run(
        "run",
        "go",
        "--model",
        model,
        "--yes",
        "--output-format",
        "stream-json",
        environment=environment,
        cwd=place.here,
    )

    assert (place.here / "made").exists()
    assert f"{place.there}\\n[exit code 3" in done.stdout
    assert "make test" in done.stdout


def test_doctor_says_where_commands_run(environment: dict[str, str], place: Place) -> None:
    done = run("doctor", environment=environment, cwd=place.here)

    section = done.stdout.split("\nCommands\n")[1].split("\n\n")[0].splitlines()
    where = "on box" if place.commands.startswith("ssh") else "in the container usual"
    assert [line.split(None, 1) for line in section] == [
        ["place", f"{where}, not in the sandbox"],
        ["folder", place.there],
    ]


def test_doctor_says_what_is_wrong(environment: dict[str, str], place: Place) -> None:
    missing = {**environment, "PYGENT_REMOTE_COMMANDS": place.commands + "-other"}

    problem = run("doctor", environment=missing, cwd=place.here).stdout.split("problem  ")[1].splitlines()[0]

    assert "does not know the container usual-other" in problem or "Could not resolve hostname box-other" in problem


@pytest.mark.parametrize(
    "value",
    ["-oProxyCommand=x", "ssh:-oProxyCommand=x", "docker:--privileged", "docker:", "ssh:a b", "vm:x", "docker:a;b"],
)
def test_no_place_is_an_option_or_something_else(value: str) -> None:
    loaded = load([environment_layer({"PYGENT_REMOTE_COMMANDS": value})], NO_ADMIN)

    assert loaded.settings.remote.commands == ""
    assert [each.kind for each in loaded.problems] == ["invalid"]
