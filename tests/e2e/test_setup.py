"""A first model: `pygent-ls setup` on a real terminal, and `pygent.setup` in the real daemon."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types

from pygent_ls.llm.keys.key_store import KeyStore
from pygent_ls.llm.keys.system_keyring import SystemKeyring
from tests.e2e.command_line import clean_environment, on_terminal, run
from tests.e2e.lsp_client import CAPABILITIES, EditorClient, editor_client
from tests.llm.setup.keyrings import NO_KEYRING, environment_with, kept
from tests.llm.setup.local_servers import nowhere
from tests.model_server import ModelServer, Received, Step

KEY = "my0wnkey-of-mistral"
"""Looks like no key that a pattern finds."""

WRONG = "wr0ngkey-of-mistral"

WITH_FORM = types.ClientCapabilities(
    workspace=CAPABILITIES.workspace,
    window=CAPABILITIES.window,
    general=CAPABILITIES.general,
    experimental={"pygent": {"questionRequest": True}},
)


def provider(request: Received, _: int) -> Step:
    """A provider that knows one key, and answers with the user's last words."""
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return Step(status=401, error="Unauthorized", error_type="authentication_error")
    return Step(text=f"you said: {request.texts('user')[-1][-40:]}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def of_mistral(server: ModelServer, keyring: Mapping[str, str] = NO_KEYRING) -> dict[str, str]:
    """The environment in which Mistral is this server, and nothing else is at hand."""
    return {**nowhere(), "MISTRAL_API_BASE": server.url, "PATH": "/usr/bin:/bin", **keyring}


# On a terminal


def test_a_key_is_typed_unseen_tried_and_kept_and_the_next_run_uses_it(home: Path) -> None:
    with ModelServer(provider) as server:
        environment = clean_environment(home, **of_mistral(server))
        with on_terminal("setup", environment=environment) as person:
            person.sees("Which model do you want to use?")
            person.sees("Enter to cancel): ")
            person.types("Enter an API key\n")
            person.sees("Which provider is the key for?")
            person.sees("Enter to cancel): ", times=2)
            person.types("mistral\n")
            person.sees("API key for mistral")
            person.sees("input is hidden (Enter to cancel): ")
            person.types(f"{WRONG}\n")
            person.sees("Which model of mistral?")
            person.sees("Enter to cancel): ", times=4)
            person.types("1\n")
            person.sees("cannot be used.")
            person.sees("Enter to cancel): ", times=5)
            person.types("Enter the key again\n")
            person.sees("input is hidden (Enter to cancel): ", times=2)
            person.types(f"{KEY}\n")
            assert person.ends() == 0

        done = run("run", "hello there", environment=environment, cwd=home)

    keys, config = home / "state" / "pygent-ls" / "keys.json", home / "config" / "pygent-ls" / "config.toml"
    assert "mistral/mistral-medium-latest answered in" in person.seen
    assert "keys.json, which only you can read." in person.seen.replace("\n", " ")
    assert KEY not in person.seen
    assert WRONG not in person.seen
    assert config.read_text() == 'model = "mistral/mistral-medium-latest"\n'
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert json.loads(keys.read_text())["keys"] == {"mistral": {"in": "file", "key": KEY}}
    assert done.returncode == 0, done.stderr
    assert "hello there" in done.stdout
    checked = server.requests[1].body
    assert [tool["function"]["name"] for tool in checked["tools"]] == ["current_time"]


def test_a_key_goes_into_the_systems_keyring_and_can_be_removed(home: Path) -> None:
    with ModelServer(provider) as server:
        environment = clean_environment(home, **of_mistral(server, environment_with("WorkingKeyring", home / "ring")))
        with on_terminal("setup", environment=environment) as person:
            for shown, typed in (
                ("use?", "Enter an API key"),
                ("Which provider", "mistral"),
                ("key for mistral", KEY),
                ("model of mistral?", "1"),
            ):
                person.sees(shown)
                person.sees("Enter to cancel): " if typed != KEY else "input is hidden")
                person.types(f"{typed}\n")
            assert person.ends() == 0
        assert kept(home / "ring") == {"pygent-ls/mistral": KEY}
        used = run("run", "hello there", environment=environment, cwd=home)

        removed = run("setup", "--forget", "mistral", environment=environment)
        again = run("setup", "--forget", "mistral", environment=environment)

    assert (used.returncode, used.stdout.strip()) == (0, "you said: hello there")
    assert (removed.returncode, removed.stdout) == (0, "Removed the saved key for mistral.\n")
    assert kept(home / "ring") == {}
    assert again.returncode == 1
    assert "No key is saved for mistral. Providers with a saved key: none." in again.stderr


def test_a_local_server_is_found_and_used_on_a_narrow_screen(home: Path) -> None:
    with ModelServer([Step(text="ready"), Step(text="I am local.")]) as server:
        environment = clean_environment(
            home, **{**nowhere(), "LM_STUDIO_API_BASE": server.url, "NO_COLOR": "1", "PATH": "/usr/bin:/bin"}
        )
        with on_terminal("setup", environment=environment, columns=60) as person:
            person.sees("Enter to cancel): ")
            person.types("1\n")
            assert person.ends() == 0
        done = run("run", "who are you, really?", environment=environment, cwd=home)

    assert f"127.0.0.1:{server.port}" in person.seen
    assert [line for line in person.seen.splitlines() if len(line) > 60 and "/" not in line] == []
    assert done.stdout.strip() == "I am local."


def test_ctrl_c_leaves_nothing_behind_and_the_terminal_as_it_was(home: Path) -> None:
    environment = clean_environment(home, **{**nowhere(), **NO_KEYRING, "PATH": "/usr/bin:/bin"})
    with on_terminal("setup", environment=environment) as person:
        person.sees("Enter to cancel): ")
        person.types("Enter an API key\n")
        person.sees("Enter to cancel): ", times=2)
        person.types("mistral\n")
        person.sees("input is hidden")
        person.types("half-a-k")
        assert person.interrupted() == 130
        assert person.echoes()

    assert not (home / "config").exists()
    assert not (home / "state" / "pygent-ls" / "keys.json").exists()
    assert "Traceback" not in person.seen


def test_without_a_terminal_it_says_what_to_set(home: Path) -> None:
    done = run("setup", environment=clean_environment(home))

    assert (done.returncode, done.stdout) == (2, "")
    assert "setup requires a terminal. Instead, set your provider's variable, such as ANTHROPIC_API_KEY" in done.stderr


def test_a_script_without_a_model_fails_is_told_why_and_asked_nothing(home: Path) -> None:
    done = run("run", "please make it faster", environment=clean_environment(home), cwd=home)

    assert done.returncode == 1
    assert done.stdout.startswith("No model is set up yet, so nothing was done. Run `pygent-ls setup`")
    assert len(done.stdout) < 400


# In an editor


class Asked:
    """Answers `pygent/question/request` in turn, and keeps what was asked."""

    def __init__(self, editor: EditorClient, *answers: Mapping[str, str]) -> None:
        self.questions: list[Mapping[str, Any]] = []
        self.answers = list(answers)
        editor.client.feature("pygent/question/request")(partial(Asked._answer, self))

    def _answer(self, params: Mapping[str, Any]) -> Mapping[str, str] | None:
        self.questions.append(params)
        return self.answers.pop(0) if self.answers else None


ENTERED = (
    {"choice": "Enter an API key"},
    {"choice": "mistral"},
    {"text": KEY},
    {"choice": "mistral/mistral-medium-latest"},
)


async def run_setup(editor: EditorClient) -> None:
    answer = await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.setup", "arguments": []})
    assert answer == {"started": True}


async def test_an_editor_with_forms_takes_a_key_and_the_running_daemon_uses_it_at_once(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    async with ModelServer(provider) as server:
        environment = {**of_mistral(server), "PYGENT_LOG": "debug"}
        arguments = ("--trace", str(trace))
        async with editor_client(folder, environment, capabilities=WITH_FORM, arguments=arguments) as editor:
            asked = Asked(editor, *ENTERED)
            await run_setup(editor)
            await editor.until(lambda: any("used from your next prompt on" in each for each in editor.messages))

            result = await editor.turn("say something of your own")
            shown = await editor.turn("what does this hold: " + KEY)

    assert result["text"] == "you said: say something of your own"
    assert [each.get("secret", False) for each in asked.questions] == [False, False, True, False]
    assert asked.questions[2]["choices"] == []
    assert asked.questions[2]["allowText"] is True
    assert KEY not in shown["text"]
    assert KEY not in json.dumps(server.requests[-1].body)
    assert KEY not in json.dumps(editor.events())
    home = folder.parent / "home"
    holding = [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert [path.name for path in holding] == ["keys.json"]
    recorded = [json.loads(line) for line in trace.read_text().splitlines()]
    answers = [line["message"]["result"]["text"] for line in recorded if "text" in (_result(line) or {})]
    assert answers[0] == "*" * len(KEY)
    said_later = [line for line in recorded if "what does this hold" in json.dumps(line)]
    assert said_later
    assert KEY not in json.dumps(said_later)


def _result(line: Mapping[str, Any]) -> Mapping[str, Any] | None:
    result: Any = line.get("message", {}).get("result") if line.get("from") == "client" else None
    return cast("Mapping[str, Any]", result) if isinstance(result, dict) else None


async def test_an_editor_without_forms_is_offered_what_needs_no_text(folder: Path) -> None:
    async with ModelServer([Step(text="ready"), Step(text="I am local.")]) as server:
        environment = {**nowhere(), "LM_STUDIO_API_BASE": server.url, "PATH": "/usr/bin:/bin", **NO_KEYRING}
        async with editor_client(folder, environment) as editor:
            editor.choose = lambda params: params.actions[0].title if params.actions else None
            await run_setup(editor)
            await editor.until(lambda: any("used from your next prompt on" in each for each in editor.messages))

            result = await editor.turn("who are you, really?")

    assert result["text"] == "I am local."
    assert "127.0.0.1" in next(each.title for each in editor.prompts[0].actions or ())


async def test_an_editor_without_forms_is_told_where_a_key_can_be_entered(folder: Path) -> None:
    environment = {**nowhere(), "PATH": "/usr/bin:/bin", **NO_KEYRING}
    async with editor_client(folder, environment) as editor:
        wanted = iter(["Enter an API key", "mistral"])
        editor.choose = lambda _: next(wanted)
        await run_setup(editor)
        await editor.until(lambda: editor.messages)

    assert editor.messages == [
        "pygent: This editor cannot ask for a key without showing it. Run `pygent-ls setup` in a terminal, or set "
        "MISTRAL_API_KEY in the environment and restart the editor."
    ]


async def test_a_prompt_without_a_model_offers_setup_once_a_session_and_is_then_answered(folder: Path) -> None:
    with ModelServer(provider) as server:
        async with editor_client(folder, of_mistral(server), capabilities=WITH_FORM) as editor:
            asked = Asked(editor, {"choice": "Not now"})
            first = await editor.turn("make it faster")
            session = first["sessionId"]
            second = await editor.turn("make it faster", sessionId=session)
            assert [each["question"][:23] for each in asked.questions] == ["No model is set up yet."]
            assert asked.questions[0]["sessionId"] == session

            asked.answers += [{"choice": "Set up a model"}, *ENTERED]
            third = await editor.turn("make it faster")

    assert first["text"] == second["text"]
    assert first["text"].startswith("No model is set up yet, so nothing was done.")
    assert (first["stopReason"], third["stopReason"]) == ("end_turn", "end_turn")
    assert len(asked.questions) == 6
    assert third["text"] == "you said: make it faster"


async def test_what_the_offline_model_understands_or_who_chose_it_is_offered_nothing(folder: Path) -> None:
    (folder / "notes.txt").write_text("TODO: rest\n")
    async with editor_client(folder, {**nowhere(), **NO_KEYRING}, capabilities=WITH_FORM) as editor:
        asked = Asked(editor)
        found = await editor.turn("find `TODO`")
        chosen = await editor.turn("make it faster", model="offline/rules")
    async with editor_client(folder, {**nowhere(), "PYGENT_MODEL": "offline/rules"}, capabilities=WITH_FORM) as editor:
        also = Asked(editor)
        named = await editor.turn("make it faster")

    assert "notes.txt" in found["text"]
    assert "I understand:" in chosen["text"]
    assert "I understand:" in named["text"]
    assert [*asked.questions, *also.questions] == []


async def test_a_question_of_setup_is_closed_when_the_command_comes_again(folder: Path) -> None:
    withdrawn: list[Any] = []
    async with editor_client(folder, {**nowhere(), **NO_KEYRING}, capabilities=WITH_FORM) as editor:
        waiting = asyncio.Event()
        asked: list[Mapping[str, Any]] = []

        async def answer(params: Mapping[str, Any]) -> None:
            asked.append(params)
            await waiting.wait()

        editor.client.feature("pygent/question/request")(answer)
        editor.client.feature("pygent/question/cancelled")(partial(list[Any].append, withdrawn))
        await run_setup(editor)
        while not asked:
            await editor.ask("pygent/status", {})
        await run_setup(editor)
        while not withdrawn:
            await editor.ask("pygent/status", {})
        waiting.set()

    assert withdrawn[0]["questionId"] == asked[0]["questionId"]


async def test_a_key_that_another_process_replaces_counts_from_the_next_turn_of_the_same_session_on(
    folder: Path,
) -> None:
    known = ["Bearer first-key-of-mistral"]

    def answer(request: Received, _: int) -> Step:
        is_known = request.headers.get("authorization") == known[-1]
        return Step(text="yes") if is_known else Step(status=401, error="Unauthorized")

    state = folder.parent / "home" / ".local" / "state" / "pygent-ls"
    store = KeyStore(state, SystemKeyring(environment={**os.environ, **NO_KEYRING}))
    store.save("mistral", "first-key-of-mistral")
    with ModelServer(answer) as server:
        environment = {**of_mistral(server), "PYGENT_MODEL": "mistral/mistral-medium-latest"}
        async with editor_client(folder, environment) as editor:
            first = await editor.turn("go")
            known.append("Bearer second-key-of-mistral")
            store.save("mistral", "second-key-of-mistral")
            second = await editor.turn("go on", sessionId=first["sessionId"])

    assert (first["text"], second["text"]) == ("yes", "yes")
