"""The command that replays recorded answers, run as a program on recordings of our own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WAIT_S = 60.0

ROOT = Path(__file__).parents[2]

ANSWER: Mapping[str, Any] = {
    "origin": "handmade#0",
    "host": "localhost",
    "form": "chat",
    "provider": "openai",
    "model": "m",
    "status": 200,
    "headers": {"content-type": "text/event-stream"},
    "body": 'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    "expect": {"text": "Hi", "thinking": "", "calls": [], "finish": "stop", "whole": True, "output": 0},
}

REFUSED: Mapping[str, Any] = {
    **ANSWER,
    "form": "error",
    "status": 401,
    "headers": {"content-type": "application/json"},
    "body": '{"error": {"message": "no such key"}}',
    "expect": {"type": "auth"},
}


async def replayed(folder: Path, *recordings: Mapping[str, Any]) -> tuple[int | None, str]:
    file = folder / "recordings.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in recordings))
    command = (sys.executable, "-m", "tests.provider_traffic", str(file))
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(WAIT_S):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_recordings_that_are_read_as_expected_pass(tmp_path: Path) -> None:
    assert await replayed(tmp_path, ANSWER, REFUSED) == (0, "2 of 2 recordings are read as expected.\n")


async def test_each_difference_is_a_line_and_fails_the_command(tmp_path: Path) -> None:
    other = {**ANSWER, "expect": {**ANSWER["expect"], "text": "Ho", "output": 3}}

    code, output = await replayed(tmp_path, ANSWER, other, {**REFUSED, "expect": {"type": "server"}})

    assert code == 1
    assert "1 chat openai/m handmade#0\n    text: expected 'Ho', read 'Hi'\n" in output
    assert "output: expected 3, read 0" in output
    assert "type: expected 'server', read 'auth'" in output
    assert output.endswith("1 of 3 recordings are read as expected.\n")
