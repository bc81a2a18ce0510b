"""Results that were cut, on the disk."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

from pygent_ls.agent.ports.output_store import Outputs
from pygent_ls.workspace.files.output_store import STALE_S, KeptOutputs

NOW_S = 2_000_000_000.0

ROOM = 1_000
"""Bytes of one session."""


def kept_in(root: Path, *sessions: str, max_all_bytes: int = 1_000) -> KeptOutputs:
    return KeptOutputs(root / "outputs", session_ids=lambda: sessions, max_all_bytes=max_all_bytes, clock=lambda: NOW_S)


async def written_long_ago(root: Path, session_id: str, *, age_s: float, n_bytes: int = 10) -> None:
    """A result that another daemon kept."""
    kept = KeptOutputs(root / "outputs")
    await kept.of(session_id).write("a", b"x" * n_bytes, ROOM)
    (folder,) = (root / "outputs").iterdir()
    os.utime(folder, (NOW_S - age_s, NOW_S - age_s))


def files_below(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def left_behind(root: Path, name: str, *, age_s: float, n_bytes: int = 10) -> Path:
    """A session's folder of another daemon."""
    folder = root / "outputs" / name
    folder.mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"x" * n_bytes)
    os.utime(folder, (NOW_S - age_s, NOW_S - age_s))
    return folder


async def test_a_result_is_read_back_as_it_was_and_by_its_session_alone(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    content = "é\n\ud83d".encode("utf-8", "surrogatepass")
    assert await kept.of("one").write("../../x", content, ROOM) == ""
    assert await kept.of("one").read("../../x") == content
    assert await kept.of("two").read("../../x") is None
    assert [path.parent.parent for path in files_below(tmp_path)] == [tmp_path / "outputs"]


async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    await kept_in(tmp_path).of("one").write("a", b"secret", ROOM)
    (file,) = files_below(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_a_second_result_of_one_id_takes_the_place_of_the_first(tmp_path: Path) -> None:
    session = kept_in(tmp_path).of("one")
    await session.write("a", b"1", ROOM)
    await session.write("a", b"2", ROOM)
    assert await session.read("a") == b"2"
    assert len(files_below(tmp_path)) == 1


async def test_all_of_a_session_can_be_forgotten(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    session = kept.of("one")
    await session.write("a", b"1", ROOM)
    await session.write("b", b"2", ROOM)
    assert [await session.has(each) for each in "abc"] == [True, True, False]

    await session.clear()

    assert (await session.read("b"), await session.has("b")) == (None, False)
    assert list((tmp_path / "outputs").iterdir()) == []
    assert await session.write("c", b"3", ROOM) == ""
    kept.forget_session("one")
    assert await session.read("c") is None


async def test_where_there_is_no_room_the_oldest_of_the_session_go(tmp_path: Path) -> None:
    before = kept_in(tmp_path).of("one")
    for each in "abc":
        await before.write(each, b"1234", 12)
    for n, each in enumerate("abc"):
        (file,) = [
            path for path in files_below(tmp_path) if path.name.startswith(sha256(each.encode()).hexdigest()[:8])
        ]
        os.utime(file, (n + 1, n + 1))
    session = kept_in(tmp_path).of("one")

    await session.write("b", b"12345678", 12)

    assert [await session.read(each) for each in "abc"] == [None, b"12345678", b"1234"]


async def test_what_a_daemon_left_behind_long_ago_is_removed(tmp_path: Path) -> None:
    stale = left_behind(tmp_path, "stale", age_s=STALE_S + 60)
    recent = left_behind(tmp_path, "recent", age_s=STALE_S - 60)
    await kept_in(tmp_path).of("one").write("a", b"1", ROOM)
    assert (stale.exists(), recent.exists()) == (False, True)


async def test_what_belongs_to_a_session_that_is_kept_stays_however_old_it_is(tmp_path: Path) -> None:
    await written_long_ago(tmp_path, "week old", age_s=STALE_S + 60)

    kept = kept_in(tmp_path, "week old")
    await kept.of("one").write("a", b"1", ROOM)

    assert await kept.of("week old").read("a") == b"x" * 10
    kept_in(tmp_path).tidy()
    assert await kept.of("week old").read("a") is None


async def test_of_too_much_what_belongs_to_no_session_goes_first(tmp_path: Path) -> None:
    await written_long_ago(tmp_path, "kept", age_s=2_000, n_bytes=600)
    nobodys = left_behind(tmp_path, "nobody's", age_s=1_000, n_bytes=600)
    kept = kept_in(tmp_path, "kept")

    await kept.of("one").write("a", b"1", ROOM)

    assert not nobodys.exists()
    assert await kept.of("kept").has("a")


async def test_of_too_much_the_oldest_goes_and_never_what_is_ours(tmp_path: Path) -> None:
    older = left_behind(tmp_path, "older", age_s=2_000, n_bytes=600)
    newer = left_behind(tmp_path, "newer", age_s=1_000, n_bytes=600)
    session = kept_in(tmp_path).of("one")
    await session.write("a", b"1", ROOM)
    assert (older.exists(), newer.exists()) == (False, True)
    assert await session.read("a") == b"1"


async def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "link").symlink_to(precious)
    os.utime(precious, (1.0, 1.0))
    await kept_in(tmp_path).of("one").write("a", b"1", ROOM)
    assert (precious / "file").exists()


async def test_where_nothing_can_be_written_the_reason_is_given(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("a file is in the way")
    outputs = Outputs(kept_in(tmp_path).of("one"))
    assert "could not be stored (" in await outputs.keep("a", "shell", "x")
