"""Deleted sessions lie in the trash, and can be brought back."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pygent_ls.agent.messages import now
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun
from pygent_ls.sessions.journal.trash import DAY_S, TRASH_DAYS, Trash

NOW_S = 2_000_000_000.0


class Noted:
    """What is told of sessions' belongings."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def put_away(self, session_id: str) -> None:
        self.told.append(("put away", session_id))

    def bring_back(self, session_id: str) -> None:
        self.told.append(("brought back", session_id))

    def forget(self, session_id: str) -> None:
        self.told.append(("forgotten", session_id))


class Bin:
    """A folder of journals, and its trash at a time that stands still."""

    def __init__(self, root: Path) -> None:
        self.root = root / "sessions"
        self.root.mkdir(mode=0o700)
        self.now = NOW_S
        self.belongings = Noted()
        self.trash = Trash(self.root, self.belongings, clock=lambda: self.now)

    def throw(self, session_id: str, text: str = "journal") -> Path:
        path = self.root / f"{session_id}.jsonl"
        path.write_text(text)
        self.trash.add(path)
        return path

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.trash.listed()]


@pytest.fixture
def waste(tmp_path: Path) -> Bin:
    return Bin(tmp_path)


def test_what_was_thrown_away_comes_back_as_it_was(waste: Bin) -> None:
    path = waste.throw("a", "first")
    waste.now += 1
    waste.throw("b")
    assert (path.exists(), waste.ids) == (False, ["b", "a"])
    assert stat.S_IMODE(waste.trash.root.stat().st_mode) == 0o700
    assert waste.trash.listed()[1].deleted_at == datetime.fromtimestamp(NOW_S, UTC)

    waste.trash.restore("a")

    assert (path.read_text(), waste.ids) == ("first", ["b"])
    assert waste.belongings.told == [("put away", "a"), ("put away", "b"), ("brought back", "a")]


def test_what_lies_in_the_trash_under_the_same_name_is_not_lost_and_the_last_one_comes_back(waste: Bin) -> None:
    for text in ("first", "second", "third"):
        path = waste.throw("a", text)
        waste.now += 1
    assert waste.ids == ["a", "a", "a"]

    waste.trash.restore("a")

    assert path.read_text() == "third"
    assert sorted(each.path.read_text() for each in waste.trash.listed()) == ["first", "second"]


def test_nothing_is_restored_over_a_session_that_is_there(waste: Bin) -> None:
    path = waste.throw("a", "deleted")
    path.write_text("live")

    with pytest.raises(SessionError, match="A session 'a' already exists") as refused:
        waste.trash.restore("a")

    assert refused.value.kind == "session_exists"
    assert (path.read_text(), waste.ids) == ("live", ["a"])


@pytest.mark.parametrize("name", ["never", "../a", ".emptied", ""])
def test_what_is_not_in_the_trash_cannot_be_restored(waste: Bin, name: str) -> None:
    waste.throw("a")
    waste.trash.empty_daily()

    with pytest.raises(SessionError, match=r"There is no session .* in the trash") as refused:
        waste.trash.restore(name)

    assert refused.value.kind == "unknown_session"
    assert waste.ids == ["a"]


def test_after_thirty_days_it_is_gone_with_all_that_belongs_to_it(waste: Bin) -> None:
    waste.throw("old")
    waste.now += DAY_S
    waste.throw("newer")
    waste.now += (TRASH_DAYS - 1) * DAY_S
    waste.trash.empty()
    assert waste.ids == ["newer", "old"]

    waste.now += 1
    waste.trash.empty()

    assert waste.ids == ["newer"]
    assert waste.belongings.told[2:] == [("forgotten", "old")]


def test_what_belongs_to_a_session_stays_as_long_as_one_of_its_id_does(waste: Bin) -> None:
    waste.throw("a")
    waste.throw("b").write_text("a session again")
    waste.now += DAY_S
    waste.throw("a")
    waste.now += (TRASH_DAYS - 1) * DAY_S + 1

    waste.trash.empty()

    assert waste.ids == ["a"]
    assert ("forgotten", "a") not in waste.belongings.told
    assert ("forgotten", "b") not in waste.belongings.told


def test_it_is_looked_through_once_a_day_and_without_any_delete(waste: Bin) -> None:
    waste.throw("old")
    assert (waste.trash.empty_daily(), waste.trash.empty_daily()) == (True, False)
    waste.now += (TRASH_DAYS + 1) * DAY_S
    assert (waste.trash.empty_daily(), waste.ids) == (True, [])
    waste.now += DAY_S / 2
    assert not waste.trash.empty_daily()
    waste.now -= 9 * DAY_S  # the clock was put back
    assert waste.trash.empty_daily()


def test_nothing_is_made_where_no_session_was_ever_kept(tmp_path: Path) -> None:
    trash = JournalFolder(tmp_path / "sessions").trash
    assert (trash.listed(), trash.empty_daily()) == ([], True)
    assert list(tmp_path.iterdir()) == []


def test_a_deleted_session_is_found_in_the_trash_alone(tmp_path: Path) -> None:
    journals = JournalFolder(tmp_path / "sessions")
    for name in ("one", "two"):
        journals.create(Begun(id=name, created=now(), working_directory=tmp_path)).close()
    (journals.root / "no session.jsonl").touch()
    assert journals.ids() == {"one", "two"}

    journals.throw_away("one")

    assert journals.ids() == {"two"}
    assert [each.id for each in journals.trash.listed()] == ["one"]
    assert not journals.exists("one")
    journals.trash.restore("one")
    journals.take("one").close()


def test_where_the_file_system_has_no_links_it_is_moved_all_the_same(waste: Bin) -> None:
    waste.throw("a", "text")
    (waste.trash.root / "a.jsonl").unlink()
    folder = waste.root / "b.jsonl"
    folder.mkdir()  # of which there can be no link
    waste.trash.add(folder)

    assert waste.ids == ["b"]
    assert [each.name for each in waste.root.iterdir()] == ["trash"]
