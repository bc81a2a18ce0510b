"""Parses and ranks the source files of a workspace: a separate program, started by `index.py`.

It is a process and not a thread because parsing holds Python's lock, and because a process can be ended.

Reads a job from standard input as JSON: `op` is `outline`, `definitions`, `references` or `rank`; `paths` are absolute,
`unsaved` has texts by path, `seconds` is the time for parsing. Writes the answer to standard output as JSON. `cache`
names the file with outlines of an earlier call, which is read and replaced.
"""

from __future__ import annotations

import gc
import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pygent_ls.file_access import folder_at
from pygent_ls.syntax.symbols import Symbol, definitions_in, outline_of, references_in, symbols_in
from pygent_ls.workspace.processes.child_limits import confine
from pygent_ls.workspace.symbols import cache_file, ranking
from pygent_ls.workspace.symbols.parsing import Input, Parse, is_known, parse_all

MAX_FILES = 50_000
"""Maximum number of files of known languages; the rest is not looked at."""

MAX_REFERENCES = 10_000
"""Maximum number of references that are returned."""

MAX_MEMORY_BYTES = 3_000_000_000
"""Address space limit of each process; 10,000 files take a tenth of it."""

NICENESS = 5
"""How far it gives way to the daemon and the user's other programs."""

SPARE_CPU_S = 60
"""CPU time beside parsing."""


def main() -> None:
    """Process the job given on standard input."""
    os.nice(NICENESS)
    gc.disable()  # the program ends soon, and looking for garbage among millions of values takes longer than the rest
    job: Mapping[str, Any] = json.loads(sys.stdin.buffer.read())
    confine(cpu_s=int(job["seconds"]) + SPARE_CPU_S, memory_bytes=MAX_MEMORY_BYTES, file_bytes=cache_file.MAX_BYTES + 1)
    deadline = time.monotonic() + job["seconds"]
    match job["op"]:
        case "outline":
            answer: object = _by_path(job, _outline_rows, deadline)
        case "definitions":
            answer = _by_path(job, lambda text, suffix: _definition_rows(text, suffix, job["name"]), deadline)
        case "references":
            answer = _by_path(job, lambda text, suffix: _reference_rows(text, suffix, job["name"]), deadline)
        case _:
            answer = _ranked(job, deadline)
    sys.stdout.write(json.dumps(answer))


# By name: files that do not contain the name are not parsed


def _by_path(job: Mapping[str, Any], parse: Parse, deadline: float) -> Mapping[str, Any]:
    inputs = list(_inputs(job["paths"], job["unsaved"]))
    found: dict[str, Any] = {}
    n_done = n_rows = 0
    for parsed in parse_all(inputs, parse, deadline):
        n_done += 1
        if parsed.result:
            found[parsed.path] = parsed.result[: MAX_REFERENCES - n_rows]
            n_rows += len(found[parsed.path])
        if n_rows >= MAX_REFERENCES:
            break
    return {"files": sorted(found.items()), "n_waiting": len(inputs) - n_done}


def _inputs(paths: Sequence[str], unsaved: Mapping[str, str]) -> Iterable[Input]:
    known = [path for path in paths if is_known(path)][:MAX_FILES]
    stamps = _stamps(path for path in known if path not in unsaved)
    for path in known:
        text = unsaved.get(path)
        if text is not None:
            yield Input(path, len(text), text)
        elif path in stamps:
            yield Input(path, stamps[path].size)


def _outline_rows(text: str, suffix: str) -> Sequence[Sequence[object]]:
    return [_row(each) for each in symbols_in(text, suffix)]


def _definition_rows(text: str, suffix: str, name: str) -> Sequence[Sequence[object]]:
    return [_row(each) for each in definitions_in(text, suffix, name)] if name in text else []


def _reference_rows(text: str, suffix: str, name: str) -> Sequence[Sequence[object]]:
    return references_in(text, suffix, name) if name in text else []


def _row(symbol: Symbol) -> Sequence[object]:
    """Return a symbol as its fields, in order."""
    return (
        symbol.name,
        symbol.kind,
        symbol.line,
        symbol.header_end_line,
        symbol.end_line,
        symbol.container,
        symbol.depth,
    )


# Ranking


