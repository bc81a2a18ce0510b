"""One HTTP request and the events of its answer.

It uses aiohttp, which takes at most half of httpx's CPU time (benchmarks/model_call.py), and imports it only when a
provider is called. It never retries.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct

from pygent_ls.errors import ModelError
from pygent_ls.llm.errors.answer_errors import AnswerError, unreadable
from pygent_ls.llm.errors.model_errors import Called, model_error, shown
from pygent_ls.llm.http.environment import proxy_of, trusted_certificates
from pygent_ls.llm.http.library import start_loading
from pygent_ls.llm.server_sent_events import MAX_EVENT_BYTES, EventReader, SentEvent, TooLongError

if TYPE_CHECKING:
    import ssl

    import aiohttp

MAX_ERROR_BYTES = 65_536
"""Maximum size of an error's body."""

MAX_START_BYTES = 9
"""Number of bytes within which a stream names its first field."""

_STREAM_START = re.compile(rb"(\xef\xbb\xbf)?(data|event|id|retry|error)?:")

MAX_ANSWER_BYTES = 256_000_000
"""Maximum size of a whole answer: more than a thousand bytes for each of its tokens."""

KEPT_ALIVE = 3
"""Multiple of the first-byte time limit for which a server may send keep-alives only. Models reason for minutes."""

MAX_REDIRECTS = 3

REPEATABLE_REDIRECTS = (307, 308)
"""Redirect statuses after which the same request is sent again; the others would drop its body."""

CONNECT_S = 30.0
"""Time limit for a connection to be established, which does not depend on a model being loaded."""

KEEP_ALIVE_S = 50.0
"""Time for which an idle connection is kept: tools take a while, and most servers close it after 60 s or more."""

LAST_BYTES_S = 0.25
"""Time limit for the end of the body after its last event; after that, the connection is closed."""

EVENTS_A_ROUND = 16
"""Number of buffered events that are passed on before other tasks on the event loop get a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One request and its time limits."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)
    called: Called
    first_byte_timeout_s: float
    idle_timeout_s: float
    is_last: Callable[[SentEvent], bool]
    """Whether this event ends the answer."""


class KeepAlive(Struct, frozen=True):
    """Bytes that form no event: comments, empty lines, or part of an event."""

    n_bytes: int


class WholeAnswer(Struct, frozen=True):
    """An answer that came as one JSON object although a stream was requested."""

    body: Mapping[str, Any]


class Connections:
    """A process's connections to its providers, reused between requests; its creator closes it."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._certificates: ssl.SSLContext | None = None
        self._loading_certificates = threading.Lock()

    def load_certificates(self) -> ssl.SSLContext:
        """Return the certificates that https addresses are trusted by. Blocking: takes 60 ms the first time."""
        with self._loading_certificates:
            self._certificates = self._certificates or trusted_certificates()
            return self._certificates

    async def prepare(self) -> None:
        """Wait until a call can begin at once."""
        is_loaded = start_loading()
        if not is_loaded.is_set():
            await asyncio.to_thread(is_loaded.wait)

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def events(self, call: HttpCall) -> AsyncGenerator[SentEvent | KeepAlive | WholeAnswer, None]:
        """Post the request and yield its events to the end. Cancelling the consumer, or `aclose`, closes the
        connection.

        A server that does not stream yields one `WholeAnswer` in place of events.

        Raises `ModelError`, and `AnswerError` for an error answer, whose body may say what to leave out.
        """
        await self.prepare()
        import aiohttp

        timeout_s = call.first_byte_timeout_s
        response: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._answer(call)
                await _check(response)
            async with aclosing(_pieces(response, call)) as pieces:
                async for events in pieces:
                    for number, event in enumerate(events, start=1):
                        yield event
                        if isinstance(event, SentEvent) and call.is_last(event):
                            await _drain(response)
                            return
                        if number % EVENTS_A_ROUND == 0:
                            await asyncio.sleep(0)
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            raise _failure(error, call, timeout_s) from None
        finally:
            if response is not None:
                response.close()

    async def fetch(self, url: str, timeout_s: float) -> bytes | None:
        """Return the body of a public page, requested without a key; None if the request fails or takes too long."""
        await self.prepare()
        import aiohttp

        try:
            async with asyncio.timeout(timeout_s):
                session = await self._opened()
                trusted = await self._trusted() if url.startswith("https:") else True
                async with session.get(url, allow_redirects=False, proxy=proxy_of(url), ssl=trusted) as response:
                    body = await _read(response, MAX_EVENT_BYTES)
                    return body if response.status == 200 and len(body) < MAX_EVENT_BYTES else None
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
            return None

    async def _answer(self, call: HttpCall) -> aiohttp.ClientResponse:
        """Return the response once its headers are read. Follows redirects within the host only, to protect the key."""
        body = msgspec.json.encode(call.body)
        url = call.url
        for _ in range(MAX_REDIRECTS):
            response = await self._posted(url, body, call.headers)
            if not 300 <= response.status < 400:
                return response
            response.close()
            location = response.headers.get("location", "")
            target = within_host(url, location) if response.status in REPEATABLE_REDIRECTS else None
            if target is None:
                raise _sent_on(call.called, location, response.status)
            url = target
        raise _sent_on(call.called, url, None)

    async def _posted(self, url: str, body: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        import aiohttp

        session = await self._opened()
        return await session.post(
            url,
            data=body,
            headers=headers,
            allow_redirects=False,
            proxy=proxy_of(url),
            ssl=await self._trusted() if url.startswith("https:") else True,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        )

    async def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,  # a small compressed body could unpack to any size
            )
        return self._session

    async def _trusted(self) -> ssl.SSLContext:
        return self._certificates or await asyncio.to_thread(self.load_certificates)


