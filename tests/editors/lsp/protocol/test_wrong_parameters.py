"""Parameters of wrong types and of any size: none holds up the event loop, and what is said of them is short."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from pygent_ls.editors.lsp.protocol.schema import CLIENT_NOTIFICATIONS, REQUESTS
from tests.editors.lsp.editor import NO_ANSWER, Editor, Setup, WireError, connected
from tests.fakes import Call, say
from tests.work import calls_in, counting

URI = "file:///nowhere/a.py"
START = {"line": 0, "character": 0}
RANGE = {"start": START, "end": START}
DIAGNOSTIC = {"range": RANGE, "message": "m", "severity": 1}
FOLDER = {"uri": "file:///nowhere", "name": "n"}
DOCUMENT = {"uri": URI, "version": 1}

TOLD: Mapping[str, Any] = {
    "pygent/client/toolProgress": {"callId": "call-1", "text": "half way"},
    "textDocument/didOpen": {"textDocument": {**DOCUMENT, "languageId": "x", "text": "a"}},
    "textDocument/didChange": {"textDocument": DOCUMENT, "contentChanges": [{"range": RANGE, "text": "b"}]},
    "textDocument/didSave": {"textDocument": DOCUMENT},
    "textDocument/didClose": {"textDocument": DOCUMENT},
    "workspace/didChangeWorkspaceFolders": {"event": {"added": [FOLDER], "removed": [FOLDER]}},
    "workspace/didChangeConfiguration": {"settings": {"pygent": {"model": "m"}}},
    "workspace/didChangeWatchedFiles": {"changes": [{"uri": URI, "type": 1}]},
    "$/cancelRequest": {"id": 1},
    "window/workDoneProgress/cancel": {"token": "t"},
    "pygent/context/didChange": {
        "activeUri": URI,
        "selection": {"uri": URI, "range": RANGE},
        "visibleUris": [URI],
        "diagnostics": [{"uri": URI, "items": [DIAGNOSTIC], "version": 1}],
    },
}

ASKED: Mapping[str, Any] = {
    "textDocument/codeAction": {"textDocument": DOCUMENT, "range": RANGE, "context": {"diagnostics": [DIAGNOSTIC]}},
    "textDocument/codeLens": {"textDocument": DOCUMENT},
    "codeAction/resolve": {"title": "t"},
    "workspace/executeCommand": {"command": "pygent.cancel", "arguments": ["a"]},
    **{method: dict.fromkeys(kind.__struct_encode_fields__, "x") for method, (kind, _) in REQUESTS.items()},
}

SIZE = 800

MAX_CALLS = 40_000
"""Maximum number of function calls for one message, which allows some for each of its items."""

MAX_SAID_CHARS = 5_000

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603

NEW_FILE = {"path": "new.txt", "content": "new\n"}


def nested(depth: int) -> Any:
    value: Any = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


ODD: Mapping[str, Any] = {
    "text": "x" * 10_000,
    "numbers": [1] * SIZE,
    "texts": ["x"] * SIZE,
    "objects": [{}] * SIZE,
    "blocks": [{"type": "x" * 100}] * SIZE,
    "members": {f"{number:060}": 1 for number in range(SIZE)},
    "nested": nested(400),
    "deep": nested(95),
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to each value inside, and to the whole."""
    yield path
    match value:
        case dict():
            members: Iterable[tuple[str | int, Any]] = cast("dict[str, Any]", value).items()
        case list():
            members = enumerate(cast("list[Any]", value))
        case _:
            members = ()
    for key, each in members:
        yield from places(each, (*path, key))


def with_odd(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    """The value with another one at the end of that way."""
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = with_odd(value[path[0]], path[1:], odd)
    return changed


async def calls_of(editor: Editor, method: str, params: Any) -> int:
    """Return the cost of the message for the server, up to the answer of a request."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if method in TOLD:
        body = json.dumps(message).encode()
        return calls_in(lambda: editor.send_raw(body))
    with counting() as work, suppress(WireError):
        await editor.request(method, params)
    return work.n_calls


def test_every_method_of_the_daemon_is_here() -> None:
    assert REQUESTS.keys() <= ASKED.keys()
    assert CLIENT_NOTIFICATIONS.keys() <= TOLD.keys()


@pytest.mark.parametrize("methods", [TOLD, ASKED], ids=["notifications", "requests"])
async def test_whatever_stands_anywhere_costs_little_and_is_answered_in_few_words(
    methods: Mapping[str, Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pygent_ls")
    everywhere = ((method, path) for method, params in methods.items() for path in places(params))
    async with connected(folder) as editor:
        editor.handlers = dict.fromkeys(editor.handlers, lambda _: NO_ANSWER)
        await editor.request("pygent/tools/list")  # what is done once in a process is done
        for method, path in everywhere:
            for name, odd in ODD.items():
                n_calls = await calls_of(editor, method, with_odd(methods[method], path, odd))
                assert n_calls < MAX_CALLS, (method, path, name)
        await editor.request("pygent/status")
        errors = [each for each in editor.frames if "error" in each]
    assert errors
    assert all(len(json.dumps(each)) < MAX_SAID_CHARS for each in errors)
    assert all(each["error"]["code"] != INTERNAL_ERROR for each in errors)
    own = [each for each in caplog.records if each.name.startswith("pygent_ls")]
    assert all(len(each.getMessage()) < MAX_SAID_CHARS and each.levelno < logging.ERROR for each in own)


@pytest.mark.parametrize("depth", [101, 400, 900])
async def test_what_is_nested_too_deep_is_refused_by_its_reason(depth: int, folder: Path) -> None:
    async with connected(folder) as editor:
        for params in ({"prompt": "go", "outputSchema": nested(depth)}, {"prompt": "go", "context": nested(depth)}):
            error = await editor.error("pygent/turn/start", params)

            assert (error.code, error.message) == (INVALID_PARAMS, "it is nested deeper than 100")


async def test_an_answer_that_is_nested_too_deep_is_no_answer(folder: Path) -> None:
    async with connected(
        folder, Setup(script=[say("", Call(name="create_file", arguments=NEW_FILE)), say("done")])
    ) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once", "more": nested(400)}

        assert (await editor.turn("go"))["stopReason"] == "end_turn"

        assert not (folder / "new.txt").exists()


async def test_ten_thousand_changed_files_are_one_change_of_everything(folder: Path) -> None:
    changes = [{"uri": f"file:///nowhere/{number}.py", "type": 2} for number in range(10_000)]
    async with connected(folder) as editor:
        await editor.request("pygent/tools/list")
        few = await calls_of(editor, "workspace/didChangeWatchedFiles", {"changes": changes[:100]})
        many = await calls_of(editor, "workspace/didChangeWatchedFiles", {"changes": changes})

        assert editor.core.changed_files[-1] == Path("/")
        assert many < 100 * few


async def test_of_very_many_folders_the_first_count(folder: Path) -> None:
    added = [{"uri": f"{folder.as_uri()}/{number}", "name": "n"} for number in range(10_000)]
    async with connected(folder) as editor:
        editor.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})

        assert len(editor.server.connection.workspace.folders) == 500
