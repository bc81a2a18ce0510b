"""Inline completion in an editor without a plugin: what models are asked, and what is offered."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
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
    pause = [] if any("debounce_ms" in each for each in settings) else ["debounce_ms = 20"]
    lines = ["[completion]", f'model = "{model}"', *pause, *settings]
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
    from openai.types import Completion, CompletionChoice

    choice = CompletionChoice(finish_reason="stop", index=0, text=text, logprobs=None)
    made = Completion(id="1", choices=[choice], created=1, model="mock", object="text_completion")
    return made.model_dump(mode="json")


def check_completion(body: Mapping[str, Any]) -> None:
    """Check the body of a request against the types of OpenAI's SDK."""
    from openai.types.completion_create_params import CompletionCreateParamsStreaming

    TypeAdapter(CompletionCreateParamsStreaming).validate_python(body)


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
    check_completion(asked.body)


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


async def test_definitions_of_names_near_the_cursor_are_sent_along_once_they_are_parsed(folder: Path) -> None:
    other = "".join(f"unrelated_{number} = {number}\n" for number in range(200))
    other += 'def area_of(radius: float) -> float:\n    """Return it in square metres."""\n    return 3 * radius**2\n'
    async with completing(folder, [Step(text="2.0)")] * 100) as at:
        at.opens("shapes.py", other)
        uri = at.opens(text="x = area_of(\n")
        said = ""
        async with asyncio.timeout(WAIT_S):  # no request waits for the parser
            for n_keys in range(100):
                await at.texts(uri, (0, 12 + n_keys))
                said = at.model.requests[-1].texts("user")[0]
                if "square metres" in said:
                    break
                at.editor.documents.insert(uri, "x =", "y")

    assert 'File shapes.py:\ndef area_of(radius: float) -> float:\n    """Return it in square metres."""\n' in said
    assert "unrelated_199" not in said


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


async def test_a_text_that_changes_in_the_pause_is_not_asked_about_and_leaves_no_completion(folder: Path) -> None:
    async with completing(folder, [Step(text="1"), Step(text="2")], "debounce_ms = 1000") as at:
        uri = at.opens()
        at.editor.documents.insert(uri, "def", "#")
        at.editor.documents.edit(uri, [{"range": {"start": at_(0, 0), "end": at_(0, 1)}, "newText": ""}])
        first = asyncio.ensure_future(at.texts(uri, kind=2))
        await asyncio.sleep(0)  # the request is sent
        at.editor.documents.insert(uri, "def", "import math; ")
        assert await asyncio.wait_for(first, WAIT_S) == []
        at.editor.documents.edit(uri, [{"range": {"start": at_(0, 0), "end": at_(0, 13)}, "newText": ""}])
        assert await at.texts(uri) == ["1"]
        assert "File a.py:\ndef area(r):\n    return <CURSOR>\n" in at.model.requests[0].texts("user")[0]


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


# What a model is told


async def test_the_users_last_edits_are_told_as_a_diff(folder: Path) -> None:
    async with completing(folder, [Step(text="1")]) as at:
        uri, other = at.opens(), at.opens("b.py", "width = 1\nheight = 2\n")
        at.editor.documents.insert(other, "width", "full_")
        await at.texts(uri)
        said = at.model.requests[0].texts("user")[0]

    assert "b.py, line 1:\n-width = 1\n+full_width = 1\n" in said


async def test_what_was_changed_elsewhere_is_told_to_a_model_that_fills_in(folder: Path) -> None:
    async with completing(folder, [events(completion("1"))], 'api = "completions"') as at:
        uri, other = at.opens(), at.opens("b.py", "width = 1\nheight = 2\n")
        at.editor.documents.insert(other, "width", "full_")
        await at.texts(uri)
        prompt = at.model.requests[0].body["prompt"]

    assert prompt == "# b.py\nfull_width = 1\n# a.py\ndef area(r):\n    return "


async def test_the_imports_of_a_long_file_are_sent(folder: Path) -> None:
    text = "import math\nfrom os import (\n    path,\n)\n" + "value = 1\n" * 2_000
    async with completing(folder, [Step(text="2")]) as at:
        await at.texts(at.opens(text=text), (2_003, 0))
        said = at.model.requests[0].texts("user")[0]

    assert "File a.py:\nimport math\nfrom os import (\n[…]\nvalue = 1\n" in said
    assert len(said) < 12_000


# What must not be sent


