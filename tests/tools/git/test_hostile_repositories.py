"""A repository made to run a program when it is looked at runs none: real git, real repositories."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import pytest

from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.read_tools import git_branch, git_diff, git_log, git_status
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.sandbox import Sandbox, SandboxOptions
from pygent_ls.workspace.snapshots.snapshots import Snapshots
from tests.tools.repository import commit_all, git, make_repository
from tests.tools.tool_bench import Bench

READERS: list[tuple[Tool, dict[str, object]]] = [
    (git_status, {}),
    (git_diff, {}),
    (git_diff, {"staged": True}),
    (git_diff, {"revision": "HEAD~1"}),
    (git_branch, {}),
    (git_log, {}),
    (git_log, {"path": "a.txt"}),
]

PADDING = "[padding]\n" + f"\tname = {'x' * 1_000}\n" * 300
"""On both sides more than what is kept of a program's output."""

KEYS = """
[core]
	fsmonitor = {trap}
	pager = {trap}
	editor = {trap}
	hooksPath = {hooks}
	sshCommand = {trap}
	gitProxy = {trap}
	askPass = {trap}
	alternateRefsCommand = {trap}
[pager]
	log = {trap}
	diff = {trap}
	status = {trap}
	branch = {trap}
[diff]
	external = {trap}
	submodule = diff
[diff "odd"]
	command = {trap}
	textconv = {trap}
	cachetextconv = true
[filter "odd"]
	clean = {trap}
	smudge = {trap}
	required = true
[filter "long"]
	process = {trap}
	required = true
[filter "lfs"]
	clean = git-lfs clean -- %f; {trap}
	process = {trap}
[filter "o=dd"]
	clean = {trap}
[merge "odd"]
	driver = {trap}
[alias]
	status = !{trap}
	diff = !{trap}
[log]
	showSignature = true
[gpg]
	program = {trap}
[gpg "ssh"]
	program = {trap}
[status]
	submoduleSummary = true
[interactive]
	diffFilter = {trap}
[sequence]
	editor = {trap}
[credential]
	helper = !{trap}
[uploadpack]
	packObjectsHook = {trap}
[extensions]
	partialClone = origin
[remote "origin"]
	url = ext::{trap}
	promisor = true
	uploadpack = {trap}
	vcs = {trap}
[trace2]
	eventTarget = {sprung}
[submodule]
	recurse = true
"""


class Trap:
    """A repository whose configuration names a program everywhere that git knows."""

    def __init__(self, bench: Bench, top: Path) -> None:
        self.bench = bench
        self.sprung = top / "sprung"
        self.program = top / "trap.sh"
        self.program.write_text(f"#!/bin/sh\ntouch {self.sprung}\necho SPRUNG\ncat\n")
        self.program.chmod(0o755)
        hooks = top / "hooks"
        hooks.mkdir()
        for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
            (hooks / hook).symlink_to(self.program)
        self.keys = KEYS.format(trap=self.program, hooks=hooks, sprung=self.sprung)
        make_repository(bench.folder)
        bench.write("a.txt", "alpha\n")
        commit_all(bench, "start")
        attributes = "a.txt diff=odd filter=odd\nlong.txt filter=long\nlfs.txt filter=lfs\nsub/* filter=o=dd\n"
        for name in ("a.txt", "long.txt", "lfs.txt", "sub/b.txt"):
            bench.write(name, "alpha\nbeta\n")
        bench.write(".gitattributes", attributes)
        commit_all(bench, "attributes")
        self.git = bench.folder / ".git"

    def arm(self) -> None:
        """Change the files, so that git has to look into them."""
        for name in ("a.txt", "long.txt", "lfs.txt", "sub/b.txt"):
            self.bench.write(name, "alpha\nBETA\n")

    def snaps(self) -> bool:
        """Whether git as the user runs it springs the trap."""
        for command in ("status", "diff"):
            with contextlib.suppress(subprocess.CalledProcessError):
                git(self.bench.folder, command)
        was_sprung = self.sprung.exists()
        self.sprung.unlink(missing_ok=True)
        return was_sprung


