"""How litellm is loaded: in a process of its own each, since a process loads it once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FIRST_CALL = """
import asyncio, json, os, sys
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.providers.endpoint import Endpoint
from tests.llm.model_contract import chunks_of
from tests.model_server import ModelServer, Step

async def main():
    before = dict(os.environ)
    loader = LitellmLoader()
    imported = [name for name in ("litellm", "openai", "httpx") if name in sys.modules]
    loader.start()
    loader.start()
    ready_at_once = loader.ready
    await asyncio.gather(loader.wait(), loader.wait())
    loaded = set(sys.modules)
    async with ModelServer([Step(text="hi")]) as server:
        model = LitellmModel("openai/gpt-4o", Endpoint(api_base=server.url, api_key="k"), loader)
        await chunks_of(model)
    print(json.dumps({
        "imported_before": imported,
        "ready": [ready_at_once, loader.ready, model.ready],
        "imported_by_the_call": sorted(set(sys.modules) - loaded),
        "environment_changed": sorted(name for name, value in os.environ.items() if before.get(name) != value),
    }))

asyncio.run(main())
"""

NOT_INSTALLED = """
import asyncio, json, sys
sys.modules["litellm"] = None  # what an installation without it looks like
from pygent_ls.errors import ModelError
from pygent_ls.llm.litellm.loader import LitellmLoader

async def main():
    loader = LitellmLoader()
    said = []
    for _ in range(2):
        try:
            await loader.wait()
        except ModelError as error:
            said.append(error.message)
    print(json.dumps({"ready": loader.ready, "said": said}))

asyncio.run(main())
"""

NO_DESCRIPTORS = """
import asyncio, json, os, resource
from pygent_ls.errors import ModelError
from pygent_ls.llm.litellm.loader import LitellmLoader

async def main():
    loader = LitellmLoader()
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    try:
        await loader.wait()
    except ModelError as error:
        said = error.message
    for each in held:
        os.close(each)
    print(json.dumps({"ready": loader.ready, "said": said}))

asyncio.run(main())
"""

GOES_AWAY = """
import sys
from pygent_ls.llm.litellm.loader import LitellmLoader
LitellmLoader().start()
print("{}")
"""


def run(program: str, cwd: Path) -> dict[str, Any]:
    env = {name: value for name, value in os.environ.items() if name != "TIKTOKEN_CACHE_DIR"}  # from another test here
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, cwd=cwd, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_after_loading_the_first_call_has_nothing_left_to_import(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://evil.invalid\nFROM_A_FILE=1\n")

    assert run(FIRST_CALL, tmp_path) == {
        "imported_before": [],
        "ready": [False, True, True],
        "imported_by_the_call": [],
        "environment_changed": ["TIKTOKEN_CACHE_DIR"],  # litellm's own, so that tokens are counted without a network
    }


def test_an_installation_without_litellm_says_so_to_everyone_who_waits(tmp_path: Path) -> None:
    outcome = run(NOT_INSTALLED, tmp_path)

    assert outcome["ready"] is False
    assert len(outcome["said"]) == 2
    assert all("litellm could not be loaded" in message for message in outcome["said"])


def test_a_process_that_can_open_no_more_files_says_so(tmp_path: Path) -> None:
    outcome = run(NO_DESCRIPTORS, tmp_path)

    assert outcome["ready"] is False
    assert outcome["said"].startswith("pygent-ls cannot open more files.")


def test_a_process_that_ends_while_it_loads_ends(tmp_path: Path) -> None:
    assert run(GOES_AWAY, tmp_path) == {}
