from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.edits.named_paths import NamedPaths, named_in
from pygent_ls.agent.messages import Message, user_message
from pygent_ls.agent.ports.workspace import (
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    MoveFile,
    WriteText,
)
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint, Checkpoints
from pygent_ls.sessions.checkpoints.rewind import (
    CHANGED_SINCE,
    MOVED,
    NEVER_KEPT,
    Restored,
    RewindTarget,
    go_back,
    last_turn,
)
from pygent_ls.sessions.checkpoints.write_log import WriteLog
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.workspace.repositories import bytes_of, commit_all, snapshots_beside
from tests.workspace.trees import snapshot

FILES = RewindTarget(files=True, conversation=False)
FORCED = RewindTarget(files=True, conversation=False, force=True)
ALL = RewindTarget(files=True, conversation=True)


@dataclass
class Desk:
    """A folder, the agent that changes it, and the user who may as well."""

    folder: Path
    checkpoints: Checkpoints
    messages: list[Message]

    async def edit(self, turn: str, name: str, text: str) -> None:
        """The agent writes a file."""
        path = self.folder / name
        before = await self.checkpoints.workspace.read(path) if path.exists() else None
        await self.apply(turn, WriteText(path=path, before=before, text=text))

    async def read(self, name: str) -> Document:
        """What a file holds."""
        return await self.checkpoints.workspace.read(self.folder / name)

    async def apply(self, turn: str, *operations: FileOperation) -> None:
        """The agent changes files."""
        plan = EditPlan(label="", operations=operations, result="")
        assert await self.checkpoints.before_change(turn, "edit") is None
        await self.checkpoints.about_to_apply(plan)
        await self.checkpoints.workspace.apply(plan)
        await self.checkpoints.applied(plan)

    async def shell(self, turn: str, command: str) -> None:
        """The agent runs a command."""
        assert await self.checkpoints.before_program(turn, command, named_in([command], self.folder)) is None
        process = await asyncio.create_subprocess_shell(command, cwd=self.folder)
        assert await process.wait() == 0
        assert (await self.checkpoints.after_program(turn, command)).problem is None

    async def back(self, to: Checkpoint | None = None, wanted: RewindTarget = FILES) -> Restored:
        """Go back, to the first checkpoint by default."""
        return await go_back(self.checkpoints, to or self.checkpoints.all()[0], wanted, self.messages)

    def skipped(self, done: Restored) -> dict[str, str]:
        """What was left alone, and why."""
        return {each.path.relative_to(self.folder).as_posix(): each.reason for each in done.skipped}

    def restored(self, done: Restored) -> list[str]:
        """What was brought back."""
        return [path.relative_to(self.folder).as_posix() for path in done.restored]


def desk_at(folder: Path) -> Desk:
    return Desk(folder, Checkpoints(DiskWorkspace([folder]), snapshots_beside(folder)), [])


