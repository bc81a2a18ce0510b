"""Tools that read a git repository without running anything from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import ProcessResult, Repository
from pygent_ls.agent.rules.read_rules import left_out
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.changes import changed_and_shown
from pygent_ls.tools.git.program import (
    depend_on_files,
    depend_on_references,
    failure,
    in_progress,
    plain_name,
    read_git,
    repository_of,
    shown_git,
    without_secrets,
)

MAX_ENTRIES = 300
"""Maximum number of paths in a list of a status, and of branches: some 3,000 tokens."""

MAX_DIFF_CHARS = 36_000
"""Maximum length of a diff: with its notes it stays below the 40,000 characters shown to the model by default."""

_CHANGES = {
    "M": "modified",
    "T": "type changed",
    "A": "new",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
}

_CONFLICTS = {
    "DD": "deleted by both",
    "AU": "added by us",
    "UD": "deleted by them",
    "UA": "added by them",
    "DU": "deleted by us",
    "AA": "added by both",
    "UU": "changed by both",
}


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.GIT,
    kind="read",
    title="git status",
    read_only=True,
    ttl_s=5,
    runs_programs=True,
)
async def git_status(context: ToolContext) -> str:
    """Show the branch and which files are staged, changed, in conflict or untracked, below the workspace folder.

    Raises:
        ToolError: the workspace folder is not in a git repository, or git is missing.
    """
    repository, folder = await repository_of(context), context.workspace.resolve(".")
    await depend_on_references(context, repository)
    await depend_on_files(context, repository, folder)
    result = await read_git(
        context,
        repository,
        *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"),
        *("--", str(folder)),
    )
    text = _answered(result, "git status")
    status = _Status.of(text, lambda name: context.workspace.shown(repository.top / name))
    lines = [
        status.branch,
        *(f"{what.capitalize()} is in progress." for what in await in_progress(context, repository)),
    ]
    for heading, entries in status.lists():
        lines += ["", f"{heading}:", *entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"[{len(entries) - MAX_ENTRIES} more left out]")
    if len(lines) == 1:
        lines.append("Nothing to commit; the files match the last commit.")
    return without_secrets("\n".join(lines))


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.GIT,
    kind="read",
    title="git diff {revision} {path}",
    read_only=True,
    ttl_s=5,
    runs_programs=True,
)
async def git_diff(
    context: ToolContext,
    path: Annotated[str, Meta(description="A file or folder (default: the workspace folder).")] | None = None,
    staged: Annotated[bool, Meta(description="Show staged changes instead of unstaged ones.")] = False,  # noqa: FBT002
    revision: Annotated[str, Meta(description="Compare with this commit or branch, or a range such as main..topic.")]
    | None = None,
) -> str:
    """Show changes as a unified diff: the working files against the index, unless `staged` or `revision` is given.

    Untracked files are not part of a diff; git_status lists them.

    Raises:
        ToolError: the repository or the revision does not exist.
    """
    below = context.workspace.resolve(path or ".", follow=False)
    repository = await repository_of(context, path)
    await depend_on_references(context, repository)
    await depend_on_files(context, repository, below)
    against = (plain_name(revision, "revision"),) if revision is not None else ()
    options = (
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=dirty",
        *(("--no-renames",) if context.reading.rules else ()),  # a new name must not reveal protected content
        *_names_as_shown(context, repository, below),
    )
    cached = ("--cached",) if staged else ()
    shown = await changed_and_shown(context, repository, (*cached, "--end-of-options", *against), below)
    if not shown.paths:
        return "\n".join(["No changes, except in files that permission rules withhold.", *left_out(shown.n_withheld)])
    scope = ("--end-of-options", *against, "--", *shown.paths)
    text = _answered(await shown_git(context, repository, "diff", *options, *cached, *scope), "git diff")
    if not text.strip():
        which = "staged" if staged else "unstaged" if revision is None else f"against {revision}"
        return f"No changes ({which}). Untracked files are not part of a diff; git_status lists them."
    text = text.rstrip("\n")
    if len(text) > MAX_DIFF_CHARS:
        counts = _answered(
            await shown_git(context, repository, "diff", "--stat=100", *options, *cached, *scope), "git diff"
        )
        text = _cut(text, counts).rstrip("\n")
    return without_secrets("\n".join([text, *left_out(shown.n_withheld)]))


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.GIT,
    kind="read",
    title="git branch",
    read_only=True,
    ttl_s=10,
    runs_programs=True,
)
async def git_branch(context: ToolContext) -> str:
    """List branches, newest first, with their upstreams and last commits; `*` marks the current one.

    Raises:
        ToolError: the workspace folder is not in a git repository, or git is missing.
    """
    repository = await repository_of(context)
    await depend_on_references(context, repository)
    form = "%(HEAD) %(refname)%00%(objectname:short)%00%(upstream:short)%00%(upstream:track)%00%(contents:subject)"
    result = await shown_git(
        context, repository, "for-each-ref", "--sort=-committerdate", f"--format={form}", "refs/heads", "refs/remotes"
    )
    entries = [_branch(line) for line in _answered(result, "git branch").splitlines()]
    head = await read_git(context, repository, "symbolic-ref", "--quiet", "--short", "HEAD")
    lines = entries[:MAX_ENTRIES]
    if head.exit_code:
        commit = await read_git(context, repository, "rev-parse", "--short", "HEAD")
        lines.insert(0, f"* (no branch: HEAD is at {commit.stdout.strip()})")
    elif not any(line.startswith("*") for line in lines):
        lines.insert(0, f"* {head.stdout.strip()} (no commit yet)")
    if len(entries) > MAX_ENTRIES:
        lines.append(f"[{len(entries) - MAX_ENTRIES} older branches left out]")
    return without_secrets("\n".join(lines))


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.GIT,
    kind="read",
    title="git log {revision} {path}",
    read_only=True,
    ttl_s=60,
    runs_programs=True,
)
async def git_log(
    context: ToolContext,
    path: Annotated[str, Meta(description="Only commits that change this file or folder.")] | None = None,
    max_count: Annotated[int, Meta(ge=1, le=500, description="Maximum number of commits.")] = 20,
    revision: Annotated[str, Meta(description="The revision to start from, or a range (default: HEAD).")] | None = None,
) -> str:
    """List commits, newest first: hash, date, author and subject.

    Raises:
        ToolError: the repository or the revision does not exist.
    """
    repository = await repository_of(context, path)
    await depend_on_references(context, repository)
    start = (plain_name(revision, "revision"),) if revision is not None else ()
    scope = ("--", str(context.workspace.resolve(path, follow=False))) if path is not None else ("--",)
    form = "--format=%h %ad %an: %s%d"
    options = ("log", f"--max-count={max_count + 1}", form, "--date=short", "--no-show-signature", "--no-ext-diff")
    result = await shown_git(context, repository, *options, "--end-of-options", *start, *scope)
    if result.exit_code and "does not have any commits yet" in result.stderr:
        return "There are no commits yet."
    lines = _answered(result, "git log").splitlines()
    if not lines:
        return "No commits" + (f" change {context.workspace.shown(context.workspace.resolve(path))}." if path else ".")
    if len(lines) > max_count:
        lines[max_count:] = [f"[the newest {max_count}; there are more: raise max_count, or name a path]"]
    return without_secrets("\n".join(lines))


def _answered(result: ProcessResult, what: str) -> str:
    if result.exit_code:
        raise ToolError(failure(result, f"{what} failed"))
    return result.stdout


# Status


class _Status(Struct):
    branch: str = ""
    conflicts: list[str] = field(default_factory=list[str])
    staged: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    untracked: list[str] = field(default_factory=list[str])

    def lists(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the non-empty lists of paths, each with its heading."""
        headed = {
            "In conflict": self.conflicts,
            "Staged": self.staged,
            "Not staged": self.changed,
            "Untracked": self.untracked,
        }
        yield from ((heading, entries) for heading, entries in headed.items() if entries)

    @classmethod
    def of(cls, text: str, shown: Callable[[str], str]) -> _Status:
        """Parse `status --porcelain=v2 --branch -z`."""
        status = cls()
        facts: dict[str, str] = {}
        fields = iter(text.split("\0"))
        for entry in fields:
            match entry[:2]:
                case "# ":
                    name, _, value = entry[2:].partition(" ")
                    facts[name] = value
                case "1 ":
                    status._add(entry[2:4], shown(entry.split(" ", 8)[8]))
                case "2 ":
                    new = entry.split(" ", 9)[9]
                    status._add(entry[2:4], f"{shown(next(fields))} → {shown(new)}")
                case "u ":
                    kind = _CONFLICTS.get(entry[2:4], "in conflict")
                    status.conflicts.append(f"  {shown(entry.split(' ', 10)[10])} ({kind})")
                case "? ":
                    slash = "/" if entry.endswith("/") else ""
                    status.untracked.append(f"  {shown(entry[2:])}{slash}")
                case _:
                    pass
        status.branch = _branch_line(facts)
        return status

    def _add(self, change: str, name: str) -> None:
        """Add a path with its state in the index and in the work tree; a dot means unchanged."""
        for letter, entries in zip(change, (self.staged, self.changed), strict=True):
            if letter != ".":
                entries.append(f"  {_CHANGES.get(letter, letter)}: {name}")


