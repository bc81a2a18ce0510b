"""Export of a conversation as a self-contained web page. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    rejections_in_words,
)
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.sessions.export.markdown_html import markdown_html
from pygent_ls.sessions.journal.changes import Changes
from pygent_ls.sessions.saved_format.writer import SavedSession, timestamp

OPEN_LINES = 60
"""Maximum number of lines of an unfolded patch, about one screen. Longer ones are folded."""

MAX_SUMMARY_CHARS = 100
"""Maximum number of characters of a call's summary."""

_STYLE = """\
:root { color-scheme: light dark; --text: #1b1b1b; --ground: #fff; --dim: #5f5f5f; --line: #d8d8d8; --code: #f5f5f5;
  --you: #2f8f6b; --link: #0b57d0; --add: #0a6b2d; --add-ground: #e4f7e9; --del: #a3142b; --del-ground: #fdeaec; }
@media (prefers-color-scheme: dark) { :root { --text: #dcdcdc; --ground: #181818; --dim: #a0a0a0; --line: #3c3c3c;
  --code: #232323; --you: #58c69b; --link: #8ab4f8; --add: #7ee0a0; --add-ground: #14301d; --del: #ff9aa8;
  --del-ground: #3a1a1f; } }
body { max-width: 54rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--ground); }
section { border-left: .25rem solid var(--line); margin: 1.2rem 0; padding: .1rem 1rem; }
section.user { border-color: var(--you); }
p.about, time, summary { color: var(--dim); }
time { font-weight: normal; font-size: .85rem; margin-left: .5rem; }
p.words { white-space: pre-wrap; overflow-wrap: anywhere; }
section { overflow-wrap: anywhere; }
section > h2:first-child { font-size: 1rem; margin: .2rem 0; }
section :is(h1, h2, h3, h4, h5, h6) { font-size: 1.05rem; margin: 1rem 0 .4rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--code); padding: .5rem .7rem; margin: .4rem 0;
  font: .85rem/1.4 ui-monospace, monospace; }
p code, li code, td code, th code, :is(h1, h2, h3, h4, h5, h6) code { font: .85em ui-monospace, monospace;
  background: var(--code); padding: .1em .3em; }
pre code { font: inherit; }
blockquote { margin: .6rem 0; padding-left: .8rem; border-left: .2rem solid var(--line); color: var(--dim); }
table { border-collapse: collapse; margin: .6rem 0; }
td, th { border: 1px solid var(--line); padding: .2rem .6rem; }
hr { border: 0; border-top: 1px solid var(--line); }
a { color: var(--link); }
details { margin: .3rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary b { color: var(--text); }
.error > summary, .del { color: var(--del); }
.add { color: var(--add); }
pre .add, pre .del, pre .at { display: block; }
pre .add { background: var(--add-ground); }
pre .del { background: var(--del-ground); }
pre .at { color: var(--dim); }
img { max-width: 100%; }"""

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of images that a browser shows but cannot run."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def html_page(session: SavedSession, changes: Changes) -> str:
    """Return the page. Each call shows its changes from `changes`. Nothing of the conversation is interpreted as
    markup, loaded or run."""
    body = "\n".join(_Page(session, changes).sections())
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    page = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="pygent-ls">
<title>{escape(session.name)}</title>
<style>
{_STYLE}
</style>
</head>
<body>
<h1>{escape(session.name)}</h1>
<p class="about">{escape(_about(session))}</p>
{body}
</body>
</html>
"""
    return utf8(page)


def _about(session: SavedSession) -> str:
    """Return a line with the times, model, agent, folder and cost of the session."""
    begun, used = f"{session.created:%Y-%m-%d %H:%M}", f"{session.updated:%Y-%m-%d %H:%M}"
    tokens = f"{session.usage.total_tokens:,} tokens, {session.usage.cost_in_words}"
    parts = [f"{begun} – {used} UTC" if used != begun else f"{begun} UTC", session.model, session.agent]
    return " · ".join(filter(None, [*parts, session.working_directory, tokens]))


class _Page:
    def __init__(self, session: SavedSession, changes: Changes) -> None:
        self._messages = session.messages
        self._folder = Path(session.working_directory)
        self._changes = changes
        blocks = [block for message in session.messages for block in message.blocks]
        self._results: Mapping[str, ToolResultBlock] = {
            each.tool_use_id: each for each in blocks if isinstance(each, ToolResultBlock)
        }
        self._calls = {each.id for each in blocks if isinstance(each, ToolUseBlock)}

    def sections(self) -> Iterator[str]:
        """Yield one section for each change of speaker. Tool results do not interrupt a section."""
        speaker, said_at, parts = "", "", list[str]()
        for message in self._messages:
            shown = [shown for block in message.blocks for shown in self._block(block, message.role)]
            if shown and message.role != speaker and not self._is_of_tools(message):
                yield from _section(speaker, said_at, parts)
                speaker, said_at, parts = message.role, timestamp(message.timestamp), []
            parts += shown
        yield from _section(speaker, said_at, parts)

    @staticmethod
    def _is_of_tools(message: Message) -> bool:
        return all(isinstance(block, ToolResultBlock) for block in message.blocks)

    def _block(self, block: Block, role: str) -> Iterator[str]:
        match block:
            case TextBlock():
                yield from self._text(block, role)
            case ThinkingBlock(thinking=thinking):
                yield _folded("Thinking", [_pre(thinking)])
            case ImageBlock(mime_type=mime_type, data=data) if mime_type in _PICTURES:
                yield f'<img alt="Attached picture" src="data:{mime_type};base64,{escape(data)}">'
            case ImageBlock(mime_type=mime_type):
                yield f"<p>[Image: {escape(mime_type)}]</p>"
            case ToolUseBlock():
                yield from self._call(block)
            case ToolResultBlock(tool_use_id=call_id) if call_id not in self._calls:
                yield _folded("Error" if block.is_error else "Result", [_pre(block.content)])
            case ToolResultBlock():
                pass  # shown with its call

    @staticmethod
    def _text(block: TextBlock, role: str) -> Iterator[str]:
        if block.from_outside:
            yield _folded("<b>Attached</b>", [_pre(block.text)])
        elif block.rejected:
            yield _folded(escape(rejections_in_words(block.rejected)), [_pre(block.text)])
        elif role == "assistant":
            yield from filter(None, [markdown_html(block.text)])
        else:
            yield from _words(block.text)

    def _call(self, call: ToolUseBlock) -> Iterator[str]:
        result = self._results.get(call.id)
        parts = [_pre(json.dumps(dict(call.input), ensure_ascii=False, indent=2, default=str))]
        parts += [_pre(result.content)] if result else []
        summary = f"<b>{escape(call.name)}</b> {escape(_gist(call.input))}"
        yield _folded(summary, parts, kind="error" if result and result.is_error else "call")
        for change in self._changes.get(call.id, ()):
            yield self._diff(change)

    def _diff(self, change: FileChange) -> str:
        path = change.path
        name = path.relative_to(self._folder) if path.is_relative_to(self._folder) else path
        counts = f'<span class="add">+{change.added}</span> <span class="del">−{change.removed}</span>'
        summary = f"<b>{escape(str(name))}</b> {escape(change.kind)} {counts}"
        lines = change.patch.removesuffix("\n").split("\n") if change.patch else []
        patch = "".join(_patch_lines(lines)) if lines else "(not text)"
        return _folded(summary, [f"<pre>{patch}</pre>"], kind="diff", is_open=len(lines) <= OPEN_LINES)


def _gist(given: Mapping[str, object]) -> str:
    """Return the beginning of the first text in a call's input."""
    texts = [" ".join(each.split()) for each in given.values() if isinstance(each, str)]
    gist = next(filter(None, texts), "")
    return gist if len(gist) <= MAX_SUMMARY_CHARS else f"{gist[: MAX_SUMMARY_CHARS - 1]}…"


