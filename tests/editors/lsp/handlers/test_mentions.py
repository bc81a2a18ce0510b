"""`@` words in a prompt, on a real workspace and for a client that says where its user is."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

from pygent_ls.agent.ports.approver import PermissionAnswer
from tests.editors.lsp.editor import Setup, connected
from tests.fakes import say


async def test_the_model_reads_what_the_prompt_names(folder: Path) -> None:
    (folder / "a.py").write_text("one\ntwo\nthree\n")
    (folder / "b.py").write_text("bee\n")
    where = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 5}}
    commit = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "first"]
    for command in (["git", "init", "-q"], ["git", "add", "."], commit):
        await asyncio.to_thread(subprocess.run, command, cwd=folder, check=True)
    (folder / "b.py").write_text("wasp\n")
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        uri = editor.documents.open(folder / "a.py")
        editor.documents.type_over(uri, "one\nzwei\nthree\n")
        context = {"activeUri": uri, "selection": {"uri": uri, "range": where}}
        problem = {"range": where, "message": "too many"}
        await editor.turn(
            "Compare @a.py#L2 with @selection, @b.py and @diff; mind @diagnostics, @nobody.",
            context={**context, "diagnostics": [{"uri": uri, "items": [problem]}]},
        )

        (message,) = editor.core.model.requests[0].messages
        for said in (
            '<context kind="file" path="a.py" lines="2-2">\nzwei\n',
            '<context kind="file" path="a.py" lines="3-3">\nthree\n',
            '<context kind="file" path="b.py">\nwasp\n',
            "-bee\n+wasp",
            "  3:1 error: too many",
        ):
            assert said in message.text
        assert message.text.endswith("Compare @a.py#L2 with @selection, @b.py and @diff; mind @diagnostics, @nobody.")
        assert editor.events()[0]["prompt"].startswith("Compare @a.py")


async def test_a_rule_that_denies_reading_holds_for_what_a_prompt_names_too(folder: Path) -> None:
    (folder / ".env").write_text("TOKEN=tapioca\n")
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        session = await editor.request("pygent/session/new")
        store = await editor.core.sessions.hold(session["sessionId"])
        store.permissions.remember(["read_file(**/.env)"], PermissionAnswer(outcome="reject_always"))
        await editor.turn("Look at @.env", sessionId=session["sessionId"])

        text = editor.core.model.requests[0].messages[0].text
        assert "the rule read_file(**/.env) denies reading it" in text
        assert "tapioca" not in text


async def test_a_plain_editors_code_actions_say_what_the_selection_is(folder: Path) -> None:
    (folder / "a.py").write_text("one\ntwo\nthree\n")
    uri = (folder / "a.py").as_uri()
    where = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        given: dict[str, Any] = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
        await editor.request("textDocument/codeAction", given)
        await editor.turn("explain @selection")

        message = editor.core.model.requests[0].messages[-1]
        assert '<context kind="file" path="a.py" lines="2-2">\ntwo\n' in message.text
        assert "Where the user is now" not in message.text, "it tells no more of it than that"
