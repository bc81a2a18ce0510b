"""`pygent-ls chat`: a conversation on a terminal. The user can type, and is answered, while a turn runs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace
from prompt_toolkit.patch_stdout import patch_stdout

from pygent_ls import __version__
from pygent_ls.agent.display_text import one_line, visible
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Message, Role, TextBlock
from pygent_ls.agent.permissions.choices import PermissionChoice
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionRequest
from pygent_ls.agent.ports.questioner import Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.editors.exit_codes import CANCELLED, DONE, FAILED
from pygent_ls.editors.ports import Blueprint, Core, FrontEnd, SpeechDisplay, TrustQuestion
from pygent_ls.editors.run_options import RunOptions
from pygent_ls.editors.shutdown import close
from pygent_ls.editors.terminal.approver import OTHER_RULE, Scopes, prompt_text
from pygent_ls.editors.terminal.line_editor import ChatInput, KeyChoice, OpenQuestion, PromptUse
from pygent_ls.editors.terminal.markdown import MarkdownStream
from pygent_ls.editors.terminal.questioner import parse_answer
from pygent_ls.editors.terminal.side_view import SideView
from pygent_ls.editors.terminal.spinner import FRAMES, Activity
from pygent_ls.editors.terminal.text import Palette, columns_of, palette_for, wrapped
from pygent_ls.editors.terminal.view import TerminalView, Writer
from pygent_ls.editors.turn_findings import TurnFindings
from pygent_ls.errors import PygentError
from pygent_ls.extensions.voice import Heard, VoiceStatus
from pygent_ls.sessions.completion import Completions, Item, PromptCompletion
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.plan_approval import IMPLEMENT_MODES, IMPLEMENT_PLAN, implement_modes, is_plan
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.side_questions import question_in
from pygent_ls.sessions.steering import steer
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.turn import RunningTurn
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace

MODES: Sequence[Mode] = ("default", "accept_edits", "plan")
"""Permission modes that Shift-Tab cycles through; `/mode` sets the others."""

MAX_CHOICES = 9
"""Maximum number of choices that can be selected with one key."""

MAX_FORMER_SESSIONS = 5
"""Number of recent sessions of the folder whose prompts are added to the history."""

HELP = "/help: commands · Enter sends, Alt-Enter starts a new line · Ctrl-C stops a turn · Ctrl-D leaves"

OWN_COMMANDS = (
    Item(label="/resume", insert_text="/resume", kind="command", detail="continue another session of this folder"),
    Item(label="/new", insert_text="/new", kind="command", detail="start a new session"),
    Item(label="/quit", insert_text="/quit", kind="command", detail="leave"),
)
"""Commands of the chat itself, in addition to those of every session."""


class WholeLines(Struct, frozen=True):
    """Output above the prompt. Only complete lines are written, because the prompt is drawn over an incomplete one."""

    _screen: Writer

    def write(self, text: str, /) -> None:
        """Write text. The stream below buffers an incomplete line, because it is never flushed."""
        self._screen.write(text)

    def flush(self) -> None:
        """Do nothing, so that an incomplete line stays buffered."""


def _columns() -> int:
    return columns_of(sys.stdin.fileno())


class Toolbar(Struct, kw_only=True):
    """The line below the prompt that shows the state of the turn: a `Waiting` that draws nothing itself."""

    activity: Activity = field(default_factory=Activity)
    is_held: bool = False
    voice: VoiceStatus = field(default_factory=VoiceStatus)
    """State of voice input, with what is heard so far."""

    def follow(self, told: SessionEvent) -> None:
        self.activity.follow(told)

    def asks(self, question_id: str) -> None:
        self.activity.ask(question_id)

    def hear(self, heard: Heard) -> None:
        """Show what is heard so far."""
        self.voice = replace(self.voice, text="" if heard.is_final else heard.text)

    def take_voice(self, status: VoiceStatus) -> None:
        """Show whether voice input is on."""
        self.voice = status

    def clear(self) -> None:
        """Do nothing, because nothing is drawn."""

    def text(self, session: Session) -> str:
        """Return the line without colours."""
        columns = _columns()
        if self.activity.label:
            frame = FRAMES[int(self.activity.clock() * 5) % len(FRAMES)]
            label = one_line(self.activity.label, max(columns - 40, 20))
            return f"{frame} {label} · {self.activity.seconds} s · Ctrl-C stops{self._heard}"
        agent = "" if session.agent == "default" else f" · {session.agent}"
        usage = session.usage
        spent = f" · {usage.total_tokens:,} tokens · {usage.cost_in_words}" if usage.total_tokens else ""
        rest = f" · {session.mode}{agent}{spent}{self._heard}"
        return one_line(session.model, max(columns - len(rest) - 1, 10)) + rest

    @property
    def _heard(self) -> str:
        return f" · ● {one_line(self.voice.text, 40)}".rstrip() if self.voice.state == "listening" else ""


class ChatApprover(Struct, frozen=True, kw_only=True):
    """The `Approver` port: shows the request, and waits for a key."""

    input: ChatInput
    view: TerminalView
    palette: Palette

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Ask the user. Esc and Ctrl-C reject."""
        await self.view.ready_to_ask(request.permission_id)
        self.view.show(prompt_text(request, self.palette))
        async with self.input.question() as question:
            chosen = await self._chosen(question, Scopes(request))
            answer = chosen.answer() if chosen else PermissionAnswer(outcome="reject_once")
            if chosen is not None and answer.allowed:
                self.view.tell(f"  {chosen.title}", "dim")
                return answer
            feedback = await question.words("What should it do instead? (Enter: nothing) ") if chosen else ""
        self.view.tell("  Rejected", "dim")
        return replace(answer, feedback=feedback)

    async def _chosen(self, question: OpenQuestion, scopes: Scopes) -> PermissionChoice | None:
        while True:
            choices = scopes.choices
            keys = [
                KeyChoice(key=each.key, title=each.title, note=f"Applies to: {each.applies_to}") for each in choices
            ]
            other = KeyChoice(key=OTHER_RULE, title=scopes.other_title)
            taken = await question.choose("", [*keys, *([other] if other.title else [])])
            if taken != other:
                return None if taken is None else choices[keys.index(taken)]
            scopes.go_on()


