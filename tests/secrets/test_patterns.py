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
    '{"out": "key:\\n{}"}',
    '"\\t{}"',
    "\\r{}",
    "x%3D{}",
    "x\\u003d{}",
    '"\\u001b[1;32m{}"',
)
"""Texts around an example. The last ones contain escape sequences as they are written in JSON and in URLs."""


def values(pattern: SecretPattern, text: str) -> set[str]:
    """What is found in a text by one pattern."""
    return {text[each.start : each.end] for each in find_secrets(text) if each.kind == pattern.id}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("pattern", "example"), EXAMPLES)
def test_a_key_is_found_alone_and_inside_text(pattern: SecretPattern, example: str, around: str) -> None:
    (value,) = values(pattern, example)

    assert example.endswith(value)
    assert value in values(pattern, around.replace("{}", example))


@pytest.mark.parametrize("name", ["hash: ", "digest ", "sha256="])
@pytest.mark.parametrize("id_", [each.id for each in PATTERNS.values() if "digest" not in each.unless])
def test_a_key_that_cannot_be_a_digest_is_found_after_the_name_of_a_digest(id_: str, name: str) -> None:
    pattern = PATTERNS[id_]

    for example in pattern.examples:
        assert values(pattern, name + example) == values(pattern, example) != set()


@pytest.mark.parametrize("before", ["\\", "%"])
@pytest.mark.parametrize("id_", ["databricks_token", "nvidia_key", "replicate_key", "stripe_key"])
def test_a_key_whose_own_letters_complete_an_escape_sequence_is_found(id_: str, before: str) -> None:
    pattern = PATTERNS[id_]

    assert [values(pattern, before + each) for each in pattern.examples] == [{each} for each in pattern.examples]


def test_a_token_in_the_address_of_a_telegram_bot_is_found_without_the_address() -> None:
    token = "7182930465:" + "AAhmCzDe2X2XtOIhZnU503nUt3nGsB2EgxH"

    assert values(PATTERNS["telegram_token"], f"https://api.telegram.org/bot{token}/sendMessage") == {token}


def test_a_token_of_several_parts_is_masked_as_a_whole() -> None:
    for example in PATTERNS["github_token"].examples:
        assert values(PATTERNS["github_token"], f"token {example}.") == {example}


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
    assert not (pattern.prefixes and "digest" in pattern.unless)
    assert all(keyword == keyword.lower() for keyword in pattern.keywords)
    assert re.fullmatch("[a-z_]+", pattern.id)
    assert len(f"{{{{SECRET_{pattern.id}_0123456789ab}}}}") <= MAX_PLACEHOLDER_CHARS


def test_an_id_stands_once() -> None:
    assert len(PATTERNS) == len(secret_patterns())
