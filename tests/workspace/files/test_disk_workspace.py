"""The workspace on the disk: plans are carried out as a whole, or not at all."""

from __future__ import annotations

import asyncio
import codecs
import os
import stat
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pygent_ls.agent.ports.workspace import (
    MISSING,
    CopyBytes,
    DeleteFile,
    Document,
    MoveFile,
    TextEncoding,
    Workspace,
    WriteText,
)
from pygent_ls.errors import OutsideWorkspaceError, StaleDocumentError, ToolError
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace, apply_plan
from tests.workspace.trees import plan, run_script, share_file_system, snapshot


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace whose only folder is `tmp_path`."""
    return DiskWorkspace([tmp_path])


async def document(workspace: Workspace, name: str, data: bytes) -> Document:
    """A file with these bytes, as read."""
    path = workspace.resolve(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return await workspace.read(path)


def edit(before: Document, text: str) -> WriteText:
    """The document with another text."""
    return WriteText(path=before.path, before=before, text=text, encoding=before.encoding)


async def test_a_new_file_is_made_with_its_folders(workspace: Workspace, tmp_path: Path) -> None:
    path = workspace.resolve("a/b/new.txt")

    await workspace.apply(plan(WriteText(path=path, before=None, text="grün\r\n", mode=0o755)))

    assert path.read_bytes() == "grün\r\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert sorted(snapshot(tmp_path)) == ["a", "a/b", "a/b/new.txt"]


@pytest.mark.parametrize(
    "data", [b"old\r\n", b"\xef\xbb\xbfold\n", b"\xe9 old", "\ufeffold\n".encode("utf-16-be"), b"no end"]
)
async def test_an_edit_keeps_encoding_mark_line_endings_and_mode(workspace: Workspace, data: bytes) -> None:
    before = await document(workspace, "file.txt", data)
    before.path.chmod(0o755)

    await workspace.apply(plan(edit(before, before.text.replace("old", "new"))))

    old, new = ("old".encode("utf-16-be"), "new".encode("utf-16-be")) if b"\0" in data else (b"old", b"new")
    assert before.path.read_bytes() == data.replace(old, new)
    assert stat.S_IMODE(before.path.stat().st_mode) == 0o755
    assert await workspace.stamp(before.path) != before.stamp


async def test_copies_moves_and_deletions(workspace: Workspace, tmp_path: Path) -> None:
    source = workspace.resolve("image.bin")
    source.write_bytes(b"\0\1\2")
    source.chmod(0o751)
    gone = await document(workspace, "gone.txt", b"gone")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "x").write_text("x")

    await workspace.apply(
        plan(
            CopyBytes(source=source, destination=workspace.resolve("copies/image.bin")),
            MoveFile(source=source, destination=workspace.resolve("moved/image.bin")),
            MoveFile(source=workspace.resolve("dir"), destination=workspace.resolve("other/dir")),
            DeleteFile(path=gone.path, before=gone),
        )
    )

    after = snapshot(tmp_path)
    assert sorted(after) == [
        "copies",
        "copies/image.bin",
        "moved",
        "moved/image.bin",
        "other",
        "other/dir",
        "other/dir/x",
    ]
    assert after["copies/image.bin"] == after["moved/image.bin"] == ("-rwxr-x--x", b"\0\1\2")
    assert after["other/dir/x"][1] == b"x"


async def test_a_link_itself_is_moved_and_deleted(workspace: Workspace, tmp_path: Path) -> None:
    target = await document(workspace, "target", b"t")
    (tmp_path / "one").symlink_to("target")
    (tmp_path / "two").symlink_to("target")

    await workspace.apply(
        plan(
            MoveFile(source=workspace.resolve("one", follow=False), destination=workspace.resolve("three")),
            DeleteFile(path=workspace.resolve("two", follow=False), before=None),
        )
    )

    assert sorted(snapshot(tmp_path)) == ["target", "three"]
    assert (tmp_path / "three").is_symlink()
    assert target.path.read_bytes() == b"t"


async def test_an_edit_of_a_changed_file_is_refused_and_quotes_what_it_holds_now(workspace: Workspace) -> None:
    before = await document(workspace, "src/a.py", b"x = 1\n")
    before.path.write_text("x = 2  # by the user\n")

    with pytest.raises(StaleDocumentError, match=r"src/a.py has changed") as refusal:
        await workspace.apply(plan(edit(before, "x = 3\n")))

    assert "x = 2  # by the user" in str(refusal.value)
    assert before.path.read_text() == "x = 2  # by the user\n"


async def test_a_file_that_was_only_touched_is_not_stale(workspace: Workspace) -> None:
    before = await document(workspace, "a", b"old")
    before.path.unlink()
    before.path.write_text("old")

    await workspace.apply(plan(edit(before, "new")))

    assert before.path.read_text() == "new"


async def test_what_no_longer_holds_is_refused_before_anything_is_done(workspace: Workspace, tmp_path: Path) -> None:
    kept = await document(workspace, "kept", b"kept")
    taken = await document(workspace, "taken", b"taken")
    gone = await document(workspace, "gone", b"gone")
    changed = await document(workspace, "changed", b"old")
    gone.path.unlink()
    changed.path.write_bytes(b"\0")
    (tmp_path / "dir").mkdir()
    before = snapshot(tmp_path)
    refusals = [
        (WriteText(path=taken.path, before=None, text="x"), "taken already exists"),
        (edit(gone, "x"), "gone no longer exists"),
        (edit(changed, "x"), "changed has changed and is no longer text"),
        (DeleteFile(path=changed.path, before=changed), "changed has changed"),
        (DeleteFile(path=gone.path, before=None), "gone does not exist"),
        (DeleteFile(path=tmp_path / "dir", before=None), "dir is a folder"),
        (CopyBytes(source=gone.path, destination=tmp_path / "x"), "gone does not exist"),
        (CopyBytes(source=tmp_path / "dir", destination=tmp_path / "x"), "dir is a folder"),
        (CopyBytes(source=kept.path, destination=taken.path), "taken already exists"),
        (MoveFile(source=kept.path, destination=taken.path), "taken already exists"),
        (MoveFile(source=gone.path, destination=tmp_path / "x"), "gone does not exist"),
        (MoveFile(source=tmp_path / "dir", destination=tmp_path / "dir" / "in"), "moved into itself"),
        (MoveFile(source=tmp_path, destination=tmp_path / "x" / "y"), "cannot be moved or deleted"),
        (WriteText(path=kept.path / "x", before=None, text=""), "kept is not a folder"),
    ]
    for operation, problem in refusals:
        for operations in ([edit(kept, "x"), operation], [operation]):
            with pytest.raises(ToolError, match=problem):
                await workspace.apply(plan(*operations))
            assert snapshot(tmp_path) == before


async def test_a_later_operation_may_build_on_an_earlier_one(workspace: Workspace, tmp_path: Path) -> None:
    before = await document(workspace, "old.py", b"one")
    moved = workspace.resolve("pkg/new.py")
    after = Document(path=moved, text=before.text, digest=before.digest, stamp=before.stamp)

    await workspace.apply(
        plan(
            MoveFile(source=before.path, destination=moved),
            edit(after, "two"),
            WriteText(path=before.path, before=None, text="instead"),
            CopyBytes(source=moved, destination=workspace.resolve("copy.py")),
        )
    )

    files = {name: content for name, (_, content) in snapshot(tmp_path).items() if content}
    assert files == {"pkg/new.py": b"two", "old.py": b"instead", "copy.py": b"two"}


async def test_when_a_later_operation_fails_the_earlier_ones_are_undone(workspace: Workspace, tmp_path: Path) -> None:
    edited = await document(workspace, "edited", b"old")
    edited.path.chmod(0o640)
    moved = await document(workspace, "moved", b"moved")
    deleted = await document(workspace, "deleted", b"deleted")
    (tmp_path / "dir" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("edited")
    before = snapshot(tmp_path)
    inode = deleted.path.stat().st_ino
    new = workspace.resolve("n/e/w")

    with pytest.raises(ToolError, match="n/e/w already exists"):
        await workspace.apply(
            plan(
                edit(edited, "new"),
                WriteText(path=new, before=None, text="new"),
                MoveFile(source=moved.path, destination=workspace.resolve("m/oved")),
                MoveFile(source=workspace.resolve("dir"), destination=workspace.resolve("m/dir")),
                DeleteFile(path=deleted.path, before=deleted),
                DeleteFile(path=workspace.resolve("link", follow=False), before=None),
                CopyBytes(source=edited.path, destination=workspace.resolve("c/opy")),
                WriteText(path=new, before=None, text="newer"),
            )
        )

    assert snapshot(tmp_path) == before
    assert deleted.path.stat().st_ino == inode


async def test_what_another_program_wrote_over_a_part_of_a_plan_stays_when_the_plan_is_undone(
    workspace: Workspace, tmp_path: Path
) -> None:
    edited = await document(workspace, "edited", b"old")
    other = await document(workspace, "other", b"old")
    made, copied = tmp_path / "made", tmp_path / "copied"
    ours = [edited.path, made, copied]

    def shown(path: Path) -> str:
        """Called when a part fails, before the others are undone."""
        for each in ours if path == made else ():
            each.write_text(f"another program's {each.name}")
        return path.name

    operations = (
        edit(other, "new"),
        edit(edited, "new"),
        WriteText(path=made, before=None, text="new"),
        CopyBytes(source=edited.path, destination=copied),
        WriteText(path=made, before=None, text="newer"),
    )
    with pytest.raises(ToolError, match="could not be undone: copied, made, edited"):
        await apply_plan(plan(*operations), shown)

    assert [each.read_text() for each in ours] == [f"another program's {each.name}" for each in ours]
    assert other.path.read_text() == "old"


async def test_a_character_that_the_encoding_lacks_is_named_and_nothing_is_written(
    workspace: Workspace, tmp_path: Path
) -> None:
    before = await document(workspace, "latin.txt", "größe".encode("latin-1"))
    state = snapshot(tmp_path)

    with pytest.raises(ToolError, match=r"latin.txt is encoded in latin-1, which cannot represent '\\u4e2d'"):
        await workspace.apply(plan(edit(before, "größe 中")))
    with pytest.raises(ToolError, match="ud800"):
        await workspace.apply(plan(WriteText(path=workspace.resolve("new"), before=None, text="\ud800")))
    assert snapshot(tmp_path) == state


async def test_a_file_may_be_written_in_another_encoding(workspace: Workspace) -> None:
    path = workspace.resolve("wide.txt")

    await workspace.apply(
        plan(WriteText(path=path, before=None, text="ä", encoding=TextEncoding(name="utf-16-le", bom=b"\xff\xfe")))
    )

    assert path.read_bytes() == b"\xff\xfe\xe4\0"


async def test_a_link_that_came_after_the_plan_was_made_does_not_lead_it_outside(
    workspace: Workspace, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    path = workspace.resolve("src/new.txt")
    (tmp_path / "src").symlink_to(outside)

    with pytest.raises(OutsideWorkspaceError):
        await workspace.apply(plan(WriteText(path=path, before=None, text="x")))

    assert list(outside.iterdir()) == []


async def test_a_plan_that_is_cancelled_before_it_is_done_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    before = await document(workspace, "a", b"old")
    state = snapshot(tmp_path)
    hold = threading.Event()
    running = threading.Event()

    def occupy() -> None:
        running.set()
        hold.wait(timeout=20)

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(max_workers=1) as executor:
        loop.set_default_executor(executor)
        task = asyncio.create_task(workspace.apply(plan(edit(before, "new"))))
        await asyncio.to_thread(lambda: None)  # the task's check is done
        busy = loop.run_in_executor(None, occupy)
        await asyncio.sleep(0)
        task.cancel()
        hold.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await busy

    assert snapshot(tmp_path) == state


async def test_a_cancel_in_the_middle_of_a_plan_undoes_what_was_done(workspace: Workspace, tmp_path: Path) -> None:
    before = await document(workspace, "a", b"old")
    state = snapshot(tmp_path)
    moved = workspace.resolve("b")
    after = Document(path=moved, text=before.text, digest=before.digest, stamp=before.stamp)
    reached, go_on = threading.Event(), threading.Event()

    def encode_slowly(text: str, errors: str = "strict") -> tuple[bytes, int]:
        reached.set()
        go_on.wait(timeout=20)
        return codecs.utf_8_encode(text, errors)

    def search(name: str) -> codecs.CodecInfo | None:
        return codecs.CodecInfo(encode_slowly, codecs.utf_8_decode) if name == "slow_for_this_test" else None

    codecs.register(search)
    try:
        operations = (
            MoveFile(source=before.path, destination=moved),
            WriteText(path=moved, before=after, text="new", encoding=TextEncoding(name="slow_for_this_test")),
        )
        task = asyncio.create_task(workspace.apply(plan(*operations)))
        assert await asyncio.to_thread(reached.wait, 20)
        assert not before.path.exists()
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        codecs.unregister(search)

    assert snapshot(tmp_path) == state


def test_a_full_disk_changes_none_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "small").write_text("old")
    before = snapshot(tmp_path)
    script = """
