"""Fading of read files once the context has lost what showed them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pygent_ls.agent.compaction.summary import NO_ROOM
from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.context.window import ContextCut
from pygent_ls.agent.messages import ToolResultBlock
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.tool import path_arguments
from pygent_ls.errors import ToolError


def forget_left_out(around: RunContext, memory: ContextMemory, cut: ContextCut) -> None:
    """Update the read log before this context is sent. If it begins elsewhere than the last one, files count as read
    only if a call that is still in it read them, or if they were read since the last request."""
    seen = (memory.compaction, cut)
    if seen != memory.seen:
        around.reads.fade(_shown_in(memory, cut, around))
        memory.seen = seen
    around.reads.settle()


def _shown_in(memory: ContextMemory, cut: ContextCut, around: RunContext) -> set[Path]:
    """Return the files that the results of a context show; each message is examined once. The head of a cut, a prompt,
    shows nothing."""
    known = memory.files_shown
    for place in range(len(known), len(memory.messages)):
        known.append(tuple(_shown_by(memory, place, around)))
    return {path for paths in known[cut.start :] for path in paths}


def _shown_by(memory: ContextMemory, place: int, around: RunContext) -> Iterator[Path]:
    shown = {
        block.tool_use_id
        for block in memory.messages[place].blocks
        if isinstance(block, ToolResultBlock) and NO_ROOM not in block.content
    }
    unit = memory.messages[memory.rows[place].unit : place] if shown else ()
    for call in (call for message in unit for call in message.tool_calls if call.id in shown):
        tool = around.tools.get(call.name)
        if tool is None or tool.kind != "read":
            continue
        for name in path_arguments(call.input):
            with suppress(ToolError):
                yield around.workspace.resolve(name)
