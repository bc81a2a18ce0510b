"""A folder becomes a link to elsewhere after a path in it was resolved: nothing is read or written there."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, FileOperation, MoveFile, WriteText
from pygent_ls.editors.lsp.documents.buffers import read_text_now
from pygent_ls.errors import SnapshotError, ToolError
from pygent_ls.extensions.commands import OwnCommands
from pygent_ls.file_access import set_mode
from pygent_ls.sessions.checkpoints.planned_edit import PlannedEdit
from pygent_ls.tools.search.grep import grep_search
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace, apply_plan
from pygent_ls.workspace.files.document_text import document_from_bytes
from pygent_ls.workspace.snapshots.blobs import Contents
from pygent_ls.workspace.snapshots.excluded_files import stamps_of
from pygent_ls.workspace.snapshots.path_state import NOTHING, with_bytes
from pygent_ls.workspace.snapshots.restore import LINK, bytes_of_buffer, entry_on_disk, restore_file
from pygent_ls.workspace.snapshots.store import TreeEntry
from tests.tools.tool_bench import Bench
from tests.workspace.repositories import snapshots_beside
from tests.workspace.swapper import swapping
from tests.workspace.trees import plan, snapshot

N_TRIES = settings().max_examples

TEXT = "the same in both folders\n"

SECRET = "secret of another folder\n"

FILES = {"same.txt": TEXT, "which.txt": "inside\n", "commands/own.md": "inside\n"}


class Place:
    """A workspace `w` with a folder `d`, and a folder outside that holds files of the same names."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "w"
        self.folder = self.workspace / "d"
        self.outside = root / "outside"
        self.link = self.workspace / "link"
        for folder in (self.folder, self.outside):
            (folder / "commands").mkdir(parents=True)
        self._descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        self.fill()
        for name in FILES:
            (self.outside / name).write_text(TEXT if name == "same.txt" else SECRET)
        (self.outside / "inner").mkdir()
        (self.outside / "secret_name").touch()
        self.link.symlink_to(self.outside)
        self.before = snapshot(self.outside)
        found = document_from_bytes(self.folder / "same.txt", TEXT.encode(), "")
        assert found is not None
        self.same = found

    def fill(self) -> None:
        """Let the folder, wherever it stands now, and the workspace hold what an operation needs, and nothing else."""
        for name, text in FILES.items():
            self.write(name, text)
        with suppress(FileExistsError):
            os.mkdir("inner", dir_fd=self._descriptor)
        for name in ("new.txt", "moved.txt", "copied.txt", "inner/er/new.txt"):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._descriptor)
        (self.workspace / "own.txt").write_text("own\n")
        for name in ("moved.txt", "copied.txt"):
            (self.workspace / name).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            (self.workspace / "moved").rmdir()

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, wherever that stands now."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=self._descriptor), "w") as file:
            file.write(text)

    def swap(self) -> None:
        """Let the link take the folder's place."""
        self.folder.rename(self.workspace / "was")
        self.link.rename(self.folder)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._descriptor)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path.resolve())
    yield found
    found.close()


OPERATIONS: dict[str, Callable[[Place], FileOperation]] = {
    "edit": lambda at: WriteText(path=at.folder / "same.txt", before=at.same, text="written\n"),
    "create": lambda at: WriteText(path=at.folder / "new.txt", before=None, text="written\n"),
    "create deep": lambda at: WriteText(path=at.folder / "inner" / "er" / "new.txt", before=None, text="written\n"),
    "delete": lambda at: DeleteFile(path=at.folder / "same.txt", before=at.same),
    "delete bytes": lambda at: DeleteFile(path=at.folder / "which.txt", before=None),
    "move out of it": lambda at: MoveFile(source=at.folder / "which.txt", destination=at.workspace / "moved.txt"),
    "move into it": lambda at: MoveFile(source=at.workspace / "own.txt", destination=at.folder / "moved.txt"),
    "move a folder": lambda at: MoveFile(source=at.folder / "inner", destination=at.workspace / "moved"),
    "copy from it": lambda at: CopyBytes(source=at.folder / "which.txt", destination=at.workspace / "copied.txt"),
    "copy into it": lambda at: CopyBytes(source=at.workspace / "own.txt", destination=at.folder / "copied.txt"),
}
"""The paths lead through the folder."""