import asyncio, resource, sys
from pathlib import Path
from pygent_ls.agent.ports.workspace import EditPlan, WriteText
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace, apply_plan

async def main():
    workspace = DiskWorkspace([sys.argv[1]])
    small = await workspace.read(workspace.resolve("small"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    edit = WriteText(path=small.path, before=small, text="new")
    big = WriteText(path=workspace.resolve("dir/big"), before=None, text="n" * 10_001)
    try:
        await workspace.apply(EditPlan(label="", operations=(edit, big), result=""))
    except Exception as error:
        print(type(error).__name__, error)

asyncio.run(main())
"""
    printed = run_script(script, str(tmp_path))

    assert printed.startswith("ToolError dir/big was not written: no space is left")
    assert snapshot(tmp_path) == before


async def test_stamps_and_buffers_without_an_editor(workspace: Workspace, tmp_path: Path) -> None:
    before = await document(workspace, "a", b"a")

    assert await workspace.stamp(before.path) == before.stamp
    assert await workspace.stamp(tmp_path / "none") == MISSING
    assert await workspace.tree_stamp(tmp_path) is not None
    assert list(workspace.unsaved()) == []
    assert workspace.open_document(before.path) is None
    assert list(workspace.folders) == [tmp_path]
    assert workspace.shown(before.path) == "a"


async def test_errors_call_files_as_the_model_does(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match=r"^There is no file src/none\.py\."):
        await workspace.read(workspace.resolve("src/none.py"))


async def test_a_file_is_moved_to_another_file_system_and_a_folder_is_not(tmp_path: Path) -> None:
    shared_memory = Path("/dev/shm")
    elsewhere = shared_memory if os.access(shared_memory, os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=elsewhere) as other:
        workspace = DiskWorkspace([tmp_path, other])
        before = await document(workspace, str(tmp_path / "a"), b"text")
        before.path.chmod(0o751)
        (tmp_path / "link").symlink_to("a")
        (tmp_path / "dir").mkdir()
        there = workspace.folders[1]

        await workspace.apply(
            plan(
                MoveFile(source=before.path, destination=there / "deep" / "a"),
                MoveFile(source=tmp_path / "link", destination=there / "link"),
            )
        )
        assert snapshot(there)["deep/a"] == ("-rwxr-x--x", b"text")
        assert (there / "link").is_symlink()
        assert sorted(snapshot(tmp_path)) == ["dir"]

        if not share_file_system(there, tmp_path):
            with pytest.raises(ToolError, match="another file system"):
                await workspace.apply(plan(MoveFile(source=tmp_path / "dir", destination=there / "dir")))
            assert not (there / "dir").exists()
        assert (tmp_path / "dir").is_dir()
