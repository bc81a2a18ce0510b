"""create_file makes a new file, and replaces one only when told to."""

from __future__ import annotations

import pytest

from pygent_ls.agent.ports.workspace import WriteText
from pygent_ls.errors import OutsideWorkspaceError, StaleDocumentError, ToolError
from pygent_ls.tools.files.edit_file import create_file
from pygent_ls.tools.files.read_file import read_file
from tests.tools.tool_bench import Bench


async def test_a_file_is_created_with_its_folders(bench: Bench) -> None:
    result = await bench.call(create_file, path="src/core/new.py", content="print('hi')\n")

    assert result == "Created src/core/new.py: 1 line."
    assert bench.bytes_of("src/core/new.py") == b"print('hi')\n"


async def test_the_content_is_written_as_it_is(bench: Bench) -> None:
    await bench.call(create_file, path="odd.txt", content="a\r\nb\nc\rd")

    assert bench.bytes_of("odd.txt") == b"a\r\nb\nc\rd"


async def test_an_empty_file_can_be_created(bench: Bench) -> None:
    assert await bench.call(create_file, path="pkg/__init__.py", content="") == "Created pkg/__init__.py: 0 lines."
    assert bench.bytes_of("pkg/__init__.py") == b""


async def test_a_file_that_exists_is_refused(bench: Bench) -> None:
    bench.write("app.py", "x = 1\n")

    with pytest.raises(ToolError, match=r"app\.py already exists.*edit_file.*`overwrite`"):
        await bench.call(create_file, path="app.py", content="y\n")
    assert bench.bytes_of("app.py") == b"x = 1\n"


async def test_overwrite_replaces_all_of_it_and_counts_the_lines(bench: Bench) -> None:
    file = bench.write("app.py", "a\nb\nc\n")

    result = await bench.call(create_file, path="app.py", content="a\nB\nc\nd\n", overwrite=True)

    assert result == "Overwrote app.py: +2 −1 lines; it now has 4 lines."
    assert file.read_bytes() == b"a\nB\nc\nd\n"


async def test_overwrite_keeps_encoding_line_endings_and_mode(bench: Bench) -> None:
    file = bench.write("run.bat", "é\r\nb\r\n".encode("latin-1"))
    file.chmod(0o755)

    await bench.call(create_file, path="run.bat", content="é\nc\n", overwrite=True)

    assert file.read_bytes() == "é\r\nc\r\n".encode("latin-1")
    assert file.stat().st_mode & 0o777 == 0o755


async def test_overwrite_with_the_same_text_is_an_error(bench: Bench) -> None:
    bench.write("app.py", "x\r\n")

    with pytest.raises(ToolError, match="already contains exactly this text"):
        await bench.call(create_file, path="app.py", content="x\n", overwrite=True)


async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(bench: Bench) -> None:
    bench.write("app.py", "x = 1\n")
    await bench.call(read_file, path="app.py")
    bench.write("app.py", "x = 1  # by the user\n")

    with pytest.raises(StaleDocumentError, match="by the user"):
        await bench.call(create_file, path="app.py", content="y\n", overwrite=True)


async def test_a_binary_file_and_a_folder_are_not_overwritten(bench: Bench) -> None:
    bench.write("data.bin", b"\x00\x01")
    bench.write("src/app.py")

    with pytest.raises(ToolError, match="not text"):
        await bench.call(create_file, path="data.bin", content="x", overwrite=True)
    with pytest.raises(ToolError, match="folder"):
        await bench.call(create_file, path="src", content="x", overwrite=True)


async def test_paths_that_cannot_be_a_new_file_are_errors(bench: Bench) -> None:
    (bench.folder / "link").symlink_to(bench.folder.parent)

    with pytest.raises(ToolError, match="docs/ names a folder"):
        await bench.call(create_file, path="docs/", content="x")
    with pytest.raises(OutsideWorkspaceError):
        await bench.call(create_file, path="link/new.txt", content="x")
    with pytest.raises(ToolError, match=r"cannot represent '\\ud800'"):
        await bench.call(create_file, path="a.txt", content="\ud800")
    assert not (bench.folder.parent / "new.txt").exists()


async def test_nothing_is_written_before_the_plan_is_applied(bench: Bench) -> None:
    plan = await bench.plan(create_file, path="new.txt", content="x\n")

    assert plan.operations == (WriteText(path=bench.folder / "new.txt", before=None, text="x\n"),)
    assert not (bench.folder / "new.txt").exists()
