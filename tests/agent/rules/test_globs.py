"""Globs on paths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pygent_ls.agent.rules.globs import escape, glob_to_regex, literal_prefix
from tests.house.growth import limited


def matches(pattern: str, path: str) -> bool:
    return re.fullmatch(glob_to_regex(pattern), path) is not None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "src/a_py", False),
        ("src/*", "src/a.py", True),
        ("src/*", "src/lib/a.py", False),
        ("src/**", "src/lib/a.py", True),
        ("src/**", "src", False),
        ("src/**", "other/src/a.py", False),
        ("**/.env", ".env", True),
        ("**/.env", "a/b/.env", True),
        ("**/.env", "a/b/x.env", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("?.py", "a.py", True),
        ("?.py", "/.py", False),
        ("[*].py", "*.py", True),
        ("[*].py", "a.py", False),
        ("a[[]b", "a[b", True),
        ("*", "line\nbreak", True),
        ("*.PY", "a.py", False),
        ("a", "a\n", False),
    ],
)
def test_a_star_stays_in_its_folder_and_two_stars_do_not(*, pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


names = st.text(alphabet=st.sampled_from("ab*?[]!/-.\\ \n{}()|^$é"), max_size=12)


@given(names, names)
def test_an_escaped_path_matches_itself_and_no_other(path: str, other: str) -> None:
    assert matches(escape(path), path)
    assert matches(escape(path), other) is (path == other)


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_can_be_escaped_and_any_text_is_a_pattern(path: str, pattern: str) -> None:
    assert matches(escape(path), path)
    matches(pattern, path)


@given(names)
def test_the_literal_prefix_of_an_escaped_path_is_the_path(path: str) -> None:
    assert literal_prefix(escape(path)) == Path(path)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("/w/src/*.py", "/w/src"),
        ("/w/src/a*", "/w/src"),
        ("/w/**", "/w"),
        ("/w/a[*]b/**/c", "/w/a*b"),
        ("**/*.py", "."),
        ("/**", "/"),
        ("/*", "/"),
        ("/w", "/w"),
    ],
)
def test_the_literal_prefix_is_the_folder_before_the_first_wildcard(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == Path(prefix)


def plainly_matches(pattern: str, path: str) -> bool:
    """What the stars mean, tried out one by one."""
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        rests = [path, *(path[at + 1 :] for at, each in enumerate(path) if each == "/")]
        return any(plainly_matches(pattern[3:], rest) for rest in rests)
    if pattern.startswith("*"):
        n_stars = 2 if pattern.startswith("**") else 1
        n_most = len(path) if n_stars == 2 else len(path.partition("/")[0])
        return any(plainly_matches(pattern[n_stars:], path[at:]) for at in range(n_most + 1))
    return path[:1] == pattern[0] and plainly_matches(pattern[1:], path[1:])


segments = st.lists(st.sampled_from(["a", "b", "*", "a*", "*b", "*a*", "a**b", "**a", "**"]), min_size=1, max_size=5)


@given(segments.map("/".join), st.text(alphabet="ab/", max_size=10))
@example("**/a*b", "ax/ab")
@example("**/a*b/**/*a*", "ab/aab/b/ba")
def test_the_first_place_that_fits_is_as_good_as_any_other(pattern: str, path: str) -> None:
    assert matches(pattern, path) is plainly_matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("**/" + "*a" * 30 + "b", "a" * 250), ("**/a/" * 30 + "b", "a/" * 1000 + "c"), ("**a" * 30 + "b", "a" * 4000)],
)
def test_no_pattern_holds_anything_up(pattern: str, path: str) -> None:
    with limited():
        assert not matches(pattern, path)


parts = st.lists(st.sampled_from(["a", "b", "ab", "*", "**", "?", "a*", "[*]"]), min_size=1, max_size=4)
folders = st.lists(st.sampled_from(["a", "b", "ab", "*"]), min_size=1, max_size=4)


@given(parts, folders)
def test_all_that_matches_lies_below_the_literal_prefix(pattern_parts: list[str], path_parts: list[str]) -> None:
    pattern, path = "/" + "/".join(pattern_parts), Path("/" + "/".join(path_parts))
    if matches(pattern, str(path)):
        assert literal_prefix(pattern) in (path, *path.parents)
