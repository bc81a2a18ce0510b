"""The ledger: whatever happens in whatever order, a task has at most one accepted result, and none is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from pygent_ls.errors import FleetError
from pygent_ls.fleet.ledger import AttemptResult, AttemptState, Claim, LeaseWatch, Ledger, Outcome, Owner
from pygent_ls.fleet.tasks import Task

TASK = Task(id="fix", prompt="Fix it.", repository="/work/project")

ELSEWHERE = Owner(host="another-machine", pid=1)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger.create(tmp_path / "ledger")
    made.add(TASK)
    return made


def result(number: int, outcome: Outcome = "succeeded") -> AttemptResult:
    return AttemptResult(attempt=number, outcome=outcome, text=f"by attempt {number}")


class Interleavings(RuleBasedStateMachine):
    """Clients and workers of one task, which stall, die and come back between any two steps."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.create(Path(self.folder.name))
        self.ledger.add(TASK)
        self.alive: list[Claim] = []
        """Attempts whose workers go on, also those that others consider lost."""
        self.recorded: list[Claim] = []
        """Attempts with a recorded success that was not accepted yet: their workers may die here."""
        self.claimed: list[int] = []
        self.succeeded: set[int] = set()
        self.first: AttemptResult | None = None

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(n_clients=st.integers(1, 3))
    def claim(self, n_clients: int) -> None:
        """Clients that all consider the newest attempt as ended or lost submit the next one."""
        before, is_open = self.ledger.last_number("fix"), self.ledger.accepted("fix") is None
        claims = [self.ledger.claim("fix", before + 1, ELSEWHERE) for _ in range(n_clients)]
        won = [each for each in claims if each is not None]
        assert len(won) == is_open
        self.alive += won
        self.claimed += [each.number for each in won]

    @rule(number=st.integers(1, 6))
    def claim_stale(self, number: int) -> None:
        """A job that waited in a queue for long claims its number."""
        was_next = number == self.ledger.last_number("fix") + 1 and self.ledger.accepted("fix") is None
        claim = self.ledger.claim("fix", number, ELSEWHERE)
        assert (claim is not None) == was_next
        if claim is not None:
            self.alive.append(claim)
            self.claimed.append(number)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self._some(self.alive, data)

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), outcome=st.sampled_from(["failed", "interrupted", "superseded"]))
    def fail(self, data: st.DataObject, outcome: Outcome) -> None:
        claim = self._some(self.alive, data)
        accepted = claim.finish(result(claim.number, outcome))
        assert accepted == self.first

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        claim = self._some(self.alive, data)
        claim.record(result(claim.number))
        self.succeeded.add(claim.number)
        self.recorded.append(claim)

    @precondition(lambda self: self.recorded)
    @rule(data=st.data())
    def accept(self, data: st.DataObject) -> None:
        claim = self._some(self.recorded, data)
        accepted = self.ledger.accept("fix", claim.number)
        assert accepted.attempt in self.succeeded
        self.first = self.first or accepted
        assert accepted == self.first

    @rule()
    def come_back(self) -> None:
        """A client reads the ledger: a recorded success counts, whoever recorded it."""
        history = self.ledger.history("fix")
        assert (history.accepted is not None) == bool(self.succeeded)
        self.first = self.first or history.accepted
        assert [each.number for each in history.attempts] == sorted(self.claimed)

    @invariant()
    def has_one_result(self) -> None:
        accepted = self.ledger.accepted("fix")
        assert accepted == self.first
        if accepted is not None:
            assert accepted == result(accepted.attempt)
            assert accepted.attempt in self.succeeded

    @invariant()
    def claims_each_number_once(self) -> None:
        assert sorted(self.claimed) == list(range(1, len(self.claimed) + 1))

    @invariant()
    def stops_all_but_the_newest(self) -> None:
        for each in self.alive:
            is_newest = each.number == len(self.claimed) and self.first is None
            assert each.stop_reason("client") == (None if is_newest else "superseded")

    def _some(self, claims: list[Claim], data: st.DataObject) -> Claim:
        return claims.pop(data.draw(st.integers(0, len(claims) - 1)))


Interleavings.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestInterleavings = Interleavings.TestCase


# At the same moment


def test_of_many_claims_at_the_same_moment_one_wins(ledger: Ledger) -> None:
    n, numbers = 8, range(1, 21)
    start = Barrier(n)

    def claim_all(_: int) -> list[int]:
        won: list[int] = []
        for number in numbers:
            start.wait(20)
            if ledger.claim("fix", number, ELSEWHERE) is not None:
                won.append(number)
        return won

    with ThreadPoolExecutor(n) as pool:
        won = [number for each in pool.map(claim_all, range(n)) for number in each]

    assert sorted(won) == list(numbers)


