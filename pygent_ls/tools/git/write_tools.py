"""Tools that change a git repository as the user would, with the user's configuration, hooks and keys, but no
prompts.
"""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import ProcessResult, Repository
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.program import (
    failure,
    plain_name,
    read_git,
    repository_of,
    shown_git,
    without_secrets,
    write_git,
)

MAX_CHARS = 20_000
"""Maximum length of the output of git and hooks: enough for a linter's findings."""

Paths = Annotated[list[str], Meta(min_length=1, description="Files and folders.")]


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.GIT,
    kind="execute",
    title="git add {paths}",
    timeout_s=None,
    runs_programs=True,
)
async def git_add(context: ToolContext, paths: Paths) -> str:
    """Stage files and folders as they are now, including deleted ones.

    Raises:
        ToolError: the repository or a path does not exist, or .gitignore excludes it.
    """
    repository = await repository_of(context, paths[0])
    _done(await write_git(context, repository, "add", "--", *_absolute(context, paths)), "git add")
    return await _staged(context, repository)


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.GIT,
    kind="execute",
    title="git commit: {message}",
    timeout_s=None,
    runs_programs=True,
)
async def git_commit(
    context: ToolContext,
    message: Annotated[
        str,
        Meta(
            min_length=1,
            description="The commit message: the subject, optionally followed by an empty line and a body.",
        ),
    ],
    all: Annotated[bool, Meta(description="Stage every change of tracked files first.")] = False,  # noqa: FBT002
) -> str:
    """Commit the staged changes. The repository's hooks run, and may reject the commit.

    Raises:
        ToolError: there is nothing to commit, a hook refused, or git does not know who the user is.
    """
    repository = await repository_of(context)
    options = ("--all",) if all else ()
    said = _done(await write_git(context, repository, "commit", f"--message={message}", *options), "git commit")
    log = await shown_git(context, repository, "log", "--max-count=1", "--format=%h %s", "--shortstat")
    return f"Committed {' '.join(log.stdout.split())}.{_also(said)}"


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.GIT,
    kind="execute",
    title="git checkout {target} {paths}",
    timeout_s=None,
    runs_programs=True,
)
async def git_checkout(
    context: ToolContext,
    target: Annotated[str, Meta(description="A branch or commit; with `paths`, the revision to restore them from.")],
    create: Annotated[bool, Meta(description="Create the branch `target` from HEAD and switch to it.")] = False,  # noqa: FBT002
    paths: Annotated[list[str], Meta(description="Only restore these files and folders; their changes are lost.")]
    | None = None,
) -> str:
    """Switch to a branch, create one, or restore files as they are in `target`.

    Raises:
        ToolError: the branch does not exist, or changes that are not committed would be lost.
    """
    if create and paths:
        raise ToolError("`create` and `paths` cannot be combined: create the branch first, then restore the files.")
    repository = await repository_of(context, paths[0] if paths else None)
    name = plain_name(target, "target")
    if paths:
        _done(await write_git(context, repository, "checkout", name, "--", *_absolute(context, paths)), "git checkout")
        shown = ", ".join(context.workspace.shown(context.workspace.resolve(path, follow=False)) for path in paths)
        return f"Restored {shown} as in {name}."
    args = ("checkout", "-b", name, "--") if create else ("checkout", name, "--")
    result = await write_git(context, repository, *args)
    said = _done(result, "git checkout")
    return _cut(without_secrets(said)) or f"Switched to {name}."


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.GIT,
    kind="execute",
    title="git push {remote} {branch}",
    timeout_s=None,
    runs_programs=True,
)
async def git_push(
    context: ToolContext,
    remote: Annotated[str, Meta(description="Name of the remote (default: the branch's own remote).")] | None = None,
    branch: Annotated[str, Meta(description="The branch (default: the current one).")] | None = None,
) -> str:
    """Push a branch to a remote. Nothing is forced or deleted.

    Raises:
        ToolError: the remote refused, is not known, or wants a password.
    """
    repository = await repository_of(context)
    where = await _remote_and_branch(context, repository, remote, branch)
    return await _over_network(context, repository, "push", *where)


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.GIT,
    kind="execute",
    title="git pull {remote} {branch}",
    timeout_s=None,
    runs_programs=True,
)
async def git_pull(
    context: ToolContext,
    remote: Annotated[str, Meta(description="Name of the remote (default: the branch's own remote).")] | None = None,
    branch: Annotated[str, Meta(description="The remote's branch (default: the upstream).")] | None = None,
) -> str:
    """Fetch from a remote and integrate its branch into the current one, as the user has configured it.

    Raises:
        ToolError: there are conflicts, changes that are not committed are in the way, or the remote wants a password.
    """
    repository = await repository_of(context)
    where = await _remote_and_branch(context, repository, remote, branch)
    return await _over_network(context, repository, "pull", *where)


