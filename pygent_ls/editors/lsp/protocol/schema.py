"""The wire protocol, version 1: the types of each request, and the JSON Schema of all types.

`docs/protocol.md` is generated from the schema.
"""

from __future__ import annotations

from typing import Any

from pygent_ls.editors.lsp.method_names import PROTOCOL_VERSION
from pygent_ls.editors.lsp.protocol import (
    background_commands,
    capabilities,
    checkpoints,
    client_extensions,
    code_review,
    commands,
    commit_message,
    content,
    conversation,
    events,
    language,
    models,
    next_edits,
    permissions,
    questions,
    reviews,
    sessions,
    shapes,
    status,
    turns,
    voice,
)

REQUESTS: dict[str, tuple[type[shapes.Params], Any]] = {
    "pygent/turn/start": (turns.TurnStartParams, turns.TurnResultOut),
    "pygent/turn/cancel": (turns.TurnParams, turns.CancelledTurnOut),
    "pygent/turn/steer": (turns.SteerParams, turns.AcceptedOut),
    "pygent/turn/retry": (turns.RetryParams, turns.AcceptedOut),
    "pygent/turn/resume": (turns.ResumeParams, turns.TurnResultOut),
    "pygent/turn/queue": (sessions.SessionParams, turns.QueueOut),
    "pygent/turn/dequeue": (turns.DequeueParams, turns.RemovedOut),
    "pygent/sideQuestion": (turns.SideQuestionParams, turns.TurnResultOut),
    "pygent/session/new": (sessions.SessionNewParams, sessions.SessionOut),
    "pygent/session/list": (sessions.SessionListParams, sessions.SessionsOut),
    "pygent/session/search": (sessions.SessionSearchParams, sessions.MatchesOut),
    "pygent/session/load": (sessions.SessionLoadParams, sessions.LoadedSessionOut),
    "pygent/session/attach": (sessions.SessionAttachParams, sessions.AttachedOut),
    "pygent/session/rename": (sessions.SessionRenameParams, sessions.SessionOut),
    "pygent/session/delete": (sessions.SessionParams, sessions.DeletedOut),
    "pygent/session/fork": (sessions.SessionForkParams, sessions.SessionOut),
    "pygent/session/export": (sessions.SessionExportParams, sessions.ExportOut),
    "pygent/session/configure": (sessions.SessionConfigureParams, sessions.SessionOut),
    "pygent/session/close": (sessions.SessionParams, sessions.ClosedOut),
    "pygent/session/compact": (sessions.SessionCompactParams, sessions.CompactionOut),
    "pygent/session/clear": (sessions.SessionParams, sessions.SessionOut),
    "pygent/permission/setMode": (permissions.SetModeParams, permissions.ModeOut),
    "pygent/permission/rules": (permissions.RulesParams, permissions.RulesOut),
    "pygent/permission/forget": (permissions.ForgetParams, permissions.ForgottenOut),
    "pygent/background/list": (sessions.SessionParams, background_commands.BackgroundCommandsOut),
    "pygent/background/stop": (background_commands.BackgroundStopParams, background_commands.StoppedOut),
    "pygent/checkpoint/list": (sessions.SessionParams, checkpoints.CheckpointsOut),
    "pygent/checkpoint/diff": (checkpoints.CheckpointParams, checkpoints.CheckpointDiffOut),
    "pygent/checkpoint/restore": (checkpoints.CheckpointRestoreParams, checkpoints.RestoredOut),
    "pygent/review/accept": (reviews.DecisionParams, reviews.DecidedOut),
    "pygent/review/reject": (reviews.DecisionParams, reviews.DecidedOut),
    "pygent/review/undoRejection": (reviews.UndoRejectionParams, reviews.DecidedOut),
    "pygent/review/original": (reviews.OriginalParams, reviews.OriginalOut),
    "pygent/review/add": (reviews.AddedChangeParams, reviews.DecidedOut),
    "pygent/tools/list": (shapes.NoParams, status.ToolsOut),
    "pygent/client/registerTools": (client_extensions.ToolsRegisterParams, client_extensions.ToolsRegisteredOut),
    "pygent/client/unregisterTools": (client_extensions.ToolsUnregisterParams, client_extensions.UnregisteredOut),
    "pygent/hooks/register": (client_extensions.HooksRegisterParams, client_extensions.HooksRegisteredOut),
    "pygent/hooks/unregister": (client_extensions.HooksUnregisterParams, client_extensions.UnregisteredOut),
    "pygent/models/list": (shapes.NoParams, models.ModelsOut),
    "pygent/agents/list": (shapes.NoParams, status.AgentsOut),
    "pygent/keys/set": (models.KeysParams, models.KeysOut),
    "pygent/commands/list": (shapes.NoParams, commands.CommandsOut),
    "pygent/complete": (sessions.CompleteParams, sessions.CompletionOut),
    "pygent/edit/suggest": (next_edits.EditSuggestParams, next_edits.EditSuggestionsOut),
    "pygent/mcp/status": (shapes.NoParams, status.McpStatusOut),
    "pygent/mcp/restart": (status.McpServerParams, status.McpRestartedOut),
    "pygent/mcp/log": (status.McpServerParams, status.McpLogOut),
    "pygent/mcp/login": (status.McpServerParams, status.McpLoginOut),
    "pygent/mcp/logout": (status.McpServerParams, status.McpLogoutOut),
    "pygent/codeReview/list": (code_review.FindingsParams, code_review.FindingsOut),
    "pygent/commitMessage/write": (commit_message.CommitMessageParams, commit_message.CommitMessageOut),
    "pygent/voice/start": (voice.VoiceStartParams, voice.VoiceStatusOut),
    "pygent/voice/status": (shapes.NoParams, voice.VoiceStatusOut),
    "pygent/voice/stop": (shapes.NoParams, voice.VoiceStatusOut),
    "pygent/status": (shapes.NoParams, status.StatusOut),
}
"""Each request with its parameters and its result."""

