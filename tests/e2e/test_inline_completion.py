"""Inline completion in an editor without a plugin: what models are asked, and what is offered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from openai.types import Completion, CompletionChoice
from openai.types.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from tests.e2e.lsp_client import WAIT_S, EditorClient, editor_client
from tests.e2e.raw import raw_client
from tests.model_server import ModelServer, Script, Step

TEXT = "def area(r):\n    return \n\n\nprint(area(2))\n"
CURSOR = (1, 11)


@dataclass(frozen=True, slots=True)
class Completing:
    """An editor, and the model that completes."""

    editor: EditorClient
    model: ModelServer
    folder: Path

    def opens(self, name: str = "a.py", text: str = TEXT) -> str:
        (self.folder / name).write_text(text)
        return self.editor.documents.open(self.folder / name)

    async def begin(self, uri: str, at: tuple[int, int] = CURSOR, *, kind: int = 1, **context: Any) -> Any:
        """What is offered at a place; `kind` 1 is asked for by the user, 2 by typing."""
        params: dict[str, Any] = {
            "textDocument": {"uri": uri},
            "position": {"line": at[0], "character": at[1]},
            "context": {"triggerKind": kind, **context},
        }
        return (await self.editor.ask_lsp("textDocument/inlineCompletion", params))["items"]

    async def texts(self, uri: str, at: tuple[int, int] = CURSOR, **more: Any) -> list[str]:
        return [each["insertText"] for each in await self.begin(uri, at, **more)]


@asynccontextmanager
async def completing(
    folder: Path, script: Script, *settings: str, model: str = "openai/mock", **environment: str
) -> AsyncGenerator[Completing]:
    config = folder.parent / "home" / ".config" / "pygent-ls" / "config.toml"
    await asyncio.to_thread(config.parent.mkdir, parents=True, exist_ok=True)
    lines = ["[completion]", f'model = "{model}"', "debounce_ms = 20", *settings]
    await asyncio.to_thread(config.write_text, "\n".join(lines))
    with ModelServer(script) as server:
        given = {name: value.replace("SERVER", server.url) for name, value in environment.items()}
        async with editor_client(folder, {**server.env(), **given}) as editor:
            yield Completing(editor, server, folder)


def events(*data: dict[str, Any], done: bool = True) -> Step:
    """A stream in the provider's own words."""
    sent = [f"data: {json.dumps(each)}\n\n" for each in data]
    return Step(events=(*sent, "data: [DONE]\n\n") if done else tuple(sent))


def completion(text: str) -> dict[str, Any]:
    """A part of an answer, in the types of OpenAI's SDK."""
    choice = CompletionChoice(finish_reason="stop", index=0, text=text, logprobs=None)
    made = Completion(id="1", choices=[choice], created=1, model="mock", object="text_completion")
    return made.model_dump(mode="json")


async def test_a_chat_model_is_asked_without_tools_and_its_answer_fits_into_the_line(folder: Path) -> None:
    async with completing(folder, [Step(text="```python\n    return 3.14 * r * r\n```")]) as at:
        uri = at.opens()
        items = await at.begin(uri)
        [asked] = at.model.requests

    place = {"line": CURSOR[0], "character": CURSOR[1]}
    assert items == [{"insertText": "3.14 * r * r", "range": {"start": place, "end": place}}]
    assert not asked.body.get("tools")
    assert "File a.py:\ndef area(r):\n    return <CURSOR>\n" in asked.texts("user")[0]
    assert asked.body["max_tokens"] == 128


@pytest.mark.parametrize(
    ("model", "settings", "path", "environment"),
    [
        ("mistral/codestral-latest", (), "/fim/completions", {"MISTRAL_API_BASE": "SERVER", "MISTRAL_API_KEY": "k"}),
        ("deepseek/deepseek-chat", (), "/completions", {"DEEPSEEK_API_BASE": "SERVER", "DEEPSEEK_API_KEY": "k"}),
        ("openai/qwen-coder", ('api = "completions"',), "/completions", {}),
    ],
)
async def test_a_model_that_fills_in_the_middle_is_sent_what_is_before_and_after(
    folder: Path, model: str, settings: Sequence[str], path: str, environment: dict[str, str]
) -> None:
    of_mistral = {"id": "1", "object": "chat.completion.chunk", "model": "codestral", "choices": [
        {"index": 0, "delta": {"content": "3.14 * r"}, "finish_reason": None}]}  # fmt: skip
    first = of_mistral if model.startswith("mistral") else completion("3.14 * r")
    async with completing(folder, [events(first, completion(" * r"))], *settings, model=model, **environment) as at:
        assert await at.texts(at.opens()) == ["3.14 * r * r"]
        [asked] = at.model.requests

    assert asked.path.endswith(path)
    assert asked.body["prompt"] == "def area(r):\n    return "
    assert asked.body["suffix"] == "\n\n\nprint(area(2))\n"
    assert asked.body["model"] == model.partition("/")[2]
    assert asked.headers["authorization"].startswith("Bearer ")
    TypeAdapter(CompletionCreateParamsStreaming).validate_python(asked.body)


async def test_llama_cpp_is_asked_to_fill_in(folder: Path) -> None:
    answer = events({"content": "3.14 * ", "stop": False}, {"content": "r * r", "stop": False},
                    {"content": "", "stop": True, "tokens_predicted": 7}, done=False)  # fmt: skip
    async with completing(folder, [answer], 'api = "infill"') as at:
        at.opens("other.py", "def area_of_square(side):\n    return side * side\n# area print return\n")
        assert await at.texts(at.opens()) == ["3.14 * r * r"]
        [asked] = at.model.requests

    assert asked.path.endswith("/infill")
    assert (asked.body["input_prefix"], asked.body["input_suffix"]) == (TEXT[:24], TEXT[24:])
    assert asked.body["n_predict"] == 128


