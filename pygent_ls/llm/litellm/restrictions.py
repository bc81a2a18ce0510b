"""Restrictions on what litellm does beyond the requested call."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from functools import wraps
from typing import Any

from pygent_ls.llm.http.stream import MAX_ANSWER_BYTES, REPEATABLE_REDIRECTS, sent_on, within_host
from pygent_ls.llm.server_sent_events import MAX_EVENT_BYTES

_SAYS_SOMETHING = re.compile(rb"^[^:\s]", re.MULTILINE)
"""A line that is neither empty nor a comment."""

MISDIRECTED = 421
"""Status that replaces a redirect that is not followed; it is not retried."""


def restrict(litellm: Any, async_handler: Any, openai_client: Any) -> None:
    """Keep keys, headers and prompts at the server that a call names; called once, before the first call.

    The second and third arguments are litellm's `AsyncHTTPHandler` and `BaseOpenAILLM`, which create its HTTP clients.
    """
    async_handler.create_client = _staying(async_handler.create_client)
    openai_client._get_async_http_client = staticmethod(_staying(openai_client._get_async_http_client))
    # USE_LITELLM_PROXY would send the proxy's key to each provider's server, and a provider's key to the proxy.
    litellm.LiteLLMProxyChatConfig.should_use_litellm_proxy_by_default = staticmethod(_never)


def _never(**_arguments: object) -> bool:
    return False


def _staying(make_client: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a factory of `httpx` clients: they follow redirects within the same host only, and limit an answer's size.

    On a redirect to another host httpx drops the header `Authorization`, but not `x-goog-api-key`, `api-key` and
    `x-api-key`.
    """

    @wraps(make_client)
    def made(*given: Any, **named: Any) -> Any:
        client = make_client(*given, **named)
        if client is not None:
            client.headers["Accept-Encoding"] = "identity"  # a small compressed body could unpack to any size
            hooks = client.event_hooks
            client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _stop_leaving, _bound]}
        return client

    return made


async def _bound(response: Any) -> None:
    """End an overlong answer in an error: httpx buffers a line until it ends, and litellm reads an error whole."""
    import httpx

    inner: Any = response.stream
    packed = response.headers.get("content-encoding", "identity")
    most = MAX_ANSWER_BYTES if response.status_code == 200 else MAX_EVENT_BYTES

    class Bounded(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if packed != "identity":
                raise httpx.ReadError(f"the answer is compressed with {packed}")
            n_bytes = n_of_line = n_idle = 0
            begun = b""  # first byte of an unfinished line
            async for piece in inner:
                line_end = piece.rfind(b"\n")
                n_bytes += len(piece)
                n_of_line = n_of_line + len(piece) if line_end < 0 else len(piece) - line_end
                n_idle = 0 if _SAYS_SOMETHING.search(begun + piece) else n_idle + len(piece)
                begun = (begun or piece)[:1] if line_end < 0 else piece[line_end + 1 : line_end + 2]
                if n_bytes > most or max(n_of_line, n_idle) > MAX_EVENT_BYTES:
                    raise httpx.ReadError("the answer is too long")
                yield piece

        async def aclose(self) -> None:
            await inner.aclose()

    response.stream = Bounded()


async def _stop_leaving(response: Any) -> None:
    """Turn a redirect that must not be followed into an error."""
    import httpx

    location = response.headers.get("location")
    if location is None or not 300 <= response.status_code < 400:
        return
    is_repeated = response.status_code in REPEATABLE_REDIRECTS
    if is_repeated and within_host(str(response.request.url), location) is not None:
        return
    left, body = response.stream, json.dumps({"error": {"message": f"The server {sent_on(location)}"}}).encode()
    response.status_code, response.stream = MISDIRECTED, httpx.ByteStream(body)
    response.headers = httpx.Headers({"content-type": "application/json", "content-length": str(len(body))})
    await left.aclose()