CANCELLED: dict[str, Any] = {
    "pygent/turn/start": turns.TurnResultOut,
    "pygent/session/attach": sessions.DetachedOut,
}
"""Types of the `data` of a cancelled request's error, by request."""

ITEMS: dict[str, Any] = {"pygent/session/attach": conversation.ItemsOut}
"""Types of the values on the `partialResultToken` of a request with `as: "items"`, by request."""

COMMAND_RESULTS: dict[str, Any] = {
    "pygent.ask": commands.SentChatOut,
    **dict.fromkeys(
        ("pygent.fix", "pygent.explain", "pygent.test", "pygent.refactor", "pygent.doc"),
        commands.CommandTurnOut,
    ),
    "pygent.sendChat": commands.SentChatOut,
    "pygent.openChat": commands.OpenedChatOut,
    "pygent.implement": commands.SentChatOut,
    "pygent.cancel": turns.CancelledTurnOut,
    "pygent.undo": checkpoints.RestoredOut,
    "pygent.newSession": sessions.SessionOut,
    "pygent.setMode": permissions.ModeOut,
    "pygent.setModel": sessions.SessionOut,
    "pygent.setup": commands.SetupOut,
    "pygent.acceptChanges": commands.ReviewedOut,
    "pygent.rejectChanges": commands.ReviewedOut,
    "pygent.undoRejection": commands.ReviewedOut,
    "pygent.review": commands.ReviewedOut,
    "pygent.codeReview": commands.CommandTurnOut,
    "pygent.fixFinding": commands.CommandTurnOut,
    "pygent.applySuggestion": code_review.FindingsLeftOut,
    "pygent.dismissFinding": code_review.FindingsLeftOut,
    "pygent.dismissFindings": code_review.FindingsLeftOut,
    "pygent.commitMessage": commit_message.CommitMessageStartedOut,
}
"""Results of the commands of `workspace/executeCommand`."""

