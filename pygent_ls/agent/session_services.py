"""Services that a session offers its turns and commands: those of its front end, and its own memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from pygent_ls.agent.context.instructions import Instructions, NoInstructions
from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.context.repository_map import KeptMap
from pygent_ls.agent.context.untrusted_text import Marks
from pygent_ls.agent.edits.checkpointer import Checkpointer, NoCheckpoints
from pygent_ls.agent.edits.reviewer import NoReviewer, Reviewer
from pygent_ls.agent.permissions.permissions import Permissions
from pygent_ls.agent.permissions.sandbox_consent import SandboxConsent
from pygent_ls.agent.ports.approver import Approver
from pygent_ls.agent.ports.editor_state import EditorState, NoEditor
from pygent_ls.agent.ports.hooks import Hooks, NoHooks
from pygent_ls.agent.ports.language_features import LanguageFeatures, NoLanguageFeatures
from pygent_ls.agent.ports.notes import Notes
from pygent_ls.agent.ports.output_store import Outputs
from pygent_ls.agent.ports.pictures import Pictures
from pygent_ls.agent.ports.processes import Processes
from pygent_ls.agent.ports.questioner import NobodyToAsk, Questioner
from pygent_ls.agent.ports.resources import ServerResources
from pygent_ls.agent.ports.review_findings import ReviewFindings
from pygent_ls.agent.ports.skills import Skills
from pygent_ls.agent.ports.subagents import WorkLocks
from pygent_ls.agent.ports.symbols import SymbolIndex
from pygent_ls.agent.ports.templates import Templates
from pygent_ls.agent.ports.web import Web, WebSearch
from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.agent.telemetry import Telemetry, no_telemetry
from pygent_ls.agent.tools.cache import ToolCache
from pygent_ls.agent.tools.listed_findings import ListedFindings
from pygent_ls.agent.tools.plan import Plan
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import ToolRegistry

Formatting = Literal["off", "auto", "on"]

Settle = Callable[[], Awaitable[None]]
"""Returns when everything said and emitted so far will survive a crash of the program or the machine; raises nothing.
If it cannot be stored, the user is told, and it returns nevertheless."""


async def settled_at_once() -> None:
    """Return at once; for sessions that store nothing."""


def ignore_mode() -> None:
    """Do nothing; for a session without followers."""


class Environment(Struct, frozen=True, kw_only=True):
    """Front end of a session, with its workspace and its settings. Replaced when the session is transferred to another
    front end, and when the settings change."""

    workspace: Workspace
    processes: Processes
    remote: Processes | None = None
    """Where commands run, if that is not this machine."""
    approver: Approver
    cache: ToolCache
    max_tool_result_chars: int
    web: Web | None = None
    pictures: Pictures | None = None
    search: WebSearch | None = None
    templates: Templates | None = None
    skills: Skills | None = None
    notes: Notes | None = None
    symbols: SymbolIndex | None = None
    prompt_map_tokens: int = 0
    """Size of the map of the workspace in the system prompt; 0 for none."""
    resources: ServerResources | None = None
    questioner: Questioner = field(default_factory=NobodyToAsk)
    pauser: Questioner = field(default_factory=NobodyToAsk)
    """Asked whether a turn that has reached a limit may continue."""
    editor: EditorState = field(default_factory=NoEditor)
    language: LanguageFeatures = field(default_factory=NoLanguageFeatures)
    diagnostics_wait_s: float = 0.0
    """Maximum time that an edit waits for the problems that it has brought; 0 if they are not asked for."""
    formatting: Formatting = "off"
    """Whether texts are formatted before they are written; `auto` if the editor formats the file on each save."""
    reviewer: Reviewer = field(default_factory=NoReviewer)
    findings: ReviewFindings = field(default_factory=ListedFindings)
    consent: SandboxConsent = field(default_factory=SandboxConsent)
    instructions: Instructions = field(default_factory=NoInstructions)
    hooks: Hooks = field(default_factory=NoHooks)
    telemetry: Telemetry = no_telemetry
    working_directory: Path = Path()
    """Folder of commands that name none; the daemon's own if the session has none."""

    @property
    def checks_edits(self) -> bool:
        """Whether the problems that an edit has brought are looked for."""
        return self.diagnostics_wait_s > 0 and "diagnostics" in self.language.offered


class SessionMemory(Struct, frozen=True, kw_only=True):
    """What a session remembers, wherever it is used."""

    session_id: str
    permissions: Permissions
    reads: ReadLog
    checkpointer: Checkpointer = field(default_factory=NoCheckpoints)
    outputs: Outputs = field(default_factory=Outputs)
    plan: Plan = field(default_factory=Plan)
    secrets: SessionSecrets = field(default_factory=SessionSecrets)
    marks: Marks = field(default_factory=Marks)
    """Marks around text from outside in the session's requests."""
    window: ContextMemory = field(default_factory=ContextMemory)
    """What the session's model was sent, and what of it was compacted. A subagent, which has another history, has its
    own."""
    repository_map: KeptMap = field(default_factory=KeptMap)
    """Map of the workspace in the system prompt."""
    found_tools: set[str] = field(default_factory=set[str])
    """Tools on demand that the model has found."""
    locks: WorkLocks = field(default_factory=WorkLocks)
    settle: Settle = settled_at_once
    """Awaited before a tool with effects runs."""
    mode_changed: Callable[[], None] = ignore_mode
    """Called when an answer of the user has set another mode."""


class SessionServices(Struct, frozen=True, kw_only=True):
    """Tools of a session, and what they work with."""

    environment: Environment
    memory: SessionMemory
    tools: ToolRegistry
