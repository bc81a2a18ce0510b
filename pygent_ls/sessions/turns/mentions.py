"""Mentions in a prompt with `@`: files, pages, resources, diagnostics, the editor's position, uncommitted changes."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from pygent_ls.agent.context.attachments import FilePart, ImagePart, NotePart, PromptPart
from pygent_ls.agent.context.editor_text import masked_problems, problems_text
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import ToolError
from pygent_ls.sessions.turns.reading_context import reading_context

MAX_MENTIONS = 20
"""Maximum number of different mentions read from a prompt: more than a person names, and few enough for a request."""

MentionKinds = Literal["all", "workspace", "none"]
"""Mentions that are attached: all, those without resources of servers, or none."""

_MENTION = re.compile(
    r"""(?<![^\s("'\[`])@(?:"(?P<quoted>[^"\n]+)"(?P<where>#L\d{1,9}(?:-L?\d{1,9})?)?"""
    r"""|(?P<url>https?://[\w\[][^\s"'`<>]+)|(?P<plain>[^\s"'`<>()\[\]{},;]+))"""
)
"""An `@` after white space or an opening character, so not the one in an e-mail address."""

_FENCED = re.compile(
    r"^[ \t]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*(?:\n.*?^[ \t]*(?P=fence)[`~]*[ \t\r]*$|.*)",
    re.DOTALL | re.MULTILINE,
)
"""Pasted code, whose decorators are not mentions. An unclosed fence extends to the end."""

_QUOTED_CODE = re.compile(r"`[^`\n]+`")

_AGENT = re.compile(r"agent-([\w-]+)")
"""Not a file such as `agent-notes.md`, nor a package such as `agent-kit/core`."""

WEB_FETCH = "web_fetch"

DRAWN = "image/svg+xml"
"""MIME type of images that are text, and read as text."""

_PAGE = re.compile(r"https?://[\w\[]")

_CLOSING = {")": "(", "]": "[", "}": "{"}

_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?$")


class Mention(Struct, frozen=True):
    """A word or web address after an `@`, and the lines that it names."""

    word: str
    lines: LineRange | None = None


def mentions_in(text: str) -> list[Mention]:
    """Return the mentions of a text in order, each once."""
    found: dict[Mention, None] = {}
    for match in _MENTION.finditer(_FENCED.sub("", text)):
        if match["url"]:
            found[Mention(_without_end(match["url"]))] = None
            continue
        word = match["quoted"] + (match["where"] or "") if match["quoted"] else match["plain"].rstrip(".:!?")
        lines = None
        if where := _LINES.search(word):
            first, last = int(where[1]), int(where[2] or where[1])
            word, lines = word[: where.start()], LineRange(first=max(1, min(first, last)), last=max(1, first, last))
        if word:
            found[Mention(word, lines)] = None
    return list(found)[:MAX_MENTIONS]


def _without_end(url: str) -> str:
    """Return the address without the punctuation of the sentence around it."""
    url = url.rstrip(".,:;!?")
    while url[-1] in _CLOSING and url.count(url[-1]) > url.count(_CLOSING[url[-1]]):
        url = url[:-1].rstrip(".,:;!?")
    return url


def agent_mentioned(words: str) -> str | None:
    """Return the first agent that a prompt mentions as `@agent-NAME`, outside code; None without such a mention."""
    text = _QUOTED_CODE.sub(" ", _FENCED.sub("", words))
    names = (_AGENT.fullmatch(each.word) for each in mentions_in(text) if each.lines is None)
    return next((each[1] for each in names if each), None)


async def expanded(
    parts: Sequence[PromptPart], services: SessionServices, kinds: MentionKinds = "all"
) -> tuple[PromptPart, ...]:
    """Return the parts, and what the mentions of these kinds in the user's text refer to. The text stays unchanged.

    A word that is not a file of the workspace remains plain text.
    """
    if kinds == "none":
        return tuple(parts)
    words = "".join(part for part in parts if isinstance(part, str))
    added = [part for mention in mentions_in(words) for part in await _parts_of(mention, services, kinds)]
    return (*parts, *dict.fromkeys(part for part in added if part not in parts))


async def _parts_of(mention: Mention, services: SessionServices, kinds: MentionKinds) -> Sequence[PromptPart]:
    """Return what a mention refers to; empty for a word that refers to nothing. A file takes precedence over a resource
    of a server."""
    part = await _part_of(mention, services)
    if part is not None:
        return (part,)
    return await _resource(mention.word, services) if kinds == "all" else ()


async def _resource(word: str, services: SessionServices) -> Sequence[PromptPart]:
    resources = services.environment.resources
    if resources is None or ":" not in word:
        return ()
    try:
        content = await resources.read(word)
    except ToolError as error:
        return (NotePart(kind="resource", text=f"{word} could not be read: {error}"),)
    if content is None:
        return ()
    return (NotePart(kind="resource", text=f"{word}:\n{content.text}"), *content.images)


async def _part_of(mention: Mention, services: SessionServices) -> PromptPart | None:
    view = services.environment.editor.view
    match mention.word:
        case "diagnostics":
            told = await services.environment.editor.problems()
            if told is None:
                return NotePart(kind="diagnostics", text=services.environment.editor.why_silent)
            masked = await masked_problems(told, services.memory.secrets.masked)
            return NotePart(kind="diagnostics", text=problems_text(masked, services.environment.workspace.shown))
        case "selection" if view.selected:
            return FilePart(path=view.selected[0], lines=view.selected[1])
        case "buffer" if view.active:
            return FilePart(path=view.active)
        case "selection" | "buffer" as kind:
            return NotePart(kind=kind, text="The editor has not told where the user is.")
        case "diff":
            return NotePart(kind="diff", text=await _diff(services))
        case word if _PAGE.match(word):
            return _page(word, services)
        case _:
            return await _file(mention, services)


def _page(url: str, services: SessionServices) -> NotePart:
    """Return a request that the model fetches the page with its tool, so that the user is asked for permission as for
    any call."""
    what = "there is no tool here that could fetch it: say so if you need it."
    if services.tools.get(WEB_FETCH) is not None:
        what = f"fetch it with {WEB_FETCH} before you answer, and use what it says."
    return NotePart(kind="page", text=f"The user names the page {url} as context: {what}", from_outside=False)


async def _file(mention: Mention, services: SessionServices) -> PromptPart | None:
    workspace = services.environment.workspace
    try:
        path = workspace.resolve(mention.word)
        mime_type, _ = mimetypes.guess_type(path.name)
        if (mime_type or "").startswith("image/") and mime_type != DRAWN and await workspace.stamp(path) != MISSING:
            return ImagePart(path=path, mime_type=mime_type or "")
        await workspace.read(path)
    except ToolError:
        return await _folder(mention, services)
    return FilePart(path=path, lines=mention.lines)


async def _folder(mention: Mention, services: SessionServices) -> PromptPart | None:
    """Return the contents of a folder, as `list_files` shows them."""
    try:
        if await services.environment.workspace.stamp(services.environment.workspace.resolve(mention.word)) == MISSING:
            return None
        return NotePart(kind="folder", text=await _told_by("list_files", services, path=mention.word))
    except ToolError:
        return None


async def _diff(services: SessionServices) -> str:
    """Return the differences from the last commit."""
    try:
        return await _told_by("git_diff", services, revision="HEAD")
    except ToolError as error:
        return f"Could not be created: {error}"


async def _told_by(name: str, services: SessionServices, **arguments: object) -> str:
    """Return the result of a read-only tool. Raises `ToolError`."""
    tool = services.tools.get(name)
    if tool is None:
        return "There is no workspace folder, or this agent may not look there."

    return str(await tool.run(reading_context(services), **arguments))
