"""`additional_dirs` in the settings: from the user at once, from a workspace's own file once it is trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pygent_ls.agent.events import Notice, ToolResult
from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.sessions.subscribers import Reader


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace `w`, a folder `beside`, and a model that reads and writes there."""
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "w" / ".pygent").mkdir(parents=True)
    (tmp_path / "beside" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "beside" / "a.txt").write_text("plum\n")
    (tmp_path / "config" / "pygent-ls").mkdir(parents=True)
    calls = [
        {"name": "read_file", "input": {"path": f"{tmp_path}/beside/a.txt"}},
        {"name": "create_file", "input": {"path": f"{tmp_path}/beside/new.txt", "content": "x"}},
        {"name": "create_file", "input": {"path": f"{tmp_path}/beside/.git/hooks/pre-commit", "content": "x"}},
    ]
    script = tmp_path / "script.jsonl"
    script.write_text(f"{json.dumps({'tool_calls': calls})}\n{json.dumps({'text': 'done'})}\n")
    monkeypatch.setenv("PYGENT_MODEL", f"scripted:{script}")
    return tmp_path


async def turn(place: Path, *, trusts: bool | None = None) -> tuple[list[ToolResult], list[str], list[str]]:
    """A turn's results, what the user was asked to allow, and what they were told."""
    approver, reader = FakeApprover(otherwise="allow_once"), Reader()

    async def ask_trust(_: TrustQuestion) -> bool | None:
        return trusts

    agent: Agent = read_settings({}, [place / "w"]).build(
        FrontEnd(
            workspace=DiskWorkspace([place / "w"]),
            approver=approver,
            questioner=NobodyToAsk("nobody"),
            ask_trust=ask_trust,
            on_session_change=lambda _session, _what: None,
        )
    )
    running = agent.sessions.new(NewSession()).start_turn(TurnRequest(parts=("go",)), reader)
    assert running.task is not None
    await bounded(running.task)
    await agent.close()
    events = [each.event for each in reader.events]
    notices = [each.content for each in events if isinstance(each, Notice)]
    asked = [each.tool_name for each in approver.requests]
    return [each for each in events if isinstance(each, ToolResult)], asked, notices


async def test_without_the_setting_nothing_beside_the_workspace_is_reached(place: Path) -> None:
    results, asked, _ = await turn(place)
    assert [each.is_error for each in results] == [True, True, True]
    assert all("outside the workspace" in each.content for each in results[:2])
    assert (asked, (place / "beside" / "new.txt").exists()) == ([], False)


async def test_with_it_reading_passes_writing_asks_and_hooks_stay_refused(place: Path) -> None:
    (place / "config/pygent-ls/config.toml").write_text('additional_dirs = ["../../beside"]\n')
    results, asked, notices = await turn(place)
    assert results[0].content == "     1\tplum"
    assert [each.is_error for each in results] == [False, False, True]
    assert "git hooks run programs" in results[2].content
    assert (asked, notices) == (["create_file"], [])
    assert (place / "beside" / "new.txt").read_text() == "x"


async def test_rules_about_whole_paths_hold_there(place: Path) -> None:
    (place / "config/pygent-ls/config.toml").write_text(
        f'additional_dirs = ["{place}/beside"]\n[permissions]\ndeny = ["read_file({place}/beside/**)"]\n'
        f'allow = ["create_file({place}/beside/*.txt)"]\n'
    )
    results, asked, _ = await turn(place)
    assert [each.is_error for each in results] == [True, False, True]
    assert asked == []


@pytest.mark.parametrize("trusts", [False, True])
async def test_a_workspaces_own_file_reaches_beside_itself_only_once_it_is_trusted(
    place: Path, *, trusts: bool
) -> None:
    (place / "w/.pygent/config.toml").write_text('additional_dirs = ["../../beside"]\n')
    results, _, _ = await turn(place, trusts=trusts)
    assert results[0].is_error is not trusts


@pytest.mark.parametrize("link", ["w/.pygent/data", "w/data"])
async def test_a_workspaces_own_file_names_no_folder_through_a_link(place: Path, link: str) -> None:
    (place / link).symlink_to(place / "beside")
    named = "data" if ".pygent" in link else "../data"
    (place / "w/.pygent/config.toml").write_text(f'additional_dirs = ["{named}"]\n')

    results, _, notices = await turn(place, trusts=True)

    assert results[0].is_error
    assert notices == [
        f"additional_dirs: {place}/w/.pygent/{named} is a link to {place}/beside, which a workspace's file must not "
        "use. Use that folder itself."
    ]


async def test_a_workspace_behind_a_link_may_name_its_neighbour(place: Path) -> None:
    (place / "w/.pygent/config.toml").write_text('additional_dirs = ["../../beside"]\n')
    (place / "w").rename(place / "real")
    (place / "w").symlink_to(place / "real")
    results, _, notices = await turn(place, trusts=True)
    assert (results[0].is_error, notices) == (False, [])


async def test_a_folder_that_is_none_is_told(place: Path) -> None:
    (place / "config/pygent-ls/config.toml").write_text(f'additional_dirs = ["{place}/gone"]\n')
    _, _, notices = await turn(place)
    assert notices == [f"additional_dirs: the folder {place}/gone does not exist and is ignored."]
