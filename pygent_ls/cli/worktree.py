"""`--worktree` of `run` and `chat`, and the command `pygent-ls worktree`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pygent_ls.workspace.git.session_worktrees import SessionWorktree, SessionWorktrees

MAX_NAMED = 50
"""Maximum number of files that a question names."""


def add_worktree(add_parser: Callable[..., Any]) -> None:
    """Add the command to `pygent-ls`."""
    import argparse

    command = add_parser(
        "worktree",
        help="list, merge and discard the worktrees of `run --worktree` and `chat --worktree`",
        description=(
            "Worktrees that `run --worktree NAME` and `chat --worktree NAME` have created, in the repository of the "
            "current folder."
        ),
    )
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--cwd", metavar="DIR", default=".", help="folder in the repository (default: current)")
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", parents=[where], help="list them, with what they have changed")
    merging = actions.add_parser(
        "merge",
        parents=[where],
        help="stage the changes of one in your work tree",
        description=(
            "Merge the branch of a worktree into yours. The changes are staged and not committed, so that you can "
            "review them. Your own changes stay; if they or your branch conflict, nothing is changed."
        ),
    )
    merging.add_argument("name", metavar="NAME")
    discarding = actions.add_parser("discard", parents=[where], help="delete one with its branch and all its changes")
    discarding.add_argument("name", metavar="NAME")
    discarding.add_argument("--yes", action="store_true", help="do not ask")
    command.set_defaults(refuse=command.error, act=worktree_command)


def worktree_command(given: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    from pygent_ls.errors import SnapshotError

    try:
        worktrees = _worktrees(Path(given.cwd))
        match given.action:
            case "list":
                return _list(worktrees)
            case "merge":
                return _merge(worktrees, given.name)
            case _:
                return _discard(worktrees, given.name, is_sure=given.yes)
    except (SnapshotError, OSError) as error:
        return _fail(str(error))


def entered(given: argparse.Namespace, folder: Path) -> tuple[Path, Callable[[], None]]:
    """Return the folder in the worktree of `--worktree`, which is created if it does not exist, and what ends its use.
    Exits with 2 if that is not possible."""
    from pygent_ls.errors import SnapshotError

    try:
        worktrees = _worktrees(folder)
        used = worktrees.open(given.worktree)
        inside = worktrees.folder_in(used, folder)
        use = ExitStack()
        use.enter_context(worktrees.using(used))
    except (SnapshotError, OSError) as error:
        given.refuse(f"--worktree: {error}")
        raise AssertionError from None
    return inside, lambda: _leave(worktrees, used, use)


def _worktrees(folder: Path) -> SessionWorktrees:
    from pygent_ls.workspace.git.session_worktrees import SessionWorktrees, data_folder
    from pygent_ls.workspace.processes.local_processes import LocalProcesses

    return SessionWorktrees(folder.resolve(), data_folder(), LocalProcesses().find("git"))


def _leave(worktrees: SessionWorktrees, used: SessionWorktree, use: ExitStack) -> None:
    """Delete an unchanged worktree that no other run uses; else say where the changes are."""
    from pygent_ls.errors import SnapshotError
    from pygent_ls.workspace.git.session_worktrees import UNCHANGED, WorktreeError

    use.close()
    try:
        try:
            is_gone = worktrees.discard(used, UNCHANGED) is None
        except WorktreeError:  # another run uses it
            is_gone = worktrees.state(used).is_unchanged
        if is_gone:
            return
        text = f"The changes are in the worktree {used.folder}. `pygent-ls worktree merge {used.name}` merges them."
    except (SnapshotError, OSError) as error:
        text = f"The worktree {used.folder} cannot be read: {error}"
    sys.stderr.write(f"{text}\n")


def _list(worktrees: SessionWorktrees) -> int:
    listed = worktrees.listed()
    for each in listed:
        sys.stdout.write(f"{each.name}\t{each.branch}\t{worktrees.state(each).summary}\t{each.folder}\n")
    if not listed:
        sys.stdout.write("There are no worktrees in this repository.\n")
    return 0


def _merge(worktrees: SessionWorktrees, name: str) -> int:
    from pygent_ls.workspace.git.session_worktrees import counted

    merged = worktrees.merge(worktrees.get(name))
    sys.stdout.write("".join(f"{each}\n" for each in merged.files))
    sys.stdout.write(
        f"Staged {counted(len(merged.files), 'changed file')} of {name}; nothing is committed. "
        f"`pygent-ls worktree discard {name}` deletes the worktree.\n"
    )
    return 0


def _discard(worktrees: SessionWorktrees, name: str, *, is_sure: bool) -> int:
    from pygent_ls.workspace.git.session_worktrees import UNCHANGED

    worktree = worktrees.get(name)
    if is_sure:
        worktrees.discard(worktree, None)
    elif state := worktrees.discard(worktree, UNCHANGED):
        sys.stdout.write(f"This deletes {state.summary} in {worktree.folder}:\n")
        sys.stdout.write("".join(f"  {each}\n" for each in state.names[:MAX_NAMED]))
        if len(state.names) > MAX_NAMED:
            sys.stdout.write(f"  and {len(state.names) - MAX_NAMED} more\n")
        if not sys.stdin.isatty():
            return _fail("Nothing was deleted. Use --yes to delete it without a question.")
        sys.stdout.write("Delete it? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return _fail("Nothing was deleted.")
        if worktrees.discard(worktree, state) is not None:
            return _fail("The worktree has just been changed, so it was not deleted.")
    sys.stdout.write(f"Deleted the worktree {name} and its branch {worktree.branch}.\n")
    return 0


def _fail(text: str) -> int:
    from pygent_ls.agent.display_text import visible

    sys.stderr.write(f"{visible(text)}\n")
    return 1
