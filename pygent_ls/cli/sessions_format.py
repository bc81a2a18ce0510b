"""Display of sessions by `pygent-ls sessions`, for users and for programs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.events import Finished
from pygent_ls.agent.messages import (
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    rejections_in_words,
)
from pygent_ls.editors.terminal.text import Palette, harmless
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.journal.changes import Changes
from pygent_ls.sessions.saved_format.writer import message_out, timestamp
from pygent_ls.workspace.git.session_worktrees import worktree_of

MIN_ID_CHARS = 8
"""Minimum number of id characters shown; more are shown if needed to distinguish the ids."""

MAX_GIST_CHARS = 100
"""Maximum length of a tool call's argument, an error, or a name in a list."""


class SessionRow(Struct, frozen=True, kw_only=True):
    """Session in a list."""

    id: str
    when: datetime
    """Time of the last use, or of the deletion."""
    n_messages: int | None
    cost: str
    name: str
    notes: Sequence[str] = ()
    folder: Path | None = None
    """Folder of the session; None if it is not shown."""


def table(rows: Sequence[SessionRow], palette: Palette, *, used: str) -> str:
    """Format a table with a header line and one line per row; `used` is the header of `when`."""
    if not rows:
        return ""
    width = id_width(row.id for row in rows)
    cost_width = max(4, *(len(row.cost) for row in rows))
    head = f"{'ID':<{width}}  {used:<16}  {'MESSAGES':>8}  {'COST':>{cost_width}}  NAME"
    lines = [palette.paint(head, "dim")]
    for row in rows:
        n_messages = "" if row.n_messages is None else str(row.n_messages)
        notes = "".join(f" ({note})" for note in row.notes)
        folder = f"  {plain(str(row.folder))}" if row.folder else ""
        lines.append(
            f"{row.id[:width]:<{width}}  {local(row.when)}  {n_messages:>8}  {row.cost:>{cost_width}}  "
            f"{palette.paint(_gist(row.name), 'bold')}{palette.paint(notes + folder, 'dim')}"
        )
    return "\n".join(lines) + "\n"


def id_width(ids: Iterator[str] | Collection[str]) -> int:
    """Return how many characters distinguish these ids."""
    found = set(ids)
    width = MIN_ID_CHARS
    while len({each[:width] for each in found}) < len(found):
        width += 1
    return width


def plain(text: str) -> str:
    """Format untrusted text on one line without hidden characters."""
    return " ".join(visible(text).split())


def local(moment: datetime) -> str:
    """Format a time in the local time zone, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def cost_of(usage: Usage) -> str:
    """Format the cost: `$0.0123`, `-` if nothing was used, `?` if the price is unknown."""
    if usage.cost_usd is not None:
        return f"${usage.cost_usd:.4f}"
    return "?" if usage.total_tokens else "-"


def session_json(session: SessionEntry) -> dict[str, Any]:
    """Return the session as the protocol's `Session`."""
    usage, worktree = session.usage, worktree_of(session.working_directory)
    of_worktree = {} if worktree is None else {"worktree": worktree.name}
    return {
        "sessionId": session.id,
        "name": session.name,
        "cwd": str(session.working_directory),
        "createdAt": timestamp(session.created_at),
        "updatedAt": timestamp(session.updated_at),
        "agent": session.agent,
        "model": session.model,
        "mode": session.mode,
        "usage": {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cacheReadTokens": usage.cache_read_tokens,
            "cacheWriteTokens": usage.cache_write_tokens,
            "totalTokens": usage.total_tokens,
            "costUsd": usage.cost_usd,
            "contextTokens": usage.context_tokens,
            "contextLimit": usage.context_limit,
        },
        "messageCount": session.n_messages,
        "lastSeq": session.last_seq,
        "interrupted": session.is_interrupted,
        **of_worktree,
    }


def conversation_json(session: SessionEntry, messages: Sequence[Message], notices: Sequence[str]) -> dict[str, Any]:
    """Return the conversation as `pygent/session/load` answers it."""
    turn_ids = list(dict.fromkeys(each.turn_id for each in messages))
    shown = [message_out(each) for each in messages]
    return {**session_json(session), "messages": shown, "turnIds": turn_ids, "notices": [*notices]}


class Happened(Struct, frozen=True, kw_only=True):
    """Journal contents beside the conversation."""

    changes: Changes
    endings: Mapping[str, Finished]


def conversation(session: SessionEntry, messages: Sequence[Message], happened: Happened, palette: Palette) -> str:
    """Format the conversation for reading: messages, a line for each tool call, and a line at the end of each turn."""
    usage = session.usage
    about = [session.model, session.agent, f"{usage.total_tokens:,} tokens, {usage.cost_in_words}"]
    lines = [
        palette.paint(plain(session.name), "bold"),
        palette.paint(f"{session.id} · {plain(str(session.working_directory))}", "dim"),
        palette.paint(f"{local(session.created_at)} – {local(session.updated_at)} · {plain(' · '.join(about))}", "dim"),
    ]
    results = {
        block.tool_use_id: block
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    }
    speaker, turn_id = "", ""
    for message in messages:
        if message.turn_id != turn_id:
            lines += _ending(happened.endings.get(turn_id), palette)
            speaker, turn_id = "", message.turn_id
        shown = list(_blocks(message, results, happened.changes, palette))
        if shown and message.role != speaker:
            speaker = message.role
            title = f"You · {local(message.timestamp)}" if speaker == "user" else "pygent"
            lines += ["", palette.paint(title, "green" if speaker == "user" else "cyan")]
        lines += shown
    lines += _ending(happened.endings.get(turn_id), palette)
    return "\n".join(lines) + "\n"


def _blocks(
    message: Message, results: Mapping[str, ToolResultBlock], changes: Changes, palette: Palette
) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case TextBlock(text=text, from_outside=True):
                yield palette.paint(f"[attached: {_gist(text)}]", "dim")
            case TextBlock(rejected=(_, *_) as rejected):
                yield palette.paint(f"[{plain(rejections_in_words(rejected))}]", "dim")
            case TextBlock(text=text):
                if text.strip():
                    yield harmless(text).strip("\n")
            case ImageBlock(mime_type=mime_type):
                yield palette.paint(f"[picture: {plain(mime_type)}]", "dim")
            case ToolUseBlock():
                yield _call(block, results.get(block.id), changes, palette)
            case ThinkingBlock() | ToolResultBlock():
                pass


def _call(call: ToolUseBlock, result: ToolResultBlock | None, changes: Changes, palette: Palette) -> str:
    """Format a tool call on one line."""
    texts = [_gist(each) for each in call.input.values() if isinstance(each, str)]
    said = f"  {plain(call.name)} {next(filter(None, texts), '')}".rstrip()
    if result is None:
        return palette.paint(f"{said} · no result", "dim")
    if result.is_error:
        return palette.paint(said, "dim") + palette.paint(f" · {_gist(result.content)}", "red")
    counts = "".join(f" · +{each.added} −{each.removed}" for each in changes.get(call.id, ()))
    return palette.paint(said + counts, "dim")


def _gist(text: str) -> str:
    line = plain(text[: 4 * MAX_GIST_CHARS])
    return line if len(line) <= MAX_GIST_CHARS else f"{line[: MAX_GIST_CHARS - 1]}…"


def _ending(finished: Finished | None, palette: Palette) -> Iterator[str]:
    if finished is not None:
        usage = finished.usage
        yield palette.paint(f"[{finished.stop_reason} · {usage.total_tokens:,} tokens, {usage.cost_in_words}]", "dim")
