"""Edits of the agent in a Neovim of the tests: through a whole turn, or as the daemon would send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.clients.neovim.nvim import Editor
from tests.model_server import Call, Step

TRUSTING = {"PYGENT_MODE": "trust"}
"""Environment of a daemon that asks nothing before it edits."""

READY = "return require('pygent.daemon.client').ready() ~= nil"


def bypass_permissions(home: Path) -> None:
    """Configure the daemon so that it asks nothing at all."""
    config = home / "config" / "pygent-ls"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('allow_bypass = true\nmode = "bypass"\n', encoding="utf-8")


def edits(*calls: Mapping[str, Any], name: str = "edit_file") -> Step:
    """An answer of the model that makes these calls."""
    return Step(calls=tuple(Call(name=name, arguments=call) for call in calls))


def replaced(path: str, old: str, new: str) -> Mapping[str, Any]:
    """The arguments of `edit_file`."""
    return {"path": path, "old": old, "new": new}


def connect(editor: Editor) -> None:
    """The daemon is there, and sees the files that are open."""
    editor.lua("require('pygent.daemon.client').need(function() end)")
    editor.until(READY, what="the daemon")


def send(editor: Editor, prompt: str = "go") -> None:
    """Begin a turn."""
    editor.lua("local prompt = ...; require('pygent.sessions').need(function(s) s:send(prompt) end)", prompt)


def turn(editor: Editor, prompt: str = "go") -> None:
    """A turn from its prompt to its end."""
    n_ended = _n_ended(editor)
    send(editor, prompt)
    editor.until(lambda: _n_ended(editor) > n_ended, what="the end of the turn")


def results(editor: Editor) -> list[tuple[bool, str]]:
    """What the model was told of each of its calls in the session: whether it went well, and the text."""
    found = editor.lua(
        "local found = {}; for _, item in ipairs(require('pygent.sessions').current().conversation.items) do "
        "if item.type == 'tool' and item.result then "
        "table.insert(found, { not item.result.isError, item.result.content }) end end; return found"
    )
    return [(ok, text) for ok, text in found]


def begin_to_apply(editor: Editor, edit: Mapping[str, Any], label: str = "Edit a file") -> None:
    """Send the client that `workspace/applyEdit`."""
    editor.lua(
        "_G.answer = nil; local params = ...; local client = require('pygent.daemon.client').ready(); "
        "coroutine.wrap(function() _G.answer = client.handlers['workspace/applyEdit'](nil, params, "
        "{ client_id = client.id, method = 'workspace/applyEdit' }) end)()",
        {"edit": edit, "label": label},
    )


def answer_to_edit(editor: Editor) -> Mapping[str, Any]:
    """What the client answers to the last one."""
    return editor.until("return _G.answer", what="the answer to the edit")


def apply(editor: Editor, edit: Mapping[str, Any], label: str = "Edit a file") -> Mapping[str, Any]:
    """What the client answers to that `workspace/applyEdit`."""
    begin_to_apply(editor, edit, label)
    return answer_to_edit(editor)


def text_edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    """Lines and characters, from 0."""
    return {
        "range": {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        },
        "newText": text,
    }


def of_file(path: Path, text_edits: Sequence[Mapping[str, Any]], version: int | None = None) -> dict[str, Any]:
    """An edit of one file; without a version it is closed to the daemon."""
    document: dict[str, Any] = {"uri": path.as_uri()}
    if version is not None:
        document["version"] = version
    return {"documentChanges": [{"textDocument": document, "edits": list(text_edits)}]}


def version_of(editor: Editor, buffer: int) -> int:
    """As the daemon was told it."""
    return editor.lua("return vim.lsp.util.buf_versions[...]", buffer)


def change(editor: Editor, buffer: int, *text_edits: Mapping[str, Any]) -> Mapping[str, Any]:
    """Edit an open file as it is now."""
    path = Path(editor.nvim.api.buf_get_name(buffer))
    return apply(editor, of_file(path, text_edits, version_of(editor, buffer)))


def _n_ended(editor: Editor) -> int:
    return editor.lua(
        "local n = 0; for _, s in ipairs(require('pygent.sessions').all()) do "
        "for _, turn in pairs(s.conversation.turns) do if turn.state == 'finished' then n = n + 1 end end end; return n"
    )
