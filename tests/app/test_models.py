"""The rooms put together: programs as models, tools as text, and where the whole of long results lies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.app.storage import SessionStorage
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.errors import ModelError
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.sessions.subscribers import Reader

CALL = '```tool\n{"name": "read_file", "input": {"path": "a.txt"}}\n```'


class Desk:
    """A folder, the user's settings, and the agent on them."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "project"
        self.folder.mkdir()
        self.state = root / "state" / "pygent-ls"
        self.settings = root / "config" / "pygent-ls" / "config.toml"
        self.settings.parent.mkdir(parents=True)
        self.reader = Reader()

    def agent(self) -> Agent:
        async def no_trust(_: TrustQuestion) -> bool | None:
            return False

        return read_settings({}, [self.folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([self.folder]),
                approver=FakeApprover(),
                questioner=NobodyToAsk("nobody"),
                ask_trust=no_trust,
                on_session_change=lambda _session, _what: None,
            )
        )

    async def turn(self, session: Session) -> TurnResult:
        running = session.start_turn(TurnRequest(parts=("What does a.txt say?",)), self.reader)
        assert running.task is not None
        return await bounded(running.task)

    @property
    def results(self) -> list[ToolResult]:
        return [each.event for each in self.reader.events if isinstance(each.event, ToolResult)]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("PYGENT_MODEL", raising=False)
    return Desk(tmp_path)


def program(says: str) -> str:
    """The table of a program that looks at a.txt, and then says that."""
    script = f"import sys; print({says!r} if 'plum' in sys.stdin.read() else {CALL!r})"
    return f"[cli_models.toy]\ncommand = {json.dumps([sys.executable, '-c', script])}\n"


async def test_a_users_program_is_the_model_and_what_is_set_later_counts_from_the_next_turn(desk: Desk) -> None:
    (desk.folder / "a.txt").write_text("plum")
    desk.settings.write_text('model = "cli:toy"\n' + program("It says plum."))
    agent = desk.agent()
    session = agent.sessions.new(NewSession())

    first = await desk.turn(session)
    desk.settings.write_text('model = "cli:toy"\n' + program("Plum, again."))
    second = await desk.turn(session)

    assert (first.stop_reason, first.text, first.iterations) == ("end_turn", "It says plum.", 2)
    assert "plum" in desk.results[0].content
    assert (first.usage.cost_usd, first.usage.input_tokens > 0) == (None, True)
    assert second.text == "Plum, again."
    assert not any("cli" in each.name for each in desk.folder.iterdir())
    await agent.close()


async def test_a_workspaces_program_does_not_run_before_it_is_trusted(desk: Desk) -> None:
    ran = desk.folder / "ran"
    desk.settings.write_text('model = "cli:toy"\n')
    (desk.folder / ".pygent").mkdir()
    command = json.dumps([sys.executable, "-c", f"open({str(ran)!r}, 'w')"])
    (desk.folder / ".pygent" / "config.toml").write_text(f"[cli_models.toy]\ncommand = {command}\n")
    agent = desk.agent()

    with pytest.raises(ModelError, match="does not name a program"):
        await desk.turn(agent.sessions.new(NewSession()))

    assert not ran.exists()
    await agent.close()


async def test_tools_are_text_where_the_setting_says_so(desk: Desk, tmp_path: Path) -> None:
    (desk.folder / "a.txt").write_text("plum")
    script = tmp_path / "script.jsonl"
    script.write_text("".join(f"{json.dumps({'text': text})}\n" for text in (CALL, "It says plum.")))
    desk.settings.write_text(f'model = "scripted:{script}"\ntext_tool_calls = "on"\n')
    agent = desk.agent()

    result = await desk.turn(agent.sessions.new(NewSession()))

    assert (result.text, [each.tool_name for each in desk.results]) == ("It says plum.", ["read_file"])
    await agent.close()


async def test_the_whole_of_a_long_result_lies_in_the_state_folder_until_the_session_is_gone_for_good(
    desk: Desk, tmp_path: Path
) -> None:
    for number in range(90):
        (desk.folder / f"file-{number:03}.txt").write_text("plum\n")
    script = tmp_path / "script.jsonl"
    lines = [
        {"tool_calls": [{"name": "grep_search", "input": {"pattern": "plum"}}]},
        {"text": "ok"},
    ]
    script.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    desk.settings.write_text(f'model = "scripted:{script}"\nmax_tool_result_chars = 500\n')
    agent = desk.agent()
    session = agent.sessions.new(NewSession())

    await desk.turn(session)

    (result,) = desk.results
    assert result.truncated
    assert result.content.endswith("characters from grep_search]")
    (kept,) = (desk.state / "outputs").rglob("*.txt")
    assert "file-050.txt" in kept.read_text()
    assert "file-050.txt" not in result.content
    await agent.close()
    assert kept.exists()
    again = desk.agent()
    await again.sessions.delete(session.id)
    await again.close()
    assert kept.exists()  # the session lies in the trash
    SessionStorage(desk.state).forget(session.id)
    assert not kept.exists()