class ChatQuestioner(Struct, frozen=True, kw_only=True):
    """The `Questioner` port, also for limits ("Continue?") and for the model setup."""

    input: ChatInput
    view: TerminalView
    palette: Palette

    async def ask(self, question: Question) -> QuestionAnswer:
        if question.tool_id:
            await self.view.ready_to_ask(question.tool_id)
        elif question.session_id and not question.offers_setup:  # the turn has reached a limit
            await self.view.ready_to_pause(question.question_id)
        self.view.show(self.palette.paint(visible(question.text), "bold") + "\n")
        async with self.input.question() as asked:
            return await _answered(question, asked, self.view)


async def _answered(question: Question, asked: OpenQuestion, view: TerminalView) -> QuestionAnswer:
    choices = [KeyChoice(title=_titled(each.title, each.description)) for each in question.choices]
    if choices and len(choices) < MAX_CHOICES:
        own = (KeyChoice(key="w", title="Answer in your own words"),) if question.takes_words else ()
        chosen = await asked.choose("", [*choices, *own])
        view.tell(f"  {chosen.title if chosen else 'Not answered'}", "dim")
        if chosen is None:
            return QuestionNotAnswered()
        if chosen in choices:
            return QuestionAnswered(choice=question.choices[choices.index(chosen)].title)
        choices = []
    view.show("".join(f"  {number}. {each.title}\n" for number, each in enumerate(choices, start=1)))
    ways = "A number or a name" if choices and not question.takes_words else "Your answer"
    offered = [each.title for each in question.choices] if choices else []
    said = await asked.words(f"{ways} (Enter: none): ", secret=question.secret, offered=offered)
    return parse_answer(said, question)


def _titled(title: str, description: str) -> str:
    return visible(f"{title} — {description}" if description else title)


PLAN_CHOICES: Mapping[KeyChoice, Mode | None] = {
    KeyChoice(key="i", title=IMPLEMENT_MODES["default"]): "default",
    KeyChoice(key="e", title=IMPLEMENT_MODES["accept_edits"]): "accept_edits",
    KeyChoice(key="k", title="Keep planning"): None,
}
"""Answers to a plan, with the mode in which it is implemented."""


