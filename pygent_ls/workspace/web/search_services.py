"""Web search services: Brave, Tavily, and instances of SearXNG.

The formats are those of <https://api-dashboard.search.brave.com/api-reference/web/search/get>,
<https://docs.tavily.com/documentation/api-reference/endpoint/search> and <https://docs.searxng.org/dev/search_api.html>.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from pygent_ls.agent.ports.web import SearchResult
from pygent_ls.errors import ToolError

if TYPE_CHECKING:
    import httpx

Service = Literal["brave", "tavily", "searxng"]

ADDRESSES: Mapping[Service, str] = {"brave": "https://api.search.brave.com", "tavily": "https://api.tavily.com"}
"""Addresses of the services that have one."""

KEYS: Mapping[Service, str] = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""Usual environment variables of the keys of services that need one."""

TOTAL_S = 30.0

MAX_BODY_BYTES = 2_000_000

MAX_SNIPPET_CHARS = 1_000


class SearchService(Struct, frozen=True, kw_only=True):
    """Implementation of `WebSearch`."""

    service: Service
    address: str
    key: str = ""

    async def search(self, query: str, count: int) -> Sequence[SearchResult]:
        """Implement `WebSearch`."""
        import httpx

        try:
            async with asyncio.timeout(TOTAL_S), _client() as client:
                response = await client.send(self._request(client, query, count), stream=True)
                try:
                    body = await _body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise ToolError(f"{self.address} did not answer within {TOTAL_S:g} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolError(f"{self.address} could not be searched: {error or type(error).__name__}.") from None
        if response.status_code != 200:
            raise ToolError(self._problem(response.status_code))
        try:
            return list(_results(self.service, json.loads(body)))[:count]
        except (ValueError, RecursionError):
            raise ToolError(f"{self.address} answered with something other than search results.") from None

    def _request(self, client: httpx.AsyncClient, query: str, count: int) -> httpx.Request:
        match self.service:
            case "brave":
                return client.build_request(
                    "GET",
                    f"{self.address}/res/v1/web/search",
                    params={"q": query, "count": str(count), "text_decorations": "false"},
                    headers={"X-Subscription-Token": self.key, "Accept": "application/json"},
                )
            case "tavily":
                return client.build_request(
                    "POST",
                    f"{self.address}/search",
                    json={"query": query, "max_results": count},
                    headers={"Authorization": f"Bearer {self.key}"},
                )
            case "searxng":
                return client.build_request("GET", f"{self.address}/search", params={"q": query, "format": "json"})

    def _problem(self, status: int) -> str:
        match status, self.service:
            case 403, "searxng":
                return f"{self.address} gives no JSON: add `json` to `search.formats` in its settings.yml."
            case ((401 | 403), _):
                return f"{self.address} rejects the key (status {status}). The user has to set a valid one."
            case 429, _:
                return f"{self.address} allows no more searches at the moment (status 429). Continue without it."
            case _:
                return f"{self.address} answered with status {status}."


def _client() -> httpx.AsyncClient:
    """Return a client without proxies of the environment, which would see the key."""
    import httpx

    return httpx.AsyncClient(timeout=TOTAL_S, follow_redirects=False, trust_env=False)


async def _body(response: httpx.Response) -> bytes:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise ToolError(f"{response.url.host} answered with more than {MAX_BODY_BYTES:,} bytes.")
    return body


def _results(service: Service, answer: object) -> Iterator[SearchResult]:
    """Yield the results in an answer, without those that have no address. Raises ValueError for another form."""
    found = _field(_field(answer, "web") or {}, "results") if service == "brave" else _field(answer, "results")
    if found is None:
        return
    if not isinstance(found, list):
        raise ValueError("results")
    for each in cast("list[object]", found):
        url, title = _field(each, "url"), _field(each, "title")
        snippet = _field(each, "description" if service == "brave" else "content")
        if isinstance(url, str) and url.startswith(("https://", "http://")):
            yield SearchResult(
                title=title if isinstance(title, str) else url,
                url=url,
                snippet=snippet[:MAX_SNIPPET_CHARS] if isinstance(snippet, str) else "",
            )


def _field(value: object, name: str) -> object:
    """Return the field of an object. Raises ValueError for another value."""
    if not isinstance(value, dict):
        raise ValueError(name)
    return cast("dict[str, Any]", value).get(name)
