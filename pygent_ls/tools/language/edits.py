"""Tools whose edits a language server computes: renaming, and code actions."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from pygent_ls.agent.edits.diffs import touched_by, unified_diff
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.workspace import EditPlan, FileOperation, MoveFile, WriteText
from pygent_ls.agent.tools.tool import ToolContext, check_readable, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.language.symbol_position import symbol_position

Line = Annotated[int, Meta(ge=1, description="The line.")]


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Rename {symbol} to {new_name}",
    plans_edit=True,
)
async def rename_symbol(
    context: ToolContext,
    path: Annotated[str, Meta(description="A file that has the name.")],
    symbol: Annotated[str, Meta(min_length=1, description="The name, as it stands in the line.")],
    new_name: Annotated[str, Meta(min_length=1, description="The new name.")],
    line: Annotated[int, Meta(ge=1, description="The line that has the name (default: its first).")] | None = None,
) -> EditPlan:
    """Rename a function, class, variable or the like in all files that use it, by the language server, as one edit.

    Raises:
        ToolError: nothing can rename it, or a file cannot be changed.
    """
    document, at, column = await symbol_position(context, path, symbol, line)
    plan = await context.language.rename(document, at, column, new_name)
    if plan is None:
        raise ToolError(
            f"No language server renames {symbol} in {context.workspace.shown(document.path)}. Nothing was changed. "
            "Find its uses with code_navigation or grep_search, and change them with multi_edit."
        )
    return _checked(context, plan, f"Renamed {symbol} to {new_name}")


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SEARCH,
    kind="search",
    title="List code actions {path}:{line}",
    read_only=True,
)
async def code_actions(
    context: ToolContext,
    path: Annotated[str, Meta(description="The file.")],
    line: Line,
    end_line: Annotated[int, Meta(ge=1, description="The last line of several.")] | None = None,
) -> str:
    """List the quick fixes and refactorings that the language server offers for lines.

    Raises:
        ToolError: the file cannot be read, or the server refuses.
    """
    check_readable(context, path)
    document = await context.peek(context.workspace.resolve(path))
    actions = await context.language.code_actions(document, line, max(line, end_line or line))
    lines = [
        f"- {each.title}" + (f" [{each.kind}]" if each.kind else "") + (f" ({each.obstacle})" if each.obstacle else "")
        for each in actions
    ]
    text = "\n".join(lines) or "No code actions are offered there."
    return await context.masks.text(text, str(document.path))


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Apply {title}",
    plans_edit=True,
)
async def apply_code_action(
    context: ToolContext,
    path: Annotated[str, Meta(description="The file.")],
    line: Line,
    title: Annotated[str, Meta(min_length=1, description="Its title, as code_actions lists it.")],
    end_line: Annotated[int, Meta(ge=1, description="The last line, as for code_actions.")] | None = None,
) -> EditPlan:
    """Apply a quick fix or refactoring that code_actions lists.

    Raises:
        ToolError: there is no such action, or it makes no edit.
    """
    check_readable(context, path)
    document = await context.peek(context.workspace.resolve(path))
    actions = await context.language.code_actions(document, line, max(line, end_line or line))
    named = [each for each in actions if each.title == title.strip()]
    if not named:
        offered = "; ".join(each.title for each in actions if not each.obstacle) or "none"
        raise ToolError(f"No code action is titled {title!r} there. Offered: {offered}.")
    plan = await context.language.plan_action(min(named, key=lambda each: bool(each.obstacle)))
    return _checked(context, plan, f"Applied {named[0].title}")


def _checked(context: ToolContext, plan: EditPlan, what: str) -> EditPlan:
    """Return the plan with its diffs and its result. Raises `ToolError` for a file that must not be read, or cannot
    hold its new text."""
    operations: list[FileOperation] = []
    shown = context.workspace.shown
    for path in touched_by(plan):
        check_readable(context, str(path))
    for each in plan.operations:
        operations.append(_with_diff(each, shown(each.path)) if isinstance(each, WriteText) else each)
    lines = [
        f"{shown(each.path)}: +{each.diff.added} −{each.diff.removed} lines"
        for each in operations
        if isinstance(each, WriteText) and each.diff is not None
    ]
    lines += [
        f"{shown(each.source)} is now {shown(each.destination)}" for each in operations if isinstance(each, MoveFile)
    ]
    return replace(plan, operations=tuple(operations), result="\n".join([f"{what} in {_files(len(lines))}:", *lines]))


def _with_diff(write: WriteText, name: str) -> WriteText:
    try:
        write.written_as.encode(write.text)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{name} is encoded in {write.written_as.name}, which cannot represent {write.text[error.start]!a}. "
            "Nothing was changed."
        ) from None
    old = write.before.text if write.before else ""
    return dataclasses.replace(write, diff=unified_diff(old, write.text, name))


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"
