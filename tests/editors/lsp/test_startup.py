"""`initialize` is answered before anything heavy is imported; the real daemon, watched by the interpreter itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client

WATCHED = (sys.executable, "-X", "importtime", "-m", "pygent_ls")
"""The interpreter writes a line for each module as soon as it is imported."""

HEAVY = {"litellm", "openai", "mcp", "acp", "httpx", "aiohttp", "tiktoken", "tenacity", "pygls", "pydantic"}
"""What some turns need."""


def imported(client: RawClient) -> set[str]:
    return set(re.findall(r"^import time:[ \d]+\|[ \d]+\| +(\S+)$", client.stderr, re.MULTILINE))


def test_initialize_is_answered_before_anything_heavy_is_imported(folder: Path) -> None:
    key = {"PYGENT_MODEL": "openai/mock", "OPENAI_API_KEY": "sk-test"}
    with raw_client(folder, command=WATCHED, environment=key) as client:
        params: dict[str, Any] = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        result = client.request(1, "initialize", params)["result"]
        assert result["capabilities"]["experimental"]["pygent"]["model"] == "openai/mock"

        assert client.finish() == 0
    modules = imported(client)
    assert {"pygent_ls.editors.lsp.server", "pygent_ls.config.settings"} <= modules
    assert modules & HEAVY == set()
    assert {
        name for name in modules if name.startswith(("pygent_ls.tools", "pygent_ls.sessions", "pygent_ls.llm"))
    } == set()


def test_a_model_that_needs_no_library_loads_none(folder: Path) -> None:
    script = folder / "script.jsonl"
    script.write_text('{"text": "hello"}\n')
    with raw_client(folder, command=WATCHED, environment={"PYGENT_MODEL": f"scripted:{script}"}) as client:
        client.initialize(folder)
        result = client.request(1, "pygent/turn/start", {"prompt": "hi"})["result"]
        assert result["text"] == "hello"

        assert client.finish() == 0
    modules = imported(client)
    assert {"pygent_ls.tools.catalog", "pygent_ls.sessions.session"} <= modules  # the watch sees what comes later, too
    assert modules & {"litellm", "openai", "mcp", "acp", "httpx", "aiohttp", "pydantic"} == set()


def test_what_a_turn_needs_is_imported_before_there_is_one(folder: Path) -> None:
    environment = {"PYGENT_MODEL": "openai/mock", "OPENAI_API_KEY": "sk-test"}
    with raw_client(folder, command=WATCHED, environment=environment) as client:
        client.initialize(folder)

        for module in ("pygent_ls.tools.catalog", "pygent_ls.workspace.web.http_client", "aiohttp"):
            client.until_said(f"{module}\n")

        assert client.finish() == 0
