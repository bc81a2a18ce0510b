"""The rooms put together, without a daemon: what the settings that change make of the turns that follow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.events import Notice, PermissionDenied
from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.cli.trust import trust
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.sessions.subscribers import Reader

LOOSE = '[permissions]\nallow = ["create_file(**)"]\n'


class House:
    """A folder, its user, and the agent on them. The model makes one file a turn: `made-1`, `made-2` …"""

    def __init__(self, folder: Path, answer: bool | None) -> None:
        self.folder = folder
        self.approver = FakeApprover()
        self.reader = Reader()
        self.questions: list[TrustQuestion] = []
        self._answer = answer
        self.agent: Agent = read_settings({}, [folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([folder]),
                approver=self.approver,
                questioner=NobodyToAsk("nobody"),
                ask_trust=self._ask,
                on_session_change=lambda _session, _what: None,
            )
        )

    async def _ask(self, question: TrustQuestion) -> bool | None:
        self.questions.append(question)
        return self._answer

    def says(self, text: str) -> None:
        """The workspace's own file says this from now on."""
        (self.folder / ".pygent").mkdir(exist_ok=True)
        (self.folder / ".pygent" / "config.toml").write_text(text)

    async def turn(self, session: Session) -> str:
        """A turn; returns why it stopped."""
        running = session.start_turn(TurnRequest(parts=("go",)), self.reader)
        assert running.task is not None
        return (await bounded(running.task)).stop_reason

    @property
    def made(self) -> list[str]:
        """What the model has made so far."""
        return sorted(each.name for each in self.folder.glob("made-*"))

    @property
    def notices(self) -> list[str]:
        """What the user was told."""
        return [each.event.content for each in self.reader.events if isinstance(each.event, Notice)]


Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    script = tmp_path / "script.jsonl"
    lines: list[Mapping[str, Any]] = []
    for number in range(1, 4):
        call = {"name": "create_file", "input": {"path": f"made-{number}", "content": "x"}}
        lines += [{"tool_calls": [call]}, {"text": "done"}]
    script.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.setenv("PYGENT_MODEL", f"scripted:{script}")
    folder = tmp_path / "project"
    folder.mkdir()

    def make(says: str = "", answer: bool | None = None) -> House:
        if says:
            (folder / ".pygent").mkdir(exist_ok=True)
            (folder / ".pygent" / "config.toml").write_text(says)
        return House(folder, answer)

    return make


def shown(questions: Sequence[TrustQuestion]) -> list[tuple[str, ...]]:
    return [question.wishes for question in questions]


async def test_trust_counts_for_the_turn_that_asked_for_it(build: Build) -> None:
    house = build(LOOSE, answer=True)
    session = house.agent.sessions.new(NewSession())

    assert await house.turn(session) == "end_turn"

    assert shown(house.questions) == [("allow without asking you: create_file(**)",)]
    assert (house.made, house.approver.requests, house.notices) == (["made-1"], [], [])
    await house.agent.close()


async def test_what_is_not_trusted_does_nothing_and_is_told_once(build: Build) -> None:
    house = build(LOOSE)
    session = house.agent.sessions.new(NewSession())

    await house.turn(session)
    await house.turn(session)

    assert house.made == []
    assert len(house.approver.requests) == 2
    assert len(house.questions) == 1
    (notice,) = house.notices
    assert "permissions.allow" in notice
    assert "pygent-ls trust" in notice


