"""Checkpoints outlive the daemon: what is recorded beside the snapshots, and what can be done with it later."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.ports.workspace import MISSING, EditPlan, MoveFile, WriteText
from pygent_ls.errors import SessionError
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.checkpoints.past_sessions import PastSession, PastSessions
from pygent_ls.sessions.checkpoints.records import CheckpointRecords, RecordedCheckpoint, Went, session_of
from pygent_ls.sessions.checkpoints.rewind import RewindTarget
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.workspace.repositories import commit_all, snapshots_beside
from tests.workspace.trees import snapshot

FILES = RewindTarget(files=True, conversation=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    (made / "a.txt").write_text("a\n")
    (made / "key").write_text("k\n")
    (made / "key").chmod(0o600)
    (made / os.fsdecode(b"\xff\n")).write_text("odd\n")
    commit_all(made)
    return made


def past_of(folder: Path) -> PastSessions:
    """As a daemon that has just started sees it."""
    return PastSessions(folder.with_name("records"), DiskWorkspace([folder]), snapshots_beside(folder))


def checkpoints_of(folder: Path, session_id: str = "s1") -> Checkpoints:
    return Checkpoints(DiskWorkspace([folder]), snapshots_beside(folder), past_of(folder).records(session_id))


async def edit(checkpoints: Checkpoints, turn: str, path: Path, text: str) -> None:
    assert await checkpoints.before_change(turn, f"edit {path.name}") is None
    is_new = await checkpoints.workspace.stamp(path) == MISSING
    before = None if is_new else await checkpoints.workspace.read(path)
    plan = EditPlan(label="", operations=(WriteText(path=path, before=before, text=text),), result="")
    await checkpoints.about_to_apply(plan)
    await checkpoints.workspace.apply(plan)
    await checkpoints.applied(plan)


async def recalled(folder: Path, session_id: str = "s1") -> PastSession:
    found = await past_of(folder).get(session_id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "line",
    [
        '{"version": 1, "type": "went", "path": "/a", "number": 1e999}',
        '{"version": 1, "type": "went", "path": "/a", "number": NaN}',
        '{"version": 1, "type": "checkpoint", "id": "a", "turn": "t", "label": "l", "created": "0", "states": []}',
        '{"version": {}, "type": "went"}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "",
        "7",
    ],
    ids=lambda line: line[:60],
)
def test_a_damaged_line_is_left_out(tmp_path: Path, line: str) -> None:
    records = CheckpointRecords(tmp_path, "s1", days=30)
    records.add([Went(path=Path("/a"), number=1)])
    (file,) = tmp_path.iterdir()
    with file.open("a") as stream:
        stream.write(f"{line}\n")
    records.add([Went(path=Path("/b"), number=2)])

    assert list(records.load()) == [Went(path=Path("/a"), number=1), Went(path=Path("/b"), number=2)]


async def test_files_go_back_after_a_restart_and_the_users_own_are_spared(folder: Path) -> None:
    before = snapshot(folder)
    live = checkpoints_of(folder)
    await edit(live, "t1", folder / "a.txt", "A\n")
    await edit(live, "t1", folder / "new.txt", "n\n")
    await edit(live, "t2", folder / "key", "K\n")
    (folder / "own.txt").write_text("mine\n")

    session = await recalled(folder)
    first = session.checkpoints[0]
    diffs = await session.diff(first)
    done = await session.restore(first, FILES)

    assert [(each.id, each.turn_id, each.label, each.created_at, each.changed) for each in session.checkpoints[:2]] == [
        (each.id, each.turn_id, each.label, each.created_at, each.changed) for each in live.all()
    ]
    assert {each.path.name for each in diffs} == {"a.txt", "new.txt", "key", "own.txt"}
    assert [path.name for path in done.restored] == ["a.txt", "key", "new.txt"]
    assert [each.path.name for each in done.skipped] == ["own.txt"]
    (folder / "own.txt").unlink()
    assert snapshot(folder) == before


async def test_what_a_session_keeps_once_it_goes_on_is_found_by_who_looked_before(folder: Path) -> None:
    """A daemon that shows a session's checkpoints, has the session in memory for a while, and shows them again."""
    live = checkpoints_of(folder)
    await edit(live, "t1", folder / "a.txt", "A\n")
    past = past_of(folder)
    assert await past.get("s1")

    await edit(live, "t2", folder / "key", "K\n")

    found = await past.get("s1")
    assert found is not None
    assert [each.turn_id for each in found.checkpoints] == ["t1", "t2"]
    assert await past.with_checkpoint(live.all()[1].id) == (found, found.checkpoints[1])


