"""Loads in a thread what calls over HTTP need: aiohttp.

aiohttp makes two TLS contexts when it is imported, and each parses the system's certificates: 60 ms of the processor,
as long as the rest of the import. Our calls trust certificates of their own (`environment.trusted_certificates`). So
the two parse them when somebody uses one.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def start_loading() -> threading.Event:
    """Start the import of aiohttp, unless that has begun. Returns the event of its end."""
    is_over = threading.Event()

    def load() -> None:
        try:
            with certificates_on_use():
                import aiohttp
            del aiohttp
        finally:
            is_over.set()

    in_thread(load)
    return is_over


def in_thread(load: Callable[[], object]) -> threading.Thread:
    """Call a function in a thread of its own, and return the thread."""
    loading = threading.Thread(target=load, name="http-loader", daemon=True)
    loading.start()
    return loading


@contextmanager
def certificates_on_use() -> Generator[None]:
    """Let TLS contexts that this thread makes meanwhile load the system's certificates when they are used. Other
    threads are not affected, and neither are contexts of another library that replaced `ssl.SSLContext`, such as
    truststore."""
    if "set_default_verify_paths" in vars(ssl.SSLContext):
        yield
        return
    own = threading.get_ident()

    def set_default_verify_paths(self: ssl.SSLContext) -> None:
        if threading.get_ident() == own:
            self.__class__ = _UnusedContext
        else:
            super(ssl.SSLContext, self).set_default_verify_paths()

    ssl.SSLContext.set_default_verify_paths = set_default_verify_paths
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths


class _UnusedContext(ssl.SSLContext):
    """A context that loads the system's certificates, and is an ordinary one from then on."""

    __slots__ = ()

    def wrap_bio(self, *given: Any, **named: Any) -> Any:
        return _used(self).wrap_bio(*given, **named)

    def wrap_socket(self, *given: Any, **named: Any) -> Any:
        return _used(self).wrap_socket(*given, **named)

    def cert_store_stats(self) -> Any:
        return _used(self).cert_store_stats()

    def get_ca_certs(self, binary_form: Any = False) -> Any:  # noqa: FBT002 - as in the library
        return _used(self).get_ca_certs(binary_form)


def _used(context: Any) -> Any:
    """Load the certificates, and return the context as an ordinary one. Another thread may do so at the same time."""
    context.set_default_verify_paths()  # first: the other thread may use it at once
    context.__class__ = ssl.SSLContext
    return context
