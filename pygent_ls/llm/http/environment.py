"""What the environment says of connections: proxies, and whose certificates are trusted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pygent_ls.errors import ModelError

if TYPE_CHECKING:
    import ssl


def proxy_of(url: str) -> str | None:
    """The proxy for an address, as HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say, in either case.

    Raises `ModelError` for a kind of proxy that cannot be used.
    """
    from urllib.request import getproxies_environment
    from urllib.request import proxy_bypass_environment as is_direct  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType] - in no stub

    proxies = getproxies_environment()
    parts = urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or is_direct(parts.netloc.rpartition("@")[2], proxies):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        kind = urlsplit(proxy).scheme
        raise ModelError(
            f"The environment sets a {kind} proxy. Only http and https proxies are supported.",
            type="invalid_request",
        )
    return proxy


def trusted_certificates() -> ssl.SSLContext:
    """The system's certificates, or SSL_CERT_FILE's, and certifi's beside them: some systems have none.

    Reads files; call it in a thread.
    """
    import ssl

    import certifi

    context = ssl.create_default_context()  # SSL_CERT_FILE and SSL_CERT_DIR are OpenSSL's own
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_verify_locations(certifi.where())
    return context
