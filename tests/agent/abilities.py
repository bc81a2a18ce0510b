"""Small tools for the tests of the core, each with one way to behave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.agent.ports.workspace import DeleteFile, EditPlan, MoveFile, WriteText
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.errors import ToolError
from tests.fakes import FOLDER, Gate


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.FILESYSTEM,
    kind="read",
    title="Read {path}",
    read_only=True,
    ttl_s=30,
)
async def read_file(context: ToolContext, path: str) -> str:
    """Read a file."""
    return (await context.read(path)).text


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.FILESYSTEM,
    kind="read",
    title="List {path}",
    read_only=True,
    ttl_s=30,
)
async def list_files(context: ToolContext, path: str = ".") -> str:
    """List what is unsaved below a folder, or that nothing is."""
    await context.depend_on_tree(context.workspace.resolve(path))
    return ", ".join(context.workspace.shown(each.path) for each in context.workspace.unsaved()) or "all saved"


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Edit {path}",
    plans_edit=True,
)
async def edit_file(context: ToolContext, path: str, old: str, new: str) -> EditPlan:
    """Replace the only occurrence of `old`."""
    document = await context.read_to_edit(path)
    if document.text.count(old) != 1:
        raise ToolError(f"{old!r} occurs {document.text.count(old)} times.")
    text = document.text.replace(old, new)
    return EditPlan(
        label=f"Edit {path}",
        operations=(WriteText(path=document.path, before=document, text=text),),
        result=f"Edited {path}.",
    )


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Create {path}",
    plans_edit=True,
)
async def create_file(context: ToolContext, path: str, content: str) -> EditPlan:
    """Make a file."""
    write = WriteText(path=context.workspace.resolve(path), before=None, text=content)
    return EditPlan(label=f"Create {path}", operations=(write,), result=f"Created {path}.")


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.FILESYSTEM,
    kind="delete",
    title="Delete {path}",
    plans_edit=True,
)
async def delete_file(context: ToolContext, path: str) -> EditPlan:
    """Delete a file, or the link itself."""
    place = context.workspace.resolve(path, follow=False)
    gone = DeleteFile(path=place, before=await context.workspace.read(place))
    return EditPlan(label=f"Delete {path}", operations=(gone,), result=f"Deleted {path}.")


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.FILESYSTEM,
    kind="move",
    title="Move {source} to {destination}",
    plans_edit=True,
)
async def move_file(context: ToolContext, source: str, destination: str) -> EditPlan:
    """Move a file."""
    resolve = context.workspace.resolve
    move = MoveFile(source=resolve(source, follow=False), destination=resolve(destination, follow=False))
    return EditPlan(label=f"Move {source}", operations=(move,), result=f"Moved {source}.")


@tool(risk=ToolRisk.HIGH, category=ToolCategory.SHELL, kind="execute", title="{command}", timeout_s=None)
async def shell(context: ToolContext, command: str, cwd: str = ".") -> str:
    """Run the fake program `sh`."""
    spec = ProcessSpec(argv=("sh", "-c", command), cwd=context.workspace.resolve(cwd), timeout_s=60)
    return (await context.processes.run(spec, context.report)).stdout


FILE_TOOLS = (read_file, list_files, edit_file, create_file, delete_file, move_file, shell)


def named(
    name: str,
    run: Callable[[ToolContext], Awaitable[str]],
    *,
    risk: ToolRisk = ToolRisk.LOW,
    read_only: bool = True,
    runs_programs: bool = False,
    ttl_s: float = 0.0,
    timeout_s: float | None = None,
) -> Tool:
    """A tool of that name that takes no arguments and does what `run` does."""

    async def function(context: ToolContext) -> str:
        return await run(context)

    function.__name__ = name
    declare = tool(
        risk=risk,
        category=ToolCategory.AGENT,
        kind="other",
        title=name,
        read_only=read_only,
        runs_programs=runs_programs,
        ttl_s=ttl_s,
        timeout_s=timeout_s,
    )
    return declare(function)


def saying(name: str, text: str, **declared: Any) -> Tool:
    """A tool that returns a text."""

    async def run(_: ToolContext) -> str:
        return text

    return named(name, run, **declared)


def raising(name: str, error: BaseException, **declared: Any) -> Tool:
    """A tool that raises."""

    async def run(_: ToolContext) -> str:
        raise error

    return named(name, run, **declared)


def waiting(name: str, gate: Gate, text: str = "done", **declared: Any) -> Tool:
    """A tool that waits at a gate, and then returns a text."""

    async def run(_: ToolContext) -> str:
        await gate.pass_through()
        return text

    return named(name, run, **declared)


def place(name: str) -> Any:
    """The absolute path of a file of the fake workspace."""
    return FOLDER / name
