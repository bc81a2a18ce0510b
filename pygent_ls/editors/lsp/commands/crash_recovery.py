"""Crash recovery: offers to continue a session whose turn was interrupted when the daemon ended, after the editor's
first requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pygent_ls.agent.display_text import one_line
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.commands.execute_command import ClientCommands
from pygent_ls.editors.lsp.ports.dialogs import chosen_title
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.ports import Core
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.lifecycle.crash_recovery import AnsweredOffers
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.git.session_worktrees import folder_of_worktrees

AFTER_S = 1.0
"""Delay from `initialized` to the search for such sessions, so that the editor's first requests are answered before
it."""

MAX_PROMPT_CHARS = 100
"""Maximum length of each held prompt in a dialog."""

MAX_LOOKED_AT = 50
"""Maximum number of sessions checked in a folder, most recently used first; older ones are not offered."""

NOT_NOW, GO_ON, SEND = "Not now", "Continue", "Send"
"""The actions, in order: some clients can choose only the first."""


class RecoveryOffers:
    """Searches once for one client and asks the user. Owns the task."""

    def __init__(self, client: Client, core: Core, commands: ClientCommands) -> None:
        """`commands` continues the session."""
        self._client = client
        self._core = core
        self._commands = commands
        self._task: asyncio.Task[None] | None = None

    def start(self, after_s: float = AFTER_S) -> None:
        """Start the delayed search; returns at once."""
        self._task = asyncio.create_task(self._offer(after_s))

    async def close(self) -> None:
        """Cancel the search and its question."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _offer(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        found = await self._interrupted()
        if not found:
            return
        newest = found[0]
        endpoint = self._client.endpoint
        endpoint.tell("pygent/session/changed", {"sessionId": newest.id, "what": "interrupted"})
        answered = AnsweredOffers(self._core.state_folder / "offered.json")
        if self._client.features.has_plugin or await asyncio.to_thread(answered.has, newest):
            return
        name = " ".join(newest.name.split())
        params = {
            "type": int(MessageType.INFO),
            "message": f"A turn of “{name}” was interrupted when pygent-ls exited. Continue this session?",
            "actions": [{"title": NOT_NOW}, {"title": GO_ON}],
        }
        title = await chosen_title(endpoint, params)
        await asyncio.to_thread(answered.add, found)
        if title == GO_ON:
            try:
                session = await self._commands.go_on(newest.id)
                endpoint.show_message(f"Continuing “{name}”.")
                await self._offer_held(session)
            except (SessionError, ModelError) as error:
                endpoint.show_message(str(error), MessageType.WARNING)

    async def _offer_held(self, session: Session) -> None:
        """Ask whether to send the held prompts. Raises `SessionError`, `ModelError`."""
        held = [one_line(each.told.prompt, MAX_PROMPT_CHARS) for each in session.held]
        if not held:
            return
        lines = "\n".join(f"- {each}" for each in held)
        params = {
            "type": int(MessageType.INFO),
            "message": f"These prompts were waiting when pygent-ls exited. Send them now?\n{lines}",
            "actions": [{"title": NOT_NOW}, {"title": SEND}],
        }
        if await chosen_title(self._client.endpoint, params) == SEND:
            self._commands.send_held(session)

    async def _interrupted(self) -> Sequence[SessionEntry]:
        """Return the interrupted sessions of the open folders that no daemon uses, most recently used first."""
        sessions = self._core.sessions
        found: dict[str, SessionEntry] = {}
        for folder in self._client.folders() or [sessions.defaults.working_directory]:
            worktrees = await asyncio.to_thread(folder_of_worktrees, folder)
            page = await sessions.page(SessionFilter(folder=folder, worktrees=worktrees, limit=MAX_LOOKED_AT))
            found |= {each.id: each for each in page.sessions if each.is_interrupted}
        return sorted(found.values(), key=lambda each: each.updated_at, reverse=True)
