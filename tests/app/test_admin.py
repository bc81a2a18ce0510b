"""The administrator's settings in a running agent, and attempts to get around them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.events import (
    IterationLimitReached,
    Notice,
    PermissionDenied,
    TextDelta,
    ToolResult,
    TurnStarted,
)
from pygent_ls.agent.ports.hooks import HookOutcome
from pygent_ls.agent.ports.questioner import NobodyToAsk, QuestionAnswered
from pygent_ls.agent.turn.pauses import CONTINUE
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.app.prompt import prompt_settings
from pygent_ls.config.admin_file import AdminFile
from pygent_ls.editors.ports import FrontEnd, TrustQuestion
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.configuration import Configured, configure
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, bounded
from tests.hooks import FakeHooks
from tests.questioner import FakeQuestioner
from tests.sessions.subscribers import Reader

ALLOWING_HOOK = (
    '[[hooks]]\nevent = "{event}"\n'
    'command = \'\'\'echo \'{{"hookSpecificOutput": {{"hookEventName": "{name}", '
    '"permissionDecision": "allow", "decision": {{"behavior": "allow"}}}}}}\' \'\'\'\n'
)


class Machine:
    """A machine with an administrator, a user and a project that the user trusts. The model calls what `plays` says."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.users = home / "config" / "pygent-ls"
        self.folder = home / "project"
        self.admin_file = home / "etc" / "config.toml"
        self.script = home / "script.jsonl"
        for each in (self.users, self.folder / ".pygent", self.admin_file.parent):
            each.mkdir(parents=True)
        self.approver = FakeApprover(otherwise="allow_once")
        self.pauser = FakeQuestioner(*[QuestionAnswered(choice=CONTINUE)] * 9)
        self.hooks = FakeHooks({})
        self.agents: list[Agent] = []
        self.problems: Sequence[str] = ()
        self.plays()

    @property
    def model(self) -> str:
        return f"scripted:{self.script}"

    def plays(self, *calls: tuple[str, Mapping[str, Any]]) -> None:
        lines: list[Mapping[str, Any]] = [{"loop": True}]
        lines += [{"tool_calls": [{"name": name, "input": dict(given)}]} for name, given in calls]
        lines += [{"text": "done"}]
        self.script.write_text("".join(f"{json.dumps(each)}\n" for each in lines))

    def admin(self, text: str) -> None:
        self.admin_file.write_text(text)

    def user(self, text: str) -> None:
        (self.users / "config.toml").write_text(text)

    def project(self, text: str) -> None:
        (self.folder / ".pygent" / "config.toml").write_text(text)

    def agent(self, editor: Any = None) -> Agent:
        async def trust(_: TrustQuestion) -> bool:
            return True

        front_end = FrontEnd(
            workspace=DiskWorkspace([self.folder]),
            approver=self.approver,
            questioner=NobodyToAsk("nobody"),
            pauser=self.pauser,
            hooks=self.hooks,
            ask_trust=trust,
            on_session_change=lambda _session, _what: None,
        )
        admin_file = AdminFile(path=self.admin_file, owner=os.getuid())
        blueprint = read_settings(editor, [self.folder], admin_file=admin_file)
        self.problems = blueprint.problems
        self.agents.append(blueprint.build(front_end))
        return self.agents[-1]


@pytest.fixture
async def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    made = Machine(tmp_path)
    monkeypatch.setenv("PYGENT_MODEL", made.model)
    yield made
    for each in made.agents:
        await each.close()


async def turn(session: Session, **wanted: Any) -> Reader:
    reader = Reader()
    running = session.start_turn(TurnRequest(parts=(wanted.pop("prompt", "go"),), **wanted), reader)
    assert running.task is not None
    await bounded(running.task)
    return reader


def notices(reader: Reader) -> Sequence[str]:
    return [each.event.content for each in reader.events if isinstance(each.event, Notice)]


def said(reader: Reader) -> str:
    return "".join(each.event.content for each in reader.events if isinstance(each.event, TextDelta))


def started(reader: Reader) -> TurnStarted:
    return next(each.event for each in reader.events if isinstance(each.event, TurnStarted))


def locked(machine: Machine, what: str) -> Any:
    return pytest.raises(SessionError, match=f"{what}.*locked by {machine.admin_file}")


