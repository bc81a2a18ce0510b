"""Places of findings: they stay at their text, whatever is typed around them or in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.documents.kept_spans import KeptSpans
from pygent_ls.editors.lsp.documents.tracked_spans import TextSpan

LINES = st.lists(st.sampled_from(["alpha\n", "beta\n", "\n", "gamma delta\n", "naïve 😀\n"]), min_size=1, max_size=12)


@st.composite
def texts_and_spans(draw: st.DrawFn) -> tuple[str, TextSpan]:
    """A text, and a span of whole lines in it."""
    lines = draw(LINES)
    first = draw(st.integers(0, len(lines) - 1))
    last = draw(st.integers(first, len(lines) - 1))
    start = sum(map(len, lines[:first]))
    return "".join(lines), TextSpan(start, start + sum(map(len, lines[first : last + 1])))


EDITS = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80), st.text("ab\n", max_size=8)), max_size=8)


def apply(kept: KeptSpans, at: int, to: int, new: str) -> tuple[int, int, str]:
    """Make an edit, and return the one that takes it back."""
    start, end = sorted((min(at, len(kept.text)), min(to, len(kept.text))))
    old = kept.text[start:end]
    kept.changed(start, end, new, kept.text[:start] + new + kept.text[end:])
    return start, start + len(new), old


@given(texts_and_spans(), EDITS)
def test_a_span_is_always_a_part_of_the_text(
    given_text: tuple[str, TextSpan], edits: list[tuple[int, int, str]]
) -> None:
    text, span = given_text
    kept = KeptSpans(text, [span])
    for at, to, new in edits:
        apply(kept, at, to, new)
        assert 0 <= kept.spans[0].start <= kept.spans[0].end <= len(kept.text)


@given(texts_and_spans(), EDITS)
def test_edits_outside_leave_the_text_of_a_span_alone(
    given_text: tuple[str, TextSpan], edits: list[tuple[int, int, str]]
) -> None:
    text, span = given_text
    code = text[span.start : span.end]
    kept = KeptSpans(text, [span])
    for at, to, new in edits:
        start, end = sorted((at, to))
        here = kept.spans[0]
        if end <= here.start or start >= here.end:
            apply(kept, start, end, new)
            assert kept.text[kept.spans[0].start : kept.spans[0].end] == code


@given(texts_and_spans(), st.integers(0, 80), st.integers(0, 80), st.text("ab\n", max_size=8))
def test_an_undo_of_an_edit_inside_restores_the_span(
    given_text: tuple[str, TextSpan], at: int, to: int, new: str
) -> None:
    text, span = given_text
    kept = KeptSpans(text, [span])
    start, end = sorted((span.start + at % (len(text) + 1), span.start + to % (len(text) + 1)))
    start, end = min(start, span.end - 1), min(end, span.end)
    if start == end == span.start:  # typed before the first line, which moves it
        return
    back = apply(kept, start, end, new)
    apply(kept, *back)
    assert kept.text == text
    assert text[kept.spans[0].start : kept.spans[0].end] == text[span.start : span.end]


@given(texts_and_spans(), LINES)
def test_a_text_that_was_replaced_and_restored_by_an_unknown_change(
    given_text: tuple[str, TextSpan], other: list[str]
) -> None:
    text, span = given_text
    kept = KeptSpans(text, [span])
    kept.catch_up("".join(other))
    kept.catch_up(text)
    assert 0 <= kept.spans[0].start <= kept.spans[0].end <= len(text)


def test_deleted_lines_are_found_again_where_they_are_inserted() -> None:
    kept = KeptSpans("one\ntwo\nthree\n", [TextSpan(4, 8)])
    kept.changed(4, 8, "", "one\nthree\n")
    assert kept.spans == [TextSpan(4, 4)]
    kept.changed(4, 4, "two\n", "one\ntwo\nthree\n")
    assert kept.spans == [TextSpan(4, 8)]
