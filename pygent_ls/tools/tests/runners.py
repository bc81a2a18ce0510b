"""Detects the test runner of a folder from its files."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.tools.search.ripgrep import SearchPlace, list_place
from pygent_ls.tools.tests.reports import Report, read_cargo, read_go, read_javascript, read_pytest, read_unittest

PYTHONS = (".venv/bin/python", "venv/bin/python")
"""Project's own interpreter, which has the packages that its tests need."""

HAS_PYTEST = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"
"""Code that checks for pytest without importing it, which takes half a second."""

PROBE_TIMEOUT_S = 20.0

MAX_TESTS_READ = 20
"""Maximum number of test files that are checked for their imports."""

_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
_NAME_FILTERS = (("jest", "-t"), ("vitest", "-t"), ("mocha", "--grep"), ("node --test", "--test-name-pattern"))


class SuiteSelection(Struct, frozen=True, kw_only=True):
    """Tests to run."""

    folder: Path
    """Folder with the runner's files, in which it runs."""
    target: Path | None = None
    """File or folder below it; None for everything."""
    inside: str = ""
    """Suffix of the target, as in `test_a.py::TestA::test_b`, with its colons."""
    filter: str = ""

    @property
    def relative(self) -> str:
        """Return the target as an argument for the runner."""
        return self.target.relative_to(self.folder).as_posix() if self.target else ""


class SuiteRunner(Struct, frozen=True, kw_only=True):
    """Program with its arguments, and the parser of its output."""

    name: str
    argv: tuple[str, ...]
    read: Callable[[str], Report]


