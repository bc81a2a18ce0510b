"""Draft of an `AGENTS.md` without a model, from the contents of the workspace's files."""

from __future__ import annotations

import json
import re
from typing import cast

from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import SessionError, ToolError
from pygent_ls.sessions.commands.files import read_file, write_file

FILE = "AGENTS.md"

MAX_COMMANDS = 20
"""Maximum number of commands listed from one file; a page holds no more."""

_TARGET = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?!=)", re.MULTILINE)

_USUAL = {
    "Cargo.toml": ("cargo build", "cargo test"),
    "go.mod": ("go build ./...", "go test ./..."),
    "pyproject.toml": ("pip install -e .",),
}
"""Commands to list if the file exists."""


async def write_beginning(services: SessionServices, name: str) -> str:
    """Write the draft for the project of that name; return the text for the user. Raises `SessionError` (`file_exists`)
    if there is an `AGENTS.md`, and `ToolError`."""
    if await services.environment.workspace.stamp(services.environment.workspace.resolve(FILE)) != MISSING:
        raise SessionError(
            f"`{FILE}` already exists and was not changed: `offline/rules` cannot improve it. Choose another model "
            "with `/model NAME`.",
            kind="file_exists",
        )
    commands = await _commands(services)
    listed = "\n".join(f"- `{each}`" for each in commands) or "- (how to install, build, run, check and test it)"
    about = _first_words(await _text(services, "README.md")) or "(what this project is, in a sentence or two)"
    text = f"# {name}\n\n{about}\n\n## Commands\n\n{listed}\n\n## Not obvious\n\n{_HINTS}\n"
    shown = await write_file(services, FILE, text, replace=False)
    return (
        f"Created a draft of `{shown}` with a title, {len(commands)} commands found in the project's files, and "
        "placeholders for you to fill in. `offline/rules` cannot analyze the project; choose another model with "
        "`/model NAME` for that."
    )


_HINTS = "- (conventions, layers, generated files, traps)"


async def _commands(services: SessionServices) -> list[str]:
    """Return the commands that the workspace's files define."""
    targets = _TARGET.findall(await _text(services, "Makefile"))[:MAX_COMMANDS]
    scripts = _scripts(await _text(services, "package.json"))[:MAX_COMMANDS]
    usual = [command for name, commands in _USUAL.items() if await _text(services, name) for command in commands]
    return list(
        dict.fromkeys([*(f"make {each}" for each in targets), *(f"npm run {each}" for each in scripts), *usual])
    )


async def _text(services: SessionServices, name: str) -> str:
    """Return the text of a file of the workspace, empty if it cannot be read."""
    try:
        text, _ = await read_file(services, name)
    except ToolError:
        return ""
    return text


def _first_words(readme: str) -> str:
    """Return the first paragraph that is prose."""
    paragraphs = (" ".join(each.split()) for each in readme.split("\n\n"))
    return next((each for each in paragraphs if re.match(r"[\w*_`\"'(]", each)), "")


def _scripts(package: str) -> list[str]:
    """Return the names of the scripts in a `package.json`."""
    try:
        given: object = json.loads(package)
    except (ValueError, RecursionError):
        return []
    scripts: object = cast("dict[str, object]", given).get("scripts") if isinstance(given, dict) else None
    return list(cast("dict[str, object]", scripts)) if isinstance(scripts, dict) else []
