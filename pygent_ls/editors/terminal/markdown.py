"""Rendering of streamed Markdown as terminal lines: each line is written once and never changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from pygent_ls.editors.terminal.text import harmless

if TYPE_CHECKING:
    from markdown_it.token import Token
    from rich.console import Console

MAX_BLOCK_CHARS = 20_000
"""Maximum size of a block that is rendered; a longer one is written as it is, because the time to render it grows
faster than its length."""

MAX_COLOURED_LINES = 50
"""Lines of a code block that are highlighted together, so that a multi-line string has its colour. Later lines are
highlighted one by one."""

CODE_THEME = "ansi_dark"
"""Theme that uses the sixteen colours of the terminal."""

STYLES = {"markdown.code": "bold cyan", "markdown.code_block": "cyan"}
"""Styles without the black background that rich gives code even on light terminals."""

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[^\s`]*+)[^`\n]*+\Z")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}(?P<numbered>[.)]))[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}([ \t]|\Z)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_MARKUP = re.compile(r"  \n|[*_`\[\]<>&|~\\#]|\A {0,3}([-+]|\d{1,9}[.)])[ \t]|\A( {4}|\t)")
"""Markup whose meaning may change when more of the block arrives."""
_STYLING = re.compile(r"\x1b\[[0-9;]*+m")


class MarkdownStream:
    """Renders an answer block by block.

    A line of code, and a line of a paragraph without markup, is returned as soon as later text cannot change it;
    everything else at the end of its block.
    """

    def __init__(self, width: Callable[[], int], *, coloured: bool) -> None:
        """`width` returns the terminal's columns and is called before each rendering."""
        self._width = width
        self._coloured = coloured
        self._rest = ""
        """The last, incomplete line."""
        self._block: list[str] = []
        """Lines of the current block."""
        self._goes_on = False
        """Whether the beginning of the block's paragraph was already returned."""
        self._fence: re.Match[str] | None = None
        self._is_first = True
        self._list: str = ""
        """Kind of list that the last block was an item of."""

    def feed(self, text: str) -> str:
        """Add a part of the answer; returns complete lines, or nothing."""
        *lines, self._rest = (self._rest + harmless(text)).split("\n")
        out = [self._line(line) for line in lines]
        out.append(self._stable())
        return "".join(out)

    def close(self) -> str:
        """End the answer and return its remaining lines. The stream can be used again afterwards."""
        rest, self._rest = self._rest, ""
        out = self._line(rest) if rest else ""
        out += self._end()
        self._fence, self._is_first, self._list = None, True, ""
        return out

    # Blocks

    def _line(self, line: str) -> str:
        if self._fence is not None:
            return self._code(line)
        if opening := _FENCE.match(line):
            out = self._end()
            self._fence = opening
            return out + self._gap()
        if not line.strip():
            return self._end()
        out = ""
        ends = _HEADING.match(line) or (self._goes_on and _UNDERLINE.match(line))
        if ends or (self._block and _HEADING.match(self._block[-1])):
            out = self._end()
        self._block.append(line)
        if sum(map(len, self._block)) > MAX_BLOCK_CHARS:
            out += self._end()
        return out

    def _code(self, line: str) -> str:
        assert self._fence is not None
        marks = self._fence["marks"]
        closing = line.strip()
        if closing.startswith(marks) and not closing.strip(marks[0]) and len(line) - len(line.lstrip(" ")) <= 3:
            self._fence, self._block, self._list = None, [], ""
            return ""
        self._block.append(line)
        return self._coloured_code(self._fence["language"])

    def _end(self) -> str:
        """End a block that is not code and return its remaining lines."""
        block, goes_on = self._block, self._goes_on
        self._block, self._goes_on = [], False
        if not block or self._fence is not None:
            return ""
        item = _ITEM.match(block[0])
        gap = "" if goes_on else self._gap(str(item["numbered"] or "-") if item else "")
        return gap + "".join(f"{line}\n" for line in self._rendered("\n".join(block)))

    def _stable(self) -> str:
        """Return all lines except the last of a paragraph without markup: later words can only follow them."""
        text = "\n".join([*self._block, self._rest])
        if self._fence is not None or not text.strip() or _MARKUP.search(text) or len(text) > MAX_BLOCK_CHARS:
            return ""
        *lines, last = self._rendered(text)
        if not lines or _MARKUP.search(last):
            return ""
        gap = "" if self._goes_on else self._gap()
        is_within_line = text[-1] not in " \n"
        self._block, self._rest = (
            ([], last) if is_within_line else ([last], "") if text[-1] == "\n" else ([], f"{last} ")
        )
        self._goes_on = True
        return gap + "".join(f"{line}\n" for line in lines)

    def _gap(self, kind: str = "") -> str:
        """Return the empty line between two blocks; none between items of one list."""
        is_close = self._is_first or (kind != "" and kind == self._list)
        self._is_first, self._list = False, kind
        return "" if is_close else "\n"

    # Rendering

    def _rendered(self, text: str) -> list[str]:
        if len(text) > MAX_BLOCK_CHARS:
            return text.split("\n")
        from markdown_it import MarkdownIt
        from rich.markdown import Markdown

        markdown = Markdown("", code_theme=CODE_THEME, hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        markdown.parsed = parser.parse(text)
        for token in markdown.parsed:
            token.children = token.children and _without_own_addresses(token.children)
        out = self._console()
        out.print(markdown)
        lines = _lines_of(out)
        while len(lines) > 1 and not _STYLING.sub("", lines[0]).strip():
            del lines[0]
        while len(lines) > 1 and not _STYLING.sub("", lines[-1]).strip():
            del lines[-1]
        return lines

    def _coloured_code(self, language: str) -> str:
        """Return the last line of the code so far, highlighted and indented."""
        line = self._block[-1]
        if not self._coloured or len(line) > MAX_BLOCK_CHARS:
            return f"  {line}\n"
        from rich.syntax import Syntax
        from rich.text import Text

        known = self._block if len(self._block) <= MAX_COLOURED_LINES else [line]
        code = Syntax("", language or "text", theme=CODE_THEME, background_color="default")
        lines = code.highlight("\n".join(known)).split("\n", allow_blank=True)
        coloured = lines[len(known) - 1] if len(lines) >= len(known) else Text(line)
        out = self._console()
        out.print(coloured if coloured.plain == line else Text(line), soft_wrap=True, end="")
        return f"  {''.join(_lines_of(out))}\n"

    def _console(self) -> Console:
        from rich.console import Console
        from rich.theme import Theme

        return Console(
            file=StringIO(),
            width=max(self._width(), 20),
            force_terminal=self._coloured,
            color_system="standard" if self._coloured else None,
            legacy_windows=False,
            theme=Theme(STYLES),
            highlight=False,
            markup=False,
            emoji=False,
        )


def _without_own_addresses(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without links whose text is their address, which rich would show twice."""
    own = {
        at
        for at, token in enumerate(tokens[:-2])
        if token.type == "link_open" and token.attrs.get("href") == tokens[at + 1].content
    }
    return [token for at, token in enumerate(tokens) if at not in own and at - 2 not in own]


def _lines_of(console: Console) -> list[str]:
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().removesuffix("\n").split("\n")]
