"""The text of a map is never longer than its limit, and has the most important definitions first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.repository_map import MapEntry, map_text
from pygent_ls.syntax.symbols import Symbol


def entry(file: str, line: int, name: str, container: str = "") -> MapEntry:
    symbol = Symbol(name, "class", line, line, line, container, 1 if container else 0)
    return MapEntry(file=file, symbol=symbol, signature=f"class {name}:")


def test_definitions_stand_by_file_and_line() -> None:
    entries = [entry("b.py", 9, "Late"), entry("a.py", 1, "Shape"), entry("b.py", 2, "area", "Late")]

    assert map_text(entries, max_chars=1_000, n_symbols=3) == (
        "b.py:\n2: class area: (in Late)\n9: class Late:\na.py:\n1: class Shape:"
    )


def test_what_is_left_out_is_counted_and_notes_are_kept() -> None:
    entries = [entry("a.py", n, f"Shape{n}") for n in range(1, 100)]

    text = map_text(entries, max_chars=160, n_symbols=4_000, notes=["2 files were left out"])

    assert text == (
        "a.py:\n1: class Shape1:\n2: class Shape2:\n[2 files were left out]\n"
        "[2 of 4,000 definitions; raise max_tokens, or name a folder or a focus, to see others]"
    )


def test_a_file_name_is_one_line() -> None:
    assert map_text([entry("a\nb: x.py", 1, "X")], max_chars=500, n_symbols=1).count("\n") == 1


ENTRIES = st.lists(
    st.builds(entry, st.sampled_from(["a.py", "dir/b.py", "ü.py"]), st.integers(1, 99), st.text("ab", min_size=1)),
    max_size=30,
)


@given(ENTRIES, st.integers(0, 1_500), st.lists(st.text(max_size=30), max_size=3))
def test_the_limit_holds_and_more_room_only_adds(entries: list[MapEntry], max_chars: int, notes: list[str]) -> None:
    def shown(limit: int) -> list[str]:
        text = map_text(entries, max_chars=limit, n_symbols=len(entries) + 1, notes=notes)
        assert len(text) <= limit
        return [line for line in text.split("\n") if line[:1].isdigit()]

    assert shown(max_chars) == shown(max_chars)
    assert set(shown(max_chars)) <= set(shown(max_chars + 400))
