"""Handlers of the requests about background commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygent_ls.errors import SessionError, ToolError
from pygent_ls.sessions.saved_format.writer import timestamp
from pygent_ls.sessions.session import Session

if TYPE_CHECKING:
    from pygent_ls.agent.ports.processes import BackgroundCommand
    from pygent_ls.editors.lsp.protocol.background_commands import (
        BackgroundCommandOut,
        BackgroundCommandsOut,
        BackgroundStopParams,
        StoppedOut,
    )
    from pygent_ls.editors.lsp.protocol.sessions import SessionParams
    from pygent_ls.sessions.store import Sessions


class BackgroundRequests:
    """Lists and stops the background commands of a session. Errors are `SessionError`."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def list_all(self, params: SessionParams) -> BackgroundCommandsOut:
        """Handle `pygent/background/list`."""
        session = await self._sessions.look_at(params.session_id)
        if not isinstance(session, Session):  # not active here: it runs nothing, and is not activated
            return {"commands": []}
        return {
            "commands": [
                _out(each) for each in await session.services.environment.processes.background.listed(session.id)
            ]
        }

    async def stop(self, params: BackgroundStopParams) -> StoppedOut:
        """Handle `pygent/background/stop`."""
        session = await self._sessions.hold(params.session_id)
        try:
            return {"stopped": await session.services.environment.processes.background.stop(session.id, params.id)}
        except ToolError as error:
            raise SessionError(str(error), kind="unknown_background_command") from None


def _out(command: BackgroundCommand) -> BackgroundCommandOut:
    return {
        "id": command.name,
        "kind": command.kind,
        "command": command.command,
        "startedAt": timestamp(command.started_at),
        "running": command.runs,
        "exitCode": command.exit_code,
        "stoppedByUser": command.stopped_by_user,
        "ending": command.ending,
        "lastOutput": command.last_output,
    }