def restoring(name: str, then: tuple[TreeEntry, bytes] | None) -> Callable[[Place], None]:
    """Brings a file of the folder back from what stands there now, or would stand there."""

    def restore(at: Place) -> None:
        path = at.folder / name
        now = TreeEntry("100644", "") if at.folder.is_symlink() else entry_on_disk(path)
        restore_file(at.workspace, path, now, then, 0o600)

    return restore


RESTORED: dict[str, Callable[[Place], None]] = {
    "a file": restoring("same.txt", (TreeEntry("100644", ""), b"written\n")),
    "a missing file": restoring("new.txt", (TreeEntry("100644", ""), b"written\n")),
    "a file in a missing folder": restoring("inner/er/new.txt", (TreeEntry("100644", ""), b"written\n")),
    "a link": restoring("same.txt", (TreeEntry(LINK, ""), b"elsewhere")),
    "nothing": restoring("same.txt", None),
}


async def read(at: Place) -> str:
    """As `read_file` does."""
    return (await DiskWorkspace([at.workspace]).read(at.folder / "which.txt")).text


async def read_missing(at: Place) -> str:
    """What is said of a missing file names the nearest one."""
    try:
        return (await DiskWorkspace([at.workspace]).read(at.folder / "secret_nam")).text
    except ToolError as error:
        return str(error)


async def read_picture(at: Place) -> str:
    """As an attachment is read."""
    return (await DiskWorkspace([at.workspace]).read_binary(at.folder / "which.txt")).decode()


async def compare(at: Place) -> str:
    """As an open buffer is compared with its file."""
    return read_text_now(at.folder / "which.txt") or ""


async def keep(at: Place) -> str:
    """As a file is kept before it is changed."""
    return with_bytes(at.folder / "which.txt")[1].decode()


async def keep_moved(at: Place) -> str:
    """As a folder is kept before it is moved; also the names of what is in it."""
    operation = MoveFile(source=at.folder, destination=at.workspace / "elsewhere")
    contents = Contents(None)
    effects = PlannedEdit(plan(operation), {}, contents).expected()
    blobs = [held.entry.blob for effect in effects for held in (effect.before, effect.after) if held.entry]
    return " ".join([*(effect.path.name for effect in effects), *(str(contents.get(blob)) for blob in blobs)])


async def read_command(at: Place) -> str:
    """As a prompt of the workspace's own is read."""
    commands = OwnCommands(folder=at.folder / "commands", source="workspace").read()
    return " ".join(each.template for each in commands)


async def name_changed(at: Place) -> str:
    """As what a command changed is named."""
    return " ".join(path.name for path in stamps_of([at.folder]))


async def search(at: Place) -> str:
    """As `grep_search` does; rg opens files by their path."""
    return await Bench(at.workspace).call(grep_search, pattern="secret|inside")


READERS: dict[str, Callable[[Place], Awaitable[str]]] = {
    "a document": read,
    "the names beside a missing file": read_missing,
    "bytes": read_picture,
    "the file of a buffer": compare,
    "what is kept of a file": keep,
    "what is kept of a folder": keep_moved,
    "a command of the workspace": read_command,
    "matching lines": search,
    "names in a folder": name_changed,
}


# Once, after the path was resolved and checked


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_on_what_became_a_link_changes_nothing(place: Place, name: str) -> None:
    place.swap()
    inside = snapshot(place.workspace)

    with pytest.raises(ToolError, match="link"):
        await apply_plan(plan(OPERATIONS[name](place)))

    assert snapshot(place.outside) == place.before
    assert snapshot(place.workspace) == inside


