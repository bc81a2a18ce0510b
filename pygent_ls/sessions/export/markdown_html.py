"""Conversion of Markdown to safe HTML: tags are escaped, nothing is loaded or run. Pure."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pygent_ls.agent.context.conversation_text import utf8

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LINKS = ("http://", "https://", "mailto:")
"""Allowed beginnings of link targets. Other links are kept as text."""


def markdown_html(text: str) -> str:
    """Convert CommonMark with tables and ~~strikethrough~~. Line breaks are kept. Tags become text, and an image, which
    would be loaded, becomes its link."""
    return _parser().render(utf8(text)).rstrip("\n")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = lambda url: url.lower().startswith(LINKS)
    return parser
