"""`initialize` is answered before anything heavy is imported; the real daemon, watched by the interpreter itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.executed_modules import WATCHED, executed_in
from tests.e2e.raw import raw_client

HEAVY = {"litellm", "openai", "mcp", "acp", "httpx", "aiohttp", "tiktoken", "tenacity", "pygls", "pydantic"}
"""What some turns need."""


def test_initialize_is_answered_before_anything_heavy_is_imported(folder: Path) -> None:
    key = {"PYGENT_MODEL": "openai/mock", "OPENAI_API_KEY": "sk-test"}
    with raw_client(folder, command=WATCHED, environment=key) as client:
        params: dict[str, Any] = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        result = client.request(1, "initialize", params)["result"]
        assert result["capabilities"]["experimental"]["pygent"]["model"] == "openai/mock"

        assert client.finish() == 0
    modules = executed_in(client.stderr)
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
    modules = executed_in(client.stderr)
    assert {"pygent_ls.tools.catalog", "pygent_ls.sessions.session"} <= modules  # the watch sees what comes later, too
    assert modules & {"litellm", "openai", "mcp", "acp", "httpx", "aiohttp", "pydantic"} == set()


def test_what_a_turn_needs_is_imported_before_there_is_one(folder: Path) -> None:
    environment = {"PYGENT_MODEL": "openai/mock", "OPENAI_API_KEY": "sk-test"}
    with raw_client(folder, command=WATCHED, environment=environment) as client:
        client.initialize(folder)

        for module in ("pygent_ls/tools/catalog.py", "pygent_ls/workspace/web/http_client.py", "aiohttp/__init__.py"):
            client.until_said(f"{module}\n")

        assert client.finish() == 0
