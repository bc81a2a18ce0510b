"""`pygent-ls run`: turns without an editor. The answer goes to standard output, everything else to standard error or
the terminal."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from uuid import uuid4

from msgspec import Struct

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.events import TurnStarted
from pygent_ls.agent.ports.approver import Approver, PermissionRequest
from pygent_ls.agent.ports.hooks import NoHooks
from pygent_ls.agent.ports.questioner import NobodyToAsk, Questioner
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.exit_codes import CANCELLED, DONE, FAILED
from pygent_ls.editors.ports import Blueprint, Core, FrontEnd, TrustQuestion
from pygent_ls.editors.run_options import RunOptions, exit_code
from pygent_ls.editors.scripts.approver import LineApprover
from pygent_ls.editors.scripts.output_lines import InitLine
from pygent_ls.editors.scripts.requests import OpenRequests
from pygent_ls.editors.scripts.stdin import lines_of
from pygent_ls.editors.scripts.view import ScriptView
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.shutdown import close, stop_at_signal
from pygent_ls.editors.terminal.approver import (
    AllowingApprover,
    RefusingApprover,
    Terminal,
    TerminalApprover,
    terminal_of,
)
from pygent_ls.editors.terminal.output_writer import OutputWriter
from pygent_ls.editors.terminal.questioner import NO_TERMINAL, NOT_WANTED, TerminalQuestioner
from pygent_ls.editors.terminal.spinner import spinner_for
from pygent_ls.editors.terminal.text import Colour, palette_for
from pygent_ls.editors.terminal.trust_prompt import ask_trust
from pygent_ls.editors.terminal.view import TerminalView
from pygent_ls.editors.turn_findings import TurnFindings
from pygent_ls.errors import PygentError, SettingError
from pygent_ls.sessions.event_stream import Subscriber
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.choices import narrowed
from pygent_ls.sessions.turns.turn import RunningTurn
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace

if TYPE_CHECKING:  # imports pydantic and the models of all program input
    from pygent_ls.editors.scripts.input_lines import ToolPermissionResponse
    from pygent_ls.editors.scripts.program_hooks import ProgramHooks

NO_REVIEW = (
    'edits.review = "ask" requires an editor. Here, only edits that need your permission are shown as a diff before '
    "they are applied."
)

SERVERS_S = 10.0
"""Maximum time until MCP servers are connected, since a run may have no other turn in which their tools could count."""

LAST_LINES_S = 2.0
"""Time limit for the reader to take the remaining output of a cancelled run. A reader that has stopped reading does not
block the exit."""


class RunView(Subscriber, Protocol):
    """Displays the turns of a run."""

    @property
    def answer_lost(self) -> bool:
        """Whether the answer can no longer be delivered because its reader is gone."""
        ...

    def begin(self) -> None:
        """Prepare for a turn that is about to begin."""
        ...

    def end(self, result: TurnResult) -> None:
        """Finish a turn after its events were delivered."""
        ...

    def fail(self, problem: str) -> None:
        """Report that a turn could not begin."""
        ...

    def tell(self, line: str, colour: Colour | None = None) -> None:
        """Show a line to the user."""
        ...

    async def ready_to_ask(self, question_id: str) -> None:
        """Return when a question may be shown on the terminal."""
        ...

    async def ready_to_pause(self, question_id: str) -> None:
        """Return when the question whether to continue beyond a limit may be shown on the terminal."""
        ...

    async def written(self) -> None:
        """Return when everything was read, or its reader is gone."""
        ...


class _CallbackProgram(Struct, frozen=True, kw_only=True):
    """The program that reads and writes a stream-json run."""

    hooks: ProgramHooks
    questions: OpenRequests[ToolPermissionResponse] | None
    approver: LineApprover | None
    """Approver and questions; None if the program is not asked for permission."""

    @classmethod
    def at(cls, view: ScriptView, options: RunOptions) -> _CallbackProgram:
        """Return the program that reads the output of this view."""
        from pygent_ls.editors.scripts.program_hooks import ProgramHooks

        hooks = ProgramHooks(requests=OpenRequests(write=view.write, new_id=view.new_id))
        if not options.asks_on_stdio:
            return cls(hooks=hooks, questions=None, approver=None)
        questions: OpenRequests[ToolPermissionResponse] = OpenRequests(write=view.write, new_id=view.new_id)
        return cls(hooks=hooks, questions=questions, approver=LineApprover(requests=questions))


@dataclass(kw_only=True)
class _Run:
    """One run, from its front end to its exit code."""

    blueprint: Blueprint
    options: RunOptions
    answer: TextIO
    terminal: Terminal | None
    """Terminal on which the user can be asked."""
    stop: Callable[[], object]
    """Cancels the run."""
    _refusing: RefusingApprover = field(default_factory=RefusingApprover)
    _is_over: bool = False
    """Whether the turns are over and only output remains to be read; `stop` is no longer called then."""
    _commands: Sequence[str] = ()
    """Names of all slash commands, for stream-json output."""

    async def to_its_end(self) -> int:
        view = self._view()
        program: _CallbackProgram | None = None
        if isinstance(view, ScriptView) and self.options.prompt is None:
            program = _CallbackProgram.at(view, self.options)
        core = self.blueprint.build(self._front_end(view, program))
        for problem in self.blueprint.problems:
            view.tell(f"Settings: {problem}", "yellow")
        if core.reviews_edits:
            view.tell(NO_REVIEW, "yellow")
        try:
            code = await self._worked(core, view, program)
        except PygentError as error:
            view.fail(str(error))
            code = FAILED
        finally:
            self._is_over = True
            await close(core)
        _list_refused(self._refusing.refused, view)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_LINES_S if code == CANCELLED else None):
                await view.written()
        return FAILED if view.answer_lost else code

    async def _worked(self, core: Core, view: TerminalView | ScriptView, program: _CallbackProgram | None) -> int:
        """Run the turns and return the exit code. Raises `PygentError` if the run cannot begin."""
        core.start_loading()
        session = await self.options.session(core.sessions)
        abilities = await _abilities(core, session) if self.options.output == "stream-json" else {}
        self._commands = [each["name"] for each in abilities.get("commands", ())]
        if isinstance(view, ScriptView):
            view.session_id = session.id
            view.describe = partial(self._described, core, session)
        if self.options.prompt is not None:
            result = await self._turn(session, self.options.prompt, view)
            _name_agents(session, view)
            return exit_code(result.stop_reason)
        from pygent_ls.editors.scripts.conversation import ScriptConversation

        assert isinstance(view, ScriptView)
        assert program is not None
        exchange = ScriptConversation(
            session=session,
            view=view,
            request=self.options.request,
            abilities=abilities,
            define_agents=partial(_define_agents, core, session),
            hooks=program.hooks,
            questions=program.questions,
        )
        try:
            await exchange.run(lines_of(0))
        except asyncio.CancelledError:
            return CANCELLED
        return exit_code(view.last_stop) if view.last_stop else DONE

    async def _turn(self, session: Session, prompt: str, view: RunView) -> TurnResult:
        """Run one turn. Raises `PygentError` if it cannot begin."""
        view.begin()
        result = await _result(session.start_turn(self.options.request((prompt,)), view), view)
        view.end(result)
        return result

    def _described(self, core: Core, session: Session, started: TurnStarted) -> InitLine:
        request = self.options.request(())
        tools = narrowed(session.services, session.choices.variants.usual(started.agent), request).tools
        return {
            "type": "system",
            "subtype": "init",
            "cwd": str(session.services.environment.working_directory),
            "model": started.model,
            "tools": [each.name for each in tools.list_all()],
            "mcp_servers": [{"name": each.name, "status": each.state} for each in core.mcp.statuses],
            "permissionMode": started.mode,
            "agents": [each.name for each in core.agents],
            "slash_commands": self._commands,
        }

    # Output and prompts

    @cached_property
    def _findings(self) -> TurnFindings:
        return TurnFindings(folder=self.options.folder)

    def _view(self) -> TerminalView | ScriptView:
        options, answer_descriptor = self.options, self.answer.fileno()

        def lost(descriptor: int, error: OSError) -> None:
            if descriptor == answer_descriptor:
                view.lose_answer(error)

        def stop() -> None:
            if not self._is_over:
                self.stop()

        outlet = OutputWriter(lost)
        answer, status = outlet.stream(self.answer), outlet.stream(sys.stderr)
        is_text, owes_value = options.output == "text", options.output_schema is not None
        shown = (status if owes_value else answer) if is_text else io.StringIO()
        view = TerminalView(
            answer=shown,
            status=status,
            palette=palette_for(os.environ, is_terminal=status.isatty()),
            answer_is_terminal=shown.isatty(),
            on_answer_lost=stop,
            value=answer if is_text and owes_value else None,
            spinner=spinner_for(status, os.environ.get("TERM", ""), lambda: outlet.is_empty),
            findings=self._findings if is_text else None,
            outlet=outlet,
        )
        if is_text:
            return view
        return ScriptView(
            writer=LineWriter(answer_descriptor, view.lose_answer),
            status=view,
            is_stream=options.output == "stream-json",
            shows_partial=options.shows_partial_messages,
            findings=self._findings,
            new_id=lambda: str(uuid4()),
        )

    def _front_end(self, view: RunView, program: _CallbackProgram | None) -> FrontEnd:
        asking = program.approver if program is not None else None
        # A program that writes to standard input must not wait for a user that it does not know about.
        terminal = self.terminal if self.options.prompt is not None else None
        approver: Approver = AllowingApprover() if self.options.yes else asking or self._refusing
        questioner: Questioner = asking or NobodyToAsk(NOT_WANTED if self.options.yes else NO_TERMINAL)
        pauser: Questioner = NobodyToAsk()
        if terminal is not None and not self.options.yes:
            palette = palette_for(os.environ, is_terminal=True)
            approver = TerminalApprover(terminal=terminal, palette=palette, ready_to_ask=view.ready_to_ask)
            questioner = TerminalQuestioner(terminal=terminal, palette=palette, ready_to_ask=view.ready_to_ask)
            pauser = TerminalQuestioner(terminal=terminal, palette=palette, ready_to_ask=view.ready_to_pause)
        return FrontEnd(
            workspace=DiskWorkspace([self.options.folder]),
            approver=approver,
            questioner=questioner,
            pauser=pauser,
            hooks=program.hooks if program is not None else NoHooks(),
            ask_trust=_nobody if self.options.yes or terminal is None else partial(_trust_on, terminal, view),
            findings=self._findings.listed,
            on_session_change=lambda _session, _what: None,
            waits_for_servers_s=SERVERS_S,
        )


def run(blueprint: Blueprint, options: RunOptions) -> int:
    """Run the turns and return the exit code. A first Ctrl-C cancels the turn, a second one exits at once."""
    with terminal_of((0, 2, 1)) as terminal, _answer_stream() as answer:
        try:
            return asyncio.run(_run(blueprint, options, answer, terminal))
        except (KeyboardInterrupt, asyncio.CancelledError):
            return CANCELLED


@contextmanager
def _answer_stream() -> Generator[TextIO]:
    """Reserve standard output for the answer. Other output to it, such as that of libraries, goes to standard error
    from now on."""
    own = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    os.dup2(2, 1)
    try:
        yield own
    finally:
        with suppress(OSError):  # the view has already reported it
            own.close()


async def _run(blueprint: Blueprint, options: RunOptions, answer: TextIO, terminal: Terminal | None) -> int:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGTERM, signal.SIGHUP):  # asyncio.run handles SIGINT and cancels this task, too
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
            asyncio.get_running_loop().add_signal_handler(number, partial(stop_at_signal, main))
    run = _Run(blueprint=blueprint, options=options, answer=answer, terminal=terminal, stop=main.cancel)
    return await run.to_its_end()


async def _trust_on(terminal: Terminal, view: RunView, question: TrustQuestion) -> bool | None:
    await view.written()
    return await ask_trust(terminal, question)


async def _nobody(_question: TrustQuestion) -> None:
    """Give no answer, so the folder's settings are not trusted. `--yes` applies to permission prompts only."""


