"""`make endurance`: all parts, or some, for the time that they are given.

    python -m tests.endurance [--hours H] [PART…]

Each part is a module with `main(hours)`, which prints what it finds and returns whether nothing is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping

PARTS: Mapping[str, str] = {
    "wire": "tests.endurance.wire.run",
    "parsers": "tests.endurance.parsers.run",
    "faults": "tests.endurance.faults",
    "soak": "tests.endurance.soak",
}


def main() -> int:
    """Run the parts one after another, each for its share of the time; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.endurance", description="Tests that take hours.")
    parser.add_argument("--hours", type=float, default=2.0, help="time for all parts together (default: 2)")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} (default: all)")
    given = parser.parse_args()
    if unknown := [each for each in given.parts if each not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}")
    wanted: list[str] = given.parts or list(PARTS)
    failed: list[str] = []
    for part in wanted:
        print(f"# {part}", flush=True)
        if not importlib.import_module(PARTS[part]).main(given.hours / len(wanted)):
            failed.append(part)
    print(f"failed: {', '.join(failed)}" if failed else "nothing was found", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
