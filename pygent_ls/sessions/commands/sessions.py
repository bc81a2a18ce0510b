"""Commands on sessions, and on files that hold sessions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import get_args

from msgspec.structs import replace

from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.messages import Message
from pygent_ls.sessions.commands.answer_text import when
from pygent_ls.sessions.commands.command import Command, CommandCall, UsageError, WordChoice, one_of
from pygent_ls.sessions.commands.files import FORCE, read_file, write_file
from pygent_ls.sessions.export.exporter import ExportFormat, export
from pygent_ls.sessions.export.importer import masked_message
from pygent_ls.sessions.index.entries import SessionEntry, meant
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.journal.trash import TRASH_DAYS
from pygent_ls.sessions.saved_format.reader import read_saved
from pygent_ls.sessions.saved_format.writer import settled

MAX_LISTED = 50
"""Maximum number of sessions in a list, the most recently used."""

MAX_LOOKED_THROUGH = 1_000_000
"""Maximum number of sessions searched for an id or name."""

MAX_FOUND = 20
"""Maximum number of turns that a search shows, the best matches."""

SUFFIXES: Mapping[ExportFormat, str] = {"markdown": "md", "json": "json", "xml": "xml", "plain": "txt", "html": "html"}
"""File suffix of each format."""


async def _list(call: CommandCall) -> str:
    page = await call.shelf.page(SessionFilter(limit=MAX_LISTED, used=True))
    if not page.sessions:
        own = call.session
        return f"This is the only session: `{own.id}` {one_line(own.name)}: {len(own.messages)} messages"
    lines = [f"- {_line(each)}{' (this one)' if each.id == call.session.id else ''}" for each in page.sessions]
    more = ["… and older ones; `/search WORDS` searches all of them."] if page.cursor else []
    return "\n".join(["Most recently used first:", *lines, *more])


def _line(session: SessionEntry) -> str:
    return f"`{session.id}` {one_line(session.name)}: {session.n_messages} messages, {when(session.updated_at)}"


async def _new(call: CommandCall) -> str:
    kept = await _kept(call)
    call.session.take_conversation(())
    call.session.rename(call.text)
    return f"Started a new conversation. {kept}".rstrip()


async def _load(call: CommandCall) -> str:
    other = await _other(call)
    messages = settled((await call.shelf.look_at(other.id)).messages)
    kept = await _kept(call)
    call.session.take_conversation(messages)
    call.session.rename(other.name)
    return f"Continuing from `{other.id}` {one_line(other.name)}: {len(messages)} messages. {kept}".rstrip()


async def _kept(call: CommandCall) -> str:
    """Fork the conversation, if it is not empty; return text with the fork's id, or an empty text."""
    if not call.session.messages:
        return ""
    kept = await call.shelf.fork(call.session.id, name=call.session.name)
    return f"The previous conversation is saved; `/session load {kept.id}` restores it."


async def _rename(call: CommandCall) -> str:
    call.session.rename(call.text)
    return f"Session renamed to {one_line(call.session.name)!r}."


async def _fork(call: CommandCall) -> str:
    at = _turn(call) if call.text else None
    fork = await call.shelf.fork(call.session.id, at)
    return (
        f"Created `{fork.id}` {one_line(fork.name)}, a separate copy with {len(fork.messages)} messages. `/session "
        f"load {fork.id}` continues it here."
    )


def _turn(call: CommandCall) -> str:
    """Return the id of the turn with that id or number; the first is 1."""
    turns = _turns(call.session.messages)
    if call.text in turns:
        return call.text
    if call.text.isdecimal() and 0 < int(call.text) <= len(turns):
        return list(turns)[int(call.text) - 1]
    raise UsageError(f"There is no turn {call.text!r}. The conversation has {len(turns)} turns; the first is 1.")


def _turns(messages: Sequence[Message]) -> dict[str, str]:
    """Return the prompt of each turn, by turn id, in order."""
    turns: dict[str, str] = {}
    for message in messages:
        if message.turn_id:
            turns.setdefault(message.turn_id, one_line(message.text))
    return turns


async def _delete(call: CommandCall) -> str:
    other = await _other(call)
    if not await call.shelf.delete(other.id):
        return f"`{other.id}` {one_line(other.name)} was deleted."
    return (
        f"`{other.id}` {one_line(other.name)} was moved to the trash for {TRASH_DAYS} days. To restore it, run "
        f"`pygent-ls sessions restore {other.id}` in a terminal."
    )


async def _other(call: CommandCall) -> SessionEntry:
    """Return the other session with that id, or the only one whose id starts with it or that has that name."""
    page = await call.shelf.page(SessionFilter(limit=MAX_LOOKED_THROUGH))
    found = meant(call.text, (each for each in page.sessions if each.id != call.session.id))
    if call.text == call.session.id:
        raise UsageError("This is the current session; `/clear` clears it.")
    if len(found) != 1:
        problem = "Several sessions match" if found else "There is no other session"
        raise UsageError(f"{problem} {call.text!r}. `/session list` shows them.")
    return found[0]


