"""aiohttp is imported without its certificates, and has them when they are used; nothing else notices."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading

import pytest

from pygent_ls.llm.http.library import certificates_on_use
from tests.e2e.raw import WAIT_S

SCRIPT = """
import ssl
usual = ssl.create_default_context().cert_store_stats()
from pygent_ls.llm.http.library import start_loading


assert start_loading().wait(50)
assert start_loading() is start_loading()
import aiohttp.connector
for context in (aiohttp.connector._SSL_CONTEXT_VERIFIED, aiohttp.connector._SSL_CONTEXT_UNVERIFIED):
    print(context.cert_store_stats() == usual, context.verify_mode.name, context.check_hostname)
print("set_default_verify_paths" in vars(ssl.SSLContext), ssl.create_default_context().cert_store_stats() == usual)
"""


def test_the_contexts_of_aiohttp_are_as_without_us() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=WAIT_S, check=True)

    assert run.stdout.splitlines() == ["True CERT_REQUIRED True", "True CERT_NONE False", "False True"]


def test_contexts_of_other_threads_load_their_certificates_at_once() -> None:
    usual = ssl.create_default_context().cert_store_stats()
    found: list[ssl.SSLContext] = []
    with certificates_on_use():
        beside = threading.Thread(target=lambda: found.append(ssl.create_default_context()))
        beside.start()
        beside.join(WAIT_S)
        own = ssl.create_default_context()
    assert [type(each) for each in found] == [ssl.SSLContext]
    assert type(own) is not ssl.SSLContext
    assert found[0].cert_store_stats() == own.cert_store_stats() == usual
    assert type(own) is ssl.SSLContext


@pytest.mark.parametrize("use", ["wrap_bio", "wrap_socket", "get_ca_certs"])
def test_whoever_uses_a_context_has_the_certificates(use: str) -> None:
    usual = ssl.create_default_context().cert_store_stats()
    with certificates_on_use():
        context = ssl.create_default_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert "set_default_verify_paths" not in vars(ssl.SSLContext)

    if use == "wrap_bio":
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="example.org")
    elif use == "wrap_socket":
        with socket.socket() as plain, context.wrap_socket(plain, server_hostname="example.org"):
            pass
    else:
        assert len(context.get_ca_certs()) == usual["x509_ca"]
    assert ssl.SSLContext.cert_store_stats(context) == usual


def test_a_context_that_another_thread_uses_meanwhile_can_be_used() -> None:
    with certificates_on_use():
        context = ssl.create_default_context()
    begun = context.wrap_bio
    usual = context.cert_store_stats()

    begun(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="example.org")
    assert context.cert_store_stats() == usual


REPLACED = """
import truststore
truststore.inject_into_ssl()
import ssl
own = ssl.SSLContext.set_default_verify_paths
from pygent_ls.llm.http.library import start_loading
assert start_loading().wait(50)
import aiohttp.connector
print(ssl.SSLContext.set_default_verify_paths is own, type(aiohttp.connector._SSL_CONTEXT_UNVERIFIED) is ssl.SSLContext)
"""


def test_contexts_that_a_library_replaces_are_left_to_it() -> None:
    run = subprocess.run([sys.executable, "-c", REPLACED], capture_output=True, text=True, timeout=WAIT_S, check=True)

    assert run.stdout == "True True\n"
