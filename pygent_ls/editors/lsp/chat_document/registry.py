"""The chat documents of one client: lenses and actions, their sessions, and the turns that write to them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.lsp.actions import CodeActionOut, CodeLensOut, EditorCommand, lens
from pygent_ls.editors.lsp.chat_document.display import show
from pygent_ls.editors.lsp.chat_document.document import (
    SUFFIX,
    USER_HEADING,
    ChatMessage,
    line_ending,
    question_line,
    read_document,
)
from pygent_ls.editors.lsp.chat_document.exchange import ChatExchange, ChatPlace
from pygent_ls.editors.lsp.chat_document.files import ChatFileError, chat_path, make_chat
from pygent_ls.editors.lsp.chat_document.region import Region
from pygent_ls.editors.lsp.chat_document.session_map import Known, SessionMap, digest_of, known_now, messages_of
from pygent_ls.editors.lsp.chat_document.side_answers import ask_beside
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.documents.buffers import Buffers, read_text_now
from pygent_ls.editors.lsp.handlers.turns import Turns
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.editors.ports import Core
from pygent_ls.errors import SessionError
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.plan_approval import IMPLEMENT_PLAN, implement_modes, is_plan
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.side_questions import question_in
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.turn import RunningTurn

log = logging.getLogger(__name__)

CLOSING_S = 0.1
"""Time limit for writing the answers of ended turns when the daemon ends."""

SOON_S = 1.0
"""Time limit for writing the rest of a finished answer. The next question waits for it, and is refused afterwards."""

BEGIN_TITLE = "Ask pygent: add “## You” here"
SEND_TITLE = "Send to pygent"
STOP_TITLE = "Stop pygent"


class _Answering(NamedTuple):
    """An answer that is being written."""

    path: Path
    session: Session
    exchange: ChatExchange
    task: asyncio.Task[None]


class Sent(NamedTuple):
    """A question that was sent."""

    session: Session
    turn: RunningTurn
    is_the_workspaces: bool
    """Whether it was in the workspace's document, to which the answers of commands are written."""


