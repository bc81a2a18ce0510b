"""What the user is shown of a web search that a provider ran. Pure."""

from __future__ import annotations

from pygent_ls.agent.display_text import one_line

SEARCHED = "Done by the provider."
"""Result of a search of which the provider tells no pages."""

MAX_URL_CHARS = 2_000


def shown_url(url: str) -> str:
    """Return the address of a page on one line, shortened if it is extremely long."""
    return one_line(url, MAX_URL_CHARS)