async def _result(turn: RunningTurn, view: RunView) -> TurnResult:
    """Wait for the turn. If this task is cancelled, cancel the turn and wait for its end."""
    assert turn.task is not None
    try:
        return await asyncio.shield(turn.task)
    except asyncio.CancelledError:
        if turn.cancel() and not view.answer_lost:
            view.tell("Stopping. Press Ctrl-C again to stop immediately.", "yellow")
        return await turn.task


def _define_agents(core: Core, session: Session, given: Mapping[str, Any]) -> None:
    """Add agents for later turns. Raises `SettingError`."""
    from pygent_ls.editors.scripts.agent_definitions import agent_tables

    tables = agent_tables(given, [each.name for each in session.services.tools.list_all()])
    if problems := core.configure({"agents": tables}):
        raise SettingError("; ".join(problems))


async def _abilities(core: Core, session: Session) -> dict[str, Any]:
    """Return what `initialize` reports to a program: commands, agents, models and output styles."""
    commands = await core.sessions.listed_commands()
    return {
        "commands": [
            {"name": each.name, "description": each.description, "argumentHint": each.takes} for each in commands
        ],
        "agents": [{"name": each.name, "description": each.description} for each in core.agents],
        "models": [{"value": session.model, "displayName": session.model, "description": ""}],
        "output_style": "default",
        "available_output_styles": ["default"],
        "account": {},
    }


def _name_agents(session: Session, view: RunView) -> None:
    """Tell the user which agents in the background end with the run."""
    for each in session.services.environment.processes.background.running_jobs(session.id):
        view.tell(
            f"The agent {each.name} ({each.command}) had not finished in the background and was stopped.", "yellow"
        )


def _list_refused(refused: Sequence[PermissionRequest], view: RunView) -> None:
    if not refused:
        return
    view.tell("Rejected because there is no terminal to ask on. --yes would allow all of these once:", "yellow")
    for request in refused:
        view.tell(f"  - {visible(request.tool_name)}: {request.action}")
