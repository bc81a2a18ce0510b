"""list_files shows a folder's files and folders, without what .gitignore excludes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.files.read_file import MAX_ENTRIES, list_files
from tests.tools.tool_bench import Bench


async def test_two_levels_are_listed_and_deeper_files_are_counted(bench: Bench) -> None:
    for path in ("README.md", "src/app.py", "src/core/a.py", "src/core/deep/b.py", "src/web/c.py", ".env"):
        bench.write(path)

    assert await bench.call(list_files) == (".env\nREADME.md\nsrc/\nsrc/app.py\nsrc/core/ (2 files)\nsrc/web/ (1 file)")


async def test_depth_and_folder_are_chosen_and_paths_can_be_given_to_other_tools(bench: Bench) -> None:
    for path in ("src/app.py", "src/core/a.py", "src/core/deep/b.py", "other.py"):
        bench.write(path)

    assert await bench.call(list_files, path="src", depth=1) == "src/app.py\nsrc/core/ (2 files)"
    assert await bench.call(list_files, path="src", depth=3) == (
        "src/app.py\nsrc/core/\nsrc/core/a.py\nsrc/core/deep/\nsrc/core/deep/b.py"
    )


async def test_git_and_what_gitignore_excludes_are_not_listed_unless_named(bench: Bench) -> None:
    bench.write(".git/config")
    bench.write(".gitignore", "build/\n*.log\n")
    bench.write("build/out.js")
    bench.write("a.log")
    bench.write("a.py")

    assert await bench.call(list_files) == ".gitignore\na.py"
    assert await bench.call(list_files, path="build") == "build/out.js"


async def test_an_empty_folder_says_so(bench: Bench) -> None:
    (bench.folder / "empty").mkdir()

    assert await bench.call(list_files, path="empty") == "empty is empty, except for what .gitignore excludes."
    assert await bench.call(list_files) == "The workspace folder is empty, except for what .gitignore excludes."


async def test_a_file_and_a_missing_folder_are_errors(bench: Bench) -> None:
    bench.write("a.py")

    with pytest.raises(ToolError, match=r"a\.py is a file\. Use read_file"):
        await bench.call(list_files, path="a.py")
    with pytest.raises(ToolError, match=r"nope does not exist\. Use list_files"):
        await bench.call(list_files, path="nope")
    with pytest.raises(OutsideWorkspaceError):
        await bench.call(list_files, path="..")


async def test_a_large_folder_keeps_its_upper_levels_and_counts_what_is_left_out(bench: Bench) -> None:
    for n in range(MAX_ENTRIES + 50):
        bench.write(f"many/{n:04}.txt")
    bench.write("zoo/z.txt")

    lines = (await bench.call(list_files)).split("\n")

    assert len(lines) == MAX_ENTRIES + 1
    assert lines[0] == "many/"
    assert "zoo/ (1 file)" in lines
    assert lines[-1] == "[53 more paths left out, the deepest ones. To see more, list one of the folders.]"


async def test_several_workspace_folders_are_all_listed_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    bench = Bench(tmp_path / "one", tmp_path / "two")
    bench.write("a.py")
    (tmp_path / "two" / "b.py").touch()

    assert await bench.call(list_files) == "one/a.py\n\ntwo/b.py"
    assert await bench.call(list_files, path="two") == "two/b.py"


async def test_a_workspace_folder_inside_another_is_listed_once(tmp_path: Path) -> None:
    (tmp_path / "one" / "inner").mkdir(parents=True)
    bench = Bench(tmp_path / "one", tmp_path / "one" / "inner")
    bench.write("inner/a.py")

    assert await bench.call(list_files) == "inner/\ninner/a.py"


async def test_a_new_file_that_was_never_saved_is_listed(bench: Bench) -> None:
    bench.write("a.py")
    bench.workspace.type_into(bench.folder / "draft.py", "x\n")

    assert await bench.call(list_files) == "a.py\ndraft.py"


async def test_the_result_depends_on_the_folder_and_on_the_ignore_files_above(bench: Bench) -> None:
    bench.write("src/core/a.py")

    await bench.call(list_files, path="src/core")

    assert set(bench.context.trees) == {bench.folder / "src/core"}
    assert {path.relative_to(bench.folder).as_posix() for path in bench.context.dependencies} == {
        "src/.gitignore",
        "src/.ignore",
        ".gitignore",
        ".ignore",
    }
