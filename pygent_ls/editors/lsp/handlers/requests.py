"""Dispatch of the `pygent/*` requests: validate, call, encode."""

from __future__ import annotations

import logging
import os
import resource
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from pygent_ls import __version__
from pygent_ls.agent.tools.schema_tool import source_of
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.completion.next_edits import NextEdits
from pygent_ls.editors.lsp.handlers.background_commands import BackgroundRequests
from pygent_ls.editors.lsp.handlers.checkpoints import CheckpointRequests
from pygent_ls.editors.lsp.handlers.client_extensions import ClientExtensions
from pygent_ls.editors.lsp.handlers.commit_message import CommitMessageRequests
from pygent_ls.editors.lsp.handlers.findings import FindingRequests
from pygent_ls.editors.lsp.handlers.review import ReviewRequests
from pygent_ls.editors.lsp.handlers.sessions import SessionRequests
from pygent_ls.editors.lsp.handlers.subscriptions import Attachments
from pygent_ls.editors.lsp.handlers.turns import Turns
from pygent_ls.editors.lsp.handlers.voice import VoiceNotifications, VoiceRequests
from pygent_ls.editors.lsp.protocol import schema as protocol
from pygent_ls.editors.lsp.protocol.commands import CommandsOut
from pygent_ls.editors.lsp.protocol.conversion import session_out
from pygent_ls.editors.lsp.protocol.models import KeysOut, KeysParams, ModelOut, ModelsOut
from pygent_ls.editors.lsp.protocol.permissions import (
    ForgetParams,
    ForgottenOut,
    ModeOut,
    RulesOut,
    RulesParams,
    SetModeParams,
)
from pygent_ls.editors.lsp.protocol.sessions import SessionNewParams, SessionOut, SessionParams
from pygent_ls.editors.lsp.protocol.shapes import NoParams, Params
from pygent_ls.editors.lsp.protocol.status import (
    AgentsOut,
    McpLoginOut,
    McpLogOut,
    McpLogoutOut,
    McpRestartedOut,
    McpServerOut,
    McpServerParams,
    McpStatusOut,
    StatusOut,
    ToolsOut,
)
from pygent_ls.editors.lsp.protocol.turns import (
    AcceptedOut,
    CancelledTurnOut,
    DequeueParams,
    QueuedTurnOut,
    QueueOut,
    RemovedOut,
    RetryParams,
    TurnParams,
)
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.review.pending_review import PendingReview
from pygent_ls.editors.lsp.rpc.converter import repaired
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError, JsonRpcError
from pygent_ls.editors.ports import Core
from pygent_ls.errors import ModelError, SessionError, ToolError
from pygent_ls.extensions.mcp.server import ServerStatus
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.steering import decide_retry

if TYPE_CHECKING:
    from pygent_ls.llm.model_list import ListedModel

P = TypeVar("P", bound=Params)

log = logging.getLogger(__name__)

STARTED_AT = monotonic()


class FeatureRequests(Struct, frozen=True, kw_only=True):
    """Handlers of the requests about what one client shows or offers."""

    review: ReviewRequests
    findings: FindingRequests
    extensions: ClientExtensions
    next_edits: NextEdits


