"""What the user is asked and tells from inside a turn, over real stdio: a plugin's editor, and a plain one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import attrs
from lsprotocol import types

from tests.e2e.lsp_client import CAPABILITIES, EditorClient, editor_client

ALL = {"questionRequest": True, "permissionRequest": True, "contextUpdates": True}

PLUGIN = attrs.evolve(CAPABILITIES, experimental={"pygent": ALL})

QUESTION = {"question": "Which colour?", "choices": [{"title": "Red"}, {"title": "Blue", "description": "as the sky"}]}

SCRIPT: tuple[Mapping[str, Any], ...] = (
    {"tool_calls": [{"name": "ask_user", "input": QUESTION}]},
    {"tool_calls": [{"name": "diagnostics", "input": {"path": "a.py"}}]},
    {"tool_calls": [{"name": "edit_file", "input": {"path": "a.py", "old": "red", "new": "blue"}}]},
    {"text": "Done."},
)


def scripted(folder: Path) -> dict[str, str]:
    """The environment of a daemon whose model plays the script."""
    script = folder.parent / "script.jsonl"
    script.write_text("\n".join(map(json.dumps, SCRIPT)))
    return {"PYGENT_MODEL": f"scripted:{script}"}


def plain(params: Any) -> dict[str, Any]:
    """Parameters of the daemon's own methods as they came."""
    return cast("dict[str, Any]", params if isinstance(params, dict) else vars(params))


async def test_a_plugin_is_asked_in_its_own_forms_and_told_what_it_tells(folder: Path) -> None:
    (folder / "a.py").write_text("colour = 'red'\n")
    uri = (folder / "a.py").as_uri()
    asked: dict[str, dict[str, Any]] = {}

    def answering(method: str, answer: object) -> None:
        def handle(params: Any) -> object:
            asked[method] = plain(params)
            return answer

        editor.client.feature(method)(handle)

    async with editor_client(folder, scripted(folder), capabilities=PLUGIN) as editor:
        answering("pygent/question/request", {"choice": "Blue"})
        answering("pygent/permission/request", {"optionId": "allow_always", "rules": ["edit_file(*.py)"]})
        start = {"line": 0, "character": 9}
        problem = {"range": {"start": start, "end": start}, "message": "not a colour", "severity": 2, "source": "lint"}
        editor.tell("pygent/context/didChange", {"activeUri": uri, "diagnostics": [{"uri": uri, "items": [problem]}]})

        result = await editor.turn("go")

        assert result["text"] == "Done."
        question, problems, edit = editor.results()
        assert question == (True, "The user chose: Blue")
        assert problems[1].endswith("a.py\n  1:10 warning: not a colour [lint]")
        assert edit[0]
        assert (folder / "a.py").read_text() == "colour = 'blue'\n"
        assert asked["pygent/question/request"]["question"] == "Which colour?"
        assert asked["pygent/permission/request"]["title"] == "Edit a.py"
        assert editor.prompts == []
        rules = (await editor.ask("pygent/permission/rules", {})).get("rules")
        assert [rule["rule"] for rule in rules] == ["edit_file(*.py)"]


def choose(params: types.ShowMessageRequestParams) -> str:
    """Red, and whatever allows."""
    return "Red" if params.message.startswith("pygent asks") else "Allow once"


async def test_a_plain_editor_is_asked_with_messages_and_tells_by_its_code_actions(folder: Path) -> None:
    (folder / "a.py").write_text("colour = 'red'\n")
    uri = (folder / "a.py").as_uri()
    async with editor_client(folder, scripted(folder)) as editor:
        editor.choose = choose
        await look_at_a_problem(editor, uri)

        await editor.turn("go")

        question, problems, _ = editor.results()
        assert question == (True, "The user chose: Red")
        assert problems[1].endswith("there may be more)\n  1:1 error: odd")
        assert [prompt.message.splitlines() for prompt in editor.prompts] == [
            ["pygent asks: Which colour?", "Blue: as the sky"],
            [
                *("edit_file: Edit a.py (+1 −1)", "-colour = 'red'", "+colour = 'blue'"),
                "Always allow adds: edit_file(a.py)",
            ],
        ]


async def look_at_a_problem(editor: EditorClient, uri: str) -> None:
    start = {"line": 0, "character": 0}
    where = {"start": start, "end": start}
    problem = {"range": where, "message": "odd", "severity": 1}
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": [problem]}}
    await editor.ask_lsp(types.TEXT_DOCUMENT_CODE_ACTION, params)
