"""`make eval`: our agent in Harbor, with a scripted model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import requires
from pathlib import Path

import pytest
from msgspec import Struct
from packaging.requirements import Requirement

from pygent_ls import __version__
from tests.evaluation.harbor import (
    BUBBLEWRAP,
    HARBOR,
    ROOT,
    TASKS,
    call,
    evaluate,
    result,
    reward,
    run,
    shell,
    trajectory,
)
from tests.model_server import ModelServer, Step
from tests.tools.repository import git

SOLVES = (
    Step(thinking="First the file.", text="I read it.", calls=call("read_file", path="invoice.csv").calls),
    call("task", description="compute it", prompt="Compute the total of invoice.csv."),
    shell("awk -F, '{ total += $2 * $3 } END { print total }' invoice.csv; env | grep -c OPENAI_API_KEY"),
    Step(text="It is 662."),
    shell("echo 662 >total.txt; exit 3"),
    Step(text="Done.", cached_tokens=80),
)
"""The task is solved with a subagent, and with a command that fails though it does what it should."""

FAILS = (shell("echo 661 >total.txt"), shell("echo never"))


class Runs(Struct, frozen=True):
    """Results of two runs, `solved` and `failed`."""

    folder: Path

    @property
    def solved(self) -> Path:
        return self.folder / "solved"

    @property
    def failed(self) -> Path:
        return self.folder / "failed"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """One run whose model solves the task, and one with a limit whose model does not, at the same time."""
    folder = tmp_path_factory.mktemp("eval")
    with ModelServer(SOLVES) as good, ModelServer(FAILS) as bad, ThreadPoolExecutor() as pool:
        solved = pool.submit(evaluate, folder, good, "solved")
        failed = pool.submit(evaluate, folder, bad, "failed", "--ak", "max_turns=1")
        assert "| solved | 1 of 1 |" in solved.result()
        assert "| solved | 0 of 1 |" in failed.result()
        assert (len(good.requests), len(bad.requests)) == (len(SOLVES), 1)
    return Runs(folder)


def test_a_task_that_the_model_solves_has_the_reward_1(runs: Runs) -> None:
    assert reward(runs.solved) == 1
    trial = result(runs.solved)
    assert trial["exception_info"] is None
    used = {name: trial["agent_result"][name] for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens")}
    assert used == {"n_input_tokens": 600, "n_cache_tokens": 80, "n_output_tokens": 120}
    assert trial["agent_result"]["cost_usd"] == pytest.approx((520 * 2.5 + 80 * 1.25 + 120 * 10) / 1e6)
    assert trial["agent_result"]["metadata"]["num_turns"] == 4
    assert trial["agent_info"]["version"] == __version__


def test_a_task_that_the_model_fails_at_its_limit_has_the_reward_0_and_is_no_error(runs: Runs) -> None:
    assert reward(runs.failed) == 0
    trial = result(runs.failed)
    assert trial["exception_info"] is None
    assert trial["agent_result"]["metadata"]["subtype"] == "error_max_turns"
    assert trajectory(runs.failed)["steps"][-1] == {
        "step_id": 3,
        "source": "system",
        "message": "The limit of 1 model calls per turn was reached.",
    }


def test_the_trajectory_has_the_calls_their_results_and_the_tokens(runs: Runs) -> None:
    written = trajectory(runs.solved)

    prompt, reads, delegates, writes, says = written["steps"]
    assert prompt["message"].startswith("/app/invoice.csv has one article per line")
    assert (reads["message"], reads["reasoning_content"]) == ("I read it.", "First the file.")
    assert reads["tool_calls"] == [
        {"tool_call_id": "call_0_0", "function_name": "read_file", "arguments": {"path": "invoice.csv"}}
    ]
    (content,) = reads["observation"]["results"]
    assert "bread,1,349" in content["content"]
    assert reads["metrics"] == {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 0}
    (report,) = delegates["observation"]["results"]
    assert report["subagent_trajectory_ref"] == [{"trajectory_id": "call_1_0"}]
    assert "It is 662." in report["content"]
    (ended,) = writes["observation"]["results"]
    assert "[exit code 3]" in ended["content"]
    assert (says["message"], says["metrics"]["cached_tokens"]) == ("Done.", 80)
    (subagent,) = written["subagent_trajectories"]
    assert subagent["trajectory_id"] == "call_1_0"
    assert [step["message"] for step in subagent["steps"]] == ["", "It is 662."]
    assert subagent["steps"][0]["observation"]["results"][0]["content"].startswith("662\n0\n"), "no key in commands"
    assert written["final_metrics"]["total_prompt_tokens"] == 600


def test_two_runs_are_compared(runs: Runs) -> None:
    printed = run("python", "-m", "evaluation", "--results", runs.folder, "compare", "solved", "failed")

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()]
    assert rows[0] == ["", "solved", "failed"]
    table = {row[0]: row[1:] for row in rows}
    assert table["model"] == ["openai/gpt-4o", "openai/gpt-4o"]
    assert table["solved"] == ["1 of 1", "0 of 1"]
    assert table["not graded"] == ["0", "0"]
    assert table["cost in US dollars"] == ["0.0026", "0.0004"]
    assert table["input tokens"] == ["600", "100"]
    assert table["output tokens"] == ["120", "20"]
    assert table["model calls"] == ["4", "1"]
    assert rows[-2:] == [["**1 of 1 tasks differ**", "", ""], ["invoice-total", "1 of 1 solved", "0 of 1 solved"]]


def test_a_model_that_is_never_available_is_an_error_that_does_not_count_as_failed(tmp_path: Path) -> None:
    unavailable = Step(status=503, error="no capacity", headers={"retry-after": "86400"})
    with ModelServer(lambda _request, _number: unavailable) as server:
        printed = evaluate(tmp_path, server, "unavailable")

    trial = result(tmp_path / "unavailable")
    assert trial["exception_info"]["exception_type"] == "ApiOverloadedError"
    assert "no capacity" in trial["exception_info"]["exception_message"]
    assert trial["reward_valid"] is False
    assert "| not graded | 1 |" in printed
    assert "no capacity" in trajectory(tmp_path / "unavailable")["steps"][-1]["message"]


def test_an_agent_that_exceeds_the_time_of_the_task_is_ended_and_what_it_did_is_kept(tmp_path: Path) -> None:
    with ModelServer((shell("echo 662 >total.txt"), Step(hang=True))) as server:
        evaluate(tmp_path, server, "late", "--agent-timeout-multiplier", "0.03")
        server.wait_for(lambda: server.disconnects == 1)

    assert result(tmp_path / "late")["exception_info"]["exception_type"] == "AgentTimeoutError"
    assert reward(tmp_path / "late") == 1
    written = trajectory(tmp_path / "late")
    assert [step["source"] for step in written["steps"]] == ["user", "agent"]
    assert written["final_metrics"] == {
        "total_prompt_tokens": 100,
        "total_completion_tokens": 20,
        "total_cached_tokens": 0,
        "total_steps": 2,
    }


def test_the_agent_is_installed_from_a_wheel_with_uv(tmp_path: Path) -> None:
    """The dependencies, which need a network, are those of .venv; everything else is done in an image, too."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=50, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    dependencies = [Requirement(each).name for each in requires("pygent-ls") or ()]
    (none := tmp_path / "none.txt").write_text("".join(f"{name}; python_version < '3'\n" for name in dependencies))
    own = {"/installed-agent/uv": HARBOR / "uv", "/opt/none.txt": none, "/opt/packages": sysconfig.get_path("purelib")}
    places = own if sys.base_prefix.startswith("/usr") else {**own, sys.base_prefix: sys.base_prefix}
    mounts = [{"type": "bind", "source": str(each), "target": name, "read_only": True} for name, each in places.items()]
    variables = [
        *("UV_OFFLINE=1", "UV_OVERRIDE=/opt/none.txt", "PYTHONPATH=/opt/packages"),
        f"UV_PYTHON={sys.base_prefix}/bin/python3",
    ]

    command = ["harbor", "run", "--yes", "--path", TASKS, "--jobs-dir", tmp_path, "--job-name", "job"]
    command += ["--agent", "evaluation.agent:PygentAgent", "--model", "openai/gpt-4o"]
    command += ["--env", BUBBLEWRAP, "--mounts", json.dumps(mounts)]
    command += ["--ak", f"wheel={wheel}", "--ak", f"constraints={ROOT / '.ci' / 'pins.txt'}"]
    command += [part for each in variables for part in ("--ae", each)]
    with ModelServer((shell("echo 662 >total.txt; pwd"), Step(text="Done."))) as server:
        run(*command, server=server)

    assert reward(tmp_path / "job") == 1
    assert result(tmp_path / "job")["agent_info"]["version"] == __version__


