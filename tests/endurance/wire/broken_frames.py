"""Frames and bodies that no client should send."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

from pygent_ls.editors.lsp.transport.stdio import MAX_BODY_BYTES
from tests.e2e.raw import framed
from tests.endurance.wire.schema_values import JSON

MAX_TOO_LONG = 2_000
"""Bytes that a frame may promise and not have."""

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d+)", re.IGNORECASE)

STATUS: dict[str, Any] = {"jsonrpc": "2.0", "method": "pygent/status", "params": {}}

headers = st.sampled_from(
    [
        b"Content-Length: %d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n",
        b"content-length:%d\r\n\r\n",
        b"Content-Length: 7\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\n\n",
        b"X: " + b"y" * 20_000 + b"\r\nContent-Length: %d\r\n\r\n",
        b"\r\n\r\nContent-Length: 00%d\r\n\r\n",
    ]
)
"""Headers that are read, however odd."""

junk = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"Content-Length: -1\r\n\r\n",
            b"Content-Length: many\r\n\r\n{}",
            b"Content-Length: 99999999999999999999\r\n\r\n{}",
            b"Content-Length: 1e3\r\n\r\n",
            b"Content-Type: x\r\n\r\n{}",
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"\x00" * 3_000 + b"\r\n\r\n",
            b"\r\n" * 50,
            b"{}",
            b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
        ]
    ),
)
"""Bytes that the daemon must not take for frames, and that do not announce a body."""


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A frame of a harmless request, with bytes changed, left out or added anywhere."""
    frame = bytearray(framed({**STATUS, "id": "raw"}))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(frame) - 1))
        match draw(st.sampled_from(["change", "cut", "add"])):
            case "change":
                frame[at] = draw(st.integers(0, 255))
            case "cut":
                del frame[at : at + draw(st.integers(1, 5))]
            case _:
                frame[at:at] = draw(st.binary(min_size=1, max_size=5))
        if not frame:
            break
    return bytes(frame)


@st.composite
def wrong_lengths(draw: st.DrawFn) -> bytes:
    """A frame that says more or less than it has."""
    body = json.dumps({**STATUS, "id": "raw"}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (max(0, len(body) + draw(st.integers(-60, MAX_TOO_LONG))), body)


def _can_be_filled_up(data: bytes) -> bool:
    """Whether no frame announces more than `MAX_TOO_LONG` bytes; what is too long for the daemon is skipped by it."""
    lengths = [int(each[:15]) for each in _LENGTH.findall(data)]
    return not any(MAX_TOO_LONG < each <= MAX_BODY_BYTES for each in lengths)


raw_bytes = st.one_of(junk, mutated(), wrong_lengths(), st.lists(junk, max_size=3).map(b"".join)).filter(
    _can_be_filled_up
)


def _texts_of(value: object) -> st.SearchStrategy[bytes]:
    """A value as JSON, as different writers write it."""
    return st.sampled_from(
        [
            json.dumps(value).encode(),
            json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"),
            json.dumps(value, indent=1).encode("utf-16-le", "surrogatepass"),
            b"\xef\xbb\xbf" + json.dumps(value).encode(),
        ]
    )


odd_bodies = st.one_of(
    JSON.flatmap(_texts_of),
    st.fixed_dictionaries(
        {"id": JSON, "method": st.sampled_from(["pygent/status", "$/nothing", "", 7, None, "initialize"])},
        optional={"jsonrpc": st.sampled_from(["2.0", "1.0", 2.0, None]), "params": JSON, "result": JSON, "error": JSON},
    ).flatmap(_texts_of),
    st.fixed_dictionaries({"id": JSON}, optional={"result": JSON, "error": JSON}).flatmap(_texts_of),
    st.sampled_from(
        [
            b"",
            b"[]",
            b"[" * 50_000,
            b'{"a":' * 50_000,
            b'{"id":"deep","method":"pygent/status","params":' + b'{"a":' * 150 + b"1" + b"}" * 151,
            b'{"id":"twice","method":"pygent/status","method":"pygent/status","id":"twice","params":{},"params":{}}',
            b'{"id":"nan","method":"pygent/status","params":{"a":NaN,"b":-Infinity,"c":1e999}}',
            b'{"id":' + b"9" * 4_000 + b',"method":"pygent/status"}',
            b'{"id":' + b"9" * 6_000 + b',"method":"pygent/status"}',
            b'{"id":"nested","method":"pygent/status","params":{"jsonrpc":"2.0","id":1,"method":"exit"}}',
            b'[{"id":"batch","method":"pygent/status"},{"id":"batch","method":"pygent/status"}]',
            b'{"id":"\\ud800","method":"pygent/status","params":{"\\udfff":"\\ud800"}}',
            b'{"id":"x","method":"\\ud800"}',
        ]
    ),
)
"""Bodies of whole frames."""
