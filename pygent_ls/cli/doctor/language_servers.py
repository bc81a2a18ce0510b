"""Language servers: those of the settings, and well-known ones on this machine with the lines that would add them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pygent_ls.config.settings import Settings

KNOWN: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "basedpyright": (("basedpyright-langserver", "--stdio"), ("*.py", "*.pyi")),
    "pyright": (("pyright-langserver", "--stdio"), ("*.py", "*.pyi")),
    "pylsp": (("pylsp",), ("*.py", "*.pyi")),
    "ruff": (("ruff", "server"), ("*.py", "*.pyi")),
    "typescript": (
        ("typescript-language-server", "--stdio"),
        ("*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"),
    ),
    "gopls": (("gopls",), ("*.go",)),
    "rust-analyzer": (("rust-analyzer",), ("*.rs",)),
    "clangd": (("clangd",), ("*.c", "*.h", "*.cc", "*.cpp", "*.hpp")),
    "jdtls": (("jdtls",), ("*.java",)),
    "solargraph": (("solargraph", "stdio"), ("*.rb",)),
    "lua": (("lua-language-server",), ("*.lua",)),
    "bash": (("bash-language-server", "start"), ("*.sh", "*.bash")),
    "json": (("vscode-json-language-server", "--stdio"), ("*.json", "*.jsonc")),
    "yaml": (("yaml-language-server", "--stdio"), ("*.yaml", "*.yml")),
    "zls": (("zls",), ("*.zig",)),
}
"""Command and files of servers that many users have."""


def language_servers(settings: Settings, find: Callable[[str], str | None]) -> Iterator[tuple[str, str]]:
    """Yield a row for each server of the settings, then for each known one that is installed and not used."""
    for name, table in settings.language_servers.items():
        yield name, _state(table.command[0], find) if table.enabled else "disabled"
    used = {Path(table.command[0]).name for table in settings.language_servers.values()}
    for name, (command, files) in KNOWN.items():
        if command[0] not in used and find(command[0]) is not None:
            lines = f"command = {json.dumps(list(command))}, files = {json.dumps(list(files))}"
            yield f"({name})", f"installed, not used; to use it: language_servers.{name} = {{ {lines} }}"


def _state(program: str, find: Callable[[str], str | None]) -> str:
    if os.sep in program:
        return f"{program}, from its root" if not Path(program).is_absolute() else _exists(Path(program))
    return find(program) or f"{program} was not found outside of the workspace. Install it, or write its path"


def _exists(program: Path) -> str:
    return str(program) if os.access(program, os.X_OK) else f"{program} cannot be run"
