"""Progress of a fleet on standard error: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from pygent_ls.agent.display_text import visible


class Counts(Struct, frozen=True, kw_only=True):
    """Numbers of tasks."""

    total: int
    succeeded: int = 0
    failed: int = 0
    running: int = 0
    cost_usd: float = 0.0

    @property
    def text(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.succeeded} of {self.total} succeeded{failed}, {self.running} running, ${self.cost_usd:.2f}"


class FleetProgress(Protocol):
    """Shows what happens."""

    def tell(self, line: str) -> None:
        """Show a line."""
        ...

    def count(self, counts: Counts) -> None:
        """Show the current numbers."""
        ...


class _Lines:
    def tell(self, line: str) -> None:
        sys.stderr.write(f"{visible(line)}\n")
        sys.stderr.flush()

    def count(self, counts: Counts) -> None:
        """Show nothing: each line is about one task."""


@contextmanager
def progress() -> Generator[FleetProgress]:
    """Yield the progress for standard error."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task("", total=None)

        class Bar:
            def tell(self, line: str) -> None:
                bars.console.print(visible(line), markup=False, highlight=False, emoji=False)

            def count(self, counts: Counts) -> None:
                ended = counts.succeeded + counts.failed
                bars.update(bar, total=counts.total, completed=ended, description=counts.text)

        yield Bar()
