"""Places that are there for all tests of one worker."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.clients.programs import are_here
from tests.workspace.processes.remote.places import Place, Podman, podman_in_a_folder, ssh_server

KINDS = [kind for kind in ("podman", "ssh") if are_here(kind)]


@pytest.fixture(scope="session")
def podman() -> Generator[Podman]:
    with podman_in_a_folder() as found:
        yield found


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work space'")


@pytest.fixture(scope="session")
def container(podman: Podman, workspace: Path) -> Place:
    return podman.start("usual", workspace)


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory, workspace: Path) -> Generator[Place]:
    with ssh_server(tmp_path_factory.mktemp("sshd"), workspace) as found:
        yield found


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A container and a host."""
    found: Place = request.getfixturevalue("host" if request.param == "ssh" else "container")
    monkeypatch.setenv("PATH", found.path)
    return found


if not are_here("podman"):
    collect_ignore = ["test_containers.py"]