def _ranked(job: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
    outlines = _Outlines(job)
    outlines.parse(deadline)
    outlines.save()
    sources, rows = outlines.sources()
    order = ranking.rank(sources, job["limit"], focus=job["focus"], names=frozenset(job["names"]))
    ranked = [(sources[index].path, rows[index][at]) for index, at in order]
    return {
        "ranked": ranked,
        "n_symbols": sum(map(len, rows)),
        "n_files": outlines.n_files,
        "n_parsed": outlines.n_parsed,
        "n_waiting": outlines.n_waiting,
        "n_skipped": outlines.n_skipped,
    }


@dataclass(frozen=True, slots=True)
class _Stamp:
    text: str
    size: int


@dataclass(slots=True)
class _Outlines:
    """Outlines of the files of a job: those of the cache, and new ones."""

    job: Mapping[str, Any]
    n_parsed: int = 0
    n_waiting: int = 0
    n_skipped: int = 0
    n_files: int = 0
    _rows: dict[str, cache_file.Row] = field(default_factory=dict[str, cache_file.Row])
    _unsaved: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Outlines of unsaved texts, which are not kept."""
    _known: Sequence[str] = ()
    _is_changed: bool = False

    def parse(self, deadline: float) -> None:
        """Parse what the cache does not have."""
        known = [path for path in self.job["paths"] if is_known(path)]
        self.n_files, self._known = len(known), sorted(known[:MAX_FILES])
        self._rows = _load(self.job["cache"])
        unsaved: Mapping[str, str] = self.job["unsaved"]
        stamps = _stamps(path for path in self._known if path not in unsaved)
        if self.job["is_whole"]:
            self._is_changed = bool(gone := self._rows.keys() - stamps.keys() - unsaved.keys())
            for path in gone:
                del self._rows[path]
        inputs = [Input(path, len(unsaved[path]), unsaved[path]) for path in self._known if path in unsaved]
        inputs += [
            Input(path, stamp.size)
            for path, stamp in stamps.items()
            if path not in self._rows or self._rows[path].stamp != stamp.text
        ]
        n_left = len(inputs)
        for parsed in parse_all(inputs, _outline, deadline) if inputs else ():
            n_left -= 1
            outline = json.dumps(parsed.result, separators=(",", ":")).encode()
            if parsed.path in unsaved:
                self._unsaved[parsed.path] = outline
            else:
                self._is_changed = True
                self._rows[parsed.path] = cache_file.Row(stamps[parsed.path].text, outline)
        self.n_parsed = len(inputs) - n_left
        self.n_waiting = n_left + self.n_files - len(self._known)
        self._known = [path for path in self._known if path in self._unsaved or path in stamps]

    def save(self) -> None:
        """Write the cache if it has changed."""
        if not self._is_changed or self.job["cache"] is None:
            return
        Path(self.job["cache"]).write_bytes(cache_file.dump(self._rows))

    def sources(self) -> tuple[list[ranking.RankedFile], list[list[Any]]]:
        """Return the parsed files for the ranking, each with the rows of its symbols."""
        sources: list[ranking.RankedFile] = []
        rows: list[list[Any]] = []
        for path in self._known:
            outline = self._unsaved.get(path) or (self._rows[path].outline if path in self._rows else b"null")
            if (found := json.loads(outline)) is None:
                self.n_skipped += 1
                continue
            listed = [row for row in found["d"] if ranking.is_listed(row[1], is_member=row[6] > 0)]
            rows.append(listed)
            definitions = [ranking.Definition(row[0], row[1], row[6] > 0) for row in listed]
            references = found["r"]
            sources.append(ranking.RankedFile(path, definitions, references, frozenset(found["i"])))
        return sources, rows


def _outline(text: str, suffix: str) -> Mapping[str, Any]:
    """Return an outline as JSON: `d` has a row for each symbol, `r` the number of references by name,
    and `i` the words of imports."""
    found = outline_of(text, suffix)
    return {"d": [_row(each) for each in found.symbols], "r": found.references, "i": found.imports}


def _load(path: str | None) -> dict[str, cache_file.Row]:
    if path is None:
        return {}
    try:
        return cache_file.load(Path(path).read_bytes())
    except OSError:
        return {}


def _stamps(paths: Iterable[str]) -> Mapping[str, _Stamp]:
    """Return the stamps of the regular files among these paths; no link is followed."""
    found: dict[str, _Stamp] = {}
    for folder, names in groupby(paths, key=os.path.dirname):
        try:
            with folder_at(Path(folder)) as descriptor:
                for path in names:
                    if (stamp := _stamp(path, descriptor)) is not None:
                        found[path] = stamp
        except OSError:
            continue
    return found


def _stamp(path: str, folder: int) -> _Stamp | None:
    try:
        status = os.stat(os.path.basename(path), dir_fd=folder, follow_symlinks=False)  # noqa: PTH119 - of text
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    text = f"{status.st_ino}.{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}"
    return _Stamp(text, status.st_size)


if __name__ == "__main__":
    main()
