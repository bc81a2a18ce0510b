"""Every place that starts a program is known, and no other function does so by itself."""

from __future__ import annotations

import ast

import pytest

from tests.house.test_invariants import ROOT, called, dotted, package

STARTS = (
    "Popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_output",
    "subprocess.check_call",
    "processes.run",
    "context.run",
    "context.run_apart",
)
STARTS_OF_THE_LOOP = ("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell")
STARTS_OF_THE_SYSTEM = ("os.system", "os.popen", "os.execv", "os.execve", "os.execvp", "os.posix_spawn", "os.spawnv")

UNASKED = (
    *("platform.platform", "platform.processor", "platform.version", "platform.architecture", "platform.libc_ver"),
    *("ctypes.util.find_library", "find_library", "uuid.getnode", "uuid.uuid1", "webbrowser.open", "pydoc.pager"),
    *("getpass.win_getpass", "shutil.which"),
)
"""Functions of the standard library that run a program from the PATH, or find one there by other rules than ours."""


def starts(node: ast.AST) -> bool:
    return called(node).endswith((*STARTS, *STARTS_OF_THE_LOOP)) or called(node) in STARTS_OF_THE_SYSTEM


def test_every_module_that_starts_a_program_is_listed() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = text.partition("## Programs that the daemon starts")[2].partition("\n## ")[0]
    modules = [source.path for source in package() if source.finds(starts)]

    assert [
        path for path in modules if f"`pygent_ls/{path}`" not in listed and path != "workspace/processes/child.py"
    ] == []


def test_no_function_is_called_that_runs_a_program_by_itself() -> None:
    def is_one(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute | ast.Name) and dotted(node) in UNASKED

    found = [place.partition(":")[0] for source in package() for place in source.finds(is_one)]

    assert sorted(set(found)) == ["cli/demo/story.py", "cli/mcp.py", "workspace/processes/local_processes.py"]


@pytest.mark.parametrize("code", ["self._processes.run(spec)", "subprocess.Popen([])", "os.system('x')"])
def test_a_start_is_seen(code: str) -> None:
    assert any(starts(node) for node in ast.walk(ast.parse(code)))