# A file that cannot be relied on


async def test_no_turn_begins_while_the_file_is_wrong_and_nothing_of_the_user_runs(machine: Machine) -> None:
    machine.user('[[hooks]]\nevent = "session_start"\ncommand = "touch ran"\n[mcp_servers.x]\ncommand = "no-such"')
    agent = machine.agent()
    session = agent.sessions.new(NewSession())
    machine.admin('sandbx = "require"')

    with pytest.raises(ModelError, match=f"{machine.admin_file} are not usable: sandbx") as why:
        await turn(session)

    assert "Nothing runs until the administrator corrects this." in str(why.value)
    assert not (machine.folder / "ran").exists()
    assert agent.mcp.statuses == ()
    machine.admin('sandbox = "auto"')
    assert said(await turn(session)) == "done"


async def test_a_session_does_not_begin_while_the_file_is_wrong(machine: Machine) -> None:
    machine.admin("max_iterations =")

    with pytest.raises(ModelError, match="not valid TOML"):
        machine.agent().sessions.new(NewSession())


async def test_a_file_that_others_can_write_stops_turns(machine: Machine) -> None:
    machine.admin("max_iterations = 3")
    machine.admin_file.chmod(0o666)

    with pytest.raises(ModelError, match="is writable by others than its owner"):
        machine.agent().sessions.new(NewSession())


# Models


async def test_only_the_listed_models_are_made_whoever_names_them(machine: Machine) -> None:
    machine.admin(f'[admin]\nmodels = ["{machine.model}", "anthropic/*"]')
    machine.user(
        'fallback_models = ["openai/gpt-5"]\n[agents.other]\nmodel = "openai/gpt-5"\n[completion]\nmodel = "openai/x"\n'
        '[cli_models.mine]\ncommand = ["true"]\n[acp_agents.mine]\ncommand = ["true"]\n[compaction]\nmodel = "gpt-5"'
    )
    agent = machine.agent()
    session = agent.sessions.new(NewSession())

    for name in (
        "openai/gpt-5",
        "gpt-5",
        "litellm/openai/gpt-5",
        "cli:mine",
        "cli:claude",
        "acp:mine",
        "x",
        "scripted:x",
    ):
        why = f"The model {name} is locked by {machine.admin_file}, which allows only: {machine.model}, anthropic/"
        with pytest.raises(ModelError) as refused:
            session.set_model(name)
        assert str(refused.value).startswith(why)
        with pytest.raises(ModelError, match="locked by"):
            agent.sessions.new(NewSession(model=name))
        with pytest.raises(ModelError, match="locked by"):
            session.start_turn(TurnRequest(parts=("go",), model=name), Reader())
        with pytest.raises(ModelError, match="locked by"):
            configure(session, Configured(model=name))
    for agent_name in ("other", "local"):
        with pytest.raises(ModelError, match="locked by"):
            session.start_turn(TurnRequest(parts=("go",), agent=agent_name), Reader())
    with pytest.raises(ModelError, match="locked by"):
        await agent._completion_model(agent._taken)  # pyright: ignore[reportPrivateUsage]
    assert any("compaction.model gpt-5 is not available" in each for each in notices(await turn(session)))
    session.set_model("anthropic/claude-opus-5-5")


async def test_a_subagent_with_another_model_is_not_started(machine: Machine) -> None:
    machine.admin(f'[admin]\nmodels = ["{machine.model}"]')
    machine.project('[agents.other]\nmodel = "openai/gpt-5"')
    machine.plays(("task", {"agent": "other", "description": "x", "prompt": "y"}))

    reader = await turn(machine.agent().sessions.new(NewSession()))

    (told,) = [each.event for each in reader.events if isinstance(each.event, ToolResult)]
    assert told.is_error
    assert "The model openai/gpt-5 is locked by" in told.content


async def test_a_turn_does_not_fall_back_to_another_model(machine: Machine) -> None:
    machine.admin(f'[admin]\nmodels = ["{machine.model}"]')
    other = machine.home / "other.jsonl"
    other.write_text('{"text": "from elsewhere"}\n')
    machine.user(f'fallback_models = ["scripted:{other}"]')
    machine.script.write_text('{"error": {"type": "auth", "message": "no"}}\n')

    reader = await turn(machine.agent().sessions.new(NewSession()))

    assert "from elsewhere" not in said(reader)