class Requests:
    """Answers the `pygent/*` requests of one client."""

    def __init__(
        self,
        client: Client,
        core: Core,
        voice_notifications: VoiceNotifications,
        review: PendingReview,
        features: FeatureRequests,
    ) -> None:
        self.turns = Turns(client, core.sessions, review)
        reviews, extensions = features.review, features.extensions
        self.attachments = Attachments(client, core.sessions)
        checkpoints = CheckpointRequests(client, core.sessions)
        background = BackgroundRequests(core.sessions)
        voice = VoiceRequests(core, voice_notifications)
        sessions = SessionRequests(client.features.encoding, core.sessions)
        self._core = core
        self._sessions = core.sessions
        self._handlers: dict[str, Callable[[Any], Any]] = {
            "pygent/turn/start": self.turns.start,
            "pygent/turn/cancel": self._cancel,
            "pygent/turn/steer": self.turns.steer,
            "pygent/turn/retry": self._retry,
            "pygent/turn/resume": self.turns.resume,
            "pygent/turn/queue": self._queue,
            "pygent/turn/dequeue": self._dequeue,
            "pygent/sideQuestion": self.turns.ask_beside,
            "pygent/session/new": self._new_session,
            "pygent/session/list": sessions.list_some,
            "pygent/session/search": sessions.search,
            "pygent/session/load": sessions.load,
            "pygent/session/attach": self.attachments.attach,
            "pygent/session/rename": sessions.rename,
            "pygent/session/delete": sessions.delete,
            "pygent/session/fork": sessions.fork,
            "pygent/session/export": sessions.export,
            "pygent/session/configure": sessions.configure,
            "pygent/session/close": sessions.close,
            "pygent/session/compact": sessions.compact,
            "pygent/session/clear": sessions.clear,
            "pygent/permission/setMode": self._set_mode,
            "pygent/permission/rules": self._rules,
            "pygent/permission/forget": self._forget,
            "pygent/background/list": background.list_all,
            "pygent/background/stop": background.stop,
            "pygent/checkpoint/list": checkpoints.list_all,
            "pygent/checkpoint/diff": checkpoints.diff,
            "pygent/checkpoint/restore": checkpoints.restore,
            "pygent/review/accept": reviews.accept,
            "pygent/review/reject": reviews.reject,
            "pygent/review/undoRejection": reviews.undo_rejection,
            "pygent/review/original": reviews.original,
            "pygent/review/add": reviews.add,
            "pygent/tools/list": self._tools,
            "pygent/client/registerTools": extensions.register_tools,
            "pygent/client/unregisterTools": extensions.unregister_tools,
            "pygent/hooks/register": extensions.register_hooks,
            "pygent/hooks/unregister": extensions.unregister_hooks,
            "pygent/models/list": self._models,
            "pygent/agents/list": self._agents,
            "pygent/keys/set": self._set_keys,
            "pygent/commands/list": self._commands,
            "pygent/complete": sessions.complete,
            "pygent/edit/suggest": features.next_edits.suggest,
            "pygent/mcp/status": self._mcp,
            "pygent/mcp/restart": self._restart_mcp_server,
            "pygent/mcp/log": self._mcp_log,
            "pygent/mcp/login": self._sign_in,
            "pygent/mcp/logout": self._sign_out,
            "pygent/codeReview/list": features.findings.list_all,
            "pygent/commitMessage/write": CommitMessageRequests(core).write,
            "pygent/voice/start": voice.start,
            "pygent/voice/status": voice.status,
            "pygent/voice/stop": voice.stop,
            "pygent/status": self._status,
        }

        self._told: dict[str, Callable[[Any], None]] = {
            "pygent/context/didChange": client.told.changed,
            "pygent/client/toolProgress": extensions.take_progress,
        }

    async def handle(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request. Raises `JsonRpcError` for an invalid request."""
        try:
            result = self._handlers[method](validated(protocol.REQUESTS[method][0], params))
            return await cast("Awaitable[Any]", result) if hasattr(result, "__await__") else result
        except SessionError as error:
            raise JsonRpcError(str(error), InvalidParamsError.CODE, {"kind": error.kind}) from None
        except ModelError as error:
            raise InvalidParamsError(f"model: {error.message}") from None
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None

    def take(self, method: str, params: Mapping[str, Any]) -> None:
        """Handle a notification. Errors are logged, because a notification has no response."""
        kind, handler = protocol.CLIENT_NOTIFICATIONS[method], self._told[method]
        try:
            given = validated(kind, params)
        except InvalidParamsError as error:
            log.warning("%s was skipped (%d): %s", method, error.code, error.message)
            return
        handler(given)

    async def _cancel(self, params: TurnParams) -> CancelledTurnOut:
        return {"cancelled": (await self._sessions.hold(params.session_id)).cancel(params.turn_id)}

    async def _retry(self, params: RetryParams) -> AcceptedOut:
        running = (await self._sessions.hold(params.session_id)).running
        return {"accepted": decide_retry(running, params.turn_id, params.action)}

    async def _queue(self, params: SessionParams) -> QueueOut:
        session = await self._sessions.hold(params.session_id)
        held: list[QueuedTurnOut] = [
            {"turnId": each.turn, "prompt": each.told.prompt, "held": True} for each in session.held
        ]
        return {"items": [*held, *({"turnId": each.turn_id, "prompt": each.prompt} for each in session.waiting)]}

    async def _dequeue(self, params: DequeueParams) -> RemovedOut:
        session = await self._sessions.hold(params.session_id)
        removed = any(each.cancel() for each in session.waiting if each.turn_id == params.turn_id)
        return {"removed": removed or await session.give_up(params.turn_id)}

    async def _new_session(self, params: SessionNewParams) -> SessionOut:
        cwd = None
        if params.worktree is not None:
            if params.cwd is not None:
                raise InvalidParamsError("cwd: a session in a worktree works in the worktree's folder")
            cwd = await self._core.worktrees.open(params.worktree)
        elif params.cwd is not None:
            cwd = Path(params.cwd)
            if not cwd.is_absolute() or not cwd.is_dir():
                raise InvalidParamsError(f"cwd: {params.cwd!r} is not the absolute path of a folder")
            cwd = cwd.resolve()
        wanted = NewSession(
            working_directory=cwd, agent=params.agent, model=params.model, mode=params.mode, name=params.name
        )
        return session_out(self._sessions.new(wanted))

    async def _set_mode(self, params: SetModeParams) -> ModeOut:
        session = await self._sessions.hold(params.session_id)
        session.permissions.set_mode(params.mode)
        session.changed("configured")
        return {"sessionId": session.id, "mode": params.mode}

    async def _rules(self, params: RulesParams) -> RulesOut:
        if params.session_id is not None:
            rules = (await self._sessions.hold(params.session_id)).permissions.rules()
        else:
            rules = self._core.rules()
        return {
            "rules": [
                {
                    "rule": rule.text,
                    "decision": rule.decision,
                    "origin": rule.origin,
                    "stored": rule.origin in ("always_allow", "always_reject"),
                }
                for rule in rules
            ]
        }

    def _forget(self, params: ForgetParams) -> ForgottenOut:
        forgotten = self._core.forget_rule(params.rule)
        for session in self._sessions.all():
            forgotten = session.permissions.forget(params.rule) or forgotten
        return {"forgotten": forgotten}

    def _tools(self, _: NoParams) -> ToolsOut:
        return {
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "risk": tool.risk.value,
                    "readOnly": tool.read_only,
                    "schema": dict(tool.definition.schema),
                    "source": source_of(tool),
                }
                for tool in self._core.tools.list_all()
            ]
        }

    async def _commands(self, _: NoParams) -> CommandsOut:
        return {
            "commands": [
                {"name": each.name, "description": each.description, "source": each.source, "takes": each.takes}
                for each in await self._sessions.listed_commands()
            ]
        }

    def _agents(self, _: NoParams) -> AgentsOut:
        return {
            "agents": [
                {
                    "name": each.name,
                    "description": each.description,
                    "model": each.model or None,
                    "mode": each.mode,
                }
                for each in self._core.agents
            ]
        }

    def _mcp(self, _: NoParams) -> McpStatusOut:
        return {"servers": [_server_out(each) for each in self._core.mcp.statuses]}

    def _restart_mcp_server(self, params: McpServerParams) -> McpRestartedOut:
        self._core.mcp.restart(params.name)
        return {}

    async def _sign_in(self, params: McpServerParams) -> McpLoginOut:
        await self._core.mcp.sign_in(params.name)
        return {}

    async def _sign_out(self, params: McpServerParams) -> McpLogoutOut:
        return {"forgotten": await self._core.mcp.sign_out(params.name)}

    def _mcp_log(self, params: McpServerParams) -> McpLogOut:
        return {"lines": [*self._core.mcp.log(params.name)]}

    async def _models(self, _: NoParams) -> ModelsOut:
        return {"models": [_model_out(each) for each in await self._core.models()]}

    def _set_keys(self, params: KeysParams) -> KeysOut:
        return {"variables": sorted(self._core.take_keys(params.keys))}

    async def _status(self, _: NoParams) -> StatusOut:
        beginning = await self._core.beginning()
        sessions = self._sessions.all()
        return {
            "version": __version__,
            "uptimeSeconds": round(monotonic() - STARTED_AT, 3),
            "rssBytes": resident_bytes(),
            "sessions": len(sessions),
            "runningTurns": sum(session.running is not None for session in sessions),
            "model": self._sessions.defaults.model,
            "modelReady": self._core.model_ready,
            "defaults": {"model": beginning.model, "agent": beginning.agent, "mode": beginning.mode},
            "modes": [*beginning.modes],
            "needsModel": beginning.needs_model,
        }


def validated(kind: type[P], params: Mapping[str, Any]) -> P:
    """Validate the parameters. Raises `InvalidParamsError` that names each invalid field."""
    try:
        return valid(kind, repaired(params))
    except InvalidValueError as error:
        raise InvalidParamsError(error.described("params")) from None


def _model_out(model: ListedModel) -> ModelOut:
    told: ModelOut = {"name": model.name, "available": model.available}
    if model.reason:
        told["reason"] = model.reason
    if model.key_variable:
        told["keyVariable"] = model.key_variable
    if model.lacks_key:
        told["lacksKey"] = True
    return told


def _server_out(server: ServerStatus) -> McpServerOut:
    told: McpServerOut = {
        "name": server.name,
        "state": server.state,
        "tools": [*server.tools],
        "prompts": [*server.prompts],
        "resources": server.n_resources,
        "speech": server.is_speech,
    }
    if server.error:
        told["error"] = server.error
    return told


def resident_bytes() -> int:
    """Return the current memory of the daemon; on systems without /proc, the maximum so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
