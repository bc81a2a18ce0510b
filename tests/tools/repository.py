"""A real git repository for the git tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.tools.tool_bench import Bench


def git(folder: Path, *args: str) -> str:
    """Run git as a user of a fresh machine would."""
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
        "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
    }
    done = subprocess.run(["git", *args], cwd=folder, env=env, check=True, capture_output=True, text=True, timeout=20)
    return done.stdout


def make_repository(folder: Path) -> None:
    """An empty repository on `main`, with somebody to commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "config", "commit.gpgSign", "false")


def committed_project(folder: Path) -> Path:
    """A new repository with a file at the top and one in a folder, both committed; its path without links."""
    made = folder.resolve()
    (made / "part").mkdir(parents=True)
    make_repository(made)
    (made / "app.py").write_text("x = 1\n")
    (made / "part" / "part.py").write_text("y = 1\n")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "-m", "start")
    return made


def commit_all(bench: Bench, message: str) -> None:
    """Commit all that there is."""
    git(bench.folder, "add", "--all")
    git(bench.folder, "commit", "--quiet", "-m", message)
