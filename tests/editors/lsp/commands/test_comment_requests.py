"""Comments that ask for something, in the comment signs of many languages."""

from __future__ import annotations

import pytest

from pygent_ls.editors.lsp.commands.comment_requests import MAX_REQUESTS, comment_requests


def requests(name: str, text: str) -> list[tuple[int, str]]:
    return list(comment_requests(f"file:///project/{name}", text))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", "# pygent: do it"),
        ("a.py", "x = 1  # pygent: do it"),
        ("a.py", "#pygent:do it"),
        ("a.py", '    """pygent: do it"""'),
        ("a.py", "print('it', \"don't\") # pygent: do it"),
        ("Makefile", "\t# pygent: do it"),
        ("a.c", "/* pygent: do it */"),
        ("a.c", " * pygent: do it"),
        ("a.js", "// pygent: do it"),
        ("a.jsx", "{/* pygent: do it */}"),
        ("a.rs", "fn f<'a>(x: &'a str) {} /// pygent: do it"),
        ("a.sql", "select 'it''s'; -- pygent: do it"),
        ("a.lua", "--[[ pygent: do it ]]"),
        ("a.el", "(quote 'x) ;; pygent: do it"),
        ("a.hs", "{- pygent: do it -}"),
        ("a.ml", "(* pygent: do it *)"),
        ("a.html", "<p>It's <!-- pygent: do it -->"),
        ("a.html", "  // pygent: do it"),
        ("a.md", "<!-- pygent: do it -->"),
        ("a.tex", "\\foo % pygent: do it"),
        ("a.erl", "%% pygent: do it"),
        ("a.j2", "{# pygent: do it #}"),
        ("a.erb", "<%# pygent: do it %>"),
        ("a.vim", '" pygent: do it'),
        (".vimrc", '  " pygent: do it'),
        ("a.vb", "' pygent: do it"),
        ("a.f90", "! pygent: do it"),
        ("a.bat", "REM pygent: do it"),
        ("a.rst", ".. pygent: do it"),
    ],
)
def test_a_comment_of_any_language_asks(name: str, line: str) -> None:
    assert requests(name, f"first\n{line}\nlast") == [(1, "do it")]


def test_what_a_comment_asks_for_may_hold_quotes() -> None:
    assert requests("a.py", "x = 'y' # pygent: it's `this`, \"that\"") == [(0, 'it\'s `this`, "that"')]
    assert requests("a.vim", '" pygent: rename "a" to b') == [(0, 'rename "a" to b')]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", 'x = "# pygent: no"'),
        ("a.py", 'x = "a\\"b # pygent: no"'),
        ("a.py", "x = f'# pygent: no'"),
        ("a.py", '    "pygent: no",'),
        ("a.js", "x = `// pygent: no`"),
        ("a.py", "u = https://pygent:secret@host/"),
        ("a.yaml", "pygent: no"),
        ("a.yaml", "  pygent: no"),
        ("a.c", "x = 1; pygent: goto"),
        ("a.md", "# pygent: a heading"),
        ("a.md", "* pygent: of a list"),
        ("a.py", "# not pygent: no"),
        ("a.py", "# pygent:"),
        ("a.c", "/* pygent: */"),
    ],
)
def test_what_only_looks_like_one_does_not_ask(name: str, line: str) -> None:
    assert requests(name, line) == []


def test_lines_end_in_every_way() -> None:
    assert requests("a.py", "a\r# pygent: b\r\n# pygent: c\n\n# pygent: d") == [(1, "b"), (2, "c"), (4, "d")]


def test_of_very_many_the_first_count() -> None:
    assert len(requests("a.py", "# pygent: x\n" * (MAX_REQUESTS + 1))) == MAX_REQUESTS


def test_a_line_that_no_person_wrote_is_left_out() -> None:
    """Its quotes would cost the square of its length."""
    assert requests("a.py", "'\\" * 500_000 + "# pygent: no\n# pygent: yes") == [(1, "yes")]
