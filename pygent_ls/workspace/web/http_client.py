"""HTTP client based on httpx: one request at a time, to an address that is checked before connecting."""

from __future__ import annotations

import asyncio
import socket
import zlib
from typing import TYPE_CHECKING

from pygent_ls.agent.ports.processes import Processes
from pygent_ls.agent.ports.web import WebResponse, WebText
from pygent_ls.errors import ToolError
from pygent_ls.workspace.web.addresses import is_public
from pygent_ls.workspace.web.pages import CONVERT_S, page_text

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 5_000_000
"""Maximum size of a body; a longer page's text would be a hundred times what a model is shown."""

TOTAL_S = 30.0
"""Maximum time for one request, from name resolution to the last byte."""

CONNECT_S = 10.0

MAX_ADDRESSES = 3
"""Maximum number of a host's addresses that are tried."""

MAX_TYPE_CHARS = 1_000
"""Maximum length of a content type: the standard library parses it in quadratic time."""

USER_AGENT = "pygent-ls (a coding agent, on behalf of its user)"


class HttpWeb:
    """Implementation of `Web`. Proxies from the environment are not used: they would connect to unchecked addresses."""

    def __init__(self, processes: Processes, *, convert_s: float = CONVERT_S) -> None:
        self._processes = processes
        self._convert_s = convert_s
        self.one_at_a_time = asyncio.Lock()

    async def get(self, url: str, *, anywhere: bool = False) -> WebResponse:
        """Implement `Web`."""
        import httpx

        try:
            async with asyncio.timeout(TOTAL_S):
                return await _get(_parsed(url), anywhere=anywhere)
        except TimeoutError:
            raise ToolError(f"{url} did not answer within {TOTAL_S:g} s.") from None
        except httpx.TimeoutException:
            raise ToolError(f"{url} did not answer in time.") from None
        except (httpx.HTTPError, httpx.InvalidURL, zlib.error) as error:
            raise ToolError(f"{url} could not be fetched: {error or type(error).__name__}.") from None

    async def text(self, response: WebResponse, url: str) -> WebText:
        """Implement `Web`."""
        return await page_text(self._processes, response, url, self._convert_s)


def _parsed(url: str) -> httpx.URL:
    import httpx

    parsed = httpx.URL(url)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ToolError(f"{url} cannot be fetched: only http:// and https:// addresses can.")
    if parsed.userinfo:
        raise ToolError(
            f"{parsed.host} was not contacted: addresses that contain a user name or password are not fetched."
        )
    return parsed


async def _get(url: httpx.URL, *, anywhere: bool) -> WebResponse:
    import httpx

    addresses = await _addresses(url)
    if not anywhere and (private := [address for address in addresses if not is_public(address)]):
        raise ToolError(
            f"{url} was not fetched: {url.host} is at {private[0]}, which is not a public address. Only a rule "
            f"`web_fetch(domain:{url.host})` in the user's own settings allows it; do not attempt it another way."
        )
    limits = httpx.Timeout(TOTAL_S, connect=CONNECT_S)
    async with httpx.AsyncClient(trust_env=False, timeout=limits, follow_redirects=False) as client:
        for last, address in enumerate(addresses, start=1 - len(addresses)):
            try:
                return await _ask(client, url, address)
            except httpx.ConnectError:
                if last == 0:
                    raise
    raise ToolError(f"{url.host} has no address.")


async def _addresses(url: httpx.URL) -> list[str]:
    """Resolve the host once and return all of its addresses."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a valid host name"
        raise ToolError(f"{url.host} cannot be resolved: {reason}.") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))[:MAX_ADDRESSES]


async def _ask(client: httpx.AsyncClient, url: httpx.URL, address: str) -> WebResponse:
    """Send a request to exactly this address; the Host header and the certificate check use the host's name."""
    headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": USER_AGENT,
        "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
        "Accept-Encoding": "identity",  # compressed data could expand to any size
    }
    target = url.copy_with(host=address, fragment=None)
    request = client.build_request("GET", target, headers=headers, extensions=_extensions(client, url))
    response = await client.send(request, stream=True)
    try:
        raw = b""
        async for piece in response.aiter_raw(65_536):
            raw += piece
            if len(raw) > MAX_BODY_BYTES:
                break
    finally:
        await response.aclose()
    body = _unpacked(raw[:MAX_BODY_BYTES], response.headers.get("content-encoding", ""))
    from email.message import Message  # takes 4 ms, which a daemon that fetches nothing saves

    kind = Message()
    kind["content-type"] = response.headers.get("content-type", "")[:MAX_TYPE_CHARS]
    location = response.headers.get("location") if response.is_redirect else None
    return WebResponse(
        status=response.status_code,
        location=str(url.join(location)) if location is not None else None,
        content_type=kind.get_content_type() if kind["content-type"] else "",
        charset=kind.get_content_charset(),
        body=body,
        is_cut=len(raw) > MAX_BODY_BYTES or len(body) == MAX_BODY_BYTES,
    )


def _extensions(client: httpx.AsyncClient, url: httpx.URL) -> dict[str, object]:
    return {"sni_hostname": url.raw_host.decode("ascii"), "timeout": client.timeout.as_dict()}


def _unpacked(raw: bytes, encoding: str) -> bytes:
    """Decompress the body of a server that compresses without being asked. Raises `ToolError` or `zlib.error`."""
    match encoding.strip().lower():
        case "" | "identity":
            return raw
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=47).decompress(raw, MAX_BODY_BYTES)
        case other:
            raise ToolError(
                f"The server compressed its answer with {other!r}, which was not requested and cannot be read."
            )