def _branch_line(facts: dict[str, str]) -> str:
    head = facts.get("branch.head", "")
    where = f"On branch {head}" if head != "(detached)" else f"HEAD is detached at {facts.get('branch.oid', '')[:10]}"
    if facts.get("branch.oid") == "(initial)":
        where += ", no commits yet"
    if upstream := facts.get("branch.upstream"):
        ahead, behind = facts["branch.ab"].split() if "branch.ab" in facts else ("", "")
        counts = ((ahead[1:], "ahead"), (behind[1:], "behind"))
        told = ", ".join(f"{count} {word}" for count, word in counts if count not in ("", "0"))
        if not ahead:
            where += f"; its upstream {upstream} is gone"
        else:
            where += f", {told} of {upstream}" if told else f", up to date with {upstream}"
    return where + "."


# Branches and differences


def _branch(line: str) -> str:
    """Format a line of `for-each-ref`."""
    name, commit, upstream, track, subject = line.split("\0", 4)
    short = name[2:].removeprefix("refs/heads/").removeprefix("refs/")
    follows = f" → {upstream}{' ' + track if track else ''}" if upstream else ""
    return f"{name[:2]}{short}{follows} {commit} {subject}"


def _names_as_shown(context: ToolContext, repository: Repository, below: Path) -> Sequence[str]:
    """Return options that make the names in a diff relative to the workspace folder, so that apply_patch accepts it."""
    folders = [folder for folder in context.workspace.folders if below.is_relative_to(folder)]
    if not folders or len(context.workspace.folders) > 1:
        return ()
    folder = folders[0]
    if repository.top == folder:
        return ("--src-prefix=a/", "--dst-prefix=b/")
    if folder.is_relative_to(repository.top):
        return (f"--relative={folder.relative_to(repository.top).as_posix()}/", "--src-prefix=a/", "--dst-prefix=b/")
    inside = repository.top.relative_to(folder).as_posix()
    return (f"--src-prefix=a/{inside}/", f"--dst-prefix=b/{inside}/")


def _cut(text: str, counts: str) -> str:
    """Return the beginning of a long diff, with the statistics of all of it."""
    end = text.rfind("\n", 0, MAX_DIFF_CHARS - min(len(counts), MAX_DIFF_CHARS // 2)) + 1
    left_out = len(text) - end
    note = f"[{left_out} characters left out: name a path. Summary of all changes:]"
    return f"{text[:end]}{note}\n{counts[: MAX_DIFF_CHARS // 2]}"
