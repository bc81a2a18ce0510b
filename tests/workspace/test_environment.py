"""No program that the daemon runs by itself is led to a place that a command can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.workspace.environment import COMMANDS, PATH_LISTS, clean_environment, find_program, is_safe
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.sandbox import Sandbox, SandboxOptions
from tests.workspace.programs import LIMIT_S


class Machine:
    """A folder that commands can write, one that they cannot, and a program in each."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.writable = top / "project"
        self.system = top / "bin"
        for folder in (self.writable / "bin", self.system):
            folder.mkdir(parents=True)
            self.program(folder / "tool")

    def program(self, file: Path) -> Path:
        file.write_text("#!/bin/sh\necho ran\n")
        file.chmod(0o755)
        return file

    def may_write(self, path: Path) -> bool:
        return path.is_relative_to(self.writable)

    def found(self, *folders: str | Path) -> str | None:
        return find_program("tool", {"PATH": os.pathsep.join(map(str, folders))}, self.may_write)

    def processes(self) -> LocalProcesses:
        return LocalProcesses(Sandbox(SandboxOptions(mode="off"), lambda: [self.writable]))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def test_a_program_is_looked_for_where_no_command_can_have_put_it(machine: Machine) -> None:
    system = str(machine.system / "tool")
    assert machine.found(machine.writable / "bin", "", ".", "bin", machine.system) == system
    assert machine.found(machine.writable / "bin") is None
    assert find_program(system, {}, machine.may_write) == system
    assert find_program(str(machine.writable / "bin" / "tool"), {}, machine.may_write) is None


@pytest.mark.parametrize("target", ["project/bin", "project/link", "link/../../project/bin", "project/../bin"])
def test_a_link_that_leads_through_such_a_place_leads_to_no_program(machine: Machine, target: str) -> None:
    (machine.writable / "link").symlink_to(machine.system)
    (machine.top / "link").symlink_to(machine.writable / "bin")
    (machine.top / "way").symlink_to(target)
    assert machine.found(machine.top / "way") is None
    (machine.system / "tool").unlink()
    (machine.system / "tool").symlink_to(machine.writable / "bin" / "tool")
    assert machine.found(machine.system) is None


def test_a_folder_that_everybody_can_write_holds_no_program(machine: Machine) -> None:
    machine.system.chmod(0o1777)
    assert machine.found(machine.system) is None
    machine.system.chmod(0o755)
    (machine.system / "tool").chmod(0o777)
    assert machine.found(machine.system) is None


def test_links_in_a_circle_are_no_program(machine: Machine) -> None:
    (machine.top / "a").symlink_to("b")
    (machine.top / "b").symlink_to("a")
    assert machine.found(machine.top / "a") is None


@given(st.lists(st.sampled_from(["project", "bin", "..", ".", "link", "out", "other"]), min_size=1, max_size=6))
def test_whatever_is_safe_is_where_it_leads_in_no_such_place(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    machine = Machine(tmp_path_factory.mktemp("machine").resolve())
    (machine.top / "link").symlink_to("project/bin")
    (machine.writable / "out").symlink_to("../bin")
    (machine.system / "other").symlink_to("../link")
    path = os.path.join(machine.top, *parts)  # noqa: PTH118 - pathlib drops dots
    if is_safe(path, machine.may_write):
        assert not machine.may_write(Path(os.path.realpath(path)))


@pytest.mark.parametrize("name", sorted(PATH_LISTS | COMMANDS))
@pytest.mark.parametrize("value", ["{project}/x", "{link}/x", "./x", "../x"])
def test_no_variable_leads_there(machine: Machine, name: str, value: str) -> None:
    (machine.top / "link").symlink_to(machine.writable)
    bad = value.format(project=machine.writable, link=machine.top / "link")
    assert bad not in clean_environment({name: bad}, machine.may_write).get(name, "")


def test_what_leads_elsewhere_stays(machine: Machine) -> None:
    system = machine.system
    given = {
        "PYTHONPATH": f"{machine.writable}:{system}::src",
        "GIT_SSH_COMMAND": f"ssh -i {machine.top}/key -o BatchMode=yes",
        "NODE_OPTIONS": "--max-old-space-size=4096",
        "EDITOR": "vim",
        "HOME": str(machine.writable),
        "PATH": str(machine.writable),
    }
    kept = {**given, "PYTHONPATH": str(system), "PATH": os.defpath}
    assert clean_environment({**given, "GIT_DIR": "x", "GIT_INDEX_FILE": "y"}, machine.may_write) == kept


async def test_only_a_command_that_was_allowed_has_the_users_path(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{machine.writable}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(machine.writable))
    said: list[str] = []
    for was_allowed in (False, True):
        argv = ("/bin/sh", "-c", "tool; echo ${PYTHONPATH-none}")
        spec = ProcessSpec(argv=argv, cwd=machine.writable, timeout_s=LIMIT_S, was_allowed=was_allowed)
        said.append((await machine.processes().run(spec)).stdout)
    assert said == ["none\n", f"ran\n{machine.writable}\n"]
