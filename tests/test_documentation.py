"""What the pages written by hand say of the tree is there."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta

from benchmarks.drawn import PAGE, RESULTS, page_with
from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.tools import tool as tool_module
from pygent_ls.agent.tools.tool import Tool
from tests.fakes import make_rig

ROOT = Path(__file__).parents[1]

PAGES = sorted(
    str(page.relative_to(ROOT)) for pattern in ("*.md", "docs/**/*.md", "clients/*/*.md") for page in ROOT.glob(pattern)
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
    paths = re.findall(r"`((?:pygent_ls|tests|docs|clients|benchmarks|evaluation)/[\w/.-]*)`", text_of(page))

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
    names = {**vars(tool_module), "Annotated": Annotated, "Meta": Meta, "split_lines": split_lines}
    exec(textwrap.dedent(block[1]), names)

    (declared,) = (each for each in names.values() if isinstance(each, Tool))

    assert declared.cacheable
    assert list(declared.definition.schema["properties"]) == ["path"]
    context = make_rig(files={"a.py": "1\n2\n"}).context()
    assert await declared.run(context, path="a.py") == "a.py has 2 lines."


def test_each_decision_is_in_the_index_and_has_the_same_form() -> None:
    pages = sorted(page for page in (ROOT / "docs/decisions").glob("*.md") if page.name != "README.md")
    listed = re.findall(r"^- \[(\d+)\]\((\1-[\w-]+\.md)\): (.+)$", text_of("docs/decisions/README.md"), re.M)

    assert [name for _, name, _ in listed] == [page.name for page in pages]
    titles = [page.read_text(encoding="utf-8").partition("\n")[0] for page in pages]
    assert titles == [f"# {number}: {title}" for number, _, title in listed]


@pytest.mark.parametrize("page", [page for page in PAGES if re.match(r"docs/(architecture|adding|decisions/)", page)])
def test_a_module_is_named_by_its_path_from_the_root(page: str) -> None:
    named = re.findall(r"`([\w/]+\.(?:py|ts|tsx|lua))`", text_of(page))

    assert [name for name in named if not (ROOT / name).exists() and "NAME" not in name] == []


def test_each_dependency_has_a_line_that_says_why() -> None:
    block = re.search(r"^dependencies = \[(.*?)^\]", text_of("pyproject.toml"), re.M | re.S)
    assert block
    names = re.findall(r'^  "([\w-]+)', block[1], re.M)

    table = text_of("docs/decisions/074-dependencies.md")
    assert len(names) > 5
    assert [name for name in names if f"\n| {name} |" not in table] == []


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_comparison_with_other_agents_is_drawn_from_its_results() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page_with(page, json.loads(RESULTS.read_text(encoding="utf-8"))) == page
