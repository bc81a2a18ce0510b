"""The environment without Docker: Harbor's own reference agent solves tasks in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.evaluation.harbor import BUBBLEWRAP, TASKS, result, reward, run, trial
from tests.model_server import ModelServer

PROBE = """#!/bin/bash
{
    echo "user $(id -u) home $HOME folder $PWD said $SAID"
    touch /usr/here 2>/dev/null && echo "the machine can be written"
    touch /opt/here && echo "the root can be written"
    : 2>/dev/null </dev/tcp/127.0.0.1/PORT && echo "the network is reached"
    ls OUTSIDE 2>/dev/null && echo "the folder of the test is seen"
    sleep 1000 &
} >/logs/agent/said.txt
ln -s OUTSIDE /logs/agent/link
mkfifo /logs/agent/pipe
"""


def test_the_reference_solution_solves_the_task(tmp_path: Path) -> None:
    oracle(TASKS, tmp_path)

    assert reward(tmp_path / "job") == 1


def test_a_task_sees_its_own_root_user_and_network_and_nothing_leads_out_of_it(tmp_path: Path) -> None:
    (outside := tmp_path / "outside").mkdir()
    (outside / "secret").write_text("of the machine")
    task = Path(shutil.copytree(TASKS / "invoice-total", tmp_path / "tasks" / "probe"))
    settings = task / "task.toml"
    settings.write_text(
        settings.read_text()
        .replace("[environment]", '[environment]\nnetwork_mode = "no-network"')
        .replace("[agent]", '[agent]\nuser = "nobody"')
        + '\n[solution.env]\nSAID = "hello"\n'
    )

    with ModelServer([]) as server:
        probe = PROBE.replace("OUTSIDE", str(outside)).replace("PORT", str(server.port))
        (task / "solution" / "solve.sh").write_text(probe)
        oracle(task, tmp_path)
        assert server.n_connections == 0

    logs = trial(tmp_path / "job") / "agent"
    said = (logs / "said.txt").read_text().splitlines()
    assert said == ["user 65534 home /nonexistent folder /app said hello", "the root can be written"]
    assert not (logs / "link").exists()
    assert not (logs / "pipe").exists()
    assert reward(tmp_path / "job") == 0


def test_a_task_whose_image_must_be_built_is_refused(tmp_path: Path) -> None:
    task = Path(shutil.copytree(TASKS / "invoice-total", tmp_path / "tasks" / "built"))
    (task / "environment" / "Dockerfile").write_text("FROM debian\n")

    oracle(task, tmp_path)

    error = result(tmp_path / "job")["exception_info"]
    assert error["exception_message"] == "bubblewrap builds no image, and this task has a Dockerfile"


def oracle(task: Path, results: Path) -> None:
    """Run a task's own solution; the results are in `job`."""
    where = ("--jobs-dir", results, "--job-name", "job")
    run("harbor", "run", "--yes", "--agent", "oracle", "--path", task, "--env", BUBBLEWRAP, *where)
