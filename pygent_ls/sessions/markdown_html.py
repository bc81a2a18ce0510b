"""Markdown as HTML in which nothing counts as markup, is loaded or can be run. Pure."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pygent_ls.agent.conversation_text import utf8

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LINKS = ("http://", "https://", "mailto:")
"""What a link may lead to; any other stands there as it was written."""


def markdown_html(text: str) -> str:
    """CommonMark with tables and ~~strikethrough~~; a line ends where it ends. Tags stand there as text, and in
    place of a picture, which would be loaded, its link."""
    return _parser().render(utf8(text)).rstrip("\n")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = lambda url: url.lower().startswith(LINKS)
    return parser
