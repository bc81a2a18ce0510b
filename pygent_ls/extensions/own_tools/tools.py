"""Own tools as the model is offered them: found, described by their process, and called in one."""

from __future__ import annotations

import asyncio
import math
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.agent.tools.schema_tool import SchemaTool
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.extensions.own_tools.files import MAX_FILE_BYTES, tool_files
from pygent_ls.extensions.own_tools.process import ToolSource, converse
from pygent_ls.extensions.pipes import RunProgram
from pygent_ls.file_access import read_beginning, read_file

GROUP = "pygent_ls.tools"
"""Entry points of packages: each names a module with tools."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")

NAMING = "providers take only names of at most 64 letters of ASCII, digits and underscores."

LOAD_S = 10.0
"""Maximum time to load a file; one that takes longer is left out."""

MAX_RUN_S = 3600.0
"""Maximum time of a program that a tool runs."""


RETRY_S = 30.0
"""Time after which a source that could not be loaded is loaded again: what it imports may be installed by then. The
time doubles with each failure, because a turn waits for it."""


class _Loaded(Struct, frozen=True):
    tools: Sequence[Tool]
    problem: str = ""
    n_failures: int = 0
    retry_s: float = math.inf
    """Time of the event loop from which on it is loaded again."""


@cache
def modules_of_packages() -> tuple[str, ...]:
    """Return the modules that installed packages name as their tools; the search takes long, so it is made once."""
    if not any(map(_may_name_tools, sys.path)):
        return ()
    from importlib.metadata import entry_points

    return tuple(dict.fromkeys(each.module for each in entry_points(group=GROUP)))


def _may_name_tools(place: str) -> bool:
    """Return whether a package in a folder of `sys.path` may name tools, ten times as fast as `importlib.metadata`."""
    group = GROUP.encode()
    try:
        with os.scandir(place or ".") as entries:
            packages = [each.path for each in entries if each.name.endswith((".dist-info", ".egg-info"))]
    except NotADirectoryError:  # an archive
        return True
    except OSError:
        return False
    for package in packages:
        with suppress(OSError):
            if group in Path(package, "entry_points.txt").read_bytes():
                return True
    return False


def may_have_tools(*folders: Path) -> bool:
    """Return whether a folder or a package may define tools, whose names are known once they are loaded. Blocking."""
    return bool(modules_of_packages()) or any(map(tool_files, folders))


class OwnTools:
    """The tools of a folder and of installed packages. Each source is loaded again when its text has changed."""

    def __init__(self, folder: Path, run: RunProgram, retry_s: float = RETRY_S) -> None:
        self._folder = folder
        self._run = run
        self._retry_s = retry_s
        self._loaded: dict[ToolSource, _Loaded] = {}

    async def refresh(self, trusted: Mapping[Path, str] | None) -> None:
        """Load what is new or has changed, all at once. `trusted` are files of the workspace, each with the SHA-256 of
        the bytes that the user trusts; None leaves only the packages, and no file."""
        sources = await asyncio.to_thread(self._sources, trusted)
        now_s = asyncio.get_running_loop().time()
        new = [each for each in sources if each not in self._loaded or self._loaded[each].retry_s <= now_s]
        loaded = dict(zip(new, await asyncio.gather(*map(self._load, new)), strict=True))
        self._loaded = {each: loaded[each] if each in loaded else self._loaded[each] for each in sources}

    def tools(self, taken: Collection[str]) -> tuple[list[Tool], list[str]]:
        """Return the tools whose names are not taken, and a line about each source or tool that is left out."""
        found: dict[str, Tool] = {}
        problems: list[str] = []
        for source, loaded in self._loaded.items():
            if loaded.problem:
                problems.append(f"The tools of {source.name} are not available: {loaded.problem}")
            for each in loaded.tools:
                if not _NAME.fullmatch(each.name):
                    problems.append(f"The tool {each.name} of {source.name} is left out: {NAMING}")
                elif each.name in taken or each.name in found:
                    problems.append(f"The tool {each.name} of {source.name} is left out: the name is taken.")
                else:
                    found[each.name] = each
        return list(found.values()), problems

    def _sources(self, trusted: Mapping[Path, str] | None) -> list[ToolSource]:
        found: list[ToolSource] = []
        for path in tool_files(self._folder) if trusted is not None else ():
            try:
                content = read_beginning(path, MAX_FILE_BYTES + 1)
                text = content.decode("utf-8") if len(content) <= MAX_FILE_BYTES else "raise OSError('it is too long')"
            except (OSError, UnicodeDecodeError) as error:
                text = f"raise OSError({str(error)!r})"
            found.append(ToolSource(path=str(path), text=text))
        for path, digest in (trusted or {}).items():
            with suppress(OSError, UnicodeDecodeError):
                content, _ = read_file(path.resolve(), MAX_FILE_BYTES)
                if sha256(content).hexdigest() == digest:  # else it has just changed, and the next turn asks
                    found.append(ToolSource(path=str(path), text=content.decode("utf-8")))
        return [*found, *(ToolSource(module=each) for each in modules_of_packages())]

    async def _load(self, source: ToolSource) -> _Loaded:
        async def refuse(message: Mapping[str, Any]) -> None:
            del message

        try:
            said = await converse(self._run, source, {}, Path("/"), refuse, LOAD_S)
        except ToolError as error:
            return self._failed(source, str(error))
        if "tools" not in said:
            return self._failed(source, str(said.get("error", "it did not say which tools it has")))
        return _Loaded([self._tool(source, each) for each in cast("list[dict[str, Any]]", said["tools"])])

    def _failed(self, source: ToolSource, problem: str) -> _Loaded:
        n_failures = self._loaded[source].n_failures + 1 if source in self._loaded else 1
        wait_s = self._retry_s * 2 ** (n_failures - 1)
        return _Loaded((), problem, n_failures, asyncio.get_running_loop().time() + wait_s)

    def _tool(self, source: ToolSource, told: Mapping[str, Any]) -> Tool:
        name = str(told["name"])
        timeout_s = float(told["timeout_s"])

        async def run(context: ToolContext, /, **arguments: Any) -> str:
            folder = context.working_directory
            job = {"name": name, "arguments": arguments, "folder": str(folder)}
            try:
                said = await converse(self._run, source, job, folder, _Answers(context).answer, timeout_s)
            except ToolError as error:
                raise ToolError(f"{name}: {error}") from None
            if "result" not in said:
                raise ToolError(str(said.get("error", "It did not return a result.")))
            return str(said["result"])

        return SchemaTool(
            name=name,
            description=str(told["description"]),
            risk=ToolRisk(told["risk"]),
            category=ToolCategory.AGENT,
            kind="other",
            run=run,
            title=f"{name} {{arguments}}",
            read_only=bool(told["read_only"]),
            timeout_s=None,
            schema=told["schema"],
        )


class _Answers:
    """Answers the process of a call with what its context may access."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def answer(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Raises `ToolError`."""
        context = self._context
        match message:
            case {"report": str(text)}:
                await context.report(text if text.endswith("\n") else f"{text}\n")
                return None
            case {"read": str(path)}:
                return {"text": (await context.read(path)).text}
            case {"run": list(), "timeout_s": int() | float() as timeout_s}:
                result = await context.run(
                    ProcessSpec(
                        argv=tuple(map(str, message["run"])),
                        cwd=context.working_directory,
                        timeout_s=min(float(timeout_s), MAX_RUN_S),
                        sandboxed=context.sandboxed,
                    )
                )
                return {"exit_code": result.exit_code, "output": result.stdout}
            case _:
                raise ToolError("The message is not known.")
