"""Map of the workspace: the definitions that matter most, by who refers to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.context.repository_map import CHARS_PER_TOKEN, MapEntry, map_text
from pygent_ls.agent.ports.symbols import RankedSymbol, SourceFiles, SymbolFocus
from pygent_ls.agent.rules.read_rules import left_out
from pygent_ls.agent.tools.tool import ToolContext, is_withheld
from pygent_ls.errors import ToolError
from pygent_ls.syntax.symbols import signature_of
from pygent_ls.tools.search.ripgrep import SearchPlace, list_place, places, unsaved_below

DEFAULT_TOKENS = 2_000

PARSE_S = 30.0
"""Time for parsing in one call."""

MIN_ENTRY_CHARS = 12
"""Least length of an entry, for how many are needed."""

MAX_FOCUS = 50

NOTHING = "There are no definitions in a language that is parsed, or none fits into max_tokens."


class MapRequest(Struct, frozen=True, kw_only=True):
    """What a map is to show."""

    path: str = "."
    focus: Sequence[str] = ()
    """Files, folders and names that the task is about."""
    max_tokens: int = DEFAULT_TOKENS
    seconds: float = PARSE_S


async def repository_map(context: ToolContext, request: MapRequest) -> str:
    """Return the text of the map; empty if nothing is defined. Raises `ToolError`."""
    if context.symbols is None:
        raise ToolError("The map is not available here. Use find_files and grep_search.")
    files, n_withheld = await source_files(context, request.path)
    max_chars = request.max_tokens * CHARS_PER_TOKEN
    found = await context.symbols.rank(
        files, _focus(context, request.focus), limit=max_chars // MIN_ENTRY_CHARS + 1, seconds=request.seconds
    )
    notes = [each.strip("[]") for each in left_out(n_withheld)]
    if found.n_waiting:
        context.cacheable = False
        notes.append(f"{found.n_waiting:,} of {found.n_files:,} files are not parsed yet; call again to go on")
    if not found.ranked and not notes:
        return ""
    entries = await _entries(context, found.ranked, max_chars)
    return map_text(entries, max_chars=max_chars, n_symbols=found.n_symbols, notes=notes)


async def source_files(context: ToolContext, path: str) -> tuple[SourceFiles, int]:
    """Return the files below a path as searches see them, and how many of them read rules keep from being read.

    Raises `ToolError` if the path does not exist.
    """
    paths: list[str] = []
    unsaved: dict[str, str] = {}
    n_withheld = 0
    searched = await places(context, path)
    for place in searched:
        names = await list_place(context, place)
        own = await asyncio.to_thread(_readable, context, place, names)
        n_withheld += len(names) - len(own)
        paths += own
        texts = {str(each.path): each.text for each in unsaved_below(context, place).values()}
        unsaved |= {each: texts[each] for each in texts.keys() & set(own)}
    whole = {place.path for place in searched} >= set(context.workspace.folders)
    return SourceFiles(paths=paths, unsaved=unsaved, is_whole=whole), n_withheld


def _readable(context: ToolContext, place: SearchPlace, names: Sequence[str]) -> list[str]:
    paths = [f"{place.folder}/{name}" for name in names]
    return [each for each in paths if not is_withheld(context, Path(each))] if context.reading.rules else paths


def _focus(context: ToolContext, focus: Sequence[str]) -> SymbolFocus:
    """Return the focus: what is a path in the workspace, and what is a name."""
    paths: list[str] = []
    names: list[str] = []
    for each in focus:
        names.append(each.strip().rpartition(".")[2].rpartition(":")[2])
        try:
            path = context.workspace.resolve(each)
        except ToolError:
            continue
        if each.strip() not in ("", ".") and context.workspace.kind_of(path) != "missing":
            paths.append(str(path))
    return SymbolFocus(paths=paths, names=[name for name in names if name])


async def _entries(context: ToolContext, ranked: Sequence[RankedSymbol], max_chars: int) -> list[MapEntry]:
    """Return the entries for the best definitions, with the text of the files as the model may see it."""
    texts: dict[Path, Sequence[str]] = {}
    entries: list[MapEntry] = []
    room = max_chars
    for each in ranked:
        if each.path not in texts:
            texts[each.path] = await _lines(context, each.path)
        lines = texts[each.path]
        if each.symbol.line > len(lines) or not (signature := signature_of(lines, each.symbol)):
            continue  # the file has changed meanwhile
        entries.append(MapEntry(file=context.workspace.shown(each.path), symbol=each.symbol, signature=signature))
        room -= len(signature)
        if room < 0:
            break
    return entries


async def _lines(context: ToolContext, path: Path) -> Sequence[str]:
    """Return the lines of a file, redacted; none if it cannot be read any more."""
    try:
        document = await context.peek(path)
    except ToolError:
        return ()
    return (await context.masks.document(document)).text.split("\n")
