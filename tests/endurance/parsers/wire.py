"""Frames, messages and parameters of the protocol."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Callable, Mapping
from email.parser import BytesHeaderParser
from functools import cache, partial
from typing import Any, cast

import jsonschema
import msgspec

from pygent_ls.editors.lsp import standard
from pygent_ls.editors.lsp.commands.comment_requests import comment_requests
from pygent_ls.editors.lsp.handlers.requests import validated
from pygent_ls.editors.lsp.protocol.schema import CLIENT_NOTIFICATIONS, REQUESTS, wire_schema
from pygent_ls.editors.lsp.rpc.client_quirks import mended
from pygent_ls.editors.lsp.rpc.converter import structured
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame, message_of, read_frame
from pygent_ls.editors.lsp.uris import FileUris, path_of
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.process import MessageFrames
from pygent_ls.extensions.pipes import OutputLines
from tests.endurance.parsers.target import Target, bytes_in_pieces, json_text_of, pieces_of, sized, text_of


class Pieces(io.RawIOBase):
    """A pipe that gives its bytes in pieces."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = memoryview(data), size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        piece = self._data[: min(self._size, len(buffer))]
        self._data = self._data[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def frames(data: bytes) -> None:
    """Bytes are read the same whatever pieces they come in; frames with a header that `email` reads are found."""
    size, data = sized(data)
    found = _frames(io.BytesIO(data))
    assert found == _frames(io.BufferedReader(Pieces(data, size)))
    head, blank, body = data.partition(b"\r\n\r\n")
    if not blank or b"\n" in head.replace(b"\r\n", b"") or b"\r" in head.replace(b"\r\n", b"") or not head.isascii():
        return
    parsed = BytesHeaderParser().parsebytes(head + b"\r\n\r\n")
    lengths = parsed.get_all("content-length", [])
    if (
        parsed.defects
        or head.lower().count(b"content-length") != 1
        or len(lengths) != 1
        or not (len(lengths[0]) < 10 and lengths[0].isdigit())
    ):
        return
    if (length := int(lengths[0])) <= len(body) and b"\r\n " not in head and b"\r\n\t" not in head:
        assert found[0] == body[:length]


def _frames(stream: Any) -> list[bytes | str]:
    found: list[bytes | str] = []
    while (frame := read_frame(stream)) is not None:
        message_of(frame)
        found.append(frame.problem if isinstance(frame, BrokenFrame) else frame)
    return found


def messages(data: bytes) -> None:
    """A message has at most one response, a request exactly one, and each response is JSON that others read."""
    endpoint = RpcEndpoint()
    endpoint.phase = "running"
    answers: list[bytes] = []
    endpoint.write = answers.append
    endpoint.on_exit = lambda _: None
    endpoint.on_undecodable = lambda _method, _params: None
    endpoint.mend = lambda method, params: mended(method, params, lambda _: 0)
    endpoint.on_request("echo", lambda params: params)
    endpoint.on_request("run", lambda _: None, standard.ExecuteCommandParams)
    endpoint.on_notification("told", lambda _: None)
    echo = b'{"id":1,"method":"echo","params":{"text":"\\ud800","number":1e999,"given":%b}}' % data
    for message in (message_of(data), data.decode("latin-1"), message_of(echo)):
        answers.clear()
        endpoint.receive(message)
        read = [json.loads(each, parse_constant=_no_constant) for each in answers]
        assert len(read) <= 1
        assert not any(each.get("error", {}).get("code") == -32603 for each in read), read
        if isinstance(message, str) and (given := _request(message)) is not None:
            assert [each["id"] for each in read] == [given["id"]]


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _request(message: str) -> Mapping[str, Any] | None:
    try:
        found: Any = json.loads(message)
    except (ValueError, RecursionError):
        return None
    given = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    method = given.get("method")
    is_request = isinstance(method, str) and type(given.get("id")) in (int, str)
    return given if is_request and method not in ("exit", "initialize") else None


LSP: Mapping[str, type[msgspec.Struct]] = {
    "initialize": standard.InitializeParams,
    "textDocument/didOpen": standard.DidOpenTextDocumentParams,
    "textDocument/didChange": standard.DidChangeTextDocumentParams,
    "textDocument/codeAction": standard.CodeActionParams,
    "workspace/executeCommand": standard.ExecuteCommandParams,
    "notebookDocument/didOpen": standard.DidOpenNotebookDocumentParams,
    "notebookDocument/didChange": standard.DidChangeNotebookDocumentParams,
    "textDocument/inlineCompletion": standard.InlineCompletionParams,
    "workspace/didRenameFiles": standard.RenameFilesParams,
}


Validator = Callable[[Any], bool]
"""Says whether a value is valid by the published schema."""


@cache
def _kinds() -> list[tuple[str, Callable[[Any], object], Validator | None]]:
    schema = wire_schema()
    kinds: list[tuple[str, Callable[[Any], object], Validator | None]] = []
    for method, (kind, _) in REQUESTS.items():
        own = {**schema["requests"][method]["params"], "$defs": schema["$defs"]}
        checker: Any = jsonschema.Draft202012Validator(own)
        kinds.append((method, partial(validated, kind), checker.is_valid))
    for method, kind in CLIENT_NOTIFICATIONS.items():
        kinds.append((method, partial(validated, kind), None))
    for method, struct in LSP.items():
        kinds.append((method, partial(structured, method, kind=struct), None))
    return kinds


def parameters(data: bytes) -> None:
    """Parameters of a method are decoded or refused; what is valid by the published schema is decoded."""
    kinds = _kinds()
    method, decode, schema = kinds[data[0] % len(kinds) if data else 0]
    try:
        given = json.loads(json_text_of(data[1:]))
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    try:
        decode(mended(method, cast("dict[str, Any]", given), lambda _: 0))
    except InvalidParamsError:
        assert schema is None or not schema(given), method


def servers(data: bytes) -> None:
    """The output of a language server is messages or an error."""
    size, data = sized(data)
    frames, found = MessageFrames(), list[bytes]()
    try:
        for piece in bytes_in_pieces(data, size):
            found += frames.feed(piece)
    except ToolError:
        return
    whole = list(MessageFrames().feed(data))
    assert found == whole


def lines(data: bytes) -> None:
    """Lines of an output are those of `str.split`."""
    size, data = sized(data)
    given = text_of(data)
    reader, found = OutputLines(1_000_000, "too long"), list[str]()
    for piece in pieces_of(given, size):
        found += reader.feed(piece)
    assert found == given.split("\n")[:-1]


def uris(data: bytes) -> None:
    """A URI is an absolute path or nothing, and the URI of the path leads to its bytes again."""
    uri = json_text_of(data)
    path = path_of(uri, follow=False)
    if path is not None:
        assert path.is_absolute()
        found = FileUris()
        found.set_folders(["file:///w"])
        again = path_of(found.uri_of(path), follow=False)
        assert again is not None
        assert os.fsencode(again) == os.fsencode(path)


def comments(data: bytes) -> None:
    """Any text may hold comments that ask for something."""
    list(comment_requests("file:///a.py", json_text_of(data)))


def run_in_loop(check: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """The check, run in an event loop that stays."""

    def run(data: bytes) -> None:
        async def inner() -> None:
            check(data)

        _runner().run(inner())

    return run


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1.5,null,true,"\\ud83d\\ude00"]}}'

