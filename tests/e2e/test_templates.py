"""Projects from templates over the real wire: created by the editor, file by file, or by the command on the disk."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from tests.e2e.command_line import clean_environment, run, script, tool
from tests.e2e.lsp_client import EditorClient, editor_client

PROJECT = {"README.md", ".gitignore", "pyproject.toml", "src/shop/__init__.py", "src/shop/py.typed"} | {
    "src/shop/slugs.py",
    "tests/test_slugs.py",
}


def users_template(home: Path, ran: Path) -> None:
    """A template of the user's own that would run a program."""
    folder = home / "config" / "pygent-ls" / "templates" / "mine"
    folder.mkdir(parents=True)
    (folder / "copier.yml").write_text(f"_tasks: ['touch {ran}']\nname: {{type: str, help: Who it is for}}\n")
    (folder / "hello.txt.jinja").write_text("Hello, {{ name }}!\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)


def files_in(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


async def play(editor: EditorClient, folder: Path, *calls: dict[str, Any]) -> dict[str, Any]:
    return await editor.turn("go", model=script(folder.parent, *calls, {"text": "done"}), mode="trust")


async def test_an_editor_creates_the_files_of_a_project(folder: Path) -> None:
    ran = folder.parent / "ran"
    users_template(folder.parent / "home", ran)
    async with editor_client(folder, {"XDG_CONFIG_HOME": str(folder.parent / "home" / "config")}) as editor:
        result = await play(
            editor,
            folder,
            tool("list_templates"),
            tool("create_project", template="python-package", path="shop", answers={"description": "A \U0001f6d2"}),
            tool("add_component", component="mit-license", path="shop", answers={"year": 2020}),
            tool("add_component", component="mit-license", path="shop"),
            tool("create_project", template="mine", path="mine", answers={"nam": "you"}),
            tool("create_project", template="mine", path="mine", answers={"name": "you"}),
        )

        listed, created, added, again, wrong, own = editor.results()
        assert [ok for ok, _ in (listed, created, added, again, wrong, own)] == [True, True, True, False, False, True]
        assert "mine (the user's own)" in listed[1]
        assert "Not run: its 1 task." in listed[1]
        assert "already exist and are never overwritten: shop/LICENSE" in again[1]
        assert "`nam` is not a question (did you mean `name`?); `name` is missing" in wrong[1]
        assert "Not run: the template's 1 task." in own[1]
        assert files_in(folder / "shop") == {*PROJECT, "LICENSE"}
        assert 'description = "A \U0001f6d2"' in (folder / "shop" / "pyproject.toml").read_text(encoding="utf-8")
        assert "Copyright (c) 2020 the shop authors" in (folder / "shop" / "LICENSE").read_text()
        assert (folder / "mine" / "hello.txt").read_text() == "Hello, you!\n"
        assert stat.S_IMODE((folder / "mine" / "run.sh").stat().st_mode) == 0o755
        assert not ran.exists()
        assert len(editor.applied) == 3
        assert {Path(change["uri"]).name for change in result["filesChanged"]} >= {"LICENSE", "slugs.py", "run.sh"}


def test_the_command_creates_a_project_that_is_complete(tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    for each in (folder, home):
        each.mkdir()
    model = script(
        tmp_path,
        tool("create_project", template="python-package", path=".", answers={"project_name": "shop"}),
        tool("add_component", component="github-actions"),
        {"text": "done"},
    )

    done = run("run", "go", "--cwd", str(folder), "--model", model, "--yes", environment=clean_environment(home))

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert files_in(folder) == {*PROJECT, ".github/workflows/ci.yml"}
    assert '"3.11", "3.x"' in (folder / ".github/workflows/ci.yml").read_text()  # what pyproject.toml says
