"""Docstrings and comments, in every language here, are plain technical English.

CONTRIBUTING.md has the rules; these are signs of a breach.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.test_invariants import ROOT

Prose = tuple[int, str, bool]
"""Line, text, and whether it is a docstring rather than a comment."""

FRAGMENT = re.compile(r"(Of|That|Those|For|From|With|Whose|It|They|Null|Likewise|As of|As in|Nobody|No one)\b")
"""Beginning of a docstring that does not say what the thing is or does."""

REFERENCE = re.compile(r"(See|Like|As) `[^`]+`\.?$")
"""Docstring that only sends the reader elsewhere."""

PHRASE = re.compile(
    r"""
      \b(?: nobody | nobody's | no\ one's )\b
    | \b(?: is | are | was | were )\ none\b
    | (?<! there\ )\b(?: is | are | was | were )\ no\ (?! longer | more | later | less | earlier )
    | \bwhere\ (?: it | there | that | they | one | none | nothing | nobody | this | he )\b
    | \bof\ [^.,;:]{1,40}\ there\ (?: is | are | was | were )\b
    | \blikewise\b
    | \bcomes?\ to\ (?: nothing | be | its\ end )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Constructions that have to be read twice, such as a relative "where" in place of "if"."""


def sign_in(text: str, *, is_docstring: bool) -> str | None:
    """Return the first sign of a breach in a docstring or comment."""
    text = " ".join(text.split())
    found = (FRAGMENT.match(text) or REFERENCE.match(text)) if is_docstring else None
    found = found or PHRASE.search(text)
    return found[0].strip() if found else None


def prose_of_python(text: str) -> Iterator[Prose]:
    """Yield each docstring and comment."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(docstring))):
                yield node.lineno, docstring, True
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def prose_of_typescript(text: str) -> Iterator[Prose]:
    """Yield each block comment, and each run of line comments."""
    comment = r"/\*\*?(?P<block>(?s:.*?))\*/|(?P<lines>(?:^\s*//.*\n)+)|[;{,] (?P<end>//.*)"
    for found in re.finditer(comment, text, re.MULTILINE):
        prose = found["block"] or found["lines"] or found["end"] or ""
        bare = re.sub(r"^\s*(?:\*|//)", "", prose, flags=re.MULTILINE)
        yield text.count("\n", 0, found.start()) + 1, bare, found["block"] is not None


def prose_of_lua(text: str) -> Iterator[Prose]:
    """Yield each run of comment lines, each annotation, and each comment behind code."""
    comment = r"(?P<run>(?:^\s*---?(?!-|@| @).*\n)+)|^\s*---@\w+ (?P<tag>.*)|\S.* -- (?P<end>.*)"
    for found in re.finditer(comment, text, re.MULTILINE):
        prose = found["run"] or found["tag"] or found["end"] or ""
        bare = re.sub(r"^\s*---?", "", prose, flags=re.MULTILINE)
        yield text.count("\n", 0, found.start()) + 1, bare, found["run"] is not None


READERS: dict[str, Callable[[str], Iterator[Prose]]] = {
    ".py": prose_of_python,
    ".ts": prose_of_typescript,
    ".tsx": prose_of_typescript,
    ".lua": prose_of_lua,
}

FOLDERS = (
    "pygent_ls",
    "tests",
    "benchmarks",
    "evaluation",
    "docs",
    ".ci",
    "clients/vscode/src",
    "clients/vscode/scripts",
    "clients/vscode/test",
    "clients/neovim",
)
"""Folders of the repository whose prose is checked."""


def breaches(text: str, ending: str = ".py") -> list[tuple[int, str]]:
    """Return line and sign of each breach in a source text of that language."""
    found = ((line, sign_in(prose.strip(), is_docstring=is_doc)) for line, prose, is_doc in READERS[ending](text))
    return sorted((line, sign) for line, sign in found if sign is not None)


def sources(folder: str) -> Iterator[Path]:
    """Yield the source files of a folder."""
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in READERS and path.is_file():
            yield path


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_and_comments_are_plain_english(folder: str) -> None:
    found = [
        f"{source.relative_to(ROOT)}:{line}: {sign}"
        for source in sources(folder)
        for line, sign in breaches(source.read_text(encoding="utf-8"), source.suffix)
    ]

    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        '"""Of a model that is asked."""',
        '"""See `Core`."""',
        '"""Return it; None where there is none."""',
        "x = 1  # nobody reads it",
        'class A:\n    x: int\n    """That a question lists."""',
    ],
)
def test_a_breach_is_found(code: str) -> None:
    assert len(breaches(code)) == 1


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (".ts", "/** Of a model that is asked. */\n"),
        (".tsx", "/**\n * Returns it; null where there\n * is none.\n */\n"),
        (".ts", "const x = 1; // nobody reads it\n"),
        (".ts", "\t// Where one is missing, all\n\t// where it is not\n"),
        (".lua", "---Of a model that is asked.\nlocal x = 1\n"),
        (".lua", "--- Return it; nil where\n--- there is none.\nlocal x = 1\n"),
        (".lua", "local x = 1 -- nobody reads it\n"),
        (".lua", "---@param x integer nil where there is none\n"),
    ],
)
def test_a_breach_is_found_in_other_languages(ending: str, code: str) -> None:
    assert len(breaches(code, ending)) == 1


def test_plain_sentences_pass() -> None:
    assert breaches('"""Return the folder in which the session runs."""\n# no longer used: see the module') == []
