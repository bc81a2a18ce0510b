"""Tokens of a day: shared by all daemons, and counted without a file, too."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from pygent_ls.app.daily_usage import DailyUsage


def reserve_many(path: Path) -> int:
    usage = DailyUsage(path)
    return sum(usage.reserve(10, 1_000) for _ in range(60))


def test_daemons_that_reserve_at_once_do_not_pass_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "completion.json"
    with ProcessPoolExecutor(4) as pool:
        reserved = sum(pool.map(reserve_many, [path] * 4))

    assert reserved == 100
    assert json.loads(path.read_text())["tokens"] == 1_000


def test_what_was_reserved_too_much_is_given_back(tmp_path: Path) -> None:
    usage = DailyUsage(tmp_path / "completion.json")
    assert usage.reserve(100, 100)
    assert not usage.reserve(1, 100)
    usage.correct(-60)
    assert usage.reserve(1, 100)


def test_a_new_day_begins_with_nothing_used(tmp_path: Path) -> None:
    days = [date(2026, 1, 1)]
    usage = DailyUsage(tmp_path / "completion.json", today=lambda: days[-1])
    assert usage.reserve(100, 100)
    assert not usage.reserve(1, 100)
    days.append(date(2026, 1, 2))
    assert usage.reserve(1, 100)


def test_a_clock_that_is_set_back_does_not_lift_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "completion.json"

    def reserved(day: int) -> bool:  # by a daemon that has just started
        return DailyUsage(path, today=lambda: date(2026, 1, day)).reserve(100, 100)

    assert [reserved(day) for day in (1, 2, 1, 2, 3, 2, 1)] == [True, True, False, False, True, False, False]


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"day": "2026-01-01", "tokens": Infinity}',
        '{"day": "2026-01-01", "tokens": -1000000}',
        '{"day": "2026-01-01", "tokens": "many"}',
        '{"day": "2026-01-01", "tokens": 1, "other_days": 1}',
        "[]",
    ],
)
def test_a_file_without_a_count_is_written_again(tmp_path: Path, content: str) -> None:
    path = tmp_path / "completion.json"
    path.write_text(content)
    assert DailyUsage(path, today=lambda: date(2026, 1, 1)).reserve(100, 100)
    assert not DailyUsage(path, today=lambda: date(2026, 1, 1)).reserve(1, 100)


def test_a_broken_file_or_none_does_not_lift_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "completion.json"
    usage = DailyUsage(path)
    assert usage.reserve(100, 100)
    path.write_text("{")
    assert not usage.reserve(1, 100)
    nowhere = DailyUsage(Path("/proc/nowhere/completion.json"))
    assert nowhere.reserve(100, 100)
    assert not nowhere.reserve(1, 100)
