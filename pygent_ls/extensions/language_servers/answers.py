"""Answers of language servers, in any form that the protocol allows, as values of the core. Pure.

What is malformed is left out of a list; nothing here trusts that a server follows the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.agent.json_fields import obj, objects
from pygent_ls.agent.json_fields import text as text_of
from pygent_ls.agent.ports.editor_state import Problem, Severity
from pygent_ls.agent.ports.language_features import Call, CodeLocation, CodeSymbol
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.text_positions import Encoding, TextLines, position_of

MAX_ITEMS = 2_000
"""Maximum number of locations or symbols that are taken of one answer."""

MAX_DEPTH = 20

MAX_NAME_CHARS = 300

MAX_MESSAGE_CHARS = 2_000

PathOf = Callable[[str], Path | None]
"""Returns the file of a URI; None for any other URI."""

SEVERITIES: Mapping[object, Severity] = {1: "error", 2: "warning", 3: "information", 4: "hint"}

_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enum member", "struct", "event", "operator", "type parameter"),
)
"""Kinds of symbols in words, from number 1."""


def locations_of(value: object, path_of: PathOf) -> list[CodeLocation]:
    """Return the locations of a Location, a list of them, or of LocationLinks."""
    given = objects(value) or [obj(value)]
    found = [_location(each, path_of) for each in given[:MAX_ITEMS]]
    return list(dict.fromkeys(each for each in found if each is not None))


def _location(item: Mapping[str, Any], path_of: PathOf) -> CodeLocation | None:
    uri = item.get("uri", item.get("targetUri"))
    where = item.get("range", item.get("targetSelectionRange", item.get("targetRange")))
    path = path_of(uri) if isinstance(uri, str) else None
    lines = _lines(where)
    return CodeLocation(path=path, line=lines[0], end_line=lines[1]) if path is not None and lines else None


def _lines(where: object) -> tuple[int, int] | None:
    """Return first and last line of a range, from 1; None if it is malformed."""
    ends = obj(where)
    try:
        (first, _), (last, column) = position_of(ends.get("start")), position_of(ends.get("end"))
    except ToolError:
        return None
    return first + 1, max(first, last - (column == 0 and last > first)) + 1


def hover_of(value: object) -> str:
    """Return the text of a Hover, whose contents may be marked, plain, or a list."""
    contents: Any = obj(value).get("contents")
    parts = cast("list[Any]", contents) if isinstance(contents, list) else [contents]
    return "\n\n".join(filter(None, (_marked(each).strip() for each in parts)))


def _marked(part: Any) -> str:
    if isinstance(part, str):
        return part
    text, language = text_of(obj(part).get("value")), text_of(obj(part).get("language"))
    return f"```{language}\n{text}\n```" if language and text else text


def symbols_of(value: object, path: Path | None, path_of: PathOf) -> list[CodeSymbol]:
    """Return the symbols of DocumentSymbols of a file, or of SymbolInformations."""
    return list(_symbols(objects(value), path, path_of, "", 0))[:MAX_ITEMS]


def _symbols(
    items: Sequence[Mapping[str, Any]], path: Path | None, path_of: PathOf, container: str, depth: int
) -> Iterator[CodeSymbol]:
    for item in items[:MAX_ITEMS]:
        if (symbol := symbol_of(item, path, path_of, container, depth)) is None:
            continue
        yield symbol
        if depth < MAX_DEPTH:
            yield from _symbols(objects(item.get("children")), path, path_of, symbol.name, depth + 1)


def symbol_of(
    item: Mapping[str, Any], path: Path | None, path_of: PathOf, container: str = "", depth: int = 0
) -> CodeSymbol | None:
    """Return a DocumentSymbol, a SymbolInformation or a CallHierarchyItem; None if it is malformed."""
    name, at = text_of(item.get("name")), obj(item.get("location", item))
    if not name:
        return None
    uri = text_of(at.get("uri"))
    file = path_of(uri) if uri else path
    whole = _lines(at.get("range"))
    if whole is None and file is not None and "location" in item:
        whole = (1, 1)  # a WorkspaceSymbol may leave it out
    named = _lines(item.get("selectionRange")) or whole
    if file is None or whole is None or named is None:
        return None
    kind, around = item.get("kind"), text_of(item.get("containerName"))
    return CodeSymbol(
        name=name[:MAX_NAME_CHARS],
        kind=_KINDS[kind - 1] if isinstance(kind, int) and 1 <= kind <= len(_KINDS) else "symbol",
        location=CodeLocation(path=file, line=named[0], end_line=max(named[0], whole[1])),
        container=container or (around[:MAX_NAME_CHARS]),
        depth=depth,
    )


def calls_of(value: object, direction: str, document: Path, path_of: PathOf) -> list[Call]:
    """Return the calls of CallHierarchyIncomingCalls or OutgoingCalls. The lines of an outgoing call are those of the
    caller, which is in `document`."""
    found: list[Call] = []
    for each in objects(value)[:MAX_ITEMS]:
        item = each.get("from" if direction == "incoming" else "to")
        symbol = symbol_of(obj(item), None, path_of)
        if symbol is None:
            continue
        lines = [_lines(where) for where in objects(each.get("fromRanges"))]
        found.append(
            Call(
                symbol=symbol,
                path=symbol.location.path if direction == "incoming" else document,
                lines=tuple(dict.fromkeys(each[0] for each in lines if each is not None)),
            )
        )
    return found


def problems_of(items: Sequence[Mapping[str, Any]], text: str, encoding: Encoding) -> list[Problem]:
    """Return Diagnostics of a text as problems, in order of position."""
    lines = TextLines(text, encoding)
    found: list[Problem] = []
    for each in items[:MAX_ITEMS]:
        message = text_of(each.get("message"))
        try:
            line, character = position_of(obj(each.get("range")).get("start"))
        except ToolError:
            continue
        found.append(
            Problem(
                line=line + 1,
                column=lines.column(line, character) + 1,
                severity=SEVERITIES.get(each.get("severity", 1), "error"),
                message=message[:MAX_MESSAGE_CHARS],
                origin=_origin(each),
            )
        )
    return sorted(dict.fromkeys(found), key=lambda problem: (problem.line, problem.column))


def _origin(item: Mapping[str, Any]) -> str:
    parts = (item.get("source"), item.get("code"))
    return " ".join(str(each)[:MAX_NAME_CHARS] for each in parts if isinstance(each, str | int) and each != "")
