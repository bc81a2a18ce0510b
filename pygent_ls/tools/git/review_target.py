"""What a diff for a model is about: uncommitted changes, a branch, a commit, or a range of commits."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pygent_ls.agent.ports.processes import Repository
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.program import plain_name, read_git

TargetKind = Literal["uncommitted", "base", "commit", "range"]

State = Literal["commit", "index", "disk", "editor"]
"""State of the files after the change: of a commit, of the index, on the disk, or with unsaved documents."""


class ReviewTarget(Struct, frozen=True, kw_only=True):
    """Two states of the files, and the change from one to the other."""

    title: str
    """The target in words, such as `the changes since main`."""
    old: str
    """Commit or tree of the state before."""
    new: str | None = None
    """Commit of the state after; None unless that is a commit."""
    state: State = "editor"

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments with which git compares the states, without unsaved documents."""
        if self.new is not None:
            return (self.old, self.new)
        return ("--cached", self.old) if self.state == "index" else (self.old,)

    @property
    def revision(self) -> str:
        """Revision with which `git_diff` shows the committed part of the change."""
        return self.old if self.new is None else f"{self.old}..{self.new}"


async def target_of(context: ToolContext, repository: Repository, kind: TargetKind | None, name: str) -> ReviewTarget:
    """Return the target with this name; without `kind`, the name shows it. Raises `ToolError`."""
    if kind == "uncommitted" or not name:
        return ReviewTarget(title="the uncommitted changes", old=await _head(context, repository))
    plain_name(name, "branch or commit")
    if kind is None and ".." in name:
        return await _range(context, repository, name)
    commit = await _commit(context, repository, name)
    if kind == "commit" or (kind is None and not await _is_branch(context, repository, name)):
        parent = await _found(context, repository, f"{commit}^1^{{commit}}")
        old = parent or await _empty_tree(context, repository)
        return ReviewTarget(title=f"the commit {name}", old=old, new=commit, state="commit")
    base = await read_git(context, repository, "merge-base", "HEAD", commit)
    if base.exit_code:
        raise ToolError(f"HEAD and {name} have no common commit, so there is nothing to compare with.")
    return ReviewTarget(title=f"the changes since {name}", old=base.stdout.strip())


async def _range(context: ToolContext, repository: Repository, name: str) -> ReviewTarget:
    is_symmetric = "..." in name
    first, _, last = name.partition("..." if is_symmetric else "..")
    old = await _commit(context, repository, plain_name(first or "HEAD", "revision"))
    new = await _commit(context, repository, plain_name(last or "HEAD", "revision"))
    if is_symmetric:
        base = await read_git(context, repository, "merge-base", old, new)
        if base.exit_code:
            raise ToolError(f"The two sides of {name} have no common commit.")
        old = base.stdout.strip()
    return ReviewTarget(title=f"the commits {name}", old=old, new=new, state="commit")


async def _head(context: ToolContext, repository: Repository) -> str:
    return await _found(context, repository, "HEAD^{commit}") or await _empty_tree(context, repository)


async def _commit(context: ToolContext, repository: Repository, name: str) -> str:
    found = await _found(context, repository, f"{name}^{{commit}}")
    if not found:
        raise ToolError(f"There is no branch or commit {name!r} in this repository.")
    return found


async def _found(context: ToolContext, repository: Repository, revision: str) -> str:
    """Return the object's full name; empty if it does not exist."""
    result = await read_git(context, repository, "rev-parse", "--verify", "--quiet", "--end-of-options", revision)
    return "" if result.exit_code else result.stdout.strip()


async def _is_branch(context: ToolContext, repository: Repository, name: str) -> bool:
    """Return whether the name is that of a branch or tag, with which the current state is compared."""
    if name in ("HEAD", "@"):
        return False
    result = await read_git(
        context, repository, "rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", name
    )
    return result.exit_code == 0 and result.stdout.strip().startswith("refs/")


async def _empty_tree(context: ToolContext, repository: Repository) -> str:
    return (await read_git(context, repository, "hash-object", "-t", "tree", "/dev/null")).stdout.strip()


async def commit_target(context: ToolContext, repository: Repository) -> ReviewTarget:
    """Return what the next commit would contain: the staged changes, or all changes if nothing is staged."""
    old = await _head(context, repository)
    options = ("--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    staged = await read_git(context, repository, "diff", "--cached", *options, old)
    if staged.exit_code == 1:
        return ReviewTarget(title="the staged changes", old=old, state="index")
    return ReviewTarget(title="all changes", old=old, state="disk")
