"""Commands that set the mode or the model of a session, and ask the user if no value is given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from pygent_ls.agent.kinds import Mode
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.handlers.checkpoints import restored_message
from pygent_ls.editors.lsp.ports.dialogs import chosen_title
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.ports import Core
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.commands.selection import MODES
from pygent_ls.sessions.session import Session

if TYPE_CHECKING:  # imports an HTTP client
    from pygent_ls.llm.setup.flow import Way

MAX_OFFERED = 12
"""Maximum number of models offered as buttons; some editors show them in one row."""


MAX_NAMED_FILES = 20
"""Maximum number of files named in a question; further files are only counted."""


class SessionOptions:
    """Sets given values, and asks for missing ones after the command was answered. Only one question is open at a time;
    a new question replaces it."""

    def __init__(self, client: Client, core: Core) -> None:
        self._client = client
        self._core = core
        self._question: asyncio.Task[None] | None = None

    def set_mode(self, given: str | None, session: Session) -> None:
        """Set the given mode, or ask for one. Raises `InvalidParamsError`, `SessionError`."""
        if given is None:
            self.ask(self._offer_modes(session))
            return
        if given not in get_args(Mode):
            raise InvalidParamsError(f"mode: {given!r} must be one of {', '.join(get_args(Mode))}")
        mode = cast("Mode", given)
        session.permissions.set_mode(mode)
        session.changed("configured")
        self._client.tell_user(f"Mode set to {mode}: {MODES[mode]}.")

    def set_model(self, given: str | None, session: Session) -> None:
        """Set the given model, or ask for one. Raises `ModelError`."""
        if given is None:
            self.ask(self._offer_models(session))
            return
        session.set_model(given)
        self._client.tell_user(f"Model set to {given}.")

    def set_up(self, given: str | None) -> None:
        """Ask for a default model, by the given way of setup, and for its key if it needs one. Raises
        `InvalidParamsError`."""
        from pygent_ls.llm.setup.flow import Way

        if given is not None and given not in get_args(Way):
            raise InvalidParamsError(f"way: {given!r} must be one of {', '.join(get_args(Way))}")
        self.ask(self._set_up(cast("Way", given or "any")))

    def take_back_rest(self, files: Sequence[Path], session: Session) -> None:
        """Ask whether to undo changes of files that a command, the user or another program may have changed."""
        self.ask(self._offer_rest(files, session))

    async def close(self) -> None:
        """Cancel the open question."""
        if self._question is not None:
            self._question.cancel()
            await asyncio.gather(self._question, return_exceptions=True)

    def ask(self, question: Coroutine[Any, Any, None]) -> None:
        """Ask in place of the open question."""
        if self._question is not None:
            self._question.cancel()
        self._question = asyncio.create_task(question)

    async def _set_up(self, way: Way) -> None:
        done = await self._core.set_up(way)
        self._client.endpoint.show_message(f"pygent: {done.text}")

    async def _offer_rest(self, files: Sequence[Path], session: Session) -> None:
        leave, take_back = "Keep them", "Undo them"
        names = ", ".join(map(session.shown, files[:MAX_NAMED_FILES]))
        more = f" and {len(files) - MAX_NAMED_FILES} more" if len(files) > MAX_NAMED_FILES else ""
        prompt: Mapping[str, Any] = {
            "type": int(MessageType.WARNING),
            "message": (
                "pygent: these files changed while a command ran; the command, you or another program may have "
                f"changed them: {names}{more}. Undo these changes too?"
            ),
            "actions": [{"title": leave}, {"title": take_back}],
        }
        if await chosen_title(self._client.endpoint, prompt) != take_back:
            return
        try:
            self._client.endpoint.show_message(restored_message(await session.undo_rest()))
        except SessionError as error:
            self._client.tell_user(str(error), MessageType.WARNING)

    async def _offer_modes(self, session: Session) -> None:
        current = session.permissions.mode
        others: list[Mode] = [mode for mode in (await self._core.beginning()).modes if mode != current]
        lines = [f"{mode}: {MODES[mode]}" for mode in others]
        message = "\n".join([f"Choose a mode. Current mode: {current} ({MODES[current]}).", *lines])
        await self._offer(message, current, others, lambda mode: self.set_mode(mode, session))

    async def _offer_models(self, session: Session) -> None:
        current = session.model
        usable = [each.name for each in await self._core.models() if each.available and each.name != current]
        more = f" {len(usable) - MAX_OFFERED} more are available." if len(usable) > MAX_OFFERED else ""
        message = (
            f"Choose a model. Current model: {current}.{more} pygent.setModel accepts any model name as its argument."
        )
        await self._offer(message, current, usable[:MAX_OFFERED], lambda model: self.set_model(model, session))

    async def _offer(self, message: str, current: str, others: Sequence[str], choose: Callable[[str], None]) -> None:
        keep = f"Keep {current}"  # it comes first, because some clients can choose only the first action
        prompt: Mapping[str, Any] = {
            "type": int(MessageType.INFO),
            "message": f"pygent: {message}",
            "actions": [{"title": title} for title in (keep, *others)],
        }
        title = await chosen_title(self._client.endpoint, prompt)
        if title is None or title == keep:
            return
        try:
            choose(title)
        except (SessionError, ModelError) as error:
            self._client.tell_user(str(error), MessageType.WARNING)
