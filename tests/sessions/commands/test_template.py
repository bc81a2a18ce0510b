"""Arguments put into prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.sessions.commands.template import filled


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        ("Mend $1 of $2.", "12 'two words' rest", "Mend 12 of two words."),
        ("All: $ARGUMENTS", "12  'two words'", "All: 12  'two words'"),
        ("$1 and $9", "a", "a and "),
        ("no place", "a b", "no place\n\na b"),
        ("no place", "", "no place"),
        (r"\$1 costs $10, $0 and $ARGUMENTSX", "x", "$1 costs $10, $0 and $ARGUMENTSX\n\nx"),
        (r"\$1 is $1", "x", "$1 is x"),
        ("$1", "don't", "don't"),
    ],
)
def test_arguments_stand_where_the_prompt_says(template: str, text: str, expected: str) -> None:
    assert filled(template, text) == expected


@given(st.text(alphabet="$123ARGUMENTS\\ '\"x"))
def test_what_is_put_in_is_not_looked_at_again(text: str) -> None:
    assert filled("<$ARGUMENTS>", text) == f"<{text}>"


@given(st.text(alphabet=st.characters(blacklist_characters="$")), st.text())
def test_a_prompt_without_places_stays_and_has_the_arguments_below(template: str, text: str) -> None:
    assert filled(template, text) == (f"{template}\n\n{text}" if text else template)
