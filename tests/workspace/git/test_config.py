"""Git's configuration files are read as git reads them, and only settings that act nowhere are taken over."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.workspace.git import config as git_config
from pygent_ls.workspace.git.config import Setting

PIECES = st.sampled_from(
    [
        *(
            "[core]",
            "[filter",
            ' "a b"',
            "]",
            '[x "q\\"\\\\y"]',
            "[a.B.c]",
            "[remote-2]",
            '[section "sub"]',
            "[]",
            "[x ]",
        ),
        *("key", "Key2", "-k", "= ", "=", "value", '"', '"quoted # text"', "\\", "\\\n", "\\n", "\\q", '\\"', "#", ";"),
        *(
            " ",
            "  ",
            "\t",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "# comment\n",
            "é",
            "a=b",
            "name = value\n",
            "bare\n",
            "\v",
            "\f",
        ),
    ]
)


def git_says(file: Path) -> list[Setting] | None:
    """Return what git reads in the file; None if git refuses it."""
    environment = {**os.environ, "GIT_DIR": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "config", "--file", str(file), "--no-includes", "--null", "--list"]
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, check=False, timeout=20)
    if done.returncode:
        return None
    entries = done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [Setting(key, value if found else None) for key, found, value in (each.partition("\n") for each in entries)]


@given(st.lists(PIECES, max_size=14).map("".join))
def test_whatever_is_read_is_what_git_reads(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("config") / "config"
    file.write_bytes(text.encode())
    try:
        read = git_config.read(file)
    except ValueError:
        return  # what is refused counts for nothing
    assert [(key, " ".join((value or "").split())) for key, value in read] == [
        (key, " ".join((value or "").split())) for key, value in git_says(file) or [Setting("git", "refuses it")]
    ] or (not read and not git_says(file))


NAMES = st.from_regex(r"\A[a-z][a-z0-9-]{0,8}\Z")
TEXTS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=20)


SUBSECTIONS = st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"]), max_size=9)


def _setting(section: str, subsection: str | None, name: str, value: str | None) -> Setting:
    return Setting(".".join(each for each in (section, subsection, name) if each is not None), value)


@given(st.lists(st.builds(_setting, NAMES, st.none() | SUBSECTIONS, NAMES, st.none() | TEXTS), max_size=6))
def test_what_is_written_is_what_git_reads(tmp_path_factory: pytest.TempPathFactory, settings: list[Setting]) -> None:
    file = tmp_path_factory.mktemp("config") / "config"
    file.write_text(git_config.rendered(settings), encoding="utf-8", newline="\n")
    assert git_says(file) == settings
    assert git_config.read(file) == settings


@pytest.mark.parametrize(
    "text",
    [
        '[core]\n\tbare = false\n\tignorecase\n; note\n# note\n[branch "a.b"]\n\tremote = origin # mine\n',
        '[remote "o"] url = "a # b" ; c\n\tfetch = +refs/heads/*:refs/remotes/o/*\n[Core]EditOr = vi\\\n  -n\n',
        '\ufeff[a]\r\n\tb = c\r\n[a "B\\"c"]\r\n\td = "x\\ty\\\\"  z\r\n',
        "",
    ],
)
def test_what_people_write_is_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    assert git_config.read(file) == git_says(file)


@pytest.mark.parametrize(
    "data", [b"[core]\n\tx = \0\n", b"[core\n", b"# padding\n" * 600_000], ids=["NUL", "cut", "huge"]
)
def test_what_cannot_be_known_whole_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "config"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=r"contains a NUL|has a syntax error in line|is larger than 5 MB"):
        git_config.read(file)
