"""Language servers of the settings: how they are started, and for which files. Pure but for the check of markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.extensions.pipes import RunProgram

LANGUAGE_IDS: Mapping[str, str] = {
    ".py": "python",
    ".pyi": "python",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
    ".go": "go",
    ".rs": "rust",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".cs": "csharp",
    ".java": "java",
    ".kt": "kotlin",
    ".rb": "ruby",
    ".php": "php",
    ".lua": "lua",
    ".sh": "shellscript",
    ".bash": "shellscript",
    ".json": "json",
    ".jsonc": "jsonc",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".html": "html",
    ".css": "css",
    ".scss": "scss",
    ".less": "less",
    ".md": "markdown",
    ".vue": "vue",
    ".svelte": "svelte",
    ".swift": "swift",
    ".zig": "zig",
    ".ex": "elixir",
    ".exs": "elixir",
    ".hs": "haskell",
    ".scala": "scala",
    ".dart": "dart",
    ".tf": "terraform",
}
"""Language identifiers of the protocol by suffix; for any other file, the suffix itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageServerSpec:
    """Server of the settings."""

    name: str
    command: tuple[str, ...]
    """Program and its arguments."""
    files: tuple[str, ...]
    """Globs of the names of the files that it is for."""
    root_markers: tuple[str, ...] = ()
    language_id: str = ""
    """Language identifier of all its files; by their suffix if empty."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    initialization_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings that the server asks for, by section."""
    startup_timeout_s: float = 30.0
    timeout_s: float = 10.0

    def is_for(self, path: Path) -> bool:
        """Whether the server is for this file."""
        return any(fnmatch(path.name, each) for each in self.files)

    def language_of(self, path: Path) -> str:
        """Return the language identifier of a file."""
        return self.language_id or LANGUAGE_IDS.get(path.suffix.lower(), path.suffix.lstrip(".") or "plaintext")


class LanguageServerHost(Struct, frozen=True, kw_only=True):
    """What servers need of the program that starts them."""

    run: RunProgram
    find: Callable[[str], str | None]
    """Finds a program on the search path."""
    folders: Callable[[], Sequence[Path]]
    """Returns the workspace folders."""
    tell: Callable[[str], None]
    """Shows the user a line."""


def root_of(path: Path, markers: Sequence[str], folders: Sequence[Path]) -> Path | None:
    """Return the nearest folder around a file, inside its workspace folder, that has one of the markers; the workspace
    folder if none has; None for a file outside of the workspace. Reads the disk."""
    around = [folder for folder in folders if folder in path.parents]
    if not around:
        return None
    top = max(around, key=lambda folder: len(folder.parts))
    for folder in path.parents:
        if folder == top:
            return top
        if any((folder / each).exists() for each in markers):
            return folder
    return top
