"""Facts from a project's own files, which supply answers that need not be asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.data_files import read_toml
from pygent_ls.errors import ToolError


async def facts_of(context: ToolContext, folder: Path) -> dict[str, object]:
    """Return the known facts about the project in this folder, by the names of questions: `project_name`,
    `package_name`, `description`, `author`, `language` and `python_version`. Invalid files are ignored.
    """
    for name, read in (("pyproject.toml", _python), ("package.json", _node), ("Cargo.toml", _rust), ("go.mod", _go)):
        text = await _text(context, folder / name)
        if text is not None:
            facts = read(text)
            return {key: value for key, value in facts.items() if isinstance(value, str) and value}
    for name in ("setup.py", "setup.cfg", "requirements.txt"):
        if await context.workspace.stamp(folder / name) != MISSING:
            return {"language": "python"}
    return {}


async def _text(context: ToolContext, path: Path) -> str | None:
    if await context.workspace.stamp(path) == MISSING:
        return None
    try:
        return (await context.peek(path)).text
    except ToolError:
        return None


def _python(text: str) -> Mapping[str, object]:
    document = _toml(text)
    project = _table(document.get("project")) or _table(_table(document.get("tool")).get("poetry"))
    name = project.get("name")
    oldest = re.search(r"(?:>=|~=|\^)\s*(3\.\d+)", str(project.get("requires-python", "")))
    return {
        "language": "python",
        "project_name": name,
        "package_name": re.sub(r"[^a-z0-9]+", "_", name.lower()) if isinstance(name, str) else None,
        "description": project.get("description"),
        "author": _author(project.get("authors")),
        "python_version": oldest[1] if oldest else None,
    }


def _node(text: str) -> Mapping[str, object]:
    try:
        package = _table(json.loads(text))
    except (ValueError, RecursionError):
        package = {}
    return {
        "language": "node",
        "project_name": str(package.get("name") or "").rpartition("/")[2],
        "description": package.get("description"),
        "author": _author([package.get("author")]),
    }


def _rust(text: str) -> Mapping[str, object]:
    package = _table(_toml(text).get("package"))
    return {
        "language": "rust",
        "project_name": package.get("name"),
        "description": package.get("description"),
        "author": _author(package.get("authors")),
    }


def _go(text: str) -> Mapping[str, object]:
    module = re.search(r"^module\s+\"?([^\s\"]+)", text, re.MULTILINE)
    return {"language": "go", "project_name": re.sub(r"/v\d+$", "", module[1]).rpartition("/")[2] if module else None}


def _toml(text: str) -> dict[str, Any]:
    try:
        return read_toml(text)
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _author(given: object) -> str | None:
    """Return the name of the first author, without an address: from a table with a name, or from `Name <address>`."""
    first = cast("list[object]", given)[0] if isinstance(given, list) and given else None
    name = first if isinstance(first, str) else _table(first).get("name")
    return re.split(r"[<(]", name, maxsplit=1)[0].strip() if isinstance(name, str) else None
