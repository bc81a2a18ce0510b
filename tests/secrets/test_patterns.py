"""Each form of a key in patterns.toml finds what it is for, and nothing else, in linear time."""

from __future__ import annotations

import re

import pytest

from pygent_ls.secrets.detectors import EXCLUSIONS, detect
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.patterns import SecretPattern, secret_patterns
from pygent_ls.secrets.redactor import MAX_PLACEHOLDER_CHARS
from tests.house.growth import grows_too_fast
from tests.house.patterns import hard_texts

PATTERNS = {each.id: each for each in secret_patterns()}

EXAMPLES = [
    pytest.param(each, text, id=f"{each.id}-{n}") for each in PATTERNS.values() for n, text in enumerate(each.examples)
]
COUNTER_EXAMPLES = [
    pytest.param(each, text, id=f"{each.id}-{n}")
    for each in PATTERNS.values()
    for n, text in enumerate(each.counter_examples)
]

AROUND = (
    "{}",
    'x = "{}"\n',
    'first\n{{"value": "{}"}}\nlast',
    "     7\t{}",
    "+{}",
    "the key is {} and no other",
    "{}\r\n{}",
)


def values(pattern: SecretPattern, text: str) -> set[str]:
    """What is found in a text by one pattern."""
    return {text[each.start : each.end] for each in find_secrets(text) if each.kind == pattern.id}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("pattern", "example"), EXAMPLES)
def test_a_key_is_found_alone_and_inside_text(pattern: SecretPattern, example: str, around: str) -> None:
    (value,) = values(pattern, example)

    assert example.endswith(value)
    assert value in values(pattern, around.replace("{}", example))


@pytest.mark.parametrize(("pattern", "text"), COUNTER_EXAMPLES)
def test_what_only_resembles_a_key_is_left_alone(pattern: SecretPattern, text: str) -> None:
    assert values(pattern, text) == set()
    assert values(pattern, f'first\nx = "{text}"\nlast') == set()


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_takes_linear_time(pattern: SecretPattern) -> None:
    def run(text: str) -> None:
        list(detect(pattern, text, text.lower()))

    makers = hard_texts(re.compile(pattern.regex))
    slow = [make(20) for make in makers if grows_too_fast(run, make, length=1_000, times=8, floor_s=0.002)]

    assert slow == []


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_an_entry_is_whole(pattern: SecretPattern) -> None:
    assert pattern.provider
    assert pattern.url.startswith("https://")
    assert pattern.prefixes or pattern.keywords
    assert pattern.examples
    assert pattern.counter_examples
    assert set(pattern.unless) <= EXCLUSIONS.keys()
    assert all(keyword == keyword.lower() for keyword in pattern.keywords)
    assert re.fullmatch("[a-z_]+", pattern.id)
    assert len(f"{{{{SECRET_{pattern.id}_0123456789ab}}}}") <= MAX_PLACEHOLDER_CHARS


def test_an_id_stands_once() -> None:
    assert len(PATTERNS) == len(secret_patterns())
