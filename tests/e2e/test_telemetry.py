"""Telemetry of the real command at a real collector on the loopback, and of the daemon in its log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.collector import collector
from tests.e2e.command_line import clean_environment, run, script, tool
from tests.e2e.raw import raw_client

PROMPT = "please change the colour of the shed"

KEY = "sk-ant-api03-0123456789abcdefghijklmnop"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_turn_arrives_at_the_collector_that_the_environment_names(tmp_path: Path, home: Path) -> None:
    model = script(tmp_path, tool("list_files", path="."), {"text": "Done."})
    with collector() as found:
        environment = clean_environment(
            home, OTEL_EXPORTER_OTLP_ENDPOINT=found.url, OTEL_EXPORTER_OTLP_HEADERS="api-key=secret"
        )
        done = run("run", "--model", model, PROMPT, cwd=tmp_path, environment=environment)

    assert (done.returncode, done.stdout) == (0, "Done.\n")
    spans = found.spans()
    assert set(spans) == {"invoke_agent default", "chat scripted", "execute_tool list_files"}
    assert [name for name, parent in spans.items() if not parent] == ["invoke_agent default"]
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"} <= found.metrics()
    assert found.keys == {"secret"}
    assert not any(PROMPT.encode() in body for bodies in found.bodies.values() for body in bodies)


def test_a_collector_that_never_answers_holds_nothing_up(tmp_path: Path, home: Path) -> None:
    never = threading.Event()
    with collector(holds=never) as found:
        environment = clean_environment(home, OTEL_EXPORTER_OTLP_ENDPOINT=found.url, OTEL_EXPORTER_OTLP_TIMEOUT="1000")
        model = script(tmp_path, {"text": "Done."})
        done = run("run", "--model", model, PROMPT, cwd=tmp_path, environment=environment)
        never.set()

    assert (done.returncode, done.stdout) == (0, "Done.\n")


# The log


def log_of(home: Path) -> str:
    (file,) = home.rglob("pygent-ls.log")
    return file.read_text()


def a_run(tmp_path: Path, home: Path, model: str) -> None:
    done = run("run", "--model", model, PROMPT, cwd=tmp_path, environment=clean_environment(home))
    assert done.returncode == 0, done.stderr


def a_daemon(tmp_path: Path, home: Path, model: str) -> None:
    folder = home.parent / "project"
    folder.mkdir()
    with raw_client(folder, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(folder, clientInfo={"name": "Some Editor", "version": "1.2"})
        client.request(1, "pygent/turn/start", {"prompt": PROMPT})
        assert client.finish() == 0


@pytest.mark.parametrize("use", [a_run, a_daemon])
def test_the_log_tells_the_story_without_what_was_said(
    tmp_path: Path, home: Path, use: Callable[[Path, Path, str], None]
) -> None:
    (tmp_path / "file.txt").write_text(f"{KEY}\nlines of a file\n")
    (tmp_path / "project.txt").write_text("lines of a file\n")
    model = script(tmp_path, tool("read_file", path="file.txt"), {"text": "An answer with words."})

    use(tmp_path, home, model)

    log = log_of(home)
    for what in ("starts: pygent-ls ", "turn turn-", " ends: end_turn after ", "ends with exit code 0"):
        assert what in log
    assert ("the client Some Editor 1.2 starts" in log) == (use is a_daemon)
    for what in (PROMPT, KEY, "lines of a file", "An answer"):
        assert what not in log


def test_the_doctor_tells_where_the_log_is_and_where_telemetry_goes(tmp_path: Path, home: Path) -> None:
    environment = clean_environment(home, OTEL_EXPORTER_OTLP_ENDPOINT="http://me:hunter22@host:4318")

    report = run("doctor", cwd=tmp_path, environment=environment).stdout

    assert f"log       {home / 'state' / 'pygent-ls' / 'log' / 'pygent-ls.log'}" in report
    assert "traces, metrics to http://***@host:4318" in report
