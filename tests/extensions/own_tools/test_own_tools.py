"""Tools of the user in real processes of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.config.live import LiveSettings
from pygent_ls.config.sources import CommandLine
from pygent_ls.config.trust import TrustStore
from pygent_ls.errors import ToolError
from pygent_ls.extensions.own_tools.tools import OwnTools
from tests.tools.tool_bench import Bench

SHOUT = '''
from typing import Annotated, Literal

from pydantic import Field

from pygent_ls.api import Context, ToolError, tool


@tool(risk="low", read_only=True)
def shout(text: str, times: int = 1) -> str:
    """Say it loudly."""
    print("not a message")
    return text.upper() * times


@tool(risk="medium", timeout_s=30)
async def count(
    context: Context, of: Annotated[str, Field(description="A file.")], what: Literal["a", "b"]
) -> dict[str, int]:
    """Count a letter."""
    context.report("counting")
    return {what: context.read(of).count(what)}


@tool()
def listed(context: Context) -> str:
    """List the folder."""
    done = context.run(["ls"])
    return f"{done.exit_code}: {done.output}"


@tool()
def refuse() -> None:
    """Fail."""
    raise ToolError("There are no plums.")


@tool()
def crash(numbers: list[int]) -> int:
    """Crash."""
    return numbers[5]


@tool()
def die() -> None:
    """End the process."""
    import os
    os.write(2, b"out of cheese\\n")
    os._exit(3)


@tool(timeout_s=0.5)
def hang() -> None:
    """Never end."""
    while True:
        pass


def helper(text: str) -> str:
    return text
'''


class Place:
    """A folder with tools, and a workspace."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "tools"
        self.folder.mkdir()
        self.workspace = base / "project"
        self.workspace.mkdir()
        self.bench = Bench(self.workspace)
        self.own = OwnTools(self.folder, self.bench.processes.serve)

    def put(self, name: str, text: str) -> None:
        """A file with tools."""
        (self.folder / name).write_text(text)

    async def tools(self, *taken: str, trusted: Mapping[Path, str] | None = None) -> dict[str, Tool]:
        """The tools, as they are now."""
        await self.own.refresh(trusted or {})
        return {each.name: each for each in self.own.tools(taken)[0]}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Nothing yet."""
    return Place(tmp_path)


async def test_they_are_described_by_their_functions(place: Place) -> None:
    place.put("fruit.py", SHOUT)

    tools = await place.tools()

    assert list(tools) == ["shout", "count", "listed", "refuse", "crash", "die", "hang"]
    assert [tools[name].risk for name in ("shout", "count", "listed")] == [ToolRisk.LOW, ToolRisk.MEDIUM, ToolRisk.HIGH]
    assert tools["shout"].read_only
    definition = tools["count"].definition
    assert definition.description == "Count a letter."
    assert definition.schema["required"] == ["of", "what"]
    assert definition.schema["properties"]["of"]["description"] == "A file."
    assert definition.schema["properties"]["what"]["enum"] == ["a", "b"]
    assert await place.bench.call(tools["shout"], text="hey", times=2) == "HEYHEY"


async def test_their_context_reads_what_the_editor_has_and_runs_programs(place: Place) -> None:
    place.put("fruit.py", SHOUT)
    open_file = place.bench.write("open.txt", "saved")
    place.bench.workspace.type_into(open_file, "banana")
    tools = await place.tools()

    assert json.loads(str(await place.bench.call(tools["count"], of="open.txt", what="a"))) == {"a": 3}
    assert await place.bench.call(tools["listed"]) == "0: open.txt\n"
    assert place.bench.reported[0] == "counting\n"
    with pytest.raises(ToolError, match="outside"):
        await place.bench.call(tools["count"], of="/etc/passwd", what="a")


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("refuse", {}, "There are no plums."),
        ("crash", {"numbers": [1]}, "IndexError: list index out of range (FILE:41)"),
        ("crash", {"numbers": "many"}, "Invalid arguments: numbers: "),
        ("shout", {"loud": 1}, "Invalid arguments: text: Field required; loud: "),
        ("die", {}, "die: It ended without a result. It wrote: out of cheese"),
        ("hang", {}, "hang: It was stopped after 0.5 s."),
    ],
)
async def test_what_goes_wrong_is_an_error_of_the_call(
    name: str, arguments: dict[str, Any], problem: str, place: Place
) -> None:
    place.put("fruit.py", SHOUT)
    tools = await place.tools()

    with pytest.raises(ToolError) as caught:
        await place.bench.call(tools[name], **arguments)

    assert str(caught.value).replace(str(place.folder / "fruit.py"), "FILE").startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import nothing_like_that\n", "ModuleNotFoundError: No module named 'nothing_like_that' (FILE:1)"),
        ("def f(:\n", "SyntaxError: "),
        ("raise SystemExit(3)\n", "SystemExit: 3 (FILE:1)"),
        (
            "from pygent_ls.api import tool\n@tool(risk='none')\ndef f(): ...\n",
            "ValueError: risk is 'none'; it must be",
        ),
        ("from pygent_ls.api import tool\n@tool()\ndef f(a): ...\n", "TypeError: f: the parameter a has no type hint"),
        ("from pygent_ls.api import tool\n@tool()\ndef f(*a: int): ...\n", "TypeError: f: the parameter a must be an"),
    ],
)
async def test_a_file_that_fails_to_load_is_named_and_the_others_are_there(
    text: str, problem: str, place: Place
) -> None:
    place.put("broken.py", text)
    place.put("fruit.py", SHOUT)
    place.put("_private.py", "raise OSError\n")

    tools = await place.tools()
    [told] = place.own.tools([])[1]

    assert "shout" in tools
    start = "The tools of broken.py are not available: "
    assert told.replace(str(place.folder / "broken.py"), "FILE").startswith(start + problem)


async def test_a_name_that_is_taken_is_left_out(place: Place) -> None:
    place.put("a.py", SHOUT)
    place.put("b.py", SHOUT)

    tools = await place.tools("count")

    assert "count" not in tools
    problems = place.own.tools(["count"])[1]
    assert "The tool count of a.py is left out: the name is taken." in problems
    assert "The tool shout of b.py is left out: the name is taken." in problems


async def test_of_a_workspaces_files_those_bytes_count_that_are_trusted(place: Place, tmp_path: Path) -> None:
    folder = place.workspace / ".pygent" / "tools"
    folder.mkdir(parents=True)
    (folder / "fruit.py").write_text(SHOUT)
    store = TrustStore(tmp_path / "state")
    live = LiveSettings(
        store, tmp_path / "config.toml", environment={}, editor_options=None, command_line=CommandLine()
    )

    taken = live.take(place.workspace)
    store.remember(place.workspace, taken.digest, trusted=True)
    trusted = live.take(place.workspace).trusted_tools

    assert [each.source for each in taken.wishes] == [".pygent/tools/fruit.py"]
    assert taken.trusted_tools == {}
    assert "shout" in await place.tools(trusted=trusted)
    (folder / "fruit.py").write_text(SHOUT + "# changed\n")
    assert await place.tools(trusted=trusted) == {}
    assert live.take(place.workspace).trusted is None
    (folder / "fruit.py").unlink()
    (folder / "fruit.py").symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "elsewhere.py").write_text(SHOUT)
    assert live.take(place.workspace).wishes == ()


async def test_a_name_that_no_provider_takes_is_left_out(place: Place) -> None:
    place.put("a.py", SHOUT.replace("def shout", "def größer"))

    tools = await place.tools()

    assert "größer" not in tools
    assert place.own.tools([])[1][0].startswith("The tool größer of a.py is left out: providers take only names")


async def test_a_change_counts_at_the_next_refresh_and_what_is_the_same_is_not_loaded_again(
    place: Place, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    counted = f"open({str(log)!r}, 'a').write('x')\n"
    place.put("fruit.py", SHOUT + counted)
    await place.tools()
    await place.tools()
    assert log.read_text() == "x"

    place.put("fruit.py", SHOUT.replace("text.upper()", "text.lower()") + counted)
    tools = await place.tools()

    assert log.read_text() == "xx"
    assert await place.bench.call(tools["shout"], text="HEY") == "hey"
    (place.folder / "fruit.py").unlink()
    assert await place.tools() == {}


async def test_what_could_not_be_loaded_is_loaded_again_after_a_time(place: Place, tmp_path: Path) -> None:
    missing = tmp_path / "installed_later"
    place.put("fruit.py", f"assert open({str(missing)!r})\n" + SHOUT)
    place.put("other.py", "raise OSError\n")
    place.own = OwnTools(place.folder, place.bench.processes.serve, retry_s=0.0)
    patient = OwnTools(place.folder, place.bench.processes.serve)
    await patient.refresh({})
    assert await place.tools() == {}

    missing.touch()
    await patient.refresh({})

    assert "shout" in await place.tools()
    assert len(place.own.tools([])[1]) == 1
    assert patient.tools([])[0] == []
