"""What it costs to read and to search large files: at the beginning and at the end of 20 and of 200 MB of lines, and of
one line of 200 MB, side by side with what `read_file` takes for 1 MB.

The aim is that a part of 200 MB takes less than 1 s, and no more memory than a part of 20 MB.

usage: python benchmarks/large_files.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.tools.files.read_file import read_file
from pygent_ls.tools.search.grep import grep_search
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.processes.local_processes import LocalProcesses

LINE = "2024-01-01 12:00:00 INFO a request was answered after some milliseconds\n"


def main() -> None:
    """Measure, and write the results."""
    with tempfile.TemporaryDirectory(prefix="pygent-bench-") as folder:
        root = Path(folder).resolve()
        n_lines: dict[str, int] = {}
        for n_mb in (1, 20, 200):
            n_lines[f"lines_{n_mb}_mb"] = n_mb * 1_000_000 // len(LINE)
            (root / f"lines_{n_mb}_mb").write_text(LINE * (n_mb * 1_000_000 // len(LINE)))
        (root / "one_line_200_mb").write_text("x" * 200_000_000 + "needle")
        figures = asyncio.run(_measured(root, n_lines))
    write_result("large_files", {"ms_and_peak_mb": figures})


async def _measured(root: Path, n_lines: dict[str, int]) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {}
    for name, last in n_lines.items():
        figures[f"{name}_beginning"] = await _cost(root, read_file, path=name)
        figures[f"{name}_end"] = await _cost(root, read_file, path=name, start_line=last - 10)
        figures[f"{name}_search"] = await _cost(root, grep_search, path=name, pattern="no such words")
    name = "one_line_200_mb"
    figures[f"{name}_beginning"] = await _cost(root, read_file, path=name)
    figures[f"{name}_end"] = await _cost(root, read_file, path=name, start_line=1, start_column=200_000_000)
    figures[f"{name}_search"] = await _cost(root, grep_search, path=name, pattern="needle")
    return figures


async def _cost(root: Path, tool: Tool, **given: object) -> list[float]:
    """Return the milliseconds of a call, and the megabytes that Python allocated at its peak in another one."""
    began = perf_counter()
    await tool.run(_context(root), **tool.validate(given))
    taken_ms = (perf_counter() - began) * 1000
    tracemalloc.start()
    await tool.run(_context(root), **tool.validate(given))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [round(taken_ms, 1), round(peak / 1e6, 1)]


def _context(root: Path) -> ToolContext:
    async def report(_: str) -> None:
        """Nothing reports here."""

    return ToolContext(
        tool_id="1",
        session_id="1",
        workspace=DiskWorkspace([root]),
        processes=LocalProcesses(),
        reads=ReadLog(),
        report=report,
    )


if __name__ == "__main__":
    main()
