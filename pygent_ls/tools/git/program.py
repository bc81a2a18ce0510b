"""Runs git for tools, without pager and prompts, and with credentials masked in its output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec, ReadOnly, Repository
from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError

READ_TIMEOUT_S = 50.0
"""Time limit, shorter than a tool's own, so that the model learns what took so long."""

WRITE_TIMEOUT_S = 600.0
"""Time limit for changes: hooks may run a whole test suite, and a push may carry a large history."""

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
"""Variables that disable prompts for passwords and messages, take paths literally, and select English messages."""

READ_ONLY: Mapping[str, str] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""Variables that prevent writes, and fetches, which would run commands from the repository."""

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
"""Overrides for user settings that would run a program or change parsed output; the repository's own such settings are
ignored anyway. External diffs and textconv are disabled by options.
"""

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
    """Mask `user:password@` and tokens in URLs; the user name of ssh is not a secret."""

    def masked(found: re.Match[str]) -> str:
        scheme = text[max(found.start() - len("https://"), 0) : found.start()].lower()
        return "***@" if ":" in found[1] or scheme.endswith(("http://", "https://")) else found[0]

    return _USER_INFO.sub(masked, text)


def plain_name(value: str, what: str) -> str:
    """Return a branch, revision or remote as an argument for git. Raises `ToolError` if it looks like an option."""
    if not value.strip():
        raise ToolError(f"`{what}` is empty; omit it, or give a name.")
    if value.startswith("-") or any(character < " " for character in value):
        raise ToolError(f"{value!r} is not a valid {what}: it starts with `-` or contains a control character.")
    return value


async def folder_of(context: ToolContext, path: str | None) -> Path:
    """Return the folder in which to run git for a path; the first workspace folder without a path."""
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
    """Return the repository that contains the path. Raises `ToolError` if none does."""
    folder = await folder_of(context, path)
    repository = await context.processes.repositories.find(folder)
    if repository is None:
        name = context.workspace.shown(folder)
        where = "The workspace folder" if name == "." else name
        raise ToolError(f"{where} is not in a git repository. To create one, run `git init` with shell.")
    return repository


async def read_git(context: ToolContext, repository: Repository, *args: str, is_shown: bool = False) -> ProcessResult:
    """Run a command that only reads. The repository's configuration is not applied, and programs from the user's
    configuration cannot write if there is a sandbox. Secrets are masked in output that is shown, not parsed.
    """
    async with context.processes.repositories.inert(repository) as variables:
        env = _environment({**READ_ONLY, **variables}, INERT)
        seen = (repository.top, repository.own, repository.common)
        read_only = ReadOnly(scratch=Path(variables["GIT_DIR"]), reads=seen)
        spec = _spec(context, repository.top, args, env, READ_TIMEOUT_S, read_only)
        return await (context.run_apart(spec) if is_shown else context.processes.run(spec))


async def shown_git(context: ToolContext, repository: Repository, *args: str) -> ProcessResult:
    """Run `read_git` for output that is shown."""
    return await read_git(context, repository, *args, is_shown=True)


async def write_git(
    context: ToolContext, repository: Repository, *args: str, settings: Mapping[str, str] | None = None
) -> ProcessResult:
    """Run a command as the user would, with the user's configuration and hooks. Its output is shown, with secrets
    masked. Raises `ToolError` on a timeout.
    """
    spec = _spec(context, repository.top, args, _environment({}, settings or {}), WRITE_TIMEOUT_S)
    return await context.run_apart(spec)


async def depend_on_references(context: ToolContext, repository: Repository) -> None:
    """Make the result depend on HEAD, the branches and the configuration; call it before reading them."""
    files = (repository.own / name for name in ("HEAD", "config.worktree"))
    shared = (repository.common / name for name in ("config", "packed-refs", "shallow"))
    for file in (*files, *shared):
        context.dependencies[file] = await context.workspace.stamp(file)
    for folder in {repository.common / "refs", repository.common / "reftable", repository.own / "refs"}:
        await context.depend_on_tree(folder)


async def depend_on_files(context: ToolContext, repository: Repository, below: Path) -> None:
    """Make the result also depend on the index and the files below a folder."""
    ignores = (repository.common / "info/exclude", repository.common / "info/attributes")
    for file in (repository.own / "index", *ignores, *(repository.own / name for name in _IN_PROGRESS)):
        context.dependencies[file] = await context.workspace.stamp(file)
    await context.depend_on_tree(below)
    if await context.workspace.stamp(repository.common / "modules") != MISSING:
        context.cacheable = False  # a submodule's HEAD is not covered by these


async def in_progress(context: ToolContext, repository: Repository) -> list[str]:
    """Return unfinished operations, such as `a merge`."""
    found = [
        what for name, what in _IN_PROGRESS.items() if await context.workspace.stamp(repository.own / name) != MISSING
    ]
    return list(dict.fromkeys(found))


def failure(result: ProcessResult, what: str) -> str:
    """Return git's own error message, without its advice on commands."""
    if result.timed_out:
        return f"{what}: stopped after {result.duration_s:.0f} s because it took too long."
    said = "\n".join(part for part in (result.stdout.strip(), result.stderr.strip()) if part)
    said = said or f"exit code {result.exit_code} without any output"
    lines = [line for line in said.splitlines() if not line.startswith("hint:")]
    return without_secrets(f"{what}: " + "\n".join(lines))


def _environment(more: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables, since `-c` does not accept a name that contains an equals sign."""
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
    """Return the process specification for git. Raises `ToolError` if git is missing."""
    program = context.processes.find("git")
    if program is None:
        raise ToolError("git is not installed on this machine. Tell the user to install it.")
    argv = (program, "--no-pager", *args)
    return ProcessSpec(
        argv=argv, cwd=cwd, timeout_s=timeout_s, env=env, max_output_chars=MAX_OUTPUT_CHARS, read_only=read_only
    )
