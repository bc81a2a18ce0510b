"""Web search services on loopback, which hold to the rules that the services publish."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pygent_ls.agent.ports.web import SearchResult
from pygent_ls.errors import ToolError
from pygent_ls.workspace.web.search_services import SearchService, Service

KEY = "a-key-of-the-user"

FOUND = [{"title": f"Plum {n}", "url": f"https://plums.example/{n}"} for n in range(20)]


class Services(BaseHTTPRequestHandler):
    """All three services; the query `limit` is one too many, `odd` is answered with something else."""

    def do_GET(self) -> None:
        """Brave and SearXNG."""
        parts = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/search":
            self._answer(200 if given.get("format") == "json" else 400, results(given["q"], "content"))
            return
        query = given.get("q", "")
        is_valid = 0 < len(query) <= 400 and len(query.split()) <= 50 and 1 <= int(given.get("count", 20)) <= 20
        status = 401 if self.headers["X-Subscription-Token"] != KEY else 200 if is_valid else 422
        self._answer(status, {"type": "search", "web": results(query, "description", int(given.get("count", 20)))})

    def do_POST(self) -> None:
        """Tavily."""
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_valid = isinstance(given.get("query"), str) and 0 <= given.get("max_results", 5) <= 20
        status = 401 if self.headers["Authorization"] != f"Bearer {KEY}" else 200 if is_valid else 400
        self._answer(status, results(given["query"], "content", given.get("max_results", 5)))

    def _answer(self, status: int, content: Any) -> None:
        body = b"<html>" if "odd" in json.dumps(content) else json.dumps(content).encode()
        self.send_response(429 if "limit" in json.dumps(content) else status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


def results(query: str, snippet: str, count: int = 20) -> dict[str, Any]:
    """An answer to the query."""
    broken = [{"title": "no address"}, {"title": "script", "url": "javascript:alert(1)"}]
    found = [] if query == "nothing" else [*broken, *({**each, snippet: f"{query}…"} for each in FOUND[:count])]
    return {"query": query, "results": found}


@contextmanager
def served() -> Generator[str]:
    """The address of the services."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Services)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("service", ["brave", "tavily", "searxng"])
async def test_results_have_a_title_an_address_and_a_part_of_the_page(service: Service) -> None:
    with served() as address:
        search = SearchService(service=service, address=address, key=KEY)
        found = await search.search("ripe plums", 3)
        nothing = await search.search("nothing", 3)

    assert found == [
        SearchResult(title=f"Plum {n}", url=f"https://plums.example/{n}", snippet="ripe plums…") for n in range(3)
    ]
    assert nothing == []


@pytest.mark.parametrize(
    ("service", "key", "query", "problem"),
    [
        ("brave", "another", "plums", "rejects the key (status 401)"),
        ("tavily", "another", "plums", "rejects the key (status 401)"),
        ("brave", KEY, "plum " * 51, "answered with status 422"),
        ("searxng", "", "limit", "allows no more searches at the moment"),
        ("tavily", KEY, "odd", "answered with something other than search results"),
    ],
)
async def test_what_goes_wrong_is_said(service: Service, key: str, query: str, problem: str) -> None:
    with served() as address, pytest.raises(ToolError) as caught:
        await SearchService(service=service, address=address, key=key).search(query, 5)

    assert problem in str(caught.value)
    assert KEY not in str(caught.value)


async def test_a_service_that_is_not_there_is_said() -> None:
    with served() as address:
        pass
    with pytest.raises(ToolError, match="could not be searched"):
        await SearchService(service="searxng", address=address).search("plums", 5)
