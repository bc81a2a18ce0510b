"""Import of a saved session as a new stored one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from msgspec.structs import replace

from pygent_ls.agent.messages import Block, Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, Usage, now
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun, Record, Said, Spent, State
from pygent_ls.sessions.saved_format.writer import SavedSession
from pygent_ls.sessions.titles import UNNAMED, name_of_conversation


async def import_session(saved: SavedSession, journals: JournalFolder, *, folder: Path, secrets: SessionSecrets) -> str:
    """Store the session as a new one in that folder, with secrets masked; return its id.

    Raises `SessionError` (`not_imported`) if it cannot be written.
    """
    messages = [await masked_message(each, secrets) for each in saved.messages]
    name = " ".join((await secrets.masked(saved.name)).split())
    state = State(
        at=now(),
        name=name or name_of_conversation(messages) or UNNAMED,
        agent=saved.agent or "default",
        own_agent=None,
        model=saved.model,
        own_model=None,
        mode="default",
        own_mode=None,
        max_thinking_tokens=None,
        context_mode=None,
    )
    begun = Begun(id=uuid4().hex, created=min(saved.created, state.at), working_directory=folder)
    records: list[Record] = [state, *(Said(index=at, message=each) for at, each in enumerate(messages))]
    records.append(Spent(at=state.at, usage=saved.usage, last_turn=Usage()))
    try:
        journal = journals.create(begun)
        try:
            journal.append(records)
            await journal.sync()
        finally:
            journal.close()
    except OSError as error:
        raise SessionError(f"The session cannot be written: {error.strerror}.", kind="not_imported") from None
    return begun.id


async def masked_message(message: Message, secrets: SessionSecrets) -> Message:
    """Return a message from a file, with secrets masked."""
    if isinstance(message.content, str):
        return replace(message, content=await secrets.masked(message.content))
    return replace(message, content=tuple([await _masked_block(block, secrets) for block in message.content]))


async def _masked_block(block: Block, secrets: SessionSecrets) -> Block:
    match block:
        case TextBlock():
            return replace(block, text=await secrets.masked(block.text))
        case ToolResultBlock():
            return replace(block, content=await secrets.masked(block.content))
        case ToolUseBlock():
            return replace(block, input=cast("Mapping[str, Any]", await _masked_value(dict(block.input), secrets)))
        case ThinkingBlock():
            thinking = await secrets.masked(block.thinking)
            return block if thinking == block.thinking else ThinkingBlock(thinking=thinking)
        case _:
            return block


async def _masked_value(value: object, secrets: SessionSecrets) -> object:
    match value:
        case str():
            return await secrets.masked(value)
        case list():
            return [await _masked_value(each, secrets) for each in cast("list[object]", value)]
        case dict():
            found = cast("dict[str, object]", value)
            return {key: await _masked_value(each, secrets) for key, each in found.items()}
        case _:
            return value
