"""Speech for tests of voice input: recordings, and settings with a server that hears them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).parents[1] / "extensions" / "mcp" / "speech_server.py"

LIMIT_S = 60.0
"""Longest wait for the synthesiser, which takes 0.1 s."""


def spoken(text: str, folder: Path) -> Path:
    """Speak a text; return the recording."""
    recording = folder / f"{text}.wav"
    subprocess.run(["espeak-ng", "-s", "130", "-w", recording, text], check=True, timeout=LIMIT_S)
    return recording


def speech_settings(*recordings: Path, poll_ms: int = 50, **environment: str) -> str:
    """Return a settings file with a speech server whose microphone hears these recordings, 0.2 s at each poll."""
    env = {"MICROPHONE": ":".join(map(str, recordings)), **environment}
    listed = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    lines = [
        "[voice]",
        f"poll_ms = {poll_ms}",
        "[mcp_servers.speech]",
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps([str(SERVER)])}",
        f"env = {{ {listed} }}",
    ]
    return "\n".join(lines) + "\n"
