"""aiohttp is imported without its certificates, and has them soon after; nothing else notices."""

from __future__ import annotations

import subprocess
import sys
import threading

from tests.e2e.raw import WAIT_S

SCRIPT = """
import ssl, threading
usual = ssl.create_default_context().cert_store_stats()
from pygent_ls.llm.http.library import start_loading


assert start_loading().wait(50)
assert start_loading() is start_loading()
import aiohttp.connector
for each in threading.enumerate():
    if each.name == "http-loader":
        each.join(50)
for context in (aiohttp.connector._SSL_CONTEXT_VERIFIED, aiohttp.connector._SSL_CONTEXT_UNVERIFIED):
    print(context.cert_store_stats() == usual, context.verify_mode.name, context.check_hostname)
print("set_default_verify_paths" in vars(ssl.SSLContext), ssl.create_default_context().cert_store_stats() == usual)
"""


def test_the_contexts_of_aiohttp_are_as_without_us() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=WAIT_S, check=True)

    assert run.stdout.splitlines() == ["True CERT_REQUIRED True", "True CERT_NONE False", "False True"]


def test_contexts_of_other_threads_load_their_certificates_at_once() -> None:
    import ssl

    from pygent_ls.llm.http.library import certificates_later

    usual = ssl.create_default_context().cert_store_stats()
    found: list[dict[str, int]] = []
    with certificates_later() as load:
        beside = threading.Thread(target=lambda: found.append(ssl.create_default_context().cert_store_stats()))
        beside.start()
        beside.join(WAIT_S)
        own = ssl.create_default_context()
        assert own.cert_store_stats()["x509"] == 0
    assert found == [usual]
    load()
    assert own.cert_store_stats() == usual
    assert ssl.create_default_context().cert_store_stats() == usual


def test_whoever_connects_before_the_certificates_are_there_trusts_nobody() -> None:
    import ssl

    from pygent_ls.llm.http.library import certificates_later

    with certificates_later():
        context = ssl.create_default_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.get_ca_certs() == []
