"""Lines of `pygent-ls run --output-format stream-json` as a trajectory in Harbor's format, ATIF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harbor.models.trajectories import (
    Agent,
    FinalMetrics,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    SubagentTrajectoryRef,
    ToolCall,
    Trajectory,
)

Line = Mapping[str, Any]


def to_trajectory(lines: Sequence[Line], instruction: str, version: str, model: str | None) -> Trajectory:
    """Convert the lines of one turn. Each answer of the model is a step, and each subagent a trajectory of its own.

    The totals are those of the result line. Without one, because the turn was cut off, they are the sums of the steps,
    and the cost is unknown.
    """
    speakers: dict[str | None, list[Line]] = {None: []}
    for line in lines:
        speakers.setdefault(line.get("parent_tool_use_id"), []).append(line)
    subagents = [
        parent
        for parent, said in speakers.items()
        if parent is not None and any(line["type"] == "assistant" for line in said)
    ]
    agent = Agent(name="pygent-ls", version=version, model_name=model)
    nested = [
        Trajectory(trajectory_id=parent, agent=agent, steps=_steps(speakers[parent], subagents)) for parent in subagents
    ]
    steps = [Step(step_id=1, source="user", message=instruction)]
    steps += _steps(speakers[None], subagents, first=2)
    result = result_of(lines)
    if result is not None and result["is_error"]:
        steps.append(Step(step_id=len(steps) + 1, source="system", message=result["result"]))
    all_steps = [*steps, *(step for trajectory in nested for step in trajectory.steps)]
    return Trajectory(
        session_id=next((line["session_id"] for line in lines if "session_id" in line), None),
        agent=agent,
        steps=steps,
        final_metrics=_totals(result, [step.metrics for step in all_steps if step.metrics], n_steps=len(steps)),
        subagent_trajectories=nested or None,
    )


def result_of(lines: Sequence[Line]) -> Line | None:
    """Return the line that says how the turn ended; None if it was cut off."""
    return next((line for line in reversed(lines) if line["type"] == "result"), None)


def _steps(lines: Iterable[Line], subagents: Sequence[str], first: int = 1) -> list[Step]:
    steps: list[Step] = []
    steps_of_calls: dict[str, Step] = {}
    message_id: str | None = None
    for line in lines:
        match line["type"], line.get("subtype"):
            case "assistant", _:
                message = line["message"]
                if message["id"] != message_id:
                    message_id = message["id"]
                    steps.append(_answer(message, first + len(steps)))
                for block in message["content"]:
                    _add_block(steps[-1], block)
                    if block["type"] == "tool_use":
                        steps_of_calls[block["id"]] = steps[-1]
            case "user", _:
                for block in line["message"]["content"]:
                    if block["type"] == "tool_result" and (step := steps_of_calls.get(block["tool_use_id"])):
                        _add_result(step, block, subagents)
            case "system", "compact_boundary":
                message_id = None
                steps.append(
                    Step(step_id=first + len(steps), source="system", message="The conversation was compacted.")
                )
            case _:
                pass
    return steps


def _answer(message: Line, step_id: int) -> Step:
    usage = message["usage"]
    cached = usage["cache_read_input_tokens"]
    return Step(
        step_id=step_id,
        source="agent",
        model_name=message["model"],
        message="",
        metrics=Metrics(
            prompt_tokens=usage["input_tokens"] + usage["cache_creation_input_tokens"] + cached,
            completion_tokens=usage["output_tokens"],
            cached_tokens=cached,
        ),
        llm_call_count=1,
    )


def _add_block(step: Step, block: Line) -> None:
    match block["type"]:
        case "text":
            step.message = f"{step.message}{block['text']}"
        case "thinking":
            step.reasoning_content = (step.reasoning_content or "") + block["thinking"]
        case "tool_use":
            call = ToolCall(tool_call_id=block["id"], function_name=block["name"], arguments=block["input"])
            step.tool_calls = [*(step.tool_calls or []), call]
        case _:
            pass


def _add_result(step: Step, block: Line, subagents: Sequence[str]) -> None:
    call_id = block["tool_use_id"]
    result = ObservationResult(
        source_call_id=call_id,
        content=block["content"],
        subagent_trajectory_ref=[SubagentTrajectoryRef(trajectory_id=call_id)] if call_id in subagents else None,
        extra={"is_error": True} if block["is_error"] else None,
    )
    step.observation = Observation(results=[*(step.observation.results if step.observation else []), result])


def _totals(result: Line | None, steps: Sequence[Metrics], n_steps: int) -> FinalMetrics:
    if result is None:
        return FinalMetrics(
            total_prompt_tokens=sum(step.prompt_tokens or 0 for step in steps),
            total_completion_tokens=sum(step.completion_tokens or 0 for step in steps),
            total_cached_tokens=sum(step.cached_tokens or 0 for step in steps),
            total_steps=n_steps,
        )
    usage = result["usage"]
    cached = usage["cache_read_input_tokens"]
    return FinalMetrics(
        total_prompt_tokens=usage["input_tokens"] + usage["cache_creation_input_tokens"] + cached,
        total_completion_tokens=usage["output_tokens"],
        total_cached_tokens=cached,
        total_cost_usd=result["total_cost_usd"],
        total_steps=n_steps,
    )
