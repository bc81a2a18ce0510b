"""Commands that tell and choose: answered by the session, without a model, and no part of the conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.events import Notice
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.errors import SessionError
from pygent_ls.extensions.mcp.server import ServerStatus
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.commands.registry import built_in
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import Call, Gate, bounded, say
from tests.sessions.conversation import conversation
from tests.sessions.shelf import Shelf
from tests.sessions.subscribers import Reader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made


# What every command does


async def test_every_command_says_how_it_is_used_and_none_asks_a_model(folder: Path) -> None:
    shelf = Shelf(folder)

    for name, command in built_in().items():
        told = await shelf.text(f"/help {name}")
        assert told.startswith(f"`/{name}`: {command.description}")
    for prompt in (
        "/help",
        "/model",
        "/agent",
        "/effort",
        "/mode",
        "/permissions",
        "/cost",
        "/tools",
        "/mcp",
        "/voice",
    ):
        assert (await shelf.say(prompt)).stop_reason == "end_turn", prompt

    assert shelf.model.requests == []
    assert shelf.session.messages == []
    assert shelf.session.usage == Usage()


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("/cost now", "`/cost` does not accept arguments."),
        ("/permissions list x", "`/permissions list` does not accept arguments."),
        ("/search", "An argument is missing.\nUsage: `/search WORDS`"),
        ("/checkpoint diff", "An argument is missing.\nUsage: `/checkpoint diff ID`"),
        (
            "/checkpoint show 1",
            "`/checkpoint` has no subcommand `show`.\nUsage: `/checkpoint list`, `/checkpoint diff ID`, ",
        ),
        ("/mode quick", "mode: 'quick' must be one of `default`, `accept_edits`, `plan`, `trust`, `bypass`.\n"),
        (
            "/effort huge",
            "effort: 'huge' must be one of `none`, `minimal`, `low`, `medium`, `high`, ",
        ),
        ("/mode plan trust", "mode: 'plan trust' must be one of"),
        ("/agent nobody", "agent: 'nobody' must be one of `default`, `plan`"),
        ("/model far/model please", "Name one model as `PROVIDER/MODEL`.\nUsage: `/model [NAME]`"),
        ("/model far/\nmodel", "Name one model as `PROVIDER/MODEL`."),
        ("/model none/such", "there is no model none/such"),
        ("/checkpoint restore nine", "There is no checkpoint 'nine'. `/checkpoint list` shows them.\nUsage: "),
        ("/session load nine", "There is no other session 'nine'. `/session list` shows them.\nUsage: "),
        ("/session load\n nine", "There is no other session 'nine'."),
        ("/session delete", "An argument is missing.\nUsage: `/session delete ID`"),
        ("/session fork 3", "There is no turn '3'. The conversation has 0 turns; the first is 1.\n"),
        ("/export pdf", "format: 'pdf' must be one of `markdown`, `json`, `xml`, `plain`, `html`.\nUsage: "),
        ("/export --force", "format: '' must be one of `markdown`"),
        ("/permissions forget shell", "There is no rule 'shell'. `/permissions` lists them.\nUsage: "),
        ("/help frob", "There is no command 'frob'. `/help` lists them.\nUsage: `/help [COMMAND]`"),
        ("/continue", "There is nothing to continue: the conversation is empty."),
        ("/compact", "There is nothing to compact"),
    ],
)
async def test_what_a_command_cannot_do_is_an_error_that_says_what_would_work(
    folder: Path, prompt: str, says: str
) -> None:
    result = await Shelf(folder).say(prompt)

    assert result.stop_reason == "error"
    assert result.text.startswith(says)
    assert result.error is not None
    assert not result.error.retryable


# Choosing


async def test_an_effort_is_shown_and_chosen(folder: Path) -> None:
    shelf = Shelf(folder, [say("x")])

    shown = await shelf.text("/effort")
    chosen = await shelf.text("/effort high")
    await shelf.say("go")

    assert shown.startswith("The agent, the settings or the model determine the effort.")
    assert chosen.startswith("Effort set to `high` from the next prompt on")
    assert (await shelf.text("/effort")).startswith("Current effort: `high`.")
    assert [request.effort for request in shelf.model.requests] == ["high"]
    await shelf.say("/effort default")
    assert (await shelf.text("/effort")).startswith("The agent, the settings or the model determine the effort.")


async def test_a_model_is_shown_with_those_that_could_be_used_and_chosen(folder: Path) -> None:
    shelf = Shelf(folder, [say("x")])

    shown = await shelf.text("/model")
    chosen = await shelf.text("/model other/model")
    again = await shelf.text("/model")

    assert shown.splitlines() == [
        "Current model: `fake/model`.",
        "Ready to use: `fake/model`.",
        "- `far/model`: needs FAR_KEY",
        "`/model NAME` switches to any model of any provider.",
    ]
    assert chosen == "Model set to `other/model`."
    assert again.startswith("Current model: `other/model`.")
    assert (await shelf.say("go")).stop_reason == "error"  # it has nothing to say
    assert shelf.model.requests == []


async def test_a_mode_is_chosen_and_one_that_is_not_allowed_says_what_it_needs(folder: Path) -> None:
    shelf = Shelf(folder, mode="default")

    chosen = await shelf.text("/mode plan")
    refused = await shelf.say("/mode bypass")

    assert chosen == "Mode set to `plan`: read-only: plans but changes nothing."
    assert "allow_bypass = true" in refused.text
    assert shelf.session.permissions.mode == "plan"
    assert "- `plan`: read-only: plans but changes nothing (current)" in (await shelf.text("/mode")).splitlines()


async def test_an_agent_is_chosen_for_the_session_or_for_one_prompt(folder: Path) -> None:
    shelf = Shelf(folder, [say("looked"), say("did")])

    once = await shelf.say("/agent review\nwhat is wrong here?")
    told = await shelf.text("/agent")
    chosen = await shelf.text("/agent plan")

    assert once.text == "looked"
    assert shelf.asked == "what is wrong here?"
    assert told.startswith("Current agent: `default`.")
    assert chosen.startswith("Agent set to `plan`:")
    assert shelf.session.agent == "plan"


async def test_rules_are_listed_with_where_they_are_from_and_forgotten(folder: Path) -> None:
    rules = [
        Rule(text="shell(git status:*)", decision="allow", origin="always_allow"),
        Rule(text="read_file(**/.env)", decision="deny", origin="user"),
    ]
    shelf = Shelf(folder, rules=rules)

    before = await shelf.text("/permissions")
    forgotten = await shelf.text("/permissions forget shell(git status:*)")
    after = await shelf.text("/permissions list")

    assert "- allow `shell(git status:*)` (Always allow)" in before.splitlines()
    assert "- deny `read_file(**/.env)` (your settings)" in before.splitlines()
    assert forgotten == "Removed the rule `shell(git status:*)`."
    assert "shell" not in after


async def test_tools_are_listed_with_their_risk(folder: Path) -> None:
    lines = (await Shelf(folder).text("/tools")).splitlines()

    assert any(line.startswith("- `read_file` (low risk, read-only): ") for line in lines)
    assert any(line.startswith("- `shell` (high risk): ") for line in lines)


# Telling


async def test_what_was_spent_is_told_for_the_turn_and_the_session_and_an_unknown_price_as_such(folder: Path) -> None:
    priced = Usage(input_tokens=1000, output_tokens=234, cache_read_tokens=800, cost_usd=0.01234)
    shelf = Shelf(folder, [say("a", usage=priced), say("b", usage=priced), say("c")])

    nothing = await shelf.text("/cost")
    await shelf.say("one")
    await shelf.say("two")
    known = await shelf.text("/cost")
    await shelf.say("three")
    unknown = await shelf.text("/cost")

    assert nothing == "No usage yet: no model was called."
    assert known.splitlines() == [
        "- last turn: 1,234 tokens (1,000 in, 800 of it cached, 234 out), $0.0123",
        "- session: 2,468 tokens (2,000 in, 1,600 of it cached, 468 out), $0.0247",
    ]
    assert unknown.splitlines()[0] == "- last turn: 120 tokens (100 in, 20 out), cost unknown"
    assert "Set it in" in unknown.splitlines()[2]


async def test_the_mcp_servers_are_listed_with_their_tools_and_started_again(folder: Path) -> None:
    shelf = Shelf(folder)
    none = await shelf.text("/mcp")
    shelf.mcp.statuses += [
        ServerStatus(
            name="docs", state="connected", tools=("mcp__docs__find",), prompts=("mcp__docs__sum",), n_resources=2
        ),
        ServerStatus(name="git", state="failed", error="The program git-server was not found."),
    ]

    some = await shelf.text("/mcp")

    assert none == "The settings define no MCP servers (`[mcp_servers.NAME]`)."
    assert some.splitlines() == [
        "- `docs`: connected, 1 tool, 2 resources",
        "  - `mcp__docs__find`",
        "  - `/mcp__docs__sum`",
        "- `git`: failed. The program git-server was not found.",
    ]
    assert await shelf.text("/mcp restart git") == "The MCP server `git` is started again."
    assert "There is no MCP server 'pear' in the settings." in await shelf.text("/mcp restart pear")
    assert await shelf.text("/mcp login docs") == (
        "You are signed in to the MCP server `docs`, which is started again."
    )
    assert await shelf.text("/mcp logout docs") == "You are signed out of the MCP server `docs`."
    assert await shelf.text("/mcp logout docs") == "You were not signed in."
    assert "/mcp stop is not known." in await shelf.text("/mcp stop git")
    assert shelf.mcp.restarted == ["git"]


async def test_the_log_of_an_mcp_server_is_shown(folder: Path) -> None:
    shelf = Shelf(folder)
    shelf.mcp.statuses.append(ServerStatus(name="git", state="failed"))

    assert await shelf.text("/mcp log git") == "The MCP server `git` has written no log."
    shelf.mcp.logs["git"] = ["[starting]", "```", "no repository"]
    assert await shelf.text("/mcp log git") == "````\n[starting]\n```\nno repository\n````"


async def test_the_context_is_told_by_what_fills_it(folder: Path) -> None:
    shelf = Shelf(folder, [say("an answer of some words " * 40)])
    await shelf.say("a question " * 100)

    lines = (await shelf.text("/context")).splitlines()

    assert lines[0].startswith("The next request has about ")
    assert "- conversation: 2 of 2 messages, mode `continue`" in lines
    assert "- your prompts: about 275 tokens" in lines
    assert "- answers: about 240 tokens" in lines


# The conversation


async def test_clear_empties_the_conversation_and_leaves_files_alone(folder: Path) -> None:
    shelf = Shelf(folder, [say("a"), say("b")])
    await shelf.say("one")

    cleared = await shelf.text("/clear")
    await shelf.say("two")

    assert cleared == "Conversation cleared: 2 messages removed. Files are unchanged."
    assert [message.text for message in shelf.model.requests[-1].messages] == ["two"]
    assert await shelf.text("/clear") == "Conversation cleared: 2 messages removed. Files are unchanged."
    assert await shelf.text("/clear") == "The conversation is already empty."


async def test_compact_sums_up_with_an_instruction_and_the_next_request_is_shorter(folder: Path) -> None:
    long = "word " * 2000
    shelf = Shelf(folder, [say(long), say(long), say("SUMMARY"), say("on")])
    await shelf.say(f"first {long}")
    await shelf.say("second")

    compacted = await shelf.say("/compact keep the names")
    await shelf.say("third")

    assert compacted.stop_reason == "end_turn"
    assert "messages: the next request has about" in compacted.text
    assert compacted.usage.total_tokens == 120
    sent = "\n".join(message.text for message in shelf.model.requests[-1].messages)
    assert "SUMMARY" in sent
    assert len(shelf.session.messages) == 6


async def test_a_compaction_is_cancelled_and_then_nothing_has_happened(folder: Path) -> None:
    gate = Gate()
    long = "word " * 2000
    shelf = Shelf(folder, [say(long), say(long), [gate, *say("SUMMARY")], say("on")])
    await shelf.say(f"first {long}")
    await shelf.say("second")
    before = list(shelf.session.messages)

    reader = Reader()
    running = shelf.session.start_turn(TurnRequest(parts=("/compact",)), reader)
    await gate.reached()
    assert running.cancel()
    assert running.task is not None
    result = await bounded(running.task)

    assert result.stop_reason == "cancelled"
    assert reader.types[0] == "turn_started"
    assert reader.types[-2:] == ["cancelled", "finished"]
    assert shelf.session.messages == before


async def test_a_session_that_is_being_compacted_is_not_forgotten(folder: Path) -> None:
    gate = Gate()
    long = "word " * 2000
    shelf = Shelf(folder, [say(long), say(long), [gate, *say("SUMMARY")]])
    await shelf.say(f"first {long}")
    await shelf.say("second")

    compacting = asyncio.create_task(shelf.session.compact())
    await gate.reached()
    with pytest.raises(SessionError) as raised:
        await shelf.sessions.delete(shelf.session.id)
    gate.open()
    await bounded(compacting)

    assert raised.value.kind == "turn_running"
    assert shelf.sessions.all() == [shelf.session]


async def test_continue_goes_on_with_what_was_cut_off(folder: Path) -> None:
    shelf = Shelf(folder, [say("half"), say("other half"), say("more")])
    await shelf.say("tell me")

    assert await shelf.text("/continue") == "other half"
    assert shelf.asked == "Go on where you stopped. Do not repeat what is done."
    await shelf.say("/continue with the tests")
    assert shelf.asked.endswith("\n\nwith the tests")


async def test_init_has_the_model_write_an_agents_md(folder: Path) -> None:
    shelf = Shelf(folder, [say("written")])

    result = await shelf.say("/init for the backend team")

    assert result.text == "written"
    assert "`AGENTS.md`" in shelf.asked
    assert shelf.asked.endswith("\n\nfor the backend team")


# Going back


async def test_a_checkpoint_is_compared_and_gone_back_to_by_the_beginning_of_its_id(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    shelf = Shelf(folder, [say("", edit), say("done")])
    await shelf.say("change it")
    (point,) = shelf.session.checkpoints

    diff = await shelf.text(f"/checkpoint diff {point.id[:12]}")
    restored = await shelf.text(f"/checkpoint restore {point.id} files")

    assert "-one\n+two" in diff
    assert (folder / "a.txt").read_text() == "one\n"
    assert "Restored: `a.txt`." in restored
    assert len(shelf.session.messages) == 5  # the model is told of it
    undo = shelf.session.checkpoints[-1].id
    assert restored.endswith(f"`/checkpoint restore {undo}` undoes this.")
    await shelf.text(f"/checkpoint restore {undo}")
    assert (folder / "a.txt").read_text() == "two\n"
    assert len(shelf.session.messages) == 4


async def test_a_conversation_is_not_taken_over_while_a_model_is_asked(folder: Path) -> None:
    gate = Gate()
    shelf = Shelf(folder, [[gate, *say("x")]])
    running = shelf.session.start_turn(TurnRequest(parts=("go",)), Reader())
    await gate.reached()

    with pytest.raises(SessionError) as raised:
        shelf.session.take_conversation(())

    gate.open()
    assert running.task is not None
    await bounded(running.task)
    assert raised.value.kind == "turn_running"


async def test_a_model_that_is_chosen_while_a_turn_runs_is_asked_from_its_next_call_on(folder: Path) -> None:
    gate = Gate()
    call = Call(name="list_files", arguments={})
    shelf = Shelf(folder, [[gate, *say("", call)], say("never")])
    running = shelf.session.start_turn(TurnRequest(parts=("go",)), Reader())
    await gate.reached()

    shelf.session.set_model("other/model")
    gate.open()
    assert running.task is not None
    result = await bounded(running.task)

    assert len(shelf.model.requests) == 1
    assert result.error is not None
    assert result.error.provider == "other/model"  # it has nothing to say


async def test_a_model_that_is_chosen_while_a_turn_is_prepared_is_asked_in_it() -> None:
    gate = Gate()

    async def slow_prompt(_: PromptFor) -> str:
        await gate.pass_through()
        return "You are a test."

    talk = conversation([say("never")], make_system_prompt=slow_prompt, other=[say("from the other")])
    turn, _ = talk.start()
    await gate.reached()

    talk.session.set_model("other/model")
    gate.open()

    assert (await turn.result()).text == "from the other"


async def test_an_answer_shows_no_secret(folder: Path) -> None:
    key = "AKIA" + "Q3EGW7MJ5NPXU4TR"
    shelf = Shelf(folder, redactor=Redactor(find_secrets, key=b"k"))
    shelf.write_command("look", f"---\ndescription: use {key}\n---\nGo.", of_workspace=True)

    listed = await shelf.sessions.listed_commands()
    answers = [await shelf.say(prompt) for prompt in ("/help", f"/model {key}", f"/agent {key}")]

    assert key not in repr(answers)
    assert [each.description.partition("{{SECRET_")[0] for each in listed if each.name == "look"] == ["use "]
    assert all("{{SECRET_" in answer.text for answer in answers)


# Background commands


async def test_background_commands_are_listed_stopped_and_the_model_learns_of_it(folder: Path) -> None:
    shell = Call(name="shell", arguments={"command": "sleep 600", "background": True})
    shelf = Shelf(
        folder,
        [say("", shell), say("it runs"), say("I see")],
        rules=[Rule(text="shell", decision="allow", origin="user")],
    )
    none = await shelf.text("/background")
    await shelf.say("start it")
    (command,) = await shelf.session.services.environment.processes.background.listed(shelf.session.id)

    listed = await shelf.text("/background")
    stopped = await shelf.text(f"/background stop {command.name}")
    again = await shelf.text(f"/background stop {command.name}")
    await shelf.say("and now?")

    assert none == "This session has no background commands."
    assert listed.startswith(f"- `{command.name}` running, since ")
    assert listed.splitlines()[0].endswith(": sleep 600")
    assert (stopped, again) == (f"`{command.name}` was stopped.", f"`{command.name}` had already ended.")
    sent = "".join(message.text for message in shelf.model.requests[-1].messages[-1:])
    assert f"The background command {command.name} (sleep 600) was stopped by the user." in sent
    assert shelf.told == [f"The background command {command.name} (sleep 600) was stopped by the user."]
    await bounded(shelf.session.close())


async def test_a_background_command_that_ends_in_a_turn_is_told_there(folder: Path) -> None:
    start = Call(name="shell", arguments={"command": "exit 3", "background": True})
    wait = Call(name="shell_output", arguments={"shell_id": "shell_1", "wait_s": 30})
    shelf = Shelf(
        folder,
        [say("", start), say("", wait), say("done")],
        rules=[Rule(text="shell", decision="allow", origin="user")],
    )

    running = shelf.session.start_turn(TurnRequest(parts=("start it",)), reader := Reader())
    assert running.task is not None
    await bounded(running.task)

    said = "The background command shell_1 (exit 3) ended with exit code 3."
    assert Notice(content=said) in [each.event for each in reader.events]
    assert said in "".join(message.text for message in shelf.model.requests[-1].messages)
    assert shelf.told == []
    await bounded(shelf.session.close())
