"""A conversation as a web page."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.sessions.html_page import html_page


class Seen(HTMLParser):
    """What a browser sees: its tags, and the text in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def talk(text: str) -> list[Message]:
    return [
        Message(role="user", content=(TextBlock(text=text, from_outside=True), TextBlock(text=text))),
        Message(
            role="assistant",
            content=(
                ThinkingBlock(thinking=text),
                TextBlock(text=text),
                ToolUseBlock(id="c", name=text, input={"text": text}),
            ),
        ),
        Message(role="user", content=(ToolResultBlock(tool_use_id="c", content=text, is_error=True),)),
        Message(
            role="user", content=(ImageBlock(mime_type=text, data=text), ImageBlock(mime_type="image/png", data="QQ=="))
        ),
    ]


@given(st.text() | st.sampled_from(["</pre><script>x()</script>", '"><img onerror=x()>', "&lt;b>", "\ud800"]))
def test_nothing_that_was_said_counts_as_markup(text: str) -> None:
    plain, seen = Seen(html_page("name", talk("words"))), Seen(html_page(text, talk(text)))

    assert seen.tags == plain.tags
    assert "script" not in seen.tags


def test_words_stand_open_and_what_tools_did_is_folded() -> None:
    page = html_page("Dates", talk("1 < 2 & 3"))

    assert page.startswith("<!DOCTYPE html>\n<html")
    assert page.count('<p class="words">1 &lt; 2 &amp; 3</p>') == 2
    assert page.count("<details>") == 4
    assert "<summary>Error</summary><pre>1 &lt; 2 &amp; 3</pre>" in page
    assert '<img alt="Attached picture" src="data:image/png;base64,QQ==">' in page
    assert "default-src 'none'" in page
