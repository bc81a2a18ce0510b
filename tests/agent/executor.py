"""Runs single tool calls on fakes, outside a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pygent_ls.agent.calls.batches import MyTurn, at_once
from pygent_ls.agent.calls.call_record import CallRecord, record_of, results_of
from pygent_ls.agent.calls.executor import run_call
from pygent_ls.agent.hook_runner import HookRunner
from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.run_context import Emit, RunContext
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits, TurnSpec
from tests.fakes import FakeModel


def context_of(services: SessionServices, emit: Emit, **spec: Any) -> RunContext:
    """The run context of a turn that calls no model."""
    turn_id = "turn-1"
    return RunContext(
        environment=services.environment,
        memory=services.memory,
        tools=services.tools,
        emit=emit,
        hooks=HookRunner(services=services, turn_id=turn_id, emit=emit),
        spec=TurnSpec(
            turn_id=turn_id,
            prompt="go",
            content="go",
            model=FakeModel([]),
            mode="default",
            agent="default",
            system="",
            limits=TurnLimits(),
            model_settings=ModelSettings(max_output_tokens=1_000, temperature=0.0),
            **spec,
        ),
    )


class Executor:
    """Keeps the records of the calls that it runs."""

    def __init__(self, services: SessionServices, emit: Emit) -> None:
        self.context = context_of(services, emit)
        self.records: dict[str, CallRecord] = {}

    async def run(self, call: ToolUseBlock, my_turn: MyTurn = at_once) -> None:
        """Run one call."""
        record = self.records[call.id] = record_of(self.context, call)
        await run_call(self.context, record, my_turn)

    @property
    def results(self) -> dict[str, ToolResultBlock]:
        """The results so far, by call id."""
        return results_of(self.records.values())

    @property
    def files_changed(self) -> Sequence[FileChange]:
        """What the calls changed."""
        return list(self.context.share.files_changed.values())

    def beside(self, call_id: str) -> Sequence[TextBlock]:
        """What the model reads beside the result of a call."""
        return tuple(self.records[call_id].remarks)