async def test_what_was_deleted_is_not_found_by_who_looked_before_until_it_is_brought_back(folder: Path) -> None:
    live = checkpoints_of(folder)
    await edit(live, "t1", folder / "a.txt", "A\n")
    past = past_of(folder)
    assert await past.get("s1")
    checkpoint_id = live.all()[0].id

    past.records("s1").put_away()
    deleted = await past.get("s1"), await past.with_checkpoint(checkpoint_id)
    past.records("s1").bring_back()

    assert deleted == (None, None)
    assert await past.with_checkpoint(checkpoint_id) is not None


async def test_a_restore_after_a_restart_can_be_undone_after_another(folder: Path) -> None:
    await edit(checkpoints_of(folder), "t1", folder / "a.txt", "A\n")
    second = await recalled(folder)
    done = await second.restore(second.checkpoints[0], FILES)

    found = await past_of(folder).with_checkpoint(done.undo_checkpoint_id)
    assert found is not None
    session, undo = found
    await session.restore(undo, FILES)

    assert (folder / "a.txt").read_text() == "A\n"


async def test_the_conversation_is_gone_with_the_session_and_that_is_said(folder: Path) -> None:
    await edit(checkpoints_of(folder), "t1", folder / "a.txt", "A\n")
    session = await recalled(folder)

    with pytest.raises(SessionError, match="Restore only the files") as caught:
        await session.restore(session.checkpoints[0], RewindTarget(files=True, conversation=True))

    assert caught.value.kind == "session_not_loaded"
    assert (folder / "a.txt").read_text() == "A\n"


