"""Answers by the syntax of the files, for what no language server answers: names are compared, not what they mean."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pygent_ls.agent.ports.language_features import CodeLocation, CodeSymbol
from pygent_ls.agent.ports.symbols import FileSymbols
from pygent_ls.agent.ports.workspace import Document
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.tools.search.repository_map import source_files


async def definitions_by_syntax(context: ToolContext, symbol: str) -> Sequence[CodeLocation]:
    """Return where the workspace defines a name. Raises `ToolError`."""
    return [each.location for each in await symbols_by_syntax(context, symbol)]


async def references_by_syntax(context: ToolContext, symbol: str) -> Sequence[CodeLocation]:
    """Return the lines of the workspace that name something, its definitions included. Raises `ToolError`."""
    if context.symbols is None:
        return ()
    files, _ = await source_files(context, ".")
    found = await context.symbols.references_to(_name_in(symbol), files)
    places = dict.fromkeys((file.path, each.line) for file in found for each in file.references)
    return [CodeLocation(path=path, line=line, end_line=line) for path, line in places]


async def symbols_by_syntax(context: ToolContext, symbol: str) -> Sequence[CodeSymbol]:
    """Return the definitions of a name in the workspace. Raises `ToolError`."""
    if context.symbols is None:
        return ()
    files, _ = await source_files(context, ".")
    found = await context.symbols.definitions_of(_name_in(symbol), files)
    return [each for file in found for each in _symbols_of(file)]


async def document_symbols_by_syntax(context: ToolContext, document: Document) -> Sequence[CodeSymbol]:
    """Return what a file defines, in order; empty for an unknown language. Raises `ToolError`."""
    if context.symbols is None:
        return ()
    found = await context.symbols.definitions_in(str(document.path), document.text)
    return _symbols_of(FileSymbols(path=document.path, symbols=found))


def _symbols_of(file: FileSymbols) -> list[CodeSymbol]:
    return [
        CodeSymbol(
            name=each.name,
            kind=each.kind,
            location=CodeLocation(path=file.path, line=each.line, end_line=each.end_line),
            container=each.container,
            depth=each.depth,
        )
        for each in file.symbols
    ]


def _name_in(symbol: str) -> str:
    """Return the last name of a qualified one."""
    return re.split(r"::|[.#]", symbol.strip())[-1]
