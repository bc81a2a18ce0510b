"""acpx, a command-line client of the Agent Client Protocol from npm, with pygent-ls as its agent."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment
from tests.extensions.mcp.test_npm_servers import NODE
from tests.model_server import Call, ModelServer, Step

ACPX = Path(__file__).parents[2] / "build" / "peers" / "node_modules" / "acpx" / "dist" / "cli.js"

READ = Call(name="read_file", arguments={"path": "a.py"})
EDIT = Call(name="edit_file", arguments={"path": "a.py", "old": "y = 2", "new": "y = 3"})


def test_it_edits_a_file_and_continues_a_session(tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\ny = 2\n")
    steps = [Step(calls=(READ,)), Step(calls=(EDIT,)), Step(text="Changed."), Step(text="One."), Step(text="Two.")]
    with ModelServer(steps) as model:
        environment = clean_environment(home, **model.env(), PYGENT_MODEL="openai/mock")
        environment["PATH"] = f"{NODE.parent}{os.pathsep}{environment['PATH']}"

        def acpx(*arguments: str) -> list[dict[str, Any]]:
            """The messages that a command shows."""
            agent = " ".join([*COMMAND, "acp"])
            options = ("--agent", agent, "--cwd", str(folder), "--format", "json", "--ttl", "60")
            done = subprocess.run(
                [str(NODE), str(ACPX), *options, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=WAIT_S,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return [json.loads(line) for line in done.stdout.splitlines() if line]

        edited = acpx("--approve-all", "exec", "change y")
        acpx("sessions", "new")
        try:
            one, two = acpx("prompt", "first"), acpx("prompt", "second")
            mode = acpx("set-mode", "plan")
        finally:
            [closed] = acpx("sessions", "close")

    assert (folder / "a.py").read_text() == "x = 1\ny = 3\n"
    kinds = [each["params"]["update"]["sessionUpdate"] for each in edited if each.get("method") == "session/update"]
    assert {"tool_call", "tool_call_update", "agent_message_chunk", "usage_update"} <= set(kinds)
    assert "fs/write_text_file" in [each.get("method") for each in edited]
    ends = [each["result"].get("stopReason") for each in (*edited, *one, *two) if "result" in each]
    assert [each for each in ends if each is not None] == ["end_turn"] * 3
    assert model.requests[-1].texts("user")[-2:] == ["first", "second"]
    assert mode[-1]["modeId"] == "plan"
    assert closed["action"] == "session_closed"
