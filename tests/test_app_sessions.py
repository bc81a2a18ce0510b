"""Where sessions are kept, with all that belongs to them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pygent_ls.agent.messages import now
from pygent_ls.app_sessions import CHECKPOINTS, KeptSessions
from pygent_ls.sessions.checkpoint_records import CheckpointRecords, RecordedCheckpoint
from pygent_ls.sessions.journal.records import Begun
from pygent_ls.workspace.kept_outputs import STALE_S
from pygent_ls.workspace.snapshots import Snapshot

ROOM = 1_000


async def kept_session(state: Path, session_id: str) -> KeptSessions:
    """A session with a result that was cut and a checkpoint, both of long ago."""
    kept = KeptSessions(state)
    kept.journals.create(Begun(id=session_id, created=now(), working_directory=state)).close()
    await kept.outputs.of(session_id).write("call", b"all of it", ROOM)
    (folder,) = (state / "outputs").iterdir()
    os.utime(folder, (1.0, 1.0))
    records(state, session_id).add(
        [RecordedCheckpoint(id="c", turn_id="t", label="", created_at=datetime.now(UTC), snapshot=Snapshot(states={}))]
    )
    return kept


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def records(state: Path, session_id: str) -> CheckpointRecords:
    return CheckpointRecords(state / CHECKPOINTS, session_id, days=7)


async def test_a_result_of_long_ago_is_there_as_long_as_its_session_is(tmp_path: Path) -> None:
    await kept_session(tmp_path, "one")

    kept = KeptSessions(tmp_path)
    kept.outputs.tidy()

    assert await kept.outputs.of("one").read("call") == b"all of it"


async def test_what_belongs_to_a_deleted_session_comes_back_with_it(tmp_path: Path) -> None:
    kept = await kept_session(tmp_path, "one")

    kept.journals.throw_away("one")
    assert not records(tmp_path, "one").exists
    kept.outputs.tidy()
    kept.journals.trash.restore("one")

    assert [type(each) for each in records(tmp_path, "one").load()] == [RecordedCheckpoint]
    assert await kept.outputs.of("one").read("call") == b"all of it"


async def test_what_belongs_to_a_session_goes_with_it_at_the_end_of_its_days(tmp_path: Path) -> None:
    kept = await kept_session(tmp_path, "one")
    kept.journals.throw_away("one")
    (trashed,) = kept.journals.trash.listed()
    os.utime(trashed.path, (STALE_S, STALE_S))

    kept.journals.trash.empty()

    assert files_below(tmp_path) == []


@pytest.mark.parametrize("session_id", ["never kept", "../x"])
def test_what_there_is_not_is_put_away_without_a_word(tmp_path: Path, session_id: str) -> None:
    kept = KeptSessions(tmp_path)
    kept.put_away(session_id)
    kept.bring_back(session_id)
    kept.forget(session_id)
    assert list(tmp_path.iterdir()) == []
