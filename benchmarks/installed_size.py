"""What an installation without extras takes on the disk, by distribution, and which distributions require each.

Sizes are those of the files that each distribution lists, with compiled bytecode. Needs an environment in which
pygent-ls is installed, with or without extras.
"""

from __future__ import annotations

from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "pygent-ls"

SMALLEST_MB = 1.0
"""Distributions below this size are summed up in one line."""


def required_by(root: str) -> dict[str, set[str]]:
    """The distributions that `root` needs, each with those that require it directly."""
    users: dict[str, set[str]] = {}
    todo = [(root, frozenset[str]())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if needed.marker and not any(needed.marker.evaluate({"extra": each}) for each in ("", *extras)):
                continue
            users.setdefault(canonicalize_name(needed.name), set()).add(name)
            todo.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return users


def size_mb(found: Distribution) -> float:
    """The size of a distribution's files in MB."""
    paths = (Path(str(found.locate_file(each))) for each in found.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    """Print the table."""
    users = required_by(NAME)
    sizes = {name: size_mb(distribution(name)) for name in users}
    large = sorted((name for name in sizes if sizes[name] >= SMALLEST_MB), key=lambda name: -sizes[name])
    print("| distribution | MB | required by |\n|---|---|---|")
    for name in large:
        print(f"| {name} | {sizes[name]:.1f} | {', '.join(sorted(users[name]))} |")
    small = [sizes[name] for name in sizes if name not in large]
    print(f"| {len(small)} others | {sum(small):.1f} | |")
    print(f"| **all {len(sizes)}** | **{sum(sizes.values()):.1f}** | |")


if __name__ == "__main__":
    main()
