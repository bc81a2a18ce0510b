"""delete_file, move_file and copy_file: the named file and no other."""

from __future__ import annotations

import pytest

from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, TextEncoding, WriteText
from pygent_ls.errors import OutsideWorkspaceError, StaleDocumentError, ToolError
from pygent_ls.tools.files.file_operations import copy_file, delete_file, move_file
from pygent_ls.tools.files.read_file import read_file
from tests.tools.tool_bench import Bench

# Deleting


async def test_a_file_is_deleted_and_its_text_is_in_the_plan(bench: Bench) -> None:
    file = bench.write("old.py", "a\nb\n")

    plan = await bench.plan(delete_file, path="old.py")
    result = await bench.call(delete_file, path="old.py")

    (operation,) = plan.operations
    assert isinstance(operation, DeleteFile)
    assert operation.before is not None
    assert operation.before.text == "a\nb\n"
    assert result == "Deleted old.py (2 lines)."
    assert not file.exists()


async def test_a_binary_file_is_deleted(bench: Bench) -> None:
    file = bench.write("data.bin", b"\x00\x01")

    assert await bench.call(delete_file, path="data.bin") == "Deleted data.bin."
    assert not file.exists()


@pytest.mark.parametrize("target", ["app.py", "nothing there", "..", "../outside.txt"])
async def test_a_link_is_deleted_and_not_what_it_leads_to(bench: Bench, target: str) -> None:
    file = bench.write("app.py", "x\n")
    outside = bench.folder.parent / "outside.txt"
    outside.write_text("x")
    link = bench.folder / "link"
    link.symlink_to(target)

    assert await bench.call(delete_file, path="link") == "Deleted the link link."
    assert not link.is_symlink()
    assert file.exists()
    assert outside.exists()


async def test_folders_and_missing_files_are_not_deleted(bench: Bench) -> None:
    file = bench.write("src/app.py", "x\n")

    with pytest.raises(ToolError, match="src is a folder, but only files can be deleted"):
        await bench.call(delete_file, path="src")
    with pytest.raises(ToolError, match=r"There is no file src/ap\.py\. Did you mean app\.py"):
        await bench.call(delete_file, path="src/ap.py")
    assert file.exists()


async def test_a_file_that_changed_since_it_was_read_is_not_deleted(bench: Bench) -> None:
    file = bench.write("app.py", "x\n")
    await bench.call(read_file, path="app.py")
    bench.write("app.py", "x\nby the user\n")

    with pytest.raises(StaleDocumentError, match="by the user"):
        await bench.call(delete_file, path="app.py")
    assert file.exists()


# Moving


async def test_a_file_is_moved_and_folders_are_made(bench: Bench) -> None:
    file = bench.write("old.txt", "o\n")

    assert await bench.call(move_file, source="old.txt", destination="docs/new.txt") == "Moved old.txt to docs/new.txt."
    assert bench.bytes_of("docs/new.txt") == b"o\n"
    assert not file.exists()


@pytest.mark.parametrize("tool", [move_file, copy_file])
async def test_a_folder_as_destination_means_into_it(bench: Bench, tool: object) -> None:
    chosen = move_file if tool is move_file else copy_file
    bench.write("a.txt", "a\n")
    bench.write("b.txt", "b\n")
    (bench.folder / "there").mkdir()

    await bench.call(chosen, source="a.txt", destination="there")
    await bench.call(chosen, source="b.txt", destination="new/")

    assert bench.bytes_of("there/a.txt") == b"a\n"
    assert bench.bytes_of("new/b.txt") == b"b\n"


@pytest.mark.parametrize("destination", ["taken.txt", "folder", "folder/"])
async def test_nothing_is_overwritten(bench: Bench, destination: str) -> None:
    bench.write("a.txt", "a\n")
    bench.write("taken.txt", "t\n")
    bench.write("folder/a.txt", "f\n")

    for tool in (move_file, copy_file):
        with pytest.raises(ToolError, match="already exists"):
            await bench.call(tool, source="a.txt", destination=destination)
    assert (bench.bytes_of("taken.txt"), bench.bytes_of("folder/a.txt")) == (b"t\n", b"f\n")


