"""Docstrings and comments are plain technical English. CONTRIBUTING.md has the rules; these are signs of a breach."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.house.test_invariants import ROOT, package

FRAGMENT = re.compile(r"(Of|That|For|Whose|Likewise|As of|As in|Nobody|No one)\b")
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
"""Constructions that have to be read twice: "where" for "if", "is no", "of … there are"."""


def sign_in(text: str, *, is_docstring: bool) -> str | None:
    """Return the first sign of a breach in a docstring or comment."""
    text = " ".join(text.split())
    found = (FRAGMENT.match(text) or REFERENCE.match(text)) if is_docstring else None
    found = found or PHRASE.search(text)
    return found[0].strip() if found else None


def prose_of(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and whether it is a docstring, of each docstring and comment in Python source."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(docstring))):
                yield node.lineno, docstring, True
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def breaches(text: str) -> list[tuple[int, str]]:
    """Return line and sign of each breach in Python source."""
    found = ((line, sign_in(prose, is_docstring=is_docstring)) for line, prose, is_docstring in prose_of(text))
    return sorted((line, sign) for line, sign in found if sign is not None)


def test_docstrings_and_comments_are_plain_english() -> None:
    found = [
        f"pygent_ls/{source.path}:{line}: {sign}"
        for source in package()
        for line, sign in breaches((ROOT / "pygent_ls" / source.path).read_text(encoding="utf-8"))
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


def test_plain_sentences_pass() -> None:
    assert breaches('"""Return the folder in which the session runs."""\n# no longer used: see the module') == []