async def _others(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    page = await call.shelf.page(SessionFilter(limit=MAX_LISTED, used=True))
    return [
        WordChoice(word=each.id, detail=one_line(each.name)) for each in page.sessions if each.id != call.session.id
    ]


async def _turn_numbers(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    prompts = _turns(call.session.messages).values()
    return [WordChoice(word=str(number), detail=prompt) for number, prompt in enumerate(prompts, 1)]


async def _search(call: CommandCall) -> str:
    found = await call.shelf.search(call.text, MAX_FOUND + 1)
    if not found:
        return f"No turn contains all of: {call.text}"
    lines = [f"- `{each.session_id}` {one_line(each.name)}: {each.snippet}" for each in found[:MAX_FOUND]]
    more = ["… and more; add a word to narrow the search."] if len(found) > MAX_FOUND else []
    return "\n".join([f"Turns that contain all of: {call.text}", *lines, *more])


# Files


async def _save(call: CommandCall) -> str:
    return await _written(call, "json", [each for each in call.words if each != FORCE])


async def _export(call: CommandCall) -> str:
    words = [each for each in call.words if each != FORCE]
    forms = {name: name for name in get_args(ExportFormat)}
    form = one_of(replace(call, text=words[0] if words else ""), "format", forms)
    if len(words) > 1:
        return await _written(call, form, words[1:])
    text = await export(call.session, form, call.session.journal.read)
    return text if form == "markdown" else fenced(text.rstrip(), "text" if form == "plain" else form)


async def _written(call: CommandCall, form: ExportFormat, names: Sequence[str]) -> str:
    if len(names) > 1:
        raise UsageError("Name one file; quote names with spaces.")
    name = names[0] if names else f"{_slug(call.session.name)}.pygent.{SUFFIXES[form]}"
    text = await export(call.session, form, call.session.journal.read)
    shown = await write_file(call.session.services, name, text, replace=FORCE in call.words)
    again = f" `/load {shown}` loads it." if form == "json" else ""
    return f"Wrote {len(call.session.messages)} messages to `{shown}`.{again}"


def _slug(name: str) -> str:
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-")[:40] or "session"


async def _load_file(call: CommandCall) -> str:
    if len(call.words) != 1:
        raise UsageError("Name one file; quote names with spaces.")

    text, shown = await read_file(call.session.services, call.words[0])
    saved = await asyncio.to_thread(read_saved, text, f"`{shown}`")  # it may be long
    messages = [await masked_message(each, call.session.services.memory.secrets) for each in saved.messages]
    kept = await _kept(call)
    call.session.take_conversation(messages)
    call.session.rename(saved.name)
    return f"Continuing from `{shown}`, {one_line(saved.name)}: {len(messages)} messages. {kept}".rstrip()


async def _formats(call: CommandCall) -> Sequence[WordChoice]:
    return () if call.words else [WordChoice(word=name) for name in get_args(ExportFormat)]


COMMANDS = (
    Command(
        name="session",
        description="manage sessions",
        parts=(
            Command(name="list", description="list recent sessions", run=_list),
            Command(
                name="new",
                takes="[NAME]",
                description="start a new conversation here; the current one is saved as a separate session",
                run=_new,
            ),
            Command(
                name="load",
                takes="ID",
                description=(
                    "continue another session's conversation here; the current one is saved as a separate session"
                ),
                run=_load,
                complete=_others,
            ),
            Command(
                name="rename",
                takes="[NAME]",
                description=("rename this session; without a name, use its first prompt"),
                run=_rename,
            ),
            Command(
                name="fork",
                takes="[TURN]",
                description="copy this conversation to a new session, in full or up to the end of a turn",
                run=_fork,
                complete=_turn_numbers,
            ),
            Command(
                name="delete",
                takes="ID",
                description="move another session to the trash for 30 days",
                run=_delete,
                complete=_others,
            ),
        ),
    ),
    Command(name="search", takes="WORDS", description="find turns of all sessions by their words", run=_search),
    Command(
        name="save",
        takes="[FILE] [--force]",
        description="save the session to a file in the workspace, for /load",
        run=_save,
        takes_files=True,
    ),
    Command(
        name="load",
        takes="FILE",
        description="continue a saved session here; the current conversation is saved as a separate session",
        run=_load_file,
        takes_files=True,
    ),
    Command(
        name="export",
        takes="markdown|json|xml|plain|html [FILE] [--force]",
        description="show the conversation as text, or write it to a file in the workspace",
        run=_export,
        complete=_formats,
        takes_files=True,
    ),
)
