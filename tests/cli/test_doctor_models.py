"""What the doctor says of every provider that litellm knows, of the sandbox, and of a call of the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pygent_ls.cli.doctor import Surveyed, doctor
from pygent_ls.cli.doctor.model import SIGN_IN, FoundModel, ModelSurvey
from pygent_ls.config.layers import load
from pygent_ls.config.sources import environment_layer
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.providers.litellm_providers import NAMES, has_requirements, key_names
from tests.llm.saved import SavedInMemory
from tests.model_server import Call, ModelServer, Received, Step

Examine = Callable[..., tuple[str, int]]


@pytest.fixture(autouse=True)
def no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set but where programs and files are; litellm reads the process's own environment."""
    for name in set(os.environ) - {"PATH", "LANG"}:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def examine(tmp_path: Path) -> Examine:
    def run(
        model: str,
        environment: Mapping[str, str] | None = None,
        *,
        programs: Mapping[str, str] | None = None,
        saved: Mapping[str, str] | None = None,
        calls: bool = False,
    ) -> tuple[str, int]:
        found = {"rg": "/bin/true", **(programs or {})}
        surveyed = Surveyed(
            loaded=load([environment_layer(environment or {})]),
            model=model,
            model_reason="that is how it is",
            environment=environment or {},
            find=found.get,
            user_file=tmp_path / "config.toml",
            state_folder=tmp_path / "state",
            log_file=tmp_path / "pygent-ls.log",
            folder=tmp_path,
            saved=SavedInMemory(saved or {}),
            calls=calls,
        )
        return doctor(surveyed)

    return run


def find(model: str, tmp_path: Path) -> FoundModel:
    return ModelSurvey(model, model, load([]), {}, SavedInMemory({}), tmp_path).find()


def row(report: str, title: str, name: str) -> str:
    lines = report.split(f"{title}\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return next((line.strip()[len(name) :].strip() for line in lines if line.strip().startswith(f"{name} ")), "")


# Providers


def test_of_no_provider_that_needs_a_key_it_is_said_that_a_turn_can_run(tmp_path: Path) -> None:
    """One process walks all names, with nothing set."""
    unnamed: list[str] = []
    for name in sorted(NAMES):
        found, known = find(f"{name}/x", tmp_path), provider_named(name)
        if name in SIGN_IN:
            is_right = bool(found.unknown)
        elif known is not None:
            is_right = known.key_variables[0] in found.problem if known.needs_key else "No key" not in found.problem
        elif has_requirements(name):
            is_right = key_names(name)[0] in found.problem or bool(found.problem and "pip install" in found.problem)
        else:
            is_right = bool(found.problem or found.unknown)
        if not is_right:
            unnamed.append(f"{name}: {found}")

    assert unnamed == []


@pytest.mark.parametrize(
    ("model", "variables"),
    [
        ("cohere/command-a", ["COHERE_API_KEY"]),
        ("bedrock/anthropic.claude-v2", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]),
        ("azure/gpt-5", ["AZURE_API_KEY", "AZURE_API_BASE"]),
        ("replicate/meta/llama", ["REPLICATE_API_KEY"]),
        ("huggingface/Qwen/Qwen3", ["HUGGINGFACE_API_KEY"]),
        ("perplexity/sonar", ["PERPLEXITYAI_API_KEY"]),
        ("voyage/voyage-3", ["VOYAGE_API_KEY"]),
        ("gemini/gemini-pro-latest", ["GEMINI_API_KEY"]),
    ],
)
def test_the_variables_that_are_missing_are_named(examine: Examine, model: str, variables: list[str]) -> None:
    report, code = examine(model)

    assert code == 1
    obstacles = report.split("A turn cannot run\n")[1]
    assert all(variable in obstacles for variable in variables)
    assert "A turn can run." not in report


def test_azure_with_its_key_still_wants_its_address(examine: Examine) -> None:
    report, code = examine("azure/gpt-5", {"AZURE_API_KEY": "k"})
    assert "Set the environment variable AZURE_API_BASE" in report
    assert code == 1

    report, code = examine("azure/gpt-5", {"AZURE_API_KEY": "k", "AZURE_API_BASE": "https://mine.example"})
    assert report.endswith("\nA turn can run.\n")
    assert code == 0


