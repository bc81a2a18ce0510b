"""A language server that misbehaves as its first argument says. Each start adds its process id to a file."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def read() -> Any:
    """The next message; None at the end of the input."""
    length = 0
    while (line := sys.stdin.buffer.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(**message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def problem(line: int, message: str) -> dict[str, Any]:
    where = {"line": line, "character": 0}
    return {"range": {"start": where, "end": where}, "message": message}


def main() -> None:  # noqa: C901 - one message after the other
    how, pids = sys.argv[1:3]
    with open(pids, "a", encoding="utf-8") as file:  # noqa: PTH123 - a program of its own
        file.write(f"{os.getpid()}\n")
    if how == "garbage":
        sys.stdout.write("Welcome to the toy server!\n" * 1_000)
        sys.stdout.flush()
    while (message := read()) is not None:
        method, params, number = message.get("method"), message.get("params"), message.get("id")
        match method:
            case "initialize":
                if how == "dies at start":
                    sys.exit("toy: no license")
                names = ("definitionProvider", "renameProvider", "hoverProvider", "codeActionProvider")
                send(id=number, result={"capabilities": dict.fromkeys(names, True)})
            case "textDocument/didOpen" | "textDocument/didChange":
                publish(how, params["textDocument"], params)
            case "textDocument/hover" if how == "dies":
                sys.exit(3)
            case "textDocument/hover" if how == "silent":
                pass
            case "textDocument/rename":
                send(id=number, result=renamed(how, params))
            case "shutdown":
                send(id=number, result=None)
            case "exit":
                return
            case _ if number is not None:
                send(id=number, error={"code": -32603, "message": "toy: not today"})
            case _:
                pass


def publish(how: str, document: dict[str, Any], params: dict[str, Any]) -> None:
    text = document.get("text") or params["contentChanges"][0]["text"]
    found = [problem(line, "toy: bad") for line, each in enumerate(text.split("\n")) if "bad" in each]
    uri, version = document["uri"], document["version"]
    if how == "late news of the version before":
        send(method="textDocument/publishDiagnostics", params={"uri": uri, "version": version - 1, "diagnostics": []})
        send(method="textDocument/publishDiagnostics", params={"uri": uri, "version": version, "diagnostics": found})
    elif how == "no versions":
        send(method="textDocument/publishDiagnostics", params={"uri": uri, "diagnostics": found})
    elif how == "malformed":
        odd = [7, {"message": 3}, {"range": {"start": {"line": -1}}, "message": "x"}, *found]
        send(method="textDocument/publishDiagnostics", params={"uri": uri, "version": version, "diagnostics": odd})
    elif how == "infinite":
        where = {"line": float("inf"), "character": 0}  # 1e999 is read as such
        odd = [{"range": {"start": where, "end": where}, "message": "x"}, *found]
        send(method="textDocument/publishDiagnostics", params={"uri": uri, "version": version, "diagnostics": odd})
    elif how == "dies while it checks" and version > 1:
        sys.exit(4)
    elif how not in ("publishes nothing",):
        send(method="textDocument/publishDiagnostics", params={"uri": uri, "version": version, "diagnostics": found})


def renamed(how: str, params: dict[str, Any]) -> Any:
    uri, zero, far = params["textDocument"]["uri"], {"line": 0, "character": 0}, {"line": 0, "character": 3}
    edit = {"range": {"start": zero, "end": far}, "newText": params["newName"]}
    match how:
        case "overlaps":
            return {"changes": {uri: [edit, edit]}}
        case "leaves":
            return {"changes": {"file:///etc/hosts": [edit]}}
        case "creates":
            return {"documentChanges": [{"kind": "create", "uri": uri + ".new"}]}
        case "another version":
            document = {"uri": uri, "version": 99}
            return {"documentChanges": [{"textDocument": document, "edits": [edit]}]}
        case "not JSON of the protocol":
            return {"documentChanges": [{"textDocument": 5, "edits": "none"}, 3]}
        case _:
            return {"changes": {uri: [edit]}}


main()
