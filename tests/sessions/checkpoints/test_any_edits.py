from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, MoveFile, WriteText
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint
from tests.sessions.checkpoints.test_rewind import Desk, desk_at
from tests.workspace.repositories import commit_all

NAMES = ["a", "b", "c", "d/x", "out/i"]

EDIT = st.tuples(st.sampled_from("wsmmmctd"), st.sampled_from(NAMES), st.sampled_from(NAMES))

TURNS = st.lists(st.lists(EDIT, min_size=1, max_size=7), min_size=1, max_size=3)


async def edit(desk: Desk, turn: str, what: tuple[str, str, str], text: str) -> None:
    """Make an edit, if it is possible."""
    kind, name, other = what
    path, free = desk.folder / name, desk.folder / other
    match kind:
        case "w":
            await desk.edit(turn, name, text)
        case "s":
            await desk.edit(turn, name, f"{name}\n")
        case "m" if path.exists() and not free.exists():
            await desk.apply(turn, MoveFile(source=path, destination=free))
        case "c" if path.exists() and not free.exists():
            await desk.apply(turn, CopyBytes(source=path, destination=free))
        case "t" if path.exists() and not free.exists():
            text = path.read_text()
            await desk.apply(turn, WriteText(path=free, before=None, text=text, copied_from=path))
        case "d" if path.exists():
            await desk.apply(turn, DeleteFile(path=path, before=await desk.read(name)))
        case _:
            pass


def texts_in(folder: Path) -> Mapping[str, str]:
    return {name: (folder / name).read_text() for name in NAMES if (folder / name).is_file()}


@given(there=st.sets(st.sampled_from(NAMES)), turns=TURNS, with_git=st.booleans())
def test_whatever_the_agent_edits_turns_can_be_undone_and_redone(
    there: set[str], turns: Sequence[Sequence[tuple[str, str, str]]], with_git: bool
) -> None:
    async def story(folder: Path) -> None:
        (folder / ".gitignore").write_text("out/\n")
        for name in there:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(f"{name}\n")
        if with_git:
            commit_all(folder)
        desk = desk_at(folder)
        texts = [texts_in(folder)]
        points: list[Checkpoint] = []
        for number, edits in enumerate(turns):
            n_before = len(desk.checkpoints.all())
            for place, each in enumerate(edits):
                await edit(desk, f"turn {number}", each, f"{number} {place}\n")
            points += desk.checkpoints.all()[n_before : n_before + 1]
            texts += [texts_in(folder)] if len(points) == len(texts) else []
        for _ in range(2):
            undone: list[str] = []
            for place in reversed(range(len(points))):
                done = await desk.back(points[place])
                undone.append(done.undo_checkpoint_id)
                assert (texts_in(folder), done.skipped) == (texts[place], [])
            for place, point in enumerate(reversed(undone), 1):
                done = await desk.back(desk.checkpoints.find(point))
                assert (texts_in(folder), done.skipped) == (texts[place], [])

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "project"
        folder.mkdir()
        asyncio.run(story(folder))
