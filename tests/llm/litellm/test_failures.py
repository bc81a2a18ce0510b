"""How calls through litellm fail, against a real HTTP server on loopback."""

from __future__ import annotations

import socket

import pytest

from pygent_ls.errors import ModelError, ModelErrorType
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import PROVIDERS
from tests.llm.loopback import KEY, chunk_event, model_at
from tests.llm.model_contract import (
    chunks_of,
    joined,
)
from tests.model_server import ModelServer, Step


async def failure_of(step: Step, loader: LitellmLoader) -> ModelError:
    """How the call fails; it is made once, and not again behind our back."""
    async with ModelServer([step, Step(text="asked again")]) as server:
        with pytest.raises(ModelError) as caught:
            await chunks_of(model_at(server, loader))
        assert len(server.requests) == 1
        return caught.value


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Step(status=429, error="slow down", headers={"retry-after": "30"}), "rate_limit"),
        (Step(status=529, error="busy"), "overloaded"),
        (Step(status=503), "overloaded"),
        (Step(status=500), "server"),
        (Step(raw=("text/html", "<html><style>p {}</style><body>Bad gateway</body>"), status=502), "server"),
        (Step(status=408), "timeout"),
        (Step(status=401, error=f"Incorrect API key provided: {KEY}"), "auth"),
        (Step(status=403, error="no access"), "auth"),
        (Step(status=400, error="too long", code="context_length_exceeded"), "context_window"),
        (Step(status=400, error="This model's maximum context length is 8192 tokens."), "context_window"),
        (Step(status=400, error="no", code="content_policy_violation"), "content_filter"),
        (Step(status=400, error="Unknown parameter"), "invalid_request"),
        (Step(status=404, error="The model `mock` does not exist", code="model_not_found"), "invalid_request"),
        (Step(status=422), "invalid_request"),
        (Step(text="half an answer", drop_after=2), "network"),
        (Step(raw=("text/event-stream", chunk_event({"content": "half"}) + "data: {broken\n\n")), "server"),
        (Step(raw=("text/event-stream", 'data: {"error": {"type": "overloaded_error"}}\n\n')), "overloaded"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_failure_says_what_it_is_once(loader: LitellmLoader, step: Step, kind: ModelErrorType) -> None:
    error = await failure_of(step, loader)

    assert error.type == kind
    assert error.provider == "openai"
    assert len(error.message) < 400
    for noise in ("litellm", "Traceback", "Exception", "<", KEY, "\n"):
        assert noise not in error.message, error.message
    if step.status != 200:
        assert error.status == step.status


@pytest.mark.parametrize("number", ["403", "401", "429", "500", "404", "408", "503"])
async def test_a_number_in_the_words_of_a_provider_is_not_its_status(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    async with ModelServer([Step(status=400, error=f"The picture is {number} pixels wide.")]) as server:
        with pytest.raises(ModelError) as caught:
            await chunks_of(LitellmModel("gemini/m", Endpoint(api_base=server.url), loader))

    assert (caught.value.type, caught.value.status) == ("invalid_request", 400)


async def test_a_wrong_key_is_said_with_its_variable(loader: LitellmLoader) -> None:
    error = await failure_of(Step(status=401, error=f"Incorrect API key provided: {KEY}."), loader)

    assert error.message == (
        "openai (401) did not accept the API key, or the key has no access to openai/mock: Incorrect API key "
        "provided: [key]. Check OPENAI_API_KEY."
    )


async def test_a_missing_key_is_said_before_any_request(loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in {variable for each in PROVIDERS for variable in (*each.key_variables, *each.base_variables)}:
        monkeypatch.delenv(variable, raising=False)

    for provider in PROVIDERS:
        with pytest.raises(ModelError) as caught:
            await LitellmModel(provider.default_model, Endpoint(), loader).prepare()
        assert (caught.value.type, caught.value.provider) == ("auth", provider.name)
        assert provider.key_variables[0] in caught.value.message


async def test_a_variable_that_is_named_for_the_key_and_empty_is_said(loader: LitellmLoader) -> None:
    endpoint = Endpoint(api_base="http://127.0.0.1:9/v1", api_key_env="MY_KEY")

    with pytest.raises(ModelError, match="MY_KEY"):
        await LitellmModel("openai/mock", endpoint, loader).prepare()


async def test_nobody_at_the_address_is_said_with_the_address(loader: LitellmLoader) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    endpoint = Endpoint(api_base=f"http://127.0.0.1:{port}/v1", api_key=KEY)

    with pytest.raises(ModelError) as caught:
        await chunks_of(LitellmModel("openai/mock", endpoint, loader))

    assert (caught.value.type, caught.value.retryable) == ("network", True)
    assert f"127.0.0.1:{port}" in caught.value.message


@pytest.mark.parametrize("address", ["notaurl", "ftp://host/v1", "http://[::1/v1", "http://"])
async def test_an_address_that_is_none_is_said(loader: LitellmLoader, address: str) -> None:
    with pytest.raises(ModelError, match="api_base") as caught:
        await LitellmModel("openai/mock", Endpoint(api_base=address, api_key=KEY), loader).prepare()

    assert caught.value.type == "invalid_request"


@pytest.mark.parametrize("name", ["nobody/knows", "nobody", ""])
async def test_a_name_without_a_provider_is_said(
    loader: LitellmLoader, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelError, match="PROVIDER/MODEL") as caught:
        await LitellmModel(name, Endpoint(), loader).prepare()

    assert caught.value.type == "invalid_request"
    assert capfd.readouterr().out == "", "standard output is the wire"


@pytest.mark.parametrize("step", [Step(hang=True), Step(text="x" * 80, stall_after=3)], ids=["no byte", "in between"])
async def test_a_provider_that_sends_nothing_more_is_given_up(loader: LitellmLoader, step: Step) -> None:
    async with ModelServer([step]) as server:
        await model_at(server, loader).prepare()
        model = model_at(server, loader, first_byte_timeout_s=0.3, idle_timeout_s=0.3)
        with pytest.raises(ModelError, match=r"0\.3 s") as caught:
            await chunks_of(model)
        assert caught.value.type == "timeout"
        await server.until(lambda: server.disconnects == 1)


async def test_after_a_failure_the_next_call_works(loader: LitellmLoader) -> None:
    async with ModelServer([Step(text="half an answer", drop_after=2), Step(text="whole")]) as server:
        model = model_at(server, loader)
        with pytest.raises(ModelError):
            await chunks_of(model)
        assert joined(await chunks_of(model)).text == "whole"
