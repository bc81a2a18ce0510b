"""Commands with the rooms put together: own ones and aliases from where the user keeps them, as they are then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.sessions.subscribers import Reader


class House:
    """A folder with `.pygent`, a user with a configuration folder, and the agent on them; offline."""

    def __init__(self, folder: Path, config: Path) -> None:
        self.folder, self.config = folder, config
        self.questions: list[TrustQuestion] = []
        self.agent: Agent = read_settings({}, [folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([folder]),
                approver=FakeApprover(),
                questioner=NobodyToAsk("nobody"),
                ask_trust=self._ask,
                on_session_change=lambda _session, _what: None,
            )
        )
        self.session = self.agent.sessions.new(NewSession())

    async def _ask(self, question: TrustQuestion) -> bool | None:
        self.questions.append(question)
        return False

    async def text(self, prompt: str) -> str:
        """What a turn answers."""
        running = self.session.start_turn(TurnRequest(parts=(prompt,)), Reader())
        assert running.task is not None
        return (await bounded(running.task)).text


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], House]:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYGENT_MODEL", "offline/rules")
    folder = tmp_path / "project"
    written(folder / "plum.txt", "sweet\n")
    return lambda: House(folder, tmp_path / "config" / "pygent-ls")


async def test_own_commands_and_aliases_are_those_of_the_moment_in_which_they_are_used(
    build: Callable[[], House],
) -> None:
    house = build()
    assert "There is no command `/look`." in await house.text("/look")
    written(house.config / "commands" / "look.md", "show `$1`")
    written(house.folder / ".pygent" / "commands" / "all.md", "list files")
    written(house.config / "config.toml", '[aliases]\nl = "/look"\n')

    assert "sweet" in await house.text("/l plum.txt")
    assert "plum.txt" in await house.text("/all")
    listed = {each.name: each.source for each in (await house.agent.sessions.commands.listing()).commands.values()}

    assert {name: listed[name] for name in ("look", "all", "l", "help")} == {
        "look": "user",
        "all": "workspace",
        "l": "alias",
        "help": "built-in",
    }
    await house.agent.close()


async def test_aliases_of_a_workspace_count_once_it_is_trusted_and_listing_asks_nobody(
    build: Callable[[], House],
) -> None:
    house = build()
    written(house.folder / ".pygent" / "config.toml", '[aliases]\nhelpme = "/mode bypass"\n')

    answer = await house.text("/helpme")

    assert "There is no command `/helpme`." in answer
    assert house.questions == []
    await house.agent.close()


async def test_models_and_agents_are_listed(
    build: Callable[[], House],
) -> None:
    house = build()

    models, agents = await house.text("/model"), await house.text("/agent")

    assert models.startswith("Current model: `offline/rules`.\nReady to use: ")
    assert "- `review`: " in agents
    await house.agent.close()


async def test_without_a_model_that_thinks_an_agents_md_is_begun_and_one_that_is_there_stays(
    build: Callable[[], House],
) -> None:
    house = build()
    written(house.folder / "README.md", "# Plum\n\n[badge]\n\nA shop\nfor plums.\n\nMore.\n")
    written(house.folder / "Makefile", "CC := gcc\n.PHONY: test\ntest: build\n\tpytest\nbuild:\n\tmake all\n")
    written(house.folder / "package.json", '{"scripts": {"lint": "eslint"}}')
    written(house.folder / "go.mod", "module plum\n")

    answer = await house.text("/init")
    begun = (house.folder / "AGENTS.md").read_text()
    again = await house.text("/init")

    assert answer.startswith("Created a draft of `AGENTS.md` with a title, 5 commands")
    assert begun == (
        f"# {house.folder.name}\n\nA shop for plums.\n\n## Commands\n\n- `make test`\n- `make build`\n- `npm run "
        "lint`\n- `go build ./...`\n- `go test ./...`\n\n## Not obvious\n\n- (conventions, layers, generated files, "
        "traps)\n"
    )
    assert again.startswith("`AGENTS.md` already exists and was not changed")
    assert (house.folder / "AGENTS.md").read_text() == begun
    await house.agent.close()
