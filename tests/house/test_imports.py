"""Importing a module does nothing: it starts nothing, prints nothing, and loads no heavy library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pygent_ls"

HEAVY = [
    "litellm",
    "mcp",
    "acp",
    "openai",
    "anthropic",
    "aiohttp",
    "httpx",
    "tiktoken",
    "boto3",
    "rich",
    "copier",
    "PIL",
    "nbformat",
    "jsonschema",
    "keyring",
    "tomlkit",
]
"""Libraries that cost the start more than everything else together."""

PROBE = """
import importlib, json, os, signal, sys, threading
heavy, modules = json.loads(sys.argv[1])
def state():
    return {
        "libraries": sorted(set(heavy) & set(sys.modules)),
        "threads": threading.active_count(),
        "folder": os.getcwd(),
        "signals": str(signal.getsignal(signal.SIGINT)) + str(signal.getsignal(signal.SIGTERM)),
        "variables": dict(os.environ),
        "excepthook": sys.excepthook is sys.__excepthook__,
    }
before = state()
for name in modules:
    importlib.import_module(name)
    after = state()
    if after != before:
        changed = {key: value for key, value in after.items() if value != before[key]}
        sys.exit(f"importing {name} changed {changed}")
"""


def module_names() -> list[str]:
    """Every module of the package, the sample project for the demo aside."""
    files = [file.relative_to(PACKAGE.parent).with_suffix("") for file in sorted(PACKAGE.rglob("*.py"))]
    return [".".join(file.parts).removesuffix(".__init__") for file in files if "sample" not in file.parts]


def import_all(heavy: list[str], modules: list[str]) -> subprocess.CompletedProcess[str]:
    """Import them one by one in a fresh interpreter, which ends with a sentence when one does something."""
    return subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps([heavy, modules])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_importing_any_module_does_nothing() -> None:
    modules = module_names()
    assert "pygent_ls.config.settings" in modules

    run = import_all(HEAVY, modules)

    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_what_a_turn_needs_does_without_pydantic() -> None:
    """The first request to a model waits for these; pydantic doubles what they cost."""
    names = (
        "agent",
        "config",
        "editors.lsp",
        "errors",
        "extensions",
        "llm",
        "secrets",
        "sessions",
        "shell",
        "tools",
        "workspace",
    )
    rooms = tuple(f"pygent_ls.{each}" for each in names)

    run = import_all(["pydantic"], [name for name in module_names() if name.startswith(rooms)])

    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


CALL = """
import sys
from pygent_ls.tools.catalog import offered_tools
tools = offered_tools(has_folder=True, shell_timeout_s=1.0, has_skills=True, language=["hover", "rename"])
assert all(tool.definition.schema["type"] == "object" for tool in tools)
assert tools[0].validate({"path": "a", "start_line": "5"})["start_line"] == 5
sys.exit("pydantic" in sys.modules)
"""


def test_tools_are_defined_and_their_arguments_validated_without_pydantic() -> None:
    run = subprocess.run(
        [sys.executable, "-c", CALL], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, check=False
    )

    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_the_front_end_for_acp_answers_before_sessions_are_loaded() -> None:
    run = import_all(["pygent_ls.sessions.session", "pygent_ls.tools"], ["pygent_ls.editors.acp.serve"])

    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_a_first_turn_waits_for_no_index_no_page_and_no_telemetry() -> None:
    later = ["sessions.index.index", "sessions.index.search", "sessions.export.html_page", "observability.otel"]

    run = import_all(
        [f"pygent_ls.{name}" for name in later], ["pygent_ls.editors.lsp.connection", "pygent_ls.app.application"]
    )

    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_a_module_that_does_something_is_named() -> None:
    run = import_all(["this"], ["json", "this"])

    assert run.stderr.startswith("importing this changed {'libraries': ['this']}")
