"""`pygent-ls fleet` on this machine: real repositories, real agents in processes of their own, signals."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from tests.e2e.command_line import WAIT_S, Lifeline, script, tool
from tests.fleet.fleet_command import DONE, EDIT, EDITED, Fleet, shell
from tests.model_server import ModelServer, Received, Step
from tests.tools.repository import git

EDITS = ("--permission-mode", "accept_edits")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet.within(tmp_path)


@pytest.fixture
def lifeline(tmp_path: Path) -> Generator[Lifeline]:
    line = Lifeline(tmp_path / "lifeline")
    yield line
    line.close()


def wait_for_text(file: Path) -> None:
    """Return when a program has written a line to a file."""
    deadline = monotonic() + WAIT_S
    while not (file.is_file() and file.read_bytes().endswith(b"\n")):
        assert monotonic() < deadline, f"{file} stays empty"
        Event().wait(0.05)


def test_each_task_has_a_branch_and_a_patch_or_for_a_url_a_patch(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "home" / ".gitconfig").write_text("[user]\nuseConfigOnly = true\n")  # no committer for a clone
    edit = script(tmp_path, EDITED, {"text": "Done."})
    made = script(tmp_path, tool("create_file", path="new.py", content="y = 1\n"), {"text": "Made."})
    fleet.write(
        {"id": "edit", "prompt": "Change x.\nPlease.", "model": edit},
        {"id": "make", "prompt": "Make y.", "model": made},
        {"id": "look", "prompt": "Look.", "model": script(tmp_path, {"text": "I see."})},
        {"id": "cloned", "prompt": "Change x.", "model": edit, "repository": fleet.project.as_uri()},
        {"id": "part", "prompt": "Look.", "model": made, "repository": "project/part"},
    )

    code, said = fleet.run(*EDITS, "--workers", "2")

    assert code == 0, said
    rows = {row["id"]: row for row in fleet.rows()}
    assert list(rows) == ["edit", "make", "look", "cloned", "part"]
    shown = {
        name: (row["status"], row["result"], row["branch"], row["files"], row["attempts"]) for name, row in rows.items()
    }
    assert shown == {
        "edit": ("succeeded", "Done.", "pygent/edit", ["app.py"], 1),
        "make": ("succeeded", "Made.", "pygent/make", ["new.py"], 1),
        "look": ("succeeded", "I see.", None, [], 1),
        "cloned": ("succeeded", "Done.", None, ["app.py"], 1),
        "part": ("succeeded", "Made.", "pygent/part", ["part/new.py"], 1),
    }
    assert (fleet.branch_text("edit"), fleet.branch_text("make", "new.py")) == ("x = 2\n", "y = 1\n")
    assert git(fleet.project, "log", "-1", "--format=%s", "pygent/edit") == "Change x. Please.\n"
    assert git(fleet.project, "rev-parse", "pygent/edit").strip() == rows["edit"]["commit"]
    assert git(fleet.project, "rev-parse", "main").strip() == rows["edit"]["base"]
    assert git(fleet.project, "status", "--porcelain") == ""
    git(fleet.project, "apply", rows["cloned"]["patch"])
    assert (fleet.project / "app.py").read_text() == "x = 2\n"
    assert rows["look"]["patch"] is None
    assert fleet.left_over() == []


def test_the_same_command_again_runs_only_what_has_no_result(fleet: Fleet) -> None:
    def answer(request: Received, _number: int) -> Step:
        prompt = request.texts("user")[0]
        if "second" in prompt and not is_well:
            return Step(status=401, error="The key is wrong.")
        return DONE if request.messages[-1]["role"] == "tool" else EDIT

    is_well = False
    with ModelServer(answer) as server:
        served = fleet.with_server(server)
        served.write({"id": "first", "prompt": "the first"}, {"id": "second", "prompt": "the second"})
        code, said = served.run(*EDITS, "--retries", "1")
        assert code == 1, said
        first, second = served.rows()
        assert (first["status"], first["branch"]) == ("succeeded", "pygent/first")
        assert (second["status"], second["attempts"], second["branch"]) == ("failed", 2, None)
        assert "key" in second["error"]
        n_requests = len(server.requests)

        is_well = True
        assert served.run(*EDITS, "--retries", "1")[0] == 1
        assert len(server.requests) == n_requests, "the retries are used up"
        code, said = served.run(*EDITS, "--retries", "2")

        assert (code, len(server.requests)) == (0, n_requests + 2), said
        assert served.rows()[0] == first
        assert (served.rows()[1]["status"], served.rows()[1]["attempts"]) == ("succeeded", 3)
        git(served.project, "branch", "-D", "pygent/first")
        assert served.run(*EDITS)[0] == 0
        assert "pygent/first" not in git(served.project, "branch"), "the user has deleted it"


def test_a_failed_attempt_leaves_nothing_for_the_next_one(fleet: Fleet) -> None:
    steps = [
        shell("echo spoiled > app.py; echo left > left.txt"),
        Step(status=401, error="no"),
        shell("cat app.py; ls"),
        DONE,
    ]
    with ModelServer(steps) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        code, said = served.run("--yes", "--retries", "1")

        assert code == 0, said
        seen = server.requests[-1].messages[-1]["content"]
        assert "x = 1" in str(seen)
        assert "left.txt" not in str(seen)
    assert fleet.rows()[0]["attempts"] == 2
    assert fleet.left_over() == []


def test_as_many_agents_work_at_a_time_as_there_are_workers(fleet: Fleet) -> None:
    with ModelServer(lambda _request, _number: Step(text="Done.", pause_after=1)) as server:
        served = fleet.with_server(server)
        served.write(*({"id": f"t{number}", "prompt": "go"} for number in range(4)))
        process = served.start("--workers", "3")
        server.wait_for(lambda: len(server.requests) == 3)
        assert server.answered_s == []

        server.resume()

        server.wait_for(lambda: len(server.requests) == 4)
        assert len(server.answered_s) == 1, "the fourth began when the first had ended"
        for _ in range(3):
            server.resume()
        _, said = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, said


# The end before the end


def test_a_killed_client_takes_its_agents_with_it_and_the_next_one_continues(fleet: Fleet, lifeline: Lifeline) -> None:
    with ModelServer([shell(lifeline.stubborn_command), EDIT, DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        process = served.start("--yes")
        lifeline.wait_until_up()

        process.kill()

        lifeline.wait_until_gone()
        process.communicate(timeout=WAIT_S)
        code, said = served.run("--yes", "--lease", "1")
        assert code == 0, said
        assert "one: attempt 1 was lost with its worker" in said
    (row,) = fleet.rows()
    assert (row["status"], row["attempt"], row["attempts"], row["branch"]) == ("succeeded", 2, 2, "pygent/one")
    assert fleet.branch_text("one") == "x = 2\n"
    assert fleet.left_over() == []


def test_an_attempt_that_stood_still_for_a_lease_is_replaced_and_stops_when_it_goes_on(fleet: Fleet) -> None:
    with ModelServer([Step(text="Late.", pause_after=1), EDIT, DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        first = served.start("--yes")
        server.wait_for(lambda: len(server.requests) == 1)
        first.send_signal(signal.SIGSTOP)

        code, said = served.run("--yes", "--lease", "1")

        first.send_signal(signal.SIGCONT)
        assert code == 0, said
        _, firsts = first.communicate(timeout=WAIT_S)
        assert first.returncode == 0, firsts
        ended = json.loads((fleet.ledger / "tasks" / "one" / "attempts" / "1" / "result.json").read_text())
        assert ended["outcome"] == "superseded"
        server.wait_for(lambda: server.disconnects == 1)
        assert len(server.requests) == 3
    (row,) = fleet.rows()
    assert (row["result"], row["attempt"], row["attempts"]) == ("Done.", 2, 2)
    assert fleet.left_over() == []


def test_a_late_result_of_a_replaced_attempt_counts_if_it_is_the_first(fleet: Fleet) -> None:
    with ModelServer([Step(text="Late.", pause_after=1), Step(text="Never said.", pause_after=1)]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        first = served.start("--yes")
        server.wait_for(lambda: len(server.requests) == 1)
        first.send_signal(signal.SIGSTOP)
        server.resume()
        wait_for_text(fleet.ledger / "tasks" / "one" / "attempts" / "1" / "answer.json")
        second = served.start("--yes", "--lease", "1")
        server.wait_for(lambda: len(server.requests) == 2)

        first.send_signal(signal.SIGCONT)

        said = [each.communicate(timeout=WAIT_S)[1] for each in (first, second)]
        assert [first.returncode, second.returncode] == [0, 0], said
        assert "one: attempt 2 superseded" in said[1]
        server.wait_for(lambda: server.disconnects == 1)
    (row,) = fleet.rows()
    assert (row["result"], row["attempt"], row["attempts"]) == ("Late.", 1, 2)
    assert fleet.left_over() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_agents_and_the_next_run_continues(
    fleet: Fleet, lifeline: Lifeline, number: signal.Signals
) -> None:
    with ModelServer([shell(lifeline.command), EDIT, DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"}, {"id": "two", "prompt": "go"})
        process = served.start("--yes", "--workers", "1")
        lifeline.wait_until_up()

        process.send_signal(number)

        lifeline.wait_until_gone()
        _, said = process.communicate(timeout=WAIT_S)
        assert process.returncode == 130, said
        assert "Traceback" not in said
        rows = served.rows()
        assert [(row["status"], row["error"]) for row in rows] == [("not_run", "The fleet was stopped.")] * 2
        assert fleet.left_over() == []
    with ModelServer(lambda request, _: DONE if request.messages[-1]["role"] == "tool" else EDIT) as server:
        code, said = fleet.with_server(server).run("--yes", "--retries", "0")
    assert code == 0, said
    assert [(row["status"], row["attempts"]) for row in fleet.rows()] == [("succeeded", 2), ("succeeded", 1)]


def test_what_a_client_had_left_to_do_when_it_was_killed_is_done_by_the_next_one(fleet: Fleet) -> None:
    with ModelServer([EDIT, DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        assert served.run("--yes")[0] == 0
        (before,) = fleet.rows()
        for left in (("delivered.json",), ("delivered.json", "accepted.json")):
            for name in left:
                (fleet.ledger / "tasks" / "one" / name).unlink()
            git(fleet.project, "branch", "-D", "pygent/one")

            code, said = served.run("--yes")

            assert code == 0, said
            assert fleet.rows() == [before]
            assert fleet.branch_text("one") == "x = 2\n"
        assert len(server.requests) == 2


def test_a_branch_that_appeared_meanwhile_is_left_alone(fleet: Fleet) -> None:
    paused = Step(calls=EDIT.calls, pause_after=1)
    with ModelServer([paused, DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        process = served.start("--yes")
        server.wait_for(lambda: len(server.requests) == 1)
        git(fleet.project, "branch", "pygent/one")
        server.resume()
        _, said = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, said
    (row,) = fleet.rows()
    assert (row["status"], row["branch"]) == ("succeeded", None)
    assert "The branch pygent/one exists already" in row["error"]
    assert fleet.branch_text("one") == "x = 1\n"
    assert "+x = 2" in Path(row["patch"]).read_text()


def test_a_killed_agent_is_a_failed_attempt(fleet: Fleet) -> None:
    with ModelServer([shell("kill -9 $PPID; sleep 300"), EDIT, DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        code, said = served.run("--yes")
    assert code == 0, said
    assert "one: attempt 1 failed: The agent ended by signal 9 and without a result." in said
    assert fleet.rows()[0]["attempts"] == 2


# Limits


def test_limits_are_not_tried_again(fleet: Fleet, tmp_path: Path) -> None:
    many = script(tmp_path, *[tool("read_file", path="app.py")] * 3, {"text": "never said"})
    fleet.write(
        {"id": "turns", "prompt": "go", "model": many, "max_turns": 1},
        {"id": "time", "prompt": "go", "model": script(tmp_path, tool("shell", command="sleep 300")), "timeout_s": 4},
    )

    code, said = fleet.run("--yes")

    assert code == 1, said
    shown = [(row["status"], row["error"], row["attempts"]) for row in fleet.rows()]
    assert shown == [
        ("failed", "The limit of 1 model calls per turn was reached.", 1),
        ("failed", "The time limit of 4 s was reached.", 1),
    ]


def test_no_attempt_starts_that_could_exceed_the_limit_of_all(fleet: Fleet) -> None:
    with ModelServer(lambda _request, _number: DONE) as server:
        served = fleet.with_server(server)
        served.write(*({"id": f"t{number}", "prompt": "go"} for number in range(3)))
        limits = ("--max-budget-usd", "1", "--max-total-usd", "2.5")
        code, said = served.run(*limits, "--workers", "1", "--model", "openai/gpt-4o-mini")
        assert code == 0, said
        assert all(row["cost_usd"] is not None and row["cost_usd"] < 0.01 for row in served.rows())

        served.write(*({"id": f"u{number}", "prompt": "go"} for number in range(3)))
        code, said = served.run("--max-budget-usd", "1", "--max-total-usd", "1", "--workers", "3")

    assert code == 1, said
    statuses = [row["status"] for row in served.rows()]
    assert statuses == ["failed", "not_run", "not_run"], "a model without a price has no known cost"
    assert served.rows()[1]["error"] == "The limit of --max-total-usd was reached."


# Permission and secrets


def test_what_would_ask_is_denied_and_named(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write({"id": "one", "prompt": "go", "model": script(tmp_path, EDITED, {"text": "I may not."})})

    code, said = fleet.run()

    assert code == 0
    assert "Everything that needs permission will be denied" in said
    (row,) = fleet.rows()
    assert (row["result"], row["permission_denials"], row["branch"]) == ("I may not.", ["edit_file"], None)


def test_commands_need_the_sandbox_unless_the_environment_says_otherwise(fleet: Fleet, tmp_path: Path) -> None:
    outside = tmp_path / "home" / "outside"
    model = script(tmp_path, tool("shell", command=f"echo hi > {outside}"), {"text": "Done."})
    (tmp_path / "home" / "config" / "pygent-ls").mkdir(parents=True)
    (tmp_path / "home" / "config" / "pygent-ls" / "config.toml").write_text('sandbox = "off"\n')
    environment = {name: value for name, value in fleet.environment.items() if name != "PYGENT_SANDBOX"}
    fleet.write({"id": "one", "prompt": "go", "model": model})

    code, said = Fleet(folder=fleet.folder, environment=environment).run("--yes")

    assert (code, outside.exists()) == (0, False), said
    fleet.write({"id": "two", "prompt": "go", "model": model})
    assert fleet.run("--yes")[0] == 0
    assert outside.exists()


def test_the_ledger_holds_no_key(fleet: Fleet) -> None:
    key = "sk-proj-0123456789abcdefghijklmnop"
    with ModelServer([Step(status=401, error=f"Incorrect API key provided: {key}")]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one", "prompt": "go"})
        Fleet(folder=served.folder, environment={**served.environment, "OPENAI_API_KEY": key}).run("--retries", "0")
        assert server.requests[0].headers["authorization"] == f"Bearer {key}"

    files = [each for each in fleet.ledger.rglob("*") if each.is_file()]
    assert {each.name for each in files} >= {"task.json", "result.json", "log.txt", "answer.json", "owner.json"}
    assert [each for each in (*files, fleet.folder / "tasks.results.jsonl") if key.encode() in each.read_bytes()] == []


# Bad usage


def test_a_branch_that_exists_and_a_folder_without_a_repository_are_refused(fleet: Fleet, tmp_path: Path) -> None:
    git(fleet.project, "branch", "pygent/taken")
    fleet.write({"id": "taken", "prompt": "go"}, {"id": "none", "prompt": "go", "repository": str(tmp_path / "home")})

    code, said = fleet.run()

    assert code == 1
    assert "task taken: the branch pygent/taken exists already" in said
    assert "task none: " in said
    assert "is not in a git repository" in said
    assert not list(fleet.ledger.rglob("attempts/*"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--max-total-usd", "1"), "--max-total-usd requires --max-budget-usd"),
        (("--workers", "0"), "invalid number of workers from 1 to 1000 value: '0'"),
        (("--lease", "0.1"), "invalid number of seconds from 1 value: '0.1'"),
        (("--cwd", "/no/such"), "the folder /no/such does not exist"),
        (("--allowed-tools", "shel"), "shel"),
        (("--workers", "2", "--cluster", "tcp://127.0.0.1:1"), "not allowed with"),
    ],
)
def test_bad_usage_is_told_and_exits_with_2(fleet: Fleet, options: tuple[str, ...], problem: str) -> None:
    fleet.write({"prompt": "go"})

    code, said = fleet.run(*options)

    assert (code, problem in said) == (2, True), said
    assert not fleet.ledger.exists()


def test_the_bar_of_a_terminal_counts_the_tasks(fleet: Fleet, tmp_path: Path) -> None:
    from tests.e2e.command_line import on_terminal

    fleet.write({"id": "one", "prompt": "go", "model": script(tmp_path, {"text": "Hi."})})

    with on_terminal(
        "fleet", str(fleet.folder / "tasks.jsonl"), environment=fleet.environment, columns=120
    ) as terminal:
        terminal.sees("1 of 1 succeeded")
        assert terminal.ends() == 0


def test_options_reach_each_agent(fleet: Fleet) -> None:
    with ModelServer([DONE]) as server:
        served = fleet.with_server(server)
        served.write({"id": "one"})
        more = ("--append-system-prompt=--Be brief.", "--tools=read_file", "--tools=grep_search")
        code, said = served.run("--prompt=-Look.", *more)
        assert code == 0, said
        (request,) = server.requests
    assert "--Be brief." in json.dumps(request.messages[0])
    assert "-Look." in request.texts("user")[0]
    assert sorted(each["function"]["name"] for each in request.body["tools"]) == ["grep_search", "read_file"]


def test_a_program_that_a_killed_parent_left_at_the_gate_does_not_start(tmp_path: Path) -> None:
    from pygent_ls.fleet.agent_process import GATE

    (tmp_path / "prompt").write_text("hi")
    started = ["/bin/sh", "-c", GATE, "sh", str(tmp_path / "prompt"), "cat"]
    assert subprocess.run(started, input=b"", capture_output=True, timeout=WAIT_S, check=False).stdout == b""
    assert subprocess.run(started, input=b"go\n", capture_output=True, timeout=WAIT_S, check=True).stdout == b"hi"
