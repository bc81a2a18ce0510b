"""One turn without an editor: the answer on standard output, everything else on standard error or the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from pygent_ls.agent.approver import PermissionRequest
from pygent_ls.agent.asker import NobodyToAsk, Questioner
from pygent_ls.agent.events import StopReason
from pygent_ls.agent.tool import visible
from pygent_ls.agent.turn import TurnResult
from pygent_ls.editors.closing import close
from pygent_ls.editors.ports import Blueprint, Core, FrontEnd, TrustQuestion
from pygent_ls.editors.terminal_approver import (
    AllowingApprover,
    RefusingApprover,
    Terminal,
    TerminalApprover,
    terminal_of,
)
from pygent_ls.editors.terminal_questioner import NO_TERMINAL, NOT_WANTED, TerminalQuestioner
from pygent_ls.editors.terminal_text import palette_for
from pygent_ls.editors.terminal_trust import ask_trust
from pygent_ls.editors.terminal_view import TerminalView
from pygent_ls.errors import PygentError
from pygent_ls.sessions.beginning import NewSession
from pygent_ls.sessions.turns import RunningTurn, TurnRequest
from pygent_ls.workspace.disk import DiskWorkspace

NO_REVIEW = (
    'edits.review = "ask" needs an editor. Here each edit that needs your permission is shown as a diff before it is '
    "made, and nothing else is reviewed."
)

DONE, FAILED, CANCELLED = 0, 1, 130
"""Exit codes. 1: an error, a limit or a refusal ended the turn. 130 is what shells give to what Ctrl-C ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What `pygent-ls run` is asked for."""

    prompt: str
    folder: Path
    """The workspace; it exists."""
    agent: str | None = None
    """The variant; None: the one that the settings name."""
    yes: bool
    """Whether everything that would ask is allowed once."""


def run(blueprint: Blueprint, errand: Errand) -> int:
    """Run one turn in a new session; returns the exit code. Ctrl-C cancels the turn, a second one ends it at once."""
    with terminal_of((0, 2, 1)) as terminal, _answer_stream() as answer:
        try:
            return asyncio.run(_run(blueprint, errand, answer, terminal))
        except (KeyboardInterrupt, asyncio.CancelledError):
            return CANCELLED


@contextmanager
def _answer_stream() -> Generator[TextIO]:
    """Standard output for the answer alone: what a library prints there goes to standard error from now on."""
    own = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    os.dup2(2, 1)
    try:
        yield own
    finally:
        with suppress(OSError):  # the view has told it by then
            own.close()


async def _run(blueprint: Blueprint, errand: Errand, answer: TextIO, terminal: Terminal | None) -> int:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGTERM, signal.SIGHUP):  # SIGINT is asyncio.run's: it cancels us, too
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            asyncio.get_running_loop().add_signal_handler(number, main.cancel)
    view = TerminalView(
        answer=answer,
        status=sys.stderr,
        palette=palette_for(os.environ, is_terminal=sys.stderr.isatty()),
        answer_is_terminal=answer.isatty(),
        on_answer_lost=main.cancel,
    )
    refusing = RefusingApprover()
    approver = AllowingApprover() if errand.yes else _asking(terminal, view) or refusing
    front_end = FrontEnd(
        workspace=DiskWorkspace([errand.folder]),
        approver=approver,
        questioner=NobodyToAsk(NOT_WANTED) if errand.yes else _questioner(terminal, view),
        ask_trust=_nobody if errand.yes or terminal is None else partial(ask_trust, terminal),
        on_session_change=lambda _session, _what: None,
    )
    for problem in blueprint.problems:
        view.tell(f"Settings: {problem}", "yellow")
    core = blueprint.build(front_end)
    if core.reviews_edits:
        view.tell(NO_REVIEW, "yellow")
    try:
        result = await _turn(core, errand, view)
    except PygentError as error:
        view.tell(f"Error: {error}", "red")
        return FAILED
    finally:
        await close(core)
    _list_refused(refusing.refused, view)
    return FAILED if view.answer_lost else exit_code(result.stop_reason)


def _asking(terminal: Terminal | None, view: TerminalView) -> TerminalApprover | None:
    if terminal is None:
        return None
    palette = palette_for(os.environ, is_terminal=True)
    return TerminalApprover(terminal=terminal, palette=palette, ready_to_ask=view.ready_to_ask)


def _questioner(terminal: Terminal | None, view: TerminalView) -> Questioner:
    if terminal is None:
        return NobodyToAsk(NO_TERMINAL)
    palette = palette_for(os.environ, is_terminal=True)
    return TerminalQuestioner(terminal=terminal, palette=palette, ready_to_ask=view.ready_to_ask)


async def _nobody(_question: TrustQuestion) -> None:
    """No answer: the folder's settings are not trusted. `--yes` is an answer to permission prompts alone."""


async def _turn(core: Core, errand: Errand, view: TerminalView) -> TurnResult:
    """Raises `PygentError` where the turn cannot begin."""
    core.start_loading()
    session = core.sessions.new(NewSession(agent=errand.agent))
    turn = session.start_turn(TurnRequest(parts=(errand.prompt,)), view)
    return await _result(turn, view)


async def _result(turn: RunningTurn, view: TerminalView) -> TurnResult:
    """Wait for the turn. A cancel of ours cancels it, and waits for its end."""
    assert turn.task is not None
    try:
        return await asyncio.shield(turn.task)
    except asyncio.CancelledError:
        if turn.cancel() and not view.answer_lost:
            view.tell("Stopping. Ctrl-C once more ends it at once.", "yellow")
        return await turn.task


def _list_refused(refused: Sequence[PermissionRequest], view: TerminalView) -> None:
    if not refused:
        return
    view.tell("Refused, because there is no terminal to ask on; --yes would allow all of it once:", "yellow")
    for request in refused:
        view.tell(f"  - {visible(request.tool_name)}: {request.action}")


def exit_code(stop_reason: StopReason) -> int:
    """0 for a turn that came to its end, 130 for one that was cancelled, 1 for everything else."""
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
