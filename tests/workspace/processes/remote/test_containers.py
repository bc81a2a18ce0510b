"""Containers that stop, that are others than before, and that are dev containers. podman is real."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.processes.remote.devcontainer import DevContainer, is_described, running_devcontainer
from pygent_ls.workspace.processes.remote.owners import owner_of
from pygent_ls.workspace.processes.remote.remote_processes import LOST, RemoteProcesses
from tests.workspace.processes.remote.places import Place, Podman
from tests.workspace.programs import Listener, shell


@pytest.fixture(autouse=True)
def path(podman: Podman, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", Place("", podman.programs, Path(), "").path)


async def test_docker_is_asked_as_podman_is(container: Place) -> None:
    """The program named docker is podman, as in Debian's podman-docker."""
    processes = replace(container, commands=container.commands.replace("podman:", "docker:")).processes()

    assert (await processes.run(shell("pwd; exit 3", container.here))).exit_code == 3


async def test_a_container_that_is_unknown_or_stopped_is_said(podman: Podman, tmp_path: Path) -> None:
    place = podman.start("stopped", tmp_path)
    podman("stop", "--time", "0", "stopped")

    with pytest.raises(ToolError, match="The container stopped is not running, it is exited: start it with podman"):
        await place.processes().sandbox()
    with pytest.raises(ToolError, match=r"podman does not know the container other: .*no such container"):
        await replace(place, commands="podman:other").processes().sandbox()


async def test_a_container_that_stops_ends_the_command_with_an_error(podman: Podman, tmp_path: Path) -> None:
    processes, listener = podman.start("stopping", tmp_path).processes(), Listener()
    running = asyncio.create_task(processes.run(shell("echo out; sleep 1000", tmp_path), listener))
    await listener.until("out\n")

    await asyncio.to_thread(podman, "kill", "stopping")
    result = await running

    assert result.exit_code == LOST
    assert "[the connection broke: the command ran in the container stopping, and it is unknown" in result.stdout
    with pytest.raises(ToolError, match="The container stopping is not running"):
        await processes.run(shell("true", tmp_path))


async def test_another_container_of_that_name_is_not_taken_for_it(podman: Podman, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    processes = podman.start("again", tmp_path / "one").processes()
    assert (await processes.run(shell("pwd", tmp_path / "one"))).stdout == "/work\n"
    podman("rm", "--force", "--time", "0", "again")
    podman.start("again", tmp_path / "two")

    with pytest.raises(ToolError, match=r"could not be started in the container again: .*no such container"):
        await processes.run(shell("pwd", tmp_path / "one"))
    with pytest.raises(ToolError, match="does not exist in the container again"):
        await processes.run(shell("pwd", tmp_path / "one"))
    assert (await processes.run(shell("pwd", tmp_path / "two"))).stdout == "/work\n"


async def test_the_settings_name_a_user_and_a_folder(container: Place) -> None:
    owner = owner_of(container.commands, "/tmp", "maker", container.here)
    processes = RemoteProcesses(LocalProcesses(), owner)

    assert (await processes.run(shell("id -un; pwd", container.here))).stdout == "maker\n/tmp\n"


async def test_a_running_dev_container_is_found_with_its_user(podman: Podman, tmp_path: Path) -> None:
    processes = LocalProcesses()
    file = tmp_path / ".devcontainer" / "devcontainer.json"
    assert not is_described(tmp_path)
    file.parent.mkdir()
    file.write_text('{\n  // who works there\n  "remoteUser": "maker", "workspaceFolder": "/work",\n}\n')
    assert is_described(tmp_path)
    assert await running_devcontainer(tmp_path, processes) is None
    podman.start("dev", tmp_path, "--label", f"devcontainer.local_folder={tmp_path}")

    found = await running_devcontainer(tmp_path, processes)

    assert found is not None
    assert (found.name, found.user) == ("dev", "maker")
    assert found.settings == f'[remote]\ncommands = "{found.program}:dev"\nuser = "maker"'


@pytest.mark.parametrize("text", ["", "[]", "{", '{"remoteUser": "a\\"b"}', '{"remoteUser": 3}', "\\xff"])
async def test_no_file_of_a_dev_container_names_more_than_a_user(podman: Podman, tmp_path: Path, text: str) -> None:
    (tmp_path / ".devcontainer.json").write_text(text)
    name = f"odd-{len(text)}"
    podman.start(name, tmp_path, "--label", f"devcontainer.local_folder={tmp_path}")

    found = await running_devcontainer(tmp_path, LocalProcesses())

    assert found == DevContainer(program="docker", name=name, user="")