@pytest.mark.parametrize("name", [".env", "prod.env", ".env.local"])
async def test_a_file_of_environment_variables_is_neither_completed_nor_sent(folder: Path, name: str) -> None:
    async with completing(folder, [Step(text="3")]) as at:
        env = at.opens(name, "area = print\nreturn_value = area\ndef = 1\n")
        assert await at.texts(env, (0, 6)) == []
        at.editor.documents.insert(env, "area", "x")
        await at.texts(at.opens("c.py"))
        [asked] = at.model.requests

    assert "return_value" not in json.dumps(asked.body)


async def test_files_outside_of_the_workspace_are_not_sent_along_and_go_alone(folder: Path) -> None:
    outside = folder.parent / "elsewhere"
    outside.mkdir()
    text = "class Invoice:\n    customer: str\n    amount: int\n    currency: str\n"
    async with completing(folder, [Step(text="1"), Step(text="2")]) as at:
        inside = at.opens("c.py", f"{text}inside_name = 1\n")
        (outside / "o.py").write_text(f"{text}outside_name = 1\n")
        other = at.editor.documents.open(outside / "o.py")
        for uri in (inside, other):
            at.editor.documents.insert(uri, "side_name", "changed_")
        await at.texts(inside, (0, 0))
        await at.texts(other, (4, 0))
        first, second = (json.dumps(each.body) for each in at.model.requests)

    assert "changed_side_name" in first
    assert "outchanged_side_name" not in first
    assert "o.py" not in first
    assert "outchanged_side_name" in second
    assert "inchanged_side_name" not in second


async def test_a_rule_that_asks_withholds_a_file(folder: Path) -> None:
    rules = ["[permissions]", 'ask = ["read_file(private/**)"]']
    (folder / "private").mkdir()
    async with completing(folder, [Step(text="3")], *rules) as at:
        assert await at.texts(at.opens("private/a.py")) == []
        assert at.model.requests == []


@pytest.mark.parametrize("at_character", [9, 40])
async def test_nothing_is_asked_while_the_cursor_is_in_a_secret(folder: Path, at_character: int) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    async with completing(folder, [Step(text="3")]) as at:
        assert await at.texts(at.opens(text=f'KEY = "{key}"\n'), (0, at_character)) == []
        assert at.model.requests == []


async def test_a_changed_line_of_a_key_in_another_file_is_not_sent(folder: Path) -> None:
    lines = [hashlib.sha384(bytes([number])).hexdigest()[:64] for number in range(25)]
    pem = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    async with completing(folder, [Step(text="3"), Step(text="4")]) as at:
        key, uri = at.opens("key.py", f'KEY = """\n{pem}\n"""\nname = 1\n'), at.opens()
        await at.texts(uri)
        at.editor.documents.insert(key, "name", "full_")
        at.editor.documents.insert(key, lines[12], "x")
        await at.texts(uri, (4, 0))
        said = at.model.requests[1].texts("user")[0]

    assert lines[12] not in said
    assert "+full_name = 1\n" in said


async def test_a_secret_that_the_window_cuts_is_not_sent(folder: Path) -> None:
    body = "\n".join(f"{number:02}" + "abCD12+/" * 7 for number in range(50))
    pem = f'KEY = """-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"""\n'
    text = pem + "value = 1\n" * 650
    async with completing(folder, [Step(text="3")] * 60) as at:
        uri = at.opens(text=text)
        for line in range(520, 700, 20):
            await at.texts(uri, (line, 0))
        sent = json.dumps([each.body for each in at.model.requests])

    assert "abCD12" not in sent


async def test_a_placeholder_of_a_secret_is_not_offered(folder: Path) -> None:
    async with completing(folder, [Step(text='"{{SECRET_key_0123456789ab}}"')]) as at:
        assert await at.texts(at.opens()) == []


# What a model answers


async def test_reading_ends_with_the_block_and_the_connection_is_closed(folder: Path) -> None:
    text = "3 * r * r\n\n\ndef other():\n    pass\n"
    async with completing(folder, [Step(text=text, chunk=4, pause_after=10)]) as at:
        assert await at.texts(at.opens(text="def area(r):\n    return \n")) == ["3 * r * r"]
        await at.model.until(lambda: at.model.disconnects == 1)


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "a\u202eb", "x\x00y", "a\u200bb", "\ud800"],
)
async def test_text_that_an_editor_does_not_show_as_it_is_is_not_offered(folder: Path, text: str) -> None:
    async with completing(folder, [Step(text=text)]) as at:
        assert await at.texts(at.opens()) == []


@pytest.mark.parametrize("api", ["chat", "completions"])
async def test_an_endless_line_is_not_read_to_its_end(folder: Path, api: str) -> None:
    endless = Step(text="x" * 10_000_000, chunk=4_000) if api == "chat" else events(*[completion("x" * 4_000)] * 2_500)
    async with completing(folder, [endless], f'api = "{api}"') as at:
        await at.texts(at.opens())
        await at.model.until(lambda: at.model.disconnects == 1)
        assert await at.editor.ask("pygent/status", {})


