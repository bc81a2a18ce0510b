"""Updates that a client is sent about a session: events of its turns, its commands, its configuration and its title."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent import events as ev
from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, Usage
from pygent_ls.agent.tools.tool import ToolRegistry
from pygent_ls.editors.acp.content import MAX_SHOWN_CHARS, diff_content, output_content, text_block
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.turn_summary import Limit, failure_line, limit_line
from pygent_ls.sessions.event_stream import SessionEvent

Update = dict[str, Any]

Spell = Callable[[Path], str]
"""Returns a path as the client spells it."""

SendUpdate = Callable[[Update], None]


class TurnUpdates(Struct, kw_only=True):
    """Implementation of `Subscriber` that sends the events of one turn as updates.

    Text of subagents is not part of the conversation and is left out; their tool calls are shown.
    """

    send: SendUpdate
    writer: LineWriter
    spelled: Spell
    _sent: dict[str, int] = field(default_factory=dict[str, int])
    """Characters of each item that were sent in pieces."""
    _outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Output of the calls that run, shortened to its end."""
    _commands: list[str] = field(default_factory=list[str])
    """Ids of the calls that run a command now."""
    _terminals: dict[str, str] = field(default_factory=dict[str, str])
    """Terminals of the client in which calls run, by the ids of the calls."""

    @property
    def congested(self) -> bool:
        """Implement `Subscriber`."""
        return self.writer.is_congested

    async def drained(self) -> None:
        """Implement `Subscriber`."""
        await self.writer.has_room()

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Implement `Subscriber`."""
        for told in events:
            for update in self._updates(told.event, is_subagent=told.parent_tool_id is not None):
                self.send(update)

    def show_terminal(self, terminal_id: str) -> bool:
        """Show a terminal of the client in the call that runs a command now. Return False without such a call."""
        if not self._commands:
            return False
        tool_id = self._commands[-1]
        self._terminals[tool_id] = terminal_id
        self.send(_call_update(tool_id, status="in_progress", content=_terminal_content(terminal_id)))
        return True

    def _updates(self, event: ev.AgentEvent, *, is_subagent: bool) -> list[Update]:
        match event:
            case ev.TextDelta() | ev.Text() | ev.ThinkingDelta() | ev.Thinking():
                return [] if is_subagent else self._said(event)
            case ev.ToolCall() | ev.PermissionResolved() | ev.PermissionDenied() | ev.ToolProgress() | ev.ToolResult():
                return self._of_call(event)
            case ev.PlanChanged(entries=entries):
                return [] if is_subagent else [plan_update(entries)]
            case ev.UsageReported(usage=usage):
                return [] if is_subagent else usage_updates(usage)
            case ev.Steered(content=content):
                return [_chunk("user_message_chunk", content)] if content else []
            case (
                ev.Notice()
                | ev.LlmError()
                | ev.Compacted()
                | ev.IterationLimitReached()
                | ev.TokenLimitReached()
                | ev.BudgetLimitReached()
                | ev.TimeLimitReached()
                | ev.LoopDetected()
            ):
                return [remark(_told(event))]
            case (
                ev.TurnQueued()
                | ev.TurnStarted()
                | ev.ToolCallDelta()
                | ev.PermissionRequested()
                | ev.HookRan()
                | ev.Cancelled()
                | ev.Interrupted()
                | ev.Finished()
            ):
                return []

    def _said(self, event: ev.TextDelta | ev.Text | ev.ThinkingDelta | ev.Thinking) -> list[Update]:
        """Return a piece of text. A complete item adds what was not sent in pieces."""
        n_sent = self._sent.get(event.item_id, 0)
        is_whole = isinstance(event, ev.Text | ev.Thinking)
        text = event.content[n_sent:] if is_whole else event.content
        self._sent[event.item_id] = n_sent + len(text)
        is_thought = isinstance(event, ev.ThinkingDelta | ev.Thinking)
        kind = "agent_thought_chunk" if is_thought else "agent_message_chunk"
        return [_chunk(kind, text, event.item_id)] if text else []

    def _of_call(
        self,
        event: ev.ToolCall | ev.PermissionResolved | ev.PermissionDenied | ev.ToolProgress | ev.ToolResult,
    ) -> list[Update]:
        match event:
            case ev.ToolCall():
                is_known = event.tool_id in self._outputs
                self._outputs[event.tool_id] = ""
                if event.kind == "execute" and not is_known:
                    self._commands.append(event.tool_id)
                return [
                    {
                        "sessionUpdate": "tool_call_update" if is_known else "tool_call",
                        **call_fields(event, self.spelled),
                    }
                ]
            case ev.PermissionResolved(tool_id=tool_id):
                return [_call_update(tool_id, status="in_progress")]
            case ev.PermissionDenied(tool_id=tool_id, reason=reason):
                return [_call_update(tool_id, status="failed", content=output_content(reason))]
            case ev.ToolProgress(tool_id=tool_id) if tool_id in self._terminals:
                return []  # the client shows it
            case ev.ToolProgress(tool_id=tool_id, content=content):
                output = self._outputs[tool_id] = (self._outputs.get(tool_id, "") + content)[-MAX_SHOWN_CHARS:]
                return [_call_update(tool_id, status="in_progress", content=output_content(output))]
            case ev.ToolResult(tool_id=tool_id):
                self._outputs.pop(tool_id, None)
                if tool_id in self._commands:
                    self._commands.remove(tool_id)
                terminal = self._terminals.pop(tool_id, None)
                said = output_content(event.content) if terminal is None else _terminal_content(terminal)
                content = diff_content(event.changes, self.spelled) or said
                status = "failed" if event.is_error else "completed"
                return [_call_update(tool_id, status=status, content=content)]


def _terminal_content(terminal_id: str) -> list[Update]:
    return [{"type": "terminal", "terminalId": terminal_id}]


def call_fields(call: ev.ToolCall, spelled: Spell) -> dict[str, Any]:
    """Return the fields of a tool call that begins."""
    return {
        "toolCallId": call.tool_id,
        "title": call.title,
        "kind": call.kind,
        "status": "pending",
        "locations": [
            {"path": spelled(each.path)} | ({"line": each.first_line} if each.first_line else {})
            for each in call.locations
        ],
        "rawInput": dict(call.input),
    }


def plan_update(entries: Sequence[ev.PlanEntry]) -> Update:
    """Return the whole plan."""
    listed = [{"content": each.content, "priority": each.priority, "status": each.status} for each in entries]
    return {"sessionUpdate": "plan", "entries": listed}


def usage_updates(usage: Usage) -> list[Update]:
    """Return how full the context window is; nothing if its size is unknown."""
    if not usage.context_limit:
        return []
    update: Update = {"sessionUpdate": "usage_update", "used": usage.context_tokens, "size": usage.context_limit}
    if usage.cost_usd is not None:
        update["cost"] = {"amount": usage.cost_usd, "currency": "USD"}
    return [update]


def conversation(messages: Sequence[Message], tools: ToolRegistry) -> list[Update]:
    """Return a conversation as the updates that told it: for a client that loads a session."""
    results = {
        block.tool_use_id: block
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    }
    updates: list[Update] = []
    for message in messages:
        kind = "user_message_chunk" if message.role == "user" else "agent_message_chunk"
        for block in message.blocks:
            match block:
                case TextBlock(text=text) if block.is_typed and text:
                    updates.append(_chunk(kind, text))
                case ThinkingBlock(thinking=thinking) if thinking:
                    updates.append(_chunk("agent_thought_chunk", thinking))
                case ToolUseBlock():
                    updates.append(_past_call(block, results.get(block.id), tools))
                case _:
                    pass
    return updates


def _past_call(call: ToolUseBlock, result: ToolResultBlock | None, tools: ToolRegistry) -> Update:
    tool = tools.get(call.name)
    is_error = result is None or result.is_error
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call.id,
        "title": tool.title_for(call.input) if tool else call.name,
        "kind": tool.kind if tool else "other",
        "status": "failed" if is_error else "completed",
        "content": output_content(result.content) if result else [],
        "rawInput": dict(call.input),
    }


def _chunk(kind: str, text: str, item_id: str = "") -> Update:
    update: Update = {"sessionUpdate": kind, "content": text_block(text)}
    return {**update, "messageId": item_id} if item_id else update


def remark(text: str) -> Update:
    """Return a line of ours. The protocol has no notices; a thought is shown apart from the answer."""
    return _chunk("agent_thought_chunk", f"\n{text}\n")


def _told(event: ev.Notice | ev.LlmError | ev.Compacted | Limit) -> str:
    match event:
        case ev.Notice(content=content):
            return content
        case ev.LlmError():
            return failure_line(event)
        case ev.Compacted(tokens_before=before, tokens_after=after):
            return f"The conversation was compacted from {before:,} to {after:,} tokens."
        case _:
            return limit_line(event)


def _call_update(tool_id: str, **fields: object) -> Update:
    return {"sessionUpdate": "tool_call_update", "toolCallId": tool_id, **fields}


def command_update(commands: Sequence[tuple[str, str, str]]) -> Update:
    """Return the slash commands: name, description, and what follows the name."""
    listed: list[Mapping[str, Any]] = [
        {"name": name, "description": description or name} | ({"input": {"hint": takes}} if takes else {})
        for name, description, takes in commands
    ]
    return {"sessionUpdate": "available_commands_update", "availableCommands": listed}