async def test_what_is_wrong_with_files_that_the_settings_name_is_told_once(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYGENT_SYSTEM_PROMPT_FILE", "gone.md")
    monkeypatch.setenv("PYGENT_ADDITIONAL_DIRS", '["/gone"]')
    house = build()
    session = house.agent.sessions.new(NewSession())

    await house.turn(session)
    await house.turn(session)

    assert [each.split(":")[0] for each in house.notices] == ["additional_dirs", "system_prompt_file"]


@pytest.mark.parametrize("answer", [True, False, None])
async def test_a_workspaces_hook_does_not_run_before_it_is_trusted(build: Build, answer: bool | None) -> None:
    house = build('[[hooks]]\nevent = "stop"\ncommand = "touch hook-ran; exit 1"\n', answer=answer)
    await house.turn(house.agent.sessions.new(NewSession()))
    await house.agent.close()

    assert (house.folder / "hook-ran").exists() == (answer is True)
    assert any("`touch hook-ran; exit 1` exited with code 1" in each for each in house.notices) == (answer is True)


async def test_hooks_are_those_of_the_moment_in_which_a_turn_begins(build: Build, tmp_path: Path) -> None:
    house = build()
    session = house.agent.sessions.new(NewSession())
    user_file = tmp_path / "config" / "pygent-ls" / "config.toml"
    user_file.parent.mkdir(parents=True)

    await house.turn(session)
    user_file.write_text(
        '[[hooks]]\nevent = "pre_tool_use"\nmatcher = "create_file"\ncommand = "echo not here >&2; exit 2"\n'
    )
    await house.turn(session)
    await house.agent.close()

    denied = [each.event for each in house.reader.events if isinstance(each.event, PermissionDenied)]
    assert [each.reason for each in denied] == [
        "the user rejected it.",
        "a hook configured by the user denied it: not here",
    ]


async def test_a_key_that_the_settings_come_to_name_is_kept_from_programs_from_the_next_turn_on(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")
    house = build()
    session = house.agent.sessions.new(NewSession())
    user_file = tmp_path / "config" / "pygent-ls" / "config.toml"
    user_file.parent.mkdir(parents=True)

    hook = '[[hooks]]\nevent = "stop"\ncommand = "printenv MY_KEY > $PYGENT_HOOK_EVENT.txt; true"\n'
    user_file.write_text(hook)
    await house.turn(session)
    before = (house.folder / "stop.txt").read_text()
    user_file.write_text('api_key_env = "MY_KEY"\n' + hook)
    await house.turn(session)
    await house.agent.close()

    assert (before, (house.folder / "stop.txt").read_text()) == ("sk-1\n", "")


async def test_an_agents_prompt_file_of_an_unknown_user_is_told(build: Build, tmp_path: Path) -> None:
    user_file = tmp_path / "config" / "pygent-ls" / "config.toml"
    user_file.parent.mkdir(parents=True)
    user_file.write_text('agent = "mine"\n[agents.mine]\nprompt_file = "~nobody-here/a.md"\n')
    house = build()

    await house.turn(house.agent.sessions.new(NewSession()))
    await house.agent.close()

    (notice,) = house.notices
    assert notice.startswith("agents.mine.prompt_file: ")


async def test_a_session_that_is_there_already_follows_what_is_trusted_later(build: Build) -> None:
    house = build(LOOSE, answer=False)
    session = house.agent.sessions.new(NewSession())
    await house.turn(session)

    blueprint = read_settings({}, [house.folder])
    trust(blueprint.taken, blueprint.trust, "trust")
    await house.turn(session)

    assert house.made == ["made-2"]
    assert len(house.approver.requests) == 1


async def test_a_file_that_comes_to_loosen_more_is_asked_about_before_it_counts(build: Build) -> None:
    house = build()
    session = house.agent.sessions.new(NewSession())
    await house.turn(session)
    assert house.questions == []

    house.says(LOOSE)
    await house.turn(session)
    assert len(house.questions) == 1
    house.says(f'mode = "trust"\n{LOOSE}')
    await house.turn(session)

    assert shown(house.questions)[1] == ("work in the mode trust", "allow without asking you: create_file(**)")
    assert house.made == []


async def test_a_stricter_file_counts_from_the_next_turn_without_a_question(build: Build) -> None:
    house = build()
    session = house.agent.sessions.new(NewSession())
    house.says('mode = "plan"\nmax_iterations = 1\n')

    assert await house.turn(session) == "max_iterations"

    assert session.permissions.mode == "plan"
    assert house.questions == []


async def test_what_the_editor_says_counts_from_the_next_turn_and_what_is_wrong_is_told_once(build: Build) -> None:
    house = build()
    session = house.agent.sessions.new(NewSession())

    problems = house.agent.configure({"maxIterations": 1, "temperatur": 1})
    assert await house.turn(session) == "max_iterations"
    assert house.agent.configure({"maxIterations": None, "temperatur": 1}) == []
    assert await house.turn(session) == "end_turn"

    assert [each.split(": ")[0] for each in problems] == ["editor (workspace/configuration)"]
    assert house.notices == []
