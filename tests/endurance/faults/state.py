"""Folders that cannot be written, or that go away while the daemon runs.

`tests/e2e/test_lost_state.py` removes the state folder, and puts a file in its place.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.endurance.faults.stage import stage
from tests.model_server import Call, Step

EDIT = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
CREATE = Call(name="create_file", arguments={"path": "sub/b.txt", "content": "new\n"})


def _read_only(place: Path) -> tuple[str, ...]:
    return ("bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--ro-bind", str(place), str(place), "--")


async def a_state_that_is_read_only(root: Path) -> None:
    """Turns work, the user is told once that nothing is kept."""
    (root / "home").mkdir()
    async with stage(root, before=_read_only(root / "home")) as here:
        (here.folder / "a.txt").write_text("one\n")
        turn = await here.turn(Step(calls=(EDIT,)), Step(text="Done."))
        assert turn.result["stopReason"] == "end_turn", turn.result
        assert "Read-only" in turn.notices or "only in memory" in turn.notices, turn.notices
        (result,) = turn.of("tool_result")
        assert (here.folder / "a.txt").read_text() == ("one\n" if result["isError"] else "two\n"), result
        turn = await here.turn(
            Step(calls=(Call(name="shell", arguments={"command": "echo hello"}),)), Step(text="Done.")
        )
        assert "hello" in turn.of("tool_result")[0]["content"]
        assert turn.notices.count("in memory") <= 1
        await here.goes_on()


async def a_workspace_that_is_read_only(root: Path) -> None:
    """Edits are refused with the reason; reading, and what the conversation holds, goes on."""
    (root / "project").mkdir()
    (root / "project" / "a.txt").write_text("one\n")
    async with stage(root, before=_read_only(root / "project")) as here:
        turn = await here.turn(Step(calls=(EDIT, CREATE)), Step(text="Done."))
        edited, created = turn.of("tool_result")
        for each in (edited, created):
            assert each["isError"], each
            assert "read-only" in each["content"].lower(), each
        assert "one" in await here.tool("read_file", path="a.txt")
        await here.goes_on()
    assert sorted(each.name for each in (root / "project").iterdir()) == ["a.txt"]


async def a_workspace_that_goes_away(root: Path) -> None:
    """Tools say that the folder is missing; once it is there again all works."""
    async with stage(root) as here:
        (here.folder / "a.txt").write_text("one\n")
        await here.goes_on()
        shutil.move(here.folder, root / "elsewhere")
        for name, given in (
            ("read_file", {"path": "a.txt"}),
            ("list_files", {}),
            ("grep_search", {"pattern": "one"}),
            ("shell", {"command": "pwd"}),
        ):
            said = await here.tool(name, **given)
            assert "Traceback" not in said
            assert said, name
        shutil.move(root / "elsewhere", here.folder)
        await here.tool("edit_file", path="a.txt", old="one", new="two")
        assert (here.folder / "a.txt").read_text() == "two\n"
        await here.goes_on()


FAULTS = (a_workspace_that_is_read_only,)
LONG = (a_state_that_is_read_only, a_workspace_that_goes_away)
