"""Lossless conversion between file bytes and text."""

from __future__ import annotations

import codecs
import hashlib
import re
from pathlib import Path

from pygent_ls.agent.ports.workspace import Document, Stamp, TextEncoding

BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the BOM of UTF-16, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that text in a single-byte encoding does not contain: controls except tab, line ends, form feed and escape."""

_WINDOWS_ONLY = re.compile(rb"[\x80-\x9f]")
"""Unused controls in Latin-1; quotes, dashes and the euro sign in Windows-1252."""


def decode(data: bytes) -> tuple[str, TextEncoding] | None:
    """Return the text and its encoding, or None if the bytes are not text.

    `encoding.encode(text)` returns the same bytes. Line endings are kept.
    """
    for bom, name in BYTE_ORDER_MARKS:
        if data.startswith(bom):
            text = _decoded(data[len(bom) :], name)
            if text is not None and "\0" not in text:
                return text, TextEncoding(name=name, bom=bom)
    if b"\0" in data:
        return None
    text = _decoded(data, "utf-8")
    if text is not None:
        return text, TextEncoding()
    if _CONTROL.search(data):
        return None
    if _WINDOWS_ONLY.search(data):
        text = _decoded(data, "cp1252")
        if text is not None:
            return text, TextEncoding(name="cp1252")
    return data.decode("latin-1"), TextEncoding(name="latin-1")


def digest(text: str) -> str:
    """Return the SHA-256 of the text in hexadecimal; lone surrogates are encoded as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def document_from_bytes(path: Path, data: bytes, stamp: Stamp) -> Document | None:
    """Return the document with a file's bytes, or None if they are not text."""
    decoded = decode(data)
    if decoded is None:
        return None
    text, encoding = decoded
    return Document(path=path, text=text, digest=digest(text), stamp=stamp, encoding=encoding)


def _decoded(data: bytes, name: str) -> str | None:
    """Decode strictly; return None if that fails or encoding again would give other bytes."""
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        return None
    return text if name == "utf-8" or text.encode(name) == data else None