def _section(speaker: str, said_at: str, parts: Sequence[str]) -> Iterator[str]:
    if not parts:
        return
    title = "You" if speaker == "user" else "pygent"
    when = f'<time datetime="{said_at}">{said_at[:16].replace("T", " ")}</time>' if said_at else ""
    body = "\n".join(parts)
    yield f'<section class="{speaker}">\n<h2>{title}{when}</h2>\n{body}\n</section>'


def _words(text: str) -> Iterator[str]:
    """Yield the user's text unchanged, with fenced parts as code."""
    said: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not fence and found:
            yield from _paragraph(said)
            said, fence = [], found[1]
        elif fence and found and found[1].startswith(fence) and not line.strip(" \t\r" + fence[0]):
            yield _pre("\n".join(said))
            said, fence = [], ""
        else:
            said.append(line)
    if fence:
        yield _pre("\n".join(said))
    else:
        yield from _paragraph(said)


def _paragraph(lines: Sequence[str]) -> Iterator[str]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield f'<p class="words">{escape(text)}</p>'


def _patch_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a unified diff, marked by their kind, without those before the first hunk."""
    in_hunk = False
    for line in lines:
        in_hunk = in_hunk or line.startswith("@@")
        if in_hunk:
            kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1])
            yield f'<span class="{kind}">{escape(line)}</span>' if kind else f"{escape(line)}\n"


def _pre(text: str) -> str:
    return f"<pre>\n{escape(text)}</pre>"


def _folded(summary: str, parts: Sequence[str], *, kind: str = "aside", is_open: bool = False) -> str:
    """Return a collapsible element; `summary` and `parts` are markup."""
    opened = " open" if is_open else ""
    return f'<details class="{kind}"{opened}><summary>{summary}</summary>{"".join(parts)}</details>'
