"""An MCP server by HTTP that needs a sign-in: the SDK's authorization server, whose user agrees at once.

The first line of output is the port. The first token of a sign-in has expired already, the next ones have not. The file
`FOLDER/refuse` makes it refuse all tokens, and `FOLDER/grants` has a line for each registration and each grant.
"""

from __future__ import annotations

import secrets
import socket
import sys
import time
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Keeps everything in memory."""

    def __init__(self) -> None:
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._refresh: dict[str, RefreshToken] = {}
        self._access: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        note("registration")
        self._clients[client_info.client_id or ""] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if refuses():
            raise AuthorizeError("access_denied", "the user does not want it")
        code = secrets.token_hex(20)
        self._codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        note("authorization_code")
        del self._codes[authorization_code.code]
        return self._issued(client, authorization_code.resource, expires_in=0)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self._refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        note("refresh_token")
        if refuses():
            raise TokenError("invalid_grant", "revoked")
        del self._refresh[refresh_token.token]
        return self._issued(client, refresh_token.resource, expires_in=3600)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return None if refuses() else self._access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        note("revocation")

    def _issued(self, client: OAuthClientInformationFull, resource: str | None, *, expires_in: int) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(20)}", f"refresh-{secrets.token_hex(20)}"
        name = client.client_id or ""
        self._access[access] = AccessToken(token=access, client_id=name, scopes=[], resource=resource)
        self._refresh[refresh] = RefreshToken(token=refresh, client_id=name, scopes=[], resource=resource)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=expires_in)


def note(what: str) -> None:
    """Write down that it was asked for."""
    with (FOLDER / "grants").open("a") as file:
        file.write(f"{what}\n")


def refuses() -> bool:
    """Whether nothing is accepted now."""
    return (FOLDER / "refuse").exists()


def main() -> None:
    """Serve."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = MCPServer(
        "guarded",
        auth_server_provider=Provider(),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(address),
            resource_server_url=AnyHttpUrl(f"{address}/mcp"),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            validate_token_resource=True,
        ),
    )

    @server.tool()
    def secret() -> str:
        """Tell the secret."""
        return "plums are blue"

    assert secret
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    app = server.streamable_http_app(host="127.0.0.1")
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