async def test_a_page_in_place_of_an_answer_is_a_failure(folder: Path) -> None:
    page = Step(raw=("text/html", "<html><script>alert(1)</script></html>"))
    async with completing(folder, [page], 'api = "completions"') as at:
        assert await at.texts(at.opens()) == []
        [message] = [each for each in at.editor.messages if "inline completion" in each]

    assert "<script>" not in message


@pytest.mark.parametrize(
    "event",
    [
        "data: " + "[" * 200_000,
        'data: {"error": {"message": "overloaded", "code": 503}}',
        'error: {"code": 500, "message": "out of memory"}',
    ],
)
async def test_an_event_that_is_no_text_is_a_failure(folder: Path, event: str) -> None:
    steps = [Step(events=(f"{event}\n\n", "data: [DONE]\n\n")), Step(text="1")]
    async with completing(folder, steps, 'api = "completions"') as at:
        uri = at.opens()
        assert await at.texts(uri) == []
        assert await at.texts(uri, (4, 0), kind=2) == []
        assert len(at.model.requests) == 1
        assert len([each for each in at.editor.messages if "inline completion" in each]) == 1


async def test_line_breaks_are_those_of_the_document(folder: Path) -> None:
    async with completing(folder, [Step(text="(\n        1,\n    )")]) as at:
        uri = at.opens(text="def area(r):\r\n    return \r\n\r\nprint(1)\r\n")
        assert await at.texts(uri) == ["(\r\n        1,\r\n    )"]
        said = at.model.requests[0].texts("user")[0]

    assert "\r" not in said


async def test_places_count_in_code_units(folder: Path) -> None:
    async with completing(folder, [Step(text="2")]) as at:
        assert await at.texts(at.opens(text='x = "😀" + \n'), (0, 11)) == ["2"]
        assert 'x = "😀" + <CURSOR>\n' in at.model.requests[0].texts("user")[0]


# Limits


async def test_fifty_keys_in_a_second_make_one_request(folder: Path) -> None:
    async with completing(folder, [Step(text="x")] * 50, "debounce_ms = 100") as at:
        uri = at.opens(text="\n")
        asked: list[asyncio.Future[list[str]]] = []
        for number in range(50):
            at.editor.documents.edit(uri, [{"range": place(0, number), "newText": "k"}])
            asked.append(asyncio.ensure_future(at.texts(uri, (0, number + 1), kind=2)))
            await asyncio.sleep(0)  # the request is sent
        answers = await asyncio.gather(*asked)
        assert answers == [[]] * 49 + [["x"]]
        assert len(at.model.requests) == 1


async def test_two_editors_do_not_end_each_others_requests(folder: Path) -> None:
    async with completing(folder, [Step(text="1", pause_after=1), Step(text="2")]) as one:
        first = asyncio.ensure_future(one.texts(one.opens()))
        await one.model.until(lambda: len(one.model.requests) == 1)
        async with editor_client(folder, one.model.env()) as editor:
            other = Completing(editor, one.model, folder)
            assert await other.texts(other.opens("b.py")) == ["2"]
        one.model.resume()
        assert await asyncio.wait_for(first, WAIT_S) == ["1"]


async def test_the_tokens_of_a_day_outlive_the_daemon_and_the_user_is_told(folder: Path) -> None:
    async with completing(folder, [Step(text="3")], "max_tokens_per_day = 5") as at:
        assert await at.texts(at.opens()) == ["3"]
    async with completing(folder, [Step(text="3")], "max_tokens_per_day = 5") as at:
        assert await at.texts(at.opens()) == []
        assert at.model.requests == []
        [message] = [each for each in at.editor.messages if "inline completion" in each]

    assert "`completion.max_tokens_per_day` sets the limit" in message


def always_one(*_: object) -> Step:
    return Step(text="1")


async def test_a_model_that_is_set_in_a_file_counts_at_the_next_key(folder: Path) -> None:
    async with completing(folder, always_one) as at:
        uri = at.opens()
        assert await at.texts(uri) == ["1"]
        config = folder.parent / "home" / ".config" / "pygent-ls" / "config.toml"
        config.write_text(config.read_text().replace("openai/mock", "openai/other"))
        at.editor.documents.insert(uri, "print", "y")
        async with asyncio.timeout(WAIT_S):
            while at.model.requests[-1].body["model"] != "other":
                await at.texts(uri, (4, 0))
                at.editor.documents.insert(uri, "print", "y")


