"""Connection settings from the environment: proxies and trusted certificates."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pygent_ls.errors import ModelError

if TYPE_CHECKING:
    import ssl


def proxy_of(url: str) -> str | None:
    """Return the proxy for an address from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in either case.

    Raises `ModelError` for an unsupported kind of proxy.
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
    """Return the system's certificates and certifi's, since some systems have none; or only SSL_CERT_FILE's.

    Reads files; call it in a thread.
    """
    import ssl

    import certifi

    context = ssl.create_default_context()  # OpenSSL itself reads SSL_CERT_FILE and SSL_CERT_DIR
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_verify_locations(certifi.where())
    return context
