"""A chat document over real stdio, whose daemon is killed in the midst of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client
from tests.editors.lsp.editor_documents import Documents

CAPABILITIES = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}


def scripted(folder: Path, *answers: Mapping[str, Any]) -> dict[str, str]:
    script = folder.parent / "script.jsonl"
    script.write_text("\n".join(map(json.dumps, answers)))
    return {"PYGENT_MODEL": f"scripted:{script}"}


class Writer:
    """An editor with one document, who makes the edits that it is asked for."""

    def __init__(self, client: RawClient, folder: Path, text: str) -> None:
        client.initialize(folder, capabilities=CAPABILITIES)
        self._client = client
        self._documents = Documents(client.tell, "utf-16")
        self._uri = self._documents.open(folder / "talk.pygent.md", text=text)
        self._made: set[int] = set()

    def send(self) -> Any:
        """Send its last question."""
        params = {"command": "pygent.sendChat", "arguments": [self._uri]}
        return self._client.request("send", "workspace/executeCommand", params)["result"]

    def until(self, true: Callable[[str], bool]) -> str:
        """Make edits until the document is as wanted; returns it."""
        while not true(self._documents.text(self._uri)):
            edit = self._client.until(
                lambda frame: frame.get("method") == "workspace/applyEdit" and frame["id"] not in self._made
            )
            self._made.add(edit["id"])
            result = self._documents.apply(edit["params"])
            self._client.send({"jsonrpc": "2.0", "id": edit["id"], "result": result})
        return self._documents.text(self._uri)


def test_a_half_answer_is_gone_on_with_after_the_daemon_was_killed(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    call = {"name": "read_file", "input": {"path": "a.txt"}}
    cut = scripted(folder, {"text": "Half of it.", "tool_calls": [call]}, {"text": "never", "delay_s": 600})
    with raw_client(folder, environment=cut) as client:
        writer = Writer(client, folder, "## You\n\nWhy?\n")
        writer.send()
        half = writer.until(lambda text: "> tool: " in text)
        client.kill()

    with raw_client(folder, environment=scripted(folder, {"text": "The rest."})) as client:
        writer = Writer(client, folder, f"{half}\n\n## You\n\nGo on.\n")
        session_id = writer.send()["sessionId"]
        text = writer.until(lambda text: text.endswith("The rest.\n\n## You\n\n"))
        loaded = client.request("load", "pygent/session/load", {"sessionId": session_id})["result"]["messages"]

    assert text.startswith(f"{half}\n\n## You\n\nGo on.\n\n## pygent\n\nThe rest.")
    assert [(each["role"], each["content"][0]["text"]) for each in loaded] == [
        ("user", "Why?"),
        ("assistant", "Half of it."),
        ("user", "Go on."),
        ("assistant", "The rest."),
    ]