async def test_a_file_is_not_moved_or_copied_onto_itself(bench: Bench) -> None:
    bench.write("src/a.txt", "a\n")

    for tool in (move_file, copy_file):
        for destination in ("src/a.txt", "src", "./src/../src/a.txt"):
            with pytest.raises(ToolError, match="both the source and the destination"):
                await bench.call(tool, source="src/a.txt", destination=destination)


async def test_a_link_is_moved_itself(bench: Bench) -> None:
    bench.write("app.py", "x\n")
    (bench.folder / "link").symlink_to("app.py")

    await bench.call(move_file, source="link", destination="moved")

    assert (bench.folder / "moved").is_symlink()
    assert bench.bytes_of("app.py") == b"x\n"


async def test_a_folder_is_moved_with_all_in_it_but_not_into_itself(bench: Bench) -> None:
    bench.write("src/a.py", "a\n")

    with pytest.raises(ToolError, match="into itself"):
        await bench.call(move_file, source="src", destination="src/")
    await bench.call(move_file, source="src", destination="lib")

    assert bench.bytes_of("lib/a.py") == b"a\n"


async def test_nothing_is_moved_or_copied_out_of_the_workspace_or_into_it(bench: Bench) -> None:
    bench.write("a.txt", "a\n")
    (bench.folder.parent / "secret.txt").write_text("plum")
    (bench.folder / "out").symlink_to(bench.folder.parent)

    for tool in (move_file, copy_file):
        for source, destination in (("a.txt", "../a.txt"), ("a.txt", "out"), ("../secret.txt", "b.txt")):
            with pytest.raises(OutsideWorkspaceError):
                await bench.call(tool, source=source, destination=destination)
    assert sorted(path.name for path in bench.folder.parent.iterdir()) == ["project", "secret.txt"]


async def test_a_missing_source_is_an_error_that_names_the_nearest(bench: Bench) -> None:
    bench.write("app.py", "x\n")

    for tool in (move_file, copy_file):
        with pytest.raises(ToolError, match=r"Did you mean app\.py"):
            await bench.call(tool, source="apps.py", destination="b.py")


# Copying


@pytest.mark.parametrize(
    "data",
    [b"a\r\nb\n", b"\xef\xbb\xbfa\n", b"b\xe9ta\n", "a\n".encode("utf-16"), b"", b"\x00\x01\xff"],
    ids=["mixed", "bom", "latin-1", "utf-16", "empty", "binary"],
)
async def test_a_copy_has_the_same_bytes_and_mode(bench: Bench, data: bytes) -> None:
    bench.write("tool", data).chmod(0o750)

    await bench.call(copy_file, source="tool", destination="bin/tool")

    assert bench.bytes_of("bin/tool") == data
    assert (bench.folder / "bin/tool").stat().st_mode & 0o777 == 0o750
    assert bench.bytes_of("tool") == data


async def test_text_is_written_as_text_and_all_else_is_copied_as_bytes(bench: Bench) -> None:
    bench.write("a.txt", "a\nb\n").chmod(0o644)
    bench.write("data.bin", b"\x00\x01")

    text = await bench.plan(copy_file, source="a.txt", destination="b.txt")
    binary = await bench.plan(copy_file, source="data.bin", destination="b.bin")

    assert text.operations == (
        WriteText(path=bench.folder / "b.txt", before=None, text="a\nb\n", encoding=TextEncoding(), mode=0o644),
    )
    assert text.result == "Copied a.txt to b.txt (2 lines)."
    assert binary.operations == (CopyBytes(source=bench.folder / "data.bin", destination=bench.folder / "b.bin"),)
    assert binary.result == "Copied data.bin to b.bin, byte for byte."


async def test_unsaved_text_is_copied(bench: Bench) -> None:
    file = bench.write("a.txt", "saved\n")
    bench.workspace.type_into(file, "typed\n")

    await bench.call(copy_file, source="a.txt", destination="b.txt")

    assert bench.bytes_of("b.txt") == b"typed\n"


async def test_a_folder_is_not_copied(bench: Bench) -> None:
    bench.write("src/a.py")

    with pytest.raises(ToolError, match="src is a folder, but only files can be copied"):
        await bench.call(copy_file, source="src", destination="lib")