async def test_a_checkpoint_of_a_folder_that_is_not_open_is_refused(folder: Path, tmp_path: Path) -> None:
    await edit(checkpoints_of(folder), "t1", folder / "a.txt", "A\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    past = PastSessions(folder.with_name("records"), DiskWorkspace([elsewhere]), snapshots_beside(folder))
    session = await past.get("s1")
    assert session is not None

    for work in (session.diff(session.checkpoints[0]), session.restore(session.checkpoints[0], FILES)):
        with pytest.raises(SessionError, match="Open that folder first") as caught:
            await work
        assert caught.value.kind == "other_workspace"
    assert (folder / "a.txt").read_text() == "A\n"


async def test_what_was_never_recorded_is_not_found(folder: Path) -> None:
    await edit(checkpoints_of(folder), "t1", folder / "a.txt", "A\n")

    assert await past_of(folder).get("s2") is None
    assert await past_of(folder).get("../records/s1") is None
    assert await past_of(folder).with_checkpoint("checkpoint-0") is None
    assert await past_of(folder).with_checkpoint('"') is None


def record(name: str) -> Went:
    return Went(path=Path("/w") / name, number=1)


def test_a_line_that_a_kill_cut_short_costs_itself_alone(tmp_path: Path) -> None:
    records = CheckpointRecords(tmp_path, "s", days=30)
    records.add([record("a"), record("b")])
    whole = (tmp_path / "s.checkpoints").read_bytes()
    for n_bytes in range(len(whole)):
        (tmp_path / "s.checkpoints").write_bytes(whole[:n_bytes])
        records.add([record("c")])

        n_lines = whole[:n_bytes].count(b"\n") + (n_bytes > 0 and whole[n_bytes : n_bytes + 1] == b"\n")
        assert list(records.load()) == [*[record("a"), record("b")][:n_lines], record("c")], n_bytes


def test_lines_that_are_none_or_of_a_later_form_are_left_out(tmp_path: Path) -> None:
    records = CheckpointRecords(tmp_path, "s", days=30)
    records.add([record("a")])
    with (tmp_path / "s.checkpoints").open("a") as file:
        file.write('{"version": 99}\n[]\nnull\n"x"\n{"version": 1, "type": "checkpoint"}\n\xff\n{"version": 1}\n\n')
    records.add([record("b")])

    assert list(records.load()) == [record("a"), record("b")]


def test_records_are_for_their_owner_alone_and_go_when_they_are_old(tmp_path: Path) -> None:
    root = tmp_path / "records"
    CheckpointRecords(root, "old", days=30).add([record("a")])
    assert (root.stat().st_mode | (root / "old.checkpoints").stat().st_mode) & 0o077 == 0
    a_month_ago = time.time() - 31 * 86_400
    os.utime(root / "old.checkpoints", (a_month_ago, a_month_ago))

    CheckpointRecords(root, "new", days=30).add([record("a")])

    assert [each.name for each in root.iterdir()] == ["new.checkpoints"]


async def test_where_nothing_can_be_recorded_the_turn_is_told_once_and_goes_on(folder: Path) -> None:
    folder.with_name("records").write_text("in the way\n")
    checkpoints = checkpoints_of(folder)

    named = NamedPaths(folder=folder)
    said = [await checkpoints.before_change("t1", "edit"), await checkpoints.before_program("t1", "make", named)]

    assert said[0] == "The checkpoints of this turn will be lost when the daemon exits: File exists."
    assert said[1] is None
    assert len(checkpoints.all()) == 1


KILLED = """
    import asyncio, os, signal
    from pathlib import Path
    from pygent_ls.agent.edits.named_paths import NamedPaths
    from pygent_ls.sessions.checkpoints.records import CheckpointRecords
    from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
    from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
    from tests.workspace.repositories import snapshots_beside

    class Deadly(CheckpointRecords):
        def add(self, records):
            if self.exists:
                os.kill(os.getpid(), signal.SIGKILL)
            super().add(records)

    async def main(folder):
        records = Deadly(folder.with_name("records"), "s1", days=30)
        checkpoints = Checkpoints(DiskWorkspace([folder]), snapshots_beside(folder), records)
        await checkpoints.before_change("t1", "edit")
        (folder / "a.txt").write_text("A\\n")
        await checkpoints.before_program("t2", "make", NamedPaths(folder=folder))

    asyncio.run(main(Path({folder!r})))
"""


async def test_a_kill_between_a_snapshot_and_its_record_costs_that_checkpoint_alone(folder: Path) -> None:
    script = textwrap.dedent(KILLED).replace("{folder!r}", repr(str(folder)))
    command = [sys.executable, "-c", script]
    done = await asyncio.to_thread(subprocess.run, command, timeout=30, check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == -signal.SIGKILL

    session = await recalled(folder)
    assert [each.turn_id for each in session.checkpoints] == ["t1"]
    await session.restore(session.checkpoints[0], RewindTarget(files=True, conversation=False, force=True))
    await edit(checkpoints_of(folder, "s2"), "t3", folder / "a.txt", "AA\n")

    assert len((await recalled(folder, "s2")).checkpoints) == 1


async def test_a_checkpoint_is_found_by_its_id_whatever_else_is_recorded(folder: Path) -> None:
    live = checkpoints_of(folder)
    await edit(live, "t1", folder / "a.txt", "A\n")
    await edit(checkpoints_of(folder, "s2"), "t1", folder / "a.txt", "B\n")

    (recorded,) = [each for each in past_of(folder).records("s1").load() if isinstance(each, RecordedCheckpoint)]
    assert recorded.id == live.all()[0].id
    assert session_of(folder.with_name("records"), recorded.id) == "s1"


@pytest.mark.parametrize("is_made", [True, False], ids=["made", "not made"])
async def test_an_edit_in_which_the_daemon_died_is_the_agents_whether_it_was_made_or_not(
    folder: Path, *, is_made: bool
) -> None:
    live = checkpoints_of(folder)
    await edit(live, "t1", folder / "a.txt", "A\n")
    plan = EditPlan(
        label="",
        operations=(
            WriteText(path=folder / "a.txt", before=await live.workspace.read(folder / "a.txt"), text="AA\n"),
            WriteText(path=folder / "new.txt", before=None, text="n\n"),
            MoveFile(source=folder / "key", destination=folder / "moved"),
        ),
        result="",
    )
    await live.about_to_apply(plan)
    if is_made:
        await live.workspace.apply(plan)

    session = await recalled(folder)
    done = await session.restore(session.checkpoints[0], FILES)

    assert done.skipped == []
    assert {path.name for path in done.restored} == ({"a.txt", "key", "moved", "new.txt"} if is_made else {"a.txt"})
    assert (folder / "a.txt").read_text() == "a\n"


async def test_what_a_command_changed_in_which_the_daemon_died_is_not_known(folder: Path) -> None:
    async def unknown_turns() -> set[str]:
        found = checkpoints_of(folder)
        await asyncio.to_thread(found.recall)
        return found.not_kept

    one = checkpoints_of(folder)
    assert await one.before_program("t1", "make", NamedPaths(folder=folder)) is None
    assert await unknown_turns() == {"t1"}

    assert (await one.after_program("t1", "make")).problem is None
    assert await unknown_turns() == set()
