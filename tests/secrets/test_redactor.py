"""Placeholders: the same value has the same one, nothing of a value is left, and all of it comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import get_ident

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.secrets.env_files import is_env_file
from pygent_ls.secrets.findings import Finding
from pygent_ls.secrets.redactor import ALTERED_PLACEHOLDER, PLACEHOLDER, SHORT_CHARS, Redactor
from pygent_ls.secrets.stream import LiveRedactor

KEY = b"a key of this installation"

LINES_WITH_A_KEY = re.compile(r"\bkey:(\w+)")


def finder(text: str, path: str | None = None) -> Sequence[Finding]:
    """`S3CR…` is a secret anywhere, `key:…` in that place, and in `.env` everything after a `=`."""
    found = [Finding(start=each.start(), end=each.end(), kind="token") for each in re.finditer(r"S3CR\d+", text)]
    found += [
        Finding(start=each.start(1), end=each.end(1), kind="key", everywhere=False)
        for each in LINES_WITH_A_KEY.finditer(text)
    ]
    if path is not None and is_env_file(path):
        found += [
            Finding(start=each.start(1), end=each.end(1), kind="value") for each in re.finditer(r"=([^\r\n]+)", text)
        ]
    return found


def redactor() -> Redactor:
    return Redactor(finder, key=KEY)


async def test_a_secret_becomes_one_word_that_says_its_kind() -> None:
    masked = await redactor().redact("a S3CR123 b")

    assert re.fullmatch(r"a \{\{SECRET_token_[0-9a-f]{12}\}\} b", masked)


async def test_the_same_value_has_the_same_placeholder_in_every_session_of_an_installation() -> None:
    masked = await redactor().redact("S3CR1 S3CR2 S3CR1")

    first, second, third = masked.split()
    assert first == third != second
    assert await redactor().redact("S3CR1 S3CR2 S3CR1") == masked
    assert await Redactor(finder, key=b"another").redact("S3CR1 S3CR2 S3CR1") != masked


async def test_a_value_that_is_known_beforehand_is_masked_in_each_of_its_spellings_and_comes_back() -> None:
    known = redactor()
    known.know(["my own key"])

    masked = await known.redact("key: my own key, my%20own%20key, bXkgb3duIGtleQ==")

    assert len(PLACEHOLDER.findall(masked)) == 3
    assert "own" not in masked
    assert known.restore(masked) == ("key: my own key, my%20own%20key, bXkgb3duIGtleQ==", ())


async def test_without_a_finder_nothing_is_masked_or_put_back() -> None:
    off = Redactor()
    placeholder = await redactor().redact("S3CR1")

    assert not off.is_on
    assert await off.redact("S3CR1") == "S3CR1"
    assert off.restore(placeholder) == (placeholder, (placeholder,))


async def test_what_was_masked_before_masking_was_switched_off_still_comes_back() -> None:
    session = redactor()
    masked = await session.redact("S3CR1")

    session.switch(on=False)

    assert await session.redact("S3CR1") == "S3CR1"
    assert session.restore(masked) == ("S3CR1", ())


async def test_a_value_that_was_found_once_is_masked_wherever_it_stands_later() -> None:
    session = redactor()
    await session.learn("A=plums and pears", ".env")

    assert "plums" not in await session.redact("they echo plums and pears.")


async def test_a_value_is_known_within_an_address_within_json_and_as_base64() -> None:
    session = redactor()
    await session.learn('A=pl/ums&"pears"', ".env")

    masked = await session.redact('?a=pl%2Fums%26%22pears%22 "pl/ums&\\"pears\\"" cGwvdW1zJiJwZWFycyI=')

    assert "ums" not in masked
    assert "cGwv" not in masked
    assert session.restore(masked)[0] == '?a=pl%2Fums%26%22pears%22 "pl/ums&\\"pears\\"" cGwvdW1zJiJwZWFycyI='


async def test_a_value_that_could_be_any_word_is_masked_only_where_it_was_found() -> None:
    session = redactor()

    masked = await session.redact("key:eu\nREGION eu")

    assert masked.endswith("\nREGION eu")
    assert session.restore(masked) == ("key:eu\nREGION eu", ())


async def test_a_placeholder_of_another_session_is_not_known() -> None:
    placeholder = await redactor().redact("S3CR1")
    session = redactor()

    assert session.restore(f"a {placeholder} {placeholder}") == (f"a {placeholder} {placeholder}", (placeholder,))

    await session.learn("… S3CR1 …")
    assert session.restore(placeholder) == ("S3CR1", ())


async def test_a_placeholder_is_told_by_its_hash_alone() -> None:
    session = redactor()
    await session.learn("A=S3CR1", ".env")
    placeholder = await redactor().redact("S3CR1")

    assert session.restore(placeholder) == ("S3CR1", ())


@pytest.mark.parametrize(
    "text", ["{{SECRET_token_", "{SECRET_token_0123456789ab}", "SECRET_token_012345678", "{{ SECRET_x }}"]
)
def test_what_is_left_of_a_placeholder_is_told(text: str) -> None:
    assert ALTERED_PLACEHOLDER.search(f"a {text} b")


@pytest.mark.parametrize(
    "text", ["{{ secrets.TOKEN }}", "${SECRET_KEY}", "SECRET_KEY=1", "{{SECRET}}", "MY_SECRET_ab_12"]
)
def test_other_words_are_no_placeholders(text: str) -> None:
    assert not ALTERED_PLACEHOLDER.search(text)


# Properties

pieces = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            ["S3CR1", "S3CR12", "key:ab", "key:S3CR1", "=", "\n", "\r\n", " ", "{{", "}}", "BEGIN RSA PRIVATE KEY"]
        ),
        st.from_regex(r"S3CR\d{1,3}", fullmatch=True),
    ),
    max_size=14,
)


@given(pieces, st.sampled_from([None, "src/a.py", ".env"]))
async def test_what_was_masked_comes_back_exactly(parts: list[str], path: str | None) -> None:
    session, text = redactor(), "".join(parts)

    assert session.restore(await session.redact(text, path)) == (text, ())


@given(pieces, st.sampled_from([None, ".env"]))
async def test_masking_twice_masks_nothing_more_and_leaves_no_secret(parts: list[str], path: str | None) -> None:
    session = redactor()

    once = await session.redact("".join(parts), path)

    assert await session.redact(once, path) == once
    assert not finder(PLACEHOLDER.sub("", once).replace("key:", ""))


@given(pieces, st.lists(st.integers(min_value=0, max_value=60), max_size=6))
async def test_text_in_pieces_is_masked_like_the_whole_of_it(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    whole = await redactor().redact(text)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]

    live = LiveRedactor(redactor())
    shown = [await live.feed(text[start:end]) for start, end in pairwise(places)]
    shown.append(await live.close())

    assert "".join(shown) == whole


async def test_no_part_of_a_secret_is_shown_before_the_line_is_whole() -> None:
    live = LiveRedactor(redactor())

    assert [await live.feed(piece) for piece in ("one\nS3", "CR", "99")] == ["one\n", "", ""]
    assert "S3" not in await live.close()


async def test_a_private_key_is_held_back_until_it_is_over() -> None:
    session = redactor()
    live = LiveRedactor(session)

    shown = [
        await live.feed(line) for line in ("-----BEGIN PRIVATE KEY-----\n", "MIIE\n", "-----END PRIVATE KEY-----\n")
    ]

    assert shown == ["", "", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"]


async def test_a_mention_of_private_keys_does_not_hold_back_output_for_ever() -> None:
    live = LiveRedactor(redactor())

    assert await live.feed("BEGIN PRIVATE KEY\n") == ""
    assert await live.feed("x\n" * 40_000) != ""


@pytest.mark.parametrize("is_long", [False, True])
async def test_the_loop_is_free_while_a_long_text_is_masked(is_long: bool) -> None:
    threads: set[int] = set()

    class Found(list[Finding]):
        """Notes who goes through it: the work on a long text follows the findings."""

        def __iter__(self) -> Iterator[Finding]:
            threads.add(get_ident())
            return super().__iter__()

    session = Redactor(lambda text, path=None: Found(finder(text, path)), key=KEY)

    assert "S3CR" not in await session.redact("a S3CR1 b" + " c" * (SHORT_CHARS if is_long else 0))
    assert threads
    assert (get_ident() not in threads) is is_long


async def test_values_that_overlap_leave_nothing_of_either() -> None:
    session = redactor()
    await session.redact("S3CR12 key:x")
    await session.redact("A=2 beets\n", ".env")

    assert re.fullmatch(r"<\{\{SECRET_\w+\}\}>", await session.redact("<S3CR12 beets>"))
