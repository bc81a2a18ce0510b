"""Record of one tool call, which every stage of the pipeline reads and completes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from pygent_ls.agent.events import Location, ToolCall
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.ports.hooks import NOTHING, HookOutcome
from pygent_ls.agent.ports.processes import SandboxState
from pygent_ls.agent.ports.workspace import EditPlan, FileChange
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import MAX_PATHS, Tool, ToolContext, path_arguments
from pygent_ls.errors import ToolError
from pygent_ls.secrets.stream import LiveRedactor


@dataclass(slots=True, kw_only=True, eq=False)
class CallRecord:
    """Tool call from the model's answer to its result."""

    asked: ToolUseBlock
    """Call as the model made it."""
    tool: Tool | None
    """Tool of that name; None if none is offered."""
    paths: tuple[Path, ...] = ()
    """Paths that the arguments name, at most `MAX_PATHS`, without those outside the workspace. A call with too many
    paths, or one outside, is refused when it runs."""

    is_announced: bool = False
    """Whether the client was told of the call, and has to be told of its result."""

    # Set by `prepare`

    call: ToolUseBlock = field(init=False)
    """Call as it runs: hooks and the user may replace the input."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Validated arguments, with secrets restored in what is to be written."""
    hook: HookOutcome = NOTHING
    """Outcome of the `pre_tool_use` hooks."""

    # Set by `authorize`

    context: ToolContext | None = None
    """What the tool is given; made once its arguments are known."""
    live: LiveRedactor | None = None
    """Redactor of the live output."""
    sandbox: SandboxState = field(default_factory=lambda: SandboxState(kind="off"))
    plan: EditPlan | None = None
    changes: tuple[FileChange, ...] = ()
    """Changes of the plan."""
    beside: tuple[Path, ...] = ()
    """Files of the plan that the arguments do not name."""
    has_users_input: bool = False
    """Whether the user replaced the input; the user is not asked again."""
    has_hooks_input: bool = False
    """Whether a hook replaced the input in place of the user. A hook may do so once per call, which bounds the
    rounds."""
    feedback: str = ""
    """What the user said when they allowed the call."""

    # Set by `execute` and `finalize`

    runs_hooks_after: bool = False
    """Whether the tool ran, so that hooks are run after it."""
    has_begun: bool = False
    """Whether the call may have had an effect: its tool ran, or its edit was about to be made."""
    remarks: list[TextBlock] = field(default_factory=list[TextBlock])
    """Text from hooks and the user for the model to read beside the result."""
    images: tuple[ImageBlock, ...] = ()
    """Images that belong to the result."""
    result: ToolResultBlock | None = None

    def __post_init__(self) -> None:
        self.call = self.asked

    @property
    def read_only(self) -> bool:
        """Whether the call only reads; that of an unknown tool does."""
        return self.tool is None or self.tool.read_only


def record_of(services: SessionServices, call: ToolUseBlock) -> CallRecord:
    """Return the record of a call that was not prepared yet."""
    tool = services.tools.get(call.name)
    return CallRecord(asked=call, tool=tool, paths=tuple(paths_of(services, call, tool)))


def paths_of(services: SessionServices, call: ToolUseBlock, tool: Tool | None) -> Iterator[Path]:
    """Yield the paths of a call as in `CallRecord.paths`."""
    follow = tool is None or tool.kind not in ("delete", "move")
    named = tool.paths_in(call.input) if tool else path_arguments(call.input)
    for path in islice(named, MAX_PATHS):
        try:
            yield services.environment.workspace.resolve(path, follow=follow)
        except ToolError:
            continue


def tool_call(services: SessionServices, record: CallRecord) -> ToolCall:
    """Return the event that announces the call, before permission is requested, and again if its input changed."""
    tool, call = record.tool, record.call
    paths = record.paths if call is record.asked else paths_of(services, call, tool)
    return ToolCall(
        tool_id=call.id,
        tool_name=call.name,
        input=call.input,
        title=tool.title_for(call.input) if tool else call.name,
        kind=tool.kind if tool else "other",
        risk=tool.risk if tool else ToolRisk.LOW,
        read_only=tool.read_only if tool else False,
        locations=tuple(Location(path=path) for path in paths),
    )


def results_of(records: Iterable[CallRecord]) -> dict[str, ToolResultBlock]:
    """Return the results so far, by the ids of their calls."""
    return {each.asked.id: each.result for each in records if each.result is not None}
