"""`/worktree`: sessions in git worktrees beside the user's work tree, and the merge of their changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import uuid4

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.ports.questioner import AnswerChoice, CannotAsk, Question, QuestionAnswered
from pygent_ls.errors import SessionError, SnapshotError
from pygent_ls.sessions.commands.answer_text import named
from pygent_ls.sessions.commands.command import Command, CommandCall, UsageError, WordChoice
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.workspace.git.session_worktrees import (
    PREFIX,
    UNCHANGED,
    SessionWorktree,
    WorktreeState,
    counted,
    worktree_of,
)

MAX_SESSIONS = 5
"""Maximum number of sessions that are listed of one worktree, the most recently used."""

DISCARD = "Discard"
KEEP = "Keep"


async def _list(call: CommandCall) -> str:
    found = await asyncio.to_thread(_states, call)
    if not found:
        return "There are no worktrees in this repository. `/worktree NAME` creates one, with a session in it."
    lines: list[str] = []
    for worktree, state in found:
        lines.append(f"- `{worktree.name}` on `{worktree.branch}`: {state.summary}, in `{worktree.folder}`")
        lines += [f"  - {each}" for each in await _sessions(call, worktree)]
    lines.append("`/worktree merge NAME` stages the changes of one in your files, `/worktree discard NAME` deletes it.")
    return "\n".join(lines)


def _states(call: CommandCall) -> list[tuple[SessionWorktree, WorktreeState]]:
    try:
        worktrees = call.facts.worktrees.of_repository()
        return [(each, worktrees.state(each)) for each in worktrees.listed()]
    except (SnapshotError, OSError) as error:
        raise _failed(error) from None


async def _sessions(call: CommandCall, worktree: SessionWorktree) -> Sequence[str]:
    wanted = SessionFilter(folder=worktree.folder, worktrees=worktree.folder, limit=MAX_SESSIONS, used=True)
    page = await call.shelf.page(wanted)
    own = call.session.id
    lines = [f"`{each.id}` {one_line(each.name)}{' (this one)' if each.id == own else ''}" for each in page.sessions]
    return [*lines, *(["… and older sessions"] if page.cursor else [])]


async def _open(call: CommandCall) -> str:
    name = _name(call)
    folder = await call.facts.worktrees.open(name)
    choices = call.session.choices
    made = call.shelf.new(
        NewSession(
            working_directory=folder,
            agent=choices.own_agent,
            model=choices.own_model,
            mode=call.session.permissions.own_mode,
            is_inherited=True,
            name=name,
        )
    )
    return (
        f"Created the session `{made.id}` in the worktree `{name}`, on the branch `{PREFIX}{name}`. Open it from the "
        f"list of sessions. It works in `{folder}` and does not change your files until `/worktree merge {name}`."
    )


async def _merge(call: CommandCall) -> str:
    name = _name(call)
    merged = await call.facts.worktrees.merge(name)
    return (
        f"Staged {counted(len(merged.files), 'changed file')} of `{name}` in your work tree: {named(merged.files)}. "
        f"Nothing is committed, so that you can review it first. `/worktree discard {name}` deletes the worktree."
    )


async def _discard(call: CommandCall) -> str:
    name, known = _name(call), call.facts.worktrees
    try:
        worktrees = await asyncio.to_thread(known.of_repository)
        worktree = await asyncio.to_thread(worktrees.get, name)
        if worktree_of(call.session.working_directory) == worktree.folder:
            raise SessionError(
                f"This session works in the worktree {name}. Discard it from another session.", kind="worktree_failed"
            )
        state = await asyncio.to_thread(worktrees.state, worktree)
        dirty = [f"{each.name} (not saved)" for each in known.unsaved(worktree)]
        if state.is_unchanged and not dirty:
            shown = UNCHANGED
        else:
            await _ask(call, worktree, state, dirty)
            shown = state
        await known.end(worktree)
        if await asyncio.to_thread(worktrees.discard, worktree, shown) is not None:
            return f"The worktree `{name}` has just been changed, so it was not deleted."
    except (SnapshotError, OSError) as error:
        raise _failed(error) from None
    return f"Deleted the worktree `{name}` and its branch `{worktree.branch}`. The conversations in it can be read."


async def _ask(call: CommandCall, worktree: SessionWorktree, state: WorktreeState, dirty: Sequence[str]) -> None:
    """Ask whether the changes may be lost. Raises `SessionError` unless the user says so."""
    question = Question(
        question_id=str(uuid4()),
        session_id=call.session.id,
        tool_id="",
        text=(
            f"Discard the worktree {worktree.name}? This deletes {state.summary} in {worktree.folder}, also if they "
            f"are merged: {named([*state.names, *dirty]) or 'commits only'}."
        ),
        choices=(
            AnswerChoice(title=KEEP, description="Delete nothing"),
            AnswerChoice(title=DISCARD, description="Delete the worktree, its branch and all its changes"),
        ),
        from_model=False,
    )
    answer = await call.session.services.environment.questioner.ask(question)
    if not isinstance(answer, QuestionAnswered) or answer.choice != DISCARD:
        how = (
            f" Run `pygent-ls worktree discard {worktree.name}` in a terminal." if isinstance(answer, CannotAsk) else ""
        )
        raise SessionError(f"Nothing was deleted.{how}", kind="worktree_failed")


def _name(call: CommandCall) -> str:
    if len(call.words) != 1:
        raise UsageError("Name one worktree.")
    return call.words[0]


def _failed(error: Exception) -> SessionError:
    return SessionError(str(error), kind="worktree_failed")


async def _names(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    try:
        worktrees = await asyncio.to_thread(lambda: call.facts.worktrees.of_repository().listed())
    except (SnapshotError, OSError):
        return ()
    return [WordChoice(word=each.name, detail=each.branch) for each in worktrees]


COMMANDS = (
    Command(
        name="worktree",
        takes="NAME",
        description="work in a git worktree beside your files: a new session there, merge and discard",
        run=_open,
        parts=(
            Command(name="list", description="list the worktrees with their changes and sessions", run=_list),
            Command(
                name="merge",
                takes="NAME",
                description="stage the changes of a worktree in your files; nothing is committed",
                run=_merge,
                complete=_names,
            ),
            Command(
                name="discard",
                takes="NAME",
                description="delete a worktree with its branch; asks before changes are lost",
                run=_discard,
                complete=_names,
                can_be_cancelled=True,
            ),
        ),
    ),
)
