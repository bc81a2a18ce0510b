"""repo_map shows what the workspace's files refer to most, as the user sees them."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.tools.search.repo_map import repo_map_tool
from pygent_ls.tools.search.repository_map import NOTHING
from pygent_ls.workspace.symbols.index import WorkspaceSymbols
from tests.tools.tool_bench import Bench

SITE = Path(sysconfig.get_path("purelib"))


class MapBench(Bench):
    """A bench whose context has an index of symbols."""

    def __init__(self, folder: Path, state: Path, *rules: Rule) -> None:
        self.rules = rules
        self._state = state
        super().__init__(folder)

    def new_context(self) -> ToolContext:
        context = super().new_context()
        context.symbols = WorkspaceSymbols(self.processes, self.workspace, self._state)
        context.reading = Reading.of(self.rules)
        return context

    async def map(self, **given: object) -> str:
        return await self.call(repo_map_tool(), **given)


@pytest.fixture
def map_bench(tmp_path: Path) -> MapBench:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    bench = MapBench(folder, tmp_path / "state")
    bench.write("shape.py", "class Shape:\n    def area(self, scale: int) -> int: ...\n")
    bench.write("other.py", "def other(): pass\n")
    for n in range(3):
        bench.write(f"use{n}.py", "from shape import Shape\n\nShape().area(1)\n")
    return bench


async def test_what_is_referred_to_most_comes_first(map_bench: MapBench) -> None:
    assert (await map_bench.map()).splitlines() == [
        "shape.py:",
        "1: class Shape:",
        "2: def area(self, scale: int) -> int: ... (in Shape)",
        "other.py:",
        "1: def other(): pass",
    ]


async def test_the_size_is_limited_and_what_is_left_out_is_counted(map_bench: MapBench) -> None:
    for n in range(200):
        map_bench.write(f"m{n}.py", f"class Module{n}: pass\n")

    text = await map_bench.map(max_tokens=100)

    assert len(text) <= 400
    assert text.startswith("shape.py:\n1: class Shape:\n")
    assert "of 203 definitions" in text


async def test_unsaved_changes_and_new_files_are_included(map_bench: MapBench) -> None:
    map_bench.workspace.type_into(map_bench.folder / "other.py", "\n\ndef renamed(): pass\n")
    map_bench.workspace.type_into(map_bench.folder / "new.py", "class Fresh: pass\n")

    text = await map_bench.map()

    assert "other.py:\n3: def renamed(): pass" in text
    assert "new.py:\n1: class Fresh: pass" in text
    assert "def other" not in text


async def test_ignored_files_and_those_of_read_rules_are_left_out(map_bench: MapBench) -> None:
    map_bench.write("build/made.py", "class Made: pass\n")
    map_bench.write("private/key.py", "class Key: pass\n")
    map_bench.write(".gitignore", "build/\n")
    map_bench.rules = (Rule(text="read_file(private/**)", decision="deny", origin="user"),)

    text = await map_bench.map()

    assert "Made" not in text
    assert "Key" not in text
    assert "[1 file was left out: a permission rule prevents reading it.]" in text


async def test_a_folder_or_a_focus_narrows(map_bench: MapBench) -> None:
    map_bench.write("lib/inner.py", "class Inner: pass\n")

    assert await map_bench.map(path="lib") == "lib/inner.py:\n1: class Inner: pass"
    assert (await map_bench.map(focus=["other"])).startswith("other.py:")
    assert (await map_bench.map(focus=["lib/inner.py", "Inner"])).startswith("lib/inner.py:")


async def test_a_missing_path_and_nothing_to_map_are_told(map_bench: MapBench) -> None:
    map_bench.write("docs/a.md", "# nothing")

    with pytest.raises(ToolError, match=r"nowhere does not exist\. Use list_files"):
        await map_bench.map(path="nowhere")
    assert await map_bench.map(path="docs") == NOTHING


@pytest.mark.parametrize(
    ("package", "central"),
    [
        ("httpx", ["class Headers", "class Request", "class Response", "class URL"]),
        ("pygls", ["class JsonRPCServer", "class PositionCodec", "class TextDocument"]),
        ("pluggy", ["class HookCaller", "class HookSpec"]),
    ],
)
async def test_the_central_classes_of_real_packages_are_in_a_small_map(
    tmp_path: Path, package: str, central: list[str]
) -> None:
    text = await MapBench((SITE / package).resolve(), tmp_path / "state").map(max_tokens=400)

    assert [each for each in central if each not in text] == []


@settings(max_examples=5, deadline=None)
@given(st.integers(100, 2_000))
async def test_a_map_of_any_size_is_within_it_and_the_same_each_time(
    tmp_path_factory: pytest.TempPathFactory, max_tokens: int
) -> None:
    bench = MapBench((SITE / "pluggy").resolve(), tmp_path_factory.mktemp("state"))

    text = await bench.map(max_tokens=max_tokens)

    assert len(text) <= 4 * max_tokens
    assert await bench.map(max_tokens=max_tokens) == text
