"""The script over there, in the shells that may read it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.workspace.processes.remote.script import for_any_shell, script_argv
from tests.workspace.programs import LIMIT_S, runs

SHELLS = [("dash",), ("bash", "--posix"), ("bash",), ("/bin/busybox", "sh")]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=40)
PRINT = ("sh", "-c", 'printf "%s|" "$GIVEN" "$PWD" "$@"', "sh")

in_each_shell = pytest.mark.parametrize("interpreter", SHELLS, ids=" ".join)


def ended(argv: Sequence[str]) -> tuple[str, str]:
    """What it wrote and how it ended, with an input that ends once the script has said that the command has."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        argv, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        os.close(reading)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            errors = b""
            while b" ended " not in errors and (line := process.stderr.readline()):
                errors += line
        finally:
            os.close(writing)
        output, more = process.communicate(timeout=LIMIT_S)
    return output.decode(), (errors + more).decode()


@in_each_shell
@given(arguments=st.lists(TEXT), variable=TEXT, name=NAME)
def test_no_text_is_taken_for_a_command(
    interpreter: tuple[str, ...], tmp_path: Path, arguments: list[str], variable: str, name: str
) -> None:
    folder = tmp_path / "below"
    folder.mkdir(exist_ok=True)
    try:
        (folder / name).mkdir(exist_ok=True)
    except OSError:  # no name of a folder, such as one of too many bytes
        name = "."
    there = os.path.normpath(folder / name)
    argv = script_argv("id", (*PRINT, *arguments), there, {"GIVEN": variable}, merged=False, n_input=0)

    output, errors = ended([*interpreter, *argv[1:]])

    assert output == "".join(f"{each}|" for each in (variable, there, *arguments))
    assert errors == "id started\nid ended 0\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["below"]


@in_each_shell
@given(arguments=st.lists(TEXT))
def test_a_login_shell_passes_on_every_text(interpreter: tuple[str, ...], arguments: list[str]) -> None:
    argv = ("sh", "-c", 'for each; do printf "%s|" "$each"; done', "sh", *arguments)

    line = for_any_shell(argv)
    done = subprocess.run([*interpreter, "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)

    assert done.stdout.decode() == "".join(f"{each}|" for each in argv[4:])


def test_without_setsid_grep_and_proc_bash_ends_its_group(tmp_path: Path) -> None:
    """As on macOS, where sh is bash. The others come with a setsid."""
    program = shutil.which("bash")
    assert program is not None
    for name in ("env", "sh", "head", "sleep"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    argv = script_argv("id", ("sh", "-c", "sleep 1000 & echo $!"), "/", {}, merged=True, n_input=0)

    output, errors = ended(["env", "-i", f"PATH={tmp_path}", program, "--posix", *argv[1:]])

    assert errors.endswith("id ended 0\n")
    assert not runs(int(output))
