"""Sign-in to MCP servers by OAuth 2.1: the SDK's flow, a redirect to loopback, and tokens in the user's key store."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field

from pygent_ls.errors import KeyStoreError, ToolError
from pygent_ls.secrets.log_mask import hide

if TYPE_CHECKING:  # imports the SDK
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import (
        AuthorizationCodeResult,
        OAuthClientInformationFull,
        OAuthClientMetadata,
        OAuthToken,
    )

SIGN_IN_S = 300.0
"""Maximum time that the user has to sign in."""

CALLBACK = "/callback"

MAX_REQUEST_BYTES = 16_000
"""Maximum length of the request with which the browser comes back."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")

DONE_PAGE = "You are signed in. You can close this page."
FAILED_PAGE = "The sign-in failed. You can close this page."
UNKNOWN_PAGE = "This is not the expected answer."

OpenUrl = Callable[[str], Awaitable[None]]
"""Shows the user an address in their browser."""


class NeedsSignInError(ToolError):
    """The server answers only once the user has signed in."""


class TokenStore(Protocol):
    """Where tokens are kept, by the address of their server. Its methods block, and raise `KeyStoreError`."""

    def get(self, provider: str) -> str | None: ...
    def save(self, provider: str, key: str) -> str: ...
    def forget(self, provider: str) -> bool: ...


class Tokens(Struct, kw_only=True):
    """Tokens of one server, and what is known of the authorization server that gave them. The SDK's `TokenStorage`."""

    store: TokenStore
    url: str
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    describe: Callable[[], dict[str, Any]] = dict
    """Returns what is kept beside tokens: the metadata of the authorization server."""

    async def load(self) -> bool:
        """Read what is kept; return whether there are tokens."""
        with suppress(KeyStoreError, ValueError):
            text = await asyncio.to_thread(self.store.get, self._name)
            stored: Any = json.loads(text) if text else {}
            self.kept = cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}
        self._hide()
        return "tokens" in self.kept

    async def forget(self) -> bool:
        """Remove the tokens; return whether there were any. Raises `KeyStoreError`."""
        self.kept = {}
        return await asyncio.to_thread(self.store.forget, self._name)

    @property
    def _name(self) -> str:
        return f"mcp:{self.url}"

    async def get_tokens(self) -> OAuthToken | None:
        """Implement `TokenStorage`."""
        from mcp.shared.auth import OAuthToken

        given = self.kept.get("tokens")
        return OAuthToken.model_validate(given) if given else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Implement `TokenStorage`. Raises `ToolError`."""
        expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
        self.kept |= {"tokens": tokens.model_dump(mode="json"), "expires_at": expires_at, **self.describe()}
        self._hide()
        try:
            await asyncio.to_thread(self.store.save, self._name, json.dumps(self.kept))
        except KeyStoreError as error:
            raise ToolError(f"The tokens could not be saved: {error}") from None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Implement `TokenStorage`."""
        from mcp.shared.auth import OAuthClientInformationFull

        given = self.kept.get("client")
        return OAuthClientInformationFull.model_validate(given) if given else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Implement `TokenStorage`. It is saved with the tokens."""
        self.kept["client"] = client_info.model_dump(mode="json")

    def _hide(self) -> None:
        """Mask the tokens in the log."""
        given: Any = self.kept.get("tokens")
        if isinstance(given, dict):
            values = cast("dict[str, Any]", given)
            hide([str(values[key]) for key in ("access_token", "refresh_token") if values.get(key)])


def provider_of(tokens: Tokens) -> OAuthClientProvider:
    """Return what adds the tokens to requests and refreshes them. It starts no sign-in."""
    from mcp.client.auth import OAuthClientProvider

    provider = OAuthClientProvider(tokens.url, _client("http://127.0.0.1/"), tokens)
    _restore(provider, tokens)
    tokens.describe = lambda: _description(provider)
    return provider


async def sign_in(url: str, tokens: Tokens, open_url: OpenUrl) -> None:
    """Let the user sign in, and save the tokens. Raises `ToolError`."""
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.exceptions import OAuthFlowError

    async with _listening() as callback:
        fresh = Tokens(store=tokens.store, url=url)

        async def open_page(address: str) -> None:
            _check_page(address)
            callback.expect(address)
            await open_url(address)

        provider = OAuthClientProvider(
            url, _client(callback.uri), fresh, redirect_handler=open_page, callback_handler=callback.wait
        )
        fresh.describe = lambda: _description(provider)
        try:
            async with asyncio.timeout(SIGN_IN_S):
                async with httpx2.AsyncClient(
                    auth=provider, timeout=SIGN_IN_S, event_hooks={"request": [only_secure(url)]}
                ) as http:
                    status = (await http.post(url, json=_PROBE, headers=_HEADERS)).status_code
        except TimeoutError:
            raise ToolError(f"The sign-in was not finished within {SIGN_IN_S / 60:g} minutes.") from None
        except (OAuthFlowError, httpx2.HTTPError, ValueError) as error:
            raise ToolError(f"The sign-in failed: {error}") from None
    if "tokens" not in fresh.kept:
        raise ToolError(f"The server did not ask for a sign-in; it answered with status {status}.")


_PROBE = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
"""Request that the server answers with 401 and its metadata."""

_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def only_secure(url: str) -> Callable[[httpx2.Request], Awaitable[None]]:
    """Return what refuses requests that would send codes and tokens in clear to another host than the server's own."""
    own = urlsplit(url).netloc

    async def check(request: httpx2.Request) -> None:
        to = urlsplit(str(request.url))
        if to.scheme != "https" and to.netloc != own and to.hostname not in LOOPBACK:
            raise ValueError(f"{to.scheme}://{to.netloc} is not secure, so nothing is sent there")

    return check


