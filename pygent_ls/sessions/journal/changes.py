"""Changes that tool calls made in files, read from a journal's events. The conversation does not contain the
patches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.sessions.journal.decoder import UnreadableError, event_of, parsed
from pygent_ls.sessions.journal.files import JournalLine

Changes = Mapping[str, tuple[FileChange, ...]]
"""Changes by call id."""

_RESULT, _INSIDE, _CHANGED = b'"type":"tool_result"', b'"parent":', b'"changes":[{'
"""Byte strings that identify the lines to parse. Most lines of a journal are deltas and are skipped unparsed."""


def changes_told(lines: Iterable[JournalLine]) -> Changes:
    """Return the changes of each call of the conversation, including those of the subagents that it started."""

    found: dict[str, tuple[FileChange, ...]] = {}
    parents: dict[str, str] = {}
    for line in lines:
        if _RESULT not in line.data or (_CHANGED not in line.data and _INSIDE not in line.data):
            continue
        try:
            told = event_of(parsed(line.data))
        except (UnreadableError, ValueError, KeyError, TypeError):
            continue  # reported when the session is loaded
        if isinstance(told.event, ToolResult):
            found[told.event.tool_id] = told.event.changes
            if told.parent_tool_id is not None:
                parents[told.event.tool_id] = told.parent_tool_id
    by_call: dict[str, tuple[FileChange, ...]] = {}
    for tool_id, changes in found.items():
        if changes:
            top = _top(tool_id, parents)
            by_call[top] = by_call.get(top, ()) + changes
    return by_call


def _top(tool_id: str, parents: Mapping[str, str]) -> str:
    """Return the call of the conversation itself within which that call was made."""
    seen = {tool_id}
    while (parent := parents.get(tool_id)) is not None and parent not in seen:
        seen.add(parent)
        tool_id = parent
    return tool_id
