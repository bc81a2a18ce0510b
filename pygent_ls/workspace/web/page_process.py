"""Converts one answer of a web server to text: a separate program, started by `pages.py`.

It is a process and not a function because some pages take HTML libraries minutes or gigabytes, and a process can be
killed, unlike a thread.

Reads from standard input one line of JSON, `{"url": …, "content_type": …, "charset": …, "max_chars": …}`, followed by
the bytes of the body; writes `{"text": …, "n_chars": …, "is_cut": …}`, with the length of the whole text.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from pygent_ls.workspace.processes.child_limits import confine

CPU_S = 10
"""CPU time limit. A page of a megabyte takes three seconds."""

MAX_MEMORY_BYTES = 1_000_000_000
"""Address space limit; a page of a megabyte takes a fifth of it."""

MAX_HTML_CHARS = 1_000_000
"""Maximum length of HTML that is converted; the rest is left out."""

MAX_BLANKS = 200
"""Maximum run of blanks in preformatted text: markdownify's patterns take quadratic time in their number."""

NOT_SAID = ("script", "style", "noscript", "template", "svg", "iframe", "object", "head")
"""Elements without readable text."""


def main() -> None:
    """Process the job given on standard input."""
    job: Mapping[str, Any] = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    confine(cpu_s=CPU_S, memory_bytes=MAX_MEMORY_BYTES, file_bytes=0)
    text, is_cut = text_of(body, url=job["url"], content_type=job["content_type"], charset=job["charset"])
    shown = text[: job["max_chars"]]
    told = json.dumps(
        {"text": shown, "n_chars": len(text), "is_cut": is_cut or len(shown) < len(text)}, ensure_ascii=False
    )
    sys.stdout.buffer.write(told.encode("utf-8", "replace"))


def text_of(body: bytes, *, url: str, content_type: str, charset: str | None) -> tuple[str, bool]:
    """Return the body as text, HTML as markdown, and whether only its beginning is included."""
    text = body.decode(_encoding(body, charset), "replace")
    if "html" in content_type or (not content_type and re.match(r"\s*+<(!doctype|html)", text, re.I)):
        return _markdown(text[:MAX_HTML_CHARS], url), len(text) > MAX_HTML_CHARS
    return text, False


def _encoding(body: bytes, charset: str | None) -> str:
    if charset is None and (found := re.search(rb"<meta[^>]{0,200}charset=[\"']?([\w-]{1,40})", body[:2048])):
        charset = found[1].decode("ascii")
    try:
        info = codecs.lookup(charset or "utf-8")
    except (LookupError, ValueError):
        return "utf-8"
    return info.name if info._is_text_encoding else "utf-8"  # pyright: ignore[reportPrivateUsage]


def _markdown(html: str, url: str) -> str:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup
    from markdownify import MarkdownConverter

    try:
        soup = BeautifulSoup(html, "html.parser")
    except (ParserRejectedMarkup, ValueError):  # `<![`; a character reference of 5,000 digits
        return html
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for each in soup.find_all(NOT_SAID):
        each.decompose()
    for link in soup.find_all("a", href=True):
        with contextlib.suppress(ValueError):  # `http://[`: the link is left unchanged
            link["href"] = urljoin(url, str(link["href"]))
    for image in soup.find_all("img", src=re.compile("^data:")):
        image.decompose()
    for said in soup.find_all(string=re.compile(r"[\t \r\n]{2}")):
        said.replace_with(_squeezed(said, is_pre=said.find_parent("pre") is not None))
    try:
        text = MarkdownConverter(heading_style="ATX").convert_soup(soup)
    except (RecursionError, ValueError):  # nested too deep; a list that starts at 10**5000
        text = soup.get_text("\n", strip=True)
    text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return f"{title}\n\n{text}" if title and not text.startswith(f"# {title}") else text


def _squeezed(text: str, *, is_pre: bool) -> str:
    """Shorten runs of blanks, which does not change what a browser shows, except for very long ones in `pre`."""
    if is_pre:
        return re.sub(rf"([\t \r\n]{{{MAX_BLANKS}}})[\t \r\n]+", r"\1", text)
    return re.sub(r"[\t \r\n]+", lambda run: "\n" if "\n" in run[0] or "\r" in run[0] else " ", text)


if __name__ == "__main__":
    main()
