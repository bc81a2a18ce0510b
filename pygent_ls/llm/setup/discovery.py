"""Discovery of available models: keys in the environment, servers on this machine, installed programs.

A server is identified by its answers. The shapes are those of Ollama 0.12, LM Studio 0.3 and 0.4, llama.cpp's server
and vLLM 0.11. All addresses are probed at once, each for at most `PROBE_S`.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.llm.cli.programs import PREFIX, PRESETS
from pygent_ls.llm.providers.known_providers import OTHERS, PROVIDERS, Provider, first_set, provider_named

PROBE_S = 0.7
"""Time limit for a server on this machine; the user waits for it."""

REMOTE_PROBE_S = 5.0
"""Time limit for a server whose address the user typed, which may be on another machine."""

GENERIC = "hosted_vllm"
"""Provider for models at a server that is not of a known kind."""

MAX_BYTES = 2_000_000
MAX_MODELS = 40
"""Maximum number of models listed for one server, to fit a menu."""

MAX_NAME_CHARS = 200
"""Maximum length of a model's name; longer names are ignored."""

SERVERS = ("ollama_chat", "lm_studio", "llamafile", "hosted_vllm")
"""Providers whose addresses are probed; a model is called through the provider at whose address its server runs."""

OLLAMA_HOST = "OLLAMA_HOST"
"""Ollama's own variable. It may lack the scheme and the port, and may name the address to listen on."""

OLLAMA_PORT = 11434

_OWNERS: Mapping[str, str] = {
    "vllm": "vLLM",
    "llamacpp": "llama.cpp",
    "organization_owner": "LM Studio",
    "library": "Ollama",
}
"""Kinds of servers, by the model owner that they report in `/v1/models`."""


_PROVIDERS_OF_KINDS: Mapping[str, str] = {"Ollama": "ollama_chat", "LM Studio": "lm_studio", "llama.cpp": "llamafile"}


class LocalServer(Struct, frozen=True, kw_only=True):
    """A server that answers."""

    kind: str
    """Its name, as shown to the user."""
    provider: str
    address: str
    """Address without a path."""
    models: tuple[str, ...]
    """Names of models that can chat, the loaded ones first."""
    api_base: str = ""
    """Setting required to reach it; empty if the provider's name is sufficient."""

    def name_of(self, model: str) -> str:
        """Return the model string of one of its models."""
        return f"{self.provider}/{model}"


class InstalledProgram(Struct, frozen=True, kw_only=True):
    """A program on PATH that can be a model."""

    name: str
    model: str
    """Its model string."""


class Discovered(Struct, frozen=True, kw_only=True):
    """Available models."""

    keyed: tuple[tuple[Provider, str], ...] = ()
    """Providers with a key, each with the variable that holds it; empty for a saved key."""
    servers: tuple[LocalServer, ...] = ()
    programs: tuple[InstalledProgram, ...] = ()


class _ServerPlace(Struct, frozen=True, kw_only=True):
    """Possible address of a server."""

    provider: Provider
    root: str
    api_base: str = ""
    key: str = ""


async def discover(
    environment: Mapping[str, str], find: Callable[[str], str | None], saved: Sequence[str] = ()
) -> Discovered:
    """Look for models; `find` locates a program, `saved` lists the providers with a saved key. Raises nothing."""
    servers = await asyncio.gather(*(_probe(place) for place in places(environment)))
    return Discovered(
        keyed=tuple(_keyed(environment, saved)),
        servers=tuple(each for each in servers if each is not None),
        programs=tuple(
            InstalledProgram(name=name, model=f"{PREFIX}{name}")
            for name, program in PRESETS.items()
            if not program.needs_model and find(program.command[0]) is not None
        ),
    )


async def server_at(address: str) -> LocalServer | None:
    """Return the server at an address that the user gave; None if no server of a known kind answers."""
    given = address.strip().rstrip("/").removesuffix("/v1")
    root = given if "://" in given else f"http://{given}"
    generic = provider_named(GENERIC)
    assert generic is not None
    if not _is_address(root):
        return None
    found = await _probe(_ServerPlace(provider=generic, root=root, api_base=f"{root}/v1"), REMOTE_PROBE_S)
    return found and replace(found, provider=_PROVIDERS_OF_KINDS.get(found.kind, GENERIC))


def _keyed(environment: Mapping[str, str], saved: Sequence[str]) -> Sequence[tuple[Provider, str]]:
    found = [(each, first_set(each.key_variables, environment)) for each in (*PROVIDERS, *OTHERS) if each.needs_key]
    return [(each, variable or "") for each, variable in found if variable or each.name in saved]


def places(environment: Mapping[str, str]) -> list[_ServerPlace]:
    """Return the addresses to probe: those in the environment, else the default ones."""
    found: dict[str, _ServerPlace] = {}
    for name in SERVERS:
        provider = provider_named(name)
        assert provider is not None
        variable = first_set(provider.base_variables, environment)
        own = environment.get(OLLAMA_HOST, "") if name == "ollama_chat" and not variable else ""
        address = (environment[variable] if variable else _of_ollama(own)) or provider.address
        root = address.strip().rstrip("/").removesuffix("/v1")
        key_variable = first_set(provider.key_variables, environment)
        place = _ServerPlace(
            provider=provider,
            root=root,
            api_base=root if own and root != provider.address.removesuffix("/v1") else "",
            key=environment[key_variable] if key_variable else "",
        )
        if _is_address(root):
            found.setdefault(root, place)
    return list(found.values())


