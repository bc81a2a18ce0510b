"""Where sessions are kept, with all that belongs to them."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.messages import now
from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.app.storage import CHECKPOINTS, SessionStorage
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.sessions.checkpoints.records import CheckpointRecords, RecordedCheckpoint
from pygent_ls.sessions.index.session_list import INDEX
from pygent_ls.sessions.journal.records import Begun
from pygent_ls.sessions.journal.trash import EMPTIED, TRASH
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.files.output_store import STALE_S
from pygent_ls.workspace.snapshots.snapshots import Snapshot
from tests.fakes import FakeApprover, bounded
from tests.sessions.subscribers import Reader

WAIT_S = 20.0

ROOM = 1_000


async def kept_session(state: Path, session_id: str) -> SessionStorage:
    """A session with a result that was cut and a checkpoint, both of long ago."""
    kept = SessionStorage(state)
    kept.journals.create(Begun(id=session_id, created=now(), working_directory=state)).close()
    await kept.outputs.of(session_id).write("call", b"all of it", ROOM)
    for folder in (state / "outputs").iterdir():
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

    kept = SessionStorage(tmp_path)
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


async def test_what_belonged_to_a_journal_that_somebody_removed_from_the_trash_goes_too(tmp_path: Path) -> None:
    kept = await kept_session(tmp_path, "one")
    await kept_session(tmp_path, "two")
    for each in ("one", "two"):
        kept.journals.throw_away(each)
    (kept.journals.trash.root / "one.jsonl").unlink()

    SessionStorage(tmp_path).start_tidying().join(WAIT_S)

    assert [each.stem for each in (tmp_path / CHECKPOINTS).iterdir()] == ["two"]
    kept.journals.trash.restore("two")
    assert [type(each) for each in records(tmp_path, "two").load()] == [RecordedCheckpoint]


def test_where_the_index_lies_is_known_to_all() -> None:
    kept = SessionStorage(Path("/state"))
    assert kept.index_file == kept.journals.root / INDEX


async def test_once_a_day_a_daemon_removes_what_was_deleted_long_ago_without_any_delete(tmp_path: Path) -> None:
    kept = await kept_session(tmp_path, "one")
    kept.start_tidying().join(WAIT_S)
    kept.journals.throw_away("one")
    (trashed,) = kept.journals.trash.listed()
    os.utime(trashed.path, (1.0, 1.0))

    SessionStorage(tmp_path).start_tidying().join(WAIT_S)
    assert trashed.path.exists()
    os.utime(kept.journals.trash.root / EMPTIED, (1.0, 1.0))
    SessionStorage(tmp_path).start_tidying().join(WAIT_S)

    assert [each.name for each in files_below(tmp_path)] == [EMPTIED]


# The whole of it


class House:
    """A folder and a state folder, in which one daemon comes after another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "work"
        self.folder.mkdir()
        (self.folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 401)))
        (root / "config" / "pygent-ls").mkdir(parents=True)

    def daemon(self, *answers: Mapping[str, Any], **settings: object) -> Agent:
        """One whose model gives these answers."""
        script = self.root / "script.jsonl"
        script.write_text("".join(json.dumps(each) + "\n" for each in answers))
        lines = {"model": f"scripted:{script}", "max_tool_result_chars": 1_000, "mode": "trust", **settings}
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
        (self.root / "config" / "pygent-ls" / "config.toml").write_text(text)
        return read_settings({}, [self.folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([self.folder]),
                approver=FakeApprover(otherwise="allow_once"),
                questioner=NobodyToAsk("nobody"),
                ask_trust=self._ask,
                on_session_change=lambda _session, _what: None,
            )
        )

    async def _ask(self, _: TrustQuestion) -> bool | None:
        return None

    @property
    def state(self) -> Path:
        return self.root / "state" / "pygent-ls"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return House(tmp_path.resolve())


async def turn(session: Session) -> Sequence[ToolResult]:
    """What its tools returned in a turn."""
    reader = Reader()
    running = session.start_turn(TurnRequest(parts=("go",)), reader)
    assert running.task is not None
    assert (await bounded(running.task)).stop_reason == "end_turn"
    return [each.event for each in reader.events if isinstance(each.event, ToolResult)]


def calls(name: str, **given: object) -> Mapping[str, Any]:
    return {"tool_calls": [{"name": name, "input": given}]}


LISTING = calls("shell", command="cat long.txt")


async def test_a_result_is_read_a_month_later_by_another_daemon_and_if_it_went_that_is_said(house: House) -> None:
    first = house.daemon(LISTING, {"text": "Long."})
    session = first.sessions.new(NewSession())
    (cut,) = await turn(session)
    await bounded(first.close())
    assert cut.truncated
    for each in house.state.joinpath("outputs").rglob("*"):
        os.utime(each, (1.0, 1.0))
    SessionStorage(house.state).outputs.tidy()
    path = f"output:{cut.tool_id}"

    reading = [calls("read_file", path=path, start_line=300, end_line=301), {"text": "Read."}]
    second = house.daemon(*reading, *reading)
    again = await bounded(second.sessions.hold(session.id))
    (read,) = await turn(again)
    await again.services.memory.outputs.clear()
    (gone,) = await turn(again)
    await bounded(second.close())

    assert read.content == f"   300\tline 300\n   301\tline 301\n[Lines 300–301 of 401 in {path}.]"
    assert gone.is_error
    assert f"{path} does not exist or is no longer stored" in gone.content
    assert "Make the call again." in gone.content


async def test_what_is_not_kept_leaves_no_result_behind(house: House) -> None:
    daemon = house.daemon(LISTING, {"text": "Long."}, persist_sessions=False)
    (cut,) = await turn(daemon.sessions.new(NewSession()))
    assert cut.truncated
    assert not house.state.joinpath("outputs").exists()
    assert not house.state.joinpath("sessions").exists()
    await bounded(daemon.close())


async def test_a_daemon_looks_through_the_trash_when_it_starts(house: House) -> None:
    daemon = house.daemon()
    daemon.sessions.new(NewSession())
    daemon.start_loading()
    for each in threading.enumerate():
        if each.name == "tidy-sessions":
            await asyncio.to_thread(each.join, WAIT_S)
    await bounded(daemon.close())
    assert house.state.joinpath("sessions", TRASH, EMPTIED).exists()


@pytest.mark.parametrize("session_id", ["never kept", "../x"])
def test_what_there_is_not_is_put_away_without_a_word(tmp_path: Path, session_id: str) -> None:
    kept = SessionStorage(tmp_path)
    kept.put_away(session_id)
    kept.bring_back(session_id)
    kept.forget(session_id)
    assert list(tmp_path.iterdir()) == []