NOTIFICATIONS: dict[str, Any] = {
    "$/progress (partialResultToken)": events.EventsOut,
    "pygent/session/changed": sessions.SessionChangedOut,
    "pygent/models/changed": models.ModelsChangedOut,
    "pygent/mcp/changed": status.McpChangedOut,
    "pygent/codeReview/didChange": code_review.FindingsOut,
    "pygent/voice/update": voice.VoiceUpdateOut,
    "pygent/voice/changed": voice.VoiceStatusOut,
    "pygent/question/cancelled": questions.QuestionCancelledOut,
    "pygent/review/didChange": reviews.ReviewChangedOut,
    "pygent/review/cancelled": reviews.ReviewCancelledOut,
    "pygent/permission/cancelled": permissions.PermissionCancelledOut,
    "pygent/client/toolCancelled": client_extensions.ClientToolCancelledOut,
}
"""Notifications of the daemon."""

CLIENT_NOTIFICATIONS: dict[str, type[shapes.Params]] = {
    "pygent/context/didChange": content.EditorContext,
    "pygent/client/toolProgress": client_extensions.ClientToolProgress,
}
"""Notifications of clients."""

CLIENT_REQUESTS: dict[str, tuple[Any, type[shapes.Params]]] = {
    "pygent/question/request": (questions.QuestionRequestOut, questions.QuestionResult),
    "pygent/review/request": (reviews.ReviewRequestOut, reviews.ReviewResult),
    "pygent/permission/request": (permissions.PermissionRequestOut, permissions.PermissionResult),
    "pygent/client/save": (questions.SaveRequestOut, questions.SaveResult),
    "pygent/client/callTool": (client_extensions.ClientToolCallOut, client_extensions.ClientToolResult),
    "pygent/client/hook": (client_extensions.ClientHookCallOut, client_extensions.ClientHookResult),
    "pygent/client/diagnostics": (language.DiagnosticsRequestOut, language.LanguageAnswer),
    "pygent/client/locations": (language.LocationsRequestOut, language.LanguageAnswer),
    "pygent/client/hover": (language.HoverRequestOut, language.LanguageAnswer),
    "pygent/client/symbols": (language.SymbolsRequestOut, language.LanguageAnswer),
    "pygent/client/calls": (language.CallsRequestOut, language.LanguageAnswer),
    "pygent/client/rename": (language.RenameRequestOut, language.LanguageAnswer),
    "pygent/client/codeActions": (language.CodeActionsRequestOut, language.LanguageAnswer),
    "pygent/client/format": (language.FormatRequestOut, language.LanguageAnswer),
}
"""Requests of the daemon to clients that announce support for them in `initialize`, or have registered tools or hooks,
with parameters and result."""


def wire_schema() -> dict[str, Any]:
    """Return the JSON Schema of all types beyond LSP, as one document."""
    from pygent_ls.editors.lsp.protocol.json_schema import TypeDefinitions

    definitions = TypeDefinitions()
    refer = definitions.reference
    requests: dict[str, Any] = {}
    for method, (params, result) in REQUESTS.items():
        requests[method] = {"params": refer(params), "result": refer(result)}
        if method in CANCELLED:
            requests[method]["cancelled"] = refer(CANCELLED[method])
        if method in ITEMS:
            requests[method]["items"] = refer(ITEMS[method])
    for unnamed in (client_extensions.ClientTool, client_extensions.ClientHook):  # `initialize` has them, too
        refer(unnamed)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pygent-ls wire protocol",
        "protocolVersion": PROTOCOL_VERSION,
        "initialize": {
            "client": refer(capabilities.ClientCapabilities),
            "server": refer(capabilities.ServerCapabilities),
        },
        "errorData": refer(shapes.ErrorDataOut),
        "requests": requests,
        "commands": {command: refer(result) for command, result in COMMAND_RESULTS.items()},
        "commandSession": refer(commands.CommandSession),
        "clientRequests": {
            method: {"params": refer(params), "result": refer(result)}
            for method, (params, result) in CLIENT_REQUESTS.items()
        },
        "notebookEdit": refer(capabilities.NotebookEdit),
        "notifications": {name: refer(value) for name, value in NOTIFICATIONS.items()},
        "clientNotifications": {method: refer(params) for method, params in CLIENT_NOTIFICATIONS.items()},
        "$defs": definitions.sorted(),
    }
