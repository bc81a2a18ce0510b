"""`python -m clients.neovim.scripts.check_types`: what is wrong with the types of the plugin, one a line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from clients.neovim.scripts.checking.check import Problem, Use, check_plugin

PLUGIN = Path(__file__).parent.parent
NVIM = Path(sys.executable).parent / "nvim"
"""Configuration of the development tools, which the tests use too."""


def problems_of(plugin: Path) -> list[Problem]:
    """All that is found; what the code uses of Neovim is looked up in a real one."""
    runtime = Path(_told_by_neovim(["+lua io.write(vim.env.VIMRUNTIME)", "+q"]))
    problems, uses = check_plugin(plugin, runtime)
    return sorted([*problems, *_of_no_neovim(uses)])


def _of_no_neovim(uses: Iterable[Use]) -> list[Problem]:
    names = "".join(f"{name}\n" for name in sorted({use.name for use in uses}))
    unknown = _told_by_neovim(["-l", str(Path(__file__).with_name("names.lua"))], names).splitlines()
    return [Problem(use.path, use.line, f"Neovim has no `{use.name}`") for use in uses if use.name in unknown]


def _told_by_neovim(arguments: list[str], told: str = "") -> str:
    command = [str(NVIM), "--clean", "--headless", *arguments]
    done = subprocess.run(command, input=told, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout + done.stderr


def main() -> int:
    """The exit code: 1 where something is wrong."""
    found = problems_of(PLUGIN)
    sys.stdout.write("".join(f"{one}\n" for one in found) or "no problem found\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
