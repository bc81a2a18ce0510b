"""The administrator's file at its real path, in a namespace with an /etc of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.admin_namespace import Namespace
from tests.e2e.command_line import script

WRITES = {"tool_calls": [{"name": "create_file", "input": {"path": "made", "content": "x"}}]}


@pytest.fixture
def namespace(tmp_path: Path) -> Namespace:
    made = Namespace(tmp_path)
    made.variables["PYGENT_MODEL"] = script(made.home, WRITES, {"text": "done"})
    return made


def test_without_the_file_a_turn_does_what_the_user_allows(namespace: Namespace) -> None:
    done = namespace.run("run", "--yes", "go")

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert (namespace.folder / "made").exists()


def test_nothing_that_the_user_sets_gets_around_the_file(namespace: Namespace) -> None:
    namespace.file.write_text('[permissions]\ndeny = ["create_file"]\n[admin]\nmodes = ["default"]')
    settings = namespace.home / "config" / "pygent-ls"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('allow_bypass = true\n[permissions]\nallow = ["create_file"]')

    done = namespace.run("run", "--yes", "go", PYGENT_MODE="bypass", PYGENT_PERMISSIONS='{"allow": ["create_file"]}')

    assert done.stdout == "done\n", done.stderr
    assert not (namespace.folder / "made").exists()
    assert "mode" in done.stderr
    refused = namespace.run("run", "--permission-mode", "trust", "go")
    assert refused.stderr == (
        "Error: mode: trust is locked by /etc/pygent-ls/config.toml, which allows only plan, default.\n"
    )


def test_doctor_names_the_administrators_file_as_the_origin(namespace: Namespace) -> None:
    namespace.file.write_text('sandbox = "require"\nmax_iterations = 7')

    report = namespace.run("doctor").stdout

    rows = [line.split() for line in report.splitlines()]
    assert ["sandbox", "require", "admin", "file", "/etc/pygent-ls/config.toml", "(locked)"] in rows
    assert ["max_iterations", "7", "admin", "file", "/etc/pygent-ls/config.toml", "(limit)"] in rows
    assert "environment: PYGENT_SANDBOX = off: locked by /etc/pygent-ls/config.toml" in report


def test_no_turn_begins_with_a_file_that_anyone_can_write(namespace: Namespace) -> None:
    namespace.file.write_text("max_iterations = 7")
    namespace.file.chmod(0o666)

    done = namespace.run("run", "--yes", "go")

    assert done.returncode != 0
    assert done.stdout == ""
    assert "/etc/pygent-ls/config.toml is writable by others than its owner" in done.stderr
    assert not (namespace.folder / "made").exists()
    report = namespace.run("doctor")
    assert report.returncode == 1
    assert "A turn cannot run\n  - The administrator's settings /etc/pygent-ls/config.toml are not" in report.stdout
