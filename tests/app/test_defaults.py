"""What a session begins with for which nothing is chosen, before the first turn has read the settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.ports import FrontEnd, SessionStart, TrustQuestion
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover

MODEL = "offline/rules"
USUAL: tuple[Mode, ...] = ("default", "accept_edits", "plan", "trust")

PLANNER = '[agents.planner]\ndescription = "Plans."\nmode = "plan"\nmodel = "offline/other"\n'


@dataclass(frozen=True, slots=True)
class House:
    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "work"

    def users_file(self, text: str) -> None:
        path = self.root / "config" / "pygent-ls" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def workspaces_file(self, text: str) -> None:
        path = self.folder / ".pygent" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def agent(self, *, is_restricted: bool = False) -> Agent:
        async def ask_trust(_: TrustQuestion) -> bool:
            raise AssertionError("nobody is to be asked")

        self.folder.mkdir(exist_ok=True)
        return read_settings({}, [self.folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([self.folder]),
                approver=FakeApprover(),
                questioner=NobodyToAsk("nobody"),
                ask_trust=ask_trust,
                on_session_change=lambda _session, _what: None,
                is_restricted=is_restricted,
            )
        )


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYGENT_MODEL", MODEL)
    return House(tmp_path)


async def test_it_is_what_the_files_say_by_now(house: House) -> None:
    agent = house.agent()
    before = await agent.beginning()
    house.users_file('mode = "accept_edits"\n')
    after = await agent.beginning()

    assert before == SessionStart(model=MODEL, agent="default", mode="default", modes=USUAL)
    assert after.mode == "accept_edits"
    await agent.close()


async def test_what_the_editor_has_configured_counts(house: House) -> None:
    agent = house.agent()
    agent.configure({"mode": "plan"})

    assert (await agent.beginning()).mode == "plan"
    await agent.close()


async def test_the_agents_own_model_and_mode_go_before_the_settings(house: House) -> None:
    house.users_file(f'agent = "planner"\nmode = "trust"\n{PLANNER}')
    agent = house.agent()

    assert await agent.beginning() == SessionStart(model="offline/other", agent="planner", mode="plan", modes=USUAL)
    await agent.close()


async def test_bypass_can_be_chosen_where_the_users_own_file_allows_it(house: House) -> None:
    house.workspaces_file("allow_bypass = true\n")
    agent = house.agent()
    asked_by_the_workspace = (await agent.beginning()).modes
    house.users_file("allow_bypass = true\n")

    assert asked_by_the_workspace == USUAL
    assert (await agent.beginning()).modes == (*USUAL, "bypass")
    await agent.close()


async def test_what_a_workspace_wants_does_not_count_before_it_is_trusted_and_nobody_is_asked(house: House) -> None:
    house.workspaces_file('mode = "trust"\n')
    agent = house.agent()

    assert (await agent.beginning()).mode == "default"
    await agent.close()


async def test_a_restricted_workspace_has_one_mode(house: House) -> None:
    house.users_file('mode = "bypass"\nallow_bypass = true\n')
    agent = house.agent(is_restricted=True)

    beginning = await agent.beginning()

    assert (beginning.mode, beginning.modes) == ("plan", ("plan",))
    await agent.close()
