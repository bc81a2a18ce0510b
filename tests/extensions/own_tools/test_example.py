"""The example of a package with tools, installed and used."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.e2e.command_line import clean_environment, script

EXAMPLE = Path(__file__).parents[3] / "examples" / "word-tools"


def environment_with(package: Path, folder: Path) -> Path:
    """The Python of a new environment that has our packages, and this one installed."""
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "ours.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n{Path.cwd()}\n")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--quiet")
    run(sys.executable, "-m", "pip", "--python", str(python), "install", *offline, str(package))
    return python


def run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the example."""
    return environment_with(EXAMPLE, tmp_path_factory.mktemp("example") / "environment")


def used(python: Path, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run pygent-ls with the example in a project."""
    return subprocess.run(
        [str(python), "-m", "pygent_ls", *argv],
        env=clean_environment(folder.parent / "home"),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with fruit."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "fruit.txt").write_text("plum pear plum\n")
    return made


def test_the_tools_of_an_installed_package_are_used(python: Path, folder: Path, tmp_path: Path) -> None:
    calls = [
        {"name": "word_counts", "input": {"path": "fruit.txt", "most": 1}},
        {"name": "word_total", "input": {"path": "fruit.txt"}},
    ]
    model = script(tmp_path, {"tool_calls": calls}, {"text": "done"})
    options = ("--model", model, "--allowed-tools", "word_total", "--output-format", "stream-json")

    done = used(python, folder, "run", *options, "count")

    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"word_counts", "word_total"} <= set(lines[0]["tools"])
    results = [part["content"] for line in lines if line["type"] == "user" for part in line["message"]["content"]]
    assert results == ['{"plum": 2}', "3"]


def test_the_model_of_an_installed_package_calls_a_tool_and_answers(python: Path, folder: Path) -> None:
    done = used(python, folder, "run", "--model", "words/counter", "--allowed-tools", "word_total", "count fruit.txt")
    listed = used(python, folder, "run", "--model", "words/counter", "/model")

    assert (done.returncode, done.stdout) == (0, "Counting. \nIt has 3 words.\n"), done.stderr
    assert "words/counter" in listed.stdout
