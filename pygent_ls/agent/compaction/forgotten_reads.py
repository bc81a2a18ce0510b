"""Fading of read files once the context has lost what showed them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pygent_ls.agent.compaction.summary import NO_ROOM
from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.context.window import ContextCut
from pygent_ls.agent.messages import ToolResultBlock
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import path_arguments
from pygent_ls.errors import ToolError


def forget_left_out(services: SessionServices, memory: ContextMemory, cut: ContextCut) -> None:
    """Update the read log before this context is sent. If it begins elsewhere than the last one, files count as read
    only if a call that is still in it read them, or if they were read since the last request."""
    seen = (memory.compaction, cut)
    if seen != memory.seen:
        services.memory.reads.fade(_shown_in(memory, cut, services))
        memory.seen = seen
    services.memory.reads.settle()


def _shown_in(memory: ContextMemory, cut: ContextCut, services: SessionServices) -> set[Path]:
    """Return the files that the results of a context show; each message is examined once. The head of a cut, a prompt,
    shows nothing."""
    known = memory.files_shown
    for place in range(len(known), len(memory.messages)):
        known.append(tuple(_shown_by(memory, place, services)))
    return {path for paths in known[cut.start :] for path in paths}


def _shown_by(memory: ContextMemory, place: int, services: SessionServices) -> Iterator[Path]:
    shown = {
        block.tool_use_id
        for block in memory.messages[place].blocks
        if isinstance(block, ToolResultBlock) and NO_ROOM not in block.content
    }
    unit = memory.messages[memory.rows[place].unit : place] if shown else ()
    for call in (call for message in unit for call in message.tool_calls if call.id in shown):
        tool = services.tools.get(call.name)
        if tool is None or tool.kind != "read":
            continue
        for name in path_arguments(call.input):
            with suppress(ToolError):
                yield services.environment.workspace.resolve(name)