async def test_only_the_listed_models_are_offered(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-0123456789abcdef")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef0123456789abcdef")
    machine.admin(f'[admin]\nmodels = ["anthropic/*", "{machine.model}"]')

    names = {each.name.partition("/")[0] for each in await machine.agent().models()}

    assert "anthropic" in names
    assert names <= {"anthropic", "offline", machine.model.partition("/")[0]}


# What sessions choose


async def test_a_session_changes_nothing_that_is_locked(machine: Machine) -> None:
    other = machine.home / "other.jsonl"
    other.write_text('{"text": "from elsewhere"}\n')
    theirs = f"scripted:{other}"
    machine.admin(
        f'model = "{machine.model}"\nagent = "default"\neffort = "low"\nmode = "accept_edits"\n'
        '[context]\nmode = "fresh"'
    )
    machine.user(f'model = "{theirs}"\nmode = "trust"\n[agents.mine]\nmodel = "{theirs}"\nmode = "trust"')
    agent = machine.agent({"model": theirs, "mode": "trust", "context": {"mode": "continue"}})
    session = agent.sessions.new(NewSession())

    with locked(machine, "model"):
        session.set_model(theirs)
    with locked(machine, "model"):
        agent.sessions.new(NewSession(model=theirs))
    with locked(machine, "agent"):
        agent.sessions.new(NewSession(agent="mine"))
    with locked(machine, "mode"):
        agent.sessions.new(NewSession(mode="trust"))
    for wanted, what in (
        (Configured(model=theirs), "model"),
        (Configured(agent="mine"), "agent"),
        (Configured(mode="trust"), "mode"),
        (Configured(effort="max"), "effort"),
        (Configured(context_mode="continue"), "context.mode"),
    ):
        with locked(machine, what):
            configure(session, wanted)
    wishes = ({"model": theirs}, {"agent": "mine"}, {"mode": "trust"}, {"effort": "max"}, {"prompt": "@agent-mine go"})
    for given in wishes:
        with locked(machine, ""):
            await turn(session, **given)
    for command in (f"model {theirs}", "agent mine", "mode trust", "effort max"):
        assert f"locked by {machine.admin_file}" in said(await turn(session, prompt=f"/{command}"))

    event = started(await turn(session))
    assert (event.model, event.agent, event.mode) == (machine.model, "default", "accept_edits")
    configure(session, Configured(model=machine.model, agent="default", mode="plan"))
    assert started(await turn(session)).mode == "plan"


async def test_what_a_session_chose_before_it_was_locked_ends_with_the_next_turn(machine: Machine) -> None:
    other = machine.home / "other.jsonl"
    other.write_text('{"loop": true}\n{"text": "from elsewhere"}\n')
    agent = machine.agent()
    session = agent.sessions.new(NewSession(model=f"scripted:{other}", mode="trust"))
    assert said(await turn(session)) == "from elsewhere"

    machine.admin(f'model = "{machine.model}"\n[admin]\nmodes = ["default"]')

    assert said(await turn(session)) == "done"
    assert session.mode == "default"
    fork = await agent.sessions.fork(session.id)
    assert (fork.own_model, fork.mode) == (None, "default")


async def test_an_agent_keeps_within_the_modes_and_the_locked_settings(machine: Machine) -> None:
    machine.admin(
        f'model = "{machine.model}"\ntemperature = 0.5\n[admin]\nmodes = ["accept_edits"]\n'
        "[agents.ours]\ntemperature = 1.5\n"
    )
    machine.user('allow_bypass = true\n[agents.mine]\nmodel = "openai/x"\nmode = "trust"\ntemperature = 1.9')
    agents = {each.name: each for each in machine.agent().agents}

    assert (agents["mine"].model, agents["mine"].mode, agents["mine"].temperature) == ("", "accept_edits", None)
    assert (agents["opus"].model, agents["yolo"].mode, agents["plan"].mode) == ("", "accept_edits", "plan")
    assert agents["ours"].temperature == 1.5
    assert agents["mine"].notices == (
        f"The agent mine has mode accept_edits: trust is locked by {machine.admin_file}.",
        f"The agent mine does not have its own model: it is locked by {machine.admin_file}.",
        f"The agent mine does not have its own temperature: it is locked by {machine.admin_file}.",
    )


