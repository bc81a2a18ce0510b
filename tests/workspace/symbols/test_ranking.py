"""What the files of a workspace refer to most ranks first, in the same order each time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.workspace.symbols.ranking import Definition, RankedFile, is_listed, rank


def source(path: str, defines: str = "", names: str = "", imports: str = "") -> RankedFile:
    """A file that defines classes, names each name once, and imports with these words."""
    definitions = [Definition(name, "class", is_member=False) for name in defines.split()]
    return RankedFile(path, definitions, dict.fromkeys(names.split(), 1), frozenset(imports.split()))


def ranked(sources: Sequence[RankedFile], **focus: Sequence[str]) -> list[str]:
    return [
        f"{sources[index].path.removeprefix('/w/')}:{sources[index].definitions[at].name}"
        for index, at in rank(sources, 1_000, **focus)
    ]


def test_what_more_files_refer_to_ranks_higher() -> None:
    sources = [
        source("/w/a.py", "Rare"),
        source("/w/b.py", "Usual"),
        *(source(f"/w/u{n}.py", "", "Usual", "b Usual") for n in range(3)),
        source("/w/v.py", "", "Rare", "a Rare"),
    ]

    assert ranked(sources) == ["b.py:Usual", "a.py:Rare"]


def test_what_an_important_file_refers_to_is_important() -> None:
    sources = [
        source("/w/core.py", "Core", "Inner", "inner Inner"),
        source("/w/inner.py", "Inner"),
        source("/w/other.py", "Other"),
        *(source(f"/w/u{n}.py", "", "Core", "core Core") for n in range(5)),
        source("/w/v.py", "", "Other", "other Other"),
    ]

    assert ranked(sources) == ["core.py:Core", "inner.py:Inner", "other.py:Other"]


def test_a_file_that_is_not_imported_is_hardly_meant() -> None:
    sources = [
        source("/w/tests/fake.py", "Literal"),
        source("/w/shape.py", "Shape"),
        *(source(f"/w/u{n}.py", "", "Literal", "typing Literal") for n in range(5)),
        source("/w/v.py", "", "Shape", "shape Shape"),
    ]

    assert ranked(sources)[0] == "shape.py:Shape"


def test_a_name_means_the_definition_that_is_imported() -> None:
    sources = [
        source("/w/a/shape.py", "Shape"),
        source("/w/b/other.py", "Shape"),
        source("/w/main.py", "", "Shape", "a shape Shape"),
    ]

    assert ranked(sources) == ["a/shape.py:Shape", "b/other.py:Shape"]


def test_other_languages_are_not_referred_to() -> None:
    sources = [
        source("/w/a.ts", "Shape"),
        source("/w/b.py", "Area"),
        *(source(f"/w/u{n}.py", "", "Shape", "a Shape") for n in range(5)),
        source("/w/v.py", "", "Area", "b Area"),
    ]

    assert ranked(sources) == ["b.py:Area", "a.ts:Shape"]


def test_files_and_names_of_the_focus_rank_higher() -> None:
    sources = [
        source("/w/a.py", "First"),
        source("/w/b.py", "Second"),
        source("/w/c.py", "Third"),
        *(source(f"/w/u{n}.py", "", "First", "a First") for n in range(3)),
        source("/w/v/x.py", "", "Second", "b Second"),
    ]

    assert ranked(sources) == ["a.py:First", "b.py:Second", "c.py:Third"]
    assert ranked(sources, focus=["/w/c.py"])[0] == "c.py:Third"
    assert ranked(sources, focus=["/w/v"])[0] == "b.py:Second"
    assert ranked(sources, focus=["/w/v/x.py"])[0] == "b.py:Second"
    assert ranked(sources, names=["Third"])[0] == "c.py:Third"


@pytest.mark.parametrize(
    ("kind", "is_member", "expected"),
    [
        ("class", True, True),
        ("function", False, True),
        ("variable", False, True),
        ("variable", True, False),
        ("field", True, False),
        ("enum value", True, False),
        ("module", False, False),
    ],
)
def test_parts_of_definitions_are_not_listed(kind: str, is_member: bool, expected: bool) -> None:
    assert is_listed(kind, is_member=is_member) is expected


SUFFIXES = (".py", ".ts", ".go", ".cs")
PATHS = [f"/w/{folder}{name}{suffix}" for folder in ("", "b/") for name in "pq" for suffix in SUFFIXES]
NAMES = st.sampled_from(["Shape", "area", "_side", "run_all", "x"])
DEFINITIONS = st.builds(Definition, NAMES, st.sampled_from(["class", "declaration", "variable"]), st.booleans())
SOURCES = st.lists(
    st.builds(
        RankedFile,
        st.sampled_from(PATHS),
        st.lists(DEFINITIONS),
        st.dictionaries(NAMES, st.integers(1, 1_000)),
        st.frozensets(st.sampled_from(["p", "q", "b", "Shape"])),
    ),
    max_size=12,
    unique_by=lambda each: each.path,
)


@given(SOURCES, st.lists(st.sampled_from(["/w", "/w/b", "/w/p.py"])), st.lists(NAMES))
def test_each_definition_is_ranked_once_and_in_the_same_order_each_time(
    sources: list[RankedFile], focus: list[str], names: list[str]
) -> None:
    found = rank(sources, 1_000, focus=focus, names=names)

    assert sorted(found) == [(index, at) for index, each in enumerate(sources) for at in range(len(each.definitions))]
    assert rank(sources, 3, focus=focus, names=names) == found[:3]
