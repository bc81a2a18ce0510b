"""The agent of one client: handles the requests of the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import ValidationError

from pygent_ls.editors.acp.capabilities import AcpFeatures, client_features, initialize_result
from pygent_ls.editors.acp.mcp_servers import settings_of
from pygent_ls.editors.acp.session import STOP_REASONS, AcpSession
from pygent_ls.editors.acp.transport import LineTransport
from pygent_ls.editors.acp.updates import Update
from pygent_ls.editors.ports import ReadSettings
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.errors import ModelError, PygentError, SessionError
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.lifecycle.defaults import NewSession

if TYPE_CHECKING:  # imported once `initialize` is answered
    from acp.connection import Connection

log = logging.getLogger(__name__)

AUTH_REQUIRED, INVALID_PARAMS, INTERNAL_ERROR, NOT_FOUND = -32000, -32602, -32603, -32002

MAX_PROBLEMS = 5
"""Maximum number of problems in one error message."""

MAX_LISTED = 50
"""Sessions in one page of a list."""

NO_MODEL = "No model is set up. Run `pygent-ls setup` in a terminal, or set the key of a provider in the environment."


@dataclass(kw_only=True)
class AcpAgent:
    """The agent for one client. Its public methods are the protocol's, with the parameters that the SDK has checked."""

    read_settings: ReadSettings
    writer: LineWriter
    features: AcpFeatures = field(default_factory=AcpFeatures)
    connection: Connection = field(init=False)
    _open: dict[str, AcpSession] = field(default_factory=dict[str, AcpSession])
    _prompts: dict[str, str | int] = field(default_factory=dict[str, "str | int"])
    """Id of the last prompt request of each session."""

    async def run(self, transport: LineTransport) -> None:
        """Handle messages until the input ends."""
        from acp.connection import Connection

        transport.intercept = self._take_cancellation
        self.connection = Connection(handler_of(self), transport, listening=False)
        await self.connection.main_loop()

    def _take_cancellation(self, message: Mapping[str, Any]) -> bool:
        """Handle `$/cancel_request`, which the SDK does not know, and note which request runs the turns of a session.
        Returns whether the message is handled."""
        match message:
            case {"method": "session/prompt", "id": str() | int() as request_id, "params": {"sessionId": str(session)}}:
                self._prompts[session] = request_id
                return False
            case {"method": "$/cancel_request", **rest}:
                cancelled = rest["params"].get("requestId") if isinstance(rest.get("params"), dict) else None
                for session, request_id in self._prompts.items():
                    if request_id == cancelled and session in self._open:
                        self._open[session].cancel()
                return True
            case _:
                return False

    # The client

    def update(self, session_id: str, update: Update) -> None:
        """Implement `SessionClient`."""
        params = {"sessionId": session_id, "update": update}
        self.writer.write({"jsonrpc": "2.0", "method": "session/update", "params": params})

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Implement `SessionClient`."""
        from acp.exceptions import RequestError

        try:
            answer: object = await self.connection.send_request(method, dict(params))
        except (RequestError, ConnectionError) as error:
            log.debug("the client refused %s: %s", method, type(error).__name__)
            return None
        return answer if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownVariableType]

    # Requests

    async def initialize(self, params: object) -> dict[str, Any]:
        """Handle `initialize`, whose parameters are as they came."""
        self.features = client_features(params)
        return initialize_result(params)

    async def authenticate(self, method_id: str, **_: object) -> dict[str, Any]:
        """Handle `authenticate`: check whether a model is set up now, by whichever method."""
        del method_id
        if (await self._lobby(None).core.beginning()).needs_model:
            raise SessionError(NO_MODEL, kind="auth_required")
        return {}

    async def new_session(
        self,
        cwd: str,
        mcp_servers: list[Any] | None = None,
        additional_directories: list[str] | None = None,
        **_: object,
    ) -> dict[str, Any]:
        """Handle `session/new`."""
        opened = self._opened(uuid4().hex, cwd, mcp_servers, additional_directories)
        if (await opened.core.beginning()).needs_model:
            await self._discard(opened)
            raise SessionError(NO_MODEL, kind="auth_required")
        opened.core.sessions.new(NewSession(id=opened.id, working_directory=opened.folders[0].resolve()))
        return {"sessionId": opened.id, **await self._ready(opened)}

    async def load_session(self, session_id: str, **given: Any) -> dict[str, Any]:
        """Handle `session/load`: it is resumed, and the conversation is sent before the response."""
        described = await self.resume_session(session_id=session_id, **given)
        self._session(session_id).replay()
        return described

    async def resume_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[Any] | None = None,
        additional_directories: list[str] | None = None,
        **_: object,
    ) -> dict[str, Any]:
        """Handle `session/resume`."""
        await self.close_session(session_id)
        opened = self._opened(session_id, cwd, mcp_servers, additional_directories)
        try:
            await opened.core.sessions.hold(session_id)
        except SessionError:
            await self._discard(opened)
            raise
        return await self._ready(opened)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: object) -> dict[str, Any]:
        """Handle `session/list`."""
        folder = None if cwd is None else _folder(cwd).resolve()
        wanted = SessionFilter(folder=folder, cursor=cursor, limit=MAX_LISTED, used=True)
        page = await self._lobby(folder).core.sessions.page(wanted)
        listed = [
            {
                "sessionId": each.id,
                "cwd": str(each.working_directory),
                "title": each.name,
                "updatedAt": each.updated_at.isoformat(),
            }
            for each in page.sessions
        ]
        return {"sessions": listed} | ({"nextCursor": page.cursor} if page.cursor else {})

    async def delete_session(self, session_id: str, **_: object) -> dict[str, Any]:
        """Handle `session/delete`."""
        await self.close_session(session_id)
        with suppress(SessionError):  # the protocol wants success for a session that does not exist
            await self._lobby(None).core.sessions.delete(session_id)
        return {}

    async def close_session(self, session_id: str, **_: object) -> dict[str, Any]:
        """Handle `session/close`."""
        opened = self._open.pop(session_id, None)
        if opened is not None:
            await opened.core.sessions.close_one(session_id)
            await opened.close()
        return {}

    async def prompt(self, session_id: str, prompt: list[Any], **_: object) -> dict[str, Any]:
        """Handle `session/prompt`."""
        blocks = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in prompt]
        result = await self._session(session_id).prompt(blocks)
        if result.stop_reason == "error":
            raise result.error or ModelError("The turn ended with an error.")
        return {"stopReason": STOP_REASONS[result.stop_reason]}

    async def cancel(self, session_id: str, **_: object) -> None:
        """Handle `session/cancel`."""
        opened = self._open.get(session_id)
        if opened is not None:
            opened.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: object) -> dict[str, Any]:
        """Handle `session/set_mode`."""
        self._session(session_id).configure("mode", mode_id)
        return {}

    async def set_config_option(self, config_id: str, session_id: str, value: object, **_: object) -> dict[str, Any]:
        """Handle `session/set_config_option`."""
        opened = self._session(session_id)
        opened.configure(config_id, value)
        return {"configOptions": await opened.options()}

    # Sessions

    def _session(self, session_id: str) -> AcpSession:
        opened = self._open.get(session_id)
        if opened is None:
            raise SessionError(f"There is no session {session_id!r}. Load it first.", kind="unknown_session")
        return opened

    def _opened(self, session_id: str, cwd: str, servers: list[Any] | None, more: list[str] | None) -> AcpSession:
        """Return a session with its core. Raises `SessionError` for a folder that cannot be used."""
        folders = [_folder(each) for each in (cwd, *(more or ()))]
        opened = AcpSession(id=session_id, client=self, folders=folders)
        opened.build(
            self.read_settings, settings_of([each.model_dump(mode="json", by_alias=True) for each in servers or ()])
        )
        self._open[session_id] = opened
        return opened

    async def _discard(self, opened: AcpSession) -> None:
        """Close a session that could not begin."""
        self._open.pop(opened.id, None)
        await opened.close()

    async def _ready(self, opened: AcpSession) -> dict[str, Any]:
        """Return what a client is told of a session that it has opened; its commands follow."""
        described = await opened.described()
        opened.later(opened.introduce())
        return described

    def _lobby(self, folder: Path | None) -> AcpSession:
        """Return a core for requests that belong to no session."""
        known = self._open.get("")
        if known is None:
            known = AcpSession(id="", client=self, folders=[folder or Path.cwd()])
            known.build(self.read_settings, {})
            self._open[""] = known
        return known

    async def close(self) -> None:
        """Close all sessions."""
        opened, self._open = list(self._open.values()), {}
        await asyncio.gather(*(each.close() for each in opened))


def _folder(path: str) -> Path:
    folder = Path(path)
    if not folder.is_absolute() or not folder.is_dir():
        raise SessionError(f"cwd: {path!r} is not the absolute path of a folder.", kind="no_folder")
    return folder


Handler = Callable[[str, Any, bool], Awaitable[Any]]


def handler_of(agent: AcpAgent) -> Handler:
    """Return the handler of all messages: the SDK's router, with methods that it lacks, and with our errors."""
    from acp.agent.router import build_agent_router
    from acp.exceptions import RequestError
    from acp.router import Route
    from acp.schema import DeleteSessionRequest

    router: Any = build_agent_router(agent, use_unstable_protocol=True)  # pyright: ignore[reportArgumentType]
    router.route_request("session/delete", DeleteSessionRequest, agent, "delete_session")
    router.add_route(Route(method="initialize", func=agent.initialize, kind="request"))

    async def handle(method: str, params: Any, is_notification: bool) -> Any:  # noqa: FBT001 - the SDK's form
        try:
            return await router(method, params, is_notification)
        except PygentError as error:
            raise RequestError(_code(error), str(error), _data(error)) from None
        except ValidationError as error:  # its details may hold what JSON cannot
            raise RequestError(INVALID_PARAMS, _wrong(error)) from None

    return handle


def _wrong(error: ValidationError) -> str:
    """Return what is wrong with parameters, without their values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:MAX_PROBLEMS])


def _code(error: PygentError) -> int:
    match error:
        case SessionError(kind="auth_required") | ModelError(type="auth"):
            return AUTH_REQUIRED
        case SessionError(kind="unknown_session"):
            return NOT_FOUND
        case SessionError():
            return INVALID_PARAMS
        case _:
            return INTERNAL_ERROR


def _data(error: PygentError) -> dict[str, Any]:
    return {"kind": error.kind} if isinstance(error, SessionError) else {"type": type(error).__name__}
