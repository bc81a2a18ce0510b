"""Determines which changed files of a repository may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.ports.processes import Repository
from pygent_ls.agent.tools.tool import ToolContext, is_withheld
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.program import failure, read_git

MAX_PATHS_CHARS = 100_000
"""Maximum total length of file names passed as arguments to one program: systems accept only a few times that."""


class DiffScope(Struct, frozen=True, kw_only=True):
    """Scope of a diff."""

    paths: Sequence[str]
    """Files, or one folder, as git pathspecs; empty if nothing may be shown."""
    n_withheld: int = 0
    """Number of changed files that a rule protects from being read."""


async def changed_and_shown(
    context: ToolContext, repository: Repository, asked: Sequence[str], below: Path
) -> DiffScope:
    """Return the scope of a diff that may be shown; `asked` are the arguments that select it, ending with a revision.

    Raises `ToolError` for a revision that is not a commit: its files could have other names or no names.
    """
    if not context.reading.rules:
        return DiffScope(paths=(str(below),))
    revision = asked[-1] if asked[-1] != "--end-of-options" else ""
    for each in filter(None, re.split(r"\.{2,3}", revision)):
        wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{each}^{{commit}}")
        if (await read_git(context, repository, *wanted)).exit_code:
            raise ToolError(
                f"{each!r} is not a commit or branch. Permission rules withhold some files, so the revision must "
                "be one."
            )
    listed = ("diff", "--name-only", "--no-renames", "-z", "--ignore-submodules=dirty", "--no-ext-diff")
    result = await read_git(context, repository, *listed, *asked, "--", str(below))
    if result.exit_code:
        raise ToolError(failure(result, "git diff failed"))
    names = list(filter(None, result.stdout.split("\0")))
    withheld = [name for name in names if is_withheld(context, repository.top / name)]
    if not withheld and not is_withheld(context, below):
        return DiffScope(paths=(str(below),))
    kept = set(names) - set(withheld)
    paths = [name for name in names if name in kept and not holds_any(name, withheld)]
    if sum(map(len, paths)) > MAX_PATHS_CHARS:
        raise ToolError(f"{len(paths)} files changed, and permission rules withhold others. Name a folder as `path`.")
    return DiffScope(paths=paths, n_withheld=len(withheld))


def holds_any(name: str, withheld: Sequence[str]) -> bool:
    """Return whether a pathspec would also match withheld files, because a file has become a folder."""
    return any(each.startswith(f"{name}/") for each in withheld)
