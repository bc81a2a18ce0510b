"""docs/teams.md: its example with a real PostgreSQL and a real LiteLLM proxy, whose upstream is a scripted server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml

from tests.e2e.admin_namespace import Namespace
from tests.e2e.collector import Collector, collector
from tests.e2e.command_line import clean_environment, run
from tests.model_server import Call, ModelServer, Received, Step

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "teams"
PAGE = (ROOT / "docs" / "teams.md").read_text(encoding="utf-8")

WAIT_S = 40.0

pytestmark = pytest.mark.timeout(300)  # the start takes 20 s of a core, which many may share

COST = 1_000 * 0.4e-6 + 200 * 1.6e-6
"""Cost of one answer of `coder` by the prices of `config.yaml`."""


def answer(request: Received, _number: int) -> Step:
    """One tool call for `look`, else a text; each costs the same."""
    looks = request.texts("user")[-1].rstrip().endswith("look") and request.messages[-1]["role"] == "user"
    calls = (Call(name="list_files", arguments={"path": "."}),) if looks else ()
    return Step(text="" if looks else "Done.", calls=calls, usage=(1_000, 200))


@dataclass(frozen=True, kw_only=True)
class Team:
    """The example while it runs."""

    url: str
    keys: Mapping[str, str]
    upstream: ModelServer
    collector: Collector

    def ask(self, path: str, body: Mapping[str, object] | None = None, key: str = "master") -> dict[str, Any]:
        """Return the gateway's answer to the administrator, or to the owner of a key."""
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=WAIT_S)
        headers = {"Authorization": f"Bearer {self.keys[key]}", "Content-Type": "application/json"}
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        answered = json.loads(response.read())
        connection.close()
        assert response.status == 200, answered
        return answered

    def spent(self, user: str) -> float:
        """Return what the gateway has recorded for the key of a user, as its owner sees it."""
        return float(self.ask("/key/info", key=user)["info"]["spend"])


def block(language: str) -> str:
    """Return the page's only block in a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return found


def test_the_prices_of_the_administrators_file_are_those_of_the_gateway() -> None:
    config = yaml.safe_load((EXAMPLE / "config.yaml").read_text(encoding="utf-8"))
    gateways = {
        f"litellm_proxy/{each['model_name']}": {
            "input_usd_per_mtok": pytest.approx(each["model_info"]["input_cost_per_token"] * 1e6),
            "output_usd_per_mtok": pytest.approx(each["model_info"]["output_cost_per_token"] * 1e6),
        }
        for each in config["model_list"]
    }

    assert tomllib.loads(block("toml"))["models"] == gateways


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Team]:
    """The example, for all tests of this module; its configuration has what the page says about OpenTelemetry."""
    folder = tmp_path_factory.mktemp("team")
    config = yaml.safe_load((EXAMPLE / "config.yaml").read_text(encoding="utf-8"))
    config["litellm_settings"] |= yaml.safe_load(block("yaml"))["litellm_settings"]
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    with ModelServer(answer) as upstream, collector() as found:
        own = {"UPSTREAM_URL": upstream.url, "UPSTREAM_KEY": "sk-upstream", "NO_PROXY": "*"}
        environment = clean_environment(folder, OTEL_BSP_SCHEDULE_DELAY="100", **own, **exports(found))
        command = [sys.executable, str(EXAMPLE / "gateway.py"), "--port", "0", "--config", str(file)]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline().split() for _ in ("gateway", "master", "ada", "ben")]
            told = {line[0]: line[1] for line in lines}
            yield Team(url=told.pop("gateway"), keys=told, upstream=upstream, collector=found)
        finally:
            process.send_signal(signal.SIGTERM)
            ended = process.wait(WAIT_S)
            process.stdout.close()
    assert ended == 0


def exports(found: Collector) -> dict[str, str]:
    """Return the variables of the page for OpenTelemetry."""
    names = re.findall(r"^export (OTEL_\w+)=(.*)$", PAGE, re.M)
    return {name: value.replace("http://localhost:4318", found.url) for name, value in names}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def turn(
    team: Team, home: Path, key: str, prompt: str = "hi", *, model: str = "litellm_proxy/coder", **variables: str
) -> dict[str, Any]:
    """Return the result of a turn of a user."""
    own = {"LITELLM_PROXY_API_BASE": team.url, "LITELLM_PROXY_API_KEY": key, **variables}
    given = ("run", "--model", model, "--output-format", "json", prompt)
    return json.loads(run(*given, cwd=home.parent, environment=clean_environment(home, **own)).stdout)


def until(is_so: Callable[[], bool]) -> None:
    """Ask again until it is so."""
    end_s = monotonic() + WAIT_S
    while not is_so():
        assert monotonic() < end_s


OTHER_PRICES = json.dumps({"litellm_proxy/coder": {"input_usd_per_mtok": 100.0, "output_usd_per_mtok": 100.0}})


def test_the_gateway_records_the_cost_that_a_turn_reports(team: Team, home: Path) -> None:
    before = team.spent("ada")

    result = turn(team, home, team.keys["ada"], "look", PYGENT_MODELS=OTHER_PRICES)

    assert (result["result"], result["num_turns"]) == ("Done.", 2)
    assert result["total_cost_usd"] == pytest.approx(2 * COST, rel=1e-9)
    until(lambda: team.spent("ada") - before == pytest.approx(result["total_cost_usd"], rel=1e-9))


def test_a_spent_budget_ends_the_turns_of_one_user_alone(team: Team, home: Path) -> None:
    turn(team, home, team.keys["ben"], "look")
    n_requests = len(team.upstream.requests)

    refused = turn(team, home, team.keys["ben"])

    assert refused["subtype"] == "error_during_execution"
    assert re.match(
        r"A budget at litellm_proxy \(422\) is spent: Budget has been exceeded! .*Current cost: 0\.00144\d*, "
        r"Max budget: 0\.001\. Ask the administrator of this gateway, or choose a model of another provider\.$",
        refused["result"],
    )
    assert len(team.upstream.requests) == n_requests
    assert turn(team, home, team.keys["ada"])["result"] == "Done."
    team.ask("/key/update", {"key": team.keys["ben"], "max_budget": 1.0})
    assert turn(team, home, team.keys["ben"])["result"] == "Done."


def test_a_key_that_is_not_accepted_is_told_with_the_gateways_reason(team: Team, home: Path) -> None:
    carol = json.loads(block("json"))
    key = team.ask("/key/generate", carol)["key"]
    assert turn(team, home, key)["result"] == "Done."

    denied = turn(team, home, key, model="litellm_proxy/coder-large")["result"]
    assert denied.startswith("litellm_proxy (403) does not allow litellm_proxy/coder-large with your key: ")
    assert denied.endswith(". Choose another model, or ask the administrator of this gateway.")

    team.ask("/key/block", {"key": key})
    expired = team.ask("/key/generate", {"duration": "0s", "models": ["coder"]})["key"]
    refusals = {key: "Key is blocked", expired: "Expired Key", "sk-unknown": "Invalid proxy server token"}
    for refused, reason in refusals.items():
        told = turn(team, home, refused)["result"]
        assert told.startswith("litellm_proxy (401) did not accept the API key")
        assert reason in told
        assert told.endswith("Check LITELLM_PROXY_API_KEY.")


@pytest.fixture
def managed(team: Team, tmp_path: Path) -> Namespace:
    """A machine with the administrator's file of the page, and a user with settings against it."""
    made = Namespace(tmp_path)
    made.file.write_text(block("toml").replace("https://llm-gateway.example.com", team.url))
    made.variables |= {"LITELLM_PROXY_API_BASE": "http://127.0.0.1:9", "LITELLM_PROXY_API_KEY": team.keys["ada"]}
    return made


