"""Text of the map of a workspace: its most important definitions by file, within a number of characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from pygent_ls.agent.display_text import one_line
from pygent_ls.syntax.symbols import Symbol

CHARS_PER_TOKEN = 4
"""Rule of thumb for English and code."""

MAX_PATH_CHARS = 300


class KeptMap(Struct):
    """Map in a session's system prompt. It is made once, since a provider caches a prompt that stays the same."""

    text: str | None = None
    """None until it is made."""


class MapEntry(Struct, frozen=True, kw_only=True):
    """Definition in the map."""

    file: str
    """Path as it is shown."""
    symbol: Symbol
    signature: str


def map_text(entries: Iterable[MapEntry], *, max_chars: int, n_symbols: int, notes: Sequence[str] = ()) -> str:
    """Return as many of the entries, the most important first, as there is room for, by file and line, and the notes.

    The file with the most important definition comes first. The text is never longer than `max_chars`; it is empty if
    there is no room for anything.
    """
    ends = [f"[{note}]" for note in notes]
    room = max_chars - sum(len(each) + 1 for each in ends) - len(_count(n_symbols, n_symbols)) - 1
    files: dict[str, dict[tuple[int, str], MapEntry]] = {}
    n_shown = 0
    for entry in entries:
        own = files.get(entry.file, {})
        key = entry.symbol.line, entry.symbol.name
        if key in own:
            continue
        room -= len(_line(entry)) + 1 + (0 if own else len(_file(entry.file)) + 1)
        if room < 0:
            break
        files.setdefault(entry.file, own)[key] = entry
        n_shown += 1
    lines = [line for file, own in files.items() for line in (_file(file), *(_line(own[key]) for key in sorted(own)))]
    text = "\n".join([*lines, *ends, *([_count(n_shown, n_symbols)] if n_shown < n_symbols else [])])
    return text if len(text) <= max_chars else ""


def _file(path: str) -> str:
    return f"{one_line(path, MAX_PATH_CHARS)}:"


def _line(entry: MapEntry) -> str:
    container = f" (in {entry.symbol.container})" if entry.symbol.container else ""
    return f"{entry.symbol.line}: {entry.signature}{container}"


def _count(n_shown: int, n_symbols: int) -> str:
    return f"[{n_shown:,} of {n_symbols:,} definitions; raise max_tokens, or name a folder or a focus, to see others]"