# Next edits


RENAMED = "def area(radius):\n    return r * 2\n\n\nprint(area(2))\n"


async def renamed(at: Completing, text: str = RENAMED.replace("radius", "r")) -> str:
    """A file in which a parameter was renamed, but not its use."""
    uri = at.opens(text=text)
    at.editor.documents.edit(uri, [{"range": {"start": at_(0, 9), "end": at_(0, 10)}, "newText": "radius"}])
    return uri


def at_(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


async def suggested(at: Completing, uri: str, **more: Any) -> list[dict[str, Any]]:
    params = {"textDocument": {"uri": uri, **more}, "position": at_(0, 9)}
    return (await at.editor.ask("pygent/edit/suggest", params))["edits"]


def answer(old: str, new: str) -> Step:
    return Step(text=f"<old>\n{old}\n</old>\n<new>\n{new}\n</new>")


async def test_the_next_edit_follows_from_the_last_one(folder: Path) -> None:
    async with completing(folder, [answer("    return r * 2", "    return radius * 2")], "next_edit = true") as at:
        uri = await renamed(at)
        [edit] = await suggested(at, uri)
        said = at.model.requests[0].texts("user")[0]

    assert edit["text"] == "    return radius * 2"
    assert edit["range"] == {"start": at_(1, 0), "end": at_(1, 16)}
    assert edit["textDocument"]["uri"] == uri
    assert "a.py, line 1:\n-def area(r):\n+def area(radius):\n" in said


async def test_plugins_for_next_edits_of_other_servers_get_them_too(folder: Path) -> None:
    step = answer("    return r * 2", "    return radius * 2")
    async with completing(folder, [step, step], "next_edit = true") as at:
        uri = await renamed(at)
        [edit] = await suggested(at, uri)
        params = {"textDocument": edit["textDocument"], "position": at_(0, 9)}
        assert await at.editor.ask("textDocument/copilotInlineEdit", params) == {"edits": [edit]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return z * 2", "    return radius * 2"),  # not in the file
        ("def area(radius):", "def area(r):"),  # takes back what the user did
        ("    return r * 2", "    return r * 2"),  # no change
        ("    return r * 2", "    return \u202er * 2"),  # shown in another order
        ("    return r * 2", "\n".join(["x"] * 40)),  # too long
        ("", "import os"),
    ],
)
async def test_an_edit_that_does_not_fit_is_not_suggested(folder: Path, old: str, new: str) -> None:
    async with completing(folder, [answer(old, new)], "next_edit = true") as at:
        assert await suggested(at, await renamed(at)) == []


async def test_a_line_that_is_sent_in_part_is_not_changed(folder: Path) -> None:
    text = f"def area(r):\n    return r\ndata = [1, 2, {'30, ' * 3_000}]\n"
    async with completing(folder, [answer("data = [1, 2, ", "table = []")], "next_edit = true") as at:
        uri = await renamed(at, text)
        params = {"textDocument": {"uri": uri}, "position": at_(2, 14)}
        assert (await at.editor.ask("pygent/edit/suggest", params))["edits"] == []


async def test_lines_that_are_found_twice_are_not_changed(folder: Path) -> None:
    text = "def area(r):\n    return r * 2\n    return r * 2\n"
    async with completing(folder, [answer("    return r * 2", "    return 1")], "next_edit = true") as at:
        assert await suggested(at, await renamed(at, text)) == []


async def test_a_next_edit_for_a_text_that_has_changed_is_not_suggested(folder: Path) -> None:
    step = answer("    return r * 2", "    return radius * 2")
    async with completing(folder, [replace(step, pause_after=1)], "next_edit = true") as at:
        uri = await renamed(at)
        asked = asyncio.ensure_future(suggested(at, uri))
        await at.model.until(lambda: len(at.model.requests) == 1)
        at.editor.documents.insert(uri, "print", "x")
        await at.editor.ask("pygent/status", {})
        at.model.resume()
        assert await asyncio.wait_for(asked, WAIT_S) == []
        assert await suggested(at, uri, version=0) == []


@pytest.mark.parametrize("is_on", [True, False])
async def test_without_the_setting_or_a_change_nothing_is_asked(folder: Path, is_on: bool) -> None:
    async with completing(folder, [Step(text="NONE")], *(["next_edit = true"] if is_on else [])) as at:
        uri = at.opens()
        assert await suggested(at, uri) == []
        assert at.model.requests == []
        if not is_on:
            at.editor.documents.insert(uri, "print", "x")
            assert await suggested(at, uri) == []
            assert at.model.requests == []
