"""Tool that asks language servers where code is defined, used and called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.language_features import Call, CodeLocation, CodeSymbol, LocationKind
from pygent_ls.agent.rules.read_rules import left_out
from pygent_ls.agent.tools.tool import ToolContext, check_readable, is_withheld, tool
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.language.symbol_position import symbol_position
from pygent_ls.tools.language.syntax_answers import (
    definitions_by_syntax,
    document_symbols_by_syntax,
    references_by_syntax,
    symbols_by_syntax,
)

MAX_SHOWN = 100

MAX_FILES_READ = 50
"""Maximum number of files whose lines are shown."""

MAX_LINE_CHARS = 200

MAX_HOVER_CHARS = 4_000

Operation = Literal[LocationKind, "hover", "document_symbols", "workspace_symbols", "incoming_calls", "outgoing_calls"]


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SEARCH,
    kind="search",
    title="Look up {operation} {symbol} {path}",
    read_only=True,
)
async def code_navigation(
    context: ToolContext,
    operation: Annotated[Operation, Meta(description="What to look up.")],
    symbol: Annotated[
        str, Meta(description="The name, as it stands in the line; for workspace_symbols the query.")
    ] = "",
    path: Annotated[str, Meta(description="The file; not for workspace_symbols.")] = "",
    line: Annotated[int, Meta(ge=1, description="The line that has the name (default: its first).")] | None = None,
) -> str:
    """Ask the language server about code: it knows types, scopes and imports, which a text search does not.

    Results are `path:line: text`. If none answers for a file, definitions, references and symbols are found by name.

    Raises:
        ToolError: an argument is missing, the name is not there, or the server refuses.
    """
    answer = _Answer(context)
    if operation == "workspace_symbols":
        return await _workspace_symbols(context, answer, symbol)
    if not path:
        raise ToolError(f"{operation} needs `path`.")
    if operation == "document_symbols":
        check_readable(context, path)
        document = await context.peek(context.workspace.resolve(path))
        symbols = await context.language.document_symbols(document)
        symbols = symbols or await document_symbols_by_syntax(context, document)
        return await answer.symbols(symbols, shows_paths=False)
    document, at, column = await symbol_position(context, path, symbol, line)
    match operation:
        case "hover":
            if context.reading.rules:  # the text may be from the file that defines the symbol
                defined = await context.language.locations("definition", document, at, column)
                answer.refuse_withheld(defined)
                if not defined:
                    raise ToolError(
                        f"The language server does not say which file defines {symbol}, so that permission rules about "
                        "reading cannot be applied to its documentation. Read the definition with grep_search."
                    )
            text = await context.language.hover(document, at, column)
            return (await context.masks.text(text, str(document.path)))[:MAX_HOVER_CHARS] or NOTHING
        case "incoming_calls" | "outgoing_calls":
            direction = "incoming" if operation == "incoming_calls" else "outgoing"
            return await answer.calls(await context.language.calls(direction, document, at, column))
        case "definition" | "implementation" | "type_definition" | "references":
            found = await context.language.locations(operation, document, at, column)
            return await answer.locations(found) if found else await _by_name(context, answer, operation, symbol)


async def _workspace_symbols(context: ToolContext, answer: _Answer, symbol: str) -> str:
    if not symbol:
        raise ToolError("workspace_symbols needs `symbol`, the query.")
    if found := await context.language.workspace_symbols(symbol):
        return await answer.symbols(found, shows_paths=True)
    by_syntax = await symbols_by_syntax(context, symbol)
    text = await answer.symbols(by_syntax, shows_paths=True)
    return f"{text}\n{BY_NAME}" if by_syntax else text


async def _by_name(context: ToolContext, answer: _Answer, kind: LocationKind, symbol: str) -> str:
    """Answer what no language server does. Names do not tell implementations and types."""
    find = {"definition": definitions_by_syntax, "references": references_by_syntax}.get(kind)
    found = await find(context, symbol) if find is not None else ()
    text = await answer.locations(found)
    return f"{text}\n{BY_NAME}" if found else text


NOTHING = (
    "Nothing was found. Either there is none, or no language server answers for this file. Use grep_search to be sure."
)

BY_NAME = "[no language server answered: found by name, so other things of this name are among them]"


class _Answer:
    """Text of an answer. Files that rules withhold are left out, and those outside of the workspace only named."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._texts: dict[Path, Sequence[str] | None] = {}
        self._n_withheld = 0

    def refuse_withheld(self, found: Iterable[CodeLocation]) -> None:
        """Raises `ToolError` if one of the files must not be shown."""
        if any(self._is_withheld(each.path) for each in found):
            raise ToolError("A permission rule prevents the file that defines this from being read.")

    async def locations(self, found: Iterable[CodeLocation]) -> str:
        """Return one line for each location."""
        wanted = [each for each in found if not self._is_withheld(each.path)]
        wanted.sort(key=lambda each: (self._name(each.path), each.line))
        return self._whole([await self._line(each.path, each.line) for each in wanted[:MAX_SHOWN]], len(wanted))

    async def symbols(self, found: Iterable[CodeSymbol], *, shows_paths: bool) -> str:
        """Return one line for each symbol, indented by its depth."""
        wanted = [each for each in found if not self._is_withheld(each.location.path)]
        lines: list[str] = []
        for each in wanted[:MAX_SHOWN]:
            place = f"{self._name(each.location.path)}:{each.location.line}" if shows_paths else f"{each.location.line}"
            inside = f" in {each.container}" if shows_paths and each.container else ""
            lines.append(f"{'  ' * each.depth}{place}: {each.kind} {each.name}{inside}")
        masked = await self._context.masks.text("\n".join(lines))
        return self._whole(masked.split("\n") if masked else [], len(wanted))

    async def calls(self, found: Iterable[Call]) -> str:
        """Return one line for each call, below the function that makes or gets it."""
        lines: list[str] = []
        wanted = [
            each for each in found if not {*map(self._is_withheld, (each.path, each.symbol.location.path))} - {False}
        ]
        for each in wanted:
            symbol = each.symbol
            lines.append(f"{self._name(symbol.location.path)}:{symbol.location.line}: {symbol.kind} {symbol.name}")
            lines += [f"  called at {await self._line(each.path, line)}" for line in each.lines[:MAX_SHOWN]]
        return self._whole(lines[:MAX_SHOWN], len(lines))

    def _whole(self, lines: Sequence[str], n_found: int) -> str:
        more = [f"[{n_found - MAX_SHOWN} more left out]"] if n_found > MAX_SHOWN else []
        return "\n".join([*(lines or [NOTHING]), *more, *left_out(self._n_withheld)])

    async def _line(self, path: Path, number: int) -> str:
        if path not in self._texts:
            self._texts[path] = await self._read(path)
        lines = self._texts[path]
        text = lines[number - 1].strip()[:MAX_LINE_CHARS] if lines is not None and number <= len(lines) else ""
        return (
            f"{self._name(path)}:{number}: {text}".rstrip(": ") if not text else f"{self._name(path)}:{number}: {text}"
        )

    async def _read(self, path: Path) -> Sequence[str] | None:
        if not self._is_inside(path) or len(self._texts) >= MAX_FILES_READ:
            return None
        try:
            document = await self._context.masks.document(await self._context.peek(path))
        except ToolError:
            return None
        return document.text.splitlines()

    def _is_withheld(self, path: Path) -> bool:
        withheld = self._is_inside(path) and is_withheld(self._context, path)
        self._n_withheld += withheld
        return withheld

    def _is_inside(self, path: Path) -> bool:
        try:
            return self._context.workspace.resolve(str(path)) == path
        except OutsideWorkspaceError:
            return False

    def _name(self, path: Path) -> str:
        return self._context.workspace.shown(path)