TARGETS: Mapping[str, Target] = {
    "frames": Target(
        frames,
        [
            b"\x03Content-Length: 2\r\n\r\n{}Content-Type: x; charset=utf-8\r\nContent-Length: 4\r\n\r\nnull",
            b"\x05Content-Length: -1\r\n\r\n{}\r\n\r\n",
        ],
    ),
    "messages": Target(
        run_in_loop(messages),
        [REQUEST, b'{"id":"a","result":{}}', b'{"id":1,"error":{"code":1,"message":"m"}}', b"[" + REQUEST + b"]"],
    ),
    "parameters": Target(
        parameters,
        [
            b'\x00{"prompt":[{"type":"text","text":"t"},{"type":"file","uri":"file:///a"}],"sessionId":null}',
            b'\x3b{"textDocument":{"uri":"file:///a","version":1},"contentChanges":[{"text":"x","range":{"start":'
            b'{"line":0,"character":0},"end":{"line":0,"character":1}}}]}',
            b'\x3a{"processId":1,"rootUri":null,"capabilities":{"general":{"positionEncodings":["utf-8"]}}}',
        ],
    ),
    "servers": Target(servers, [b"\x03Content-Length: 2\r\n\r\n{}content-length:0\r\nA: b\r\n\r\n"]),
    "lines": Target(lines, [b"\x03a\nb\r\n\nc"]),
    "uris": Target(uris, [b"file:///w/a%20b.py", b"file://host/w/%C3%A9", b"untitled:x", b"file:/w/../x?y#z"]),
    "comments": Target(comments, [b"# AI! do it\n// ai? why\n/* AI: x */ -- pygent!\n"]),
}