class ChatRegistry:
    """Manages chat documents and owns the tasks that write to them. Used in the event loop's thread only."""

    def __init__(self, client: Client, core: Core, turns: Turns, buffers: Buffers) -> None:
        self._client = client
        self._core = core
        self._turns = turns
        self._buffers = buffers
        sessions = core.sessions
        self._memory = SessionMap(
            core.state_folder / "chats" / "sessions",
            is_kept=lambda: sessions.journals is not None and sessions.defaults.persist,
        )
        self._sending: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        """Held while a question is being sent, so that it is not sent twice."""
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._answering: list[_Answering] = []
        """The answers being written, in the order of their questions."""
        self._plans: dict[Path, Known] = {}
        """Documents whose last answer is a plan, with the state of their sessions; the most recent last."""
        self._last_uri: str | None = None

    @staticmethod
    def is_chat(uri: str) -> bool:
        """Whether a document is a chat document, by its name."""
        path = path_of(uri, follow=False)
        return path is not None and path.name.endswith(SUFFIX)

    @property
    def workspace_path(self) -> Path:
        """Path of the document to which the answers of commands are written."""
        folders = self._client.folders()
        return Path(os.path.realpath(chat_path(self._core.state_folder, folders[0] if folders else None)))

    # Lenses and actions

    async def lenses(self, uri: str, text: str) -> list[CodeLensOut]:
        """Return the lenses on the last question: send it or stop its turn, and implement the plan above it."""
        self._last_uri = uri
        asking = read_document(text).asking
        if asking is None:
            return []
        return [lens(asking.line, each) for each in await self._commands(uri)]

    async def actions(self, uri: str, text: str, line: int) -> list[CodeActionOut]:
        """Return the same commands as actions, for any line. Without a question, the action turns the paragraph at that
        line into one."""
        self._last_uri = uri
        if read_document(text).asking is None:
            return [_begin_question(uri, text, line)]
        commands = await self._commands(uri)
        return [CodeActionOut(title=each["title"], kind="refactor", command=each) for each in commands]

    async def _commands(self, uri: str) -> list[EditorCommand]:
        path = path_of(uri)
        # The editor may ask as soon as it shows the end of an answer, before it has confirmed the edit.
        await self._are_written([each for each in self._answering if each.path == path and each.exchange.is_over])
        planning = None if path is None else self._planning(path)
        if planning is None:
            return [self._command(uri)]
        implement = [
            EditorCommand(title=title, command="pygent.implement", arguments=[mode, uri])
            for mode, title in implement_modes(planning).items()
        ]
        return [self._command(uri), *implement]

    def _command(self, uri: str) -> EditorCommand:
        running = [each for each in self._answering if each.path == path_of(uri) and not each.exchange.is_over]
        if running:
            session = {"sessionId": running[0].session.id}
            return EditorCommand(title=STOP_TITLE, command="pygent.cancel", arguments=[session])
        return EditorCommand(title=SEND_TITLE, command="pygent.sendChat", arguments=[uri])

    # Turns

    async def send(self, uri: str | None, named: Session | None, unused: Session | None) -> Sent | None:
        """Send the last question of a document, by default the last one viewed. Returns None, and tells the user, if
        there is nothing to send or an answer is still being written. A new document continues with the choices of
        `unused`, a session without turns.

        Raises `InvalidParamsError` if it is not a chat document, and `ModelError` and `SessionError` as `start_turn`.
        """
        uri = uri or self._last_uri
        if uri is None:
            raise InvalidParamsError(f"no chat document given. Pass the URI of a document whose name ends in {SUFFIX}.")
        path = self._path(uri)
        self._last_uri = uri
        async with self._sending.setdefault(path, asyncio.Lock()):
            if await self._is_free(path):
                return await self._send(path, named, unused)
            if (beside := await self._ask_beside(path)) is not None:
                return beside
        self._refuse(
            f"{path.name} is still being answered. Wait for the answer or stop it before you send the next question."
        )
        return None

    async def implement(self, mode: Mode, uri: str | None) -> Sent | None:
        """Approve the plan of a document, by default the most recent plan: set the session's mode and implement the
        plan. Returns None, and tells the user, if the plan is missing or outdated.

        Raises `InvalidParamsError` if it is not a chat document, and `ModelError` and `SessionError` as `start_turn`.
        """
        await self._are_written([each for each in self._answering if each.exchange.is_over])
        path = self._path(uri) if uri else next(reversed(self._plans), None)
        if path is not None:
            async with self._sending.setdefault(path, asyncio.Lock()):
                session = self._planning(path) if await self._is_free(path) else None
                if session is not None:
                    session.permissions.set_mode(mode)
                    session.changed("configured")
                    turn = self._ask(path, session, TurnRequest(parts=(IMPLEMENT_PLAN,)))
                    return Sent(session, turn, path == self.workspace_path)
        self._refuse("There is no plan to approve.")
        return None

    def _planning(self, path: Path) -> Session | None:
        """Return the session whose plan is at the end of a document, if nothing was said after it."""
        plan = self._plans.get(path)
        held = self._core.sessions.all() if plan else ()
        session = next((each for each in held if plan is not None and plan.is_at(each)), None)
        return session if session is not None and session.is_idle and session.mode == "plan" else None

    async def _is_free(self, path: Path) -> bool:
        """Whether all earlier answers are written; waits a short time for finished ones."""
        before = [each for each in self._answering if each.path == path]
        return all(each.exchange.is_over for each in before) and await self._are_written(before)

    @staticmethod
    async def _are_written(answers: Sequence[_Answering]) -> bool:
        """Wait for finished answers to be written; False on a timeout."""
        _, pending = await asyncio.wait([each.task for each in answers], timeout=SOON_S) if answers else ((), ())
        return not pending

    async def _send(self, path: Path, named: Session | None, unused: Session | None) -> Sent | None:
        place = self._place(path)
        try:
            text = await place.text()
        except ChatFileError as error:
            raise InvalidParamsError(f"{path.name} cannot be read: {error}") from None
        document = read_document(text)
        asking = document.asking
        if asking is None or not asking.said:
            where = "below the last line “## You”" if asking else "below a line “## You”"
            self._refuse(f"There is no question in {path.name}. Write one {where}, then send it.")
            return None
        session = named or await self._session_of(path, document.history, unused)
        exchange = ChatExchange(place, Region(asking.said, text, stands_there=True))
        turn = self._begin(session, TurnRequest(parts=(asking.said,)), exchange, path, knows_all=True)
        return Sent(session, turn, path == self.workspace_path)

    async def _ask_beside(self, path: Path) -> Sent | None:
        """Ask the last question of a document that is being answered, if it is a side question. Its answer is not
        written there."""
        running = next((each for each in self._answering if each.path == path and not each.exchange.is_over), None)
        asking = read_document(await self._place(path).text()).asking if running is not None else None
        if running is None or asking is None:
            return None
        request = TurnRequest(parts=(asking.said,))
        if question_in(request) is None:
            return None
        asked = ask_beside(self._client, self._turns, running.session, request)
        return Sent(running.session, asked, path == self.workspace_path)

    def ask(self, session: Session, request: TurnRequest) -> RunningTurn:
        """Start a turn whose question and answer are written to the workspace's document."""
        return self._ask(self.workspace_path, session, request)

    def _ask(self, path: Path, session: Session, request: TurnRequest) -> RunningTurn:
        buffer = self._buffers.get(path)
        text = buffer.text if buffer else read_text_now(path) or ""
        said = read_document(text).conversation
        known = self._memory.of(path)
        knows_all = known.is_at(session) and known.said == digest_of(said) if known else not (said or session.messages)
        return self._begin(session, request, ChatExchange(self._place(path)), path, knows_all=knows_all)

    def _begin(
        self, session: Session, request: TurnRequest, exchange: ChatExchange, path: Path, *, knows_all: bool
    ) -> RunningTurn:
        """Start a turn. `knows_all`: the session's conversation is that of the document."""
        turn = self._turns.begin(session, request, events_token=None, work_token=None, through=exchange.before)
        exchange.follow(turn)
        self._plans.pop(path, None)

        async def write() -> None:
            try:
                is_written = await exchange.run()
                known = known_now(session, exchange.said) if is_written else None
                ended = turn.task
                if known and ended and not ended.cancelled() and not ended.exception():
                    self._remember_plan(path, session, ended.result(), known)
            finally:
                exchange.finish()
            await asyncio.to_thread(self._memory.remember, path, known if knows_all else None)

        task = asyncio.create_task(write())
        answering = _Answering(path, session, exchange, task)
        self._answering.append(answering)
        self._refresh_lenses()
        assert turn.task is not None
        turn.task.add_done_callback(lambda _: self._refresh_lenses())
        task.add_done_callback(lambda _: self._ended(answering))
        return turn

    def _remember_plan(self, path: Path, session: Session, result: TurnResult, known: Known) -> None:
        if is_plan(session, result):
            self._plans[path] = known
            self._refresh_lenses()

    def _ended(self, answering: _Answering) -> None:
        self._answering.remove(answering)
        error = None if answering.task.cancelled() else answering.task.exception()
        if error is not None:
            log.error("an answer could not be written to its document: %s", type(error).__name__, exc_info=error)

    async def _session_of(self, path: Path, history: list[ChatMessage], unused: Session | None) -> Session:
        """Return the session with this conversation, or a new one that starts with it."""
        sessions = self._core.sessions
        known = await asyncio.to_thread(self._memory.of, path)
        session: Session | None = None
        if known is not None:
            with suppress(SessionError):
                session = await sessions.hold(known.session_id)
                if known.is_at(session) and known.said == digest_of(history):
                    return session
        made = sessions.new(self._like(session or (None if history else unused)))
        if history:
            made.take_conversation(messages_of(history))
        return made

    @staticmethod
    def _like(session: Session | None) -> NewSession:
        """Return a new session with the choices of that session."""
        if session is None:
            return NewSession()
        state = session.state
        return NewSession(model=state.own_model, agent=state.own_agent, mode=state.own_mode, is_inherited=True)

    # Opening and closing

    async def open(self, uri: str | None) -> str:
        """Show a chat document, by default the workspace's, and create it if it is missing. Returns its URI. Raises
        `InvalidParamsError`."""
        path = self._path(uri) if uri is not None else self.workspace_path
        if self._buffers.get(path) is None:
            try:
                await asyncio.to_thread(make_chat, path)
            except ChatFileError as error:
                raise InvalidParamsError(f"{path} cannot be created: {error}") from None
        found = self._buffers.uri_of(path) or uri or path.as_uri()
        self._last_uri = found

        def say_where() -> None:
            self._client.endpoint.show_message(f"Chat document: {path}")

        if self._client.features.show_document:
            show(self._client, self._buffers, path, not_shown=say_where, takes_focus=True)
        else:
            say_where()
        return found

    async def close(self) -> None:
        """Stop writing. The remaining text is written to files that are not open in the editor."""
        tasks = [each.task for each in self._answering]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSING_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _path(self, uri: str) -> Path:
        path = path_of(uri)
        if path is None and uri.endswith(SUFFIX):
            raise InvalidParamsError(f"{uri} is not a file yet. Save the document first.")
        if path is None or not self.is_chat(uri):
            raise InvalidParamsError(f"{uri} is not a chat document. Its file name must end in {SUFFIX}.")
        return path

    def _place(self, path: Path) -> ChatPlace:
        chats = self._core.state_folder / "chats"
        stem = path.name.removesuffix(SUFFIX)
        return ChatPlace(
            client=self._client,
            buffers=self._buffers,
            path=path,
            one_at_a_time=self._locks.setdefault(path, asyncio.Lock()),
            spare=lambda turn_id: chats / f"{stem}-{turn_id}{SUFFIX}",
        )

    def _refresh_lenses(self) -> None:
        if self._client.features.code_lens_refresh:
            self._client.endpoint.ask_without_waiting("workspace/codeLens/refresh", {}, lambda _: None)

    def _refuse(self, why: str) -> None:
        self._client.endpoint.show_message(why, MessageType.WARNING)


def _begin_question(uri: str, text: str, line: int) -> CodeActionOut:
    """Return the action that inserts the user's heading above the paragraph."""
    place = {"line": question_line(text, line), "character": 0}
    end = line_ending(text)
    edit = {"range": {"start": place, "end": place}, "newText": f"{USER_HEADING}{end}{end}"}
    return {"title": BEGIN_TITLE, "kind": "refactor", "edit": {"changes": {uri: [edit]}}}
