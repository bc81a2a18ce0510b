"""Random sessions of a client that may do anything, as a state machine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pygent_ls.editors.lsp import method_names, standard
from pygent_ls.editors.lsp.protocol.schema import wire_schema
from tests.e2e.raw import framed
from tests.endurance.wire.broken_frames import MAX_TOO_LONG, odd_bodies, raw_bytes
from tests.endurance.wire.checked_client import END_S, OWN, CheckedClient
from tests.endurance.wire.documents import Documents
from tests.endurance.wire.schema_values import JSON, TEXTS, params_of

FILES: Mapping[str, str] = {"a.txt": "one\ntwo\nthree\n", "b.py": "x = 1\r\ny = 2\r\n", "empty.txt": ""}

EDIT = {"name": "edit_file", "input": {"path": "edited.txt", "old": "x", "new": "xx"}}
SCRIPTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "say": ({"text": "Hello there. " * 5},),
    "think": ({"thinking": "hm " * 20, "text": "so"},),
    "tool": ({"tool_calls": [{"name": "shell", "input": {"command": "echo a command"}}]}, {"text": "done"}),
    "edit": ({"tool_calls": [EDIT, EDIT]}, {"text": "edited"}),
    "ask": ({"tool_calls": [{"name": "create_file", "input": {"path": "new.txt", "content": "n"}}]}, {"text": "asked"}),
    "wrong": ({"tool_calls": [{"name": "nothing", "input": "{]"}, {"name": "read_file", "input": {}}]}, {"text": "no"}),
    "slow": ({"delay_s": 60, "text": "late"},),
    "long": ({"tool_calls": [{"name": "shell", "input": {"command": "echo begun; exec sleep 60"}}]}, {"text": "done"}),
    "fail": ({"error": {"type": "invalid_request", "message": "no"}},),
    "cut": ({"text": "half an ans", "finish_reason": None}, {"text": "rest"}),
}
"""Conversations that a turn may have, by the name of the script."""

ENDLESS = ("slow", "long")
"""Scripts whose turns end only if they are cancelled."""

FEATURES = ("questionRequest", "permissionRequest", "contextUpdates", "pendingReview", "reviewRequest", "chatPanel")
"""Capabilities that a client of the daemon's own protocol may have."""

UNSENT = frozenset({"pygent/voice/start", "pygent/mcp/login"})
"""Requests that would use a microphone or a browser."""


LSP_REQUESTS: Mapping[str, type[msgspec.Struct]] = {
    "textDocument/codeAction": standard.CodeActionParams,
    "textDocument/codeLens": standard.CodeLensParams,
    "textDocument/inlineCompletion": standard.InlineCompletionParams,
    "workspace/executeCommand": standard.ExecuteCommandParams,
    "codeAction/resolve": standard.CodeActionParams,
    "codeLens/resolve": standard.CodeLensParams,
    "initialize": standard.InitializeParams,
}

LSP_NOTIFICATIONS: Mapping[str, type[msgspec.Struct]] = {
    "workspace/didChangeConfiguration": standard.DidChangeConfigurationParams,
    "workspace/didChangeWatchedFiles": standard.DidChangeWatchedFilesParams,
    "workspace/didRenameFiles": standard.RenameFilesParams,
    "window/workDoneProgress/cancel": standard.WorkDoneProgressCancelParams,
    "notebookDocument/didOpen": standard.DidOpenNotebookDocumentParams,
    "notebookDocument/didChange": standard.DidChangeNotebookDocumentParams,
    "notebookDocument/didClose": standard.DidCloseNotebookDocumentParams,
    "$/cancelRequest": standard.CancelParams,
    "$/setTrace": standard.CancelParams,
}
"""Notifications of LSP, but for those of documents that are checked."""


