"""Languages that are parsed, each with its grammar, which is included in its wheel and imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Parser

LANGUAGES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("tree_sitter_cpp", "language")),
    ".java": ("tree_sitter_java", "language"),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys((".kt", ".kts"), ("tree_sitter_kotlin", "language")),
    ".swift": ("tree_sitter_swift", "language"),
    **dict.fromkeys((".scala", ".sc"), ("tree_sitter_scala", "language")),
    **dict.fromkeys((".rb", ".rake"), ("tree_sitter_ruby", "language")),
    ".lua": ("tree_sitter_lua", "language"),
    **dict.fromkeys((".sh", ".bash"), ("tree_sitter_bash", "language")),
}
"""Module and name of its language function, by file suffix."""


def language_of(suffix: str) -> Language:
    """Return the language of files with this suffix, which is one of `LANGUAGES`."""
    return _language(*LANGUAGES[suffix])


def parser_of(suffix: str) -> Parser:
    """Return the parser for files with this suffix."""
    from tree_sitter import Parser

    return Parser(language_of(suffix))


@cache
def _language(module: str, function: str) -> Language:
    from tree_sitter import Language

    capsule: object = getattr(import_module(module), function)()
    return Language(capsule)
