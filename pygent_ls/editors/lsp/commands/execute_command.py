"""Commands for clients without a plugin. They are answered at once; the work is shown by work-done progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from pygent_ls.editors.lsp.chat_document.registry import ChatRegistry, Sent
from pygent_ls.editors.lsp.chat_document.side_answers import ask_beside
from pygent_ls.editors.lsp.commands.code_actions import (
    SELECTION_PROMPTS,
    ask_prompt,
    code_actions,
    code_lenses,
    is_request_of_a_comment,
    is_wanted,
    prompt_for,
    target_of,
)
from pygent_ls.editors.lsp.commands.commit_message import CommitMessages
from pygent_ls.editors.lsp.commands.finding_display import SOURCE as FINDINGS
from pygent_ls.editors.lsp.commands.findings import FindingCommands
from pygent_ls.editors.lsp.commands.session_options import SessionOptions
from pygent_ls.editors.lsp.commands.targets import fix_target_in, target_in
from pygent_ls.editors.lsp.documents.buffers import Buffers, read_text_now
from pygent_ls.editors.lsp.handlers.checkpoints import restored_message, restored_out
from pygent_ls.editors.lsp.handlers.requests import validated
from pygent_ls.editors.lsp.protocol.commands import (
    CommandSession,
    CommandTurnOut,
    OpenedChatOut,
    ReviewedOut,
    SentChatOut,
    SetupOut,
)
from pygent_ls.editors.lsp.protocol.conversion import session_out
from pygent_ls.editors.lsp.review.display import SOURCE
from pygent_ls.editors.lsp.rpc.converter import repaired
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError, JsonRpcError
from pygent_ls.editors.lsp.standard import CodeActionParams, CodeLensParams, MessageType
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ModelError, SessionError, ToolError
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.plan_approval import IMPLEMENT_MODES
from pygent_ls.sessions.side_questions import question_in
from pygent_ls.sessions.turns.request import TurnRequest

if TYPE_CHECKING:
    from pygent_ls.agent.context.attachments import PromptPart
    from pygent_ls.agent.kinds import Mode
    from pygent_ls.editors.lsp.actions import ActionTarget, CodeActionOut, CodeLensOut
    from pygent_ls.editors.lsp.client import Client
    from pygent_ls.editors.lsp.handlers.turns import Turns
    from pygent_ls.editors.lsp.protocol.checkpoints import RestoredOut
    from pygent_ls.editors.lsp.protocol.permissions import ModeOut
    from pygent_ls.editors.lsp.protocol.sessions import SessionOut
    from pygent_ls.editors.lsp.review.commands import ReviewCommands
    from pygent_ls.editors.ports import Core
    from pygent_ls.sessions.session import Session
    from pygent_ls.sessions.turns.turn import RunningTurn

OUR_SOURCES = (SOURCE, FINDINGS)
"""Sources of our diagnostics, which have code actions of their own."""


class GitCommands(Struct, frozen=True, kw_only=True):
    """Commands on the changes of a repository."""

    findings: FindingCommands
    commit_messages: CommitMessages

    def actions(self, target: ActionTarget) -> list[CodeActionOut]:
        """Return the code actions for a target."""
        return [*self.commit_messages.actions(target.uri), *self.findings.actions(target)]


class ClientCommands:
    """Runs the commands of one client in a session of their own."""

    def __init__(
        self,
        client: Client,
        core: Core,
        turns: Turns,
        buffers: Buffers,
        review: ReviewCommands,
        git: GitCommands,
    ) -> None:
        self._client = client
        self._core = core
        self._review = review
        self._git = git
        self._findings = git.findings
        self._commit_messages = git.commit_messages
        self._turns = turns
        self._buffers = buffers
        self._chats = ChatRegistry(client, core, turns, buffers)
        self._choosing = SessionOptions(client, core)
        self._session: Session | None = None
        self._chat_session: Session | None = None
        """Session of the last sent chat document, if it was sent after the last command."""
        self._running: list[RunningTurn] = []
        self._last_target: ActionTarget | None = None

    async def code_actions(self, params: CodeActionParams) -> list[CodeActionOut]:
        """Handle `textDocument/codeAction` without asking the user."""
        uri = params.text_document.uri
        if self._chats.is_chat(uri):  # the target remains that of the last document outside of the chat
            line = params.range.start.line
            is_asked = is_wanted("refactor", params.context.only or ())
            return await self._chats.actions(uri, self._text(uri), line) if is_asked else []
        others = [each for each in params.context.diagnostics if each.get("source") not in OUR_SOURCES]
        params.context.diagnostics = others
        self._last_target = target_of(params)
        self._client.told.looked_at(params)
        if not is_wanted("quickfix", params.context.only or ()):
            return code_actions(params, self._text(uri))
        reviewed = [*self._review.actions(self._last_target), *self._git.actions(self._last_target)]
        return [*reviewed, *code_actions(params, self._text(uri))]

    async def code_lenses(self, params: CodeLensParams) -> list[CodeLensOut]:
        """Handle `textDocument/codeLens`."""
        uri = params.text_document.uri
        text = self._text(uri)
        if self._chats.is_chat(uri):
            return await self._chats.lenses(uri, text)
        return [*self._review.lenses(uri), *code_lenses(uri, text)]

    async def close(self) -> None:
        """Cancel the open question."""
        await self._choosing.close()

    def _text(self, uri: str) -> str:
        path = path_of(uri)
        buffer = self._buffers.get(path) if path else None
        return buffer.text if buffer else (read_text_now(path) or "" if path else "")

    async def run(self, command: str, arguments: Sequence[Any]) -> Any:
        """Handle `workspace/executeCommand`. Raises `InvalidParamsError`."""
        try:
            given, session = await self._session_of(repaired([*arguments]))
            match command:
                case "pygent.undo":
                    return await self._undo(session)
                case "pygent.ask" if self._asks_nothing(given):
                    return await self._open_to_ask()
                case "pygent.sendChat":
                    unused = self._session if self._session and not self._session.messages else None
                    return self._sent(await self._chats.send(_optional_uri(given), session, unused))
                case "pygent.implement":
                    mode, uri = _implementing(given)
                    return self._sent(await self._chats.implement(mode, uri))
                case "pygent.acceptChanges" | "pygent.rejectChanges" | "pygent.undoRejection" | "pygent.review":
                    return await self._run_review(command, given)
                case "pygent.openChat":
                    opened: OpenedChatOut = {"uri": await self._chats.open(_optional_uri(given))}
                    return opened
                case _:
                    return await self._run_on_findings(command, given, session)
        except ModelError as error:
            raise InvalidParamsError(f"model: {error.message}") from None
        except SessionError as error:
            raise JsonRpcError(str(error), InvalidParamsError.CODE, {"kind": error.kind}) from None

    def _asks_nothing(self, arguments: Sequence[Any]) -> bool:
        """Whether the command has no prompt, and the client has no chat panel to type one in."""
        return not self._client.features.chat_panel and _is_left_out(arguments)

    async def _open_to_ask(self) -> SentChatOut:
        """Open the chat document, where the user can type a prompt."""
        await self._chats.open(None)
        return {"sessionId": None, "turnId": None}

    async def _session_of(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Session | None]:
        """Return the arguments without the one that names a session, and that session. Raises `SessionError`."""
        objects = [cast("Mapping[str, Any]", each) for each in arguments if isinstance(each, Mapping)]
        named = next((each for each in objects if "sessionId" in each), None)
        if named is None:
            return arguments, None
        session = await self._core.sessions.hold(validated(CommandSession, named).session_id)
        return [each for each in arguments if each is not named], session

    def _run(self, command: str, arguments: Sequence[Any], named: Session | None) -> Any:
        match command:
            case "pygent.ask":
                return self._ask(arguments, named)
            case "pygent.fix":
                return self._fix(arguments, named)
            case "pygent.cancel":
                return {"cancelled": self._cancel(named)}
            case "pygent.newSession":
                return self._new_session()
            case "pygent.setup":
                return self._set_up(_text_or_none(arguments, "the way"))
            case "pygent.setMode":
                return self._set_mode(_text_or_none(arguments, "the mode"), named or self._last_used())
            case "pygent.setModel":
                return self._set_model(_text_or_none(arguments, "the model"), named or self._last_used())
            case _ if command in SELECTION_PROMPTS:
                return self._start(prompt_for(command, target_in(arguments, self._last_target)), named)
            case _:
                raise InvalidParamsError(f"{command} is not a command of this server")

    def _cancel(self, named: Session | None) -> bool:
        """Cancel all that commands have started, or the turns of one session."""
        cancelled = [
            turn.cancel()
            for turn in self._running
            if named is None or turn in named.turns or turn in named.side_questions.open
        ]
        if named is None:
            cancelled.append(self._commit_messages.cancel())
        if not any(cancelled):
            self._client.tell_user("There is nothing to cancel: no command is running.")
        return any(cancelled)

    def _new_session(self) -> SessionOut:
        self._session, self._chat_session = self._core.sessions.new(NewSession()), None
        self._client.tell_user("Your next command starts a new conversation.")
        return session_out(self._session)

    def _fix(self, arguments: Sequence[Any], named: Session | None) -> CommandTurnOut:
        target = fix_target_in(arguments, self._last_target)
        return self._start(prompt_for("pygent.fix", target), named, own_words="")

    async def _run_on_findings(self, command: str, given: Sequence[Any], session: Session | None) -> Any:
        match command:
            case "pygent.codeReview":
                return self._review_code(given, session)
            case "pygent.fixFinding":
                return await self._fix_finding(given, session)
            case "pygent.applySuggestion":
                return await self._findings.apply(given)
            case "pygent.dismissFinding" | "pygent.dismissFindings":
                return self._findings.dismiss(command, given)
            case "pygent.commitMessage":
                return self._commit_messages.start(_optional_uri(given))
            case _:
                return self._run(command, given, session)

    def _review_code(self, arguments: Sequence[Any], named: Session | None) -> CommandTurnOut:
        target = _text_or_none(arguments, "the branch, commit or range")
        return self._start((f"/review {target}" if target else "/review",), named)

    async def _fix_finding(self, arguments: Sequence[Any], named: Session | None) -> CommandTurnOut:
        """Fix a finding in the session of its review, which knows the changes."""
        placed = self._findings.to_fix(arguments)
        if named is None:
            with suppress(SessionError):
                named = await self._core.sessions.hold(placed.finding.session_id)
        session = named or self._current_session()
        started = self._start(tuple(self._findings.fix_prompt(placed)), session, own_words="")
        turn = next((each for each in session.turns if each.turn_id == started["turnId"]), None)
        if turn is not None and turn.task is not None:
            turn.task.add_done_callback(self._findings.fixed(placed.finding.id))
        return started

    async def _undo(self, named: Session | None) -> RestoredOut:
        session = named or self._chat_session or self._session or await self._last_session()
        done = await session.undo()
        # The conversation goes on in the chat document, so an undo does not report that file.
        done.skipped = [each for each in done.skipped if not self._chats.is_chat(each.path.as_uri())]
        done.uncertain = [path for path in done.uncertain if not self._chats.is_chat(path.as_uri())]
        kind = MessageType.WARNING if done.was_not_kept else MessageType.INFO
        self._client.endpoint.show_message(restored_message(done), kind)
        if asked := [path for path in done.uncertain if path not in done.by_products]:
            self._choosing.take_back_rest(asked, session)
        return restored_out(self._client, done)

    def _ask(self, arguments: Sequence[Any], named: Session | None) -> CommandTurnOut:
        is_placed = len(arguments) > 1 and isinstance(arguments[1], str)
        target = target_in(arguments[1:], self._last_target) if is_placed else None
        asked = _text(arguments, 0, "the prompt")
        is_comment = target is not None and is_request_of_a_comment(asked, target, self._text(target.uri))
        return self._start(ask_prompt(asked, target), named, own_words="" if is_comment else None)

    def _start(
        self, parts: tuple[PromptPart, ...] | None, named: Session | None, *, own_words: str | None = None
    ) -> CommandTurnOut:
        """Start a turn. `own_words` as in `TurnRequest`: text from files and checkers is not the user's."""
        if parts is None:
            raise InvalidParamsError("the document is not a file")
        session = named or self._current_session()
        self._chat_session = None
        request = TurnRequest(parts=parts, own_words=own_words)
        return self.begin(session, request, follows_session=self._client.features.chat_panel)

    def begin(self, session: Session, request: TurnRequest, *, follows_session: bool) -> CommandTurnOut:
        """Start a turn. If the client does not follow the session's events, the workspace's chat document shows the
        question and the answer. Raises as `Session.start_turn`."""
        if question_in(request) is not None:
            return self._started(session, ask_beside(self._client, self._turns, session, request))
        if follows_session:
            return self._started(session, self._turns.begin(session, request, events_token=None, work_token=None))
        return self._started(session, self._chats.ask(session, request))

    def _sent(self, sent: Sent | None) -> SentChatOut:
        if sent is None:
            return {"sessionId": None, "turnId": None}
        session, turn, is_the_workspaces = sent
        self._chat_session = session
        if is_the_workspaces:  # later commands continue this conversation
            self._session = session
        started = self._started(session, turn)
        return {"sessionId": started["sessionId"], "turnId": started["turnId"]}

    def _started(self, session: Session, turn: RunningTurn) -> CommandTurnOut:
        assert turn.task is not None
        self._running.append(turn)
        turn.task.add_done_callback(lambda _: self._running.remove(turn))
        return {"sessionId": session.id, "turnId": turn.turn_id}

    async def _run_review(self, command: str, arguments: Sequence[Any]) -> ReviewedOut:
        """Accept or reject a hunk, all hunks of a document, or those at the last code action; or ask about each."""
        uri, hunk_ids = _optional_uri(arguments), _hunk_ids(arguments[1]) if len(arguments) > 1 else None
        accept = command == "pygent.acceptChanges"
        try:
            if command == "pygent.review":
                self._choosing.ask(self._review.walk())
            elif command == "pygent.undoRejection":
                await self._review.undo_rejection(uri)
            elif uri is not None:
                await self._review.decide(uri, accept=accept, hunk_ids=hunk_ids)
            else:
                await self._review.decide_at(self._last_target, accept=accept)
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None
        return {"left": self._review.n_left}

    async def _last_session(self) -> Session:
        """Return the session last used in this folder, also by an earlier daemon; else a new one."""
        sessions = self._core.sessions
        folder = sessions.defaults.working_directory
        listed = (await sessions.page(SessionFilter(folder=folder, used=True))).sessions
        last = next((each for each in listed if each.n_messages), None)
        if last is not None:
            self._session = await sessions.hold(last.id)
        return self._current_session()

    async def go_on(self, session_id: str) -> Session:
        """Use that session from now on. Raises `SessionError`."""
        self._session = await self._core.sessions.hold(session_id)
        return self._session

    def send_held(self, session: Session) -> None:
        """Send the session's held prompts again. Raises `ModelError`, `SessionError`."""
        for each in session.held:
            self._started(session, self._chats.ask(session, session.held_request(each.turn)))

    def _last_used(self) -> Session:
        return self._chat_session or self._current_session()

    def _current_session(self) -> Session:
        if self._session is None:
            self._session = self._core.sessions.new(NewSession())
        return self._session

    def _set_up(self, way: str | None) -> SetupOut:
        self._choosing.set_up(way)
        return {"started": True}

    def _set_mode(self, mode: str | None, session: Session) -> ModeOut:
        self._choosing.set_mode(mode, session)
        return {"sessionId": session.id, "mode": session.permissions.mode}

    def _set_model(self, model: str | None, session: Session) -> SessionOut:
        self._choosing.set_model(model, session)
        return session_out(session)

    async def end_chats(self) -> None:
        """Finish writing the answers of ended turns; called after all turns have ended."""
        await self._chats.close()


