"""Reduces the events of a session to the items of its conversation.

A deterministic transducer: events in, operations out. It keeps the items of turns that run, and of other turns only
what later events may change, so that an event costs the same however long the conversation is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import unquote

from pygent_ls.agent import events as ev
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.editors.lsp.conversation.entries import (
    CallEntry,
    Entry,
    Level,
    OtherEntry,
    OtherItem,
    PendingOperations,
    TurnScope,
    WordsEntry,
)
from pygent_ls.editors.lsp.conversation.new_items import common_fields, failure_item, notice_item, tool_item, words_item
from pygent_ls.editors.lsp.protocol import conversation as wire
from pygent_ls.editors.lsp.protocol.content import ReviewBlockOut
from pygent_ls.editors.lsp.protocol.conversion import (
    UriOf,
    attachment_out,
    change_out,
    file_changed_out,
    location_out,
    plan_out,
    usage_out,
)
from pygent_ls.editors.lsp.protocol.shapes import FileChangedOut
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.saved_format.writer import timestamp

PATHS = frozenset({"path", "file_path", "source", "destination"})
"""Arguments whose text belongs to the title of a draft, not to its output."""

BESIDE_CALLS = frozenset({"tool", "notice", "hook", "prompt", "review"})
"""Types of items that may stand between the calls of one answer."""

STATUS_AFTER: dict[str, wire.ToolStatus] = {
    "allow_once": "running",
    "allow_session": "running",
    "allow_always": "running",
    "reject_once": "denied",
    "reject_always": "denied",
    "cancelled": "cancelled",
}
"""Status of a call after the answer to the request for permission."""

TurnEvent = (
    ev.TurnQueued | ev.TurnStarted | ev.UsageReported | ev.PlanChanged | ev.Cancelled | ev.Interrupted | ev.Finished
)


class ConversationReducer:
    """The conversation of one session, for one client."""

    def __init__(self, uri_of: UriOf) -> None:
        self._uri_of = uri_of
        self._seq = 0
        self._at: datetime | None = None
        self._turns: dict[str, wire.TurnOut] = {}
        self._running: str | None = None
        self._queue: list[wire.WaitingTurnOut] = []
        self._scopes: dict[str, TurnScope] = {}
        """Scopes of turns that run, or whose subagents may still run in the background."""
        self._ends: dict[str, OtherEntry] = {}
        """End of the last turn that changed a file, by the file's decoded URI."""
        self._operations = PendingOperations()
        self._changed_turns: dict[str, None] = {}
        self._is_queue_changed = False

    def after(self, events: Sequence[SessionEvent]) -> wire.ItemsOut:
        """Apply events, and return the changes."""
        for each in events:
            self._apply(each)
        changes: wire.ItemsOut = {
            "seq": self._seq,
            "at": None if self._at is None else timestamp(self._at),
            "items": self._operations.take(),
            "runningTurnId": self._running,
        }
        if self._changed_turns:
            changes["turns"] = [self._turns[turn_id].copy() for turn_id in self._changed_turns]
            self._changed_turns.clear()
        if self._is_queue_changed:
            changes["queue"] = [*self._queue]
            self._is_queue_changed = False
        return changes

    def skip(self, events: Sequence[SessionEvent]) -> None:
        """Apply events whose changes the client already has."""
        for each in events:
            self._apply(each)
        self._operations.clear()
        self._changed_turns.clear()
        self._is_queue_changed = False

    def _apply(self, told: SessionEvent) -> None:
        self._seq, self._at = told.seq, told.timestamp
        match told.event:
            case ev.TextDelta() | ev.ThinkingDelta() | ev.Text() | ev.Thinking() as event:
                self._said(told, event)
            case ev.ToolCallDelta() | ev.ToolCall() | ev.ToolProgress() | ev.ToolResult() as event:
                self._tool_event(told, event)
            case ev.PermissionRequested() | ev.PermissionResolved() | ev.PermissionDenied() as event:
                self._permission_event(told, event)
            case ev.LlmError() as event:
                self._failed(told, event)
            case ev.Steered(content=content, attachments=attachments):
                self._prompted(self._level(told), told, content, attachments, steered=True)
            case (
                ev.TurnQueued()
                | ev.TurnStarted()
                | ev.UsageReported()
                | ev.PlanChanged()
                | ev.Cancelled()
                | ev.Interrupted()
                | ev.Finished()
            ) as event:
                self._turn_event(told, event)
            case _ as event:
                self._add(self._level(told), notice_item(told, event))

    def _turn_event(self, told: SessionEvent, event: TurnEvent) -> None:
        match event:
            case ev.TurnQueued():
                self._queued(told, event)
            case ev.TurnStarted():
                self._started(told, event)
            case ev.UsageReported():
                self._used(told, event)
            case ev.PlanChanged(entries=entries):
                if told.parent_tool_id is None and told.turn_id in self._turns:  # a subagent's plan is its own
                    self._turns[told.turn_id]["plan"] = plan_out(entries)
                    self._changed_turns[told.turn_id] = None
            case ev.Cancelled() | ev.Interrupted():
                self._cut_off(told)
            case ev.Finished():
                self._finished(told, event)

    # Places

    def _scope(self, turn_id: str) -> TurnScope:
        return self._scopes.setdefault(turn_id, TurnScope())

    def _level(self, told: SessionEvent) -> Level:
        """Return the level of an event; the top if its parent is unknown."""
        scope = self._scope(told.turn_id)
        parent = scope.calls.get(told.parent_tool_id) if told.parent_tool_id is not None else None
        return scope.top if parent is None else parent.children

    def _put(self, entry: Entry) -> None:
        self._operations.put(entry)

    def _add(self, level: Level, item: OtherItem) -> OtherEntry:
        entry = OtherEntry(item=item, parent=level.parent)
        level.entries.append(entry)
        self._put(entry)
        return entry

    # Turns

    def _queued(self, told: SessionEvent, event: ev.TurnQueued) -> None:
        self._leave_queue(told.turn_id)
        attachments, _ = self._attachments(event.attachments)
        self._queue.append(
            {"turnId": told.turn_id, "prompt": event.prompt, "attachments": attachments, "held": event.held}
        )
        self._is_queue_changed = True
        self._begin(told, event, "queued")

    def _started(self, told: SessionEvent, event: ev.TurnStarted) -> None:
        """Begin a turn. One that starts beside another never runs: it was taken out of the queue, which its events tell
        as a start and an end."""
        self._leave_queue(told.turn_id)
        if self._running not in (None, told.turn_id):
            self._begin(told, event, "queued")
            return
        self._begin(told, event, "running")
        self._running = told.turn_id
        scope = self._scopes[told.turn_id] = TurnScope()
        self._prompted(scope.top, told, event.prompt, event.attachments, steered=False)

    def _begin(self, told: SessionEvent, event: ev.TurnQueued | ev.TurnStarted, state: wire.TurnState) -> None:
        self._turns[told.turn_id] = {
            "turnId": told.turn_id,
            "seq": told.seq,
            "state": state,
            "model": event.model,
            "mode": event.mode,
            "agent": event.agent,
            "startedAt": timestamp(told.timestamp),
            "finishedAt": None,
            "endSeq": None,
            "stopReason": None,
            "usage": None,
            "asked": False,
            "plan": None,
            "filesChanged": [],
        }
        self._changed_turns[told.turn_id] = None

    def _leave_queue(self, turn_id: str) -> None:
        left = [each for each in self._queue if each["turnId"] != turn_id]
        self._is_queue_changed = self._is_queue_changed or len(left) != len(self._queue)
        self._queue = left

    def _used(self, told: SessionEvent, event: ev.UsageReported) -> None:
        level = self._level(told)
        self._got_through(level)
        for draft in level.drafts.values():  # the answer is complete: a draft without a call was cut off
            self._cut_draft_off(draft)
        if told.turn_id in self._turns:
            self._turns[told.turn_id]["usage"] = usage_out(event.usage)
            self._changed_turns[told.turn_id] = None

    def _cut_off(self, told: SessionEvent) -> None:
        if told.turn_id in self._scopes:
            self._cut_calls_off(self._scopes[told.turn_id].top)
            self._settle(self._scopes[told.turn_id].top, timestamp(told.timestamp))

    def _cut_calls_off(self, level: Level) -> None:
        """Cancel the calls of the last answer that were not over. Each got a result just before, which took no time."""
        for entry in reversed(level.entries):
            if entry.item["type"] not in BESIDE_CALLS:
                return
            if isinstance(entry, CallEntry):
                self._cut_calls_off(entry.children)
                result = entry.item["result"]
                if entry.item["status"] == "failed" and result is not None and result["durationMs"] == 0:
                    entry.item["status"] = "cancelled"
                    self._put(entry)

    def _finished(self, told: SessionEvent, event: ev.Finished) -> None:
        turn_id = told.turn_id
        self._leave_queue(turn_id)
        scope = self._scopes.pop(turn_id, TurnScope())
        self._settle(scope.top, timestamp(told.timestamp))
        if self._running == turn_id:
            self._running = None
        turn = self._turns.get(turn_id)
        if turn is None or turn["state"] != "queued":
            self._end(told, event, scope, turn)
        if turn is not None:
            turn["state"], turn["finishedAt"], turn["endSeq"] = "finished", timestamp(told.timestamp), told.seq
            turn["stopReason"], turn["usage"] = event.stop_reason, usage_out(event.usage)
            turn["asked"] = told.iteration > 0 and event.usage.total_tokens > 0
            turn["filesChanged"] = self._files_changed(event.files_changed)
            self._changed_turns[turn_id] = None
        if scope.has_background_agent:
            self._scopes[turn_id] = scope

    def _end(self, told: SessionEvent, event: ev.Finished, scope: TurnScope, turn: wire.TurnOut | None) -> None:
        files = self._files_changed(event.files_changed)
        duration_s = event.duration_s
        if duration_s is None:
            started = told.timestamp if turn is None else datetime.fromisoformat(turn["startedAt"])
            duration_s = max(0.0, (told.timestamp - started).total_seconds())
        uris = [unquote(each["uri"]) for each in files]
        end = self._add(
            scope.top,
            {
                "type": "end",
                **common_fields(told),
                "stopReason": event.stop_reason,
                "usage": usage_out(event.usage),
                "filesChanged": files,
                "rejected": [scope.rejected[uri] for uri in uris],
                "durationMs": round(duration_s * 1000),
            },
        )
        self._ends |= dict.fromkeys(uris, end)

    def _files_changed(self, changes: Iterable[FileChange]) -> list[FileChangedOut]:
        return [file_changed_out(each, self._uri_of) for each in changes]

    def _settle(self, level: Level, at: str) -> None:
        """Settle items that receive no more events: nothing streams, runs or waits."""
        for entry in reversed(level.entries):
            if isinstance(entry, CallEntry):
                self._settle(entry.children, at)
            item = entry.item
            if item["type"] == "text" and item["streaming"]:
                item["streaming"] = False
            elif item["type"] == "thinking" and item["streaming"]:
                item["streaming"], item["endedAt"] = False, at
            elif item["type"] == "tool" and item["status"] in ("writing", "asked", "running"):
                item["status"] = "cancelled"
            elif item["type"] == "failure" and item["state"] == "waiting":
                item["state"], item["retryAt"] = "final", None
            else:
                continue
            self._put(entry)

    # Prompts

    def _prompted(
        self,
        level: Level,
        told: SessionEvent,
        text: str,
        given: Iterable[ev.PromptAttachment],
        *,
        steered: bool,
    ) -> None:
        """Add a prompt, after the review reports that came with it. Reports alone add no prompt to a running turn."""
        attachments, reports = self._attachments(given)
        scope = self._scope(told.turn_id)
        for index, report in enumerate(reports):
            self._count_rejections(report, scope, steered=steered)
            item: wire.ReviewItemOut = {
                "type": "review",
                **common_fields(told),
                "text": report["text"],
                "files": report["files"],
            }
            item["key"] = f"{told.seq} review {index}"
            self._add(level, item)
        if steered and not text and not attachments:
            return
        self._add(
            level,
            {"type": "prompt", **common_fields(told), "text": text, "steered": steered, "attachments": attachments},
        )

    def _attachments(
        self, given: Iterable[ev.PromptAttachment]
    ) -> tuple[list[wire.PromptAttachmentOut], list[ReviewBlockOut]]:
        attachments: list[wire.PromptAttachmentOut] = []
        reports: list[ReviewBlockOut] = []
        for each in given:
            out = attachment_out(each, self._uri_of)
            if out["type"] == "review":
                reports.append(out)
            else:
                attachments.append(out)
        return attachments, reports

    def _count_rejections(self, report: ReviewBlockOut, scope: TurnScope, *, steered: bool) -> None:
        """Count rejections at the end of the last turn that changed the file. Those of changes of the running turn are
        counted when it ends."""
        for file in report["files"]:
            uri = unquote(file["uri"])
            if steered:
                scope.rejected[uri] += file["rejected"]
            if steered and uri in scope.changed:
                continue
            end = self._ends.get(uri)
            if end is not None and end.item["type"] == "end":
                counts = zip(end.item["filesChanged"], end.item["rejected"], strict=True)
                end.item["rejected"] = [
                    count + (file["rejected"] if unquote(changed["uri"]) == uri else 0) for changed, count in counts
                ]
                self._put(end)

    # Answers of the model

    def _said(self, told: SessionEvent, event: ev.TextDelta | ev.ThinkingDelta | ev.Text | ev.Thinking) -> None:
        level = self._level(told)
        words = level.words.get(event.item_id)
        if words is None:
            self._thought_over(level, told)
            self._got_through(level)
            words = level.words[event.item_id] = WordsEntry(item=words_item(told, event), parent=level.parent)
            level.entries.append(words)
            self._put(words)
        item = words.item
        if isinstance(event, ev.Text | ev.Thinking):
            words.pieces = [event.content]
            item["streaming"] = False
            if item["type"] == "thinking":
                item["endedAt"] = item["endedAt"] or timestamp(told.timestamp)
            self._put(words)
        else:
            words.pieces.append(event.content)
            if item["streaming"]:
                self._operations.append(words, event.content)
                return
            item["streaming"] = True
            if item["type"] == "thinking":
                item["endedAt"] = None
            self._put(words)

    def _thought_over(self, level: Level, told: SessionEvent) -> None:
        """End the thinking that an answer follows: its complete text arrives only with the answer."""
        last = level.entries[-1] if level.entries else None
        if isinstance(last, WordsEntry) and last.item["type"] == "thinking" and last.item["streaming"]:
            last.item["streaming"], last.item["endedAt"] = False, timestamp(told.timestamp)
            self._put(last)

    def _got_through(self, level: Level) -> None:
        """The model answers: it is no longer waited for after a failure."""
        failure = _last_failure(level)
        if failure is not None and failure.item["type"] == "failure" and failure.item["state"] == "waiting":
            failure.item["state"], failure.item["retryAt"] = "retried", None
            self._put(failure)

    def _failed(self, told: SessionEvent, event: ev.LlmError) -> None:
        """Add a failed model call, or show it in place of the attempt before it."""
        level = self._level(told)
        for item_id in event.withdrawn:
            if item_id in level.words:
                self._withdraw(level.words[item_id], told)
            if item_id in level.drafts:
                self._cut_draft_off(level.drafts[item_id])
        item = failure_item(told, event)
        before = _last_failure(level)
        if before is None or before.item["type"] != "failure" or before.item["state"] == "final":
            self._add(level, item)
            return
        before.item = {**item, "key": before.item["key"], "at": before.item["at"]}
        self._put(before)

    def _withdraw(self, words: WordsEntry, told: SessionEvent) -> None:
        item = words.item
        item["streaming"], item["withdrawn"] = False, True
        if item["type"] == "thinking":
            item["endedAt"] = item["endedAt"] or timestamp(told.timestamp)
        self._put(words)

    # Tool calls

    def _tool_event(
        self, told: SessionEvent, event: ev.ToolCallDelta | ev.ToolCall | ev.ToolProgress | ev.ToolResult
    ) -> None:
        level = self._level(told)
        match event:
            case ev.ToolCallDelta():
                self._written(level, told, event)
            case ev.ToolCall():
                self._called(level, told, event)
            case ev.ToolProgress(tool_id=tool_id, content=content):
                if tool_id in level.calls:
                    self._add_output(level.calls[tool_id], content)
            case ev.ToolResult(tool_id=tool_id):
                if tool_id in level.calls:
                    self._resulted(level.calls[tool_id], told, event)

    def _add_output(self, call: CallEntry, text: str) -> None:
        call.add_output(text)
        self._operations.append(call, text)

    def _written(self, level: Level, told: SessionEvent, event: ev.ToolCallDelta) -> None:
        draft = level.drafts.get(event.item_id)
        if draft is None:
            self._thought_over(level, told)
            self._got_through(level)
            draft = level.drafts[event.item_id] = self._new_call(level, told)
            item = draft.item
            item["status"], item["toolName"], item["title"] = "writing", event.tool_name, event.tool_name
            item["kind"], item["risk"] = "edit", "low"
        is_next = draft.argument != event.argument
        draft.argument = event.argument
        if event.argument in PATHS:
            draft.item["title"] += f"{' ' if is_next else ''}{event.content}"
            self._put(draft)
        else:
            gap = "\n\n" if is_next and draft.has_output else ""
            self._add_output(draft, f"{gap}{event.content}")

    def _cut_draft_off(self, draft: CallEntry) -> None:
        if draft.item["status"] == "writing":
            draft.item["status"] = "cancelled"
            self._put(draft)

    def _called(self, level: Level, told: SessionEvent, event: ev.ToolCall) -> None:
        """Add a call, or replace its draft, or change the input that a hook has changed."""
        draft = level.drafts.pop(event.item_id, None) if event.item_id else None
        call = draft or level.calls.get(event.tool_id)
        if call is None or call.item["result"] is not None:
            self._got_through(level)
            call = self._new_call(level, told)
        if call is draft:
            call.clear_output()
            call.item["status"], call.item["runsSince"] = "running", timestamp(told.timestamp)
        item = call.item
        item["toolId"], item["toolName"], item["title"] = event.tool_id, event.tool_name, event.title
        item["kind"], item["risk"], item["readOnly"] = event.kind, event.risk.value, event.read_only
        item["input"] = dict(event.input)
        item["locations"] = [location_out(each, self._uri_of) for each in event.locations]
        self._scope(told.turn_id).add_call(level, call)
        self._put(call)

    def _new_call(self, level: Level, told: SessionEvent) -> CallEntry:
        item = tool_item(told)
        children = Level(parent=item["key"], depth=level.depth + 1)
        call = CallEntry(item=item, parent=level.parent, children=children)
        level.entries.append(call)
        self._put(call)
        return call

    def _resulted(self, call: CallEntry, told: SessionEvent, event: ev.ToolResult) -> None:
        """Store the result of a call, and settle what its subagent did."""
        item = call.item
        if not event.is_error and event.exit_code in (None, 0):
            item["status"] = "done"
        elif item["status"] not in ("denied", "cancelled"):
            item["status"] = "failed"
        if not event.is_error:  # the result of a call that was stopped does not contain its output
            call.clear_output()
        item["result"] = {
            "content": event.content,
            "isError": event.is_error,
            "cached": event.cached,
            "truncated": event.truncated,
            "durationMs": round(event.duration_s * 1000),
            "exitCode": event.exit_code,
        }
        item["changes"] = [change_out(each, self._uri_of) for each in event.changes]
        self._scope(told.turn_id).changed.update(unquote(each["uri"]) for each in item["changes"])
        self._settle(call.children, timestamp(told.timestamp))
        self._put(call)

    def _permission_event(
        self, told: SessionEvent, event: ev.PermissionRequested | ev.PermissionResolved | ev.PermissionDenied
    ) -> None:
        call = self._level(told).calls.get(event.tool_id)
        if call is None:
            return
        item = call.item
        match event:
            case ev.PermissionRequested(permission_id=permission_id):
                item["status"], item["decision"], item["permissionId"] = "asked", None, permission_id
            case ev.PermissionResolved(outcome=outcome, by=by):
                item["status"], item["decision"] = STATUS_AFTER[outcome], {"outcome": outcome, "by": by}
                item["runsSince"] = timestamp(told.timestamp)
            case ev.PermissionDenied(reason=reason):
                item["status"], item["deniedReason"] = "denied", reason
        self._put(call)


def _last_failure(level: Level) -> OtherEntry | None:
    """Return the failure that the answer still has to follow; None if an item that counts follows it."""
    last = next((each for each in reversed(level.entries) if not _is_passed_over(each)), None)
    return last if isinstance(last, OtherEntry) and last.item["type"] == "failure" else None


def _is_passed_over(entry: Entry) -> bool:
    match entry:
        case WordsEntry(item=item):
            return item["withdrawn"]
        case CallEntry(item=item):
            return not item["toolId"]  # a draft that was withdrawn
        case OtherEntry(item=item):
            return item["type"] in ("notice", "hook", "compacted")
