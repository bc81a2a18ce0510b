"""The approver port: who is asked before something happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pygent_ls.agent.tool import ToolKind, ToolRisk
from pygent_ls.agent.workspace import FileChange

PermissionOutcome = Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """A question to the user."""

    permission_id: str
    session_id: str
    turn_id: str
    tool_id: str
    tool_name: str
    input: Mapping[str, Any]
    risk: ToolRisk
    action: str
    """What it will do: the command line, the path and ±lines, the URL."""
    rules: tuple[str, ...]
    """The rules that `allow_always` would store, and as denials `reject_always`; none where no rule could be."""
    source: str = ""
    """Who asks, where it is not the main conversation: `subagent …`."""
    changes: tuple[FileChange, ...] = ()
    title: str = ""
    """The call in one line, shortened."""
    kind: ToolKind = "other"
    read_only: bool = False
    paths: tuple[Path, ...] = ()
    """The places that the call names."""
    description: str = ""
    """What the model says that it is for; empty if it says nothing."""
    confinement: str = ""
    """What holds the call, such as `sandboxed, no network`; empty for a change of files."""
    severity: ToolRisk = ToolRisk.HIGH
    """How grave it looks: `risk` says only whether it asks."""
    prefix_rules: tuple[str, ...] = ()
    """Wider rules by the first words of the command, each of which the user may have in place of `rules`."""
    covers_session: str = ""
    """What `allow_session` covers if there are no rules; empty if it would cover nothing."""
    offers_accept_edits: bool = False
    """The mode `accept_edits` would pass it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionAnswer:
    """What the user chose; `feedback` reaches the model, however they chose."""

    outcome: PermissionOutcome
    feedback: str = ""
    by: Literal["user", "mode", "rule", "hook"] = "user"
    """`mode` where nobody could be asked, `mode` and `rule` where what was set meanwhile decides, `hook` where a hook
    answered; `feedback` says why."""
    rules: tuple[str, ...] | None = None
    """The rules to store in place of those of the request; None: the user did not touch them."""
    accepts_edits: bool = False
    """The session's mode becomes `accept_edits`."""
    input: Mapping[str, Any] | None = None
    """With which an allowed call is to run; None: as it was asked."""

    @property
    def allowed(self) -> bool:
        """Whether the call may go on."""
        match self.outcome:
            case "allow_once" | "allow_session" | "allow_always":
                return True
            case "reject_once" | "reject_always" | "cancelled":
                return False


class Approver(Protocol):
    """Asks the user."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Return what the user chose; every odd answer (none, unknown, an error, a client that went) is a
        `reject_once`. When cancelled, the prompt no longer counts."""
        ...
