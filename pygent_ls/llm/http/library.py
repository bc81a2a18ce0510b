"""Loads in threads what calls over HTTP need: aiohttp, and the certificates of https.

aiohttp makes two TLS contexts when it is imported, and each parses the system's certificates: 50 ms, half of the
import. Our calls trust certificates of their own (`environment.trusted_certificates`). So a call waits only for the
rest, and the two contexts get their certificates after that. Until then they refuse every certificate.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache


@cache
def start_loading() -> threading.Event:
    """Start the import of aiohttp, unless that has begun. Returns the event of its end."""
    is_over = threading.Event()

    def load() -> None:
        try:
            with certificates_later() as load_certificates:
                import aiohttp
            del aiohttp
        finally:
            is_over.set()
        load_certificates()

    in_thread(load)
    return is_over


def in_thread(load: Callable[[], object]) -> threading.Thread:
    """Call a function in a thread of its own, and return the thread."""
    loading = threading.Thread(target=load, name="http-loader", daemon=True)
    loading.start()
    return loading


@contextmanager
def certificates_later() -> Generator[Callable[[], None]]:
    """Let TLS contexts that this thread makes meanwhile load the system's certificates later: when the function that
    this yields is called. Other threads are not affected."""
    contexts: list[ssl.SSLContext] = []
    own = threading.get_ident()

    def set_default_verify_paths(self: ssl.SSLContext) -> None:
        if threading.get_ident() == own:
            contexts.append(self)
        else:
            super(ssl.SSLContext, self).set_default_verify_paths()

    def load() -> None:
        for each in contexts:
            each.set_default_verify_paths()

    ssl.SSLContext.set_default_verify_paths = set_default_verify_paths
    try:
        yield load
    finally:
        del ssl.SSLContext.set_default_verify_paths