def _in_config(trap: Trap) -> None:
    with (trap.git / "config").open("a") as file:
        file.write(PADDING + trap.keys + PADDING)


def _before_all_else(trap: Trap) -> None:
    file = trap.git / "config"
    file.write_text(trap.keys + PADDING + file.read_text())


def _of_the_work_tree(trap: Trap) -> None:
    git(trap.bench.folder, "config", "extensions.worktreeConfig", "true")
    (trap.git / "config.worktree").write_text(PADDING + trap.keys + PADDING)


def _included(trap: Trap) -> None:
    (trap.bench.folder / "more.ini").write_text(PADDING + trap.keys + PADDING)
    with (trap.git / "config").open("a") as file:
        file.write(f"{PADDING}[include]\n\tpath = ../more.ini\n")


def _included_on_a_condition(trap: Trap) -> None:
    (trap.bench.folder / "more.ini").write_text(PADDING + trap.keys + PADDING)
    with (trap.git / "config").open("a") as file:
        file.write(f'{PADDING}[includeIf "onbranch:*"]\n\tpath = ../more.ini\n')


def _in_another_folder(trap: Trap) -> None:
    _in_config(trap)
    elsewhere = trap.bench.folder / "elsewhere"
    trap.git.rename(elsewhere)
    trap.git.write_text("gitdir: elsewhere\n")


def _with_a_common_folder(trap: Trap) -> None:
    elsewhere = trap.bench.folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("objects", "refs"):
        (trap.git / name).rename(elsewhere / name)
    (elsewhere / "config").write_text((trap.git / "config").read_text() + PADDING + trap.keys + PADDING)
    (trap.git / "config").unlink()
    (trap.git / "commondir").write_text("../elsewhere\n")


def _in_a_link(trap: Trap) -> None:
    _in_config(trap)
    trap.git.rename(trap.bench.folder / "elsewhere")
    trap.git.symlink_to("elsewhere")


ARMED: MappingProxyType[str, Callable[[Trap], None]] = MappingProxyType(
    {
        "amid padding": _in_config,
        "before padding": _before_all_else,
        "config.worktree": _of_the_work_tree,
        "included": _included,
        "included on a condition": _included_on_a_condition,
        "behind a .git file": _in_another_folder,
        "behind commondir": _with_a_common_folder,
        "behind a link": _in_a_link,
    }
)


def sandboxed(bench: Bench) -> LocalProcesses:
    return LocalProcesses(Sandbox(SandboxOptions(mode="auto"), lambda: [bench.folder]))


@pytest.fixture
def trap(bench: Bench, tmp_path: Path) -> Trap:
    return Trap(bench, tmp_path)


@pytest.mark.parametrize("where", ARMED)
@pytest.mark.parametrize("in_sandbox", [True, False], ids=["sandbox", "no sandbox"])
async def test_no_tool_that_reads_runs_what_a_repository_is_configured_to_run(
    trap: Trap, where: str, in_sandbox: bool
) -> None:
    trap.arm()
    ARMED[where](trap)
    assert trap.snaps()
    if in_sandbox:
        trap.bench.processes = sandboxed(trap.bench)
        assert (await trap.bench.processes.sandbox()).kind == "on"

    said = [await trap.bench.call(tool, **given) for tool, given in READERS]

    assert not trap.sprung.exists()
    assert "SPRUNG" not in "".join(said)
    assert "+BETA" in said[1]
    assert "attributes" in said[5]


