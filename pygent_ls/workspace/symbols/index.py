"""Index of the symbols of a workspace: runs `index_process.py`, and keeps what it parsed in the state folder."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from pygent_ls.agent.ports.processes import Processes, ProcessSpec, ReadOnly
from pygent_ls.agent.ports.symbols import (
    FileReferences,
    FileSymbols,
    RankedSymbol,
    SourceFiles,
    SymbolFocus,
    SymbolRanking,
)
from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.errors import ToolError
from pygent_ls.file_access import check_regular, open_file, status_of
from pygent_ls.syntax.languages import LANGUAGES
from pygent_ls.syntax.symbols import Reference, Symbol
from pygent_ls.workspace.symbols.cache_file import MAX_BYTES

PROGRAM = Path(__file__).with_name("index_process.py")

PARSE_S = 30.0
"""Time for parsing where the caller does not say otherwise."""

SPARE_S = 20.0
"""Time beside parsing: the start, the cache, the ranking."""

MAX_OUTPUT_CHARS = 20_000_000

MAX_CACHES = 20
"""Maximum number of workspaces whose outlines are kept; those used least recently are removed first."""

CACHE_NAME = "outlines.tsv"


class WorkspaceSymbols:
    """Implementation of `SymbolIndex` by a program that runs for one call."""

    def __init__(self, processes: Processes, workspace: Workspace, folder: Path) -> None:
        self._processes = processes
        self._workspace = workspace
        self._folder = folder
        """Folder of the kept outlines."""
        self._one_at_a_time = asyncio.Lock()

    async def definitions_in(self, path: str, text: str) -> Sequence[Symbol]:
        """Implement `SymbolIndex`."""
        if PurePosixPath(path).suffix not in LANGUAGES:
            return ()
        told = await self._ask(op="outline", paths=[path], unsaved={path: text}, seconds=PARSE_S)
        return [Symbol(*row) for _, rows in told["files"] for row in rows]

    async def definitions_of(self, name: str, files: SourceFiles) -> Sequence[FileSymbols]:
        """Implement `SymbolIndex`."""
        told = await self._ask(op="definitions", name=name, paths=files.paths, unsaved=files.unsaved, seconds=PARSE_S)
        return [FileSymbols(path=Path(path), symbols=[Symbol(*row) for row in rows]) for path, rows in told["files"]]

    async def references_to(self, name: str, files: SourceFiles) -> Sequence[FileReferences]:
        """Implement `SymbolIndex`."""
        told = await self._ask(op="references", name=name, paths=files.paths, unsaved=files.unsaved, seconds=PARSE_S)
        return [
            FileReferences(path=Path(path), references=[Reference(*row) for row in rows])
            for path, rows in told["files"]
        ]

    async def rank(self, files: SourceFiles, focus: SymbolFocus, *, limit: int, seconds: float) -> SymbolRanking:
        """Implement `SymbolIndex`."""
        async with self._one_at_a_time:
            told = await self._ask(
                op="rank",
                paths=files.paths,
                unsaved=files.unsaved,
                is_whole=files.is_whole,
                focus=focus.paths,
                names=focus.names,
                limit=limit,
                seconds=seconds,
            )
        ranked = [RankedSymbol(path=Path(path), symbol=Symbol(*row)) for path, row in told["ranked"]]
        return SymbolRanking(
            ranked=ranked,
            n_symbols=told["n_symbols"],
            n_files=told["n_files"],
            n_parsed=told["n_parsed"],
            n_waiting=told["n_waiting"],
            n_skipped=told["n_skipped"],
        )

    async def _ask(self, *, seconds: float, **job: Any) -> Mapping[str, Any]:
        """Run the program, and return its answer. Raises `ToolError`."""
        private = await asyncio.to_thread(_private_folder)
        try:
            scratch = Path(private.name)
            given = await asyncio.to_thread(self._prepare, {**job, "seconds": seconds}, scratch)
            result = await self._processes.run(
                ProcessSpec(
                    argv=(sys.executable, "-P", str(PROGRAM)),
                    cwd=scratch,
                    timeout_s=seconds + SPARE_S,
                    max_output_chars=MAX_OUTPUT_CHARS,
                    stdin_bytes=given,
                    read_only=ReadOnly(scratch=scratch, reads=(Path(sys.prefix), PROGRAM.parents[2])),
                    errors_apart=True,
                )
            )
            if result.timed_out or result.exit_code != 0 or result.omitted_chars:
                raise ToolError(
                    "The source files could not be parsed: that took too much time or memory and was stopped. Name a "
                    "smaller folder as `path`, or use grep_search."
                )
            return await asyncio.to_thread(self._finish, scratch, result.stdout)
        finally:
            await asyncio.to_thread(private.cleanup)

    def _prepare(self, job: Mapping[str, Any], scratch: Path) -> bytes:
        """Return the program's input, and give it what was kept of earlier calls. Blocking."""
        cache = None
        if job["op"] == "rank":
            cache = scratch / CACHE_NAME
            with contextlib.suppress(OSError), cache.open("wb") as copy:
                _copy(self._kept(), copy)
            os.utime(cache, ns=(0, 0))  # `_finish` sees whether the program has written it
        return json.dumps({"unsaved": {}, **job, "cache": cache and str(cache)}, default=list).encode()

    def _finish(self, scratch: Path, output: str) -> Mapping[str, Any]:
        """Keep what the program parsed, and return its answer. Blocking."""
        with contextlib.suppress(OSError):  # without a cache, everything is parsed again
            if status_of(scratch / CACHE_NAME).st_mtime_ns:
                self._keep(scratch / CACHE_NAME)
        return json.loads(output)

    def _keep(self, outlines: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                _copy(outlines, file)
            Path(name).replace(self._kept())
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        kept = sorted(self._folder.iterdir(), key=lambda each: -each.stat().st_mtime_ns)
        for each in kept[MAX_CACHES:]:
            each.unlink(missing_ok=True)

    def _kept(self) -> Path:
        """Return the file of the outlines of this workspace."""
        names = "\0".join(map(str, (*self._workspace.folders, *self._workspace.more_folders)))
        digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
        return self._folder.resolve() / f"{digest[:32]}.tsv"


def _copy(source: Path, target: BinaryIO) -> None:
    """Copy a regular file piece by piece. Raises OSError, also for one that is too large."""
    with os.fdopen(open_file(source, os.O_RDONLY), "rb") as file:
        if check_regular(os.fstat(file.fileno())).st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, "the file is too large")
        shutil.copyfileobj(file, target)


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder; links are resolved so that the sandbox finds it."""
    return tempfile.TemporaryDirectory(prefix="pygent-symbols-", dir=os.path.realpath(tempfile.gettempdir()))