def _of_ollama(host: str) -> str:
    """Return the address to call for a value of `OLLAMA_HOST`."""
    if not host.strip():
        return ""
    given = host.strip() if "://" in host else f"http://{host.strip()}"
    try:
        parts = urlsplit(given)
        port = parts.port or (OLLAMA_PORT if "://" not in host else {"https": 443}.get(parts.scheme, 80))
    except ValueError:
        return ""
    name = parts.hostname or "127.0.0.1"
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104 - what it listens at
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"


def _is_address(root: str) -> bool:
    try:
        parts = urlsplit(root)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


# Requests


async def _probe(place: _ServerPlace, limit_s: float = PROBE_S) -> LocalServer | None:
    """Send a server the requests of all kinds at once; None if no known answer arrives in time."""
    paths = ("/v1/models", "/api/tags", "/api/v0/models")
    answers = await asyncio.gather(*(_asked(place, path, limit_s) for path in paths))
    kind, models = kind_of(*answers)
    if not kind:
        return None
    return LocalServer(
        kind=kind,
        provider=place.provider.name,
        address=place.root,
        models=tuple(models[:MAX_MODELS]),
        api_base=place.api_base,
    )


def kind_of(chat: Any, tags: Any, lm_studio: Any) -> tuple[str, Sequence[str]]:
    """Identify a server by its answers to `/v1/models`, `/api/tags` and `/api/v0/models`; None stands for no answer.

    Returns its kind, empty if it is not a model server, and the names of its models. llama.cpp answers `/api/tags` with
    the same object as `/v1/models`.
    """
    listed = _entries(chat, "data")
    owner = next((str(each.get("owned_by", "")) for each in listed), "")
    studio = [each for each in _entries(lm_studio, "data") if "compatibility_type" in each or "publisher" in each]
    if studio:
        usable = [each for each in studio if each.get("type") != "embeddings"]
        usable.sort(key=lambda each: each.get("state") != "loaded")
        return "LM Studio", _names(usable, "id")
    is_ollama = isinstance(tags, dict) and "data" not in tags and isinstance(cast("Any", tags).get("models"), list)
    if is_ollama:
        return "Ollama", _names(_entries(tags, "models"), "name")
    if listed:
        return _OWNERS.get(owner, "Chat completions server"), _names(listed, "id")
    return "", ()


def _entries(answer: Any, key: str) -> list[Mapping[str, Any]]:
    given: Any = cast("Mapping[str, Any]", answer).get(key) if isinstance(answer, dict) else None
    return [each for each in cast("list[Any]", given) if isinstance(each, dict)] if isinstance(given, list) else []


def _names(entries: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Return the names of models that can chat, judged by their names."""
    names = [each[key] for each in entries if isinstance(each.get(key), str) and each[key].isprintable()]
    return [name for name in dict.fromkeys(names) if 0 < len(name) <= MAX_NAME_CHARS and "embed" not in name.lower()]


async def _asked(place: _ServerPlace, path: str, limit_s: float) -> Any:
    """Return the JSON at a path; None for any failure."""
    try:
        async with asyncio.timeout(limit_s):
            return _json(await _exchanged(place, path))
    except (OSError, TimeoutError, ValueError, RecursionError, http.client.HTTPException):
        return None


async def _exchanged(place: _ServerPlace, path: str) -> bytes:
    """Return the whole answer, head and body. Raises OSError."""
    parts = urlsplit(place.root)
    is_safe = parts.scheme == "https"
    port = parts.port or (443 if is_safe else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=is_safe or None)
    try:
        key = f"Authorization: Bearer {place.key.strip()}\r\n" if place.key.strip().isprintable() and place.key else ""
        head = f"GET {parts.path}{path} HTTP/1.0\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
        writer.write(f"{head}Accept: application/json\r\n{key}Connection: close\r\n\r\n".encode("latin-1", "replace"))
        answer = b""
        while piece := await reader.read(65_536):
            answer += piece
            if len(answer) > MAX_BYTES or _is_whole(answer):
                break
        return answer
    finally:
        writer.transport.abort()


def _is_whole(answer: bytes) -> bool:
    """Whether the answer is complete although the server keeps the connection open."""
    head, end, body = answer.partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.lower().split(b"\r\n")]
    lengths = [int(value) for name, _, value in lines if name == b"content-length" and value.strip().isdigit()]
    return bool(end and lengths and len(body) >= lengths[0])


class _Answered:
    """A complete answer, as the socket that `http.client` expects."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, *_arguments: object) -> io.BytesIO:
        return io.BytesIO(self._answer)


def _json(answer: bytes) -> Any:
    """Return the answer's JSON; None for another status than 200. Raises ValueError, and what `http.client` raises."""
    response = http.client.HTTPResponse(cast("Any", _Answered(answer)))
    response.begin()
    return json.loads(response.read(MAX_BYTES)) if response.status == http.HTTPStatus.OK else None
