"""Servers that are broken or mean: each is an error that says so, in little time and memory."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import Chunk
from pygent_ls.errors import ModelError, ModelErrorType
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model, start_loading
from tests.llm.answers import answered, error_of, named_events
from tests.llm.loopback import KEY, WAIT_S
from tests.llm.model_contract import chunks_of, joined

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
STREAM = HEAD + b"Connection: close\r\n\r\n"
TEXT = b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\n'
END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
PACKED = zlib.compress(b"data: " + b"x" * 1_000_000)

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(answer: bytes | Write, certificate: ssl.SSLContext | None = None) -> AsyncGenerator[str, None]:
    """The address of a server that answers every request so, and hangs up."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(writer)
            await writer.drain()
        except ConnectionError:
            pass  # whom we tried it on had enough
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=certificate)
    scheme = "https" if certificate else "http"
    yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    server.close()


@asynccontextmanager
async def asked(
    address: str, name: str = "openai/gpt-4o"
) -> AsyncGenerator[Callable[[], Awaitable[Sequence[Chunk]]], None]:
    """What to call for the answer."""
    resources = ModelResources()
    endpoint = Endpoint(api_base=address, api_key=KEY, first_byte_timeout_s=WAIT_S, idle_timeout_s=WAIT_S)
    model = make_model(name, endpoint, resources)
    yield lambda: chunks_of(model)
    await resources.close()


async def failure_of(answer: bytes | Write, name: str = "openai/gpt-4o") -> ModelError:
    async with serving(answer) as address, asked(address, name) as ask:
        with pytest.raises(ModelError) as caught:
            await ask()
    return caught.value


async def endless_line(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"X-Endless: ")
    while True:
        writer.write(b"a" * 65_536)
        await writer.drain()


async def endless_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    while True:
        writer.write(b"X-More: a\r\n" * 100)
        await writer.drain()


async def endless_error(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"a" * 65_536)
        await writer.drain()


@pytest.mark.parametrize("name", ["openai/gpt-4o", "anthropic/claude-mock"])
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (endless_line, "not HTTP"),
        (endless_headers, "not HTTP"),
        (endless_error, "aaa"),
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
        (HEAD + b"Content-Length: x\r\n\r\n", "not HTTP"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\nfoo\r\n", "not HTTP"),
        (
            HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED,
            "compressed with deflate",
        ),
        (HEAD + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello", "compressed with br"),
        (STREAM + b"data: " + b"[" * 100_000 + b"\n\n", "cannot be read"),
    ],
    ids=["line", "headers", "error", "SSH", "length", "chunk", "packed", "unknown packing", "deep"],
)
async def test_what_is_no_answer_is_an_error_that_may_pass(name: str, answer: bytes | Write, says: str) -> None:
    error = await failure_of(answer, name)

    assert (error.type, error.retryable) == ("server", True)
    assert says in error.message
    assert "127.0.0.1" not in error.message, "nothing of the request"


CLOSED = "closed the connection before answering"
BROKE_OFF = "closed the connection in the middle of its answer"


