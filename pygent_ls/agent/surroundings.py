"""What a session gives its turns."""

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
"""Returns when all that was said and told so far will outlive the program, and the machine; raises nothing. Where it
cannot be kept, the user is told, and it returns all the same."""


async def settled_at_once() -> None:
    """Where nothing is kept."""


def nobody_to_tell() -> None:
    """For a session that nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a session gives its turns: the ports, and the session's own memory."""

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
    """Asked whether a turn that has reached a limit may go on."""
    editor: EditorState = field(default_factory=NoEditor)
    consent: SandboxConsent = field(default_factory=SandboxConsent)
    checkpointer: Checkpointer = field(default_factory=NoCheckpoints)
    reviewer: Reviewer = field(default_factory=NoReviewer)
    working_directory: Path = Path()
    """Where commands run that name no folder; the daemon's own where the session names none."""
    outputs: Outputs = field(default_factory=Outputs)
    plan: Plan = field(default_factory=Plan)
    marks: Marks = field(default_factory=Marks)
    """What stands around text from outside in the session's requests."""
    secrets: Secrets = field(default_factory=Secrets)
    context: ContextMemory = field(default_factory=ContextMemory)
    """What its model was sent, and what of it was compacted. A subagent, whose history is another, has its own."""
    instructions: Instructions = field(default_factory=NoInstructions)
    hooks: Hooks = field(default_factory=NoHooks)
    telemetry: Telemetry = no_telemetry
    settle: Settle = settled_at_once
    """Awaited before a tool with effects runs."""
    mode_changed: Callable[[], None] = nobody_to_tell
    """Called when an answer of the user has set another mode."""