def test_the_administrators_file_holds_users_to_the_gateway(team: Team, managed: Namespace) -> None:
    settings = managed.home / "config" / "pygent-ls"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('[providers.litellm_proxy]\napi_base = "http://127.0.0.1:9"')

    done = managed.run("run", "--output-format", "json", "look")
    assert json.loads(done.stdout)["total_cost_usd"] == pytest.approx(2 * COST, rel=1e-9), done.stderr

    n_requests = len(team.upstream.requests)
    refused = managed.run("run", "--model", "openai/gpt-5", "hi", OPENAI_API_KEY="sk-own")
    assert refused.returncode == 1
    assert "litellm_proxy/coder, litellm_proxy/coder-large" in refused.stderr
    keyless = managed.run("run", "hi", LITELLM_PROXY_API_KEY="")
    assert "No key for litellm_proxy. Set the environment variable LITELLM_PROXY_API_KEY" in keyless.stderr
    assert len(team.upstream.requests) == n_requests


def test_a_turn_ends_at_its_own_limit_before_the_budget_of_the_key_is_spent(team: Team, managed: Namespace) -> None:
    n_requests = len(team.upstream.requests)

    done = json.loads(managed.run("run", "--output-format", "json", "--max-budget-usd", "0.0005", "look").stdout)

    assert (done["stop_reason"], done["total_cost_usd"]) == ("budget_limit", pytest.approx(COST, rel=1e-9))
    assert len(team.upstream.requests) == n_requests + 1
    assert turn(team, managed.home, team.keys["ada"])["result"] == "Done."


def test_the_gateways_spans_are_children_of_the_request_in_the_same_trace(team: Team, home: Path) -> None:
    turn(team, home, team.keys["ada"], **exports(team.collector))

    found = team.collector.all_spans()
    (request,) = (span for service, span in found if service == "pygent-ls" and span.name == "chat coder")
    (whole,) = (span for service, span in found if service == "pygent-ls" and span.name == "invoke_agent default")
    assert (request.trace_id, request.parent_span_id) == (whole.trace_id, whole.span_id)
    attributes = {each.key: each.value for each in whole.attributes}
    assert attributes["pygent.usage.cost_usd"].double_value == pytest.approx(COST, rel=1e-9)
    conventions = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    published = {value for value in vars(conventions).values() if isinstance(value, str)}
    ours = {each.key for span in (request, whole) for each in span.attributes if each.key.startswith("gen_ai.")}
    assert ours - published == set()

    def theirs() -> list[bytes]:
        spans = [span for service, span in team.collector.all_spans() if service == "litellm"]
        return [span.parent_span_id for span in spans if span.trace_id == request.trace_id]

    until(lambda: request.span_id in theirs())
