"""Formatting of an edit by the editor's formatter, before the user sees its diff."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.ports.language_features import MALFORMED
from pygent_ls.agent.ports.workspace import EditPlan, FileOperation, WriteText
from pygent_ls.agent.session_services import Environment

log = logging.getLogger(__name__)

FORMAT_S = 5.0
"""Maximum time for formatting the files of one edit; an edit whose formatting takes longer is made as it is."""


async def formatted(environment: Environment, plan: EditPlan) -> EditPlan:
    """Return the plan with formatted texts; the model is told what the formatter has changed.

    A file that was not formatted before stays as it is: its diff would no longer show what the edit is about.
    """
    if environment.formatting == "off" or not plan.previewed or "format" not in environment.language.offered:
        return plan
    operations: list[FileOperation] = []
    notes: list[str] = []
    try:
        async with asyncio.timeout(FORMAT_S):
            for each in plan.operations:
                new = await _formatted(environment, each) if isinstance(each, WriteText) else each
                operations.append(new)
                if isinstance(each, WriteText) and isinstance(new, WriteText) and new.text != each.text:
                    notes.append(_note(environment.workspace.shown(each.path), each.text, new.text))
    except TimeoutError:
        return plan
    except MALFORMED:  # of an answer that nothing foresaw: the edit is made as it is
        log.exception("the formatting of an edit failed")
        return plan
    return replace(plan, operations=tuple(operations), result="\n".join([plan.result, *notes])) if notes else plan


async def _formatted(environment: Environment, write: WriteText) -> WriteText:
    async def tidy(text: str) -> str | None:
        return await environment.language.formatted(write.path, text, on_save_only=environment.formatting == "auto")

    text = await tidy(write.text)
    if text is None or text == write.text or (write.before is not None and text == write.before.text):
        return write
    if write.before is not None and await tidy(write.before.text) != write.before.text:
        return write
    try:
        write.written_as.encode(text)
    except UnicodeEncodeError:
        return write
    return replace(write, text=text, diff=None)


def _note(name: str, asked: str, text: str) -> str:
    patch = unified_diff(asked, text, name).patch
    return f"The formatter has changed your text of {name} before it was written:\n{excerpt(patch)}"
