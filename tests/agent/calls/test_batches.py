"""Which calls run side by side, and that they do."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.calls.batches import (
    MAX_PARALLEL_CALLS,
    MyTurn,
    conflict,
    run_batches,
    split_into_batches,
)
from pygent_ls.agent.calls.call_record import CallRecord
from pygent_ls.agent.messages import ToolUseBlock
from tests.agent.abilities import saying
from tests.fakes import Gate, bounded

READING = saying("t", "", read_only=True)
WRITING = saying("t", "", read_only=False)


def planned(name: str, *paths: str, writes: bool = False, tool: str = "t") -> CallRecord:
    call = ToolUseBlock(id=name, name=tool, input={})
    return CallRecord(asked=call, tool=WRITING if writes else READING, paths=tuple(map(Path, paths)))


def names(batches: list[list[CallRecord]]) -> list[list[str]]:
    return [[each.call.id for each in batch] for batch in batches]


def test_adjacent_reads_run_together_and_a_write_runs_alone() -> None:
    calls = [
        planned("a", "/w/a"),
        planned("b", "/w/b"),
        planned("c", "/w/c", writes=True),
        planned("d", "/w/d", writes=True),
        planned("e", "/w/e"),
        planned("f"),
    ]
    assert names(split_into_batches(calls)) == [["a", "b"], ["c"], ["d"], ["e", "f"]]


def test_equal_paths_and_parent_and_child_never_run_together() -> None:
    calls = [planned("a", "/w/src"), planned("b", "/w/src"), planned("c", "/w/src/x.py"), planned("d", "/w/src2")]
    assert names(split_into_batches(calls)) == [["a"], ["b"], ["c", "d"]]


def test_adjacent_subagents_run_together_and_beside_nothing_else() -> None:
    def call(name: str, tool: str, *, read_only: bool = False) -> CallRecord:
        return planned(name, tool=tool, writes=not read_only)

    calls = [
        call("a", "read_file", read_only=True),
        call("b", "task"),
        call("c", "task"),
        call("d", "read_file", read_only=True),
        call("e", "task"),
        call("f", "edit_file"),
    ]
    assert names(split_into_batches(calls)) == [["a"], ["b", "c"], ["d"], ["e"], ["f"]]


def test_no_calls_are_no_batches() -> None:
    assert split_into_batches([]) == []


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("/w/a", "/w/a", True),
        ("/w/a", "/w/a/b", True),
        ("/w/a/b", "/w/a", True),
        ("/w/a", "/w/ab", False),
        ("/w/a/b", "/w/a/c", False),
        ("/", "/w", True),
        ("/w", "/", True),
    ],
)
def test_a_conflict_is_an_equal_path_a_parent_or_a_child(*, one: str, other: str, overlap: bool) -> None:
    a, b = Path(one), Path(other)
    assert conflict([a], [b]) is overlap
    assert conflict([Path("/x"), a], [b, Path("/y")]) is overlap
    assert conflict([], [b]) is False


calls_to_split = st.lists(
    st.tuples(st.booleans(), st.lists(st.sampled_from(["/w", "/w/a", "/w/a/b", "/w/ab", "/v", "/"]), max_size=2)),
    max_size=30,
).map(lambda drawn: [planned(str(n), *paths, writes=writes) for n, (writes, paths) in enumerate(drawn)])


@given(calls_to_split)
def test_however_calls_are_split_order_is_kept_writers_are_alone_and_no_conflict_is_in_a_batch(
    calls: list[CallRecord],
) -> None:
    batches = split_into_batches(calls)
    assert [each for batch in batches for each in batch] == calls
    for batch in batches:
        assert len(batch) == 1 or all(each.read_only for each in batch)
        for n, one in enumerate(batch):
            assert not any(conflict(one.paths, other.paths) for other in batch[n + 1 :])


@given(calls_to_split)
def test_no_two_batches_could_have_been_one(calls: list[CallRecord]) -> None:
    batches = split_into_batches(calls)
    for batch, following in pairwise(batches):
        first = following[0]
        assert not first.read_only or not batch[0].read_only or any(conflict(each.paths, first.paths) for each in batch)


class Runner:
    """Runs calls that wait at a gate, and counts how many are there."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.most = 0
        self.started: list[str] = []
        self.ended: list[str] = []
        self.told: list[str] = []
        self.gates: dict[str, Gate] = {}

    async def run(self, record: CallRecord, my_turn: MyTurn) -> None:
        call = record.call
        self.started.append(call.id)
        self.running.append(call.id)
        self.most = max(self.most, len(self.running))
        try:
            await self.gates.setdefault(call.id, Gate()).pass_through()
        finally:
            self.running.remove(call.id)
            self.ended.append(call.id)
        await my_turn()
        self.told.append(call.id)

    def gate(self, call_id: str) -> Gate:
        return self.gates.setdefault(call_id, Gate())


async def test_at_most_eight_reads_run_at_once_and_the_next_starts_when_one_ends() -> None:
    runner = Runner()
    calls = [planned(str(n), f"/w/{n}") for n in range(20)]
    async with asyncio.TaskGroup() as group:
        work = group.create_task(run_batches(calls, runner.run))
        await runner.gate("7").reached()
        assert len(runner.running) == MAX_PARALLEL_CALLS == 8
        runner.gate("3").open()
        await runner.gate("8").reached()
        assert len(runner.running) == 8
        for each in calls:
            runner.gate(each.call.id).open()
        await bounded(work)
    assert runner.most == 8
    assert sorted(runner.ended) == sorted(each.call.id for each in calls)
    assert runner.told == [each.call.id for each in calls]


async def test_results_are_told_in_the_order_of_the_calls_and_who_waits_to_be_told_takes_no_room() -> None:
    runner = Runner()
    calls = [planned(str(n), f"/w/{n}") for n in range(12)]
    async with asyncio.TaskGroup() as group:
        work = group.create_task(run_batches(calls, runner.run))
        for n in range(1, 12):
            runner.gate(str(n)).open()
        await runner.gate("11").reached()
        assert runner.running == ["0"] or set(runner.running) == {"0", "11"}
        assert runner.told == []
        runner.gate("0").open()
        await bounded(work)
    assert runner.told == [each.call.id for each in calls]


async def test_a_write_waits_for_the_reads_before_it_and_the_reads_after_it_wait() -> None:
    runner = Runner()
    calls = [planned("a", "/w/a"), planned("b", "/w/b"), planned("write", "/w/c", writes=True), planned("d", "/w/d")]
    async with asyncio.TaskGroup() as group:
        work = group.create_task(run_batches(calls, runner.run))
        await runner.gate("b").reached()
        runner.gate("b").open()
        await asyncio.sleep(0)
        assert "write" not in runner.started
        runner.gate("a").open()
        await runner.gate("write").reached()
        assert runner.running == ["write"]
        runner.gate("write").open()
        await runner.gate("d").reached()
        runner.gate("d").open()
        await bounded(work)


async def test_a_cancel_ends_what_runs_and_starts_nothing_more() -> None:
    runner = Runner()
    calls = [*(planned(str(n), f"/w/{n}") for n in range(12)), planned("write", "/w/x", writes=True)]
    work = asyncio.ensure_future(run_batches(calls, runner.run))
    await runner.gate("7").reached()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(work)
    assert runner.running == []
    assert runner.started == [str(n) for n in range(8)]
