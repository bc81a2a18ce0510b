"""Checks of an edit by language servers: the problems that it has brought, waited for within a bound."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygent_ls.agent.edits.commit import is_being_cancelled
from pygent_ls.agent.edits.new_problems import new_problems, problems_note
from pygent_ls.agent.ports.language_features import MALFORMED, CheckedFile
from pygent_ls.agent.ports.workspace import EditPlan, WriteText
from pygent_ls.agent.session_services import Environment
from pygent_ls.errors import ToolError

log = logging.getLogger(__name__)

MAX_FILES = 10
"""Maximum number of files of one edit that are checked."""

MARGIN_S = 0.5
"""Time beyond the wait in which a checker that is ready reports what it knows; one that is still starting is not waited
for."""


def prepare_checks(environment: Environment, plan: EditPlan) -> None:
    """Start what checks the files of a plan, while the user may still be asked about it. Returns at once."""
    if environment.checks_edits:
        environment.language.prepare([each.path for each in _written(plan) if each.before is not None])


async def check_before(environment: Environment, plan: EditPlan) -> Mapping[Path, CheckedFile]:
    """Return the problems of the files that a plan changes, before it is applied."""
    if not environment.checks_edits:
        return {}
    return await _checked(environment, [each.path for each in _written(plan) if each.before is not None])


async def check_after(environment: Environment, stands: EditPlan, before: Mapping[Path, CheckedFile]) -> str:
    """Return what the model is told of the problems that an applied plan has brought; empty without any.

    A cancellation ends the wait: the edit is reported without them.
    """
    if not environment.checks_edits:
        return ""
    written = {each.path: each for each in _written(stands)}
    try:
        after = await _checked(environment, list(written))
    except asyncio.CancelledError:
        if not is_being_cancelled():
            raise
        return ""
    notes: list[str] = []
    for path, found in after.items():
        old = written[path].before
        known = before.get(path) if old is not None else CheckedFile(path=path, text="", problems=(), is_complete=True)
        is_known = known is not None and known.is_complete and (old is None or known.text == old.text)
        problems = new_problems(known if is_known else None, found)
        if not found.is_complete:  # what is reported may be of the text before
            problems = [each for each in problems if is_known and known is not None and each not in known.problems]
        notes.append(problems_note(environment.workspace.shown(path), problems, are_new=is_known))
    return "\n".join(filter(None, notes))


def _written(plan: EditPlan) -> Sequence[WriteText]:
    return [each for each in plan.operations if isinstance(each, WriteText)][:MAX_FILES]


async def _checked(environment: Environment, paths: Sequence[Path]) -> dict[Path, CheckedFile]:
    wait_s = environment.diagnostics_wait_s

    async def check(path: Path) -> CheckedFile | None:
        try:
            document = await environment.workspace.read(path)
            async with asyncio.timeout(wait_s + MARGIN_S):
                return await environment.language.checked(document, wait_s)
        except (ToolError, TimeoutError):  # the file is gone, or its server has ended: there is nothing to report
            return None
        except MALFORMED:  # of an answer that nothing foresaw: the edit stands, and must be reported
            log.exception("the check of an edit failed")
            return None

    found = await asyncio.gather(*(check(path) for path in paths))
    return {each.path: each for each in found if each is not None}
