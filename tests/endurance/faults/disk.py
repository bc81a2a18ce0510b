"""A disk that is full, and is not any more."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.endurance.faults.stage import copy_home, fill, small_disk, stage, text_of
from tests.model_server import Call, Step

DISK_BYTES = 4_000_000
NO_ROOM = "No space"


async def full_while_a_journal_is_written(root: Path) -> None:
    """The turn ends, the user is told, and the next turn writes what is missing."""
    (root / "1").mkdir()
    (root / "2").mkdir()
    async with stage(root / "1", before=small_disk(root / "1" / "home", DISK_BYTES)) as here:
        await here.turn(Step(text="Before."))
        filler = fill(here.inside(here.home))
        turn = await here.turn(
            *[Step(text=f"Part {n}. " + "words " * 3000, calls=(Call(name="list_files"),)) for n in range(3)],
            Step(text="While it is full."),
        )
        assert turn.result["stopReason"] == "end_turn", turn.result
        assert "cannot be written to disk" in turn.notices, turn.events
        await here.answers_within(5)
        filler.unlink()
        await here.goes_on()
        loaded = await here.is_whole()
        copy_home(here, root / "2")
        here.daemon.kill()
    async with stage(root / "2", session=loaded["sessionId"]) as here:
        again = await here.is_whole()
        assert again["messages"] == loaded["messages"]
        await here.goes_on()


async def full_when_a_session_is_made(root: Path) -> None:
    """The session is kept in memory, and written as soon as the disk has room."""
    async with stage(root, before=small_disk(root / "home", DISK_BYTES)) as here:
        await here.turn(Step(text="Before."))
        filler = fill(here.inside(here.home))
        here.session = (await here.editor.ask("pygent/session/new"))["sessionId"]
        turn = await here.turn(Step(text="While it is full."))
        assert turn.result["stopReason"] == "end_turn", turn.result
        assert turn.notices, "the user is not told"
        filler.unlink()
        await here.goes_on()


async def full_while_a_file_is_written(root: Path) -> None:
    """The file is as it was, nothing is left beside it, and the error says what would work."""
    async with stage(root, before=small_disk(root / "project", DISK_BYTES)) as here:
        project = here.inside(here.folder)
        (project / "a.txt").write_text("one\n")
        filler = fill(project)
        before = sorted(each.name for each in project.iterdir())
        edit = {"path": "a.txt", "old": "one", "new": "two " * 100_000}
        for name, given in (
            ("edit_file", edit),
            ("create_file", {"path": "b.txt", "content": "x" * 100_000}),
            ("copy_file", {"source": "filler", "destination": "c.txt"}),
        ):
            said = await here.tool(name, **given)
            assert said.startswith("ERROR"), said[:300]
            assert NO_ROOM in said, f"{name}: {said[:300]}"
        assert (project / "a.txt").read_text() == "one\n"
        assert sorted(each.name for each in project.iterdir()) == before
        filler.unlink()
        assert not (await here.tool("edit_file", **edit)).startswith("ERROR")
        assert (project / "a.txt").read_text() == "two " * 100_000 + "\n"
        await here.goes_on()


async def full_while_a_checkpoint_is_kept(root: Path) -> None:
    """An edit that cannot be undone is not lost either way: undo restores it or says why not."""
    async with stage(root, before=small_disk(root / "home", DISK_BYTES)) as here:
        (here.folder / "a.txt").write_text("one\n" + "filling\n" * 20_000)
        await here.turn(Step(text="Before."))
        filler = fill(here.inside(here.home))
        turn = await here.turn(
            Step(calls=(Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"}),)),
            Step(text="Done."),
        )
        result = turn.of("tool_result")[0]
        told = result["content"] + turn.notices
        assert NO_ROOM in told, told
        text = (here.folder / "a.txt").read_text()
        assert text.startswith("one\n" if result["isError"] else "two\n")
        filler.unlink()
        undone = await here.turn(prompt="/undo")
        assert undone.result["text"], undone.result
        text = (here.folder / "a.txt").read_text()
        assert text.startswith("one\n") or "a.txt" in undone.result["text"] or "cannot" in undone.result["text"], (
            undone.result["text"]
        )
        await here.tool("edit_file", path="a.txt", old=text.splitlines()[0], new="three")
        assert (here.folder / "a.txt").read_text().startswith("three\n")
        await here.turn(prompt="/undo")
        assert (here.folder / "a.txt").read_text() == text
        await here.goes_on()


async def full_while_output_is_kept(root: Path) -> None:
    """The model sees the beginning and the end of the output, and no promise of a file that is not there."""
    async with stage(root, before=small_disk(root / "home", DISK_BYTES)) as here:
        await here.turn(Step(text="Before."))
        filler = fill(here.inside(here.home))
        said = await here.tool("shell", command="seq 1 200000; echo the end")
        assert not said.startswith("ERROR"), said[:300]
        assert "the end" in said
        assert "output:" not in said, said[-600:]
        filler.unlink()
        said = await here.tool("shell", command="seq 1 200000; echo the end")
        assert "output:" in said, said[-600:]
        await here.goes_on()


async def full_while_a_log_is_written(root: Path) -> None:
    """The only loss is that of lines of the log."""
    settings = {"PYGENT_LOG_FILE": str(root / "home" / "pygent.log"), "PYGENT_LOG_LEVEL": "debug"}
    async with stage(root, settings=settings, before=small_disk(root / "home", DISK_BYTES)) as here:
        filler = fill(here.inside(here.home))
        for _ in range(5):
            turn = await here.turn(Step(text="Words. " * 500))
            assert turn.result["stopReason"] == "end_turn"
        assert here.daemon.stderr.count(b"cannot be written") <= 3, here.daemon.stderr
        filler.unlink()
        await here.goes_on()


async def files_that_may_not_grow(root: Path) -> None:
    """What a limit on the size of files refuses, is said; without the limit all is written."""
    async with stage(root) as here:
        (here.folder / "a.txt").write_text("one\n")
        pid = here.daemon.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (20_000, hard))
        turn = await here.turn(
            Step(calls=(Call(name="create_file", arguments={"path": "b.txt", "content": "x" * 100_000}),)),
            Step(calls=(Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"}),)),
            Step(text="words " * 20_000, chunk=500),
        )
        assert turn.result["stopReason"] == "end_turn", turn.result
        created, edited = turn.of("tool_result")
        assert created["isError"], created["content"][-300:]
        assert "large" in created["content"], created["content"][-300:]
        assert not edited["isError"], edited
        assert "cannot be written to disk" in turn.notices, turn.notices
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        await here.goes_on()
        assert "two" in text_of((await here.is_whole())["messages"])


FAULTS = (
    full_while_a_journal_is_written,
    full_when_a_session_is_made,
    full_while_a_file_is_written,
    full_while_a_checkpoint_is_kept,
    full_while_output_is_kept,
    full_while_a_log_is_written,
    files_that_may_not_grow,
)
