"""Files of the workspace that commands read and write, only through the workspace port, like tools."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.ports.workspace import MISSING, EditPlan, WriteText
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import SessionError

FORCE = "--force"
"""Argument that allows a file to be replaced."""


async def write_file(services: SessionServices, name: str, text: str, *, replace: bool) -> str:
    """Write a file of the workspace; return its shown name.

    Raises `SessionError` (`file_exists`) if it exists and is not to be replaced, `ToolError` if the path is outside the
    workspace or the file cannot be written.
    """
    workspace = services.environment.workspace
    path = workspace.resolve(name)
    shown = workspace.shown(path)
    there = await workspace.stamp(path) != MISSING
    if there and not replace:
        raise SessionError(
            f"`{shown}` already exists and was not changed. Name another file, or add `{FORCE}`.", kind="file_exists"
        )
    before = await workspace.read(path) if there else None
    operation = WriteText(path=path, before=before, text=text)
    await workspace.apply(EditPlan(label=f"Write {shown}", operations=(operation,), result="", previewed=False))
    return shown


async def read_file(services: SessionServices, name: str) -> tuple[str, str]:
    """Return the text of a file of the workspace, and its shown name. Raises `ToolError`."""
    path: Path = services.environment.workspace.resolve(name)
    document = await services.environment.workspace.read(path)
    return document.text, services.environment.workspace.shown(path)
