"""Agents: named variants, and what differs when a turn, a session or a subagent uses one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.admin_limits import AdminLimits
from pygent_ls.agent.context.window import ContextMode
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Effort
from pygent_ls.agent.tools.tool import Tool, ToolRegistry
from pygent_ls.errors import SessionError

DEFAULT = "default"

PLANNER = "plan"
"""Agent of a subagent in plan mode if none was named."""

READING_TOOLS = (
    "read_file",
    "list_files",
    "find_files",
    "grep_search",
    "find_definition",
    "code_navigation",
    "code_actions",
    "repo_map",
    "diagnostics",
    "git_status",
    "git_diff",
    "git_branch",
    "git_log",
    "shell_output",
    "web_fetch",
    "web_search",
    "list_templates",
    "list_components",
    "read_skill",
    "search_tools",
    "plan",
    "task",
    "ask_user",
    "mcp__*",
    "editor__*",
)
"""Tools that plan mode allows; of the tools of MCP servers and of the editor, only those that are declared as
read-only."""


class AgentProfile(Struct, frozen=True, kw_only=True):
    """One agent. None and empty text leave a value to the settings."""

    name: str
    description: str = ""
    """One line, for people and for the model that may start it."""
    model: str = ""
    api_base: str = ""
    """Base URL of its model's API."""
    prompt: str = ""
    """Text added to the system prompt."""
    tools: tuple[str, ...] | None = None
    """Names and globs of the tools that it is offered; None for all."""
    disallowed_tools: tuple[str, ...] = ()
    """Names and globs of the tools that it is not offered."""
    mode: Mode | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    context_mode: ContextMode | None = None
    stream: bool = True
    """Whether its answers are shown as they arrive, else each once it is complete."""
    temperature: float | None = None
    effort: Effort | None = None
    notices: tuple[str, ...] = ()
    """Notices for the user when a turn with it begins."""

    def offers(self, tool_name: str) -> bool:
        """Whether it is offered a tool of that name."""
        is_listed = self.tools is None or matches(tool_name, self.tools)
        return is_listed and not matches(tool_name, self.disallowed_tools)

    def offered(self, tools: ToolRegistry) -> ToolRegistry:
        """Return the registry with the tools that it is offered; the others are withheld with a reason."""
        missing = [each.name for each in tools.list_all() if not all(map(self.offers, _names_of(each)))]
        return without(tools, dict.fromkeys(missing, f"is not offered to the agent {self.name}"))


def without(tools: ToolRegistry, withheld: Mapping[str, str]) -> ToolRegistry:
    """Return the registry without these tools; a call to one of them is told the reason."""
    kept = [each for each in tools.list_all() if each.name not in withheld]
    return tools.with_tools(kept, {**tools.withheld, **withheld})


def allowed_by_settings(tools: ToolRegistry, disallowed: Iterable[str]) -> ToolRegistry:
    """Return the registry without the tools that match the setting `disallowed_tools` (names and globs)."""
    missing = [each.name for each in tools.list_all() if any(matches(name, disallowed) for name in _names_of(each))]
    return without(tools, dict.fromkeys(missing, "is not offered: the setting `disallowed_tools` removes it"))


def _names_of(tool: Tool) -> Sequence[str]:
    """Return the names by which a tool may be withheld: one that runs command lines goes with `shell`."""
    return (tool.name, "shell") if tool.command_argument else (tool.name,)


def matches(tool_name: str, patterns: Iterable[str]) -> bool:
    """Whether one of these names and globs (`mcp__*`) matches the tool."""
    return any(fnmatchcase(tool_name, pattern) for pattern in patterns)


_PLANNING = """\
Your task is to investigate and to plan; others will carry out the plan. Read what matters, follow it to where it is \
used, and end with a plan: what to change in which file and why, in order, how to verify it, and what is still open. \
Ask the user about decisions that only they can make."""

_REVIEWING = """\
Your task is to review; you change nothing. Look at the changes (git_diff, git_log) or at what you were pointed to, \
and read the code around it. Report what is wrong, the worst first: for each problem its file and line, what happens \
and when, and how to fix it. Report only what you have verified in the code, and say so if nothing is wrong. Mention \
style only where it misleads."""

