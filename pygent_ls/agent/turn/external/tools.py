"""Calls of external agents as calls of our own tools, so that rules, modes, hooks and views apply to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pygent_ls.agent.display_text import in_full, one_line
from pygent_ls.agent.external_agent import READS, ExternalCall
from pygent_ls.agent.kinds import ToolCategory, ToolKind, ToolRisk
from pygent_ls.agent.permissions.permissions import EXTERNAL_TOOL
from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.agent.ports.workspace import EditPlan, Workspace
from pygent_ls.agent.session_services import Environment
from pygent_ls.agent.tools.tool import Tool, ToolContext, ToolFunction, cd_prefix
from pygent_ls.errors import ToolError

MAX_ID_CHARS = 40
"""Maximum length of a call's id, which becomes part of our history and of requests to other models."""

MAX_INPUT_CHARS = 20_000
"""Maximum length of arguments in the agent's own form, as JSON, that are kept."""

MAX_PATCH_CHARS = 20_000
"""Maximum length of a diff in a question."""


THINK = "think"
"""Name of a call that only thinks."""

OUR_OWN = frozenset({THINK, EXTERNAL_TOOL})
"""Names that no tool of ours has."""


_NAMES: Mapping[ToolKind, str] = {
    "read": "read_file",
    "search": "grep_search",
    "edit": "edit_file",
    "delete": "delete_file",
    "move": "move_file",
    "execute": "shell",
    "fetch": "web_fetch",
    "think": THINK,
    "other": EXTERNAL_TOOL,
}

_RISKS: Mapping[ToolKind, ToolRisk] = {
    "read": ToolRisk.LOW,
    "search": ToolRisk.LOW,
    "edit": ToolRisk.MEDIUM,
    "delete": ToolRisk.HIGH,
    "move": ToolRisk.HIGH,
    "execute": ToolRisk.HIGH,
    "fetch": ToolRisk.HIGH,
}


class ExternalTool(Tool, frozen=True, kw_only=True):
    """Tool of an external agent. It does not run here: `run` only plans an edit, if the agent's text fits the file."""

    stays_in_workspace: bool = False
    shown_title: str
    asked: str
    """What a person is asked to allow."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """Definition without arguments: no model is offered this tool."""
        return ToolDefinition(name=self.name, description=self.description, schema={"type": "object"})

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return no arguments: `run` knows them."""
        return {}

    def title_for(self, given: Mapping[str, Any]) -> str:
        """Return the agent's own title."""
        return self.shown_title

    def action_for(self, given: Mapping[str, Any]) -> str:
        """Return what a person is asked to allow."""
        return self.asked


def input_of(call: ExternalCall, environment: Environment) -> dict[str, Any]:
    """Return the arguments of a call as our tools name them."""
    names = [_name(path, environment.workspace) for path in call.paths]
    match call.kind:
        case "execute" if call.command:
            return {"command": call.command, **_cwd(call, environment.workspace)}
        case "fetch" if call.url:
            return {"url": call.url}
        case "move" if len(names) > 1:
            return {"source": names[0], "destination": names[1]}
        case "read" | "edit" | "delete" | "move" | "search" if names:
            return {"path": names[0]} if len(names) == 1 else {"paths": names}
        case _:
            return dict(call.input) if len(json.dumps(dict(call.input), default=str)) <= MAX_INPUT_CHARS else {}


def tool_for(call: ExternalCall, agent: str, workspace: Workspace, plan: ToolFunction | None = None) -> ExternalTool:
    """Return the tool that a call counts as. `plan` returns its edit, for a call whose edit is known."""
    name, risk = _tool(call, workspace)
    title = one_line(call.title) or name
    read_only = call.kind in READS
    return ExternalTool(
        name=name,
        description="",
        risk=risk,
        category=ToolCategory.AGENT,  # its arguments are its own, and no placeholder stands in them
        kind=call.kind,
        run=plan or _does_not_run,
        title="",
        shown_title=title,
        asked=_question(call, agent, workspace, has_plan=plan is not None),
        read_only=read_only,
        plans_edit=plan is not None,
        runs_programs=call.kind == "execute",
        timeout_s=None,
    )


def id_of(call_id: str) -> str:
    """Return an id that every provider accepts."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[-MAX_ID_CHARS:] or "call"


def _tool(call: ExternalCall, workspace: Workspace) -> tuple[str, ToolRisk]:
    """Return the name of our tool and the risk. A call that does not say what it acts on has a name of its own, which
    no stored rule allows."""
    acts_on = call.paths
    match call.kind:
        case "execute":
            acts_on = call.command
        case "fetch":
            acts_on = call.url
        case "think":
            return THINK, ToolRisk.LOW
        case "search" if not call.paths:
            return _NAMES[call.kind], ToolRisk.LOW
        case "search" | "read" | "edit" | "delete" | "move" | "other":
            pass
    if not acts_on or call.kind == "other":
        return EXTERNAL_TOOL, ToolRisk.HIGH
    if not all(resolved(path, workspace) for path in call.paths):
        return EXTERNAL_TOOL, ToolRisk.HIGH  # no mode and no stored rule allows what is outside of the workspace
    is_new = call.kind == "edit" and bool(call.changes) and all(each.old is None for each in call.changes)
    return "create_file" if is_new else _NAMES[call.kind], _RISKS[call.kind]


def _question(call: ExternalCall, agent: str, workspace: Workspace, *, has_plan: bool) -> str:
    named, title = ", ".join(in_full(_name(path, workspace)) for path in call.paths), one_line(call.title)
    what: dict[ToolKind, str] = {
        "execute": in_full(cd_prefix(_cwd(call, workspace)) + call.command),
        "fetch": f"Fetch {in_full(call.url)}" if call.url else "",
        "edit": f"Edit {named}" if named else "",
        "delete": f"Delete {named}" if named else "",
        "move": f"Move {named}" if named else "",
        "read": f"Read {named}" if named else "",
    }
    said = what.get(call.kind) or title or call.kind
    if call.kind == "edit" and not has_plan:
        said += "".join(f"\n{in_full(_cut(patch))}" for patch in _patches(call))
    if call.kind == "other" and call.input:
        said += f"\n{in_full(_cut(json.dumps(dict(call.input), ensure_ascii=False, default=str)))}"
    return f"{agent}: {said}"


def _patches(call: ExternalCall) -> list[str]:
    if not call.changes:
        return [call.patch] if call.patch else []
    sides = [(("-", each.old or ""), ("+", each.new)) for each in call.changes]
    return ["\n".join(f"{sign}{line}" for sign, text in each for line in text.splitlines()) for each in sides]


def _cwd(call: ExternalCall, workspace: Workspace) -> dict[str, str]:
    """Return the argument that names the folder of a command, unless that is the workspace's."""
    is_usual = not call.folder or Path(call.folder) in workspace.folders[:1]
    return {} if is_usual else {"cwd": call.folder}


def _cut(text: str) -> str:
    n_more = len(text) - MAX_PATCH_CHARS
    return text if n_more <= 0 else f"{text[:MAX_PATCH_CHARS]}\n[{n_more:,} more characters]"


def _name(path: str, workspace: Workspace) -> str:
    found = resolved(path, workspace)
    return path if found is None else workspace.shown(found)


async def _does_not_run(_context: ToolContext) -> str | EditPlan:
    raise ToolError("This tool runs in another program.")


def resolved(path: str, workspace: Workspace) -> Path | None:
    """Return the resolved path; None outside of the workspace."""
    try:
        return workspace.resolve(path)
    except ToolError:
        return None
