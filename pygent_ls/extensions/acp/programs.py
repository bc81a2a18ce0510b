"""Programs that are agents: presets, and how the user's own are described."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from pygent_ls.errors import ModelError, ModelErrorType, SettingError

PREFIX = "acp:"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """How to start an agent, and what is known of it."""

    name: str
    """Name in the settings: `acp:NAME`."""
    label: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables added to its environment; `${NAME}` stands for a variable of the daemon."""
    keys: tuple[str, ...] = ()
    """Prefixes of the variables with keys that it is given."""
    mode: str = ""
    """Mode in which it asks before it acts, in its own words; empty to choose by name."""
    asks: bool = False
    """Whether it asks in each of its modes, as far as its settings in `env` go."""
    reads: bool = True
    """Whether it is offered to read files through the editor."""
    writes: bool = True
    """Whether it is offered to write files through the editor. An agent that writes the disk itself whatever it is
    offered, and then the editor, too, is not."""
    empty_if_missing: bool = False
    """Whether it takes an empty text for a file that does not exist, and an error for a failure."""
    counts_session: bool = True
    """Whether the usage that it tells is that of the whole session, as the protocol says, and not of the prompt."""
    install: str = ""
    """Command that installs it."""

    @property
    def missing(self) -> str:
        """What is missing if the program is not installed, and how to install it."""
        how = f" Install it with: {self.install}" if self.install else ""
        return f"{self.label} is not installed: there is no program {self.command[0]!r} on the PATH.{how}"


class AgentCommand(Struct, frozen=True, kw_only=True):
    """Slash command of an agent."""

    name: str
    description: str


_ROOT = {"IS_SANDBOX": "1"} if hasattr(os, "geteuid") and os.geteuid() == 0 else {}
"""Claude Code refuses to work as root without this."""

PRESETS: Mapping[str, AgentProgram] = {
    each.name: each
    for each in (
        AgentProgram(
            name="claude",
            label="Claude Code",
            command=("claude-agent-acp",),
            env=_ROOT,
            keys=("ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_"),
            mode="default",
            counts_session=False,
            install="npm install -g @agentclientprotocol/claude-agent-acp",
        ),
        AgentProgram(
            name="codex",
            label="Codex",
            command=("codex-acp",),
            keys=("OPENAI_", "CODEX_"),
            mode="read-only",
            counts_session=False,
            install="npm install -g @agentclientprotocol/codex-acp @openai/codex",
        ),
        AgentProgram(
            name="gemini",
            label="Gemini CLI",
            command=("gemini", "--acp"),
            keys=("GEMINI_", "GOOGLE_"),
            mode="default",
            empty_if_missing=True,
            counts_session=False,
            install="npm install -g @google/gemini-cli",
        ),
        AgentProgram(
            name="opencode",
            label="OpenCode",
            command=("opencode", "acp"),
            env={"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask","webfetch":"ask"}'},
            asks=True,
            keys=(
                "ANTHROPIC_",
                "OPENAI_",
                "GEMINI_",
                "GOOGLE_",
                "MISTRAL_",
                "OPENROUTER_",
                "XAI_",
                "DEEPSEEK_",
                "GROQ_",
            ),
            reads=False,
            writes=False,
            counts_session=False,
            install="npm install -g opencode-ai",
        ),
        AgentProgram(
            name="vibe",
            label="Mistral Vibe",
            command=("vibe-acp",),
            keys=("MISTRAL_",),
            mode="ask",
            install="uv tool install mistral-vibe",
        ),
        AgentProgram(
            name="copilot",
            label="GitHub Copilot",
            command=("copilot", "--acp"),
            keys=("GH_TOKEN", "GITHUB_TOKEN", "COPILOT_"),
            asks=True,
            install="npm install -g @github/copilot",
        ),
        AgentProgram(
            name="qwen",
            label="Qwen Code",
            command=("qwen", "--acp"),
            keys=("OPENAI_", "DASHSCOPE_", "QWEN_"),
            mode="default",
            counts_session=False,
            install="npm install -g @qwen-code/qwen-code",
        ),
    )
}
"""Agents that need no settings. How they differ from the protocol was measured with the versions in
`docs/other-agents.md`."""


def agent_error(program: AgentProgram, message: str, kind: ModelErrorType) -> ModelError:
    """Return an error of an agent."""
    return ModelError(message, type=kind, provider=f"{PREFIX}{program.name}")


def program_named(name: str, own: Mapping[str, AgentProgram]) -> tuple[AgentProgram, str]:
    """Return the program of `acp:NAME` or `acp:NAME/MODEL`, and the model. Raises `SettingError`."""
    agent, _, model = name.removeprefix(PREFIX).partition("/")
    program = own.get(agent) or PRESETS.get(agent)
    if program is None:
        known = ", ".join(dict.fromkeys((*own, *PRESETS)))
        raise SettingError(
            f"The model {name!r} does not name an agent. Known agents: {known}. Define your own as [acp_agents.NAME]."
        )
    return program, model
