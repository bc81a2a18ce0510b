"""Definitions in other documents that a completion may need."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.completion.definitions import MAX_CHARS, MAX_DEFINITIONS, MAX_LINES, Definitions, OpenText

SHAPES = OpenText(
    Path("/w/shapes.py"), "shapes.py", "import math\n\n\ndef area(r):\n    return math.pi * r\n\n\nSIDE = 3\n"
)


def parsed(*documents: OpenText) -> Definitions:
    definitions = Definitions()
    definitions.parse(definitions.unknown(documents))
    return definitions


def texts(definitions: Definitions, before: str, *documents: OpenText) -> list[str]:
    return [each.text for each in definitions.used_in(before, documents)]


def test_the_definition_of_the_nearest_name_is_next_to_the_cursor() -> None:
    found = texts(parsed(SHAPES), "SIDE\nmath\nx = area(", SHAPES)

    assert found == ["SIDE = 3", "def area(r):\n    return math.pi * r"]


def test_what_is_not_parsed_yet_or_has_changed_since_has_no_definitions() -> None:
    changed = SHAPES._replace(text=SHAPES.text + "\n")
    definitions = parsed(SHAPES)

    assert texts(Definitions(), "area(", SHAPES) == texts(definitions, "area(", changed) == []
    assert definitions.unknown([SHAPES, changed]) == [changed]


def test_a_language_without_a_parser_is_not_parsed() -> None:
    assert Definitions().unknown([OpenText(Path("/w/a.txt"), "a.txt", "def area(r): ...")]) == []


def test_documents_that_nobody_works_with_any_more_are_forgotten() -> None:
    definitions = parsed(SHAPES)

    definitions.keep([])

    assert definitions.unknown([SHAPES]) == [SHAPES]


def test_a_long_definition_is_cut_between_lines() -> None:
    lines = [f"    # {'x' * 200}"] * 20
    long = OpenText(Path("/w/a.py"), "a.py", "\n".join(["def area(r):", *lines, "    return r"]))
    wide = OpenText(Path("/w/b.py"), "b.py", f"def area({', '.join(f'a{number}' for number in range(300))}): ...\n")

    (found,) = texts(parsed(long), "area(", long)

    assert found == "\n".join(["def area(r):", *lines[:2]])
    assert texts(parsed(wide), "area(", wide) == []


@given(text=st.text("abd ef(:)\n\r\t\ud83d#", max_size=200), before=st.text("ab de\n", max_size=50))
def test_whatever_is_open_what_is_sent_is_short(text: str, before: str) -> None:
    other = OpenText(Path("/w/a.py"), "a.py", f"def aaa(b):\n{text}\nclass bbb: pass\n")

    found = texts(parsed(other), f"aaa bbb {before}", other)

    assert len(found) <= MAX_DEFINITIONS
    for each in found:
        assert len(each) <= MAX_CHARS
        assert each.count("\n") < MAX_LINES
