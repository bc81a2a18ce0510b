"""Folders beside the workspace's: their files may be used, and nothing else becomes reachable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pygent_ls.agent.ports.workspace import DeleteFile, EditPlan, WriteText
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.files.edit_file import create_file, edit_file
from pygent_ls.tools.files.read_file import list_files, read_file
from pygent_ls.tools.search.grep import grep_search
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.files.paths import Folders
from pygent_ls.workspace.sandbox.mounts import SandboxLimits, arguments
from pygent_ls.workspace.sandbox.protected_paths import protections
from pygent_ls.workspace.sandbox.survey import survey
from tests.tools.tool_bench import Bench


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Links resolved: `w` is the workspace, `beside` the folder beside it, `outside` neither."""
    for name in ("w", "beside/deep", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "beside" / "a.txt").write_text("plum\n")
    (tmp_path / "outside" / "b.txt").write_text("secret\n")
    return tmp_path.resolve()


@pytest.fixture
def bench(place: Path) -> Bench:
    found = Bench(place / "w")
    found.workspace.use_also([place / "beside"])
    return found


# What is reachable


WAYS: dict[str, Callable[[Path], str]] = {
    "whole": lambda place: f"{place}/beside/a.txt",
    "by dots": lambda _: "../beside/a.txt",
    "by whole dots": lambda place: f"{place}/w/../beside/a.txt",
    "by its own dots": lambda place: f"{place}/beside/deep/../a.txt",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_in_such_a_folder_has_one_place_whatever_its_path(place: Path, way: str) -> None:
    said = WAYS[way](place)
    with pytest.raises(OutsideWorkspaceError):
        Folders.of([place / "w"]).resolve(said)

    folders = Folders.of([place / "w"], [place / "beside"])

    assert folders.resolve(said) == place / "beside" / "a.txt"
    assert folders.shown(folders.resolve(said)) == f"{place}/beside/a.txt"


@pytest.mark.parametrize(
    "said", ["{}/outside/b.txt", "{}/beside/../outside/b.txt", "../outside/b.txt", "{}", "{}/besides", "{}/beside/way"]
)
def test_what_lies_outside_both_stays_outside(place: Path, said: str) -> None:
    (place / "besides").mkdir()
    (place / "beside" / "way").symlink_to(place / "outside")
    folders = Folders.of([place / "w"], [place / "beside"])
    with pytest.raises(OutsideWorkspaceError, match=r"/w, .*/beside can be used"):
        folders.resolve(said.format(place))


def test_a_link_to_such_a_folder_counts_as_where_it_leads(place: Path) -> None:
    (place / "link").symlink_to(place / "beside")
    folders = Folders.of([place / "w"], [place / "link"])
    assert folders.more == (place / "beside",)
    (place / "link").unlink()
    (place / "link").symlink_to(place / "outside")
    with pytest.raises(OutsideWorkspaceError):
        folders.resolve(f"{place}/link/b.txt")


def test_a_path_of_the_workspace_is_shown_as_before(place: Path) -> None:
    alone, both = Folders.of([place / "w"]), Folders.of([place / "w"], [place / "beside", place, place / "w" / "sub"])
    for said in ("a.txt", "sub/a.txt", str(place / "w" / "a.txt"), "."):
        assert both.shown(both.resolve(said)) == alone.shown(alone.resolve(said))
    assert both.resolved == alone.resolved
    assert place / "w" / "sub" not in both.more, "it is in the workspace anyway"


def test_without_a_workspace_folder_there_are_no_files(place: Path) -> None:
    with pytest.raises(ToolError, match="No folder is open"):
        Folders.of([], [place / "beside"]).resolve(f"{place}/beside/a.txt")


def test_they_can_be_taken_back(place: Path) -> None:
    workspace = DiskWorkspace([place / "w"])
    workspace.use_also([place / "beside"])
    workspace.resolve(f"{place}/beside/a.txt")
    workspace.use_also([])
    with pytest.raises(OutsideWorkspaceError):
        workspace.resolve(f"{place}/beside/a.txt")


# What tools do there


async def test_tools_read_search_and_write_there(bench: Bench, place: Path) -> None:
    beside = str(place / "beside")
    assert await bench.call(read_file, path=f"{beside}/a.txt") == "     1\tplum"
    assert f"{beside}/a.txt" in await bench.call(list_files, path=beside)
    assert f"{beside}/a.txt" in await bench.call(grep_search, pattern="plum", path=beside)
    await bench.call(edit_file, path=f"{beside}/a.txt", old="plum", new="pear")
    await bench.call(create_file, path=f"{beside}/new/b.txt", content="x\n")
    assert ((place / "beside" / "a.txt").read_text(), (place / "beside/new/b.txt").read_text()) == ("pear\n", "x\n")


async def test_the_workspace_alone_is_what_a_search_without_a_path_looks_at(bench: Bench) -> None:
    assert (await bench.call(grep_search, pattern="plum")).startswith("No matches for plum in the workspace.")


async def test_the_folder_itself_stays(bench: Bench, place: Path) -> None:
    folder = place / "beside"
    plan = EditPlan(label="x", operations=(DeleteFile(path=folder, before=None),), result="x")
    with pytest.raises(ToolError, match="cannot be moved or deleted"):
        await bench.workspace.check(plan)


async def test_a_link_that_takes_its_place_while_the_user_thinks_leads_nowhere(bench: Bench, place: Path) -> None:
    deep = place / "beside" / "deep"
    plan = EditPlan(label="x", operations=(WriteText(path=deep / "b.txt", before=None, text="x"),), result="x")
    await bench.workspace.check(plan)
    deep.rmdir()
    deep.symlink_to(place / "outside")
    with pytest.raises(OutsideWorkspaceError):
        await bench.workspace.apply(plan)
    assert (place / "outside" / "b.txt").read_text() == "secret\n"


def test_a_command_in_the_sandbox_may_write_there_and_not_into_its_hooks(place: Path) -> None:
    folders = [place / "w", place / "beside"]
    (place / "beside" / ".git" / "hooks").mkdir(parents=True)
    limits = SandboxLimits(
        folders=(place / "w", place / "beside"),
        network=False,
        home=place / "home",
        own=(),
        temporary=place,
        protected=protections(folders, survey(folders), None).paths,
    )
    told = " ".join(arguments(limits, place / "w"))
    assert f"--bind {place}/beside {place}/beside" in told
    assert f"--ro-bind {place}/beside/.git/hooks {place}/beside/.git/hooks" in told
