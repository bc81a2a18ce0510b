"""What a session provides to its turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.agent.approver import Approver
from pygent_ls.agent.asker import NobodyToAsk, Questioner
from pygent_ls.agent.cache import ToolCache
from pygent_ls.agent.checkpointer import Checkpointer, NoCheckpoints
from pygent_ls.agent.context_memory import ContextMemory
from pygent_ls.agent.editor_state import EditorState, NoEditor
from pygent_ls.agent.hooks import Hooks, NoHooks
from pygent_ls.agent.instructions import Instructions, NoInstructions
from pygent_ls.agent.outputs import Outputs
from pygent_ls.agent.permissions import Permissions
from pygent_ls.agent.plan import Plan
from pygent_ls.agent.read_log import ReadLog
from pygent_ls.agent.review import NoReviewer, Reviewer
from pygent_ls.agent.sandboxing import SandboxConsent
from pygent_ls.agent.scaffolding import Templates
from pygent_ls.agent.secret_keeping import Secrets
from pygent_ls.agent.telemetry import Telemetry, no_telemetry
from pygent_ls.agent.tool import ToolRegistry
from pygent_ls.agent.untrusted import Marks
from pygent_ls.agent.web import Web
from pygent_ls.agent.workspace import Processes, Workspace

Settle = Callable[[], Awaitable[None]]
"""Returns when everything said and emitted so far will survive a crash of the program or the machine; raises nothing.
If it cannot be stored, the user is told, and it returns nevertheless."""


async def settled_at_once() -> None:
    """Return at once; for sessions that store nothing."""


def nobody_to_tell() -> None:
    """Do nothing; for a session without followers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Run context that a session provides to its turns: the ports, and the session's own memory."""

    session_id: str
    tools: ToolRegistry
    workspace: Workspace
    processes: Processes
    approver: Approver
    permissions: Permissions
    cache: ToolCache
    reads: ReadLog
    max_tool_result_chars: int
    web: Web | None = None
    templates: Templates | None = None
    questioner: Questioner = field(default_factory=NobodyToAsk)
    pauser: Questioner = field(default_factory=NobodyToAsk)
    """Asked whether a turn that has reached a limit may continue."""
    editor: EditorState = field(default_factory=NoEditor)
    consent: SandboxConsent = field(default_factory=SandboxConsent)
    checkpointer: Checkpointer = field(default_factory=NoCheckpoints)
    reviewer: Reviewer = field(default_factory=NoReviewer)
    working_directory: Path = Path()
    """Folder of commands that name none; the daemon's own if the session has none."""
    outputs: Outputs = field(default_factory=Outputs)
    plan: Plan = field(default_factory=Plan)
    marks: Marks = field(default_factory=Marks)
    """Marks around text from outside in the session's requests."""
    secrets: Secrets = field(default_factory=Secrets)
    context: ContextMemory = field(default_factory=ContextMemory)
    """What the session's model was sent, and what of it was compacted. A subagent, which has another history, has its
    own."""
    instructions: Instructions = field(default_factory=NoInstructions)
    hooks: Hooks = field(default_factory=NoHooks)
    telemetry: Telemetry = no_telemetry
    settle: Settle = settled_at_once
    """Awaited before a tool with effects runs."""
    mode_changed: Callable[[], None] = nobody_to_tell
    """Called when an answer of the user has set another mode."""
