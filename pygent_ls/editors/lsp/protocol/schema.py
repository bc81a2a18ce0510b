"""The wire protocol, version 1: the types of each request, and the JSON Schema of all types.

`docs/protocol.md` is generated from the schema.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from pygent_ls.editors.lsp.method_names import PROTOCOL_VERSION
from pygent_ls.editors.lsp.protocol import checkpoints as outgoing_checkpoints
from pygent_ls.editors.lsp.protocol import commands as outgoing_commands
from pygent_ls.editors.lsp.protocol import lists as outgoing_lists
from pygent_ls.editors.lsp.protocol import params as incoming
from pygent_ls.editors.lsp.protocol import results as outgoing
from pygent_ls.editors.lsp.protocol import session_params as incoming_sessions
from pygent_ls.editors.lsp.protocol import sessions as outgoing_sessions
from pygent_ls.editors.lsp.protocol.capabilities import ClientCapabilities, ServerCapabilities
from pygent_ls.editors.lsp.protocol.prompt_results import PermissionResult, QuestionResult, SaveResult
from pygent_ls.editors.lsp.protocol.prompts import (
    PermissionCancelledOut,
    PermissionRequestOut,
    QuestionCancelledOut,
    QuestionRequestOut,
    SaveRequestOut,
)
from pygent_ls.editors.lsp.protocol.review_results import ReviewResult
from pygent_ls.editors.lsp.protocol.reviews import ReviewCancelledOut, ReviewRequestOut

REQUESTS: dict[str, tuple[type[incoming.Params], Any]] = {
    "pygent/turn/start": (incoming.TurnStartParams, outgoing.TurnResultOut),
    "pygent/turn/cancel": (incoming.TurnParams, outgoing.CancelledTurnOut),
    "pygent/turn/steer": (incoming.SteerParams, outgoing_lists.AcceptedOut),
    "pygent/turn/retry": (incoming.RetryParams, outgoing_lists.AcceptedOut),
    "pygent/turn/resume": (incoming.ResumeParams, outgoing.TurnResultOut),
    "pygent/turn/queue": (incoming.SessionParams, outgoing_lists.QueueOut),
    "pygent/turn/dequeue": (incoming.DequeueParams, outgoing_lists.RemovedOut),
    "pygent/session/new": (incoming.SessionNewParams, outgoing.SessionOut),
    "pygent/session/list": (incoming_sessions.SessionListParams, outgoing_sessions.SessionsOut),
    "pygent/session/search": (incoming_sessions.SessionSearchParams, outgoing_sessions.MatchesOut),
    "pygent/session/load": (incoming_sessions.SessionLoadParams, outgoing_sessions.LoadedSessionOut),
    "pygent/session/attach": (incoming_sessions.SessionAttachParams, outgoing_sessions.AttachedOut),
    "pygent/session/rename": (incoming_sessions.SessionRenameParams, outgoing.SessionOut),
    "pygent/session/delete": (incoming.SessionParams, outgoing_sessions.DeletedOut),
    "pygent/session/fork": (incoming_sessions.SessionForkParams, outgoing.SessionOut),
    "pygent/session/export": (incoming_sessions.SessionExportParams, outgoing_sessions.ExportOut),
    "pygent/session/configure": (incoming_sessions.SessionConfigureParams, outgoing.SessionOut),
    "pygent/session/close": (incoming.SessionParams, outgoing_sessions.ClosedOut),
    "pygent/session/compact": (incoming_sessions.SessionCompactParams, outgoing_sessions.CompactionOut),
    "pygent/session/clear": (incoming.SessionParams, outgoing.SessionOut),
    "pygent/permission/setMode": (incoming.SetModeParams, outgoing_lists.ModeOut),
    "pygent/permission/rules": (incoming.RulesParams, outgoing_lists.RulesOut),
    "pygent/permission/forget": (incoming.ForgetParams, outgoing_lists.ForgottenOut),
    "pygent/background/list": (incoming.SessionParams, outgoing_lists.BackgroundCommandsOut),
    "pygent/background/stop": (incoming.BackgroundStopParams, outgoing_lists.StoppedOut),
    "pygent/checkpoint/list": (incoming.SessionParams, outgoing_checkpoints.CheckpointsOut),
    "pygent/checkpoint/diff": (incoming.CheckpointParams, outgoing_checkpoints.CheckpointDiffOut),
    "pygent/checkpoint/restore": (incoming.CheckpointRestoreParams, outgoing_checkpoints.RestoredOut),
    "pygent/tools/list": (incoming.NoParams, outgoing_lists.ToolsOut),
    "pygent/models/list": (incoming.NoParams, outgoing_lists.ModelsOut),
    "pygent/agents/list": (incoming.NoParams, outgoing_lists.AgentsOut),
    "pygent/keys/set": (incoming.KeysParams, outgoing_lists.KeysOut),
    "pygent/commands/list": (incoming.NoParams, outgoing_commands.CommandsOut),
    "pygent/complete": (incoming_sessions.CompleteParams, outgoing_sessions.CompletionOut),
    "pygent/status": (incoming.NoParams, outgoing_lists.StatusOut),
}
"""Each request with its parameters and its result."""

CANCELLED: dict[str, Any] = {
    "pygent/turn/start": outgoing.TurnResultOut,
    "pygent/session/attach": outgoing_sessions.DetachedOut,
}
"""Types of the `data` of a cancelled request's error, by request."""

