"""OpenRouter's list of models with windows, prices and abilities, cached on disk for a day.

The list is public (openrouter.ai/docs/models), and is requested without a key. It provides windows and prices of models
newer than litellm's table.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, cast

from pygent_ls.agent.json_fields import number, obj, objects, text
from pygent_ls.llm.catalog.known_model import KnownModel, Rates

MAX_AGE_S = 86_400
"""Age after which a list is fetched again."""

WAIT_S = 5.0
"""Maximum time that a first call waits for the list."""

LEFT_ALONE_S = 600.0
"""Time before a failed request for the list is repeated."""

SOURCE = "OpenRouter's list of models"

_FIELDS = ("context_length", "architecture", "pricing", "top_provider", "supported_parameters")
"""Fields of an entry that are kept."""


class Fetches(Protocol):
    """Fetches the content of an address."""

    async def fetch(self, url: str, timeout_s: float) -> bytes | None:
        """Return the body; None if the request fails or takes too long."""
        ...


class ModelCatalog:
    """Model lists of OpenRouter and compatible servers; one object per process.

    They are stored in `folder`; None keeps them in memory only.
    """

    def __init__(
        self, folder: Path | None = None, *, wait_s: float = WAIT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._wait_s = wait_s
        self._clock = clock
        self._lists: dict[str, Mapping[str, Any]] = {}
        """Entries by model name, by address."""
        self._looked_s: dict[str, float] = {}
        """When a list was last looked up, by address."""
        self._lock = asyncio.Lock()

    async def look_up(self, base: str, model: str, http: Fetches) -> KnownModel | None:
        """Return what the list at `base` says about a model; None without a list or an entry."""
        entries = await self._listed(base, http)
        entry = entries.get(model) or entries.get(model.partition(":")[0])  # `:nitro` and others select the server
        return listed_model(obj(entry)) if entry else None

    async def _listed(self, base: str, http: Fetches) -> Mapping[str, Any]:
        async with self._lock:  # concurrent callers wait for the same list
            if self._is_due(base):
                self._looked_s[base] = self._clock()
                kept, age_s = await asyncio.to_thread(self._read, base)
                if not kept or age_s > MAX_AGE_S:
                    fetched = await self._fetched(base, http)
                    kept = fetched or kept or self._lists.get(base, {})
                self._lists[base] = kept
            return self._lists.get(base, {})

    def _is_due(self, base: str) -> bool:
        looked_s = self._looked_s.get(base)
        if looked_s is None:
            return True
        return self._clock() - looked_s > (MAX_AGE_S if self._lists.get(base) else LEFT_ALONE_S)

    async def _fetched(self, base: str, http: Fetches) -> Mapping[str, Any]:
        body = await http.fetch(f"{base}/models", self._wait_s)
        if body is None:
            return {}
        entries = await asyncio.to_thread(_entries, body)
        if entries:
            await asyncio.to_thread(self._keep, base, entries)
        return entries

    def _file(self, folder: Path, base: str) -> Path:
        return folder / f"{hashlib.sha256(base.encode()).hexdigest()[:16]}.json"

    def _read(self, base: str) -> tuple[Mapping[str, Any], float]:
        """Return the stored list, empty if missing, and its age in seconds."""
        if self._folder is None:
            return {}, 0.0
        file = self._file(self._folder, base)
        try:
            age_s = time.time() - file.stat().st_mtime
            kept: object = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}, 0.0
        return obj(obj(kept).get("models")), age_s

    def _keep(self, base: str, entries: Mapping[str, Any]) -> None:
        """Write the list atomically, so that another process reads either the old one or the new one."""
        if self._folder is None:
            return
        written: str | None = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, written = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"address": base, "models": entries}, file)
            Path(written).replace(self._file(self._folder, base))
        except OSError:  # the next process fetches it again
            if written is not None:
                with suppress(OSError):
                    Path(written).unlink()


def _entries(body: bytes) -> Mapping[str, Any]:
    """Return the kept fields of each model in a list, by its name; empty if the body is not a list."""
    try:
        data = obj(json.loads(body)).get("data")
    except (ValueError, RecursionError):
        return {}
    found: dict[str, Any] = {}
    for entry in objects(data):
        kept = {name: entry[name] for name in _FIELDS if name in entry}
        if text(entry.get("id")) and kept:
            found[text(entry.get("id"))] = kept
    return found


def listed_model(entry: Mapping[str, Any]) -> KnownModel:
    """Return the facts in an entry of the list."""
    top = obj(entry.get("top_provider"))
    windows = [n for n in (number(entry.get("context_length")), number(top.get("context_length"))) if n]
    parameters = _words(entry.get("supported_parameters"))
    inputs = _words(obj(entry.get("architecture")).get("input_modalities"))
    return KnownModel(
        rates=_rates(obj(entry.get("pricing"))),
        context_limit=min(windows, default=None),
        max_output_tokens=number(top.get("max_completion_tokens")) or None,
        has_native_tools=not parameters or "tools" in parameters,
        takes_images=not inputs or "image" in inputs,
        takes_temperature=not parameters or "temperature" in parameters,
        thinks="reasoning" in parameters if parameters else None,
        source=SOURCE,
    )


def _words(value: object) -> frozenset[str]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(each for each in listed if isinstance(each, str))


def _rates(pricing: Mapping[str, Any]) -> tuple[Rates, ...]:
    """Return the rates, given as text in dollars per token; -1 means that the price depends on the model chosen."""
    price, output = _dollars(pricing, "prompt"), _dollars(pricing, "completion")
    if price is None or output is None:
        return ()
    read, write = _dollars(pricing, "input_cache_read"), _dollars(pricing, "input_cache_write")
    return (
        Rates(
            input=price,
            output=output,
            cache_read=price if read is None else read,
            cache_write=price if write is None else write,
        ),
    )


def _dollars(pricing: Mapping[str, Any], name: str) -> float | None:
    try:
        value = float(text(pricing.get(name)))
    except ValueError:
        return None
    return value if 0 <= value < 1 else None
