"""Results of Harbor's jobs side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from harbor.models.trial.result import TrialResult


def compare(folders: Sequence[Path]) -> str:
    """Return a table in Markdown: what each job solved and used, and below it the tasks in which they differ."""
    jobs = [_trials(folder) for folder in folders]
    rows = [["", *(folder.resolve().name for folder in folders)], ["---"] * (len(folders) + 1)]
    rows += [[name, *(show(job) for job in jobs)] for name, show in ROWS.items()]
    by_task = [_by_task(job) for job in jobs]
    tasks = sorted({task for job in by_task for task in job})
    outcomes = [[task, *(_outcome(job.get(task, [])) for job in by_task)] for task in tasks]
    different = [row for row in outcomes if len(set(row[1:])) > 1]
    if len(jobs) > 1:
        rows.append([f"**{len(different)} of {len(outcomes)} tasks differ**", *("" for _ in jobs)])
    return "\n".join(f"| {' | '.join(row)} |" for row in [*rows, *different])


def _trials(folder: Path) -> list[TrialResult]:
    if not (folder / "config.json").exists():
        raise SystemExit(f"{folder} is no folder with results of Harbor")
    return [TrialResult.model_validate_json(file.read_text()) for file in sorted(folder.glob("*/result.json"))]


def _by_task(trials: Iterable[TrialResult]) -> Mapping[str, list[TrialResult]]:
    tasks: dict[str, list[TrialResult]] = defaultdict(list)
    for trial in trials:
        tasks[trial.task_name].append(trial)
    return tasks


def _is_solved(trial: TrialResult) -> bool:
    rewards = trial.verifier_result.rewards if trial.verifier_result else None
    return trial.reward_valid and bool(rewards) and all(reward >= 1 for reward in rewards.values())


def _outcome(trials: Sequence[TrialResult]) -> str:
    """Return how many attempts at one task were solved, or the errors that leave it open."""
    if not trials:
        return "not run"
    errors = sorted(
        {each.exception_type for trial in trials if not trial.reward_valid for each in trial.recorded_exceptions()}
    )
    return f"{sum(map(_is_solved, trials))} of {len(trials)} solved{''.join(f', {error}' for error in errors)}"


def _distinct(value: Callable[[TrialResult], str]) -> Callable[[Sequence[TrialResult]], str]:
    return lambda trials: ", ".join(sorted({value(trial) for trial in trials}))


def _total(value: Callable[[TrialResult], float | None], form: str) -> Callable[[Sequence[TrialResult]], str]:
    def show(trials: Sequence[TrialResult]) -> str:
        known = [number for trial in trials if (number := value(trial)) is not None]
        unknown = f" ({len(trials) - len(known)} unknown)" if len(known) < len(trials) else ""
        return f"{sum(known):{form}}{unknown}"

    return show


def _model(trial: TrialResult) -> str:
    return trial.config.agent.model_name or "none"


def _n_model_calls(trial: TrialResult) -> float | None:
    return ((trial.agent_result.metadata or {}) if trial.agent_result else {}).get("num_turns")


def _seconds(trial: TrialResult) -> float | None:
    timing = trial.agent_execution
    if timing is None or timing.started_at is None or timing.finished_at is None:
        return None
    return (timing.finished_at - timing.started_at).total_seconds()


ROWS: Mapping[str, Callable[[Sequence[TrialResult]], str]] = {
    "pygent-ls": _distinct(lambda trial: trial.agent_info.version),
    "model": _distinct(_model),
    "solved": lambda trials: f"{sum(map(_is_solved, trials))} of {len(trials)}",
    "not graded": lambda trials: str(sum(not trial.reward_valid for trial in trials)),
    "cost in US dollars": _total(lambda trial: trial.compute_token_cost_totals()[3], ".4f"),
    "input tokens": _total(lambda trial: trial.compute_token_cost_totals()[0], ","),
    "of them cached": _total(lambda trial: trial.compute_token_cost_totals()[1], ","),
    "output tokens": _total(lambda trial: trial.compute_token_cost_totals()[2], ","),
    "model calls": _total(_n_model_calls, ","),
    "seconds of the agent": _total(_seconds, ",.0f"),
}