async def test_files_that_the_administrator_names_are_beside_that_file(machine: Machine) -> None:
    machine.admin('system_prompt_file = "prompt.md"\n[agents.ours]\nprompt_file = "ours.md"')
    machine.user('[agents.ours]\nprompt_file = "ours.md"')
    for folder in (machine.admin_file.parent, machine.users, machine.folder, machine.folder / ".pygent"):
        for name in ("prompt.md", "ours.md"):
            (folder / name).write_text(f"from {folder.name}")
    agent = machine.agent()

    prompt = await prompt_settings(agent._taken)  # pyright: ignore[reportPrivateUsage]
    assert prompt.replaced_by == "from etc"
    assert next(each.prompt for each in agent.agents if each.name == "ours") == "from etc"


async def test_an_agent_has_no_other_address_where_the_address_is_locked(machine: Machine) -> None:
    machine.admin('api_base = ""')
    machine.user('[agents.mine]\nmodel = "openai/x"\napi_base = "https://theirs.example/v1"')

    agents = {each.name: each for each in machine.agent().agents}

    assert (agents["mine"].model, agents["mine"].api_base, agents["local"].api_base) == ("openai/x", "", "")


async def test_only_the_listed_modes_are_offered(machine: Machine) -> None:
    machine.admin('[admin]\nmodes = ["default"]')
    agent = machine.agent()

    assert (await agent.beginning()).modes == ("default", "plan")
    listed = said(await turn(agent.sessions.new(NewSession()), prompt="/mode"))
    assert "`default`" in listed
    assert "`trust`" not in listed


# Limits


async def test_a_limit_of_a_turn_or_an_agent_is_cut_and_the_user_cannot_go_on(machine: Machine) -> None:
    machine.admin("max_iterations = 2")
    machine.user("[agents.mine]\nmax_iterations = 0")
    machine.plays(*[("find_files", {"pattern": f"*.{number}"}) for number in range(9)])
    session = machine.agent().sessions.new(NewSession())

    for wanted in ({"max_iterations": 100}, {"agent": "mine"}, {"agent": "yolo"}):
        reader = await turn(session, **wanted)
        reached = [each.event.limit for each in reader.events if isinstance(each.event, IterationLimitReached)]
        assert reached == [2]
        assert "This limit is the administrator's, so the turn ends." in notices(reader)
        cut = f"max_iterations = 100 is limited to 2 by {machine.admin_file}."
        assert (cut in notices(reader)) == ("max_iterations" in wanted)
    assert machine.pauser.questions == []


async def test_a_lower_limit_can_be_raised_up_to_the_administrators(machine: Machine) -> None:
    machine.admin("max_iterations = 5")
    machine.plays(*[("find_files", {"pattern": f"*.{number}"}) for number in range(9)])
    session = machine.agent().sessions.new(NewSession())

    reader = await turn(session, max_iterations=2)

    reached = [each.event.limit for each in reader.events if isinstance(each.event, IterationLimitReached)]
    assert reached == [2, 4, 5]
    assert len(machine.pauser.questions) == 2


async def test_a_limit_in_dollars_that_cannot_be_enforced_ends_the_turn(machine: Machine) -> None:
    machine.admin("max_budget_usd = 1")
    machine.user("[cli_models.mine]\ncommand = ['echo', 'x']")
    session = machine.agent().sessions.new(NewSession(model="cli:mine"))

    reader = await turn(session)

    assert "This limit is the administrator's, so the turn ends." in notices(reader)
    assert (said(reader), machine.pauser.questions) == ("", [])


async def test_thinking_is_cut_to_the_administrators_limit(machine: Machine) -> None:
    machine.admin("max_thinking_tokens = 1000")
    session = machine.agent().sessions.new(NewSession())
    configure(session, Configured(max_thinking_tokens=5000))

    assert session.choices.thinking_tokens(1000) == 1000


# Rules and hooks