@pytest.mark.parametrize(
    ("answer", "error_type", "says"),
    [
        (b"", "network", CLOSED),
        (b"HTTP/1.", "network", CLOSED),
        (b"HTTP/1.1 200", "network", CLOSED),
        (b"HTTP/1.1 200 OK\r\n", "network", CLOSED),
        (HEAD, "network", CLOSED),
        (HEAD + b"X-Mo", "network", CLOSED),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "network", CLOSED),
        (HEAD + b"Content-Length: 100\r\n\r\ndata: {}", "network", BROKE_OFF),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nda", "network", BROKE_OFF),
        (HEAD + b"Content-Length: 0\r\n\r\n", "network", BROKE_OFF),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "server", "status 204"),
        (b"HTTP/1.1 99 x\r\n\r\n", "server", "not HTTP"),
        (b"HTTP/9.9 200 OK\r\n\r\n", "server", "not HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "server", "not HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\n", "server", "not HTTP"),
        (b"-ERR unknown command\r\n", "server", "not HTTP"),
        (b"<html>hello</html>\n", "server", "not HTTP"),
        (HEAD + b"X\0: 1\r\n\r\n", "server", "not HTTP"),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", "server", "not HTTP"),
        (HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", "server", "not HTTP"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_an_answer_that_is_cut_off_or_of_another_protocol_is_told_in_words(
    answer: bytes, error_type: ModelErrorType, says: str
) -> None:
    error = await failure_of(answer)

    assert (error.type, error.retryable) == (error_type, True)
    assert says in error.message
    assert not any(sign in error.message for sign in ("raw_headers", "object at", "RawResponse", "None", "Payload"))


@pytest.mark.parametrize("location", ["http://[bad", "http://127.0.0.1:99999999/"])
async def test_a_redirect_to_nowhere_is_told(location: str) -> None:
    error = await failure_of(f"HTTP/1.1 307 Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())

    assert error.type == "invalid_request"
    assert "api_base" in error.message


@pytest.mark.parametrize(
    ("event", "error_type"),
    [
        ({"object": "error", "message": "prompt is too long", "code": 400}, "context_window"),
        ({"choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}, "server"),
    ],
    ids=["vLLM", "OpenRouter"],
)
async def test_an_error_that_looks_like_a_piece_is_one(event: object, error_type: ModelErrorType) -> None:
    assert (await failure_of(STREAM + TEXT + f"data: {json.dumps(event)}\n\n".encode() + END)).type == error_type


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens": 1' + "0" * 400 + "}",
        '{"prompt_tokens": NaN, "completion_tokens": Infinity, "cost": Infinity}',
        '{"prompt_tokens": -5, "completion_tokens": "7", "cost": -1}',
        '{"prompt_tokens": null, "prompt_tokens_details": [1]}',
    ],
    ids=["huge", "no numbers", "negative", "odd"],
)
async def test_counts_that_are_none_count_nothing(usage: str) -> None:
    event = f'data: {{"choices": [], "usage": {usage}}}\n\n'.encode()
    async with serving(STREAM + TEXT + event + END) as address, asked(address, "openai/gpt-4o") as ask:
        answer = joined(await ask())

    assert (answer.text, answer.usage) == ("hi", Usage(cost_usd=0.0, context_limit=128_000))


def certificate_of(folder: Path) -> Path:
    """A certificate of 127.0.0.1, signed by itself, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of one's own")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(certificate.public_bytes(pem) + private)
    return path


async def test_a_certificate_of_ones_own_counts_where_it_is_named_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = certificate_of(tmp_path)
    certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.load_cert_chain(path)
    async with serving(STREAM + TEXT + END, certificate) as address:
        async with asked(address) as ask:
            with pytest.raises(ModelError, match="SSL_CERT_FILE") as caught:
                await ask()
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        async with asked(address) as ask:
            answer = joined(await ask())

    assert (caught.value.type, caught.value.retryable) == ("invalid_request", False)
    assert answer.text == "hi"


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_certificates_are_loaded_before_the_first_call_of_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    path = certificate_of(tmp_path)
    certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.load_cert_chain(path)
    async with serving(STREAM + TEXT + END, certificate) as address:
        resources = ModelResources()
        endpoint = Endpoint(api_base=address.replace("https", scheme, 1), api_key=KEY)
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        start_loading(make_model("openai/gpt-4o", endpoint, resources))
        loading = [each for each in threading.enumerate() if each.name == "http-loader"]
        await asyncio.gather(*(asyncio.to_thread(each.join, WAIT_S) for each in loading))
        monkeypatch.delenv("SSL_CERT_FILE")
        model = make_model("openai/gpt-4o", replace(endpoint, api_base=address), resources)
        if scheme == "https":
            assert joined(await chunks_of(model)).text == "hi"
        else:
            with pytest.raises(ModelError, match="SSL_CERT_FILE"):
                await chunks_of(model)
        await resources.close()


async def test_a_proxy_that_refuses_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving_proxy() as port:
        monkeypatch.setenv("https_proxy", f"http://user:hidden@127.0.0.1:{port}")
        async with asked("https://models.invalid/v1") as ask:
            with pytest.raises(
                ModelError, match=f"The proxy http://127.0.0.1:{port} answered with status 407"
            ) as caught:
                await ask()

    assert (caught.value.type, caught.value.status) == ("network", 407)
    assert "hidden" not in caught.value.message


@asynccontextmanager
async def serving_proxy() -> AsyncGenerator[int, None]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def begun(name: str) -> dict[str, object]:
    return {"type": "message_start", "message": {"id": name, "usage": {"input_tokens": 1, "output_tokens": 1}}}


def block(*deltas: dict[str, object], **content: object) -> Sequence[dict[str, object]]:
    start: dict[str, object] = {"type": "content_block_start", "index": 0, "content_block": content}
    return (start, *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas))


ENDED: Sequence[dict[str, object]] = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
)


@pytest.mark.parametrize(
    "head",
    [b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(TEXT + END), b"Content-Length: 100000\r\n\r\n"],
    ids=["no last chunk", "a length that never comes"],
)
async def test_an_answer_whose_last_event_came_is_whole_however_the_connection_ends(head: bytes) -> None:
    async with serving(HEAD + head + TEXT + END) as address, asked(address) as ask:
        assert joined(await ask()).text == "hi"


async def test_two_answers_in_one_stream_are_not_mixed() -> None:
    cut_off = block({"type": "input_json_delta", "partial_json": '{"pa'}, type="tool_use", id="toolu_1", name="f")
    other = block(type="tool_use", id="toolu_2", name="f")

    error = await error_of(named_events(begun("msg_1"), *cut_off, begun("msg_2"), *other, *ENDED), "anthropic/m")

    assert (error.type, error.retryable) == ("server", True)


async def test_an_answer_may_be_begun_twice() -> None:
    text = block({"type": "text_delta", "text": "all of it"}, type="text", text="")

    chunks = await answered(named_events(begun("msg_1"), begun("msg_1"), *text, begun(""), *ENDED), "anthropic/m")

    assert joined(chunks).text == "all of it"
