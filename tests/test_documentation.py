"""What the pages written by hand say of the tree is there."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from pygent_ls.agent import tool as tool_module
from pygent_ls.agent.diffs import split_lines
from pygent_ls.agent.tool import Tool
from tests.fakes import make_rig

ROOT = Path(__file__).parents[1]

PAGES = (
    "README.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/adding.md",
    "docs/agents.md",
    "docs/benchmarks.md",
    "docs/cli-models.md",
    "docs/commands.md",
    "docs/hooks.md",
    "docs/models.md",
    "docs/neovim.md",
    "docs/security.md",
    "docs/observability.md",
    "docs/scripts.md",
    "docs/sessions.md",
    "docs/structured-results.md",
    "docs/templates.md",
    "clients/neovim/CONTRIBUTING.md",
    "clients/neovim/README.md",
    "clients/vscode/CONTRIBUTING.md",
    "clients/vscode/README.md",
)

CLIENT_TEST = re.compile(r"`(clients/[\w/]+/test/[\w/.]+\.ts)` \"([^\"]+)\"")
"""A client's tests are named by their sentence."""


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", text_of(page))
    inside = [link for link in links if not link.startswith("https://")]

    assert [link for link in inside if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text_of(page))

    missing = [f"{file}::{test}" for file, test in named if f"def {test}(" not in text_of(file)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_test_of_a_client_that_is_named_exists(page: str) -> None:
    named = CLIENT_TEST.findall(text_of(page))

    missing = [f"{file}: {title}" for file, title in named if f'test("{title}", ' not in text_of(file)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    paths = re.findall(r"`((?:pygent_ls|tests|docs)/[\w/.]*)`", text_of(page))

    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def test_each_promise_about_security_names_the_tests_that_show_it() -> None:
    _, _, after = text_of("docs/security.md").partition("## Your work is not lost")
    promised, _, _ = after.partition("## What is not promised")
    promises = re.findall(r"^- (.*?)(?=^- |^## |\Z)", promised, re.M | re.S)

    assert len(promises) > 40
    shown = [re.search(r"`tests/[\w/]+\.py::test_\w+`", each) or CLIENT_TEST.search(each) for each in promises]
    assert [promise for promise, test in zip(promises, shown, strict=True) if test is None] == []


async def test_the_example_of_a_tool_is_one() -> None:
    block = re.search(r"```python\n(.*?)```", text_of("docs/adding.md"), re.S)
    assert block
    names = {**vars(tool_module), "Annotated": Annotated, "Field": Field, "split_lines": split_lines}
    exec(textwrap.dedent(block[1]), names)

    (declared,) = (each for each in names.values() if isinstance(each, Tool))

    assert declared.cacheable
    assert list(declared.definition.schema["properties"]) == ["path"]
    context = make_rig(files={"a.py": "1\n2\n"}).context()
    assert await declared.run(context, path="a.py") == "a.py has 2 lines."


def test_the_architecture_names_the_modules_that_there_are() -> None:
    rooms = "agent|editors|llm|sessions|tools|workspace"
    named = re.findall(rf"`((?:{rooms})/[\w/]+\.py|\w+\.py)`", text_of("docs/architecture.md"))

    assert len(named) > 20
    assert [name for name in named if not (ROOT / "pygent_ls" / name).exists()] == []


def test_the_architecture_names_the_files_of_the_client_that_there_are() -> None:
    named = re.findall(r"`(src/[\w/]+(?:\.\w+|/))`", text_of("docs/architecture.md"))

    assert len(named) > 10
    assert [name for name in named if not (ROOT / "clients/vscode" / name).exists()] == []


def test_each_dependency_has_a_line_that_says_why() -> None:
    block = re.search(r"^dependencies = \[(.*?)^\]", text_of("pyproject.toml"), re.M | re.S)
    assert block
    names = re.findall(r'^  "([\w-]+)', block[1], re.M)

    table = text_of("docs/architecture.md")
    assert len(names) > 5
    assert [name for name in names if f"\n| {name} |" not in table] == []


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
