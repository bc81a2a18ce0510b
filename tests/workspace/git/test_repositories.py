"""Through a folder of the daemon's own, git says of a repository what it says of it by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from pygent_ls.agent.ports.processes import Repository
from pygent_ls.workspace.git.repositories import find_repository, inert

ASKED = (
    ("status", "--porcelain=v2", "--branch", "-z"),
    ("diff",),
    ("diff", "--cached"),
    ("log", "--oneline", "--all"),
    ("for-each-ref", "--format=%(refname) %(objectname) %(upstream:short) %(upstream:track)"),
    ("rev-parse", "HEAD", "HEAD@{0}", "HEAD@{1}"),
    ("remote",),
    ("ls-files", "-s"),
)


def git(folder: Path, *args: str, check: bool = True, variables: Mapping[str, str] | None = None) -> str:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ALLOW_PROTOCOL": "file",
        **{f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        "GIT_OPTIONAL_LOCKS": "0",
        **(variables or {}),
    }
    done = subprocess.run(["git", *args], cwd=folder, env=environment, capture_output=True, timeout=20, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.decode() + (done.stderr.decode() if done.returncode else "")


def start(folder: Path, *options: str) -> Path:
    """A repository with two commits and a change of each kind."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    for name in ("a.txt", "sub/b.txt", "deep/er/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", name)
    return folder


def change(folder: Path) -> Path:
    (folder / "a.txt").write_text("changed\n")
    (folder / "new.txt").write_text("new\n")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    return folder


def _linked(top: Path) -> Path:
    git(start(top / "main"), "worktree", "add", "--quiet", "-b", "topic", str(top / "linked"))
    return change(top / "linked")


def _detached_linked(top: Path) -> Path:
    git(_linked(top), "checkout", "--quiet", "--detach", "HEAD~1")
    return top / "linked"


def _of_work_trees(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "config", "extensions.worktreeConfig", "true")
    git(folder, "worktree", "add", "--quiet", "-b", "topic", str(top / "linked"))
    git(top / "linked", "sparse-checkout", "set", "sub")
    return change(top / "linked")


def _split(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "update-index", "--split-index")
    return change(folder)


def _sparse(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    return change(folder)


def _clone(*options: str) -> Callable[[Path], Path]:
    def make(top: Path) -> Path:
        git(top, "clone", "--quiet", *options, f"file://{start(top / 'main')}", str(top / "clone"))
        git(top / "clone", "commit", "--quiet", "--allow-empty", "-m", "ahead")
        return change(top / "clone")

    return make


def _shared(top: Path) -> Path:
    git(top, "clone", "--quiet", "--shared", str(start(top / "main")), str(top / "clone"))
    return change(top / "clone")


def _submodule(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "submodule", "--quiet", "add", f"file://{start(top / 'other')}", "module")
    git(folder, "commit", "--quiet", "-m", "module")
    return change(folder / "module")


def _around_a_submodule(top: Path) -> Path:
    return change(_submodule(top).parent)


def _packed(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "tag", "v1")
    git(folder, "pack-refs", "--all")
    git(folder, "gc", "--quiet")
    return change(folder)


def _in_conflict(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "checkout", "--quiet", "-b", "topic", "HEAD~1")
    (folder / "a.txt").write_text("theirs\n")
    git(folder, "commit", "--quiet", "-am", "theirs")
    git(folder, "checkout", "--quiet", "main")
    (folder / "a.txt").write_text("ours\n")
    git(folder, "commit", "--quiet", "-am", "ours")
    git(folder, "merge", "topic", check=False)
    return folder


def _with_rules(top: Path) -> Path:
    folder = start(top / "main")
    (folder / ".git/info/exclude").write_text("new.txt\n")
    (folder / ".git/info/attributes").write_text("a.txt -diff\n")
    git(folder, "config", "core.fileMode", "false")
    git(folder, "config", "core.autocrlf", "input")
    (folder / "sub/b.txt").chmod(0o755)
    return change(folder)


def _detached(top: Path) -> Path:
    folder = start(top / "main")
    git(folder, "checkout", "--quiet", "--detach", "HEAD~1")
    return change(folder)


def _head_is_a_link(top: Path) -> Path:
    folder = start(top / "main")
    (folder / ".git/HEAD").unlink()
    (folder / ".git/HEAD").symlink_to("refs/heads/main")
    return change(folder)


KINDS: Mapping[str, Callable[[Path], Path]] = MappingProxyType(
    {
        "plain": lambda top: change(start(top / "main")),
        "sha256": lambda top: change(start(top / "main", "--object-format=sha256")),
        "git folder elsewhere": lambda top: change(start(top / "main", f"--separate-git-dir={top / 'git'}")),
        "linked work tree": _linked,
        "detached linked work tree": _detached_linked,
        "configuration of a work tree": _of_work_trees,
        "split index": _split,
        "sparse index": _sparse,
        "clone": _clone(),
        "shallow clone": _clone("--depth=1"),
        "objects of another": _shared,
        "submodule": _submodule,
        "around a submodule": _around_a_submodule,
        "packed": _packed,
        "in conflict": _in_conflict,
        "with rules": _with_rules,
        "detached": _detached,
        "HEAD is a link": _head_is_a_link,
    }
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_repository_is_read_as_git_reads_it(tmp_path: Path, kind: str) -> None:
    folder = KINDS[kind](tmp_path.resolve())
    found = find_repository(folder / "sub")
    assert found is not None
    assert str(found.top) == git(folder, "rev-parse", "--show-toplevel").strip()
    assert str(found.own) == git(folder, "rev-parse", "--absolute-git-dir").strip()

    with inert(found) as variables:
        said = [git(folder, *asked, check=False, variables=variables) for asked in ASKED]

    assert said == [git(folder, *asked, check=False) for asked in ASKED]
    assert not Path(variables["GIT_DIR"]).exists()


def test_what_is_no_repository_is_none_and_one_above_is_found(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    assert find_repository(top) is None
    folder = start(top / "main")
    (folder / "sub" / ".git").mkdir()
    (folder / "deep" / ".git").write_text("gitdir: nowhere\n")
    for below in (folder / "sub", folder / "deep" / "er"):
        assert find_repository(below) == Repository(top=folder, own=folder / ".git", common=folder / ".git")


@pytest.mark.parametrize("name", ["HEAD", "config"])
def test_a_pipe_in_place_of_a_repositorys_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    top = start(tmp_path / "project")
    (top / ".git" / name).unlink()
    os.mkfifo(top / ".git" / name)
    found = find_repository(top)
    assert found is not None

    with pytest.raises((OSError, ValueError), match="not a regular file"), inert(found):
        pass


def test_a_pipe_that_should_lead_to_a_repository_leads_to_none(tmp_path: Path) -> None:
    top = start(tmp_path / "project")
    os.mkfifo(top / ".git" / "commondir")

    assert find_repository(top) is None
