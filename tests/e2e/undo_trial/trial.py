"""A trial: steps are played on a real daemon, and after each one what the user sees is held against who wrote what."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from pygls.exceptions import JsonRpcException

from tests.e2e.lsp_client import WAIT_S
from tests.e2e.undo_trial.authorship import (
    CLOSING,
    USER,
    Authorship,
    Turn,
    Visible,
    program_of,
    restore_of,
    return_of,
    tokens,
)
from tests.e2e.undo_trial.desk import IGNORED, Answer, Desk, desk_at
from tests.e2e.undo_trial.plans import Planned, Planner, with_reads
from tests.e2e.undo_trial.steps import (
    NAMES,
    SESSIONS,
    AgentTurn,
    Back,
    Doing,
    Program,
    Restart,
    Restore,
    Step,
    Tool,
)

TITLES = {True: "Save and continue", False: "Continue without saving"}


async def play(folder: Path, steps: Sequence[Step], *, has_git: bool, has_hook: bool) -> Counter[str]:
    """Play the steps in an empty folder; returns what was checked, and how often. Raises AssertionError."""
    numbers = count(1)
    there = ("a.txt", "b.txt", "d/c.txt", "out/x.log")
    files = {name: "".join(f"user-{next(numbers):03}\n" for _ in range(3)) for name in there}
    tracked = {name: text for name, text in files.items() if name != "d/c.txt"}
    async with desk_at(folder, tracked, has_git=has_git, has_hook=has_hook) as desk:
        desk.write("d/c.txt", files["d/c.txt"])
        trial = Trial(desk, numbers, has_git=has_git, has_hook=has_hook)
        trial.truth.seen = desk.visible()
        for step in steps:
            trial.truth.log.append(str(step))
            await trial.step(step)
        return trial.checked


@dataclass(slots=True)
class Talk:
    """A session, and the turns that it can undo and redo."""

    label: str
    id: str | None = None
    standing: list[Turn] = field(default_factory=list[Turn])
    undone: list[Turn | None] = field(default_factory=list[Turn | None])
    """None: what was uncertain in one."""
    last_undone: Turn | None = None
    """None, too, where the trial cannot tell which turn goes back next."""
    turns: list[Turn] = field(default_factory=list[Turn])


@dataclass(slots=True)
class _Running:
    """The calls since the last prompt: one that was asked for, and before it those that failed before they could be."""

    calls: list[Planned] = field(default_factory=list[Planned])
    allowed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """What the tools among them may remove: what was there before the prompt, and nothing that was typed at it."""
    hook_has_run: bool = False

    def own(self) -> set[str]:
        """The files that they say that they change."""
        return {name for each in self.calls if isinstance(each.step, Tool) or each.step.is_named for name in each.names}

    def of_programs(self) -> set[str]:
        """The files that commands change."""
        return {name for each in self.calls if isinstance(each.step, Program) for name in each.names}

    def removes(self, seen: Visible) -> dict[str, set[str]]:
        """What may be gone afterwards, by file: a command removes whatever stands there."""
        programs = [each.removes(seen) for each in self.calls if isinstance(each.step, Program)]
        return _merged([self.allowed, *programs])

    def begin(self, calls: list[Planned], seen: Visible) -> None:
        """The last of these calls is allowed to run."""
        self.calls = calls
        self.allowed = _merged([each.removes(seen) for each in calls])


class Trial:
    """One desk, and what is known of it."""

    def __init__(self, desk: Desk, numbers: Iterator[int], *, has_git: bool, has_hook: bool) -> None:
        self.desk = desk
        self.truth = Authorship()
        self.checked: Counter[str] = Counter()
        self._numbers = numbers
        self._has_git = has_git
        self._has_hook = has_hook
        self._talks = {label: Talk(label) for label in SESSIONS}

    async def step(self, step: Step) -> None:
        """Play one step, and check what holds after it."""
        match step:
            case Doing():
                self._do(step)
            case AgentTurn():
                await self._turn(step)
            case Back():
                await self._back(step)
            case Restore():
                await self._restore(step)
            case Restart():
                await self.desk.restart(lambda: self._do_all(step.meanwhile))
                self.truth.must(self.desk.visible() == self.truth.seen, "a restart changed a file")

    # The user

    def _do_all(self, doings: Sequence[Doing]) -> None:
        """While there is no editor."""
        for each in doings:
            if not self.desk.is_open(each.name) and each.kind != "open":
                self._do(each)

    def _do(self, doing: Doing) -> set[str]:
        """Returns the closed files that were written on the disk."""
        self._user(doing)
        now = self.desk.visible()
        changed = {name for name in now | self.truth.seen if now.get(name) != self.truth.seen.get(name)}
        self.truth.observe(now, CLOSING if doing.kind == "close" else USER)
        return {name for name in changed if not self.desk.is_open(name)} if doing.kind != "close" else set()

    def _user(self, doing: Doing) -> None:
        desk, name = self.desk, doing.name
        is_open, text = desk.is_open(name), desk.see(name)
        match doing.kind:
            case "collect garbage" if desk.path(".git").exists():
                desk.git("gc", "-q", "--prune=now")
            case "open" if not is_open and text is not None:
                desk.open(name)
            case "save" if is_open:
                desk.save(name)
            case "close" if is_open:
                desk.close(name)
            case "delete" if not is_open and text is not None:
                desk.delete(name)
            case "rename" if not is_open and text is not None:
                new = next((each for each in NAMES if desk.see(each) is None), None)
                if new is not None:
                    desk.write(new, text)
                    desk.delete(name)
            case "type" | "insert" | "replace":
                line, old = f"user-{next(self._numbers):03}\n", text or ""
                new_text = {"type": old + line, "insert": line + old, "replace": line}[doing.kind]
                (desk.type if is_open else desk.write)(name, new_text)
            case _:
                self.truth.log.append(f"    nothing to {doing.kind}")

    # A turn

    async def _turn(self, step: AgentTurn) -> None:
        talk = self._talks[step.session]
        turn = self._begun(talk)
        planned = self._planned(step, turn)
        hook = step.hook if self._has_hook and not any(isinstance(each, Program) for each in step.calls) else None
        self._set_hook(hook, talk)
        coming = list(planned)
        running = _Running()

        def look() -> None:
            """Whatever happened since the last look was done by the calls that ran."""
            self.desk.follow_disk()
            now = self.desk.visible()
            allowed, own, hooked = running.removes(self.truth.seen), running.own(), set[str]()
            if hook and not running.hook_has_run and self.desk.has_hook_run():
                running.hook_has_run = True
                hooked = {hook}
                turn.soft |= hooked if hook.startswith(IGNORED) else hooked & own
            turn.soft |= {name for name in running.of_programs() if name.startswith(IGNORED)}
            for name, gone in allowed.items():
                turn.removed.setdefault(name, set()).update(gone)
            self.truth.check_kept(now, _not_of(talk.label), {each for gone in allowed.values() for each in gone})
            certain = own - hooked
            self.truth.observe(now, lambda name: talk.label if name in certain else program_of(talk.label))

        def prompt(message: str) -> None:
            look()
            running.begin(_passed(coming, message), self.truth.seen)
            step_of_call = running.calls[-1].step
            if isinstance(step_of_call, Tool):
                for doing in step_of_call.at_prompt:
                    self._do(doing)
            else:
                self.desk.when_unsaved = TITLES[step_of_call.saves_first]

        self.desk.at_prompt = prompt
        running_turn = self.desk.begin(*with_reads(planned), session=talk.id)
        for each in [each for each in planned if isinstance(each.step, Program)]:
            await self.desk.until_held(running_turn)
            look()
            await self._meanwhile(each, turn, talk)
            self.desk.let_go()
        async with asyncio.timeout(WAIT_S):
            talk.id = (await running_turn)["sessionId"]
        self.desk.raise_failure()
        look()
        self.desk.at_prompt = None
        self.desk.hook("")
        turn.ended = len(self.truth.changes)
        self.checked["turns"] += 1

    async def _meanwhile(self, planned: Planned, turn: Turn, talk: Talk) -> None:
        """A command waits."""
        assert isinstance(planned.step, Program)
        for doing in planned.step.meanwhile:
            written = self._do(doing)
            turn.unsure |= written
            if planned.step.is_named:
                turn.mixed |= written & planned.names
            turn.unsure |= {doing.name} & planned.names
            self.checked["while a command runs"] += 1
        other = next(each for each in self._talks.values() if each is not talk)
        name = planned.step.other_edits
        if name is None:
            return
        prompt, self.desk.at_prompt = self.desk.at_prompt, None
        own = self._begun(other)
        step = AgentTurn(other.label, (Tool("insert", name),))
        result = await self.desk.turn(*with_reads(self._planned(step, own)), session=other.id)
        other.id = result["sessionId"]
        now = self.desk.visible()
        self.truth.check_kept(now, lambda _: True, ())
        self.truth.observe(now, other.label)
        own.ended = len(self.truth.changes)
        if name in planned.names:
            turn.unsure.add(name)
            own.unsure.add(name)
            if planned.step.is_named:
                turn.mixed.add(name)
        self.desk.at_prompt = prompt
        self.checked["two sessions at once"] += 1

    def _begun(self, talk: Talk) -> Turn:
        turn = Turn(session=talk.label, began=len(self.truth.changes))
        talk.standing.append(turn)
        talk.turns.append(turn)
        talk.undone.clear()
        talk.last_undone = None
        return turn

    def _planned(self, step: AgentTurn, turn: Turn) -> list[Planned]:
        planner = Planner(turn.session, dict(self.truth.seen), self._numbers)
        planned = [
            planner.program(each, self.desk) if isinstance(each, Program) else planner.tool(each) for each in step.calls
        ]
        moves = [each.call["input"] for each in planned if each.call["name"] == "move_file"]
        turn.moves += [(each["source"], each["destination"]) for each in moves]
        return planned

    def _set_hook(self, name: str | None, talk: Talk) -> None:
        if name is not None:
            token = f"agent-{talk.label}-{next(self._numbers):03}"
            self.desk.hook(f"mkdir -p {Path(name).parent}; echo {token} >> {name}; : > $HOME/hook.sh\n")

    # Back and forth

    async def _back(self, step: Back) -> None:
        talk = self._talk(step.session)
        if talk.id is None:
            return
        match step.how:
            case "undo":
                await self._undo(talk, await self.desk.undo(talk.id))
            case "undo by command":
                await self._undo(talk, await _or_error(self.desk.undo_by_command(talk.id)))
            case "undo with the rest":
                await self._undo(talk, await self.desk.undo(talk.id))
                await self._undo_rest(talk, await self.desk.slash("/undo --rest", talk.id))
            case "undo and redo":
                await self._undo(talk, await self.desk.undo(talk.id))
                await self._redo(talk, await self.desk.redo(talk.id))
            case "redo":
                await self._redo(talk, await self.desk.redo(talk.id))

    def _talk(self, label: str) -> Talk:
        """The session, or the other one if nothing was said in it yet."""
        talk = self._talks[label]
        return next((each for each in (talk, *self._talks.values()) if each.id), talk)

    async def _undo(self, talk: Talk, answer: Answer) -> None:
        now = self._heard(answer)
        turn = talk.standing.pop() if talk.standing else None
        free = {each for old in talk.turns for each in old.soft}
        mixed = turn.mixed & answer.names if turn else {each for old in talk.turns for each in old.mixed}
        self._check_spared(
            talk, now, {each for name in mixed for each in tokens(self.truth.seen.get(name))}, mixed | free
        )
        if turn is not None:
            self.checked["files back"] += self.truth.check_undone(turn, now, answer.left)
            turn.undone, turn.has_rest = dict(self.truth.seen), True
            talk.undone.append(turn)
        elif not answer.error and "no turn to undo" not in answer.text:
            talk.undone.clear()  # of an unknown turn, which comes again first
        talk.last_undone = turn
        self.truth.observe(now, return_of(talk.label))
        self.truth.note_left(answer.left)
        if turn is not None:
            turn.undone_at = len(self.truth.changes)
        self.checked["undo"] += 1

    async def _undo_rest(self, talk: Talk, answer: Answer) -> None:
        now = self._heard(answer)
        told = {token for standing in self.truth.named.values() for token in standing}
        free = {name for name in self.truth.named if tokens(self.truth.seen.get(name)) <= self.truth.named[name]}
        self._check_spared(talk, now, told, free)
        turn = talk.last_undone
        if "left nothing" not in answer.text:
            talk.undone.append(None)
            if turn is not None:
                self.truth.check_rest(turn, now, answer.left)
                turn.has_rest = False
        self.truth.observe(now, return_of(talk.label))
        self.checked["rest"] += 1

    async def _redo(self, talk: Talk, answer: Answer) -> None:
        now = self._heard(answer)
        is_known = bool(talk.undone)
        turn = talk.undone.pop() if is_known else None
        allowed = self.truth.removable(turn) if turn else self._removed(talk)
        self._check_spared(talk, now, allowed, {each for old in talk.turns for each in old.soft})
        if turn is not None:
            self.truth.check_redone(turn, now, answer.left)
            talk.standing.append(turn)
            self.checked["redo"] += 1
        elif not is_known and "nothing was undone" not in answer.text:
            talk.standing.clear()  # an unknown turn is the last one now
        self.truth.observe(now, return_of(talk.label))
        self.truth.note_left(answer.left)

    async def _restore(self, step: Restore) -> None:
        talk = self._talk(step.session)
        points = await self.desk.checkpoints(talk.id) if talk.id else []
        if not points:
            return
        more = {step.flag: True} if step.flag else {}
        before = self.truth.seen
        point = points[step.place % len(points)]["checkpointId"]
        answer = await self.desk.restore(point, conversation=step.conversation, **more)
        self._check_restored(talk, answer, step)
        if step.and_back and step.flag != "force":
            answer = await self.desk.restore(answer.undo_id, conversation=step.conversation, **more)
            self._check_restored(talk, answer, step)
            blurred = {each.name for each in self.truth.changes if each.author == program_of(talk.label)}
            blurred |= {name for turn in talk.turns for name in turn.unsure}
            differ = {name for name in before | self.truth.seen if before.get(name) != self.truth.seen.get(name)}
            self.truth.must(differ <= blurred & answer.left, f"a restore and its undo leave {sorted(differ)} changed")
        if step.conversation:
            talk.standing.clear()
        talk.undone.clear()
        talk.last_undone = None
        self.checked["restore"] += 1

    def _check_restored(self, talk: Talk, answer: Answer, step: Restore) -> None:
        now = self._heard(answer)
        allowed, free = self._removed(talk), {each for turn in talk.turns for each in turn.mixed | turn.soft}
        allowed |= {each for name in free & answer.names for each in tokens(self.truth.seen.get(name))}
        if step.flag == "force":
            self.truth.forced(now)
            free |= self.truth.seen.keys() | now.keys()
        if step.flag == "uncertain":
            free |= answer.restored
            allowed |= {each for name in answer.restored for each in tokens(self.truth.seen.get(name))}
        self._check_spared(talk, now, allowed, free)
        self.truth.observe(now, restore_of(talk.label))
        self.truth.note_left(answer.left)

    def _check_spared(self, talk: Talk, now: Visible, allowed: set[str], free: set[str]) -> None:
        self.truth.check_kept(now, _not_of(talk.label), allowed)
        self.truth.check_pinned(talk.label, now, free)

    def _removed(self, talk: Talk) -> set[str]:
        return {each for turn in talk.turns for gone in turn.removed.values() for each in gone}

    def _heard(self, answer: Answer) -> Visible:
        self.truth.log.append(f"  {answer.text or answer.error}")
        self.desk.follow_disk()
        return self.desk.visible()


def _passed(coming: list[Planned], message: str) -> list[Planned]:
    """The calls up to the one that a prompt is about, which are no longer to come."""
    for place, each in enumerate(coming):
        is_named = isinstance(each.step, Program) or any(name in message for name in each.names)
        if message.startswith(f"{each.call['name']}:") and is_named:
            passed = coming[: place + 1]
            del coming[: place + 1]
            return passed
    raise AssertionError(f"no call that is to come is asked for by: {message}")


def _merged(parts: Sequence[dict[str, set[str]]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, gone in (item for part in parts for item in part.items()):
        found[name] = found.get(name, set()) | gone
    return found


async def _or_error(asked: Awaitable[Answer]) -> Answer:
    try:
        return await asked
    except JsonRpcException as error:
        return Answer("", error=str(error))


def _not_of(session: str) -> Callable[[str], bool]:
    return lambda token: not token.startswith(f"agent-{session}-")
