"""The git program, run for a tool: no pager, no prompt, no credential in what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygent_ls.agent.tool import ToolContext
from pygent_ls.agent.workspace import MISSING, ProcessResult, ProcessSpec, ReadOnly, Repository
from pygent_ls.errors import ToolError

READ_TIMEOUT_S = 50.0
"""Shorter than a tool's own limit, so that the model hears what took so long."""

WRITE_TIMEOUT_S = 600.0
"""Hooks may run a whole test suite, and a push may carry a large history."""

MAX_OUTPUT_CHARS = 400_000

QUIET: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C.UTF-8",
}
"""Nobody is there to type a password or a message, and a path is a name, not a pattern. Messages are in English."""

READ_ONLY: Mapping[str, str] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""Nothing is written, and nothing is fetched, which would start what the repository says."""

INERT: Mapping[str, str] = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "color.ui": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.submodule": "short",
    "log.showSignature": "false",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
}
"""Settings of the user's that would run a program, or change what is parsed; what a repository brings along of the
former counts for nothing anyway. External differences and textconv are switched off by options."""

_USER_INFO = re.compile(r"(?<=[a-z0-9+.-]://)([^\s/'\"<>]+)@", re.IGNORECASE)

_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


def without_secrets(text: str) -> str:
    """The text with `user:password@` and tokens in URLs masked; the user name of ssh is none."""

    def masked(found: re.Match[str]) -> str:
        scheme = text[max(found.start() - len("https://"), 0) : found.start()].lower()
        return "***@" if ":" in found[1] or scheme.endswith(("http://", "https://")) else found[0]

    return _USER_INFO.sub(masked, text)


def plain_name(value: str, what: str) -> str:
    """A branch, revision or remote as git may be given it. Raises `ToolError` for what would be an option."""
    if not value.strip():
        raise ToolError(f"`{what}` is empty; omit it, or give a name.")
    if value.startswith("-") or any(character < " " for character in value):
        raise ToolError(f"{value!r} is not a valid {what}: it starts with `-` or contains a control character.")
    return value


async def folder_of(context: ToolContext, path: str | None) -> Path:
    """The folder to run git in for a path of the model's: the first workspace folder where there is none."""
    workspace = context.workspace
    if path is None:
        return workspace.resolve(".")
    resolved = workspace.resolve(path, follow=False)
    if resolved in workspace.folders or (await workspace.status(resolved)).kind == "folder":
        return resolved
    for folder in resolved.parents:
        if folder in workspace.folders or await workspace.stamp(folder) != MISSING:
            return folder
    return resolved.parent


async def repository_of(context: ToolContext, path: str | None = None) -> Repository:
    """The repository that holds the path. Raises `ToolError` where there is none."""
    folder = await folder_of(context, path)
    repository = await context.processes.repositories.find(folder)
    if repository is None:
        name = context.workspace.shown(folder)
        where = "The workspace folder" if name == "." else name
        raise ToolError(f"{where} is not in a git repository. To create one, run `git init` with shell.")
    return repository


async def read_git(context: ToolContext, repository: Repository, *args: str, is_shown: bool = False) -> ProcessResult:
    """Run a command that only reads. Nothing of the repository's configuration acts, and where there is a sandbox,
    what the user's own configuration runs can write nothing. Output that is shown, and not parsed, comes without
    secrets."""
    async with context.processes.repositories.inert(repository) as variables:
        env = _environment({**READ_ONLY, **variables}, INERT)
        seen = (repository.top, repository.own, repository.common)
        read_only = ReadOnly(scratch=Path(variables["GIT_DIR"]), reads=seen)
        spec = _spec(context, repository.top, args, env, READ_TIMEOUT_S, read_only)
        return await (context.run_apart(spec) if is_shown else context.processes.run(spec))


async def shown_git(context: ToolContext, repository: Repository, *args: str) -> ProcessResult:
    """As `read_git`, for output that is shown."""
    return await read_git(context, repository, *args, is_shown=True)


async def write_git(
    context: ToolContext, repository: Repository, *args: str, settings: Mapping[str, str] | None = None
) -> ProcessResult:
    """Run a command as the user would: with their configuration and hooks. What it says is shown, without secrets.
    Raises `ToolError` on a timeout."""
    spec = _spec(context, repository.top, args, _environment({}, settings or {}), WRITE_TIMEOUT_S)
    return await context.run_apart(spec)


async def depend_on_references(context: ToolContext, repository: Repository) -> None:
    """The result holds while HEAD, the branches and the configuration stay; called before they are read."""
    files = (repository.own / name for name in ("HEAD", "config.worktree"))
    shared = (repository.common / name for name in ("config", "packed-refs", "shallow"))
    for file in (*files, *shared):
        context.dependencies[file] = await context.workspace.stamp(file)
    for folder in {repository.common / "refs", repository.common / "reftable", repository.own / "refs"}:
        await context.depend_on_tree(folder)


async def depend_on_files(context: ToolContext, repository: Repository, below: Path) -> None:
    """The result holds while the index and the files below a folder stay as well."""
    ignores = (repository.common / "info/exclude", repository.common / "info/attributes")
    for file in (repository.own / "index", *ignores, *(repository.own / name for name in _IN_PROGRESS)):
        context.dependencies[file] = await context.workspace.stamp(file)
    await context.depend_on_tree(below)
    if await context.workspace.stamp(repository.common / "modules") != MISSING:
        context.cacheable = False  # a submodule's HEAD is in none of these


async def in_progress(context: ToolContext, repository: Repository) -> list[str]:
    """What was begun and not finished, such as `a merge`."""
    found = [
        what for name, what in _IN_PROGRESS.items() if await context.workspace.stamp(repository.own / name) != MISSING
    ]
    return list(dict.fromkeys(found))


def failure(result: ProcessResult, what: str) -> str:
    """Why git failed, in its own words, without its advice on commands."""
    if result.timed_out:
        return f"{what}: stopped after {result.duration_s:.0f} s because it took too long."
    said = "\n".join(part for part in (result.stdout.strip(), result.stderr.strip()) if part)
    said = said or f"exit code {result.exit_code} without any output"
    lines = [line for line in said.splitlines() if not line.startswith("hint:")]
    return without_secrets(f"{what}: " + "\n".join(lines))


def _environment(more: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """As variables, since `-c` takes no name with an equals sign in it."""
    named = {"GIT_CONFIG_COUNT": str(len(settings))} if settings else {}
    for index, (key, value) in enumerate(settings.items()):
        named |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**QUIET, **more, **named}


def _spec(
    context: ToolContext,
    cwd: Path,
    args: Sequence[str],
    env: Mapping[str, str],
    timeout_s: float,
    read_only: ReadOnly | None = None,
) -> ProcessSpec:
    """How git is run. Raises `ToolError` where there is none."""
    program = context.processes.find("git")
    if program is None:
        raise ToolError("git is not installed on this machine. Tell the user to install it.")
    argv = (program, "--no-pager", *args)
    return ProcessSpec(
        argv=argv, cwd=cwd, timeout_s=timeout_s, env=env, max_output_chars=MAX_OUTPUT_CHARS, read_only=read_only
    )