class Chat(Struct, kw_only=True):
    """A conversation, in one or more sessions, until the user exits."""

    core: Core
    session: Session
    input: ChatInput
    view: TerminalView
    toolbar: Toolbar
    options: RunOptions
    spoken: asyncio.Queue[tuple[Session, TurnRequest]]
    """Turns of utterances, to be started."""
    _completions: Completions = field(default_factory=Completions)

    async def until_left(self) -> None:
        """Run prompts until the user exits; then cancel the running turn and wait for it."""
        use = PromptUse(
            status=lambda: self.toolbar.text(self.session),
            complete=self._completed,
            interrupt=self._interrupt,
            next_mode=self._next_mode,
        )
        async with asyncio.TaskGroup() as turns:
            speaking = turns.create_task(self._take_spoken(turns))
            with self.input.open():
                while (line := await self.input.line(use)) is not None:
                    said = line.strip()
                    if said in ("/quit", "/exit"):
                        break
                    if said:
                        await self._take(said, turns)
            speaking.cancel()
            for turn in (*reversed(self.session.turns), *self.session.side_questions.open):
                turn.cancel()

    async def _take_spoken(self, turns: asyncio.TaskGroup) -> None:
        """Start the turn of each utterance, as if it had been typed."""
        while True:
            session, request = await self.spoken.get()
            self.view.tell(f"> {request.prompt}", "bold")
            try:
                self._begin(session, request, turns)
            except PygentError as error:
                self.view.fail(str(error))

    async def _take(self, said: str, turns: asyncio.TaskGroup) -> None:
        command, _, rest = said.partition(" ")
        try:
            if command == "/resume":
                await self._resume(rest.strip())
            elif command == "/new" and not rest:
                await self._use(self.core.sessions.new(self.options.new_session()))
                self.view.tell("Started a new session.", "dim")
            elif self.session.running is not None and not said.startswith("/"):
                await self._steer(said, turns)
            else:
                self._start(said, turns)
        except PygentError as error:
            self.view.fail(str(error))

    def _start(self, said: str, turns: asyncio.TaskGroup) -> None:
        """Start a turn. Raises `PygentError` if it cannot begin."""
        self._begin(self.session, self.options.request((said,)), turns)

    def _begin(self, session: Session, request: TurnRequest, turns: asyncio.TaskGroup) -> None:
        if question_in(request) is not None:
            palette = self.view.palette
            aside = SideView(view=self.view, markdown=MarkdownStream(_columns, coloured=palette.on))
            turns.create_task(self._followed_beside(session.start_turn(request, aside), aside))
            return
        turn = session.start_turn(request, self.view)
        if session.running is not None:
            self.view.tell("Queued until the running turn ends.", "dim")
        turns.create_task(self._followed(turn, turns))

    async def _steer(self, said: str, turns: asyncio.TaskGroup) -> None:
        running = self.session.running
        if running is not None and await steer(self.session, running.turn_id, (said,)):
            self.view.tell("Sent. The model reads it before its next step.", "dim")
        else:
            self._start(said, turns)

    async def _followed(self, turn: RunningTurn, turns: asyncio.TaskGroup) -> None:
        assert turn.task is not None
        result = await asyncio.shield(turn.task)
        self.view.end(result)
        if is_plan(self.session, result) and self.session.is_idle:
            await self._offer_plan(turns)

    async def _followed_beside(self, asked: RunningTurn, aside: SideView) -> None:
        assert asked.task is not None
        aside.end(await asyncio.shield(asked.task))

    async def _offer_plan(self, turns: asyncio.TaskGroup) -> None:
        """Ask whether the plan is approved; if so, leave plan mode and let the model implement it."""
        async with self.input.question() as question:
            allowed = {None, *implement_modes(self.session)}
            offered = [choice for choice, mode in PLAN_CHOICES.items() if mode in allowed]
            chosen = await question.choose("Approve the plan?", offered)
        if chosen is not None:
            self.view.tell(f"  {chosen.title}", "dim")
        mode = PLAN_CHOICES.get(chosen) if chosen is not None else None
        if mode is None or not self.session.is_idle:
            return
        self._set_mode(mode)
        self._start(IMPLEMENT_PLAN, turns)

    def _interrupt(self) -> bool:
        if self.session.cancel():
            return True
        cancelled = [each.cancel() for each in self.session.side_questions.open]
        return any(cancelled)

    def _next_mode(self) -> None:
        now = self.session.mode
        modes: list[Mode] = [each for each in MODES if self.session.permissions.is_mode_allowed(each)]
        following = modes[(modes.index(now) + 1) % len(modes)] if now in modes else modes[0]
        self._set_mode(following)

    def _set_mode(self, mode: Mode) -> None:
        self.session.permissions.set_mode(mode)
        self.session.changed("configured")

    # Sessions

    async def _resume(self, wanted: str) -> None:
        """Continue another session. Raises `PygentError`."""
        self.session.check_idle()
        if not wanted:
            wanted = await self._chosen()
        if not wanted:
            return
        await self._use(await replace(self.options, resumed=wanted, goes_on=False).session(self.core.sessions))
        self.view.tell(f"Session {self.session.name!r}, {len(self.session.messages)} messages.", "dim")
        self._show_last_exchange()

    async def _chosen(self) -> str:
        """Ask the user to choose a session of the folder. Returns its id; empty for no choice."""
        page = await self.core.sessions.page(SessionFilter(folder=self.options.folder, limit=50, used=True))
        found = [each for each in page.sessions if each.n_messages and each.id != self.session.id][:MAX_CHOICES]
        if not found:
            self.view.tell("This folder has no other sessions yet.", "yellow")
            return ""
        choices = [
            KeyChoice(
                title=f"{one_line(each.name, 60)} · {each.updated_at:%Y-%m-%d %H:%M} · {each.n_messages} messages"
            )
            for each in found
        ]
        async with self.input.question() as question:
            chosen = await question.choose("Which session do you want to continue? (Esc: none)", choices)
        return found[choices.index(chosen)].id if chosen else ""

    async def _use(self, session: Session) -> None:
        before, self.session = self.session, session
        if before.id != session.id:
            await self.core.sessions.close_one(before.id)

    def _show_last_exchange(self) -> None:
        """Show the last prompt and answer, so that the user sees where the conversation stands."""
        self.view.tell(f"> {one_line(self._last_text('user'), 200)}", "bold")
        self.view.show_answer(self._last_text("assistant"))

    def _last_text(self, role: Role) -> str:
        texts = (_text_of(message) for message in reversed(self.session.messages) if message.role == role)
        return next((text for text in texts if text.strip()), "")

    # During prompt input

    async def _completed(self, text: str) -> PromptCompletion:
        found = await self._completions.complete(text, self.core.sessions.commands, self.session)
        if not text.startswith("/") or " " in text:
            return found
        own = tuple(each for each in OWN_COMMANDS if each.label.startswith(text))
        return replace(found, items=(*own, *found.items), start=found.start if found.items else 0)


