"""What the doctor says: the model and why, every setting and whence, what is found, and whether a turn can run."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from pygent_ls.cli.doctor import Surveyed, doctor
from pygent_ls.cli.doctor.report import ONLY_OFFLINE
from pygent_ls.config.layer import Layer
from pygent_ls.config.layers import load
from pygent_ls.config.sources import environment_layer, user_layer, workspace_layer

Examine = Callable[..., tuple[str, int]]


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    """Programs that tell their version, by name."""
    found: dict[str, str] = {}
    for name, says in {"rg": "ripgrep 14.1.0", "git": "git version 2.39.5"}.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\necho '{says}'\necho more\n")
        file.chmod(0o755)
        found[name] = str(file)
    return found


@pytest.fixture
def examine(tmp_path: Path, programs: Mapping[str, str]) -> Examine:
    def run(environment: Mapping[str, str] | None = None, layers: Sequence[Layer] = ()) -> tuple[str, int]:
        loaded = load([*layers, environment_layer(environment or {})])
        return doctor(
            Surveyed(
                loaded=loaded,
                model=loaded.settings.model or "offline/rules",
                model_reason="that is how it is",
                environment=environment or {},
                find=programs.get,
                user_file=tmp_path / "config.toml",
                state_folder=tmp_path,
                log_file=tmp_path / "pygent-ls.log",
            )
        )

    return run


def rows(report: str, title: str) -> dict[str, list[str]]:
    """A section's rows: the first column, and what follows it, split at the gaps."""
    lines = report.split(f"{title}\n", 1)[1].split("\n\n", 1)[0].splitlines()
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {first: rest for first, *rest in cells}


# Healthy


def test_with_nothing_set_the_offline_model_runs_and_setup_is_named(examine: Examine, tmp_path: Path) -> None:
    report, code = examine()

    assert code == 0
    assert report.endswith(f"\n{ONLY_OFFLINE}\n")
    assert rows(report, "Model") == {
        "name": ["offline/rules"],
        "why": ["that is how it is"],
        "API": ["none needed"],
    }
    assert rows(report, "Programs") == {
        "rg": [f"ripgrep 14.1.0 ({tmp_path / 'rg'})"],
        "git": [f"git version 2.39.5 ({tmp_path / 'git'})"],
    }
    assert rows(report, "Folders") == {
        "settings": [f"{tmp_path / 'config.toml'} (not created yet)"],
        "state": [str(tmp_path)],
        "log": [f"{tmp_path / 'pygent-ls.log'} (not created yet)"],
    }
    assert set(rows(report, "Versions")) == {"pygent-ls", "litellm", "python"}
    assert "not installed" not in report


def test_each_setting_is_shown_with_its_value_and_where_it_comes_from(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("temperature = 0.5\n")

    report, _ = examine({"PYGENT_MAX_ITERATIONS": "7"}, [user_layer(tmp_path / "config.toml")])

    settings = rows(report, "Settings")
    assert settings["max_iterations"] == ["7", "environment PYGENT_MAX_ITERATIONS"]
    assert settings["temperature"] == ["0.5", f"user file {tmp_path / 'config.toml'}"]
    assert settings["system_prompt"] == ["(none)", "default"]


def test_columns_stand_under_each_other(examine: Examine) -> None:
    report, _ = examine()

    section = report.split("Settings\n", 1)[1].split("\n\n", 1)[0].splitlines()
    assert len({line.rindex("default") for line in section if line.endswith("  default")}) == 1


# The model


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({"PYGENT_MODEL": "openai/gpt"}, "OPENAI_API_KEY"),
        ({"PYGENT_MODEL": "gpt-5"}, "OPENAI_API_KEY"),
        ({"PYGENT_MODEL": "claude-sonnet"}, "ANTHROPIC_API_KEY"),
        ({"PYGENT_MODEL": "openai/gpt", "OPENAI_API_KEY": ""}, "OPENAI_API_KEY"),
        ({"PYGENT_MODEL": "openai/gpt", "OPENAI_API_KEY": "k", "PYGENT_API_KEY_ENV": "MINE"}, "MINE"),
    ],
)
def test_a_model_without_its_key_cannot_run(examine: Examine, environment: Mapping[str, str], variable: str) -> None:
    report, code = examine(environment)

    assert code == 1
    assert f"Set the environment variable {variable} " in report.split("A turn cannot run\n")[1]