@cache
def methods() -> Mapping[str, st.SearchStrategy[Any]]:
    """Parameters of each request."""
    schema = wire_schema()
    requests = {method: each["params"] for method, each in schema["requests"].items() if method not in UNSENT}
    own = {method: params_of(each, schema["$defs"]) for method, each in requests.items()}
    return own | {method: _of_struct(kind) for method, kind in LSP_REQUESTS.items()}


@cache
def notifications() -> Mapping[str, st.SearchStrategy[Any]]:
    """Parameters of each notification, but for those of documents that are checked."""
    schema = wire_schema()
    told = schema["clientNotifications"]
    own = {method: params_of(told[method], schema["$defs"]) for method in method_names.NOTIFICATIONS}
    return own | {method: _of_struct(kind) for method, kind in LSP_NOTIFICATIONS.items()}


def _of_struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    schema = msgspec.json.schema(kind)
    return params_of(schema, schema["$defs"])


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, int, int, int, str]:
    """A change of a document: two places, as parts of its lines, and a text."""
    text = draw(st.sampled_from(["", "a", "é", "😀", "\n", "x\r\ny\n", "日"]))
    line, start, end_line, end = (draw(st.integers(0, 8)) for _ in range(4))
    return line, start, end_line, end, text


class WireMachine(RuleBasedStateMachine):
    """One daemon, from its start to its end. `begin` starts it with a folder of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="wire-")).resolve()
        self.folder = self.place / "project"
        self.folder.mkdir()
        for name, text in FILES.items():
            (self.folder / name).write_bytes(text.encode())
        (self.folder / "edited.txt").write_text("x\n")
        for name, answers in {**SCRIPTS, "read": _reads()}.items():
            lines = ({"loop": True}, *answers)
            (self.place / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
        rules = json.dumps({"allow": ["shell", "edit_file"]})
        self.client = CheckedClient(self.folder, {"PYGENT_MODEL": self.script("say"), "PYGENT_PERMISSIONS": rules})
        self.documents = Documents({self.uri(name): text for name, text in FILES.items()})
        self.sessions: list[str] = []
        self.gone: list[str] = ["gone"]
        self.turns: dict[str, str] = {}
        """Token of each turn that is not answered, by the key of its request."""
        self.started: list[tuple[str, str, str]] = []
        """Key, token and session of each turn. The token is the turn's id, too."""

    def script(self, name: str) -> str:
        return f"scripted:{self.place / name}.jsonl"

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    # The beginning

    @initialize(
        early=st.lists(st.sampled_from(["pygent/status", "pygent/turn/start", "shutdown", "nothing"]), max_size=3),
        raw=st.none() | raw_bytes,
        features=st.fixed_dictionaries({}, optional=dict.fromkeys(FEATURES, st.booleans())),
    )
    def begin(self, early: list[str], raw: bytes | None, features: dict[str, bool]) -> None:
        client = self.client
        for method in early:
            client.tell(method, {})
            error = client.request(method, {})["error"]
            client.check(error["code"] == -32002, f"{method} before initialize: {error}")
        if raw is not None:
            client.send_broken(raw, MAX_TOO_LONG)
        folders = [{"uri": self.folder.as_uri(), "name": "project"}]
        capabilities = {
            "workspace": {"configuration": True, "workspaceFolders": True, "applyEdit": False},
            "window": {"workDoneProgress": True},
            "general": {"positionEncodings": ["utf-16"]},
            "experimental": {"pygent": features},
        }
        given = {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": capabilities}
        result = client.request("initialize", given)
        client.check("result" in result, f"initialize: {result}")
        client.tell("initialized", {})
        self.new_session()
        params = {"prompt": "go", "sessionId": self.sessions[0], "model": self.script("tool")}
        client.check("result" in client.request("pygent/turn/start", params), "the first turn")
        self.held = client.held()

    # Bytes and bodies

    @rule(data=raw_bytes)
    def send_bytes(self, data: bytes) -> None:
        self.client.send_broken(data, MAX_TOO_LONG)
        self.client.resynchronise()

    @rule(body=odd_bodies)
    def send_body(self, body: bytes) -> None:
        client = self.client
        n_errors = len(client.errors_without_id)
        given = _decoded(body)
        key = None
        is_response = "method" not in given and given.keys() & {"result", "error"}
        if type(given.get("id")) in (int, str) and not is_response:
            key = client.expect(given["id"], str(given.get("method")))
        client.send_raw(framed(body))
        client.probe()
        if key is not None:
            client.pump(lambda: key not in client.open_requests, END_S, "an odd body")
        client.check(len(client.errors_without_id) - n_errors <= (key is None), f"too many errors for {body[:200]!r}")

    # Requests and notifications

    @rule(method=st.sampled_from(sorted(methods())), data=st.data())
    def ask(self, method: str, data: st.DataObject) -> None:
        params = self.filled(data.draw(methods()[method], label=method))
        key = self.client.begin(method, params)
        self.client.probe()
        is_wrong = params is not None and not isinstance(params, dict)
        self.client.check(not is_wrong or "result" not in self.client.answers.get(key, [{}])[0], method)

    @rule(method=st.sampled_from(sorted(notifications())), data=st.data())
    def say(self, method: str, data: st.DataObject) -> None:
        self.client.tell(method, self.filled(data.draw(notifications()[method], label=method)))

    @rule(method=st.sampled_from(sorted({*methods(), *notifications()})), params=JSON)
    def mix_up(self, method: str, params: Any) -> None:
        """A request is sent as a notification, and a notification as a request."""
        if method in notifications():
            self.client.begin(method, params)
        else:
            self.client.tell(method, params)

    @rule(id=st.sampled_from([7, "same", 10**30, ""]), n=st.integers(2, 4))
    def use_an_id_again(self, id: int | str, n: int) -> None:
        for _ in range(n):
            self.client.begin("pygent/session/list", {}, id)

    @rule(id=JSON, reply=st.fixed_dictionaries({}, optional={"result": JSON, "error": JSON}))
    def answer_what_was_not_asked(self, id: Any, reply: dict[str, Any]) -> None:
        if not reply and type(id) in (int, str):  # a message that is nothing is answered, if it has an id
            if any(each["id"] == id for each in self.client.asked):
                return
            self.client.expect(id, "nothing")
        self.client.send_raw(framed({"jsonrpc": "2.0", "id": id, **reply}))

    @rule(replies=st.lists(st.fixed_dictionaries({}, optional={"result": JSON, "error": JSON}), min_size=1, max_size=3))
    def answer_oddly(self, replies: list[dict[str, Any]]) -> None:
        self.client.next_replies[:] = replies

    @rule(id=st.one_of(JSON, st.sampled_from(["r1", "r2", "r3", "same", 7])), n_before=st.integers(0, 12))
    def cancel(self, id: Any, n_before: int) -> None:
        """Any id is cancelled, and that of a request that was made some time ago."""
        for each in (id, f"r{self.client.n_requests - n_before}"):
            self.client.tell("$/cancelRequest", {"id": each})

    # Sessions and turns

    @rule()
    def new_session(self) -> None:
        answer = self.client.request("pygent/session/new", {})
        self.sessions.append(answer["result"]["sessionId"])

    @precondition(lambda self: len(self.sessions) > 1)
    @rule(method=st.sampled_from(["pygent/session/delete", "pygent/session/close"]), at=st.integers(0, 9))
    def end_session(self, method: str, at: int) -> None:
        session = self.sessions.pop(at % len(self.sessions))
        self.gone.append(session)
        self.client.request(method, {"sessionId": session})

    @rule(name=st.sampled_from(sorted(SCRIPTS)), at=st.integers(0, 9), steers=st.booleans())
    def start_turn(self, name: str, at: int, steers: bool) -> None:
        session, token = self.sessions[at % len(self.sessions)], f"{OWN}{self.client.n_requests}"
        params = {"prompt": "go", "sessionId": session, "model": self.script(name), "partialResultToken": token}
        key = self.client.begin("pygent/turn/start", {**params, "turnId": token})
        self.turns[key] = token
        self.started.append((key, token, session))
        if steers:
            self.client.begin("pygent/turn/steer", {"sessionId": session, "turnId": token, "prompt": "and so on"})

    @rule(at=st.integers(0, 9))
    def attach(self, at: int) -> None:
        token = f"{OWN}{self.client.n_requests}"
        session = self.sessions[at % len(self.sessions)]
        self.client.begin("pygent/session/attach", {"sessionId": session, "partialResultToken": token})

    @precondition(lambda self: bool(self.started))
    @rule(at=st.integers(0, 9), how=st.sampled_from(["request", "turn", "session", "dequeue"]))
    def cancel_turn(self, at: int, how: str) -> None:
        key, token, session = self.started[-1 - at % len(self.started)]
        match how:
            case "request":
                self.client.tell("$/cancelRequest", {"id": json.loads(key)})
            case "turn":
                self.client.begin("pygent/turn/cancel", {"sessionId": session, "turnId": token})
            case "session":
                self.client.begin("pygent/turn/cancel", {"sessionId": session})
            case _:
                self.client.begin("pygent/turn/dequeue", {"sessionId": session, "turnId": token})

    # Documents

    @rule(
        name=st.sampled_from(sorted(FILES)),
        text=st.sampled_from(["", "a\nb\n", "😀\r\né", "x" * 100]),
        version=st.integers(-1, 9),
    )
    def open_document(self, name: str, text: str, version: int) -> None:
        item = {"uri": self.uri(name), "languageId": "x", "version": version, "text": text}
        self.client.tell("textDocument/didOpen", {"textDocument": item})
        self.documents.open(self.uri(name), text)

    @rule(
        name=st.sampled_from(sorted(FILES)),
        given=st.lists(changes() | TEXTS, min_size=1, max_size=20),
        version=st.integers(-1, 9),
    )
    def change_document(self, name: str, given: list[Any], version: int) -> None:
        uri = self.uri(name)
        for each in given:
            change = {"text": each.replace("\ud800", "")} if isinstance(each, str) else self.ranged(uri, *each)
            if change is not None:
                identifier = {"uri": uri, "version": version}
                self.client.tell("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
                self.documents.change(uri, [change])

    def ranged(self, uri: str, line: int, start: int, end_line: int, end: int, text: str) -> dict[str, Any] | None:
        """A change of places that the document has; None if its text is unknown."""
        shown = self.documents.shown(uri)
        if shown is None or uri not in self.documents.texts:
            return None
        lines = shown.splitlines(keepends=True) or [""]
        if lines[-1].endswith(("\n", "\r")):
            lines.append("")
        places = sorted((each % len(lines), column) for each, column in ((line, start), (end_line, end)))
        whole = [(at, min(column, len(lines[at].rstrip("\r\n")))) for at, column in places]
        units = [(at, len(lines[at][:column].encode("utf-16-le")) // 2) for at, column in whole]
        first, last = sorted(units)
        at = {"start": {"line": first[0], "character": first[1]}, "end": {"line": last[0], "character": last[1]}}
        return {"range": at, "text": text}

    @rule(name=st.sampled_from(sorted(FILES)), bad=JSON)
    def change_document_wrongly(self, name: str, bad: Any) -> None:
        changed = [{"range": {"start": bad}, "text": 7}]
        self.client.tell("textDocument/didChange", {"textDocument": {"uri": self.uri(name)}, "contentChanges": changed})
        self.documents.spoil(self.uri(name))

    @rule(name=st.sampled_from(sorted(FILES)))
    def close_document(self, name: str) -> None:
        self.client.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})
        self.documents.close(self.uri(name))

    @rule(added=st.lists(st.sampled_from(["sub", "..", "none"]), max_size=2), removed=st.lists(TEXTS, max_size=2))
    def change_folders(self, added: list[str], removed: list[str]) -> None:
        news = [{"uri": (self.folder / each).as_uri(), "name": each} for each in added if each != ".."]
        olds = [{"uri": each, "name": "x"} for each in removed] + news[:1]
        self.client.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": news, "removed": []}})
        self.client.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": olds}})

    @rule()
    def read_documents(self) -> None:
        """A turn in a session of its own reads every document."""
        session = self.client.request("pygent/session/new", {})["result"]["sessionId"]
        token = f"{OWN}{self.client.n_requests}"
        params = {"prompt": "read", "sessionId": session, "model": self.script("read"), "partialResultToken": token}
        answer = self.client.request("pygent/turn/start", params)
        self.client.check("result" in answer, f"{answer}")
        results = [each for each in self.client.events[token] if each["type"] == "tool_result"]
        for name, result in zip(sorted(FILES), results, strict=True):
            shown = self.documents.shown(self.uri(name))
            if shown is not None:
                expected, said = _numbered(shown) if shown else "is empty.", result["content"]
                said = said if shown else said[-len(expected) :]
                self.client.check(said == expected, f"{name}: the daemon reads {said!r}, and it is {expected!r}")
        self.client.request("pygent/session/delete", {"sessionId": session})

    # What must be true after each step

    @invariant()
    def it_answers_and_turns_are_whole(self) -> None:
        if self.client.n_requests == 0:
            return
        self.client.probe()
        self.check_turns()

    def check_turns(self) -> None:
        for key, token in list(self.turns.items()):
            if key in self.client.answers:
                self.client.check_turn(token, key)
                del self.turns[key]

    def teardown(self) -> None:
        """Cancel all that runs: each request is answered, no child is left, and the daemon ends as it should."""
        client = self.client
        try:
            if client.process.poll() is None and client.n_requests:
                self.end_all()
        finally:
            client.kill()
            shutil.rmtree(self.place, ignore_errors=True)

    def end_all(self) -> None:
        """End the daemon as `teardown` describes."""
        client = self.client
        client.next_replies.clear()
        for each in [*self.sessions, *self.gone]:
            client.begin("pygent/turn/cancel", {"sessionId": each})
        for _ in range(2):
            for key in list(client.open_requests):
                client.tell("$/cancelRequest", {"id": json.loads(key)})
            client.probe()
        client.pump(lambda: not client.open_requests, END_S, "the end")
        self.check_turns()
        client.wait_until_it_holds(self.held)
        client.check(client.end() == 0, f"the exit code; {client.errors}")

    def filled(self, value: Any) -> Any:
        """The value with what stands for names of the daemon replaced."""
        match value:
            case str() if value.startswith("@"):
                known: Mapping[str, Callable[[], str]] = {
                    "@live": lambda: self.sessions[-1],
                    "@gone": lambda: self.gone[-1],
                    "@turn": lambda: self.started[-1][1] if self.started else "t",
                    "@checkpoint": lambda: f"{self.sessions[-1]}:1",
                    "@uri": lambda: self.uri("a.txt"),
                    "@script": lambda: self.script("say"),
                    "@folder": lambda: str(self.folder),
                }
                return known[value]() if value in known else value
            case list():
                return [self.filled(each) for each in cast("list[Any]", value)]
            case dict():
                return {key: self.filled(each) for key, each in cast("dict[str, Any]", value).items()}
            case _:
                return value


def _reads() -> tuple[Mapping[str, Any], ...]:
    calls = [{"name": "read_file", "input": {"path": name}} for name in sorted(FILES)]
    return ({"tool_calls": calls}, {"text": "read"})


def _numbered(text: str) -> str:
    """The text as `read_file` shows it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, start=1))


def _decoded(body: bytes) -> dict[str, Any]:
    """The object of a body; empty if it has none."""
    try:
        found: Any = json.loads(body.decode(json.detect_encoding(body), "surrogatepass"))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
