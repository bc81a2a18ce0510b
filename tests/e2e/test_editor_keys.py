"""Keys that an editor keeps itself and gives to the running daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.e2e.lsp_client import CAPABILITIES, EditorClient, editor_client
from tests.llm.setup.keyrings import NO_KEYRING
from tests.llm.setup.local_servers import nowhere
from tests.model_server import Call, ModelServer, Received, Step

KEY = "my0wnkey-of-mistral"
OTHER = "my0wnkey-of-groq"
CUSTOM = "my0wnkey-of-nobody-known"

WITH_PANEL = types.ClientCapabilities(
    workspace=CAPABILITIES.workspace,
    window=CAPABILITIES.window,
    general=CAPABILITIES.general,
    experimental={"pygent": {"questionRequest": True, "permissionRequest": True, "chatPanel": True}},
)


def provider(request: Received, _: int) -> Step:
    """A provider that knows one key, and answers with the user's last words."""
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return Step(status=401, error="Unauthorized", error_type="authentication_error")
    return Step(text=f"you said: {request.texts('user')[-1][-40:]}")


async def give(editor: EditorClient, **keys: str | None) -> Any:
    return await editor.ask("pygent/keys/set", {"keys": keys})


async def needs_model(editor: EditorClient) -> bool:
    return (await editor.ask("pygent/status", {}))["needsModel"]


async def test_a_key_counts_for_the_running_daemon_and_reaches_its_own_provider_alone(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    with ModelServer(provider) as mistral, ModelServer([Step(text="from groq")]) as groq:
        environment = {
            **nowhere(),
            **NO_KEYRING,
            "MISTRAL_API_BASE": mistral.url,
            "GROQ_API_BASE": groq.url,
            "PYGENT_LOG": "info",
        }
        arguments = ("--trace", str(trace))
        async with editor_client(folder, environment, capabilities=WITH_PANEL, arguments=arguments) as editor:
            assert await needs_model(editor)
            listed = (await editor.ask("pygent/models/list", {}))["models"]
            providers = {each["name"].partition("/")[0]: each for each in listed}
            told = await give(editor, MISTRAL_API_KEY="wrong-key-of-mistral")
            assert not await needs_model(editor)
            failed = await editor.turn("hello")
            await give(editor, MISTRAL_API_KEY=KEY, GROQ_API_KEY=OTHER)
            answered = await editor.turn("/continue", sessionId=failed["sessionId"])
            shown = await editor.turn(f"what does this hold: {KEY}", sessionId=failed["sessionId"])
            other = await editor.turn("hello", model="groq/llama-3.3-70b-versatile")
            left = await give(editor, MISTRAL_API_KEY=None, GROQ_API_KEY=None)
            assert await needs_model(editor)

    keys = {name: (each.get("keyVariable"), each.get("lacksKey")) for name, each in providers.items()}
    assert keys["anthropic"] == ("ANTHROPIC_API_KEY", True)
    assert keys["mistral"] == ("MISTRAL_API_KEY", None)
    assert keys["offline"] == (None, None)
    assert (told, left) == ({"variables": ["MISTRAL_API_KEY"]}, {"variables": []})
    assert failed["error"]["type"] == "auth"
    assert answered["stopReason"] == "end_turn"
    assert (other["text"], groq.requests[0].headers["authorization"]) == ("from groq", f"Bearer {OTHER}")
    assert OTHER not in json.dumps([dict(each.headers) for each in mistral.requests])
    assert KEY not in json.dumps(shown)
    assert KEY not in json.dumps(mistral.requests[-1].body)
    written = [path for path in folder.parent.rglob("*") if path.is_file()]
    assert trace in written
    assert [path for path in written if KEY.encode() in path.read_bytes() and "model" not in path.name] == []


async def test_no_program_is_given_a_key_not_even_of_a_provider_that_nobody_knows(folder: Path) -> None:
    command = 'printf \'%s|\' "$MISTRAL_API_KEY" "$WONDER_LLM_KEY"; echo .'
    script = [Step(calls=(Call(name="shell", arguments={"command": command}),)), Step(text="done")]
    with ModelServer(script) as server:
        environment = {**nowhere(), **NO_KEYRING, "MISTRAL_API_BASE": server.url}
        async with editor_client(folder, environment, capabilities=WITH_PANEL) as editor:

            def allow(params: Mapping[str, Any]) -> Mapping[str, str]:
                return {"optionId": params["options"][0]["optionId"]}

            editor.client.feature("pygent/permission/request")(allow)
            await give(editor, MISTRAL_API_KEY=KEY, WONDER_LLM_KEY=CUSTOM)
            await editor.turn("look")

    assert "||.\n" in json.dumps(server.requests[-1].body).replace("\\n", "\n")


async def test_a_prompt_that_waits_for_a_model_is_answered_once_the_editor_has_given_a_key(folder: Path) -> None:
    with ModelServer(provider) as server:
        environment = {**nowhere(), **NO_KEYRING, "MISTRAL_API_BASE": server.url}
        async with editor_client(folder, environment, capabilities=WITH_PANEL) as editor:
            asked: list[Mapping[str, Any]] = []
            is_set_up = asyncio.Event()

            async def answer(params: Mapping[str, Any]) -> Mapping[str, str]:
                asked.append(params)
                await is_set_up.wait()
                return {"choice": params["choices"][0]["title"]}

            editor.client.feature("pygent/question/request")(answer)
            turn = asyncio.create_task(editor.turn("make it faster"))
            while not asked:
                await editor.ask("pygent/status", {})
            await give(editor, MISTRAL_API_KEY=KEY)
            is_set_up.set()
            result = await turn

    assert [each.get("setup") for each in asked] == [True]
    assert result["text"] == "you said: make it faster"


async def test_another_default_model_is_told_to_an_editor_with_a_panel(folder: Path) -> None:
    with ModelServer([Step(text="ready")]) as server:
        environment = {**nowhere(), **NO_KEYRING, "PATH": "/usr/bin:/bin"}
        async with editor_client(folder, environment, capabilities=WITH_PANEL) as editor:
            changes: list[Any] = []

            def address(_: Mapping[str, Any]) -> Mapping[str, str]:
                return {"text": server.url}

            editor.client.feature("pygent/models/changed")(partial(list[Any].append, changes))
            editor.client.feature("pygent/question/request")(address)
            await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.setup", "arguments": ["local"]})
            await editor.until(lambda: changes)

            assert not await needs_model(editor)


@pytest.mark.parametrize(
    "keys", [{"PATH": "/tmp"}, {"mistral_api_key": KEY}, {"MISTRAL_API_KEY": "two words"}, {"MISTRAL_API_KEY": ""}]
)
async def test_what_can_be_no_key_is_refused_and_not_repeated(folder: Path, keys: Mapping[str, str]) -> None:
    async with editor_client(folder, {**nowhere(), **NO_KEYRING}, capabilities=WITH_PANEL) as editor:
        with pytest.raises(JsonRpcException) as refused:
            await give(editor, **keys)

    assert refused.value.code == -32602
    assert not [value for value in keys.values() if value and value in str(refused.value)]