COMMAND_RESULTS: dict[str, Any] = {
    "pygent.ask": outgoing_commands.SentChatOut,
    **dict.fromkeys(
        ("pygent.fix", "pygent.explain", "pygent.test", "pygent.refactor", "pygent.doc"),
        outgoing_commands.CommandTurnOut,
    ),
    "pygent.sendChat": outgoing_commands.SentChatOut,
    "pygent.openChat": outgoing_commands.OpenedChatOut,
    "pygent.implement": outgoing_commands.SentChatOut,
    "pygent.cancel": outgoing.CancelledTurnOut,
    "pygent.undo": outgoing_checkpoints.RestoredOut,
    "pygent.newSession": outgoing.SessionOut,
    "pygent.setMode": outgoing_lists.ModeOut,
    "pygent.setModel": outgoing.SessionOut,
    "pygent.setup": outgoing_commands.SetupOut,
}
"""Results of the commands of `workspace/executeCommand`."""

NOTIFICATIONS: dict[str, Any] = {
    "$/progress (partialResultToken)": outgoing.EventsOut,
    "pygent/session/changed": outgoing.SessionChangedOut,
    "pygent/models/changed": outgoing_lists.ModelsChangedOut,
    "pygent/question/cancelled": QuestionCancelledOut,
    "pygent/review/cancelled": ReviewCancelledOut,
    "pygent/permission/cancelled": PermissionCancelledOut,
}
"""Notifications of the daemon."""

CLIENT_NOTIFICATIONS: dict[str, type[incoming.Params]] = {
    "pygent/context/didChange": incoming.EditorContext,
}
"""Notifications of clients."""

CLIENT_REQUESTS: dict[str, tuple[Any, type[incoming.Params]]] = {
    "pygent/question/request": (QuestionRequestOut, QuestionResult),
    "pygent/review/request": (ReviewRequestOut, ReviewResult),
    "pygent/permission/request": (PermissionRequestOut, PermissionResult),
    "pygent/client/save": (SaveRequestOut, SaveResult),
}
"""Requests of the daemon to clients that announce support for them in `initialize`, with parameters and result."""


def wire_schema() -> dict[str, Any]:
    """Return the JSON Schema of all types beyond LSP, as one document."""
    from pydantic.json_schema import models_json_schema

    inputs = [(params, "validation") for params, _ in REQUESTS.values()]
    inputs += [(result, "validation") for _, result in CLIENT_REQUESTS.values()]
    inputs += [(params, "validation") for params in (*CLIENT_NOTIFICATIONS.values(), incoming.CommandSession)]
    _, definitions = models_json_schema(inputs, ref_template="#/$defs/{model}")  # pyright: ignore[reportArgumentType]
    defs: dict[str, Any] = dict(definitions["$defs"])
    requests: dict[str, Any] = {}
    for method, (params, result) in REQUESTS.items():
        requests[method] = {"params": {"$ref": f"#/$defs/{params.__name__}"}, "result": _result_schema(result, defs)}
        if method in CANCELLED:
            requests[method]["cancelled"] = _result_schema(CANCELLED[method], defs)
    client_requests = {
        method: {"params": _result_schema(params, defs), "result": {"$ref": f"#/$defs/{result.__name__}"}}
        for method, (params, result) in CLIENT_REQUESTS.items()
    }
    notifications = {name: _result_schema(value, defs) for name, value in NOTIFICATIONS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pygent-ls wire protocol",
        "protocolVersion": PROTOCOL_VERSION,
        "initialize": {
            "client": _result_schema(ClientCapabilities, defs),
            "server": _result_schema(ServerCapabilities, defs),
        },
        "errorData": _result_schema(outgoing.ErrorDataOut, defs),
        "requests": requests,
        "commands": {command: _result_schema(result, defs) for command, result in COMMAND_RESULTS.items()},
        "commandSession": {"$ref": f"#/$defs/{incoming.CommandSession.__name__}"},
        "clientRequests": client_requests,
        "notifications": notifications,
        "clientNotifications": {
            method: {"$ref": f"#/$defs/{params.__name__}"} for method, params in CLIENT_NOTIFICATIONS.items()
        },
        "$defs": dict(sorted(defs.items())),
    }


def _result_schema(out: Any, defs: dict[str, Any]) -> dict[str, Any]:
    schema = TypeAdapter(out).json_schema(ref_template="#/$defs/{model}", mode="serialization")
    defs.update(schema.pop("$defs", {}))
    name = out.__name__
    defs[name] = schema
    return {"$ref": f"#/$defs/{name}"}
