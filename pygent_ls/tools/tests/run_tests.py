"""Tool that runs a project's tests."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.search.ripgrep import SearchPlace, list_place
from pygent_ls.tools.tests.reports import Failure, Report
from pygent_ls.tools.tests.runners import SuiteRunner, SuiteSelection, is_there, runner_for

DEFAULT_TIMEOUT_S = 600.0
"""Default time limit of ten minutes, for a suite that runs while the user waits."""

MAX_TIMEOUT_S = 3_600.0

MAX_OUTPUT_CHARS = 1_000_000
"""Maximum length of output that is parsed for failures; the model is shown a part."""

MAX_FAILURES_TOLD = 5
"""Maximum number of failures reported with their output; others are listed by name."""

MAX_FAILURE_CHARS = 3_000

MAX_NAMES = 50

MAX_TAIL_CHARS = 6_000
"""Maximum length of the end of output that is shown if it is not understood."""

_PLAIN = {"CI": "1", "NO_COLOR": "1", "FORCE_COLOR": "0", "PY_COLORS": "0", "TERM": "dumb"}
"""Variables that disable colours and watch mode."""


def _target_of(given: Mapping[str, Any]) -> list[str]:
    target = given.get("target")
    path = target.partition("::")[0] if isinstance(target, str) else ""
    return [path] if path else []


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.TESTING,
    kind="execute",
    title="Run tests {target} {filter}",
    timeout_s=None,
    runs_programs=True,
    sandboxed=True,
    runs_commands=True,
    paths_of=_target_of,
)
async def run_tests(
    context: ToolContext,
    target: Annotated[str, Meta(description="A test file or folder; for pytest also FILE::NAME (default: all tests).")]
    | None = None,
    filter: Annotated[str, Meta(description="Only tests whose name matches, as the runner understands it.")]
    | None = None,
    timeout_s: Annotated[
        float, Meta(gt=0, le=MAX_TIMEOUT_S, description="Time limit of the run in seconds.")
    ] = DEFAULT_TIMEOUT_S,
) -> str:
    """Run the project's tests and return how many passed and failed, with the messages of the first failures.

    The runner is detected from the project's files: pytest, unittest, npm, pnpm, yarn, bun, cargo, go, or make.

    Raises:
        ToolError: nothing tells how the tests are run, or the runner is not installed.
    """
    wanted, runner = await _chosen(context, target, filter or "")
    spec = ProcessSpec(
        argv=runner.argv,
        cwd=wanted.folder,
        timeout_s=timeout_s,
        env=_PLAIN,
        max_output_chars=MAX_OUTPUT_CHARS,
        sandboxed=context.sandboxed,
        was_allowed=True,
    )
    result = await context.run_command(spec)
    context.exit_code = result.exit_code
    return _told(runner, result, runner.read(result.stdout), timeout_s)


async def _chosen(context: ToolContext, target: str | None, name_filter: str) -> tuple[SuiteSelection, SuiteRunner]:
    """Return the tests and the runner: the innermost folder around the target whose files indicate a runner."""
    if name_filter.startswith("-"):
        raise ToolError(f"{name_filter!r} is not a valid filter: it starts with `-`.")
    path, divider, inside = (target or "").partition("::")
    resolved = context.workspace.resolve(path or ".")
    if not await is_there(context, resolved):
        raise ToolError(f"{path} does not exist. Use find_files to find test files.")
    for folder in (resolved, *resolved.parents):
        if folder.suffix in (".py", ".rs", ".go", ".js", ".ts", ".tsx", ".jsx", ".mjs") or not _is_inside(
            context, folder
        ):
            continue
        below = resolved if resolved != folder else None
        wanted = SuiteSelection(folder=folder, target=below, inside=divider + inside, filter=name_filter)
        if not _may_be_the_root(context, folder) and not await _has_manifest(context, folder):
            continue
        if runner := await runner_for(context, wanted):
            return wanted, runner
    raise ToolError(await _nothing_found(context, resolved))


def _is_inside(context: ToolContext, folder: Path) -> bool:
    return any(folder.is_relative_to(each) for each in _folders(context))


def _may_be_the_root(context: ToolContext, folder: Path) -> bool:
    return folder in _folders(context)


def _folders(context: ToolContext) -> Sequence[Path]:
    return (*context.workspace.folders, *context.workspace.more_folders)


MANIFESTS = ("pyproject.toml", "pytest.ini", "setup.cfg", "package.json", "Cargo.toml", "go.mod", "Makefile")


async def _has_manifest(context: ToolContext, folder: Path) -> bool:
    """Return whether a folder below a workspace folder is a project of its own."""
    return any([await is_there(context, folder / name) for name in MANIFESTS])


async def _nothing_found(context: ToolContext, path: Path) -> str:
    folders = [each for each in _folders(context) if path.is_relative_to(each)]
    place = SearchPlace(path=folders[0], folder=folders[0]) if folders else None
    names = await list_place(context, place, "{pyproject.toml,package.json,Cargo.toml,go.mod}") if place else []
    below = sorted({name.rpartition("/")[0] for name in names if "/" in name})[:10]
    hint = f" Projects are in: {', '.join(below)}; name one as `target`." if below else ""
    return (
        "No test runner was found: there is no setting for pytest, no test*.py, no test script in package.json, "
        f"no Cargo.toml, go.mod or Makefile with a `test` rule.{hint} Otherwise use shell."
    )


def _told(runner: SuiteRunner, result: ProcessResult, report: Report, limit_s: float) -> str:
    """Format the numbers first, then the failures, then the command: both ends survive if the middle is cut."""
    command = shlex.join((runner.argv[0].rpartition("/")[2], *runner.argv[1:]))
    how = f"[{command}; exit code {result.exit_code}; {result.duration_s:.1f} s]"
    if result.timed_out:
        return f"{runner.name} was stopped after {limit_s:g} s, before it was done.\n{_tail(result.stdout)}\n{how}"
    if not report.is_known:
        said = "passed, according to its exit code" if result.exit_code == 0 else "failed, according to its exit code"
        end = f"The end of its output:\n{_tail(result.stdout)}\n{how}"
        return f"{runner.name}: {said}; the numbers in its output could not be read. {end}"
    counts = f"{report.passed} passed, {report.failed} failed" + (
        f", {report.skipped} skipped" if report.skipped else ""
    )
    parts = [f"{runner.name}: {counts}.", *map(_failure, report.failures[:MAX_FAILURES_TOLD])]
    others = [failure.name for failure in report.failures[MAX_FAILURES_TOLD:]]
    if others:
        more = f"\n[{len(others) - MAX_NAMES} more]" if len(others) > MAX_NAMES else ""
        parts.append("Also failed:\n" + "\n".join(others[:MAX_NAMES]) + more)
    unexplained = report.failures and not any(failure.message for failure in report.failures)
    if result.exit_code and (not report.failures or unexplained):
        parts.append(f"The end of its output:\n{_tail(result.stdout)}")
    return "\n\n".join([*parts, how])


def _failure(failure: Failure) -> str:
    said = failure.message
    if len(said) > MAX_FAILURE_CHARS:
        half = MAX_FAILURE_CHARS // 2
        said = f"{said[:half]}\n[… {len(said) - 2 * half} characters left out …]\n{said[-half:]}"
    return f"Failed: {failure.name}" + (f"\n{said}" if said else "")


def _tail(output: str) -> str:
    text = output.strip() or "(no output)"
    return (
        text
        if len(text) <= MAX_TAIL_CHARS
        else f"[… {len(text) - MAX_TAIL_CHARS} characters left out]\n{text[-MAX_TAIL_CHARS:]}"
    )
