"""A conversation as a web page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import (
    ImageBlock,
    Message,
    RejectedFile,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.sessions.export.html_page import html_page
from pygent_ls.sessions.journal.changes import Changes
from pygent_ls.sessions.saved_format.writer import SavedSession


class Seen(HTMLParser):
    """What a browser sees: its tags, and the text in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def talk(text: str, answer: str = "words") -> list[Message]:
    """A conversation in which everything but the answer is that text."""
    return [
        Message(role="user", content=(TextBlock(text=text, from_outside=True), TextBlock(text=text))),
        Message(
            role="assistant",
            content=(
                ThinkingBlock(thinking=text),
                TextBlock(text=answer),
                ToolUseBlock(id="c", name=text, input={"text": text}),
            ),
        ),
        Message(role="user", content=(ToolResultBlock(tool_use_id="c", content=text, is_error=True),)),
        Message(
            role="user", content=(ImageBlock(mime_type=text, data=text), ImageBlock(mime_type="image/png", data="QQ=="))
        ),
    ]


PATCH = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n same\n-old <b>\n+new <b>\n"


def change(path: str = "/w/src/a.py", patch: str = PATCH) -> FileChange:
    return FileChange(path=Path(path), kind="edit", added=1, removed=1, patch=patch)


def page_of(
    messages: Sequence[Message], *, name: str = "Dates", changes: Changes | None = None, model: str = "fake/model"
) -> str:
    session = SavedSession(
        id="1",
        name=name,
        created=datetime(2026, 11, 22, 9, 14, tzinfo=UTC),
        updated=datetime(2026, 11, 22, 10, 0, tzinfo=UTC),
        working_directory="/w",
        agent="default",
        model=model,
        messages=tuple(messages),
        usage=Usage(input_tokens=1_200, output_tokens=34, cost_usd=0.0123),
    )
    return html_page(session, changes or {})


HOSTILE = st.text() | st.sampled_from(
    ["</pre><script>x()</script>", '"><img onerror=x()>', "&lt;b>", "\ud800", "```\n<b>\n```", "</style>", "-->"]
)

OWN = "html head meta title style body h1 h2 p section time details summary pre b img"
OF_MARKDOWN = "h3 h4 h5 h6 a blockquote br code em hr li ol s strong ul table thead tbody tr th td"
ATTRIBUTES = "lang charset http-equiv content name class datetime href title style start"

MARKS = """[x]( ![x]( javascript:x() JaVaScript&#58;x() data:text/html,x file:///x //x https://x.y/ mailto:x )
() < > " [a]: ``` ```"><b/onclick=x()> |a|\n|:-:| <script>x()</script> <img/src=https://x.y/onerror=x()>
&quot;onclick=&quot; * # - 7."""

MARKDOWN = st.lists(st.text() | st.sampled_from([*MARKS.split(), " ", "\n", "\n\n", "\ud800"])).map("".join)


@given(HOSTILE)
def test_nothing_that_was_said_counts_as_markup(text: str) -> None:
    without_fences = re.sub("[`~]", "'", text)
    words = "words" if without_fences.strip() else without_fences
    patch = f"@@ -1 +1 @@\n+{words}"

    plain = Seen(page_of(talk(words), changes={"c": (change(patch=patch),)}))
    said = talk(without_fences)
    changed = change(path=f"/w/{without_fences}".replace("\0", ""), patch="@@ -1 +1 @@\n+" + " ".join(text.split()))
    seen = Seen(page_of(said, name=text, model=text, changes={"c": (changed,)}))

    assert seen.tags == plain.tags
    assert "script" not in seen.tags


@given(HOSTILE)
def test_a_page_has_no_tags_but_its_own(text: str) -> None:
    assert set(Seen(page_of(talk(text), name=text)).tags) <= {*OWN.split()}


@given(MARKDOWN)
def test_an_answer_has_the_tags_of_markdown_and_leads_nowhere_but_to_the_web(text: str) -> None:
    seen = Seen(page_of([Message(role="assistant", content=text)]))

    given = dict[str, set[str]]()
    for name, value in seen.attributes:
        given.setdefault(name, set()).add(value or "")
    assert set(seen.tags) <= {*OWN.split(), *OF_MARKDOWN.split()} - {"img"}
    assert set(given) <= {*ATTRIBUTES.split()}
    links = given.get("href", set()) - {""}  # to the page itself
    assert all(each.lower().startswith(("http://", "https://", "mailto:")) for each in links)
    assert all(re.fullmatch(r"text-align:(left|center|right)", each) for each in given.get("style", ()))