@pytest.mark.parametrize("decision", ["deny", "ask"])
async def test_nothing_weakens_a_rule_of_the_administrator(machine: Machine, decision: str) -> None:
    machine.admin(f'[permissions]\n{decision} = ["create_file(secret/**)"]')
    loose = '[permissions]\nallow = ["create_file", "create_file(secret/**)"]\n'
    hooks = ALLOWING_HOOK.format(event="pre_tool_use", name="PreToolUse") + ALLOWING_HOOK.format(
        event="permission_request", name="PermissionRequest"
    )
    machine.user(f'allow_bypass = true\nmode = "bypass"\n{loose}{hooks}[agents.loose]\nmode = "bypass"')
    machine.project(f'mode = "trust"\n{loose}{hooks}')
    allow = HookOutcome(decision="allow")
    machine.hooks = FakeHooks({"pre_tool_use": allow, "permission_request": allow})
    machine.plays(("create_file", {"path": "secret/x", "content": "x"}))
    machine.approver = FakeApprover(otherwise="reject_once")
    editor = {"permissions": {"allow": ["create_file(**)"]}, "mode": "bypass"}
    session = machine.agent(editor).sessions.new(NewSession())

    for wanted in ({}, {"mode": "bypass"}, {"agent": "loose"}, {"mode": "trust"}):
        reader = await turn(session, **wanted)
        assert [each.event for each in reader.events if isinstance(each.event, PermissionDenied)]
        assert not (machine.folder / "secret").exists()
    assert len(machine.approver.requests) == (0 if decision == "deny" else 4)


async def test_always_allow_does_not_answer_an_ask_rule_of_the_administrator_again(machine: Machine) -> None:
    machine.admin('[permissions]\nask = ["create_file"]')
    machine.plays(("create_file", {"path": "x", "content": "x"}))
    machine.approver = FakeApprover("allow_always", otherwise="reject_once")
    session = machine.agent().sessions.new(NewSession())

    await turn(session)
    (machine.folder / "x").unlink()
    await turn(session)

    assert len(machine.approver.requests) == 2
    assert not (machine.folder / "x").exists()


async def test_only_the_administrators_hooks_run_where_they_are_exclusive(machine: Machine) -> None:
    hook = '[[hooks]]\nevent = "stop"\ncommand = "echo x >> {}"\n'
    machine.admin(f'{hook.format("ours")}[admin]\nexclusive = ["hooks"]')
    machine.user(hook.format("users"))
    machine.project(hook.format("projects"))
    machine.hooks = FakeHooks({"stop": HookOutcome()})
    session = machine.agent().sessions.new(NewSession())

    await turn(session)

    assert sorted(each.name for each in machine.folder.iterdir() if each.is_file()) == ["ours"]
    assert machine.hooks.events == []
    assert [each.partition(": ")[2] for each in machine.problems] == [
        f"hooks: only entries of {machine.admin_file} are used"
    ] * 2


# Folders


async def test_skills_commands_and_tools_of_others_are_not_used_where_they_are_exclusive(machine: Machine) -> None:
    for folder in (machine.users, machine.folder / ".pygent"):
        (folder / "skills" / "deploy").mkdir(parents=True)
        (folder / "skills" / "deploy" / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys.\n---\nx")
        (folder / "commands").mkdir()
        (folder / "commands" / "ship.md").write_text("Ship it.")
        (folder / "tools").mkdir()
        (folder / "tools" / "mine.py").write_text(
            "from pygent_ls.api import tool\n\n\n@tool(risk='low')\ndef mine() -> str:\n    'Mine.'\n    return ''\n"
        )
    agent = machine.agent()
    await turn(agent.sessions.new(NewSession()))
    assert len(await agent.skills()) == 1
    assert "ship" in [each.name for each in await agent.sessions.listed_commands()]
    assert "mine" in [each.name for each in agent.tools.list_all()]

    machine.admin('[admin]\nexclusive = ["skills", "commands", "tools"]')
    reader = await turn(agent.sessions.new(NewSession()))

    assert await agent.skills() == []
    assert "ship" not in [each.name for each in await agent.sessions.listed_commands()]
    assert "mine" not in [each.name for each in agent.tools.list_all()]
    unused = f"not used, locked by {machine.admin_file}"
    assert len([each for each in notices(reader) if each.endswith(unused)]) == 6