def _text_of(message: Message) -> str:
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))


async def former_prompts(core: Core, options: RunOptions) -> list[str]:
    """Return the prompts of the folder's last sessions, oldest first, with secrets masked as in their journals."""
    page = await core.sessions.page(SessionFilter(folder=options.folder, limit=MAX_FORMER_SESSIONS, used=True))
    prompts: list[str] = []
    for entry in reversed(page.sessions):
        if not entry.n_messages:
            continue
        for message in (await core.sessions.look_at(entry.id)).messages:
            if message.role == "user":
                prompts += [block.text for block in message.blocks if isinstance(block, TextBlock) and block.is_typed]
    return prompts


def chat(blueprint: Blueprint, options: RunOptions, first: str = "") -> int:
    """Run a chat on this process's terminal and return the exit code. `first` is shown first.

    The terminal state is restored at the end, even if a question is open.
    """
    before = termios.tcgetattr(sys.stdin.fileno())
    try:
        return asyncio.run(_chat(blueprint, options, first))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return CANCELLED
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)


async def _chat(blueprint: Blueprint, options: RunOptions, first: str) -> int:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, main.cancel)
    with patch_stdout(raw=True):
        palette = palette_for(os.environ, is_terminal=True)
        toolbar, output = Toolbar(), WholeLines(sys.stdout)
        findings = TurnFindings(folder=options.folder)
        view = TerminalView(
            answer=output,
            status=output,
            palette=palette,
            answer_is_terminal=True,
            on_answer_lost=main.cancel,
            spinner=toolbar,
            findings=findings,
            markdown=MarkdownStream(_columns, coloured=palette.on),
            thoughts=MarkdownStream(_columns, coloured=False),
        )
        chat_input = ChatInput()
        questioner = ChatQuestioner(input=chat_input, view=view, palette=palette)
        spoken: asyncio.Queue[tuple[Session, TurnRequest]] = asyncio.Queue()
        core = blueprint.build(
            FrontEnd(
                workspace=DiskWorkspace([options.folder]),
                approver=ChatApprover(input=chat_input, view=view, palette=palette),
                questioner=questioner,
                pauser=questioner,
                ask_trust=partial(_trusts, chat_input, view),
                findings=findings.listed,
                on_session_change=lambda _session, _what: None,
                offers_setup=True,
                tell=view.tell,
                speech=SpeechDisplay(
                    begin=lambda session, request: spoken.put_nowait((session, request)),
                    on_heard=toolbar.hear,
                    on_change=toolbar.take_voice,
                ),
            )
        )
        if first:
            view.tell(first)
        for problem in blueprint.problems:
            view.tell(f"Settings: {problem}", "yellow")
        try:
            core.start_loading()
            session = await options.session(core.sessions)
            view.tell(f"pygent-ls {__version__} · {visible(str(options.folder))}", "bold")
            view.tell(wrapped(HELP, _columns()), "dim")
            chat_input.remember(await former_prompts(core, options))
            whole = Chat(
                core=core,
                session=session,
                input=chat_input,
                view=view,
                toolbar=toolbar,
                options=options,
                spoken=spoken,
            )
            await whole.until_left()
        except PygentError as error:
            view.fail(str(error))
            return FAILED
        finally:
            await close(core)
    return DONE


async def _trusts(chat_input: ChatInput, view: TerminalView, question: TrustQuestion) -> bool | None:
    view.show(f"{question.text}\n")
    trust = KeyChoice(key="y", title="Trust them")
    async with chat_input.question() as asked:
        chosen = await asked.choose("", [trust, KeyChoice(key="n", title="Do not trust them")])
    if chosen is not None:
        view.tell(f"  {chosen.title}", "dim")
    return None if chosen is None else chosen is trust
