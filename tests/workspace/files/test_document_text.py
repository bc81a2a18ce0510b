"""Bytes as text and back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import TextEncoding
from pygent_ls.workspace.files.document_text import decode, digest, document_from_bytes

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", TextEncoding()),
        (b"plain\r\nmixed\nends\r", "plain\r\nmixed\nends\r", TextEncoding()),
        ("grün 😀".encode(), "grün 😀", TextEncoding()),
        (b"\xef\xbb\xbfmarked", "marked", TextEncoding(bom=b"\xef\xbb\xbf")),
        (b"\xef\xbb\xbf", "", TextEncoding(bom=b"\xef\xbb\xbf")),
        ("\ufeffä😀\n".encode("utf-16-le"), "ä😀\n", TextEncoding(name="utf-16-le", bom=b"\xff\xfe")),
        ("\ufeffä😀\n".encode("utf-16-be"), "ä😀\n", TextEncoding(name="utf-16-be", bom=b"\xfe\xff")),
        ("\ufeffä😀\n".encode("utf-32-le"), "ä😀\n", TextEncoding(name="utf-32-le", bom=b"\xff\xfe\0\0")),
        ("\ufeffä😀\n".encode("utf-32-be"), "ä😀\n", TextEncoding(name="utf-32-be", bom=b"\0\0\xfe\xff")),
        ("für\n".encode("latin-1"), "für\n", TextEncoding(name="latin-1")),
        (b"\x93quoted\x94 \x80 5", "“quoted” € 5", TextEncoding(name="cp1252")),
        (b"\x81\xe9", "\x81é", TextEncoding(name="latin-1")),
        (b"\x1b[31mred\x1b[0m \x0c page", "\x1b[31mred\x1b[0m \x0c page", TextEncoding()),
    ],
)
def test_bytes_become_the_text_that_an_editor_would_show(data: bytes, text: str, encoding: TextEncoding) -> None:
    assert decode(data) == (text, encoding)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\x02\x01\x01\0",
        b"text with\0 a NUL",
        b"\xe9\x01\x02",
        "no mark".encode("utf-16-le"),
        b"\xff\xfe\0",
    ],
)
def test_what_is_not_text_is_not_taken_for_text(data: bytes) -> None:
    assert decode(data) is None


@given(data=st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_is_text_gives_back_its_bytes(data: bytes) -> None:
    decoded = decode(data)

    if decoded is not None:
        text, encoding = decoded
        assert encoding.encode(text) == data


@given(
    text=TEXTS,
    encoding=st.sampled_from(
        [
            TextEncoding(bom=b"\xef\xbb\xbf"),
            TextEncoding(name="utf-16-le", bom=b"\xff\xfe"),
            TextEncoding(name="utf-16-be", bom=b"\xfe\xff"),
            TextEncoding(name="utf-32-le", bom=b"\xff\xfe\0\0"),
            TextEncoding(name="utf-32-be", bom=b"\0\0\xfe\xff"),
        ]
    ),
)
def test_any_text_behind_a_byte_order_mark_is_found_again(text: str, encoding: TextEncoding) -> None:
    assert decode(encoding.encode(text)) == (text, encoding)


@given(text=TEXTS.filter(lambda text: not text.startswith("\ufeff")))
def test_any_utf_8_without_a_mark_is_found_again(text: str) -> None:
    assert decode(text.encode()) == (text, TextEncoding())


def test_the_digest_is_sha_256_of_the_text_and_takes_lone_surrogates() -> None:
    assert digest("grün") == hashlib.sha256("grün".encode()).hexdigest()
    assert digest("\ud800") != digest("\udfff")


def test_a_document_holds_the_text_its_digest_and_how_it_is_written() -> None:
    document = document_from_bytes(Path("/ws/a"), b"\xef\xbb\xbfhi\r\n", "stamp")

    assert document is not None
    assert (document.text, document.digest, document.stamp) == ("hi\r\n", digest("hi\r\n"), "stamp")
    assert document.encoding.encode(document.text) == b"\xef\xbb\xbfhi\r\n"
    assert document_from_bytes(Path("/ws/a"), b"\0", "stamp") is None