@pytest.mark.parametrize("model", ["xinference/x", "oci/x", "github_copilot/gpt-5"])
def test_what_cannot_be_told_is_said_so(examine: Examine, model: str) -> None:
    report, code = examine(model)

    assert code == 0
    assert "A turn can run." not in report
    assert "It is unknown whether a turn can run\n" in report
    assert "Run `pygent-ls doctor --call` to try it" in report


def test_credentials_of_amazon_may_lie_in_the_home_folder(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\n")

    report, _ = examine("bedrock/anthropic.claude-v2")

    assert "may find its credentials in your home folder" in report.split("It is unknown whether a turn can run\n")[1]


def test_a_table_of_a_provider_gives_its_address_and_key(examine: Examine) -> None:
    tables = (
        '{"acme": {"api_base": "https://acme.example/v1", "api_key_env": "MINE", "extra_headers": {"X-Team": "blau"}}}'
    )
    environment = {"PYGENT_PROVIDERS": tables, "MINE": "opensesame"}

    report, code = examine("acme/model", environment)

    assert code == 0
    assert row(report, "Model", "address") == "https://acme.example/v1"
    assert row(report, "Model", "key") == "MINE"
    assert "blau" not in report
    assert "opensesame" not in report

    report, code = examine("acme/model", {"PYGENT_PROVIDERS": tables})
    assert "Set the environment variable MINE" in report
    assert code == 1


def test_it_is_said_that_a_key_was_saved_and_never_what_it_is(examine: Examine) -> None:
    for model in ("groq/x", "gemini/x", "perplexity/x"):
        provider = model.partition("/")[0]

        report, code = examine(model, saved={provider: "opensesame"})

        assert code == 0
        assert row(report, "Model", "key") == "saved by pygent-ls setup"
        assert "opensesame" not in report


def test_the_other_models_of_the_settings_are_judged_by_their_own_keys(examine: Examine) -> None:
    environment = {
        "OPENAI_API_KEY": "k",
        "PYGENT_FALLBACK_MODELS": "anthropic/claude, openai/two",
        "PYGENT_COMPACTION_MODEL": "groq/small",
    }
    report, code = examine("openai/one", environment)

    assert code == 0
    section = report.split("Other models\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in section] == ["fallback", "fallback", "compaction.model"]
    assert "Set the environment variable ANTHROPIC_API_KEY" in section[0]
    assert section[1].endswith("openai/two: nothing is missing")
    assert "GROQ_API_KEY" in section[2]


def test_the_model_that_completes_is_judged_with_its_interface(examine: Examine) -> None:
    keys = {"OPENAI_API_KEY": "k", "MISTRAL_API_KEY": "k"}
    _, code = without, _ = examine("openai/one", keys)
    assert code == 0
    assert "Inline completion" not in without
    report, _ = examine("openai/one", {**keys, "PYGENT_COMPLETION_MODEL": "mistral/codestral-latest"})
    assert row(report, "Inline completion", "interface") == "fim"
    assert row(report, "Inline completion", "state") == "nothing is missing"
    report, _ = examine("openai/one", {**keys, "PYGENT_COMPLETION_MODEL": "openai/gpt"})
    assert row(report, "Inline completion", "interface") == "chat, which is slower"
    report, _ = examine("openai/one", {**keys, "PYGENT_COMPLETION_MODEL": "deepseek/deepseek-chat"})
    assert "DEEPSEEK_API_KEY" in row(report, "Inline completion", "state")


# The sandbox


def bwrap(folder: Path, script: str) -> dict[str, str]:
    file = folder / "bwrap"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return {"bwrap": str(file)}


@pytest.mark.parametrize(
    ("script", "mode", "said"),
    [
        ("exit 0", "auto", "works: commands run in it, without network"),
        ("echo 'no user namespaces' >&2; exit 1", "auto", "installed but not working: "),
        ("echo 'no user namespaces' >&2; exit 1", "require", "so no command runs"),
        ("exit 0", "off", "off: disabled by the setting `sandbox`"),
        (None, "auto", "none: bubblewrap was not found; install the package bubblewrap"),
        (None, "require", 'the setting `sandbox` is "require", so no command runs'),
    ],
)
def test_whether_the_sandbox_works_is_tried(
    examine: Examine, tmp_path: Path, script: str | None, mode: str, said: str
) -> None:
    programs = bwrap(tmp_path, script) if script else {}

    report, code = examine("offline/rules", {"PYGENT_SANDBOX": mode}, programs=programs)

    assert said in row(report, "Sandbox", "commands")
    assert ("no user namespaces" in report) is (script is not None and "echo" in script)
    assert code == 0


# Prices


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/gpt-4o", "litellm 1."),
        ("gpt-4o", "litellm 1."),
        ("litellm/openai/gpt-4o", "litellm 1."),
        ("openrouter/openrouter/auto", "the provider reports it with each answer"),
        ("moonshot/kimi-k3.1-pro", "pygent-ls table, docs."),
        ("openai/nobody", ""),
    ],
)
def test_it_says_where_a_price_comes_from(examine: Examine, model: str, said: str) -> None:
    report, _ = examine(model, {"OPENAI_API_KEY": "k"})

    assert row(report, "Model", "price from").startswith(said)
    assert bool(said) == ("price from" in report)


