"""What keeping the files of a folder costs: the first snapshot, a later one in which 10 have changed, and the disk.

Folders of 1,000, 10,000 and 50,000 files of some 2.5 kB each in a repository, with and without 300 ignored files beside
them, and a clone of this repository. The aim is a later snapshot of at most 150 ms with 10,000 files.

usage: python benchmarks/snapshots.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

from pygent_ls.workspace.snapshots.snapshots import Snapshots

ROUNDS = 7

SIZES = (1_000, 10_000, 50_000)

N_CHANGED, N_IGNORED = 10, 300

THIS = Path(__file__).parents[1]


def main() -> None:
    """Measure and write."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    figures: dict[str, object] = {"what": "milliseconds, and kilobytes on the disk after the first", "rounds": rounds}
    with tempfile.TemporaryDirectory() as scratch:
        this = Path(scratch).resolve() / "this"
        subprocess.run(["git", "clone", "-q", THIS, this], check=True)
        figures["this_repository"] = asyncio.run(measured(this, sorted(this.rglob("*.py")), rounds))
    for n_files in SIZES:
        for n_ignored in (0, N_IGNORED):
            with tempfile.TemporaryDirectory() as scratch:
                folder = make(Path(scratch).resolve() / "project", n_files, n_ignored)
                name = f"{n_files}_files" + (f"_{n_ignored}_ignored" if n_ignored else "")
                figures[name] = asyncio.run(measured(folder, sorted(folder.rglob("*.py")), rounds))
    write_result("snapshots", figures)


def make(folder: Path, n_files: int, n_ignored: int) -> Path:
    """A repository of files that compress as source does."""
    chance = random.Random(n_files)
    words = [f"{chance.choice(('value', 'name', 'item', 'self'))}_{number}" for number in range(2_000)]
    bodies = ["".join(f"    {' '.join(chance.choices(words, k=4))}\n" for _ in range(60)) for _ in range(200)]
    for number in range(n_files):
        path = folder / f"d{number // 500}" / f"s{number % 500 // 20}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n{chance.choice(bodies)}")
    (folder / ".gitignore").write_text("*.log\n")
    for number in range(n_ignored):
        (folder / "d0" / f"{number}.log").write_text(f"{number}\n" * 500)
    identity = ["-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"], ["repack", "-adq"]):
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)
    return folder


async def measured(folder: Path, files: Sequence[Path], rounds: int) -> dict[str, float]:
    """The first snapshot, and the later ones."""
    stores = folder.with_name("stores")
    keeper = Snapshots(stores, lambda: shutil.which("git"), days=30)
    first = await taken(keeper, folder)
    kilobytes = size_of(stores)
    later: list[float] = []
    for number in range(rounds):
        for file in files[number::97][:N_CHANGED]:
            file.write_text(f"changed {number}\n")
        later.append(await taken(keeper, folder))
    return {
        "first_ms": round(first, 1),
        "later_median_ms": round(statistics.median(later), 1),
        "later_min_ms": round(min(later), 1),
        "kilobytes": kilobytes,
    }


def size_of(folder: Path) -> int:
    """Kilobytes on the disk."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) // 2


async def taken(keeper: Snapshots, folder: Path) -> float:
    begin = perf_counter()
    await keeper.take([folder], {})
    return (perf_counter() - begin) * 1000


if __name__ == "__main__":
    main()
