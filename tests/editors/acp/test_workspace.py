"""The files of a client, and those on the disk that it does not serve."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.editors.acp.workspace import AcpWorkspace


class NoFiles:
    """A client that serves no file."""

    can_write = False

    async def text(self, path: Path) -> str | None:
        return None

    async def write(self, path: Path, text: str) -> None:
        raise AssertionError(path)


async def test_a_link_to_a_missing_file_is_told_from_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").symlink_to("variables")
    (tmp_path / "a.txt").write_text("one\n")
    workspace = AcpWorkspace([tmp_path], NoFiles())

    link, file, nothing = await workspace.stamps([tmp_path / ".env", tmp_path / "a.txt", tmp_path / "none"])

    assert MISSING not in (link, file)
    assert nothing == MISSING