def _check_page(address: str) -> None:
    """Raise ValueError for an address that must not be opened in a browser."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError(f"the page of the sign-in is not secure: {parts.scheme}://{parts.netloc}")


def _client(redirect: str) -> OAuthClientMetadata:
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    return OAuthClientMetadata(
        client_name="pygent-ls",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 - a public client
    )


def _description(provider: OAuthClientProvider) -> dict[str, Any]:
    """Return the metadata without which tokens cannot be refreshed later."""
    context = provider.context
    metadata, resource = context.oauth_metadata, context.protected_resource_metadata
    return {
        "metadata": metadata.model_dump(mode="json") if metadata else None,
        "resource": resource.model_dump(mode="json") if resource else None,
        "issuer": context.auth_server_url,
    }


def _restore(provider: OAuthClientProvider, tokens: Tokens) -> None:
    """Tell the provider what was known when the tokens were saved. Else it would refresh them at the server itself."""
    from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

    context, kept = provider.context, tokens.kept
    context.token_expiry_time = kept.get("expires_at")
    if kept.get("metadata"):
        context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])
    if kept.get("resource"):
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(kept["resource"])
    context.auth_server_url = kept.get("issuer")


class _Callback:
    """Waits on loopback for the browser to come back."""

    def __init__(self) -> None:
        self.uri = ""
        self._state = ""
        self._came: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    def expect(self, address: str) -> None:
        """Accept only the answer to this request for authorization."""
        [self._state] = parse_qs(urlsplit(address).query)["state"]

    async def wait(self) -> AuthorizationCodeResult:
        """Return the answer. Raises `ToolError` if the user or the server refused."""
        return await self._came

    def close(self) -> None:
        """Wait no longer."""
        if not self._came.cancel() and not self._came.cancelled():
            self._came.exception()  # marks an error that the user was not waiting for as seen

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        try:
            async with asyncio.timeout(10.0):
                line = await reader.readline()
                status, page = self._take(line.decode("ascii", "replace"))
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
                writer.write(f"{head}{page}\n".encode())
                await writer.drain()
        except (TimeoutError, ValueError, OSError):
            return
        finally:
            writer.close()

    def _take(self, line: str) -> tuple[str, str]:
        """Return the status and the page for a request; take the answer in it if it is the expected one."""
        from mcp.shared.auth import AuthorizationCodeResult

        method, target, *_ = [*line.split(" "), "", ""]
        parts = urlsplit(target)
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if method != "GET" or parts.path != CALLBACK or not self._state or given.get("state") != self._state:
            return "400 Bad Request", UNKNOWN_PAGE
        if self._came.done():
            return "410 Gone", UNKNOWN_PAGE
        if "code" not in given:
            self._came.set_exception(ToolError(f"The sign-in was refused: {given.get('error', 'no code')[:200]}"))
            return "200 OK", FAILED_PAGE
        self._came.set_result(AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss")))
        return "200 OK", DONE_PAGE


@asynccontextmanager
async def _listening() -> AsyncGenerator[_Callback]:
    callback = _Callback()
    server = await asyncio.start_server(callback.serve, "127.0.0.1", 0, limit=MAX_REQUEST_BYTES)
    callback.uri = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{CALLBACK}"
    try:
        yield callback
    finally:
        server.close()
        callback.close()
        await server.wait_closed()
