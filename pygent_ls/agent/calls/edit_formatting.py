"""Formatting of an edit by the editor's formatter, before the user reviews it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.ports.language_features import MALFORMED, Feature
from pygent_ls.agent.ports.workspace import EditPlan, FileOperation, WriteText
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.session_services import Environment
from pygent_ls.errors import ToolError

log = logging.getLogger(__name__)

FORMAT_S = 5.0
"""Maximum time for formatting the files of one edit; an edit whose formatting takes longer is made as it is."""


async def formatted(context: RunContext, plan: EditPlan) -> EditPlan:
    """Return the plan with formatted texts; the model is told what the formatter has changed.

    A file that was not formatted before stays as it is: its diff would no longer show what the edit is about.
    """
    environment = context.environment
    if not _is_wanted(environment, plan, "format"):
        return plan
    operations: list[FileOperation] = []
    async with _attempted():
        for each in plan.operations:
            operations.append(await _formatted(environment, each) if isinstance(each, WriteText) else each)
    if len(operations) < len(plan.operations):
        return plan
    notes = await formatting_notes(context, plan.operations, operations)
    return replace(plan, operations=tuple(operations), result="\n".join([plan.result, *notes])) if notes else plan


async def tidy_files(environment: Environment, plan: EditPlan) -> Collection[Path]:
    """Return the files of a plan, not yet carried out, that `formatting_plan` may format: new ones, and those that are
    formatted now."""
    found: set[Path] = set()
    if _is_wanted(environment, plan, "format_written"):
        async with _attempted():
            for each in plan.operations:
                if isinstance(each, WriteText) and await _is_tidy(environment, each, is_written=True):
                    found.add(each.path)
    return found


async def formatting_plan(environment: Environment, stands: EditPlan, tidy: Collection[Path]) -> EditPlan:
    """Return a plan that formats files of a plan that was carried out, by an editor that formats only what is written.

    It has no operations if there is nothing to format, and leaves out files in which the user has typed since.
    """
    operations: list[FileOperation] = []
    async with _attempted():
        for each in stands.operations:
            if not isinstance(each, WriteText) or each.path not in tidy:
                continue
            with suppress(ToolError):  # the plan has moved the file, for example
                document = await environment.workspace.read(each.path)
                text = await _new_text(environment, each, is_written=True) if document.text == each.text else None
                if text is not None:
                    write = WriteText(path=each.path, before=document, text=text, encoding=each.encoding)
                    operations.append(write)
    return EditPlan(label=f"Format: {stands.label}", operations=tuple(operations), result="", previewed=False)


async def formatting_notes(
    context: RunContext, asked: Collection[FileOperation], made: Collection[FileOperation]
) -> list[str]:
    """Return what the model is told of texts that the formatter has changed."""
    notes: list[str] = []
    for old, new in zip(asked, made, strict=True):
        if isinstance(old, WriteText) and isinstance(new, WriteText) and new.text != old.text:
            name = context.environment.workspace.shown(old.path)
            patch = unified_diff(old.text, new.text, name).patch
            masked = await context.memory.secrets.masks.text(patch, str(old.path))
            notes.append(f"The formatter has changed your text of {name}:\n{excerpt(masked)}")
    return notes


def _is_wanted(environment: Environment, plan: EditPlan, feature: Feature) -> bool:
    return environment.formatting != "off" and plan.previewed and feature in environment.language.offered


@asynccontextmanager
async def _attempted() -> AsyncGenerator[None]:
    """Bound the formatting of one edit, which goes on with what is formatted by then."""
    try:
        async with asyncio.timeout(FORMAT_S):
            yield
    except TimeoutError:
        pass
    except MALFORMED:  # of an answer that nothing foresaw
        log.exception("the formatting of an edit failed")


async def _formatted(environment: Environment, write: WriteText) -> WriteText:
    text = await _new_text(environment, write, is_written=False)
    if text is None or not await _is_tidy(environment, write, is_written=False):
        return write
    return dataclasses.replace(write, text=text, diff=None)


async def _new_text(environment: Environment, write: WriteText, *, is_written: bool) -> str | None:
    """Return the formatted text; None if it is the same, if the edit would have no effect, or if it cannot be
    encoded."""
    text = await _by_formatter(environment, write.path, write.text, is_written=is_written)
    if text is None or text == write.text or (write.before is not None and text == write.before.text):
        return None
    try:
        write.written_as.encode(text)
    except UnicodeEncodeError:
        return None
    return text


async def _is_tidy(environment: Environment, write: WriteText, *, is_written: bool) -> bool:
    if write.before is None:
        return True
    before = write.before.text
    return await _by_formatter(environment, write.path, before, is_written=is_written) == before


async def _by_formatter(environment: Environment, path: Path, text: str, *, is_written: bool) -> str | None:
    on_save_only = environment.formatting == "auto"
    return await environment.language.formatted(path, text, on_save_only=on_save_only, is_written=is_written)