def sent_on(target: str) -> str:
    """Return the rest of a sentence about a server whose redirect is not followed."""
    return f"redirects requests to {shown(target)}. If this is correct, set `api_base` to that address."


def _sent_on(called: Called, target: str, status: int | None) -> ModelError:
    return ModelError(
        f"{called.provider} {sent_on(target)}",
        type="invalid_request",
        provider=called.provider,
        status=status,
    )


def silent(called: Called, timeout_s: float) -> ModelError:
    """Return the error for a provider that sent nothing for too long."""
    message = f"{called.provider} sent nothing for {timeout_s:g} s. Try again, or choose another model."
    return ModelError(message, type="timeout", provider=called.provider)


class Progress:
    """Checks that an ongoing answer makes progress: comments, pings and empty pieces can keep a connection open
    indefinitely."""

    def __init__(self, call: HttpCall) -> None:
        self._called = call.called
        self._limit_s = KEPT_ALIVE * max(call.first_byte_timeout_s, call.idle_timeout_s)
        self._clock = asyncio.get_running_loop().time
        self._n_bytes = 0
        self.made()

    def made(self) -> None:
        """Record that the answer made progress."""
        self._n_idle_bytes = 0
        self._since_s = self._clock()

    def check(self, event: SentEvent | KeepAlive | WholeAnswer, *, says_something: bool) -> None:
        """Count an event or a keep-alive. Raises `ModelError` and `AnswerError`."""
        match event:
            case SentEvent(data=data):
                n_bytes = len(data)
            case KeepAlive(n_bytes=n_bytes):
                pass
            case WholeAnswer():
                return
        self._n_bytes += n_bytes
        if self._n_bytes > MAX_ANSWER_BYTES:
            raise unreadable(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        if says_something:
            self.made()
            return
        self._n_idle_bytes += n_bytes
        if self._n_idle_bytes > MAX_EVENT_BYTES:
            raise unreadable(f"{MAX_EVENT_BYTES} bytes without content")
        if self._clock() - self._since_s > self._limit_s:
            message = (
                f"{self._called.provider} kept the connection open for {self._limit_s:g} s without sending an answer."
            )
            raise ModelError(f"{message} Try again.", type="timeout", provider=self._called.provider)


def broken_off(called: Called) -> ModelError:
    """Return the error for a stream that ended before the answer did."""
    message = f"{called.provider} closed the connection in the middle of its answer. Try again."
    return ModelError(message, type="network", provider=called.provider)


async def _check(response: aiohttp.ClientResponse) -> None:
    """Raise `AnswerError` for an error or for a response that cannot be an answer."""
    kind = _content_type(response)
    packed = response.headers.get("content-encoding", "identity").lower().replace("identity", "")
    if response.status == 200 and not packed and kind not in ("text/html", "application/xhtml+xml"):
        return
    text = (await _read(response, MAX_ERROR_BYTES)).decode("utf-8", "replace")
    headers = _headers(response)
    if 200 < response.status < 300:
        raise unreadable(f"status {response.status} instead of an answer: {text}", headers)
    if response.status != 200:
        try:
            body: object = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        raise AnswerError(text, status=response.status, body=body, headers=headers)
    raise unreadable(f"compressed with {packed}" if packed else f"{kind} instead of a stream: {text}", headers)


def _content_type(response: aiohttp.ClientResponse) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _headers(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _whole_answer(raw: bytes, headers: Mapping[str, str]) -> WholeAnswer:
    """Return the answer of a server that does not stream. Raises `AnswerError` for an error or a non-object."""
    text = raw.decode("utf-8", "replace")
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise unreadable(f"JSON instead of a stream: {text[:MAX_ERROR_BYTES]}", headers)
    answer = cast("dict[str, Any]", body)
    if answer.get("error"):
        raise AnswerError(text[:MAX_ERROR_BYTES], body=answer, headers=headers)
    return WholeAnswer(answer)


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    raw = bytearray()
    async for piece in response.content.iter_any():
        raw += piece
        if len(raw) >= max_bytes:
            break
    return bytes(raw[:max_bytes])


def _failure(error: Exception, call: HttpCall, timeout_s: float) -> ModelError:
    """Return the error for a failure of the connection or of HTTP."""
    import aiohttp

    match error:
        case aiohttp.ClientHttpProxyError():
            proxy = shown(proxy_of(call.url) or "")
            message = f"The proxy {proxy} answered with status {error.status}. Check HTTPS_PROXY and NO_PROXY."
            return ModelError(message, type="network", provider=call.called.provider, status=error.status)
        case aiohttp.ServerDisconnectedError():  # its message is the repr of the partly read head
            provider = call.called.provider
            message = f"{provider} closed the connection before answering. Try again."
            return ModelError(message, type="network", provider=provider)
        case aiohttp.ClientPayloadError():
            return broken_off(call.called)
        case aiohttp.ClientResponseError():
            return model_error(unreadable(f"not HTTP: {error.message}"), call.called)
        case TooLongError():
            return model_error(unreadable(str(error)), call.called)
        case TimeoutError() if not isinstance(error, aiohttp.ServerTimeoutError):  # raised by connection timeouts
            return silent(call.called, timeout_s)
        case _:
            return model_error(error, call.called)


async def _pieces(
    response: aiohttp.ClientResponse, call: HttpCall
) -> AsyncGenerator[Sequence[SentEvent | KeepAlive | WholeAnswer], None]:
    """Yield the events of each piece, a keep-alive for a piece without any, or finally a whole JSON answer."""
    reader = EventReader()
    held = bytearray()
    """Bytes received while the body may be JSON."""
    is_json: bool | None = None
    async with aclosing(_received(response, call)) as received:
        async for piece in received:
            if is_json is False:
                yield reader.feed(piece) or [KeepAlive(len(piece))]
                continue
            held += piece
            if len(held) > MAX_EVENT_BYTES:
                raise TooLongError(f"an answer of more than {MAX_EVENT_BYTES} bytes")
            if is_json is None:
                if held.isspace():
                    held.clear()
                is_json = _is_json(bytes(held).lstrip(), _content_type(response))
                if is_json is False:
                    yield reader.feed(bytes(held)) or [KeepAlive(len(held))]
            if is_json is not False:
                yield [KeepAlive(len(piece))]
    is_whole = is_json or (is_json is None and _content_type(response) == "application/json")
    yield [_whole_answer(bytes(held), _headers(response))] if is_whole else reader.end()


async def _received(response: aiohttp.ClientResponse, call: HttpCall) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, also what arrived just before the connection was lost: the end of the answer may be
    in it. Raises `ModelError` if nothing arrives for too long."""
    import aiohttp

    content, timeout_s = response.content, call.first_byte_timeout_s
    while True:
        try:
            async with asyncio.timeout(timeout_s):
                piece = await content.readany()
        except TimeoutError:
            raise silent(call.called, timeout_s) from None
        except aiohttp.ClientPayloadError:
            content.set_exception(cast("BaseException", None))  # as long as it has one, it withholds what it holds
            if piece := content.read_nowait():
                yield piece
            raise
        if not piece:
            return
        yield piece
        timeout_s = call.idle_timeout_s


def _is_json(begun: bytes, kind: str) -> bool | None:
    """Whether a body with this beginning is JSON and not a stream; None while undecided.

    Some servers send the wrong content type for either.
    """
    if not begun or begun.startswith(b"{"):
        return True if begun else None
    if kind != "application/json" or _STREAM_START.match(begun):
        return False
    return True if len(begun) >= MAX_START_BYTES else None


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the end of the body, so that the connection can be reused."""
    import aiohttp

    try:
        async with asyncio.timeout(LAST_BYTES_S):
            while await response.content.readany():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass  # the answer is complete; only the connection is lost


def within_host(url: str, location: str) -> str | None:
    """Return the target of a redirect within the same host; None for another server or an invalid address."""
    try:
        target = urljoin(url, location)
        here, there = urlsplit(url), urlsplit(target)
        ports = here.port, there.port
    except ValueError:
        return None
    is_secured = (here.scheme, there.scheme) == ("http", "https")
    is_same = here.hostname == there.hostname and ((here.scheme == there.scheme and ports[0] == ports[1]) or is_secured)
    return target if is_same else None
