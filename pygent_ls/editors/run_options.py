"""The options of `pygent-ls run`, the session and turn requests made from them, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from pygent_ls.agent.context.attachments import PromptPart
from pygent_ls.agent.kinds import Mode, StopReason
from pygent_ls.agent.ports.model import Effort
from pygent_ls.editors.exit_codes import CANCELLED, DONE, FAILED
from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import meant
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.store import Sessions
from pygent_ls.sessions.turns.request import TurnRequest

OutputFormat = Literal["text", "json", "stream-json"]

ALL = 1_000_000
"""Page size that covers all stored sessions."""

NEWEST = 100
"""Number of recent sessions in which a used one is searched for: editors create some that are never used."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """Options of `pygent-ls run`. None keeps the value of the session or the settings."""

    prompt: str | None
    """The prompt; None: prompts are read from standard input and run one after the other."""
    folder: Path
    """The workspace folder, which exists."""
    resumed: str | None = None
    """Id of the session to resume."""
    goes_on: bool = False
    """Whether to continue the folder's newest session."""
    session_id: str | None = None
    """Id of the new session."""
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    yes: bool = False
    """Whether every permission prompt is answered with "allow once"."""
    tools: tuple[str, ...] | None = None
    """Names and globs of the only tools to offer."""
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer must be valid against."""
    output: OutputFormat = "text"
    shows_partial_messages: bool = False
    asks_on_stdio: bool = False
    """Whether permission prompts go to the program on standard input and output."""

    def request(self, parts: tuple[PromptPart, ...]) -> TurnRequest:
        """Return the turn request for a prompt."""
        return TurnRequest(
            parts=parts,
            tools=self.tools,
            max_iterations=self.max_iterations,
            max_tokens=self.max_tokens,
            max_budget_usd=self.max_budget_usd,
            effort=self.effort,
            output_schema=self.output_schema,
        )

    def new_session(self) -> NewSession:
        """Return the request for a new session."""
        return NewSession(id=self.session_id, agent=self.agent, model=self.model, mode=self.mode)

    async def session(self, sessions: Sessions) -> Session:
        """Return the session to use. Raises `PygentError` if it does not exist or rejects the options."""
        if self.resumed is None and not self.goes_on:
            return sessions.new(self.new_session())
        session = await self._held(sessions)
        if self.model is not None:
            session.set_model(self.model)
        if self.agent is not None:
            session.set_agent(self.agent)
        if self.mode is not None:
            session.permissions.set_mode(self.mode)
        return session

    async def _held(self, sessions: Sessions) -> Session:
        wanted = await self._newest(sessions) if self.resumed is None else self.resumed
        try:
            return await sessions.hold(wanted)
        except SessionError as error:
            if error.kind != "unknown_session":
                raise
        return await sessions.hold(await self._meant(sessions, wanted))

    async def _meant(self, sessions: Sessions, wanted: str) -> str:
        """Return the id of the only session with that name or id prefix, as session lists show it."""
        found = meant(wanted, (await sessions.page(SessionFilter(limit=ALL))).sessions)
        if len(found) == 1:
            return found[0].id
        problem = f"{wanted!r} matches {len(found)} sessions" if found else f"there is no session {wanted!r}"
        raise SessionError(f"--resume: {problem}. `pygent-ls sessions list` lists sessions.", kind="unknown_session")

    async def _newest(self, sessions: Sessions) -> str:
        """Return the id of the folder's most recently used session that contains messages."""
        page = await sessions.page(SessionFilter(folder=self.folder, limit=NEWEST, used=True))
        newest = next((each.id for each in page.sessions if each.n_messages), None)
        if newest is None:
            raise SessionError(
                f"--continue: {self.folder} has no session yet. Omit it to start one.",
                kind="unknown_session",
            )
        return newest


def exit_code(stop_reason: StopReason) -> int:
    """Return 0 for a completed turn, 130 for a cancelled one, and 1 otherwise."""
    match stop_reason:
        case "end_turn":
            return DONE
        case "cancelled" | "interrupted":
            return CANCELLED
        case (
            "max_iterations"
            | "token_limit"
            | "budget_limit"
            | "time_limit"
            | "max_output_tokens"
            | "refusal"
            | "loop_detected"
            | "error"
        ):
            return FAILED