def test_a_commit_is_evaluated_in_docker_with_its_own_wheel_and_versions(tmp_path: Path) -> None:
    """Harbor resolves the arguments, and starts nothing."""
    version = ("--model", "anthropic/claude-opus-5-5", "--version", "HEAD")

    printed = run("python", "-m", "evaluation", "--results", tmp_path, "run", *version, "--", "--print-config")

    config = json.loads(printed)
    (agent,) = config["agents"]
    assert (config["environment"]["type"], agent["model_name"]) == ("docker", "anthropic/claude-opus-5-5")
    assert config["job_name"].startswith("HEAD-")
    wheel, constraints = Path(agent["kwargs"]["wheel"]), Path(agent["kwargs"]["constraints"])
    assert wheel.name == f"pygent_ls-{__version__}-py3-none-any.whl"
    assert zipfile.is_zipfile(wheel)
    assert constraints.read_text() == git(ROOT, "show", "HEAD:.ci/pins.txt")


def test_the_errors_by_which_harbor_decides_are_sentences_of_ours() -> None:
    patterns = re.findall(
        r'ErrorPattern\(r"(.+)", \w+\)', (ROOT / "evaluation" / "agent.py").read_text(encoding="utf-8")
    )
    sentences = (ROOT / "pygent_ls" / "llm" / "errors" / "model_errors.py").read_text(encoding="utf-8")

    assert len(patterns) == 9
    assert [each for pattern in patterns for each in pattern.split("|") if not re.search(each, sentences)] == []