async def runner_for(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    """Return the runner of this folder itself; None if its files do not indicate one. Raises `ToolError` if the runner
    is not installed, or does not support the target or filter.
    """
    for find in (_pytest, _javascript, _cargo, _go, _unittest, _make):
        if runner := await find(context, wanted):
            return runner
    return None


_Find = Callable[[ToolContext, SuiteSelection], Awaitable[SuiteRunner | None]]


async def is_there(context: ToolContext, path: Path) -> bool:
    """Return whether anything exists at a path."""
    return await context.workspace.stamp(path) != MISSING


async def _text(context: ToolContext, path: Path) -> str:
    try:
        return (await context.peek(path)).text if await is_there(context, path) else ""
    except ToolError:
        return ""


def _program(context: ToolContext, *names: str) -> str:
    for name in names:
        if found := context.commands.find(name, anywhere=True):
            return found
    raise ToolError(f"The tests run with {names[0]}, which is not installed on this machine.")


# Python


async def _pytest(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    if wanted.target and wanted.target.suffix not in ("", ".py"):
        return None
    marks = [name for name in ("pytest.ini", "conftest.py") if await is_there(context, wanted.folder / name)]
    settings = [await _text(context, wanted.folder / name) for name in ("pyproject.toml", "setup.cfg", "tox.ini")]
    listed = [await _text(context, wanted.folder / name) for name in ("requirements.txt", "requirements-dev.txt")]
    told = bool(marks) or any("pytest" in text for text in (*settings, *listed))
    if not told and not await _imports_pytest(context, wanted.folder):
        return None
    python = await _python(context, wanted.folder)
    if not await _has_pytest(context, python, wanted.folder):
        raise ToolError(f"The tests run with pytest, which is not installed for {python}. Tell the user.")
    chosen = (f"-k{wanted.filter}",) if wanted.filter else ()
    target = (f"./{wanted.relative}{wanted.inside}",) if wanted.target else ()
    argv = (python, "-m", "pytest", "-q", "-rfE", "--tb=short", "--color=no", *chosen, *target)
    return SuiteRunner(name="pytest", argv=argv, read=read_pytest)


async def _imports_pytest(context: ToolContext, folder: Path) -> bool:
    tests = await _python_tests(context, folder)
    for name in tests[:MAX_TESTS_READ]:
        if re.search(r"^(?:import|from) pytest\b", await _text(context, folder / name), re.M):
            return True
    return False


async def _python_tests(context: ToolContext, folder: Path) -> list[str]:
    """Return the test files below a folder, relative to it."""
    names = await list_place(context, SearchPlace(path=folder, folder=folder), "*.py")
    return [name for name in names if re.fullmatch(r"(?:.*/)?(?:test\w*|\w+_test)\.py", name)]


async def _python(context: ToolContext, folder: Path) -> str:
    for name in PYTHONS:
        if await is_there(context, folder / name):
            return str(folder / name)
    return _program(context, "python3", "python")


async def _has_pytest(context: ToolContext, python: str, folder: Path) -> bool:
    spec = ProcessSpec(
        argv=(python, "-c", HAS_PYTEST),
        cwd=folder,
        timeout_s=PROBE_TIMEOUT_S,
        sandboxed=context.sandboxed,
        was_allowed=True,
    )
    return (await context.commands.run(spec)).exit_code == 0


async def _unittest(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    if wanted.target and wanted.target.suffix not in ("", ".py"):
        return None
    tests = await _python_tests(context, wanted.folder)
    if not tests:
        return None
    python = await _python(context, wanted.folder)
    chosen = (f"-k{wanted.filter}",) if wanted.filter else ()
    if wanted.inside:
        raise ToolError(
            f"unittest does not accept {wanted.inside}: name the file as `target` and the test as `filter`."
        )
    if wanted.target and wanted.target.suffix == ".py":
        what: tuple[str, ...] = (wanted.relative,)
    else:
        what = ("discover", *_start(tests, wanted))
    return SuiteRunner(name="unittest", argv=(python, "-m", "unittest", *what, *chosen), read=read_unittest)


def _start(tests: Sequence[str], wanted: SuiteSelection) -> tuple[str, ...]:
    """Return unittest's start folder option: tests below a folder are only found if each folder on the way is a
    package.
    """
    if wanted.target:
        return ("-s", wanted.relative)
    folders = {name.rpartition("/")[0] for name in tests}
    top = folders.pop() if len(folders) == 1 else ""
    return ("-s", top) if top else ()


# Other languages


async def _javascript(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    scripts = _scripts(await _text(context, wanted.folder / "package.json"))
    script = scripts.get("test", "")
    if not script or "no test specified" in script:
        return None
    locks = [program for lock, program in _LOCKS.items() if await is_there(context, wanted.folder / lock)]
    name = locks[0] if locks else "npm"
    more: list[str] = [wanted.relative] if wanted.target else []
    if wanted.filter:
        option = next((option for runner, option in _NAME_FILTERS if runner in script), None)
        if option is None:
            raise ToolError(f"It is unknown how `{script}` takes a filter. Omit `filter`, or use shell.")
        more += [option, wanted.filter]
    divider = ["--"] if more and name == "npm" else []
    return SuiteRunner(
        name=f"{name} test", argv=(_program(context, name), "test", *divider, *more), read=read_javascript
    )


def _scripts(text: str) -> dict[str, str]:
    try:
        manifest: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = cast("dict[str, Any]", manifest).get("scripts") if isinstance(manifest, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {key: value for key, value in cast("dict[str, Any]", scripts).items() if isinstance(value, str)}


async def _cargo(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    if not await is_there(context, wanted.folder / "Cargo.toml"):
        return None
    target: tuple[str, ...] = ()
    if wanted.target:
        found = re.fullmatch(r"tests/(\w[\w-]*)\.rs", wanted.relative)
        if found is None:
            raise ToolError("cargo accepts a file in tests/ as target. For other tests, give their names as `filter`.")
        target = ("--test", found[1])
    chosen = (wanted.filter,) if wanted.filter else ()
    argv = (_program(context, "cargo"), "test", "--no-fail-fast", "--color=never", *target, *chosen)
    return SuiteRunner(name="cargo test", argv=argv, read=read_cargo)


async def _go(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    if not await is_there(context, wanted.folder / "go.mod"):
        return None
    package = "./..."
    if wanted.target:
        is_file = wanted.target.suffix == ".go"
        package = f"./{wanted.relative.rpartition('/')[0]}" if is_file else f"./{wanted.relative}/..."
    chosen = (f"-run={wanted.filter}",) if wanted.filter else ()
    return SuiteRunner(name="go test", argv=(_program(context, "go"), "test", "-v", *chosen, package), read=read_go)


async def _make(context: ToolContext, wanted: SuiteSelection) -> SuiteRunner | None:
    names = [name for name in ("GNUmakefile", "makefile", "Makefile") if await is_there(context, wanted.folder / name)]
    text = await _text(context, wanted.folder / names[0]) if names else ""
    goal = next((goal for goal in ("test", "check") if re.search(rf"^{goal}\s*:(?!=)", text, re.M)), None)
    if goal is None:
        return None
    if wanted.target or wanted.filter:
        raise ToolError(f"`make {goal}` accepts neither `target` nor `filter`. Omit them, or use shell.")
    return SuiteRunner(name=f"make {goal}", argv=(_program(context, "make"), goal), read=_read_any)


def _read_any(output: str) -> Report:
    """Parse the output of `make`, which may run any of the other runners."""
    reports = [read(output) for read in (read_pytest, read_cargo, read_go, read_javascript, read_unittest)]
    return next((report for report in reports if report.is_known), Report())
