"""An editor without a plugin, over real stdio: commands, code actions, progress, and readable answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.e2e.lsp_client import EditorClient, editor_client

CODE = "def area(r):\n    return 3.14 * r * r\n"


def script(folder: Path, *lines: dict[str, Any]) -> dict[str, str]:
    path = folder.parent / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"PYGENT_MODEL": f"scripted:{path}"}


async def command(editor: EditorClient, name: str, *arguments: object) -> Any:
    params = {"command": name, "arguments": list(arguments)}
    return await editor.ask_lsp("workspace/executeCommand", params)


async def test_a_diagnostic_is_fixed_without_a_plugin(folder: Path) -> None:
    path = folder / "app.py"
    path.write_text(CODE)
    fix = {"name": "edit_file", "input": {"path": "app.py", "old": "3.14", "new": "math.pi"}}
    environment = script(folder, {"tool_calls": [fix]}, {"text": "Fixed."}, {"text": "It computes an area."})
    async with editor_client(folder, environment) as editor:
        uri = editor.documents.open(path)
        problem = {
            "range": {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 15}},
            "message": "pi is not 3.14",
            "source": "checker",
        }
        params = {"textDocument": {"uri": uri}, "range": problem["range"], "context": {"diagnostics": [problem]}}
        actions = await editor.ask_lsp("textDocument/codeAction", params)
        (action,) = [each for each in actions if each["kind"] == "quickfix"]

        begun = await command(editor, action["command"]["command"], *action["command"]["arguments"])
        text = await editor.answered()

        assert begun["turnId"].startswith("turn-")
        assert editor.documents.text(uri) == CODE.replace("3.14", "math.pi")
        assert "\n\nFixed.\n\n## You\n" in text
        assert "## pygent\n\n> tool: " in text
        (token,) = editor.progress_tokens
        await editor.until(lambda: editor.progress(token)[-1]["kind"] == "end")
        assert [value["kind"] for value in (editor.progress(token)[0], editor.progress(token)[-1])] == ["begin", "end"]

        await command(editor, "pygent.explain")
        assert "It computes an area." in await editor.answered(2)
        assert folder not in Path(unquote(urlsplit(editor.shown_documents[0]).path)).parents


async def test_cancel_ends_what_a_command_began(folder: Path) -> None:
    environment = script(folder, {"text": "never", "delay_s": 600})
    async with editor_client(folder, environment) as editor:
        await command(editor, "pygent.ask", "Wait")
        await editor.until(lambda: editor.changed_sessions and editor.changed_sessions[-1]["what"] == "turn_started")

        assert await command(editor, "pygent.cancel") == {"cancelled": True}

        assert "*The turn ended: cancelled*" in await editor.answered()


async def test_a_plan_is_approved_by_a_code_action_and_implemented(folder: Path) -> None:
    path = folder / "app.py"
    path.write_text(CODE)
    fix = {"name": "edit_file", "input": {"path": "app.py", "old": "3.14", "new": "math.pi"}}
    environment = script(folder, {"text": "Use math.pi."}, {"tool_calls": [fix]}, {"text": "It is math.pi now."})
    async with editor_client(folder, environment) as editor:
        code = editor.documents.open(path)
        await command(editor, "pygent.setMode", "plan")
        chat = editor.documents.open(folder / "plan.pygent.md", text="## You\n\nHow would you do it?\n")
        await command(editor, "pygent.sendChat", chat)
        await editor.answered(uri=chat)
        await editor.until(lambda: editor.progress(editor.progress_tokens[0])[-1]["kind"] == "end")
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        params: dict[str, Any] = {"textDocument": {"uri": chat}, "range": where, "context": {"diagnostics": []}}
        actions = await editor.ask_lsp("textDocument/codeAction", params)
        chosen = next(each["command"] for each in actions if each["title"] == "Implement: ask for each edit")

        await command(editor, chosen["command"], *chosen["arguments"])
        text = await editor.answered(2, uri=chat)

        assert editor.documents.text(code) == CODE.replace("3.14", "math.pi")
        assert [each.message.partition("\n")[0] for each in editor.prompts] == ["edit_file: Edit app.py (+1 −1)"]
        assert "## You\n\nI approve the plan. Implement it.\n\n## pygent\n\n> tool: Edit app.py\n" in text
        assert await editor.ask_lsp("textDocument/codeLens", {"textDocument": {"uri": chat}}) != []


async def test_undo_of_a_turn_whose_files_could_not_be_kept_says_so_and_tries_no_snapshot(folder: Path) -> None:
    make = {"name": "create_file", "input": {"path": "made.txt", "content": "made\n"}}
    run = {"name": "shell", "input": {"command": "echo more > more.txt"}}
    environment = script(folder, {"tool_calls": [make]}, {"tool_calls": [run]}, {"text": "Made."})
    programs, started = folder.parent / "programs", folder.parent / "started"
    programs.mkdir()
    (programs / "git").write_text(f'#!/bin/sh\necho "$@" >> {started}\nexit 1\n')
    (programs / "git").chmod(0o755)
    environment |= {"PATH": f"{programs}:/usr/bin:/bin", "PYGENT_PERMISSIONS": '{"allow": ["create_file", "shell"]}'}
    async with editor_client(folder, environment) as editor:
        session = (await editor.turn("make it"))["sessionId"]
        before = started.read_text()

        done = await command(editor, "pygent.undo", {"sessionId": session})

        assert done["notKept"] is True
        assert started.read_text() == before
        assert (folder / "more.txt").exists()
        assert "Not all file changes of this turn could be recorded" in editor.messages[-1]