# A call


def test_a_call_that_is_answered_says_how_long_it_took_and_what_it_cost(examine: Examine) -> None:
    with ModelServer([Step(text="ready", usage=(120, 3))]) as server:
        environment = {"PYGENT_API_BASE": server.url, "OPENAI_API_KEY": "k"}
        report, code = examine("openai/gpt-4o", environment, calls=True)

    assert code == 0
    call = row(report, "Model", "call")
    assert call.startswith("answered in ")
    assert call.endswith("s, 120 tokens in, 3 out, $0.0003")
    assert report.endswith("\nA turn can run.\n")
    (request,) = server.requests
    assert len(request.body["tools"]) == 1
    assert request.body["max_tokens"] == 1024


def test_a_model_that_calls_the_tool_has_answered(examine: Examine) -> None:
    with ModelServer([Step(calls=(Call(name="read_file", arguments={"path": "a"}),))]) as server:
        report, code = examine("openai/one", {"PYGENT_API_BASE": server.url}, calls=True)

    assert code == 0
    assert row(report, "Model", "call").startswith("answered in ")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step(status=401, error="wrong key"), "did not accept the API key"),
        (Step(status=429, error="slow down"), "Rate limit reached at"),
        (Step(status=404, error="no such model"), "Check the setting `model`, here openai/one"),
        (Step(text=""), "The answer was empty"),
        (Step(raw=("text/event-stream", "")), "closed the connection"),
    ],
    ids=["key", "limit", "model", "empty", "broken"],
)
def test_a_call_that_fails_says_why_and_what_to_do(examine: Examine, step: Step, said: str) -> None:
    step = replace(step, usage=None)
    with ModelServer(lambda _, __: step) as server:
        environment = {"PYGENT_API_BASE": server.url, "OPENAI_API_KEY": "opensesame-0123456789"}
        report, code = examine("openai/one", environment, calls=True)

    assert code == 1
    assert said in row(report, "Model", "call")
    assert said in report.split("A turn cannot run\n")[1]
    assert len(server.requests) == 1, "nothing is repeated"
    assert "opensesame" not in report


def test_a_server_that_takes_no_tools_is_found_out(examine: Examine) -> None:
    def answer(request: Received, _: int) -> Step:
        return Step(status=400, error="one does not support tools") if "tools" in request.body else Step(text="ready")

    with ModelServer(answer) as server:
        environment = {"PYGENT_API_BASE": server.url, "PYGENT_TEXT_TOOL_CALLS": "off"}
        report, code = examine("openai/one", environment, calls=True)

    assert code == 1
    assert "does not support tools" in report


def test_without_a_key_nothing_is_called(examine: Examine) -> None:
    report, code = examine("openai/one", calls=True)

    assert code == 1
    assert row(report, "Model", "call") == ""
    assert "Set the environment variable OPENAI_API_KEY" in report


def test_a_call_settles_what_could_not_be_told(examine: Examine) -> None:
    with ModelServer([Step(text="ready")]) as server:
        tables = f'{{"xinference": {{"api_base": "{server.url}"}}}}'
        report, code = examine("xinference/x", {"PYGENT_PROVIDERS": tables}, calls=True)

    assert code == 0
    assert report.endswith("\nA turn can run.\n")
