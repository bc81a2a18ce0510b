"""`pygent.setMode` and `pygent.setModel` without an argument, as an editor without a plugin runs them: the choices are
offered, and the command does not wait."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Asked, Editor, Setup, WireError, connected
from tests.fakes import bounded

MODEL = "fake/model"


async def command(editor: Editor, name: str, *arguments: object) -> Any:
    return await editor.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})


def asking(editor: Editor) -> None:
    """The user takes a while."""
    editor.handlers["window/showMessageRequest"] = lambda _: NO_ANSWER


def titles(asked: Asked) -> list[str]:
    return [action["title"] for action in asked.params["actions"]]


def messages(editor: Editor) -> list[str]:
    return [each["message"] for each in editor.notifications("window/showMessage")]


def n_configured(editor: Editor) -> int:
    changes = editor.notifications("pygent/session/changed")
    return sum(each["what"] == "configured" for each in changes)


@pytest.mark.parametrize("arguments", [[], [None], [""]], ids=str)
async def test_the_modes_that_can_be_set_are_offered_and_the_one_that_is_chosen_holds(
    folder: Path, arguments: list[object]
) -> None:
    async with connected(folder) as editor:
        asking(editor)
        answered = await command(editor, "pygent.setMode", *arguments)
        asked = await editor.asks("window/showMessageRequest")

        assert answered == {"sessionId": editor.core.sessions.all()[0].id, "mode": "default"}
        assert titles(asked) == ["Keep default", "plan"]
        assert asked.params["message"].splitlines() == [
            "pygent: Choose a mode. Current mode: default (only reading runs without asking).",
            "plan: read-only: plans but changes nothing",
        ]
        editor.answer(asked, {"title": "plan"})
        await editor.until(lambda: messages(editor))

        assert messages(editor) == ["pygent: Mode set to plan: read-only: plans but changes nothing."]
        assert editor.core.sessions.all()[0].mode == "plan"
        assert n_configured(editor) == 1


async def test_the_models_that_are_ready_are_offered_and_the_one_that_is_chosen_holds(folder: Path) -> None:
    async with connected(folder) as editor:
        asking(editor)
        answered = await command(editor, "pygent.setModel")
        asked = await editor.asks("window/showMessageRequest")

        assert answered["model"] == MODEL
        assert titles(asked) == [f"Keep {MODEL}"]  # the other one has no key
        editor.answer(asked, {"title": f"Keep {MODEL}"})
        await command(editor, "pygent.setModel", MODEL)

        assert messages(editor) == [f"pygent: Model set to {MODEL}."]
        assert n_configured(editor) == 0


def refuse() -> object:
    raise WireError(-32601, "no such method")


ODD_ANSWERS: Mapping[str, object] = {
    "null": None,
    "nothing": dict[str, str](),
    "keep": {"title": "Keep default"},
    "not offered": {"title": "bypass"},
}


@pytest.mark.parametrize("answer", [*ODD_ANSWERS, "error"])
async def test_any_other_answer_changes_nothing(folder: Path, answer: str) -> None:
    async with connected(folder) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: refuse() if answer == "error" else ODD_ANSWERS[answer]
        await command(editor, "pygent.setMode")
        await editor.asks("window/showMessageRequest")
        await editor.request("pygent/status")

        assert editor.core.sessions.all()[0].mode == "default"
        assert messages(editor) == []


async def test_a_second_question_takes_the_place_of_the_first(folder: Path) -> None:
    async with connected(folder) as editor:
        asking(editor)
        await command(editor, "pygent.setMode")
        first = await editor.asks("window/showMessageRequest")
        await command(editor, "pygent.setMode")
        second = await editor.asks("window/showMessageRequest", 2)
        editor.answer(first, {"title": "plan"})
        editor.answer(second, {"title": "Keep default"})
        await editor.request("pygent/status")

        assert editor.notifications("$/cancelRequest") == [{"id": first.id}]
        assert editor.core.sessions.all()[0].mode == "default"


async def test_an_open_question_keeps_no_daemon_alive(folder: Path) -> None:
    async with connected(folder) as editor:
        asking(editor)
        await command(editor, "pygent.setMode")
        await editor.asks("window/showMessageRequest")
        await bounded(editor.begin("shutdown"))

        assert editor.notifications("$/cancelRequest") != []


async def test_a_mode_is_set_in_the_session_that_is_named(folder: Path) -> None:
    async with connected(folder) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": "plan"}
        named, other = [(await editor.request("pygent/session/new", {}))["sessionId"] for _ in range(2)]
        assert (await command(editor, "pygent.setMode", {"sessionId": named}))["sessionId"] == named
        await editor.until(lambda: messages(editor))

        assert {each.id: each.mode for each in editor.core.sessions.all()} == {named: "plan", other: "default"}


# What else is said where no plugin shows it


async def test_a_user_without_a_plugin_is_told_what_a_command_did(folder: Path) -> None:
    async with connected(folder) as editor:
        for name, arguments in (("cancel", []), ("newSession", []), ("setMode", ["plan"])):
            await command(editor, f"pygent.{name}", *arguments)

        assert messages(editor) == [
            "pygent: There is nothing to cancel: no command is running.",
            "pygent: Your next command starts a new conversation.",
            "pygent: Mode set to plan: read-only: plans but changes nothing.",
        ]


async def test_a_plugin_says_it_itself(folder: Path) -> None:
    capabilities = {**CAPABILITIES, "experimental": {"pygent": {"permissionRequest": True}}}
    async with connected(folder, Setup(), capabilities=capabilities) as editor:
        for name, arguments in (("cancel", []), ("newSession", []), ("setMode", ["plan"]), ("setModel", [MODEL])):
            await command(editor, f"pygent.{name}", *arguments)

        assert messages(editor) == []
