"""The steps of an episode, each with a seed of its own, so that it does the same wherever it stands."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.endurance.soak.book import Book
from tests.endurance.soak.plans import Planner, key_text
from tests.endurance.soak.world import MODELS, World
from tests.model_server import Call
from tests.model_server import Step as Answer

KINDS = {
    "turn": 30,
    "user": 18,
    "undo": 4,
    "redo": 2,
    "restore": 3,
    "fork": 1,
    "compact": 1,
    "clear": 1,
    "rename": 1,
    "configure": 3,
    "close": 1,
    "delete": 1,
    "all undone": 1,
    "read": 2,
    "second editor": 1,
}

RESTARTS = {"exit": 1, "killed": 2, "killed in a turn": 3, "editor vanishes": 2}


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}"


@dataclass(frozen=True, slots=True)
class Episode:
    """Steps in a new folder, and how the daemon is set up."""

    seed: int
    steps: tuple[Step, ...]

    @property
    def settings(self) -> dict[str, bool]:
        """What the seed says about the set-up."""
        chance = random.Random(self.seed)
        return {name: chance.random() < 0.5 for name in ("has_git", "at_socket", "permission_requests", "questions")}


def episode(seed: int, n_steps: int, *, restarts: bool) -> Episode:
    """A random one."""
    chance = random.Random(seed)
    kinds = KINDS | (RESTARTS if restarts else {})
    chosen = chance.choices(list(kinds), list(kinds.values()), k=n_steps)
    return Episode(seed, tuple(Step(kind, chance.randrange(2**32)) for kind in chosen))


@dataclass(slots=True)
class Outcome:
    """What an episode came to."""

    seen: Counter[str]
    resident: list[int]
    """Bytes after each step, while the same daemon ran."""
    failed_at: int | None = None
    error: BaseException | None = None


async def play(wanted: Episode, steps: Sequence[Step] | None = None) -> Outcome:
    """Live through it. Errors of any kind are part of the outcome."""
    root = Path(tempfile.mkdtemp(prefix="pygent-soak-")).resolve()
    settings = wanted.settings
    extensions = {"permissionRequest": settings["permission_requests"], "questionRequest": settings["questions"]}
    world = World(root, has_git=settings["has_git"], at_socket=settings["at_socket"], extensions=extensions)
    outcome = Outcome(world.seen, [])
    with world.server:
        try:
            await world.start()
            for number, step in enumerate(wanted.steps if steps is None else steps):
                outcome.failed_at = number
                await take(world, step)
                await world.check()
                outcome.resident.append(world.daemon.resident_bytes())
            outcome.failed_at = len(wanted.steps if steps is None else steps)
            await world.check_nothing_left()
            outcome.failed_at = None
        except Exception as error:
            outcome.error = error
        finally:
            await world.close()
    shutil.rmtree(root, ignore_errors=True)
    return outcome


async def take(world: World, step: Step) -> None:
    """One step."""
    chance = random.Random(step.seed)
    world.seen[step.kind] += 1
    books = list(world.books.values())
    match step.kind:
        case "turn":
            await world.turn(chance)
        case "user":
            world.user_does(chance)
        case "exit" | "killed" | "editor vanishes" | "killed in a turn":
            await _restart(world, step.kind, chance)
        case "all undone":
            await _all_undone(world, chance)
        case "read":
            await _read(world, chance)
        case "second editor":
            await _second_editor(world, chance)
        case _ if books:
            await _in_session(world, step.kind, chance.choice(books), chance)
        case _:
            pass


async def _in_session(world: World, kind: str, book: Book, chance: random.Random) -> None:
    editor, named = world.editor, {"sessionId": book.id}
    match kind:
        case "undo" | "redo":
            await editor.ask("pygent/turn/start", {**named, "prompt": f"/{kind}"})
        case "restore":
            await _restored(world, named, chance)
        case "fork":
            if made := await editor.ask_or_error("pygent/session/fork", named):
                world.books[made["sessionId"]] = forked = Book(made["sessionId"])
                world.attach(forked)
        case "compact" | "clear":
            await editor.ask_or_error(f"pygent/session/{kind}", named)
        case "rename":
            await editor.ask("pygent/session/rename", {**named, "name": chance.choice(["", "a name", "ü" * 50])})
        case "configure":
            await editor.ask("pygent/session/configure", {**named, **_choice(chance)})
        case "close":
            await world.end_view(book)
            await editor.ask("pygent/session/close", named)
            world.attach(book)
        case "delete":
            await world.delete(book.id)
        case _:
            raise ValueError(kind)


async def _restored(world: World, named: dict[str, str], chance: random.Random) -> None:
    points = (await world.editor.ask("pygent/checkpoint/list", named))["checkpoints"]
    if points:
        point = chance.choice(points)["checkpointId"]
        more = {"files": chance.random() < 0.9, "conversation": chance.random() < 0.4}
        await world.editor.ask_or_error("pygent/checkpoint/restore", {"checkpointId": point, **more})


def _choice(chance: random.Random) -> dict[str, str]:
    """What `pygent/session/configure` sets."""
    return chance.choice(
        [
            {"model": chance.choice(MODELS)},
            {"mode": chance.choice(["default", "accept_edits", "plan", "trust"])},
            {"contextMode": chance.choice(["continue", "fresh", "sliding"])},
        ]
    )


async def _restart(world: World, kind: str, chance: random.Random) -> None:
    daemon, editor = world.daemon, world.editor
    if kind == "killed in a turn":
        await world.turn(chance, cut=daemon.kill)
    elif kind == "killed":
        daemon.kill()
    elif kind == "editor vanishes" and daemon.socket is not None and chance.random() < 0.5:
        await editor.leave()
        await world.connect()
        return
    elif kind == "exit" and daemon.socket is None:
        await daemon.end(editor)
    elif kind == "exit":
        daemon.process.terminate()
    await editor.leave()
    if kind == "editor vanishes" and daemon.socket is not None:
        daemon.process.terminate()
    await daemon.wait()
    world.background.clear()
    await world.start()


async def _all_undone(world: World, chance: random.Random) -> None:
    """In a new session, edits alone, and nothing of the user's meanwhile: to undo all turns restores the texts, and to
    redo them, too. The session is deleted: to redo its turns later could remove lines of the user."""
    before = world.visible()
    book = await world.new_session()
    n_turns = chance.randint(1, 3)
    world.editor.prompt = _allow
    for _ in range(n_turns):
        key = world.number()
        planner = Planner(chance, world.visible(), world.number, only_edits=True)
        world.provider.play({key: planner.answers()})
        params = {"sessionId": book.id, "prompt": key_text(key), "mode": "trust", "turnId": f"turn-{key}"}
        await world.editor.ask("pygent/turn/start", params)
        world.provider.forget()
    after = world.visible()
    for command, said, texts in (
        ("/undo", "Undid the last turn.", before),
        ("/redo", "Restored the turn.", after),
        ("/undo", "Undid the last turn.", before),
    ):
        for _ in range(n_turns):
            result = await world.editor.ask("pygent/turn/start", {"sessionId": book.id, "prompt": command})
            assert result["text"].startswith(said), result
            assert "Not restored" not in result["text"], result
        _check_same(texts, world.visible(), f"{command} of {n_turns} turns")
    world.editor.prompt = world.answer_prompt
    await world.delete(book.id)


def _check_same(wanted: Mapping[str, str], found: Mapping[str, str], after: str) -> None:
    names = sorted(wanted.keys() | found.keys())
    differ = {name: (wanted.get(name), found.get(name)) for name in names if wanted.get(name) != found.get(name)}
    assert not differ, f"after {after}, texts differ: {differ}"


async def _allow(params: Mapping[str, Any]) -> Any:
    if "options" in params:
        return {"optionId": next(each["optionId"] for each in params["options"] if each["kind"] == "allow_once")}
    titles = [each["title"] for each in params.get("actions", ())]
    return {"title": "Allow once" if "Allow once" in titles else titles[0]} if titles else None


async def _read(world: World, chance: random.Random) -> None:
    """The daemon's tools see what the user sees."""
    visible = world.visible()
    name = chance.choice(list(visible))
    book, key = await world.new_session(), world.number()
    world.provider.play(
        {key: [Answer(calls=(Call(name="read_file", arguments={"path": name}),)), Answer(text="Read.")]}
    )
    params = {"sessionId": book.id, "prompt": key_text(key), "partialResultToken": "read"}
    await world.editor.ask("pygent/turn/start", params)
    results = [each for each in world.editor.heard.pop("read") if each["type"] == "tool_result"]
    assert len(results) == 1, results
    shown = "\n".join(line.partition("\t")[2] for line in results[0]["content"].splitlines())
    lines = visible[name].splitlines()
    assert shown == "\n".join(lines) or not lines, (
        f"{name} is {visible[name]!r} and was read as {results[0]['content']!r}"
    )


async def _second_editor(world: World, chance: random.Random) -> None:
    if world.daemon.socket is None:
        return
    second = await world.daemon.connect()
    try:
        await second.initialize(world.folder)
        await second.ask("pygent/session/list")
        if world.books:
            book = chance.choice(list(world.books.values()))
            params = {"sessionId": book.id, "sinceSeq": 0, "partialResultToken": "all"}
            second.begin("pygent/session/attach", params)
            await second.until(lambda: len(second.heard.get("all", ())) >= len(book.events))
            heard = second.heard.get("all", [])
            assert heard[: len(book.events)] == book.events, "a second view shows other events"
        key = world.number()
        planner = Planner(chance, world.visible(), world.number)
        world.provider.play({key: planner.answers(), **planner.subturns})
        made = await second.ask("pygent/turn/start", {"prompt": key_text(key), "mode": "plan"})
        assert made["stopReason"], made
        world.provider.forget()
    finally:
        await second.leave()
