"""`pygent-ls run` at the other end of the Claude Agent SDK, by the lines that the SDK wrote.

The lines were recorded from claude-agent-sdk 0.2.188 with a hook, a `can_use_tool` callback and an agent. Its
`cli_path` was a script that runs `pygent-ls run`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment
from tests.model_server import Call, ModelServer, Step

SESSION_ID = "123e4567-e89b-42d3-a456-426614174903"

ARGUMENTS = (
    *("--output-format", "stream-json", "--verbose", "--system-prompt", "You are a test.", "--model", "openai/mock"),
    *("--fallback-model", "openai/other", "--permission-prompt-tool", "stdio", f"--session-id={SESSION_ID}"),
    *("--include-partial-messages", "--setting-sources=user,project,local", "--max-thinking-tokens", "1000"),
    *("--input-format", "stream-json"),
)

INITIALIZE = {
    "type": "control_request",
    "request_id": "req_1_b45f2177",
    "request": {
        "subtype": "initialize",
        "hooks": {"PreToolUse": [{"matcher": "edit_file", "hookCallbackIds": ["hook_0"]}]},
        "agents": {"poet": {"description": "Rhymes", "prompt": "Rhyme.", "tools": ["read_file"], "model": "inherit"}},
    },
}

ANSWERS = {
    "hook_callback": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "It is raining."}},
    "can_use_tool": {"behavior": "allow", "updatedInput": {"path": "app.py", "old": "x = 1", "new": "x = 2"}},
}


def prompt(text: str) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "default"}


def exchanged(process: subprocess.Popen[str], *lines: dict[str, Any], until: str) -> list[dict[str, Any]]:
    """Write lines, answer requests as the SDK did, and read up to a line of that type."""
    assert process.stdin
    assert process.stdout
    for line in lines:
        process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()
    read: list[dict[str, Any]] = []
    for text in process.stdout:
        line = json.loads(text)
        read.append(line)
        if line["type"] == "control_request":
            body = ANSWERS[line["request"]["subtype"]]
            response = {"subtype": "success", "request_id": line["request_id"], "response": body}
            process.stdin.write(json.dumps({"type": "control_response", "response": response}) + "\n")
            process.stdin.flush()
        if line["type"] == until:
            break
    return read


def test_hooks_agents_and_permission_of_the_sdk_work(tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (folder / "app.py").write_text("x = 1\n")
    edit = Call(name="edit_file", arguments={"path": "app.py", "old": "x = 1", "new": "x = 2"})
    steps = [Step(text="", calls=(edit,)), Step(text="done"), Step(text="a rhyme")]
    with ModelServer(steps) as server:
        process = subprocess.Popen(
            [*COMMAND, "run", *ARGUMENTS],
            env={**clean_environment(home), **server.env()},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            (told,) = exchanged(process, INITIALIZE, until="control_response")
            edited = exchanged(process, prompt("make x 2"), until="result")
            rhymed = exchanged(process, prompt("@agent-poet how is the weather?"), until="result")
        finally:
            process.communicate(timeout=WAIT_S)

    agents = {each["name"]: each["description"] for each in told["response"]["response"]["agents"]}
    assert agents["poet"] == "Rhymes"
    asked = [line["request"]["subtype"] for line in edited if line["type"] == "control_request"]
    assert asked == ["hook_callback", "can_use_tool"]
    assert (folder / "app.py").read_text() == "x = 2\n"
    assert {line["session_id"] for line in (*edited, *rhymed)} == {SESSION_ID}
    assert "It is raining." in str(server.requests[1].body)
    assert server.requests[0].texts("system")[0].startswith("You are a test.")
    assert rhymed[-1]["result"] == "a rhyme"
    assert "Rhyme." in server.requests[2].texts("system")[0]
    offered = [each["function"]["name"] for each in server.requests[2].body["tools"]]
    assert offered == ["read_file"]
    assert process.returncode == 0
