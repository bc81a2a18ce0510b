"""The finder and the redactor together: everything comes back, nothing is left, however the text comes."""

from __future__ import annotations

from itertools import pairwise
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.secrets.stream import LiveRedactor

SECRETS = (
    "AKIA" + "Q3EGW7MJ5NPXU4TR",
    "ghp_" + "k3Jd8sLq2Vx9Zb7Nf4Hc6Tp1Rw5Yg0AmEuQi",
    "sk-ant-api03-" + "k3Jd8sLq2Vx9Zb7Nf4Hc6Tp1",
    "xoxb-123456789012-" + "abcdefghij0123456789klmn",
)
KEY_LINES = ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "R3v8Yl2k9Qm5Zx7Wb1Nc4Tg6Hp0Us==")
PRIVATE_KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----", ""])
PASSWORD = "tr0ub4dor"

pieces = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(SECRETS),
        st.sampled_from([f"\nDB_PASSWORD={PASSWORD}\n", f"postgres://ada:{PASSWORD}@db/x", f'password = "{PASSWORD}"']),
        st.sampled_from([PRIVATE_KEY, "\n" + PRIVATE_KEY, " ", "\n", "\r\n", "=", '"', "'", "token: ", "A=", "\t"]),
    ),
    max_size=10,
)


def redactor() -> Redactor:
    return Redactor(find_secrets, key=b"k")


@given(pieces, st.sampled_from([None, "a.py", ".env", "x.pem"]))
async def test_what_was_masked_comes_back_and_masking_it_again_changes_nothing(
    parts: list[str], path: str | None
) -> None:
    session, text = redactor(), "".join(parts)

    masked = await session.redact(text, path)

    assert session.restore(masked) == (text, ())
    assert await session.redact(masked, path) == masked


@given(pieces)
async def test_a_secret_between_other_words_is_never_left(parts: list[str]) -> None:
    text = " \n ".join(parts)

    masked = await redactor().redact(text)

    assert not any(secret in masked for secret in (*SECRETS, PASSWORD, *KEY_LINES))


@given(pieces, st.lists(st.integers(min_value=0, max_value=400), max_size=8))
async def test_live_output_never_shows_a_part_of_a_secret_and_adds_up(parts: list[str], cuts: list[int]) -> None:
    text = " \n ".join(parts)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    session = redactor()

    live = LiveRedactor(session)
    shown = "".join([*[await live.feed(text[start:end]) for start, end in pairwise(places)], await live.close()])

    assert session.restore(shown) == (text, ())
    assert not any(secret[:12] in shown for secret in (*SECRETS, *KEY_LINES))


FRAGMENTS = (
    *("A=", 'A="', "--- a/.env\n+++ b/.env\n", "--- x\n", "*** x\n--- y\n", "abcdef0 (", "1234567 (a 1 1 1", "=", "x"),
    *(
        "export ",
        "id_",
        "a.pem",
        "{{SECRET_",
        "{+",
        "++",
        "Go on? ",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "0123456 (a) ",
    ),
)


@pytest.mark.parametrize("fragment", FRAGMENTS)
@pytest.mark.parametrize("path", [None, ".env"])
async def test_live_output_of_repeated_fragments_takes_time_as_it_is_long(fragment: str, path: str | None) -> None:
    async def seconds(n_chars: int) -> float:
        text = fragment * (n_chars // len(fragment))
        started = thread_time()
        live = LiveRedactor(redactor(), path)
        for at in range(0, len(text), 65_536):
            await live.feed(text[at : at + 65_536])
        await live.pause()
        await live.close()
        return thread_time() - started

    small, large = min([await seconds(40_000) for _ in range(2)]), await seconds(400_000)

    assert large < 60 * max(small, 0.005)