@pytest.mark.parametrize("name", RESTORED)
def test_nothing_is_restored_through_what_became_a_link(place: Place, name: str) -> None:
    place.swap()

    with pytest.raises((OSError, SnapshotError, ToolError), match="link"):
        RESTORED[name](place)

    assert snapshot(place.outside) == place.before


@pytest.mark.parametrize("name", READERS)
async def test_nothing_is_read_through_what_became_a_link(place: Place, name: str) -> None:
    place.swap()

    try:
        said = await READERS[name](place)
    except ToolError as error:
        said = str(error)

    assert "secret of" not in said
    assert "secret_name" not in said


async def test_an_error_says_that_a_link_has_come(place: Place) -> None:
    place.swap()

    with pytest.raises(ToolError, match=r"d/which.txt cannot be read: d is no longer a folder but a link\.$"):
        await read(place)


async def test_a_file_that_became_a_link_itself_is_neither_read_nor_written(place: Place) -> None:
    (place.folder / "same.txt").unlink()
    (place.folder / "same.txt").symlink_to(place.outside / "same.txt")

    with pytest.raises(ToolError, match="link"):
        await DiskWorkspace([place.workspace]).read(place.folder / "same.txt")
    with pytest.raises(ToolError):
        await apply_plan(plan(OPERATIONS["edit"](place)))
    with pytest.raises(OSError, match="link"):
        set_mode(place.folder / "same.txt", 0o777)

    assert with_bytes(place.folder / "same.txt")[0].entry == entry_on_disk(place.folder / "same.txt")
    assert snapshot(place.outside) == place.before


def test_a_named_pipe_in_place_of_a_file_is_not_waited_for(place: Place) -> None:
    (place.folder / "same.txt").unlink()
    os.mkfifo(place.folder / "same.txt")

    assert read_text_now(place.folder / "same.txt") is None
    assert with_bytes(place.folder / "same.txt") == (NOTHING, b"")
    assert bytes_of_buffer(place.folder / "same.txt", "typed") == b"typed"


# While a program swaps them without a pause


@pytest.mark.parametrize("name", OPERATIONS)
async def test_no_operation_leads_out_while_a_folder_and_a_link_are_swapped(place: Place, name: str) -> None:
    disk = DiskWorkspace([place.workspace])

    with swapping(place.folder, place.link):
        for _ in range(N_TRIES):
            with suppress(ToolError):
                await disk.apply(plan(OPERATIONS[name](place)))
            assert snapshot(place.outside) == place.before
            assert {each.read_text() for each in place.workspace.glob("[mc]*.txt")} <= {"inside\n"}
            place.fill()


@pytest.mark.parametrize("name", RESTORED)
def test_nothing_is_restored_outside_while_they_are_swapped(place: Place, name: str) -> None:
    with swapping(place.folder, place.link):
        for _ in range(N_TRIES):
            with suppress(OSError, SnapshotError, ToolError):
                RESTORED[name](place)
            assert snapshot(place.outside) == place.before
            place.fill()


@pytest.mark.parametrize("name", READERS)
async def test_nothing_is_read_outside_while_they_are_swapped(place: Place, name: str) -> None:
    with swapping(place.folder, place.link):
        for _ in range(N_TRIES):
            with suppress(ToolError):
                said = await READERS[name](place)
                assert "secret of" not in said
                assert "secret_name" not in said


async def test_no_snapshot_has_what_lies_outside_while_they_are_swapped(place: Place) -> None:
    snapshots = snapshots_beside(place.workspace)
    nothing = await snapshots.take([place.workspace], {})
    names = [f"many-{number}" for number in range(40)]
    for name in names:
        (place.outside / name).write_text(f"{SECRET}{name}")

    with swapping(place.folder, place.link):
        for number in range(max(5, N_TRIES // 20)):
            for name in names:
                place.write(name, f"inside {number}\n")
            taken = await snapshots.take([place.workspace], {})
            changes = await snapshots.changes(nothing, taken)
            kept = await snapshots.contents(taken, [(each.folder, each.new) for each in changes if each.new])
            assert not [each for each in kept.values() if b"secret of" in each]