@pytest.fixture(params=["git", "no git"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    (folder / "keep.txt").write_text("k\n")
    if request.param == "git":
        commit_all(folder)
    return desk_at(folder)


async def test_edits_new_files_and_what_commands_did_go_back(desk: Desk) -> None:
    (desk.folder / "keep.txt").chmod(0o755)
    before = snapshot(desk.folder)

    await desk.edit("t1", "a.txt", "A\n")
    await desk.edit("t1", "deep/er/new.txt", "n\n")
    await desk.shell("t1", "rm keep.txt; echo s > shell.txt; mkdir d; ln -s ../a.txt d/link")
    done = await desk.back()

    assert snapshot(desk.folder) == before
    assert desk.restored(done) == ["a.txt", "d/link", "deep/er/new.txt", "keep.txt", "shell.txt"]
    assert done.skipped == []


async def test_the_users_repository_is_not_touched_by_going_back(desk: Desk) -> None:
    repository = bytes_of(desk.folder / ".git")

    await desk.edit("t1", "a.txt", "A\n")
    await desk.back()

    assert bytes_of(desk.folder / ".git") == repository


async def test_checkpoints_are_made_before_the_first_change_and_around_commands(desk: Desk) -> None:
    await desk.edit("t1", "a.txt", "A\n")
    await desk.edit("t1", "a.txt", "AA\n")
    await desk.shell("t1", "echo x > x.txt")
    await desk.shell("t2", "true")

    points = desk.checkpoints.all()

    assert [(each.turn_id, each.label, len(each.changed)) for each in points] == [
        ("t1", "Before edit", 1),
        ("t1", "Before echo x > x.txt", 1),
        ("t1", "After echo x > x.txt", 0),
        ("t2", "Before true", 0),
    ]
    assert sorted(each.created_at for each in points) == [each.created_at for each in points]


async def test_what_the_user_changed_since_is_spared_and_named(desk: Desk) -> None:
    await desk.edit("t1", "a.txt", "A\n")
    await desk.edit("t1", "b.txt", "B\n")
    await desk.shell("t1", "echo s > shell.txt; rm keep.txt")
    (desk.folder / "a.txt").write_text("mine\n")
    (desk.folder / "own.txt").write_text("mine\n")
    (desk.folder / "shell.txt").unlink()
    (desk.folder / "keep.txt").write_text("another\n")

    done = await desk.back()

    assert desk.restored(done) == ["b.txt"]
    assert desk.skipped(done) == {
        "a.txt": "it was changed after the agent's last write",
        "keep.txt": "it was changed after the agent's last write",
        "own.txt": "it may have been changed by you or another program, not by the agent",
    }
    assert (desk.folder / "a.txt").read_text() == "mine\n"


async def test_a_forced_restore_can_be_undone(desk: Desk) -> None:
    await desk.edit("t1", "a.txt", "A\n")
    (desk.folder / "a.txt").write_text("mine\n")
    (desk.folder / "own.txt").write_text("mine too\n")
    mine = snapshot(desk.folder)

    forced = await desk.back(wanted=FORCED)
    assert (desk.folder / "a.txt").read_text() == "a\n"
    assert not (desk.folder / "own.txt").exists()
    undo = desk.checkpoints.find(forced.undo_checkpoint_id)
    await desk.back(undo)

    assert undo is desk.checkpoints.all()[1]
    assert snapshot(desk.folder) == mine


async def test_moved_files_and_folders_go_back(desk: Desk) -> None:
    await desk.edit("t0", "d/x.txt", "x\n")
    before = snapshot(desk.folder)
    folder = desk.folder

    await desk.apply("t1", MoveFile(source=folder / "d", destination=folder / "e"))
    await desk.apply("t1", MoveFile(source=folder / "a.txt", destination=folder / "z.txt"))
    await desk.apply("t1", DeleteFile(path=folder / "keep.txt", before=None))
    done = await desk.back(desk.checkpoints.all()[1])

    assert done.skipped == []
    assert snapshot(folder) == before


async def test_a_copy_stays_if_its_source_was_changed_since_and_goes_otherwise(desk: Desk) -> None:
    folder = desk.folder
    for name in ("a.txt", "keep.txt"):
        await desk.apply("t1", CopyBytes(source=folder / name, destination=folder / f"copy of {name}"))
    (folder / "a.txt").write_text("mine\n")

    done = await desk.back()

    assert desk.restored(done) == ["copy of keep.txt"]
    reason = "it was moved or copied, and the other file has changed since"
    assert desk.skipped(done)["copy of a.txt"] == reason
    assert (folder / "copy of a.txt").read_text() == "a\n"


async def test_a_chain_of_moves_goes_back_forward_and_back_again(desk: Desk) -> None:
    a, keep, passed = (desk.folder / name for name in ("a.txt", "keep.txt", "passed.txt"))
    before = snapshot(desk.folder)
    await desk.edit("t1", "new.txt", "the agent's\n")
    await desk.apply("t2", DeleteFile(path=desk.folder / "new.txt", before=await desk.read("new.txt")))
    await desk.apply("t2", MoveFile(source=a, destination=passed))
    await desk.apply("t2", MoveFile(source=passed, destination=desk.folder / "new.txt"))
    await desk.apply("t2", MoveFile(source=keep, destination=a))
    after = snapshot(desk.folder)

    back = await desk.back(desk.checkpoints.all()[1])
    assert back.skipped == []
    assert back.restored == [a, keep, desk.folder / "new.txt"]
    forward = await desk.back(desk.checkpoints.find(back.undo_checkpoint_id))
    assert snapshot(desk.folder) == after
    assert forward.skipped == []
    await desk.back(desk.checkpoints.find(forward.undo_checkpoint_id))
    await desk.back()

    assert snapshot(desk.folder) == before


async def test_the_end_of_a_chain_of_moves_stays_if_its_beginning_cannot_go_back(desk: Desk) -> None:
    a, passed, end = (desk.folder / name for name in ("a.txt", "passed.txt", "end.txt"))
    text = a.read_text()
    await desk.apply("t", MoveFile(source=a, destination=passed))
    await desk.apply("t", MoveFile(source=passed, destination=end))
    a.write_text("the user's\n")

    done = await desk.back()

    assert desk.skipped(done) == {"a.txt": CHANGED_SINCE, "end.txt": MOVED}
    assert end.read_text() == text
    assert not passed.exists()


async def test_the_beginning_of_a_chain_of_moves_is_not_moved_again_if_its_end_cannot_be(desk: Desk) -> None:
    a, passed, end = (desk.folder / name for name in ("a.txt", "passed.txt", "end.txt"))
    await desk.apply("t", MoveFile(source=a, destination=passed))
    await desk.apply("t", MoveFile(source=passed, destination=end))
    back = await desk.back()
    end.write_text("the user's\n")

    done = await desk.back(desk.checkpoints.find(back.undo_checkpoint_id))

    assert desk.skipped(done) == {"a.txt": MOVED, "end.txt": CHANGED_SINCE}
    assert (a.read_text(), end.read_text()) == ("a\n", "the user's\n")


async def test_what_the_user_wrote_on_the_way_of_moves_is_not_removed(desk: Desk) -> None:
    a, passed, end = (desk.folder / name for name in ("a.txt", "passed.txt", "end.txt"))
    await desk.apply("t", MoveFile(source=a, destination=passed))
    passed.write_text("the user's\n")
    await desk.apply("t2", MoveFile(source=passed, destination=end))

    done = await desk.back()

    assert desk.skipped(done) == {"a.txt": MOVED, "end.txt": MOVED}
    assert end.read_text() == "the user's\n"


async def test_links_in_the_way_are_not_followed(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("not yours\n")
    await desk.edit("t0", "d/x.txt", "x\n")
    before = snapshot(desk.folder)

    await desk.shell("t1", f"rm -r d; ln -s {outside} d; rm a.txt; ln -s {outside}/x.txt a.txt")
    await desk.back(desk.checkpoints.all()[1])

    assert (outside / "x.txt").read_text() == "not yours\n"
    assert snapshot(desk.folder) == before


async def test_a_link_that_the_user_put_in_place_of_a_folder_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    await desk.edit("t0", "d/x.txt", "x\n")
    await desk.edit("t1", "d/x.txt", "X\n")
    await desk.shell("t1", "rm -r d")
    (desk.folder / "d").symlink_to(outside)

    done = await desk.back(desk.checkpoints.all()[1])

    assert list(outside.iterdir()) == []
    assert desk.skipped(done) == {
        "d": "it may have been changed by you or another program, not by the agent",
        "d/x.txt": "d is no longer a folder but a link",
    }


async def test_what_was_ignored_is_not_deleted_when_the_patterns_are_gone(desk: Desk) -> None:
    (desk.folder / ".gitignore").write_text(".env\n")
    (desk.folder / ".env").write_text("KEY=1\n")

    await desk.shell("t1", "rm .gitignore; echo n > new.txt")
    done = await desk.back(wanted=FORCED)

    assert (desk.folder / ".env").read_text() == "KEY=1\n"
    assert desk.skipped(done) == {".env": "git ignored it then, so it was not backed up"}
    assert desk.restored(done) == [".gitignore", "new.txt"]


async def test_a_text_comes_back_in_its_own_encoding_whatever_took_its_place(desk: Desk) -> None:
    (desk.folder / "a.txt").write_bytes("é\r\n".encode("latin-1"))

    await desk.edit("t1", "a.txt", "e\n")
    await desk.edit("t1", "a.txt", "ee\n")
    done = await desk.back()

    assert (desk.folder / "a.txt").read_bytes() == b"\xe9\r\n"
    assert done.skipped == []


async def test_an_ignored_file_goes_back_like_any_other_where_a_tool_changed_it(desk: Desk) -> None:
    (desk.folder / ".gitignore").write_text(".env\ncache/\n")
    (desk.folder / ".env").write_text("KEY=1\n")
    (desk.folder / "cache").mkdir()
    (desk.folder / "cache" / "x").write_bytes(b"\0\1")
    before = snapshot(desk.folder)

    await desk.edit("t1", ".env", "KEY=2\n")
    await desk.apply("t1", DeleteFile(path=desk.folder / ".env", before=None))
    await desk.apply("t1", DeleteFile(path=desk.folder / "cache" / "x", before=None))
    done = await desk.back()

    assert snapshot(desk.folder) == before
    assert desk.restored(done) == [".env", "cache/x"]


async def test_a_change_that_a_command_does_not_name_goes_back_once_it_was_named(desk: Desk) -> None:
    (desk.folder / "script").write_text("echo s > made.txt; echo s > a.txt; rm keep.txt\n")
    before = snapshot(desk.folder)

    await desk.shell("t1", "sh script")
    done = await desk.back()
    names = [path.name for path in done.uncertain]
    again = await desk.back(wanted=RewindTarget(files=True, conversation=False, uncertain=True))

    assert (desk.restored(done), names) == ([], ["a.txt", "keep.txt", "made.txt"])
    assert set(desk.skipped(done)) == {"a.txt", "keep.txt", "made.txt"}
    assert desk.restored(again) == ["a.txt", "keep.txt", "made.txt"]
    assert snapshot(desk.folder) == before


async def test_an_ignored_file_that_a_command_removed_comes_back_or_is_named(desk: Desk) -> None:
    (desk.folder / ".gitignore").write_text(".env\ncache/\n")
    (desk.folder / ".env").write_text("KEY=1\n")
    (desk.folder / "cache").mkdir()
    (desk.folder / "cache" / "x").write_text("x\n")

    await desk.shell("t1", "rm -r .env cache")
    done = await desk.back(wanted=RewindTarget(files=True, conversation=False, uncertain=True))

    assert (desk.folder / ".env").read_text() == "KEY=1\n"
    assert desk.skipped(done) == {"cache": NEVER_KEPT}


async def test_what_a_command_changed_behind_unsaved_text_is_named(desk: Desk) -> None:
    class Typed(DiskWorkspace):
        def unsaved(self) -> Sequence[Document]:
            return [document]

    path = desk.folder / "a.txt"
    document = replace(await desk.checkpoints.workspace.read(path), text="typed\n", version=1)
    typed = Desk(desk.folder, Checkpoints(Typed([desk.folder]), desk.checkpoints.snapshots), [])

    await typed.shell("t1", "echo s > a.txt; echo s > b.txt")
    done = await typed.back()

    assert typed.restored(done) == ["b.txt"]
    assert typed.skipped(done) == {
        "a.txt": "it changed on disk while a command ran, and it has unsaved changes in the editor"
    }


async def test_what_another_session_wrote_during_a_command_is_not_the_commands(desk: Desk) -> None:
    log = WriteLog()
    one, other = (
        Desk(desk.folder, Checkpoints(desk.checkpoints.workspace, desk.checkpoints.snapshots, None, log), [])
        for _ in range(2)
    )
    named = named_in(["cat a.txt b.txt"], desk.folder)

    assert await one.checkpoints.before_program("t1", "cat", named) is None
    await other.edit("u1", "a.txt", "other\n")
    await other.edit("u1", "b.txt", "other\n")
    assert (await one.checkpoints.after_program("t1", "cat")).problem is None
    left = await one.back()
    back = await other.back()

    assert one.restored(left) == []
    assert other.restored(back) == ["a.txt", "b.txt"]


async def test_what_another_session_has_written_and_its_user_still_reviews_is_not_the_commands(desk: Desk) -> None:
    log = WriteLog()
    one, other = (
        Desk(desk.folder, Checkpoints(desk.checkpoints.workspace, desk.checkpoints.snapshots, None, log), [])
        for _ in range(2)
    )
    path = desk.folder / "a.txt"
    write = WriteText(path=path, before=await desk.checkpoints.workspace.read(path), text="other\n")
    plan = EditPlan(label="", operations=(write,), result="")

    await other.checkpoints.before_change("u1", "edit")
    await other.checkpoints.about_to_apply(plan)
    assert await one.checkpoints.before_program("t1", "touch", named_in(["touch a.txt"], desk.folder)) is None
    await other.checkpoints.workspace.apply(plan)
    assert (await one.checkpoints.after_program("t1", "touch")).problem is None
    await other.checkpoints.applied(plan)
    left = await one.back()
    back = await other.back()

    assert (one.restored(left), other.restored(back)) == ([], ["a.txt"])


async def test_private_files_come_back_private(desk: Desk) -> None:
    (desk.folder / "key").write_text("secret\n")
    (desk.folder / "key").chmod(0o600)

    await desk.shell("t1", "rm key")
    await desk.back()

    assert (desk.folder / "key").stat().st_mode & 0o777 == 0o600


async def test_a_repository_that_was_made_since_is_left_and_named(desk: Desk) -> None:
    await desk.shell("t1", "git init -q lib; echo x > lib/x.txt")

    done = await desk.back(wanted=FORCED)

    assert (desk.folder / "lib" / "x.txt").exists()
    assert desk.skipped(done) == {"lib": "it is a repository that did not exist then"}


async def test_the_conversation_goes_back_to_before_the_turn(desk: Desk) -> None:
    desk.messages += [user_message("one", turn_id="t1"), user_message("two", turn_id="t2")]
    await desk.edit("t2", "a.txt", "A\n")
    desk.messages.append(user_message("three", turn_id="t3"))
    everything = list(desk.messages)

    done = await desk.back(wanted=ALL)
    assert [message.text for message in desk.messages] == ["one"]
    await desk.back(desk.checkpoints.find(done.undo_checkpoint_id), ALL)

    assert desk.messages == everything
    assert (desk.folder / "a.txt").read_text() == "A\n"


async def test_the_model_is_told_of_files_that_went_back_alone(desk: Desk) -> None:
    desk.messages.append(user_message("one", turn_id="t1"))
    await desk.edit("t1", "a.txt", "A\n")

    await desk.back()

    assert [message.text for message in desk.messages] == [
        "one",
        "[The user has taken back changes of these files, so read them again: a.txt]",
    ]


async def test_the_last_turn_is_found_with_its_first_checkpoint(desk: Desk) -> None:
    assert last_turn(desk.checkpoints, desk.messages) is None
    desk.messages.append(user_message("one", turn_id="t1"))
    await desk.edit("t1", "a.txt", "A\n")
    await desk.shell("t1", "echo x > x.txt")
    assert last_turn(desk.checkpoints, desk.messages) == (desk.checkpoints.all()[0], True)

    desk.messages.append(user_message("two", turn_id="t2"))
    found = last_turn(desk.checkpoints, desk.messages)

    assert found is not None
    assert (found[0].turn_id, found[1]) == ("t2", False)


async def test_a_diff_is_from_the_checkpoint_to_now(desk: Desk) -> None:
    (desk.folder / "bin").write_bytes(b"\0\1")
    await desk.edit("t1", "a.txt", "A\n")
    await desk.edit("t1", "new.txt", "n\n")
    (desk.folder / "bin").write_bytes(b"\0\2")

    diffs = await desk.checkpoints.diff(desk.checkpoints.all()[0])

    assert {each.path.name: each.patch.splitlines()[-2:] for each in diffs} == {
        "a.txt": ["-a", "+A"],
        "new.txt": ["@@ -0,0 +1 @@", "+n"],
        "bin": ["Binary file bin differs"],
    }


async def test_without_git_tools_can_be_taken_back_and_commands_are_warned_of_once(tmp_path: Path) -> None:
    checkpoints = Checkpoints(DiskWorkspace([tmp_path]), snapshots_beside(tmp_path / "x", find=lambda: None))
    desk = Desk(tmp_path, checkpoints, [])
    named = NamedPaths(folder=tmp_path)

    await desk.edit("t1", "a.txt", "A\n")
    said = [await checkpoints.before_program("t1", "make", named) for _ in range(2)]
    assert (await checkpoints.after_program("t1", "make")).problem is None
    done = await desk.back()

    assert said[0] is not None
    assert "git is not installed" in said[0]
    assert said[1] is None
    assert desk.restored(done) == ["a.txt"]
    assert snapshot(tmp_path) == {}


NAMES = ["a", "b", "d", "d/x", "d/y", "e/f/z", ".hidden", "ü/ß"]
CONTENTS = st.sampled_from([b"", b"1\n", b"2\n", b"\r\n\xff\0", b"$Id$\r\n"])


@dataclass(frozen=True)
class Step:
    """One change of a tree; what is in its way goes away."""

    kind: str
    name: str
    data: bytes
    mode: int

    def do(self, folder: Path) -> None:
        """Do it."""
        path = folder / self.name
        self._clear(path, folder)
        if self.kind == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            # git tells no change of these bits within one second, unless something else differs
            path.write_bytes(self.data + (b"private" if self.mode == 0o600 else b""))
            path.chmod(self.mode)
        elif self.kind == "link":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(os.fsdecode(self.data.rstrip(b"\0\n\r\xff") or b"a"))

    def _clear(self, path: Path, folder: Path) -> None:
        for above in reversed(path.relative_to(folder).parents):
            if (folder / above).is_symlink() or (folder / above).is_file():
                (folder / above).unlink()
        if path.is_dir() and not path.is_symlink():
            for name in sorted(path.rglob("*"), reverse=True):
                name.unlink() if name.is_symlink() or name.is_file() else name.rmdir()
            path.rmdir()
        path.unlink(missing_ok=True)


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["write", "write", "link", "delete"]),
        st.sampled_from(NAMES),
        CONTENTS,
        st.sampled_from([0o644, 0o755, 0o600]),
    ),
    max_size=8,
)


def files_of(folder: Path) -> dict[str, tuple[str, bytes]]:
    """All but folders: git knows none that is empty."""
    return {name: facts for name, facts in snapshot(folder).items() if not facts[0].startswith("d")}


@given(first=STEPS, then=STEPS, with_git=st.booleans())
def test_any_tree_comes_back_exactly_and_the_undo_too(
    first: Sequence[Step], then: Sequence[Step], with_git: bool
) -> None:
    async def story(folder: Path) -> None:
        for step in first:
            step.do(folder)
        if with_git:
            commit_all(folder)
        desk = desk_at(folder)
        before = files_of(folder)
        await desk.shell("t1", "true")
        for step in then:
            step.do(folder)
        after = files_of(folder)

        done = await desk.back(wanted=FORCED)
        assert (files_of(folder), done.skipped) == (before, [])
        await desk.back(desk.checkpoints.find(done.undo_checkpoint_id))
        assert files_of(folder) == after

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "project"
        folder.mkdir()
        asyncio.run(story(folder))
