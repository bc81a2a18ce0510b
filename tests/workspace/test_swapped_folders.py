"""A folder of the workspace becomes a link to elsewhere after its path was resolved: nothing is written or read there.

`PYGENT_FUZZ=20000` in the environment makes that many tries of each race.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pygent_ls.agent.workspace import CopyBytes, DeleteFile, FileOperation, MoveFile, WriteText
from pygent_ls.errors import ToolError
from pygent_ls.workspace.disk import DiskWorkspace, apply_plan
from pygent_ls.workspace.documents import document_from_bytes
from tests.workspace.swapper import swapping
from tests.workspace.trees import plan, snapshot

N_TRIES = int(os.environ.get("PYGENT_FUZZ", "400"))

TEXT = "the same in both folders\n"


class Place:
    """A workspace `w` with a folder `d`, and a folder outside that holds files of the same names."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "w"
        self.folder = self.workspace / "d"
        self.outside = root / "outside"
        self.link = self.workspace / "link"
        for folder in (self.folder, self.outside):
            folder.mkdir(parents=True)
            (folder / "same.txt").write_text(TEXT)
            (folder / "binary").write_bytes(b"\0binary")
            (folder / "inner").mkdir()
        (self.folder / "which.txt").write_text("inside\n")
        (self.outside / "which.txt").write_text("secret\n")
        (self.outside / "secret_name").touch()
        self.link.symlink_to(self.outside)
        self.before = snapshot(self.outside)

    def swap(self) -> None:
        """Once."""
        self.folder.rename(self.workspace / "was")
        self.link.rename(self.folder)

    def operations(self) -> dict[str, FileOperation]:
        """One of each kind; the paths lead through the folder."""
        folder, workspace = self.folder, self.workspace
        same = document_from_bytes(folder / "same.txt", TEXT.encode(), "")
        assert same is not None
        (workspace / "own.txt").write_text("own\n")
        return {
            "edit": WriteText(path=folder / "same.txt", before=same, text="written\n"),
            "create": WriteText(path=folder / "new.txt", before=None, text="written\n"),
            "create below": WriteText(path=folder / "inner" / "er" / "new.txt", before=None, text="written\n"),
            "delete": DeleteFile(path=folder / "same.txt", before=same),
            "delete bytes": DeleteFile(path=folder / "binary", before=None),
            "move out of it": MoveFile(source=folder / "same.txt", destination=workspace / "moved.txt"),
            "move into it": MoveFile(source=workspace / "own.txt", destination=folder / "moved.txt"),
            "move a folder": MoveFile(source=folder / "inner", destination=workspace / "moved"),
            "copy from it": CopyBytes(source=folder / "which.txt", destination=workspace / "copied.txt"),
            "copy into it": CopyBytes(source=workspace / "own.txt", destination=folder / "copied.txt"),
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


OPERATIONS = (
    "edit",
    "create",
    "create below",
    "delete",
    "delete bytes",
    "move out of it",
    "move into it",
    "move a folder",
    "copy from it",
    "copy into it",
)


# After the path was resolved and checked


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_on_what_became_a_link_changes_nothing(place: Place, name: str) -> None:
    operation = place.operations()[name]
    place.swap()
    inside = snapshot(place.workspace)

    with pytest.raises(ToolError, match="link"):
        await apply_plan(plan(operation))

    assert snapshot(place.outside) == place.before
    assert snapshot(place.workspace) == inside


# While a program swaps them without a pause


def copied_bytes(place: Place) -> bytes:
    """Everything that was copied or moved into the workspace."""
    found = (place.workspace / name for name in ("copied.txt", "moved.txt"))
    return b"".join(each.read_bytes() for each in found if each.is_file())


@pytest.mark.skipif(sys.platform != "linux", reason="paths change places in one step on Linux alone")
@pytest.mark.parametrize("name", OPERATIONS)
async def test_no_operation_leads_out_while_a_folder_and_a_link_are_swapped(place: Place, name: str) -> None:
    disk = DiskWorkspace([place.workspace])
    n_made = 0

    with swapping(place.folder, place.link):
        for _ in range(N_TRIES):
            operation = place.operations()[name]
            with suppress(ToolError):
                await disk.apply(plan(operation))
                n_made += 1
            assert snapshot(place.outside) == place.before
            assert b"secret" not in copied_bytes(place)
