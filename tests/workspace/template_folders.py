"""Templates as a user writes them, and the port on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pygent_ls.agent.ports.templates import Rendered, Template
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.templates.template_folders import RENDER_S, TemplateFolders

TARGET = Path("/somewhere/my-app")
"""A folder that does not exist: rendering writes nothing into it."""


def write_template(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with these files."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def port(root: Path, *, render_s: float = RENDER_S) -> TemplateFolders:
    """What came with us lies in `shipped`, the user's own in `user`."""
    return TemplateFolders(LocalProcesses(), shipped=root / "shipped", users=root / "user", render_s=render_s)


async def the_only(templates: TemplateFolders) -> Template:
    (template,) = await templates.list_all("template")
    return template


async def render(root: Path, *, render_s: float = RENDER_S, **answers: object) -> Rendered:
    """What the only template comes to."""
    templates = port(root, render_s=render_s)
    return await templates.render(await the_only(templates), answers, likely={}, folder=TARGET)
