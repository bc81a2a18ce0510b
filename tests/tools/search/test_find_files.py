"""find_files finds files by glob, as git sees the workspace."""

from __future__ import annotations

import pytest

from pygent_ls.errors import ToolError
from pygent_ls.tools.search.grep import MAX_FILES, find_files
from pygent_ls.workspace.files.temporary_files import draft_in
from tests.tools.tool_bench import Bench


@pytest.fixture
def project(bench: Bench) -> Bench:
    for path in ("app.py", "src/a.py", "src/lib/b.py", "src/lib/b.ts", "docs/[id]/page.md", ".github/ci.yml"):
        bench.write(path)
    bench.write(".gitignore", "build/\n*.log\n")
    bench.write("build/x.py")
    bench.write("src/debug.log")
    return bench


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", ".", ["app.py", "src/a.py", "src/lib/b.py"]),
        ("**/*.py", ".", ["app.py", "src/a.py", "src/lib/b.py"]),
        ("src/*.py", ".", ["src/a.py"]),
        ("src/**/*.py", ".", ["src/a.py", "src/lib/b.py"]),
        ("./src/*.py", ".", ["src/a.py"]),
        ("/app.py", ".", ["app.py"]),
        ("*.{ts,yml}", ".", [".github/ci.yml", "src/lib/b.ts"]),
        ("[ab].py", ".", ["src/a.py", "src/lib/b.py"]),
        ("?.ts", ".", ["src/lib/b.ts"]),
        ("*.py", "src", ["src/a.py", "src/lib/b.py"]),
        ("lib/*.py", "src", ["src/lib/b.py"]),
        ("/a.py", "src", ["src/a.py"]),
        ("lib/", "src", ["src/lib/b.py", "src/lib/b.ts"]),
        ("./*.md", "docs/[id]", ["docs/[id]/page.md"]),
        ("!*.py", "src", ["src/lib/b.ts"]),
        ("**", "src", ["src/a.py", "src/lib/b.py", "src/lib/b.ts"]),
        ("*.log", ".", []),
        ("build/**", ".", []),
        ("*", "build", ["build/x.py"]),
    ],
)
async def test_a_glob_finds_what_gitignore_leaves(project: Bench, pattern: str, path: str, found: list[str]) -> None:
    result = await project.call(find_files, pattern=pattern, path=path)

    assert (result.split("\n") if found else result[:14]) == (found or "No files match")


async def test_an_absolute_glob_inside_the_workspace_is_understood(project: Bench) -> None:
    assert await project.call(find_files, pattern=f"{project.folder}/src/*.py") == "src/a.py"


async def test_a_name_that_is_not_whole_gets_a_hint(project: Bench) -> None:
    assert await project.call(find_files, pattern="app") == (
        "No files match app in the workspace. The glob must match the whole name; try *app*. Files that "
        ".gitignore excludes are not searched."
    )


async def test_an_invalid_glob_is_an_error_in_ripgreps_words(project: Bench) -> None:
    with pytest.raises(ToolError, match=r"error parsing glob '\[a': unclosed character class"):
        await project.call(find_files, pattern="[a")


async def test_beyond_the_limit_the_rest_is_counted(bench: Bench) -> None:
    for n in range(MAX_FILES + 7):
        bench.write(f"{n:04}.txt")

    lines = (await bench.call(find_files, pattern="*.txt")).split("\n")

    assert len(lines) == MAX_FILES + 1
    assert lines[-1] == "[500 of 507 files shown, 7 left out: name a folder as `path`.]"


async def test_a_new_file_that_was_never_saved_is_found_by_its_name(project: Bench) -> None:
    project.workspace.type_into(project.folder / "src/draft.py", "x\n")

    assert "src/draft.py" in await project.call(find_files, pattern="*.py", path="src")
    assert "src/draft.py" not in await project.call(find_files, pattern="*.ts", path="src")
    assert "src/draft.py" not in await project.call(find_files, pattern="*.py", path="docs")


async def test_names_with_odd_characters_are_found(bench: Bench) -> None:
    bench.write("a b\n c.txt")
    bench.write("-n.txt")
    bench.write("ünï.txt")

    assert await bench.call(find_files, pattern="*.txt") == "-n.txt\na b\n c.txt\nünï.txt"


async def test_an_ignore_file_above_the_workspace_folder_counts_in_its_repository_alone(bench: Bench) -> None:
    (bench.folder.parent / ".gitignore").write_text("*\n")
    bench.write("a.py")
    bench.write("src/b.py")

    outside_git = await bench.call(find_files, pattern="*.py")
    (bench.folder / ".git").mkdir()
    own_repository = await bench.call(find_files, pattern="*.py", path="src")

    assert outside_git == "a.py\nsrc/b.py"
    assert own_repository == "src/b.py"


async def test_a_workspace_folder_inside_a_repository_follows_the_repositorys_ignore_file(bench: Bench) -> None:
    (bench.folder.parent / ".git").mkdir()
    (bench.folder.parent / ".gitignore").write_text("*.log\n")
    bench.write("a.py")
    bench.write("a.log")

    assert await bench.call(find_files, pattern="*") == "a.py"


async def test_the_users_own_ripgrep_settings_do_not_change_what_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(bench.write("rc", "--glob=!*.py\n")))
    bench.write("a.py")

    assert await bench.call(find_files, pattern="*.py") == "a.py"


async def test_what_a_killed_writer_left_behind_is_nobodys_file(bench: Bench) -> None:
    bench.write("src/a.py")
    bench.write(f"src/{draft_in(bench.folder).name}")

    assert await bench.call(find_files, pattern="**") == "src/a.py"
