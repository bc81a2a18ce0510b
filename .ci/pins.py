"""Prints the version of every package that .venv holds for us and the tests, as constraints for .ci/venv.

`make pins` writes them to .ci/pins.txt. What lies in .venv for other reasons is left out.
"""

import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

HEAD = """\
# Made by `make pins`: the versions that the tests ran with. `make test` and `make demo` install these, so that a new
# release of a dependency breaks nobody's work; the package itself allows the ranges in pyproject.toml.
# `make upgrade test pins` goes on to the newest."""

OLDEST = "3.11.0"
"""`requires-python` of pyproject.toml; Debian 12 has 3.11.2."""


def condition(pythons: str | None) -> str:
    """Return the Pythons of a release as a marker, if they are not all of ours: the others install what fits them."""
    wanted = SpecifierSet(pythons or "")
    if wanted.contains(OLDEST):
        return ""
    return "; " + " and ".join(sorted(f"python_full_version {each.operator} '{each.version}'" for each in wanted))


def add(requirements: Iterable[str], extras: frozenset[str], pins: dict[str, str]) -> None:
    """Add what is required here, and what that requires, to `pins`: a line by the name of each and its extras."""
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            continue
        name, its_extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        key = ",".join((name, *sorted(its_extras)))
        if key in pins:
            continue
        try:
            found = distribution(name)
        except PackageNotFoundError:
            sys.exit(f"{name} is not in .venv: run `make check` first")
        pins[key] = f"{name}=={found.version}{condition(found.metadata['Requires-Python'])}"
        add(found.requires or (), its_extras, pins)


def main() -> None:
    """Print the file."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["dev"]]
    wanted += project["build-system"]["requires"]
    pins: dict[str, str] = {}
    add(wanted, frozenset(), pins)
    sys.stdout.write("\n".join((HEAD, *sorted(set(pins.values())))) + "\n")


main()
