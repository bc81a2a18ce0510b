"""The agents of the settings, from the files to the turn."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pygent_ls.agent.events import Notice, TurnStarted
from pygent_ls.agent.ports.questioner import NobodyToAsk
from pygent_ls.agent.variants import SHIPPED
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.errors import SessionError
from pygent_ls.llm.catalog.pricing import PriceTable
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.model_server import ModelServer, Step
from tests.sessions.subscribers import Reader

READER = '[agents.reader]\ndescription = "Reads."\ntools = ["read_file"]\nmode = "plan"\n'


class House:
    """A user and a workspace folder, with the settings of both."""

    def __init__(self, home: Path) -> None:
        self.users = home / "config" / "pygent-ls"
        self.folder = home / "project"
        self.workspaces = self.folder / ".pygent"
        self.wishes: list[tuple[str, ...]] = []
        for each in (self.users, self.workspaces):
            each.mkdir(parents=True)

    def users_file(self, text: str) -> None:
        (self.users / "config.toml").write_text(text)

    def workspaces_file(self, text: str) -> None:
        (self.workspaces / "config.toml").write_text(text)

    def agent(self, *, trusts: bool = False) -> Agent:
        async def ask_trust(question: TrustQuestion) -> bool:
            self.wishes.append(question.wishes)
            return trusts

        return read_settings({}, [self.folder]).build(
            FrontEnd(
                workspace=DiskWorkspace([self.folder]),
                approver=FakeApprover(),
                questioner=NobodyToAsk("nobody"),
                ask_trust=ask_trust,
                on_session_change=lambda _session, _what: None,
            )
        )


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    script = tmp_path / "script.jsonl"
    script.write_text("".join(f"{json.dumps(line)}\n" for line in ({"loop": True}, {"text": "done"})))
    monkeypatch.setenv("PYGENT_MODEL", f"scripted:{script}")
    return House(tmp_path)


async def turn(agent: Agent, new: NewSession | None = None, request: TurnRequest | None = None) -> Reader:
    reader = Reader()
    session = agent.sessions.new(new or NewSession())
    running = session.start_turn(request or TurnRequest(parts=("go",)), reader)
    assert running.task is not None
    await bounded(running.task)
    return reader


def agent_of(reader: Reader) -> str:
    return next(each.event.agent for each in reader.events if isinstance(each.event, TurnStarted))


def notices(reader: Reader) -> list[str]:
    return [each.event.content for each in reader.events if isinstance(each.event, Notice)]


def test_a_table_adds_an_agent_and_one_with_a_shipped_name_changes_what_it_sets(house: House) -> None:
    house.users_file(f'{READER}[agents.local]\nmodel = "ollama_chat/other"\n')

    agents = {each.name: each for each in house.agent().agents}

    assert list(agents) == ["default", "plan", "review", "yolo", "opus", "local", "reader"]
    assert (agents["reader"].description, agents["reader"].tools, agents["reader"].mode) == (
        "Reads.",
        ("read_file",),
        "plan",
    )
    assert (agents["local"].model, agents["local"].api_base) == ("ollama_chat/other", "http://127.0.0.1:11434")


async def test_the_setting_names_the_agent_and_one_that_there_is_not_is_said(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.users_file(READER)
    monkeypatch.setenv("PYGENT_AGENT", "reader")
    agent = house.agent()
    assert agent_of(await turn(agent)) == "reader"
    await agent.close()

    monkeypatch.setenv("PYGENT_AGENT", "nobody")
    agent = house.agent()
    reader = await turn(agent)
    assert agent_of(reader) == "default"
    assert any("there is no agent 'nobody'" in each for each in notices(reader))
    await agent.close()


async def test_an_agent_that_is_written_into_the_settings_counts_at_once(house: House) -> None:
    agent = house.agent()
    with pytest.raises(SessionError, match="there is no agent 'reader'"):
        agent.sessions.new(NewSession(agent="reader"))

    house.users_file(READER)

    assert agent_of(await turn(agent, NewSession(agent="reader"))) == "reader"
    await agent.close()


async def test_a_session_whose_agent_is_gone_says_so_and_goes_on_with_the_default_one(house: House) -> None:
    house.users_file(READER)
    agent = house.agent()
    session = agent.sessions.new(NewSession(agent="reader"))

    async def told(prompt: str) -> Reader:
        reader = Reader()
        running = session.start_turn(TurnRequest(parts=(prompt,)), reader)
        assert running.task is not None
        await bounded(running.task)
        return reader

    assert agent_of(await told("go")) == "reader"
    house.users_file("")

    reader = await told("go")
    assert agent_of(reader) == "default"
    (said,) = notices(reader)
    assert said.startswith("The agent of this session is not used: agent: there is no agent 'reader'.")
    assert (session.model.partition(":")[0], session.choices.mode_now) == ("scripted", "default")
    await told("/agent plan")
    assert agent_of(await told("go")) == "plan"
    await agent.close()


async def test_a_workspaces_agents_count_once_it_is_trusted(house: House) -> None:
    house.workspaces_file(READER)
    doubted, trusted = house.agent(), house.agent(trusts=True)

    await turn(doubted)
    assert "reader" not in [each.name for each in doubted.agents]
    assert "add the agent reader" in house.wishes[0][0]
    with pytest.raises(SessionError, match="there is no agent 'reader'"):
        await turn(doubted, NewSession(agent="reader"))
    await doubted.close()

    house.workspaces_file(READER + "max_tokens = 7\n")  # another question
    await turn(trusted)
    assert agent_of(await turn(trusted, NewSession(agent="reader"))) == "reader"
    await trusted.close()


def test_a_prompt_may_stand_in_a_file_beside_the_settings_that_name_it(house: House) -> None:
    house.users_file('[agents.mine]\nprompt_file = "mine.md"\n[agents.gone]\nprompt_file = "gone.md"\n')
    (house.users / "mine.md").write_text("You are MINE.")

    agents = {each.name: each for each in house.agent().agents}

    assert agents["mine"].prompt == "You are MINE."
    (said,) = agents["gone"].notices
    assert said.startswith("agents.gone.prompt_file: ")
    assert "gone.md cannot be read (No such file or directory)" in said


@pytest.mark.parametrize("is_named_by", ["user", "workspace", "environment"])
async def test_a_prompt_file_is_looked_for_beside_the_file_that_names_it_and_nowhere_else(
    house: House, monkeypatch: pytest.MonkeyPatch, is_named_by: str
) -> None:
    table = '[agents.mine]\nprompt_file = "mine.md"\n'
    places = {"user": house.users, "workspace": house.workspaces, "environment": house.folder}
    match is_named_by:
        case "user":
            house.users_file(table)
        case "workspace":
            house.users_file(table)
            house.workspaces_file(table)
        case _:
            house.workspaces_file(table)
            monkeypatch.setenv("PYGENT_AGENTS", json.dumps({"mine": {"prompt_file": "mine.md"}}))
    for name, place in places.items():
        (place / "mine.md").write_text(f"the {name}'s")
    agent = house.agent(trusts=True)
    await turn(agent)

    assert next(each.prompt for each in agent.agents if each.name == "mine") == f"the {is_named_by}'s"

    (places[is_named_by] / "mine.md").unlink()
    assert next(each.prompt for each in agent.agents if each.name == "mine") == ""
    await agent.close()


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("pipe", "not a regular file"),
        (".", "Is a directory"),
        ("a\\u0000b", "null"),
        ("~nobody-here/a.md", "No such file"),
    ],
)
def test_a_prompt_file_that_is_none_is_said_and_not_waited_for(house: House, named: str, why: str) -> None:
    os.mkfifo(house.users / "pipe")
    house.users_file(f'[agents.mine]\nprompt_file = "{named}"\n')

    mine = next(each for each in house.agent().agents if each.name == "mine")

    assert (mine.prompt, len(mine.notices)) == ("", 1)
    assert why in mine.notices[0]


def test_a_pipe_that_takes_the_place_of_a_prompt_file_is_not_waited_for(house: House) -> None:
    file = house.users / "mine.md"
    house.users_file('[agents.mine]\nprompt_file = "mine.md"\n')
    left = [file]

    def swap(event: str, args: tuple[object, ...]) -> None:
        if event == "open" and left and str(args[0]) == str(file):  # before the file is opened
            left.pop().unlink()
            os.mkfifo(file)

    agent = house.agent()
    file.write_text("You are MINE.")
    sys.addaudithook(swap)
    mine = next(each for each in agent.agents if each.name == "mine")

    assert (mine.prompt, left) == ("", [])
    assert "not a regular file" in mine.notices[0]


def test_tools_that_the_settings_disallow_are_offered_to_nobody(house: House) -> None:
    house.users_file('disallowed_tools = ["git_*", "shell"]\n')
    house.workspaces_file('disallowed_tools = ["web_fetch"]\n')

    tools = house.agent().tools

    names = [each.name for each in tools.list_all()]
    assert "read_file" in names
    assert [name for name in names if name.startswith("git_") or name in ("shell", "web_fetch")] == []
    assert tools.withheld["shell"] == "is not offered: the setting `disallowed_tools` removes it"


def test_the_model_is_told_which_agents_a_subagent_can_be(house: House) -> None:
    house.users_file(READER)

    task = house.agent().tools.get("task")

    assert task
    assert "- `reader`: Reads." in task.description
    assert "- `plan`: Reads and searches" in task.description


async def test_an_agents_model_is_reached_where_the_agent_says(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-of-a-key-0123456789")
    async with ModelServer([Step(text="from there")]) as server:
        house.users_file(f'[agents.there]\nmodel = "openai/mock"\napi_base = "{server.url}"\n')
        agent = house.agent()
        reader = await turn(agent, request=TurnRequest(parts=("@agent-there go",)))
        await agent.close()

    assert [each.event.content for each in reader.events if each.event.type == "text"] == ["from there"]


async def test_a_model_and_a_mode_of_the_session_go_before_an_agents(house: House) -> None:
    house.users_file('[agents.there]\nmodel = "openai/mock"\nmode = "trust"\n')
    agent = house.agent()
    new = NewSession(agent="there", model="offline/rules", mode="accept_edits")

    reader = await turn(agent, new, TurnRequest(parts=("hello",)))

    (started,) = [each.event for each in reader.events if isinstance(each.event, TurnStarted)]
    assert (started.agent, started.model, started.mode) == ("there", "offline/rules", "accept_edits")
    await agent.close()


async def test_the_model_of_opus_is_one_that_litellm_lists() -> None:
    known = await PriceTable().look_up(SHIPPED["opus"].model, "anthropic", SHIPPED["opus"].model.split("/")[1], {})

    assert known.facts.has_price
