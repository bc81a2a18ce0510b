"""`pygent-ls fleet --cluster` on a real Dask scheduler with real workers, of which some are killed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.command_line import WAIT_S, Lifeline, is_alive
from tests.fleet.fleet_command import DONE, EDIT, Fleet, shell
from tests.model_server import ModelServer, Received, Step


class Cluster:
    """A scheduler and workers with one thread each, as processes of their own."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.scheduler_file = folder / "scheduler.json"
        self._folder = folder
        self._environment = environment
        self._processes: list[subprocess.Popen[bytes]] = []
        started = self._start(
            "scheduler", "dask_scheduler", "--port", "0", "--scheduler-file", str(self.scheduler_file)
        )
        self._wait_for_line(started, "Scheduler at:")

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a worker; return when the scheduler knows it."""
        name = f"worker-{len(self._processes)}"
        file = ("--scheduler-file", str(self.scheduler_file))
        worker = self._start(name, "dask_worker", *file, "--nthreads", "1", "--no-nanny", "--name", name, *options)
        self._wait_for_line(worker, "Registered to:")
        return worker

    def close(self) -> None:
        for each in reversed(self._processes):
            each.kill()
            each.wait(WAIT_S)
            assert each.stderr is not None
            each.stderr.close()

    def _start(self, name: str, module: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", "--no-dashboard", *options]
        local = ("--local-directory", str(self._folder / name)) if module == "dask_worker" else ()
        process = subprocess.Popen(
            [*command, *local],
            env=dict(self._environment),
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def _wait_for_line(self, process: subprocess.Popen[bytes], text: str) -> None:
        assert process.stderr is not None
        said = b""
        while text.encode() not in said:
            ready, _, _ = select.select([process.stderr], [], [], WAIT_S)
            assert ready, f"nothing happened for {WAIT_S} s: {said.decode()}"
            piece = os.read(process.stderr.fileno(), 65_536)
            assert piece, said.decode()
            said += piece


@contextmanager
def cluster_for(fleet: Fleet) -> Generator[Cluster]:
    """A scheduler, in the environment of a fleet; its workers get their keys and the model from there."""
    cluster = Cluster(fleet.folder, fleet.environment)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet.within(tmp_path)


@pytest.fixture
def lifeline(tmp_path: Path) -> Generator[Lifeline]:
    line = Lifeline(tmp_path / "lifeline")
    yield line
    line.close()


def edits(request: Received, _number: int) -> Step:
    return DONE if request.messages[-1]["role"] == "tool" else EDIT


def test_workers_share_the_tasks(fleet: Fleet) -> None:
    with ModelServer(edits) as server, cluster_for(served := fleet.with_server(server)) as cluster:
        cluster.add_worker()
        cluster.add_worker()
        served.write(*({"id": f"t{number}", "prompt": "go"} for number in range(4)))

        code, said = served.run("--yes", "--cluster", str(cluster.scheduler_file))

        assert code == 0, said
        owners = {path.read_text() for path in fleet.ledger.rglob("owner.json")}
    assert [row["branch"] for row in fleet.rows()] == [f"pygent/t{number}" for number in range(4)]
    assert len({json.loads(each)["pid"] for each in owners}) == 2
    assert fleet.left_over() == []


def test_more_workers_run_more_tasks_at_a_time_also_ones_that_join(fleet: Fleet) -> None:
    with ModelServer(lambda _request, _number: Step(text="Done.", pause_after=1)) as server:
        served = fleet.with_server(server)
        with cluster_for(served) as cluster:
            cluster.add_worker()
            served.write(*({"id": f"t{number}", "prompt": "go"} for number in range(3)))
            client = served.start("--cluster", str(cluster.scheduler_file))
            for n_workers in (1, 2, 3):
                server.wait_for(lambda n=n_workers: len(server.requests) == n)
                assert server.answered_s == []
                if n_workers < 3:
                    cluster.add_worker()
            for _ in range(3):
                server.resume()
            _, said = client.communicate(timeout=WAIT_S)
            assert client.returncode == 0, said


def test_a_worker_that_is_killed_in_mid_task_loses_its_agent_and_another_one_takes_over(
    fleet: Fleet, lifeline: Lifeline
) -> None:
    with ModelServer([shell(lifeline.stubborn_command), EDIT, DONE]) as server:
        served = fleet.with_server(server)
        with cluster_for(served) as cluster:
            first = cluster.add_worker()
            served.write({"id": "one", "prompt": "go"})
            client = served.start("--yes", "--cluster", str(cluster.scheduler_file), "--lease", "2")
            lifeline.wait_until_up()
            cluster.add_worker()

            first.kill()

            lifeline.wait_until_gone()
            _, said = client.communicate(timeout=WAIT_S)
            assert client.returncode == 0, said
            assert len(server.requests) == 3, "the killed agent sent no more, and the task ran once after it"
    (row,) = fleet.rows()
    assert (row["status"], row["attempt"], row["attempts"]) == ("succeeded", 2, 2)
    assert fleet.branch_text("one") == "x = 2\n"
    assert fleet.left_over() == []


def test_a_client_that_leaves_and_one_that_comes_back_run_a_task_once(fleet: Fleet) -> None:
    pausing = Step(calls=EDIT.calls, pause_after=1)
    with ModelServer([pausing, DONE, EDIT, DONE]) as server:
        served = fleet.with_server(server)
        with cluster_for(served) as cluster:
            cluster.add_worker()
            served.write({"id": "one", "prompt": "go"}, {"id": "two", "prompt": "go"})
            options = ("--yes", "--cluster", str(cluster.scheduler_file))
            client = served.start(*options)
            server.wait_for(lambda: len(server.requests) == 1)
            client.kill()
            client.communicate(timeout=WAIT_S)

            again = served.start(*options)
            assert again.stderr is not None
            assert again.stderr.readline() == "two: attempt 1 was submitted\n"
            server.resume()
            _, said = again.communicate(timeout=WAIT_S)

            assert again.returncode == 0, said
            assert len(server.requests) == 4, said
    assert [(row["status"], row["attempts"]) for row in fleet.rows()] == [("succeeded", 1)] * 2
    assert fleet.branch_text("one") == "x = 2\n"


def test_two_clients_at_a_time_run_each_task_once(fleet: Fleet) -> None:
    with ModelServer(edits) as server, cluster_for(served := fleet.with_server(server)) as cluster:
        cluster.add_worker()
        cluster.add_worker()
        served.write(*({"id": f"t{number}", "prompt": "go"} for number in range(4)))
        options = ("--yes", "--cluster", str(cluster.scheduler_file))
        clients = [served.start(*options, "--output", str(fleet.folder / f"{name}.jsonl")) for name in ("a", "b")]
        said = [client.communicate(timeout=2 * WAIT_S)[1] for client in clients]

        assert [client.returncode for client in clients] == [0, 0], said
        assert len(server.requests) == 8
    a, b = ((fleet.folder / f"{name}.jsonl").read_text().replace(f"{name}.patches", "") for name in ("a", "b"))
    assert a == b


def test_a_signal_to_the_client_ends_the_agents_on_the_workers(fleet: Fleet, lifeline: Lifeline) -> None:
    with ModelServer([shell(lifeline.command)]) as server:
        served = fleet.with_server(server)
        with cluster_for(served) as cluster:
            worker = cluster.add_worker()
            served.write({"id": "one", "prompt": "go"}, {"id": "two", "prompt": "go"})
            client = served.start("--yes", "--cluster", str(cluster.scheduler_file))
            lifeline.wait_until_up()

            client.send_signal(signal.SIGINT)

            lifeline.wait_until_gone()
            _, said = client.communicate(timeout=WAIT_S)
            assert client.returncode == 130, said
            assert "Traceback" not in said
            assert is_alive(worker.pid)
            assert len(server.requests) == 1
    assert [row["status"] for row in fleet.rows()] == ["not_run", "not_run"]


def test_a_cluster_that_does_not_answer_is_told(fleet: Fleet) -> None:
    fleet.write({"id": "one", "prompt": "go"})
    code, said = fleet.run("--cluster", "tcp://127.0.0.1:1")
    assert (code, "--cluster: no Dask scheduler answers at tcp://127.0.0.1:1" in said) == (1, True), said