def test_an_answer_is_shown_as_the_markdown_that_it_is() -> None:
    text = (
        "It is **there**, in `a < b`:\nsee [the page](https://x.y/?a=1&b=2), ![a picture](https://x.y/p.png)\n\n"
        "- <b>one</b>\n- [two](javascript:x())\n\n| a |\n|---|\n| ~~1~~ |\n\n```python\nif a < b: ...\n```"
    )
    page = page_of([Message(role="assistant", content=text)])

    shown = page[page.index("<section") : page.index("</section>")].split("\n", 2)[2]
    assert shown == (
        "<p>It is <strong>there</strong>, in <code>a &lt; b</code>:<br />\n"
        'see <a href="https://x.y/?a=1&amp;b=2">the page</a>, !<a href="https://x.y/p.png">a picture</a></p>\n'
        "<ul>\n<li>&lt;b&gt;one&lt;/b&gt;</li>\n<li>[two](javascript:x())</li>\n</ul>\n"
        "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><s>1</s></td>\n</tr>\n</tbody>\n</table>\n"
        '<pre><code class="language-python">if a &lt; b: ...\n</code></pre>\n'
    )


def test_a_page_says_whose_it_is_and_loads_nothing() -> None:
    page = page_of(talk("1 < 2 & 3"), name="Dates & times")

    assert page.startswith("<!DOCTYPE html>\n<html")
    assert "<title>Dates &amp; times</title>" in page
    about = "2026-11-22 09:14 – 2026-11-22 10:00 UTC · fake/model · default · /w · 1,234 tokens, $0.0123"
    assert f'<p class="about">{about}</p>' in page
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')]*)", page) == ["data:image/png;base64,QQ=="]


def test_words_stand_open_and_what_tools_did_is_folded_with_its_result() -> None:
    page = page_of(talk("1 < 2 & 3"))

    assert page.count('<p class="words">1 &lt; 2 &amp; 3</p>') == 1
    assert "<p>words</p>" in page
    assert page.count("<details class=") == 3
    assert (
        '<details class="error"><summary><b>1 &lt; 2 &amp; 3</b> 1 &lt; 2 &amp; 3</summary><pre>\n{\n'
        "  &quot;text&quot;: &quot;1 &lt; 2 &amp; 3&quot;\n}</pre><pre>\n1 &lt; 2 &amp; 3</pre></details>"
    ) in page
    assert '<img alt="Attached picture" src="data:image/png;base64,QQ==">' in page


def test_the_changes_of_a_call_are_shown_below_it_and_long_ones_are_folded() -> None:
    long = change("/elsewhere/b.py", "@@ -1 +1,100 @@\n" + "+x\n" * 100)
    page = page_of(talk("words"), changes={"c": (change(), long), "other": (change(),)})

    shown = (
        '<details class="diff" open><summary><b>src/a.py</b> edit <span class="add">+1</span> '
        '<span class="del">−1</span>'
        '</summary><pre><span class="at">@@ -1,2 +1,2 @@</span> same\n<span class="del">-old &lt;b&gt;</span>'
        '<span class="add">+new &lt;b&gt;</span></pre></details>'
    )
    assert page.count('class="diff"') == 2
    assert shown in page
    assert '<details class="diff"><summary><b>/elsewhere/b.py</b>' in page


def test_a_prompt_stands_as_it_was_written_but_for_code_between_fences() -> None:
    text = "*Look*:\n```python\nif a < b:\n    pass\n```\nand ~~~\n~~~~\n```\n~~~\n~~~~"
    page = page_of([Message(role="user", content=text)])

    shown = page[page.index("<section") : page.index("</section>")].split("\n", 2)[2]
    assert shown == (
        '<p class="words">*Look*:</p>\n<pre>\nif a &lt; b:\n    pass</pre>\n<p class="words">and ~~~</p>\n'
        "<pre>\n```\n~~~</pre>\n"
    )


def test_a_review_report_is_folded_below_a_line_that_says_what_was_rejected() -> None:
    report = TextBlock(text="-a\n+<b>", rejected=(RejectedFile(uri="file:///w/src/tax%20rate.py", n_changes=2),))

    page = page_of([Message(role="user", content=(report, TextBlock(text="Explain it.")))])

    assert "<summary>You rejected 2 changes in tax rate.py</summary><pre>\n-a\n+&lt;b&gt;</pre>" in page
    assert "Explain it." in page


def test_what_tools_return_interrupts_nobody() -> None:
    call = ToolUseBlock(id="1", name="shell", input={"command": "make"})
    page = page_of(
        [
            Message(role="user", content="go"),
            Message(role="assistant", content=(TextBlock(text="first"), call)),
            Message(role="user", content=(ToolResultBlock(tool_use_id="1", content="ok"),)),
            Message(role="assistant", content="done"),
        ]
    )

    assert re.findall(r"<h2>(\w+)<time", page) == ["You", "pygent"]