async def test_parts_of_other_documents_that_are_alike_are_sent_along(folder: Path) -> None:
    other = "".join(f"unrelated_{number} = {number}\n" for number in range(200))
    other += "class Invoice:\n    customer: str\n    amount: int\n    currency: str\n"
    text = "# an Invoice with customer, amount and currency\ninvoice = Invoice(\n"
    async with completing(folder, [Step(text='customer="me"')]) as at:
        at.opens("model.py", other)
        at.opens("notes.txt", other)
        uri = at.opens(text=text)
        await at.texts(uri, (1, 18))
        said = at.model.requests[0].texts("user")[0]

    assert "File model.py:\n" in said
    assert "currency: str" in said
    assert "unrelated_0 " not in said
    assert "notes.txt" not in said


async def test_a_stale_answer_is_not_offered_and_a_newer_request_ends_the_older(folder: Path) -> None:
    async with completing(folder, [Step(text="3.14", hang=True), Step(text="2.71", pause_after=1)]) as at:
        uri = at.opens()
        first = asyncio.ensure_future(at.texts(uri))
        await at.model.until(lambda: len(at.model.requests) == 1)
        second = asyncio.ensure_future(at.texts(uri))
        assert await asyncio.wait_for(first, WAIT_S) == []
        await at.model.until(lambda: at.model.disconnects == 1 and len(at.model.requests) == 2)
        at.editor.documents.insert(uri, "print", "x")
        await at.editor.ask("pygent/status", {})
        at.model.resume()
        assert await asyncio.wait_for(second, WAIT_S) == []


async def test_of_requests_while_the_user_types_the_model_is_asked_once(folder: Path) -> None:
    async with completing(folder, [Step(text="3.14 * r")]) as at:
        uri = at.opens()
        asked = [asyncio.ensure_future(at.texts(uri, kind=2)) for _ in range(5)]
        assert await asyncio.gather(*asked) == [[], [], [], [], ["3.14 * r"]]
        assert len(at.model.requests) == 1


async def test_what_is_typed_of_a_completion_leaves_the_rest_without_another_request(folder: Path) -> None:
    async with completing(folder, [Step(text="3.14 * r"), Step(text="99")]) as at:
        uri = at.opens()
        assert await at.texts(uri) == ["3.14 * r"]
        at.editor.documents.edit(uri, [{"range": place(1, 11), "newText": "3.1"}])
        assert await at.texts(uri, (1, 14)) == ["4 * r"]
        assert len(at.model.requests) == 1
        at.editor.documents.edit(uri, [{"range": place(1, 14), "newText": "9"}])
        assert await at.texts(uri, (1, 15)) == ["99"]


def place(line: int, character: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": character}, "end": {"line": line, "character": character}}


async def test_a_completion_extends_what_is_chosen_in_the_editors_list(folder: Path) -> None:
    text = "import math\nx = ma\n"
    async with completing(folder, [Step(text=".pi")]) as at:
        uri = at.opens(text=text)
        chosen = {"range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 6}}, "text": "math"}
        items = await at.begin(uri, (1, 6), selectedCompletionInfo=chosen)
        said = at.model.requests[0].texts("user")[0]

    assert items == [{"insertText": "math.pi", "range": chosen["range"]}]
    assert "x = math<CURSOR>\n" in said


async def test_what_must_not_be_read_is_not_sent_and_secrets_are_masked(folder: Path) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    deny = ["[permissions]", 'deny = ["read_file(secret.py)"]']
    async with completing(folder, [Step(text="3")], *deny) as at:
        assert await at.texts(at.opens("secret.py")) == []
        assert at.model.requests == []
        await at.texts(at.opens("a.py", f'KEY = "{key}"\n{TEXT}'), (2, 11))
        said = at.model.requests[0].texts("user")[0]

    assert key not in said
    assert "KEY = " in said


async def test_the_tokens_of_a_day_are_limited(folder: Path) -> None:
    async with completing(folder, [Step(text="3"), Step(text="4")], "max_tokens_per_day = 5") as at:
        uri = at.opens()
        assert await at.texts(uri) == ["3"]
        assert await at.texts(uri, (4, 0)) == []
        assert len(at.model.requests) == 1
    [kept] = folder.parent.rglob("completion.json")
    assert json.loads(kept.read_text())["tokens"] > 5


async def test_a_failure_is_told_once_and_the_model_is_left_alone(folder: Path) -> None:
    async with completing(folder, [Step(status=401, error="bad key"), Step(status=401, error="bad key")]) as at:
        uri = at.opens()
        assert await at.texts(uri) == []
        assert await at.texts(uri, (4, 0), kind=2) == []
        assert len(at.model.requests) == 1
        assert await at.texts(uri, (4, 0)) == []
        [message] = [each for each in at.editor.messages if "inline completion" in each]

    assert "pygent: inline completion: " in message


@pytest.mark.parametrize("case", ["off", "on", "restricted"])
def test_it_is_offered_once_a_model_is_set(folder: Path, case: str) -> None:
    environment = {} if case == "off" else {"PYGENT_COMPLETION_MODEL": "openai/mock"}
    own = {"pygent": {"restricted": True}} if case == "restricted" else {}
    with raw_client(folder, environment=environment) as client:
        answer = client.initialize(folder, capabilities={"experimental": own})

    assert answer["capabilities"].get("inlineCompletionProvider", False) is (case == "on")