def _absolute(context: ToolContext, paths: list[str]) -> list[str]:
    """Return absolute paths without resolving links, since git stores links themselves."""
    return [str(context.workspace.resolve(path, follow=False)) for path in paths]


async def _staged(context: ToolContext, repository: Repository) -> str:
    """Summarize how the index now differs from HEAD."""
    result = await read_git(
        context, repository, "diff", "--cached", "--name-status", "--no-ext-diff", "--no-textconv", "-z", "--no-renames"
    )
    fields = result.stdout.split("\0")
    entries = [f"{kind} {name}" for kind, name in zip(fields[0::2], fields[1::2], strict=False)]
    return _cut("Staged now:\n" + "\n".join(entries)) if entries else "There are no changes since the last commit."


async def _remote_and_branch(
    context: ToolContext, repository: Repository, remote: str | None, branch: str | None
) -> tuple[str, ...]:
    """Return arguments for git. The remote must be a configured one: an address could be a command."""
    if branch is not None and (plain_name(branch, "branch").startswith("+") or ":" in branch):
        raise ToolError(f"{branch} is not a branch name. Forced pushes and deletions are left to the user.")
    if remote is None and branch is None:
        return ()
    known = (await read_git(context, repository, "remote")).stdout.split()
    name = remote or ("origin" if "origin" in known else known[0] if len(known) == 1 else "")
    if name not in known:
        listed = ", ".join(known) or "none"
        raise ToolError(f"There is no remote named {without_secrets(name)!r}. Available remotes: {listed}.")
    return (plain_name(name, "remote"),) if branch is None else (plain_name(name, "remote"), branch)


async def _over_network(context: ToolContext, repository: Repository, command: str, *where: str) -> str:
    configured = (await write_git(context, repository, "config", "--get", "core.sshCommand")).stdout.strip()
    settings = {} if (ssh := _without_prompt(configured)) is None else {"core.sshCommand": ssh}
    result = await write_git(context, repository, command, *where, settings=settings)
    said = _done(result, f"git {command}")
    return _cut(without_secrets(said)) or "Done."


def _without_prompt(command: str) -> str | None:
    """Return the ssh command with prompts disabled; None for another program, which has its own options."""
    try:
        words = shlex.split(command or "ssh")
    except ValueError:
        return None
    return f"{command or 'ssh'} -o BatchMode=yes" if words and PurePath(words[0]).name == "ssh" else None


def _done(result: ProcessResult, what: str) -> str:
    """Return both outputs. Raises `ToolError` if the command failed."""
    if result.exit_code or result.timed_out:
        raise ToolError(_cut(failure(result, f"{what} failed")))
    return "\n".join(part for part in (result.stdout.strip(), result.stderr.strip()) if part)


def _also(said: str) -> str:
    """Return the output of hooks, without git's own summary."""
    lines = [line for line in without_secrets(said).splitlines() if not line.startswith(("[", " "))]
    return "\n" + _cut("\n".join(lines)) if lines else ""


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    half = MAX_CHARS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