def _text(arguments: Sequence[Any], place: int, what: str) -> str:
    value = arguments[place] if len(arguments) > place else None
    if not isinstance(value, str) or not value.strip():
        raise InvalidParamsError(f"argument {place + 1} must be {what}, as text")
    return value


def _text_or_none(arguments: Sequence[Any], what: str) -> str | None:
    """Return the first argument; None if it is not given."""
    return None if _is_left_out(arguments) else _text(arguments, 0, what)


def _is_left_out(arguments: Sequence[Any]) -> bool:
    """Whether the first argument is missing. Clients whose users type no argument send null, or empty text."""
    return not arguments or arguments[0] is None or (isinstance(arguments[0], str) and not arguments[0].strip())


def _implementing(arguments: Sequence[Any]) -> tuple[Mode, str | None]:
    """Return the mode in which a plan is implemented, and the URI of the chat document with the plan."""
    given = _text_or_none(arguments, "the mode") or "default"
    for mode in IMPLEMENT_MODES:
        if mode == given:
            return mode, _optional_uri(arguments[1:])
    raise InvalidParamsError(f"mode: {given!r} must be one of {', '.join(IMPLEMENT_MODES)}")


def _hunk_ids(given: object) -> list[int]:
    ids = cast("list[object]", given) if isinstance(given, list) else [given]
    found = [each for each in ids if isinstance(each, int) and not isinstance(each, bool)]
    if not found or len(found) < len(ids):
        raise InvalidParamsError("argument 2 must be the id of a change, or a list of them")
    return found


def _optional_uri(arguments: Sequence[Any]) -> str | None:
    value = arguments[0] if arguments else None
    if value is not None and not isinstance(value, str):
        raise InvalidParamsError("argument 1 must be the URI of a chat document, as text")
    return value or None