RACER = """
import sys
from pathlib import Path
from pygent_ls.fleet.ledger import AttemptResult, Ledger, Owner
ledger = Ledger.at(Path(sys.argv[1]))
claim = ledger.claim("fix", int(sys.argv[2]), Owner.this())
print("ready", flush=True)
sys.stdin.readline()
print(claim.finish(AttemptResult(attempt=claim.number, outcome="succeeded")).attempt)
"""


def test_of_results_from_several_processes_the_first_counts_for_all(ledger: Ledger) -> None:
    racers: list[subprocess.Popen[str]] = []
    for number in (1, 2, 3):
        racer = subprocess.Popen(
            [sys.executable, "-c", RACER, str(ledger.folder), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
        racers.append(racer)
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=20)[0] for racer in racers]

    accepted = ledger.accepted("fix")
    assert accepted is not None
    assert said == [f"{accepted.attempt}\n"] * 3


# Leases


def beats(*, owner: Owner | None = ELSEWHERE, number: int = 1, beat: str = "1") -> AttemptState:
    return AttemptState(number=number, owner=owner, beat=beat, result=None)


def lost_at(looks: Sequence[tuple[float, AttemptState]]) -> list[float]:
    """The times at which a watch with a lease of ten seconds says that the attempt is lost."""
    now = [0.0]
    watch = LeaseWatch(10.0, clock=lambda: now[0])
    found: list[float] = []
    for time_s, attempt in looks:
        now[0] = time_s
        if watch.is_lost("fix", attempt):
            found.append(time_s)
    return found


def test_an_attempt_is_lost_when_its_counter_stands_still_for_a_lease() -> None:
    assert lost_at([(0, beats()), (9, beats()), (10, beats()), (11, beats())]) == [10, 11]
    assert lost_at([(0, beats()), (9, beats(beat="2")), (18, beats(beat="2")), (19, beats(beat="2"))]) == [19]


def test_what_happened_before_an_observer_looked_does_not_count() -> None:
    assert lost_at([(1000, beats()), (1009, beats())]) == []


def test_the_next_attempt_has_a_lease_of_its_own() -> None:
    assert lost_at([(0, beats()), (10, beats()), (11, beats(number=2)), (20, beats(number=2))]) == [10]


def test_an_attempt_without_an_owner_or_a_counter_is_lost_in_the_same_way() -> None:
    assert lost_at([(0, beats(owner=None, beat="")), (10, beats(owner=None, beat=""))]) == [10]


def test_a_process_of_this_machine_that_has_ended_is_lost_at_once() -> None:
    code = "from pygent_ls.fleet.ledger import Owner; import msgspec; print(msgspec.json.encode(Owner.this()).decode())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=30).stdout
    ended = Owner(**json.loads(said))

    assert lost_at([(0, beats(owner=ended))]) == [0]
    assert lost_at([(0, beats(owner=replace(ended, boot="another boot")))]) == [], "it may run on another machine"
    assert lost_at([(0, beats(owner=Owner.this()))]) == []


def test_a_new_process_with_the_number_of_an_ended_one_is_not_it() -> None:
    assert lost_at([(0, beats(owner=replace(Owner.this(), started="1")))]) == [0]


# The folder


def test_a_ledger_keeps_its_id_and_its_tasks(ledger: Ledger) -> None:
    again = Ledger.create(ledger.folder)
    again.add(TASK)

    assert again.id == ledger.id
    assert ledger.folder.stat().st_mode & 0o077 == 0
    with pytest.raises(FleetError, match="The task 'fix' is not the one that the ledger"):
        again.add(replace(TASK, prompt="Break it."))


def test_a_worker_that_does_not_see_the_ledger_says_so(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="choose a folder that they share"):
        Ledger.at(tmp_path / "nowhere", ledger.id)
    other = Ledger.create(tmp_path / "other")
    with pytest.raises(FleetError, match=f"its id is {other.id}, not {ledger.id}"):
        Ledger.at(other.folder, ledger.id)


def test_a_damaged_or_newer_ledger_is_refused(ledger: Ledger) -> None:
    (ledger.folder / "fleet.json").write_text('{"version": 2, "id": "x"}')
    with pytest.raises(FleetError, match="has version 2"):
        Ledger.create(ledger.folder)
    (ledger.folder / "fleet.json").write_text("{")
    with pytest.raises(FleetError, match="is damaged"):
        Ledger.create(ledger.folder)


def test_a_cancelled_client_stops_its_own_attempts(ledger: Ledger) -> None:
    claim = ledger.claim("fix", 1, ELSEWHERE)
    assert claim is not None
    ledger.cancel("other")
    assert claim.stop_reason("mine") is None
    ledger.cancel("mine")
    assert claim.stop_reason("mine") == "cancelled"
