"""Comparison of two JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

VOLATILE = frozenset(
    {
        *("seq", "lastSeq", "timestamp", "createdAt", "updatedAt", "durationMs", "retryInSeconds"),
        *("uptimeSeconds", "rssBytes", "serverInfo", "processId", "contextTokens"),
    }
)
"""Members whose values differ in each run or with the length of a path."""

_SECRET = re.compile(r"\{\{SECRET_\w+\}\}|\*{8,}")

MAX_CHARS = 120
"""Maximum length of a displayed value."""


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield one line per difference: the path, the recorded value and the new value. New members are ignored, since the
    protocol may grow.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        others = cast("dict[str, Any]", new)
        for name, value in cast("dict[str, Any]", old).items():
            place = f"{path}.{name}" if path else name
            if name in VOLATILE:
                continue
            if name in others:
                yield from differences(value, others[name], place)
            else:
                yield f"{place}: {_shown(value)} → nothing"
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(cast("list[Any]", old), cast("list[Any]", new), path)
    elif old != new and _plain(old) != _plain(new):
        yield f"{path or 'it'}: {_shown(old)} → {_shown(new)}"


def _of_lists(old: list[Any], new: list[Any], path: str) -> Iterator[str]:
    if ".experimental." in path and all(each in new for each in old):
        return  # a daemon's capabilities may grow
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        yield from differences(one, other, f"{path}[{number}]")
    if len(old) != len(new):
        yield f"{path}: {len(old)} → {len(new)} items"


def _plain(value: Any) -> Any:
    """Replace every mask with the same text, whether the recording or the daemon masked the secret."""
    return _SECRET.sub("*", value) if isinstance(value, str) else value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
