"""Definitions, in other open documents, of names that are used near the cursor, found by their syntax."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pygent_ls.agent.ports.completer import Snippet
from pygent_ls.editors.lsp.completion.context import snippet_of, words_near
from pygent_ls.syntax.languages import LANGUAGES

if TYPE_CHECKING:
    from pygent_ls.syntax.symbols import Symbol

MAX_DEFINITIONS = 4

MAX_LINES = 8
"""Maximum number of lines of a definition: its header, and usually its documentation."""

MAX_CHARS = 600
"""Maximum length of a definition: a shorter part of it is sent, in whole lines."""


class OpenText(NamedTuple):
    """Text of an open document, with its path as the user knows it."""

    path: Path
    name: str
    text: str


class _Parsed(NamedTuple):
    text: str
    symbols: Mapping[str, Symbol]


class Definitions:
    """Symbols of documents. Parsing a document takes up to a tenth of a second, so a completion uses those that are
    known, and the others are known to the next one."""

    def __init__(self) -> None:
        self._parsed: dict[Path, _Parsed] = {}

    def unknown(self, others: Iterable[OpenText]) -> list[OpenText]:
        """Return the documents that have to be parsed."""
        return [each for each in others if each.path.suffix in LANGUAGES and self._symbols(each) is None]

    def parse(self, others: Iterable[OpenText]) -> None:
        """Parse documents; for a thread. Only their symbols are kept."""
        from pygent_ls.syntax.symbols import symbols_in

        for each in others:
            symbols = {symbol.name: symbol for symbol in reversed(symbols_in(each.text, each.path.suffix))}
            self._parsed[each.path] = _Parsed(each.text, symbols)

    def keep(self, others: Iterable[OpenText]) -> None:
        """Forget all other documents."""
        kept = {each.path for each in others}
        self._parsed = {path: parsed for path, parsed in self._parsed.items() if path in kept}

    def used_in(self, before: str, others: Sequence[OpenText]) -> tuple[Snippet, ...]:
        """Return the first lines of definitions that the last lines before the cursor name, the nearest one last."""
        known = [(each, symbols) for each in others if (symbols := self._symbols(each))]
        found = (
            _snippet(each, symbols[name]) for name in words_near(before) for each, symbols in known if name in symbols
        )
        return tuple(islice((each for each in found if each.text), MAX_DEFINITIONS))[::-1]

    def _symbols(self, document: OpenText) -> Mapping[str, Symbol] | None:
        parsed = self._parsed.get(document.path)
        return parsed.symbols if parsed is not None and parsed.text == document.text else None


def _snippet(document: OpenText, symbol: Symbol) -> Snippet:
    lines = document.text.replace("\r\n", "\n").split("\n")
    start = symbol.line - 1
    return snippet_of(document.path, document.name, lines, start, min(symbol.end_line, start + MAX_LINES), MAX_CHARS)
