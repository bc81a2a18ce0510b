"""Projects and components from templates: what the model is told, what is planned, and what is never made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent.ports.workspace import WriteText
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.scaffold.templates import add_component, create_project, list_components, list_templates
from tests.tools.templates import APP, BADGE, TemplatesInMemory, with_folder
from tests.tools.tool_bench import Bench

QUESTIONS = """\
  - name (str; default computed: {folder}): Its name
  - language (str; one of python, go; required)
  - port (int; default 80)
  - parts (str; any number of a, b; default ["a"])
  - deep (bool; default true; only if {{ port }})"""


@pytest.fixture
def templates(bench: Bench) -> TemplatesInMemory:
    bench.templates = given = TemplatesInMemory()
    return given


async def refused(bench: Bench, answers: object = None, **given: object) -> str:
    """Result of the tool if no template is rendered."""
    before = sorted(bench.folder.rglob("*"))
    with pytest.raises(ToolError) as raised:
        await bench.call(create_project, **{"template": "app", "path": "new", "answers": answers, **given})
    assert sorted(bench.folder.rglob("*")) == before
    return str(raised.value)


# Lists


async def test_a_list_says_what_each_asks(bench: Bench, templates: TemplatesInMemory) -> None:
    broken = replace(APP, name="odd", description="", questions=(), problem="it is broken", not_run=("2 tasks",))
    templates.templates = [APP, broken, BADGE]

    assert await bench.call(list_templates) == (
        f"app: A small program\n{QUESTIONS}\n\n"
        "odd: no description\n  It cannot be used: it is broken.\n  Not run: its 2 tasks."
    )
    assert (await bench.call(list_components)).startswith(
        "badge (the user's own): Says what the project is\n  - project_name (str; default ?)"
    )


async def test_an_empty_list_says_so(bench: Bench, templates: TemplatesInMemory) -> None:
    templates.templates = []

    assert await bench.call(list_templates) == "There is no template."


async def test_a_list_holds_while_nothing_changes_in_the_users_folders(
    bench: Bench, templates: TemplatesInMemory, tmp_path: Path
) -> None:
    templates.sources = [tmp_path / "templates", tmp_path / "components"]

    await bench.call(list_components)
    assert set(bench.context.trees) == set(templates.sources)
    assert not bench.context.cacheable  # the user's badge lies elsewhere

    templates.templates = [with_folder(BADGE, tmp_path / "components" / "badge")]
    await bench.call(list_components)
    assert bench.context.cacheable


# A project


async def test_a_project_is_planned_and_then_created(bench: Bench, templates: TemplatesInMemory) -> None:
    result = await bench.call(create_project, template="app", path="in/new", answers={"language": "go", "port": 8080})

    assert bench.bytes_of("in/new/new/main.txt") == b"new in go\n"
    assert result == (
        "Created in/new from template app: 1 file.\nin/new/new/main.txt (1 lines)\n"
        'Answers: name="new", language="go", port=8080, parts=["a"], deep=true.'
    )


async def test_the_workspace_folder_itself_can_become_a_project(bench: Bench, templates: TemplatesInMemory) -> None:
    bench.write("notes.txt", "mine")

    await bench.call(create_project, template="app", path=".", answers={"language": "go"})

    assert bench.bytes_of("project/main.txt") == b"project in go\n"
    assert bench.bytes_of("notes.txt") == b"mine"


async def test_nothing_that_exists_is_overwritten(bench: Bench, templates: TemplatesInMemory) -> None:
    templates.files = {"a.txt": "new", "b.txt": "new", "c.txt": "new"}
    bench.write("new/a.txt", "old")
    bench.workspace.type_into(bench.folder / "new" / "c.txt", "typed")

    said = await refused(bench, {"language": "go"})

    assert "already exist and are never overwritten: new/a.txt, new/c.txt. Choose another path" in said
    assert bench.bytes_of("new/a.txt") == b"old"


async def test_executables_are_made_so_and_nothing_else_is(bench: Bench, templates: TemplatesInMemory) -> None:
    templates.files = {"run.sh": "#!/bin/sh\n", "a.txt": ""}
    templates.executable = frozenset({"run.sh"})

    plan = await bench.plan(create_project, template="app", path="new", answers={"language": "go"})

    modes = {each.path.name: each.mode for each in plan.operations if isinstance(each, WriteText)}
    assert modes == {"run.sh": 0o755, "a.txt": None}


async def test_the_result_says_what_was_not_run_and_what_was_left_out(
    bench: Bench, templates: TemplatesInMemory
) -> None:
    templates.templates = [replace(APP, not_run=("1 task", "2 migrations"))]
    templates.left_out = ("logo.png (not text, 10 bytes)",)

    result = await bench.call(create_project, template="app", path="new", answers={"language": "go"})

    assert "Not run: the template's 1 task and 2 migrations. Tell the user" in result
    assert "Left out: logo.png (not text, 10 bytes). The template is in /templates/app." in result


async def test_a_long_list_of_files_is_cut(bench: Bench, templates: TemplatesInMemory) -> None:
    templates.files = {f"{number:02}.txt": "" for number in range(25)}

    result = await bench.call(create_project, template="app", path="new", answers={"language": "go"})

    assert "25 files" in result
    assert "19.txt (0 lines)\n[… 5 more; use list_files to see them …]" in result


# What cannot be


@pytest.mark.parametrize("path", ["../new", "/etc/new", "link/new"])
async def test_a_project_outside_the_workspace_is_refused(
    bench: Bench, templates: TemplatesInMemory, tmp_path: Path, path: str
) -> None:
    (bench.folder / "link").symlink_to(tmp_path)

    with pytest.raises(OutsideWorkspaceError):
        await bench.call(create_project, template="app", path=path, answers={"language": "go"})


@pytest.mark.parametrize("name", ["../../evil.txt", "../evil.txt", "/etc/evil.txt", "inside/evil.txt", "out/evil.txt"])
async def test_a_file_never_leaves_its_folder(
    bench: Bench, templates: TemplatesInMemory, tmp_path: Path, name: str
) -> None:
    """Not by its name, and not through a link that lies there already, in the workspace or not."""
    (bench.folder / "new").mkdir()
    (bench.folder / "other").mkdir()
    (bench.folder / "new" / "inside").symlink_to(bench.folder / "other")
    (bench.folder / "new" / "out").symlink_to(tmp_path)
    templates.files = {"good.txt": "", name: "evil"}

    said = await refused(bench, {"language": "go"})

    assert "outside the workspace" in said or "would end up outside new" in said


@pytest.mark.parametrize("name", [".git/config", "deep/.GIT/hooks/pre-commit", ".hg/hgrc"])
async def test_no_template_writes_into_a_repository(bench: Bench, templates: TemplatesInMemory, name: str) -> None:
    templates.files = {name: "evil"}

    assert "templates may not write into a version control folder" in await refused(bench, {"language": "go"})


async def test_a_file_is_no_folder_for_a_project(bench: Bench, templates: TemplatesInMemory) -> None:
    bench.write("new", "a file")

    assert await refused(bench, {"language": "go"}) == "new is a file. Give the path of a folder."


async def test_a_template_that_makes_nothing_is_no_success(bench: Bench, templates: TemplatesInMemory) -> None:
    templates.files = {}

    assert await refused(bench, {"language": "go"}) == (
        f"With these answers app creates no file. Nothing was created.\nQuestions of app:\n{QUESTIONS}"
    )


async def test_a_name_that_there_is_not_is_answered_with_those_that_there_are(
    bench: Bench, templates: TemplatesInMemory
) -> None:
    assert await refused(bench, template="ap") == ("There is no template named 'ap'. Did you mean app? Available: app.")
    templates.templates = [replace(APP, problem="it is broken")]
    assert await refused(bench) == "The template app cannot be used: it is broken."


async def test_without_templates_the_tools_say_so(bench: Bench) -> None:
    assert await refused(bench) == "Templates are not available here."


# Answers


@pytest.mark.parametrize(
    ("answers", "problems"),
    [
        ({}, "`language` is missing"),
        (None, "`language` is missing"),
        ({"language": "rust"}, "`language` must be one of python, go, not rust"),
        ({"languag": "go"}, "`languag` is not a question (did you mean `language`?); `language` is missing"),
        ({"language": "go", "port": "many"}, "`port` must be a whole number, not many"),
        ({"language": "go", "port": 1.5}, "`port` must be a whole number, not 1.5"),
        ({"language": "go", "port": True}, "`port` must be a whole number, not true"),
        ({"language": "go", "name": ["a"]}, '`name` must be a string, not ["a"]'),
        ({"language": "go", "name": None}, "`name` must be a string, not null"),
        ({"language": "go", "deep": "perhaps"}, "`deep` must be true or false, not perhaps"),
        ({"language": "go", "parts": "a"}, "`parts` must be a list of choices"),
        ({"language": "go", "parts": ["a", "c"]}, "`parts` must be one of a, b, not c"),
        (
            {"port": [], "deep": 7, "x": 1},
            "`x` is not a question; `language` is missing; `port` must be a whole number, not []; "
            "`deep` must be true or false, not 7",
        ),
    ],
)
async def test_all_that_is_wrong_with_the_answers_is_said_with_what_would_do(
    bench: Bench, templates: TemplatesInMemory, answers: object, problems: str
) -> None:
    assert await refused(bench, answers) == f"Nothing was created: {problems}.\nQuestions of app:\n{QUESTIONS}"


@pytest.mark.parametrize(
    "answers", [{"port": "8080"}, {"deep": "yes"}, {"deep": False}, {"name": 3}, {"parts": []}, {"parts": ["b", "a"]}]
)
async def test_answers_that_mean_the_right_thing_are_taken(
    bench: Bench, templates: TemplatesInMemory, answers: dict[str, object]
) -> None:
    assert await bench.plan(create_project, template="app", path="new", answers={"language": "go", **answers})


async def test_what_the_template_itself_refuses_comes_with_its_questions(
    bench: Bench, templates: TemplatesInMemory
) -> None:
    templates.refusal = "Validation error for question 'port': too small. Nothing was created."

    assert await refused(bench, {"language": "go"}) == f"{templates.refusal}\nQuestions of app:\n{QUESTIONS}"


# A component


@pytest.fixture
def badge(bench: Bench, templates: TemplatesInMemory) -> Bench:
    """Writes down what it was answered."""
    names = [question.name for question in BADGE.questions]
    templates.files = {"badge.txt": " ".join(f"{{{name}}}" for name in names)}
    return bench


PYPROJECT = """
[project]
name = "My-Shop"
requires-python = ">=3.12,<4"
authors = [{name = "A. Body", email = "a@example.org"}]
"""

PACKAGE = {"name": "@shop/web", "author": "A. Body <a@example.org> (https://example.org)"}


@pytest.mark.parametrize(
    ("file", "text", "known"),
    [
        ("pyproject.toml", PYPROJECT, "My-Shop my_shop python A. Body 3.12 ?"),
        ("pyproject.toml", '[tool.poetry]\nname = "shop"\nauthors = ["A <a@b.c>"]', "shop shop python A ? ?"),
        ("pyproject.toml", "not TOML", "? ? python ? ? ?"),
        ("pyproject.toml", "project = 3", "? ? python ? ? ?"),
        ("package.json", json.dumps(PACKAGE), "web ? node A. Body ? ?"),
        ("package.json", "[", "? ? node ? ? ?"),
        ("package.json", '{"name": 3, "author": {"name": "B"}}', "3 ? node B ? ?"),
        ("Cargo.toml", '[package]\nname = "shop"\nauthors = []', "shop ? rust ? ? ?"),
        ("go.mod", "// a\nmodule example.org/shop/v2\n\ngo 1.24\n", "shop ? go ? ? ?"),
        ("setup.py", "", "? ? python ? ? ?"),
        ("main.c", "", "? ? ? ? ? ?"),
    ],
)
async def test_a_component_knows_the_project(badge: Bench, file: str, text: str, known: str) -> None:
    badge.write(file, text)

    await badge.call(add_component, component="badge")

    assert badge.bytes_of("badge.txt").decode() == known


async def test_what_is_typed_and_not_saved_counts_and_is_not_taken_for_read(badge: Bench) -> None:
    path = badge.write("pyproject.toml", '[project]\nname = "old"')
    badge.workspace.type_into(path, '[project]\nname = "new"')

    await badge.call(add_component, component="badge")

    assert badge.bytes_of("badge.txt").startswith(b"new new python")
    assert not badge.reads.knows(path)


async def test_an_answer_is_stronger_than_what_the_project_says(badge: Bench) -> None:
    badge.write("sub/pyproject.toml", PYPROJECT)

    result = await badge.call(add_component, component="badge", path="sub", answers={"author": "B"})

    assert badge.bytes_of("sub/badge.txt").decode() == "My-Shop my_shop python B 3.12 ?"
    assert result.startswith("Added to sub from component badge: 1 file.\nsub/badge.txt (1 lines)\nAnswers: ")


async def test_what_the_project_says_is_left_out_where_it_is_no_choice(
    bench: Bench, templates: TemplatesInMemory
) -> None:
    templates.templates = [replace(APP, kind="component")]
    bench.write("Cargo.toml", '[package]\nname = "shop"')

    with pytest.raises(ToolError, match="`language` is missing"):
        await bench.call(add_component, component="app")


async def test_the_call_names_the_folder_where_it_says_none(bench: Bench) -> None:
    """Else a rule of "Always allow" would hold for every folder."""
    assert add_component.paths_in({"component": "badge"}) == (".",)
    assert add_component.paths_in({"component": "badge", "path": "sub"}) == ("sub",)
    assert add_component.paths_in({"component": "badge", "path": 7}) == ()
    assert add_component.title_for({"component": "badge"}) == "Add badge to ."
