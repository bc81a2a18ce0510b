"""Prices and limits of models, from litellm's table and a small one of ours, without importing litellm.

Measured with litellm 1.106.2, whose table has 3 MB and 4,200 models, with the file in the page cache: parsing it takes
26 ms, during which no other thread runs; reading the file and finding one entry takes 6 to 8 ms, of which the search,
which holds the GIL, takes less than 1. So an entry is searched by name, and only that entry is parsed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pygent_ls.llm.catalog.builtin_models import OWN_MODELS
from pygent_ls.llm.catalog.known_model import KnownModel, OwnFacts, known_model

TABLE = "model_prices_and_context_window_backup.json"

MAX_ENTRY_BYTES = 65_536
"""Maximum size of one model's entry; the longest has 4,000 bytes."""

N_KEPT = 64
"""Number of cached lookups, successful or not."""

TELL_COSTS = frozenset({"openrouter", "xai", "deepinfra"})
"""Providers that report the cost of every answer (`llm/openai/usage.py`)."""

_OPENS = re.compile(rb"\s*:\s*(?=\{)")

_SAME_TABLE = {"ollama_chat": "ollama", "hosted_vllm": "", "lm_studio": "", "litellm_proxy": ""}
"""Provider under which the models of another are listed; empty for a user's own server, whose models may share names
but not prices with listed ones."""


class PriceTable:
    """litellm's table if it is installed, else an empty one; one object per process."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._entries = lru_cache(maxsize=N_KEPT)(self._find)

    async def look_up(
        self, name: str, provider: str, bare: str, own: Mapping[str, OwnFacts], listed: KnownModel | None = None
    ) -> KnownModel:
        """Return the facts about a model, given its full name, its provider, and its name there.

        The user's facts `own` override the provider's facts `listed`, which override the tables. Files are read in a
        thread.
        """
        known = await asyncio.to_thread(self._known, provider, bare)
        known = replace(known.updated(listed), tells_cost=provider in TELL_COSTS)
        names = (name, name.removeprefix("litellm/"), f"{provider}/{bare}", bare)
        return known.under(next((own[each] for each in names if each in own), None))

    async def provider_of(self, bare: str) -> str:
        """Return the provider of a model that is named without one; empty if the table does not list it."""
        (entry,) = await asyncio.to_thread(self._entries, bare)
        return str(entry.get("litellm_provider", ""))

    async def chat_models(self, providers: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the chat models by provider, as `PROVIDER/MODEL`. Parses the whole table, in a thread."""
        return await asyncio.to_thread(self._chat_models, tuple(providers))

    def _known(self, provider: str, bare: str) -> KnownModel:
        entry, is_ours = self._listed(provider, bare), False
        if not entry:
            entry, is_ours = OWN_MODELS.get(f"{provider}/{bare}", {}), True
        known = known_model(entry) if entry else KnownModel()
        if not known.rates:
            return replace(known, source="")
        return replace(known, source=f"pygent-ls table, {entry.get('source', '')}" if is_ours else self.source)

    @property
    def source(self) -> str:
        """The table's name and version, as shown to the user. `importlib.metadata` would take ten times as long."""
        path = _installed()
        about = next(path.parents[1].glob("litellm-*.dist-info"), None) if path else None
        return " ".join(about.stem.split("-")[:2]) if about else "litellm"

    def _listed(self, provider: str, bare: str) -> Mapping[str, Any]:
        provider = _SAME_TABLE.get(provider, provider)
        for entry in self._entries(f"{provider}/{bare}", bare) if provider else ():
            if str(entry.get("litellm_provider", "")).startswith(provider):
                return entry
        return {}

    def _find(self, *names: str) -> Sequence[Mapping[str, Any]]:
        """Return the entries of these names, each empty if missing; the file is read once."""
        raw = self._read()
        return [_entry(raw, json.dumps(name).encode()) for name in names]

    def _read(self) -> bytes:
        path = self._path or _installed()
        try:
            return path.read_bytes() if path else b""
        except OSError:
            return b""

    def _chat_models(self, providers: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
        try:
            table: object = json.loads(self._read() or b"{}")
        except ValueError:
            table = {}
        found: dict[str, list[str]] = {provider: [] for provider in providers}
        for name, entry in cast("dict[str, Any]", table).items() if isinstance(table, dict) else ():
            provider = str(entry.get("litellm_provider", ""))
            if provider in found and entry.get("mode") == "chat" and entry.get("supports_function_calling"):
                found[provider].append(name if name.startswith(f"{provider}/") else f"{provider}/{name}")
        return found


def _installed() -> Path | None:
    """Return the path of litellm's table, without importing litellm."""
    spec = importlib.util.find_spec("litellm")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) / TABLE if folders else None


def _entry(raw: bytes, key: bytes) -> Mapping[str, Any]:
    at = raw.find(key)
    while at >= 0:
        opens = _OPENS.match(raw, at + len(key))
        if opens:
            return _object(raw[opens.end() : opens.end() + MAX_ENTRY_BYTES])
        at = raw.find(key, at + 1)
    return {}


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        value, _ = json.JSONDecoder().raw_decode(raw.decode("utf-8", "ignore"))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value)
