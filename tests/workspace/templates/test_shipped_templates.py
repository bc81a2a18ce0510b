"""The templates and components that come with us, rendered by the very function that renders them for a user, and used:
Python is tested with its own tests, the rest is parsed by what reads it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tree_sitter import Language, Parser

from pygent_ls.agent.ports.templates import Template, TemplateKind
from pygent_ls.workspace.templates.copier_process import render
from tests.workspace.template_folders import port

SHIPPED = Path(__file__).parents[3] / "pygent_ls" / "scaffold"

DESCRIPTION = "It says \"hello\" to 'them', in C:\\new and \U0001f600"

LANGUAGES = ("python", "node", "rust", "go")


def listed(kind: TemplateKind, root: Path) -> list[Template]:
    (root / "shipped").symlink_to(SHIPPED)
    return list(asyncio.run(port(root).list_all(kind)))


def made(folder: Path, kind: str, name: str, **answers: object) -> Path:
    """The folder with what the template comes to in it."""
    template = str(SHIPPED / kind / name)
    job: dict[str, Any] = {"template": template, "target": str(folder), "answers": answers, "likely": {}, "names": []}
    render(job)
    return folder


def run(folder: Path, *argv: str) -> None:
    """Run a program of this environment, and show its whole output if it fails."""
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=folder,
        env={
            "PATH": "",
            "TMPDIR": str(folder.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["template", "component"])
def test_each_describes_itself_and_can_be_used(kind: TemplateKind, tmp_path: Path) -> None:
    found = listed(kind, tmp_path)

    assert [each.name for each in found] == sorted(folder.name for folder in (SHIPPED / f"{kind}s").iterdir())
    for each in found:
        assert (each.problem, each.not_run, each.is_users) == ("", (), False)
        assert each.description
        assert [question.name for question in each.questions if not question.help or question.type is None] == []


@pytest.mark.parametrize(
    ("name", "folder", "package"),
    [
        ("python-package", "My App", "my_app"),
        ("python-cli", "2048", "_2048"),
        ("python-service", "a", "a"),
    ],
)
def test_a_python_project_passes_its_own_tests_and_checks(name: str, folder: str, package: str, tmp_path: Path) -> None:
    project = made(tmp_path / folder, "templates", name, description=DESCRIPTION)

    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (metadata["description"], metadata["requires-python"]) == (DESCRIPTION, ">=3.11")
    assert (project / "src" / package / "py.typed").exists()
    run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
    run(project, "-m", "ruff", "check", "--no-cache", ".")
    run(project, "-m", "ruff", "format", "--no-cache", "--check", ".")


def errors_in(language: Language, file: Path) -> list[int]:
    """The lines that a grammar does not understand."""
    tree = Parser(language).parse(file.read_bytes())
    waiting, lines = [tree.root_node], list[int]()
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.is_error or node.is_missing:
            lines.append(node.start_point[0] + 1)
    return lines


def test_a_typescript_project_parses(tmp_path: Path) -> None:
    import tree_sitter_typescript

    project = made(tmp_path / "my-app", "templates", "typescript-node", description=DESCRIPTION)

    package = json.loads((project / "package.json").read_text(encoding="utf-8"))
    assert (package["name"], package["description"]) == ("my-app", DESCRIPTION)
    assert json.loads((project / "tsconfig.json").read_text())["compilerOptions"]["strict"] is True
    files = sorted(project.rglob("*.ts"))
    assert [file.name for file in files] == ["index.ts", "index.test.ts"]
    language = Language(tree_sitter_typescript.language_typescript())
    assert {file.name: errors_in(language, file) for file in files} == {"index.ts": [], "index.test.ts": []}


def test_a_rust_project_parses(tmp_path: Path) -> None:
    import tree_sitter_rust

    project = made(tmp_path / "my-app", "templates", "rust-cli", description=DESCRIPTION)

    package = tomllib.loads((project / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    assert (package["name"], package["description"]) == ("my-app", DESCRIPTION)
    files = sorted(project.rglob("*.rs"))
    language = Language(tree_sitter_rust.language())
    assert {file.name: errors_in(language, file) for file in files} == {"lib.rs": [], "main.rs": [], "command.rs": []}
    assert "use my_app::count;" in (project / "src" / "main.rs").read_text()


@pytest.mark.parametrize(
    ("name", "answers", "said"),
    [
        ("python-package", {"project_name": "My App"}, "must be lowercase letters, digits, dots and hyphens"),
        ("python-package", {"project_name": "a\n"}, "must be lowercase letters"),
        ("python-package", {"package_name": "1a"}, "not start with a digit"),
        ("python-cli", {"description": "a\nb"}, "must be one line"),
        ("python-service", {"port": 0}, "must be from 1 to 65535"),
        ("rust-cli", {"project_name": "2048"}, "start with a letter"),
    ],
)
def test_an_answer_that_would_break_the_project_is_not_taken(
    name: str, answers: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said):
        made(tmp_path / "a", "templates", name, **answers)


# Components


def workflow(folder: Path) -> Any:
    return yaml.safe_load((folder / ".github/workflows/ci.yml").read_text())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_workflow_runs_the_tests_of_the_language(language: str, tmp_path: Path) -> None:
    job = workflow(made(tmp_path / "a", "components", "github-actions", language=language))["jobs"]["test"]

    tests = {"python": "pytest", "node": "npm test", "rust": "cargo test", "go": "go test ./..."}[language]
    assert job["steps"][-1] == {"run": tests}
    assert ("${{ matrix." in str(job["steps"])) == (language in ("python", "node"))


def test_a_workflow_runs_on_the_branch_and_the_python_that_were_asked_for(tmp_path: Path) -> None:
    answers = {"language": "python", "default_branch": "trunk", "python_version": "3.10"}
    given = workflow(made(tmp_path / "a", "components", "github-actions", **answers))

    assert given[True]["push"] == {"branches": ["trunk"]}  # YAML's `on` is true
    assert given["jobs"]["test"]["strategy"]["matrix"] == {"python-version": ["3.10", "3.x"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_makefile_has_every_target_that_it_promises(language: str, tmp_path: Path) -> None:
    folder = made(tmp_path / "a", "components", "makefile", language=language)
    for file in ("pyproject.toml", "package.json"):
        (folder / file).touch()

    for target in ("test", "check", "format", "build", "clean"):
        done = subprocess.run(["make", "-n", target], cwd=folder, capture_output=True, timeout=20, check=True)
        assert done.stdout


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("python", ["python", "-m", "my_app"]),
        ("node", ["node", "dist/src/index.js"]),
        ("rust", ["/usr/local/bin/my-app"]),
        ("go", ["/usr/local/bin/my-app"]),
    ],
)
def test_an_image_runs_the_program_without_privileges(language: str, command: list[str], tmp_path: Path) -> None:
    folder = made(tmp_path / "My App", "components", "dockerfile", language=language)

    lines = (folder / "Dockerfile").read_text().splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("FROM", "USER", "CMD"))] == [
        *("FROM", "FROM", "USER", "CMD")
    ]
    assert json.loads(lines[-1].removeprefix("CMD ")) == command
    assert ".git" in (folder / ".dockerignore").read_text().splitlines()


@pytest.mark.parametrize("language", LANGUAGES)
def test_pre_commit_checks_files_and_the_language(language: str, tmp_path: Path) -> None:
    folder = made(tmp_path / "a", "components", "pre-commit", language=language)

    _, last = yaml.safe_load((folder / ".pre-commit-config.yaml").read_text())["repos"]
    ids = [hook["id"] for hook in last["hooks"]]
    assert (
        ids
        == {
            "python": ["ruff", "ruff-format"],
            "node": ["check"],
            "rust": ["cargo-fmt"],
            "go": ["gofmt"],
        }[language]
    )


def test_a_test_module_tests_the_module(tmp_path: Path) -> None:
    folder = made(tmp_path / "a", "components", "pytest-module", module="shop.cart", test_folder="tests/unit")
    (folder / "shop").mkdir()
    (folder / "shop" / "cart.py").write_text('"""What is in the cart."""\n')

    assert (folder / "tests" / "unit" / "test_cart.py").exists()
    run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", str(folder))


def has_licence(folder: Path) -> bool:
    return "Copyright (c) 2020 A. Body" in (folder / "LICENSE").read_text()


def has_editorconfig(folder: Path) -> bool:
    lines = (folder / ".editorconfig").read_text().splitlines()
    return lines[0] == "root = true" and "indent_size = 3" in lines


@pytest.mark.parametrize(
    ("name", "answers", "is_there"),
    [
        ("mit-license", {"author": "A. Body", "year": 2020}, has_licence),
        ("editorconfig", {"indent_size": 3}, has_editorconfig),
    ],
)
def test_what_was_answered_is_in_the_file(
    name: str, answers: dict[str, object], is_there: Callable[[Path], bool], tmp_path: Path
) -> None:
    assert is_there(made(tmp_path / "a", "components", name, **answers))