@pytest.mark.parametrize(
    "environment",
    [
        {"PYGENT_MODEL": "openai/gpt", "OPENAI_API_KEY": "k"},
        {"PYGENT_MODEL": "openai/gpt", "MINE": "k", "PYGENT_API_KEY_ENV": "MINE"},
        {"PYGENT_MODEL": "openai/local", "PYGENT_API_BASE": "http://gateway.example:8080/v1"},
        {"PYGENT_MODEL": "openai/local", "OPENAI_BASE_URL": "http://gateway.example:8080/v1"},
        {"PYGENT_MODEL": "perplexity/sonar", "PERPLEXITYAI_API_KEY": "k"},
    ],
)
def test_a_model_that_has_its_key_or_may_need_none_can_run(examine: Examine, environment: Mapping[str, str]) -> None:
    report, code = examine(environment)

    assert code == 0
    assert report.endswith("\nA turn can run.\n")


@pytest.mark.parametrize("variable", ["OLLAMA_API_BASE", "PYGENT_API_BASE"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_has_to_answer(examine: Examine, variable: str, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://{host}:{server.getsockname()[1]}/v1"
        environment = {"PYGENT_MODEL": "ollama_chat/llama", variable: address}
        answered = examine(environment)
    refused = examine(environment)

    assert (answered[1], refused[1]) == (0, 1)
    assert answered[0].endswith("\nA turn can run.\n")
    assert f"No server answers at {address}. Start it" in refused[0].split("A turn cannot run\n")[1]


@pytest.mark.parametrize(
    ("model", "adapter"),
    [
        ("anthropic/claude-sonnet-5-5", "Anthropic's Messages API (built in)"),
        ("groq/openai/gpt-oss-120b", "chat completions API (built in)"),
        ("gpt-4o", "chat completions API (built in)"),
        ("gemini/gemini-pro-latest", "litellm"),
        ("litellm/openai/gpt-4o", "litellm"),
    ],
)
def test_it_is_said_through_what_the_model_is_called(examine: Examine, model: str, adapter: str) -> None:
    report, _ = examine({"PYGENT_MODEL": model})

    assert rows(report, "Model")["API"] == [adapter]


def test_a_script_that_can_be_played_can_run(examine: Examine, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"text": "hi"}))

    assert examine({"PYGENT_MODEL": f"scripted:{script}"})[1] == 0


def test_a_program_can_be_the_model_where_it_is_installed(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    tables = {"toy": {"command": [sys.executable]}, "no": {"command": ["no-such"]}}
    toy = Layer(name="config.toml", values={"cli_models": tables})
    report, code = examine({"PYGENT_MODEL": "cli:toy"}, [toy])
    assert f"the program {sys.executable}, run for each answer, outside the sandbox" in report
    assert code == 0

    report, code = examine({"PYGENT_MODEL": "cli:no"}, [toy])
    assert "the program 'no-such' is not installed" in report
    assert code == 1

    monkeypatch.chdir(Path(sys.executable).parents[1])
    report, code = examine({"PYGENT_MODEL": "cli:toy"}, [toy])
    assert "Programs in the workspace are not run." in report
    assert code == 1


def test_a_script_that_is_missing_or_broken_cannot(examine: Examine, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    missing, missing_code = examine({"PYGENT_MODEL": f"scripted:{script}"})
    script.write_text('{"text": "hi"}\n{"text": 5}\n')
    broken, broken_code = examine({"PYGENT_MODEL": f"scripted:{script}"})

    _, nameless_code = examine({"PYGENT_MODEL": "scripted:"})

    assert (missing_code, broken_code, nameless_code) == (1, 1, 1)
    assert f"{script} cannot be read" in missing.split("A turn cannot run\n")[1]
    assert f"{script}, line 2: " in broken.split("A turn cannot run\n")[1]


# What is missing or wrong


def test_without_ripgrep_no_turn_can_run(examine: Examine, programs: dict[str, str]) -> None:
    del programs["rg"]

    report, code = examine()

    assert code == 1
    assert rows(report, "Programs")["rg"] == ["not found"]
    assert "rg (ripgrep) was not found" in report.split("A turn cannot run\n")[1]


def test_without_git_a_turn_can_run(examine: Examine, programs: dict[str, str]) -> None:
    del programs["git"]

    report, code = examine()

    assert code == 0
    assert rows(report, "Programs")["git"] == ["not found"]


def test_a_program_that_does_not_run_is_said(examine: Examine, programs: Mapping[str, str]) -> None:
    Path(programs["git"]).chmod(0o644)

    report, _ = examine()

    assert "does not run: " in rows(report, "Programs")["git"][0]


def test_a_setting_that_is_wrong_fails_though_a_turn_can_run(examine: Examine) -> None:
    report, code = examine({"PYGENT_MODEL": "offline/rules", "PYGENT_MAX_ITERATIONS": "many"})

    assert code == 1
    assert "  - environment: PYGENT_MAX_ITERATIONS = many: expected a whole number, 0 or more\n" in report
    assert rows(report, "Settings")["max_iterations"] == ["50", "default"]
    assert report.endswith("\nA turn can run.\n")


def test_what_a_workspace_asks_for_without_trust_is_told_and_is_no_failure(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / ".pygent").mkdir()
    (tmp_path / ".pygent" / "config.toml").write_text('model = "openai/theirs"')

    report, code = examine(layers=[workspace_layer(tmp_path)])

    assert code == 0
    assert "Ignored until you trust the workspace (editors ask; or run `pygent-ls trust`)\n" in report
    assert "model = openai/theirs: needs trust" in report


# What it does not do


def test_secrets_are_not_shown(examine: Examine) -> None:
    report, _ = examine({"PYGENT_EXTRA_HEADERS": '{"X-Auth": "opensesame"}', "PYGENT_API_KEY_ENV": "sk-opensesame"})

    assert "opensesame" not in report
    assert rows(report, "Settings")["extra_headers"] == ["***", "environment PYGENT_EXTRA_HEADERS"]


def test_the_report_is_plain_text_that_any_terminal_can_take(examine: Examine) -> None:
    report, _ = examine({"PYGENT_SYSTEM_PROMPT": "\x1b[31mred\udcff"})

    assert report.replace("\n", "").isprintable()
    assert report.encode("utf-8")


def test_litellm_is_not_loaded_to_tell_its_version(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from pygent_ls.config.layers import load
from pygent_ls.cli.doctor import Surveyed, doctor
folder = Path({str(tmp_path)!r})
environment = {{"OPENAI_API_KEY": "k"}}
survey = Surveyed(
    loaded=load([]),
    model="openai/gpt",
    model_reason="",
    environment=environment,
    find={{"rg": {shutil.which("true")!r}}}.get,
    user_file=folder,
    state_folder=folder,
    log_file=folder,
)
text, code = doctor(survey)
assert code == 0, text
assert not {{"litellm", "mcp", "openai", "aiohttp", "httpx"}} & set(sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)

    assert (run.stderr, run.returncode) == ("", 0)


def test_a_name_of_no_provider_is_found_out(examine: Examine) -> None:
    report, code = examine({"PYGENT_MODEL": "gtp-4o"})
    assert "The provider of the model 'gtp-4o' is unknown" in report
    assert code == 1
