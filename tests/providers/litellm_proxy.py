"""A real LiteLLM proxy on loopback, whose upstreams are strict servers."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import IO

ROOT = Path(__file__).parents[2]

PROGRAM = ROOT / ".venv" / "litellm-proxy" / "bin" / "litellm"

START_S = 90.0
"""Longest wait for the proxy to listen: it takes 10 s of a core, which many may share."""

STOP_S = 20.0

READY = "Uvicorn running on"
"""Stands in the proxy's log once it listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A model of the proxy."""

    name: str
    """As clients call it."""
    model: str
    """As litellm calls it."""
    api_base: str

    def as_config(self) -> Mapping[str, object]:
        """The model's entry in the configuration."""
        parameters = {"model": self.model, "api_base": self.api_base, "api_key": "sk-upstream", "max_retries": 0}
        return {"model_name": self.name, "litellm_params": parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy that listens."""

    url: str
    key: str


@contextmanager
def litellm_proxy(folder: Path, deployments: Sequence[Deployment]) -> Generator[Proxy]:
    """Run a proxy with these models; it stores nothing, reports nothing, and has no network but loopback."""
    if not PROGRAM.exists():
        raise FileNotFoundError(f"There is no {PROGRAM}. Run .ci/litellm-proxy, which installs it.")
    key = f"sk-{secrets.token_hex(16)}"
    config = folder / "config.json"  # which is YAML, too
    settings = {
        "model_list": [each.as_config() for each in deployments],
        "general_settings": {"master_key": key},
        "litellm_settings": {"telemetry": False, "num_retries": 0},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }
    config.write_text(json.dumps(settings))
    port = _free_port()
    command = [PROGRAM, "--config", config, "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    process = subprocess.Popen(
        [str(each) for each in command],
        env=_environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    assert process.stdout is not None
    lines: Queue[str | None] = Queue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        _wait_until_ready(lines)
        yield Proxy(url=f"http://127.0.0.1:{port}", key=key)
    finally:
        _end(process)
        reader.join(STOP_S)
        process.stdout.close()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "NO_PROXY": "*",
        "PYTHONUNBUFFERED": "1",
    }


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _read(output: IO[str], lines: Queue[str | None]) -> None:
    for line in output:
        lines.put(line)
    lines.put(None)


def _wait_until_ready(lines: Queue[str | None]) -> None:
    said: list[str] = []
    while True:
        try:
            line = lines.get(timeout=START_S)
        except Empty:
            raise TimeoutError(f"The LiteLLM proxy does not listen:\n{''.join(said[-30:])}") from None
        if line is None:
            raise RuntimeError(f"The LiteLLM proxy has ended:\n{''.join(said[-30:])}")
        said.append(line)
        if READY in line:
            return


def _end(process: subprocess.Popen[str]) -> None:
    """End the proxy and its workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_S)
        except ProcessLookupError:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            continue
        return