SHIPPED: Mapping[str, AgentProfile] = {
    each.name: each
    for each in (
        AgentProfile(name=DEFAULT, description="Does everything that the settings allow."),
        AgentProfile(
            name=PLANNER,
            description="Reads and searches, changes nothing, and ends with a plan.",
            prompt=_PLANNING,
            tools=READING_TOOLS,
            mode="plan",
        ),
        AgentProfile(
            name="review",
            description="Reviews changes or code and reports what is wrong; changes nothing.",
            prompt=_REVIEWING,
            tools=READING_TOOLS,
            mode="plan",
        ),
        AgentProfile(
            name="yolo",
            description="Works without asking, as far as the settings allow, and without a limit on model calls.",
            mode="bypass",
            max_iterations=0,
        ),
        AgentProfile(name="opus", description="The strongest model.", model="anthropic/claude-opus-5-5", stream=True),
        AgentProfile(
            name="local",
            description="A model run by Ollama on this machine.",
            model="ollama_chat/qwen3-coder",
            api_base="http://127.0.0.1:11434",
        ),
    )
}
"""Agents that always exist; a settings table of that name overrides the values that it sets."""


class Variants(Struct, frozen=True):
    """All agents by name, in the order in which they are listed."""

    profiles: Mapping[str, AgentProfile]

    def get(self, name: str) -> AgentProfile:
        """Return the agent of that name. Raises `SessionError` (`unknown_agent`) with the list."""
        found = self.profiles.get(name)
        if found is None:
            known = ", ".join(self.profiles)
            raise SessionError(f"agent: there is no agent {name!r}. The agents are: {known}.", kind="unknown_agent")
        return found

    def usual(self, name: str, chosen: str = "setting `agent`") -> AgentProfile:
        """Return the agent that was `chosen` some time ago; if it no longer exists, the default one with a notice."""
        try:
            return self.get(name)
        except SessionError as error:
            return AgentProfile(name=DEFAULT, notices=(f"The {chosen} is not used: {error}",))

    @property
    def planners(self) -> frozenset[str]:
        """Names of the agents that only plan."""
        return frozenset(each.name for each in self.profiles.values() if each.mode == "plan")


def variants(
    own: Iterable[AgentProfile] = (),
    *,
    may_bypass: bool = False,
    admin: AdminLimits | None = None,
    of_admin: Set[str] = frozenset(),
) -> Variants:
    """Combine the shipped agents with the user's own, which take precedence.

    If the user's own settings do not allow the mode `bypass`, an agent with that mode gets `trust`, and a notice says
    so. An agent keeps within what the administrator allows; those in `of_admin` are the administrator's own, which may
    differ from locked settings.
    """
    found = {**SHIPPED, **{each.name: each for each in own}}
    if not may_bypass:
        found = {name: _without_bypass(each) for name, each in found.items()}
    if admin is not None:
        found = {name: _within(each, admin, is_admins=name in of_admin) for name, each in found.items()}
    return Variants(found)


_LOCKABLE: Mapping[str, Mapping[str, Any]] = {
    "model": {"model": "", "api_base": ""},
    "api_base": {"api_base": ""},
    "effort": {"effort": None},
    "temperature": {"temperature": None},
    "context.mode": {"context_mode": None},
}
"""Fields of an agent that take precedence over a setting, with the values that leave it to the setting."""


def _within(profile: AgentProfile, admin: AdminLimits, *, is_admins: bool) -> AgentProfile:
    if profile.mode is not None and not admin.allows(profile.mode):
        nearest = admin.nearest(profile.mode)
        said = f"The agent {profile.name} has mode {nearest}: {profile.mode} is {admin.locked_by}."
        profile = replace(profile, mode=nearest, notices=(*profile.notices, said))
    for setting, nothing in _LOCKABLE.items():
        without = replace(profile, **nothing)
        if is_admins or setting not in admin.locked or without == profile:
            continue
        said = f"The agent {profile.name} does not have its own {setting}: it is {admin.locked_by}."
        profile = replace(without, notices=(*profile.notices, said))
    return profile


def _without_bypass(profile: AgentProfile) -> AgentProfile:
    if profile.mode != "bypass":
        return profile
    said = (
        f"The agent {profile.name} has mode trust: bypass needs `allow_bypass = true` in your own configuration "
        "file. High-risk calls still ask."
    )
    return replace(profile, mode="trust", notices=(*profile.notices, said))
