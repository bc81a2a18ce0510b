"""Language servers that misbehave: the wait is bounded, nothing is wrong in a text, and no process is left."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.extensions.language_servers.features import LspFeatures
from pygent_ls.extensions.language_servers.server import LanguageServer
from pygent_ls.extensions.language_servers.servers import MAX_RUNNING, LanguageServers
from pygent_ls.extensions.language_servers.specs import LanguageServerHost, LanguageServerSpec, root_of
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.fakes import WAIT_S, bounded
from tests.tools.tool_bench import WorkspaceWithBuffers

TOY = Path(__file__).with_name("toy_server.py")


@dataclass(frozen=True, slots=True)
class Toy:
    """The features of one toy server on a folder with one file."""

    features: LspFeatures
    servers: LanguageServers
    workspace: WorkspaceWithBuffers
    told: list[str]
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "a.toy"

    async def document(self) -> Document:
        return await self.workspace.read(self.file)

    @property
    def pids(self) -> list[int]:
        """Ids of its processes, also of those that have ended."""
        file = self.folder.parent / "pids"
        return [int(each) for each in file.read_text().split()] if file.exists() else []

    async def messages_after(self, text: str) -> Sequence[str]:
        """What is wrong with the text once it is in the buffer."""
        self.workspace.type_into(self.file, text)
        found = await bounded(self.features.checked(await self.document(), WAIT_S))
        assert found is not None
        return [f"{each.line}: {each.message}" for each in found.problems]


def lives(pid: int) -> bool:
    """Whether the process still runs."""
    return Path(f"/proc/{pid}").exists()


@asynccontextmanager
async def toy(
    tmp_path: Path, how: str, restarts_s: Sequence[float] = (60.0,), timeout_s: float = 20.0
) -> AsyncGenerator[Toy]:
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    (folder / "a.toy").write_text("one\n")
    workspace, processes, told = WorkspaceWithBuffers([folder]), LocalProcesses(), list[str]()
    host = LanguageServerHost(run=processes.serve, find=processes.find, folders=lambda: [folder], tell=told.append)
    servers = LanguageServers(host, workspace, restarts_s)
    command = (sys.executable, str(TOY), how, str(tmp_path / "pids"))
    servers.apply([LanguageServerSpec(name="toy", command=command, files=("*.toy",), timeout_s=timeout_s)])
    made = Toy(LspFeatures([servers], workspace), servers, workspace, told, folder)
    try:
        yield made
    finally:
        await bounded(servers.close())
        assert not [each for each in made.pids if lives(each)]


@pytest.mark.parametrize("how", ["well", "no versions", "late news of the version before", "malformed", "infinite"])
async def test_problems_are_those_of_the_text_that_was_asked_about(tmp_path: Path, how: str) -> None:
    async with toy(tmp_path, how) as server:
        assert await server.messages_after("one\nbad\n") == ["2: toy: bad"]
        assert await server.messages_after("bad\none\nbad\n") == ["1: toy: bad", "3: toy: bad"]
        assert await server.messages_after("one\n") == []
        assert server.pids == server.pids[:1]


async def test_a_server_that_reports_nothing_is_waited_for_no_longer_than_asked(tmp_path: Path) -> None:
    async with toy(tmp_path, "publishes nothing") as server:
        found = await bounded(server.features.checked(await server.document(), 0.05))

        assert found is not None
        assert (found.problems, found.is_complete) == ((), False)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("dies at start", "The program ended with exit code 1. It wrote: toy: no license"),
        ("garbage", "It wrote something other than messages to its standard output."),
    ],
)
async def test_a_server_that_does_not_start_is_told_of_once_and_left_alone(tmp_path: Path, how: str, why: str) -> None:
    async with toy(tmp_path, how) as server:
        for _ in range(3):
            assert await bounded(server.features.hover(await server.document(), 1, 0)) == ""

        assert server.told == [f"The language server toy cannot be used: {why}"]
        assert len(server.pids) == 1


async def test_a_server_that_ends_is_started_again_after_a_while(tmp_path: Path) -> None:
    async with toy(tmp_path, "dies", restarts_s=(0.0,)) as server:
        for _ in range(2):
            with pytest.raises(ToolError, match="exit code 3"):
                await bounded(server.features.hover(await server.document(), 1, 0))

        assert len(server.pids) == 2


async def test_a_check_survives_the_end_of_its_server(tmp_path: Path) -> None:
    async with toy(tmp_path, "dies while it checks") as server:
        await server.messages_after("one\n")

        assert await server.messages_after("bad\n") == []


async def test_a_silent_server_is_ended_after_some_requests(tmp_path: Path) -> None:
    async with toy(tmp_path, "silent", timeout_s=0.1) as server:
        for _ in range(3):
            with pytest.raises(ToolError, match=r"did not answer textDocument/hover within 0\.1 s"):
                await bounded(server.features.hover(await server.document(), 1, 0))

        descriptor = os.pidfd_open(server.pids[0])
        assert await asyncio.to_thread(select.select, [descriptor], [], [], WAIT_S) != ([], [], [])
        os.close(descriptor)


async def test_an_error_of_a_server_is_passed_on(tmp_path: Path) -> None:
    async with toy(tmp_path, "well") as server:
        with pytest.raises(ToolError, match="The language server toy answered: toy: not today"):
            await bounded(server.features.locations("definition", await server.document(), 1, 0))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("overlaps", "edits that overlap"),
        ("leaves", "outside"),
        ("creates", "wants to create a file"),
        ("another version", "was changed while the language server computed this edit"),
        ("not JSON of the protocol", "which is no file"),
    ],
)
async def test_an_edit_that_cannot_be_made_whole_is_refused(tmp_path: Path, how: str, why: str) -> None:
    async with toy(tmp_path, how) as server:
        with pytest.raises(ToolError, match=why):
            await bounded(server.features.rename(await server.document(), 1, 0, "two"))


async def test_an_edit_of_a_text_that_the_user_has_changed_meanwhile_is_stale(tmp_path: Path) -> None:
    async with toy(tmp_path, "well") as server:
        document = await server.document()
        plan = await bounded(server.features.rename(document, 1, 0, "two"))
        server.workspace.type_into(server.file, "zero one\n")

        assert plan is not None
        [write] = plan.operations
        assert getattr(write, "text", None) == "two\n"
        with pytest.raises(StaleDocumentError, match="was changed while"):
            await bounded(server.features.rename(document, 1, 0, "two"))


async def test_the_least_recently_used_server_that_is_not_busy_makes_room(tmp_path: Path) -> None:
    async with toy(tmp_path, "silent", timeout_s=WAIT_S) as server:
        files: list[Path] = []
        for number in range(MAX_RUNNING + 1):
            file = server.folder / str(number) / "a.toy"
            file.parent.mkdir()
            file.with_name("toy.root").touch()
            file.write_text("one\n")
            files.append(file)
        command = (sys.executable, str(TOY), "silent", str(tmp_path / "pids"))
        spec = LanguageServerSpec(name="toy", command=command, files=("*.toy",), root_markers=("toy.root",))
        server.servers.apply([spec])

        async def use(file: Path) -> LanguageServer:
            [peer] = await bounded(server.servers.peers(file))
            assert isinstance(peer, LanguageServer)
            return peer

        async def until_busy(peer: LanguageServer) -> None:
            while not peer.is_busy:  # noqa: ASYNC110
                await asyncio.sleep(0)

        peers = [await use(file) for file in files[:MAX_RUNNING]]
        asking = asyncio.create_task(server.features.hover(await server.workspace.read(files[1]), 1, 0))
        await bounded(until_busy(peers[1]))
        for file in [*files[2:MAX_RUNNING], files[0]]:  # the busy one is now the least recently used
            await use(file)
        await use(files[MAX_RUNNING])

        assert await use(files[0]) is peers[0]
        assert await use(files[1]) is peers[1]
        assert await use(files[2]) is not peers[2]  # it has made room, and is started anew
        asking.cancel()
        await asyncio.wait([asking])


async def test_a_changed_setting_ends_the_server(tmp_path: Path) -> None:
    async with toy(tmp_path, "well") as server:
        await server.messages_after("one\n")
        descriptor = os.pidfd_open(server.pids[0])
        server.servers.apply([])

        assert await asyncio.to_thread(select.select, [descriptor], [], [], WAIT_S) != ([], [], [])
        assert server.features.offered == set()
        os.close(descriptor)


def test_the_root_is_the_nearest_folder_with_a_marker_inside_the_workspace(tmp_path: Path) -> None:
    inner = tmp_path / "work" / "pkg" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "work" / "pkg" / "pyproject.toml").touch()
    folder = tmp_path / "work"

    assert root_of(inner / "a.py", ["pyproject.toml"], [folder]) == folder / "pkg"
    assert root_of(folder / "a.py", ["pyproject.toml"], [folder]) == folder
    assert root_of(inner / "a.py", [], [folder, inner]) == inner
    assert root_of(tmp_path / "a.py", ["pyproject.toml"], [folder]) is None