@pytest.mark.parametrize("where", ARMED)
async def test_no_snapshot_runs_what_a_repository_is_configured_to_run(trap: Trap, where: str, tmp_path: Path) -> None:
    inner = trap.bench.folder / "vendor"
    inner.mkdir()
    make_repository(inner)
    (inner / ".git/config").write_text((inner / ".git/config").read_text() + PADDING + trap.keys + PADDING)
    (inner / ".gitattributes").write_text("* filter=odd diff=odd\n")
    (inner / "b.txt").write_text("beta\n")
    trap.arm()
    ARMED[where](trap)
    snapshots = Snapshots(tmp_path / "snapshots", lambda: LocalProcesses().find("git"), days=1)

    snapshot = await snapshots.take([trap.bench.folder], {})
    trap.bench.write("a.txt", "other\n")
    later = await snapshots.take([trap.bench.folder], {}, snapshot)

    assert trap.bench.folder / "a.txt" in {each.path for each in await snapshots.changes(snapshot, later)}
    assert not trap.sprung.exists()


async def test_a_repository_that_names_another_work_tree_is_not_read(trap: Trap, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    git(trap.bench.folder, "config", "core.worktree", str(tmp_path / "home"))
    with pytest.raises(ToolError, match="names another work tree"):
        await trap.bench.call(git_status)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nonsense", "huge"])
async def test_a_configuration_that_cannot_be_read_whole_is_an_error(trap: Trap, kind: str) -> None:
    config = trap.git / "config"
    config.unlink()
    match kind:
        case "pipe":
            os.mkfifo(config)
        case "device":
            config.symlink_to("/dev/zero")
        case "folder":
            config.mkdir()
        case "nonsense":
            config.write_text("[core\n")
        case _:
            config.write_text("# padding\n" * 600_000)
    for tool, given in READERS:
        with pytest.raises(ToolError, match="configuration"):
            await trap.bench.call(tool, **given)


async def test_what_the_user_configured_runs_in_the_sandbox_where_it_writes_nothing(
    trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    written = trap.bench.folder / "written"
    (home / ".gitconfig").write_text(f'[filter "odd"]\n\tclean = "touch {written} {trap.sprung}; tr a-z A-Z"\n')
    monkeypatch.setenv("HOME", str(home))
    trap.bench.processes = sandboxed(trap.bench)
    trap.arm()

    diff = await trap.bench.call(git_diff, path="a.txt")

    assert "+ALPHA" in diff
    assert not written.exists()
    assert not trap.sprung.exists()


@pytest.mark.parametrize("through", ["itself", "a link", "an include"])
async def test_a_configuration_of_the_user_that_a_command_can_write_does_not_count(
    trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    planted = trap.bench.write("gitconfig", trap.keys)
    mine = tmp_path / "gitconfig"
    if through == "a link":
        mine.symlink_to(planted)
    else:
        mine.write_text(f"[include]\n\tpath = {planted}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(planted if through == "itself" else mine))
    trap.arm()
    trap.bench.processes = LocalProcesses(Sandbox(SandboxOptions(mode="off"), lambda: [trap.bench.folder]))

    assert "+BETA" in await trap.bench.call(git_diff)
    assert not trap.sprung.exists()


async def test_no_object_is_fetched_to_show_a_difference(trap: Trap) -> None:
    _in_config(trap)
    blob = git(trap.bench.folder, "rev-parse", "HEAD:a.txt").strip()
    (trap.git / "objects" / blob[:2] / blob[2:]).unlink()
    trap.arm()
    with pytest.raises(ToolError, match="git diff failed"):
        await trap.bench.call(git_diff)
    assert not trap.sprung.exists()


async def test_a_linked_work_tree_is_read_as_git_reads_it(bench: Bench, tmp_path: Path) -> None:
    make_repository(bench.folder)
    bench.write("a.txt", "alpha\n")
    commit_all(bench, "start")
    linked = tmp_path / "linked"
    git(bench.folder, "worktree", "add", "--quiet", "-b", "topic", str(linked))
    (linked / "a.txt").write_text("beta\n")
    other = Bench(linked)

    for processes in (LocalProcesses(), sandboxed(other)):
        other.processes = processes
        assert await other.call(git_status) == "On branch topic.\n\nNot staged:\n  modified: a.txt"
        assert "+beta" in await other.call(git_diff, revision="HEAD@{0}")
        assert "start" in await other.call(git_log)
