"""Results of reading tools, kept for a while, and served only while what they read is unchanged."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pygent_ls.agent.globs import compiled, literal_prefix
from pygent_ls.agent.workspace import Document, Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedResult:
    """What a call returned, with the stamps of all that it read."""

    content: str
    dependencies: Mapping[Path, Stamp]
    """The files that it read."""
    trees: Mapping[Path, Stamp]
    """The folders that it searched."""
    shown: tuple[Document, ...]
    """The documents that it showed the model: serving it again shows them again."""


@dataclass(frozen=True, slots=True)
class _Entry:
    tool_name: str
    result: CachedResult
    expires_at: float


class ToolCache:
    """Least recently used goes first. Times are seconds of `clock`, a monotonic one."""

    def __init__(self, *, max_entries: int, clock: Callable[[], float]) -> None:
        self._max_entries = max_entries
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, tool_name: str, arguments: Mapping[str, Any]) -> CachedResult | None:
        """The result that has not expired; the caller still has to check its dependencies."""
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
        """Keep a result for `ttl_s` seconds."""
        key = _key(tool_name, arguments)
        self._entries[key] = _Entry(tool_name, result, self._clock() + ttl_s)
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def drop(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        """Forget one result."""
        self._entries.pop(_key(tool_name, arguments), None)

    def invalidate(self, pattern: str) -> int:
        """Drop what a change of the files that match may have made stale; returns how many results went.

        The pattern is a glob on absolute paths (`globs.escape` makes one of a path). Stale is what read a matching
        path, anything below one, or searched a folder that one may lie in; and what does not say what it read.
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
        """Drop all results of one tool; returns how many."""
        return self._drop_where(lambda entry: entry.tool_name == tool_name)

    def cleanup_expired(self) -> int:
        """Drop what has outlived its time; returns how many."""
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
