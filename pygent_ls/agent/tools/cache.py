"""Cache for results of reading tools, which are served only while what they read is unchanged."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.agent.ports.workspace import Document, Stamp
from pygent_ls.agent.rules.globs import compiled, literal_prefix


class CachedResult(Struct, frozen=True, kw_only=True):
    """Result of a call, with the stamps of everything that it read."""

    content: str
    dependencies: Mapping[Path, Stamp]
    """Stamps of the files that it read."""
    trees: Mapping[Path, Stamp]
    """Stamps of the folders that it searched."""
    shown: tuple[Document, ...]
    """Documents that it showed the model; serving the result shows them again."""


class _Entry(Struct, frozen=True):
    tool_name: str
    result: CachedResult
    expires_at: float


class ToolCache:
    """LRU cache of tool results. Times are seconds of `clock`, which must be monotonic."""

    def __init__(self, *, max_entries: int, clock: Callable[[], float]) -> None:
        self._max_entries = max_entries
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, tool_name: str, arguments: Mapping[str, Any]) -> CachedResult | None:
        """Return the result if it has not expired; the caller must check its dependencies."""
        key = _key(tool_name, arguments)
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires_at <= self._clock():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry.result

    def set(self, tool_name: str, arguments: Mapping[str, Any], result: CachedResult, *, ttl_s: float) -> None:
        """Store a result for `ttl_s` seconds."""
        key = _key(tool_name, arguments)
        self._entries[key] = _Entry(tool_name, result, self._clock() + ttl_s)
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def drop(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        """Drop one result."""
        self._entries.pop(_key(tool_name, arguments), None)

    def invalidate(self, pattern: str) -> int:
        """Drop the results that a change of the matching files may have made stale; return their number.

        The pattern is a glob on absolute paths (`globs.escape` makes one from a path). A result is stale if it read a
        matching path or anything below one, if it searched a folder that may contain one, or if it does not say what it
        read.
        """
        changed = compiled(pattern)
        above = literal_prefix(pattern)
        anywhere = not above.is_absolute()

        def matches(read: Path) -> bool:
            return any(changed.fullmatch(str(path)) for path in (read, *read.parents))

        def may_hold(tree: Path) -> bool:
            return anywhere or above in (tree, *tree.parents) or tree in above.parents

        def stale(entry: _Entry) -> bool:
            files, trees = entry.result.dependencies, entry.result.trees
            if not files and not trees:
                return True
            return any(map(matches, files)) or any(matches(tree) or may_hold(tree) for tree in trees)

        return self._drop_where(stale)

    def invalidate_tool(self, tool_name: str) -> int:
        """Drop all results of one tool; return their number."""
        return self._drop_where(lambda entry: entry.tool_name == tool_name)

    def cleanup_expired(self) -> int:
        """Drop all expired results; return their number."""
        now = self._clock()
        return self._drop_where(lambda entry: entry.expires_at <= now)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()

    def _drop_where(self, gone: Callable[[_Entry], bool]) -> int:
        keys = [key for key, entry in self._entries.items() if gone(entry)]
        for key in keys:
            del self._entries[key]
        return len(keys)


def _key(tool_name: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool_name}\0{json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)}"
