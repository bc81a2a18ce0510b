"""Commands of the user's and the workspace's own, and aliases: prompts that reach the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.agent.context.attachments import FilePart
from pygent_ls.agent.events import Notice, TurnStarted
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import bounded, say
from tests.sessions.shelf import Shelf
from tests.sessions.subscribers import Reader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made


async def told(shelf: Shelf, prompt: str, *parts: FilePart, model: str | None = None) -> Reader:
    """The events of a turn."""
    reader = Reader()
    running = shelf.session.start_turn(TurnRequest(parts=(prompt, *parts), model=model), reader)
    assert running.task is not None
    await bounded(running.task)
    return reader


def notices(reader: Reader) -> list[str]:
    return [each.event.content for each in reader.events if isinstance(each.event, Notice)]


async def test_an_own_command_is_a_prompt_with_its_arguments_and_the_user_sees_what_they_wrote(folder: Path) -> None:
    shelf = Shelf(folder, [say("mended")])
    shelf.write_command("git/fix", "---\ndescription: Mend it\n---\nMend issue $1 of $2: $ARGUMENTS")

    reader = await told(shelf, "/Git:Fix 12 'the parser'")

    assert shelf.asked == "Mend issue 12 of the parser: 12 'the parser'"
    beginning = reader.events[0].event
    assert isinstance(beginning, TurnStarted)
    assert beginning.prompt == "/Git:Fix 12 'the parser'"
    assert [message.text for message in shelf.session.messages] == [shelf.asked, "mended"]
    assert "- `/git:fix`: Mend it" in (await shelf.text("/help")).splitlines()
    assert await shelf.text("/help git:fix") == "`/git:fix`: Mend it\nUsage: `/git:fix […]`"


async def test_what_is_attached_goes_with_it(folder: Path) -> None:
    (folder / "a.txt").write_text("plum")
    shelf = Shelf(folder, [say("x")])
    shelf.write_command("look", "Look at this.")

    await told(shelf, "/look", FilePart(path=folder / "a.txt"))

    assert "plum" in shelf.asked
    assert shelf.asked.endswith("Look at this.")


async def test_the_users_command_chooses_agent_model_and_tools_for_its_turn_alone(folder: Path) -> None:
    shelf = Shelf(folder, [say("x"), say("y")])
    head = "---\nagent: plan\nmodel: fake/model\nallowed-tools: read_file, grep_*\n---\n"
    shelf.write_command("look", f"{head}Look.")

    reader = await told(shelf, "/look")
    await shelf.say("and now?")

    first, second = shelf.model.requests
    assert [tool.name for tool in first.tools] == ["read_file", "grep_search"]
    assert len(second.tools) > 10
    assert "plan" in str([each.event for each in reader.events if isinstance(each.event, TurnStarted)])
    assert shelf.session.agent == "default"


async def test_a_model_that_the_user_chose_for_the_turn_goes_before_the_commands(folder: Path) -> None:
    shelf = Shelf(folder, [say("x")])
    shelf.write_command("look", "---\nmodel: other/model\n---\nLook.")

    await told(shelf, "/look", model="fake/model")

    assert shelf.asked == "Look."


async def test_a_workspaces_command_may_only_let_the_turn_do_less_and_says_what_it_left_out(folder: Path) -> None:
    shelf = Shelf(folder, [say("x"), say("y")])
    head = "---\nagent: yolo\nmodel: other/model\ntools: [read_file]\n---\n"
    shelf.write_command("look", f"{head}@agent-yolo look at $1.", of_workspace=True)
    shelf.write_command("plan-it", "---\nagent: plan\n---\nPlan.", of_workspace=True)

    reader = await told(shelf, "/look it")
    planned = await told(shelf, "/plan-it")

    assert shelf.model.requests[0].messages[-1].text == "@agent-yolo look at it."
    assert [tool.name for tool in shelf.model.requests[0].tools] == ["read_file"]
    assert [each.partition(",")[0] for each in notices(reader)] == [
        "/look sets the agent `yolo`",
        "/look sets the model `other/model`",
    ]
    first = reader.events[0].event
    assert isinstance(first, TurnStarted)
    assert (first.agent, first.mode) == ("default", "trust")
    assert notices(planned) == []
    begun = planned.events[0].event
    assert isinstance(begun, TurnStarted)
    assert (begun.agent, begun.mode) == ("plan", "plan")


@pytest.mark.parametrize(
    ("text", "said", "agent"),
    [
        ("@agent-yolo go", "/look", "default"),
        ("@@agent-agent-yolo @@agent-yolo go", "/look", "default"),
        ('@"agent-yolo" go', "/look", "default"),
        ("@$1agent-yolo go", "/look", "default"),
        ("@agent-$1 go", "/look yolo", "default"),
        ("@agent-yolo $ARGUMENTS", "/look @agent-review", "review"),
    ],
)
async def test_only_the_users_own_words_choose_an_agent(folder: Path, text: str, said: str, agent: str) -> None:
    shelf = Shelf(folder, [say("x")])
    shelf.write_command("look", text, of_workspace=True)

    first = (await told(shelf, said)).events[0].event

    assert isinstance(first, TurnStarted)
    assert first.agent == agent


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "---\ntools: Bash\n---\nGo.",
            "The user command `/look` requires the tool `Bash`, which does not exist. Available: ",
        ),
        ("---\nmodel: none/such\n---\nGo.", "there is no model none/such"),
        ("---\nagent: nobody\n---\nGo.", "The user command `/look` requires the agent `nobody`, which does not exist"),
        ("---\n", "The user command `/look` cannot be used: its front matter does not end"),
    ],
)
async def test_a_command_that_cannot_be_used_says_why(folder: Path, text: str, says: str) -> None:
    shelf = Shelf(folder)
    shelf.write_command("look", text)

    result = await shelf.say("/look")

    assert result.stop_reason == "error"
    assert result.text.startswith(says)
    assert shelf.model.requests == []


async def test_built_in_names_stay_and_the_users_go_before_the_workspaces_which_is_told(folder: Path) -> None:
    shelf = Shelf(folder, [say("x")])
    shelf.write_command("help", "Mine.")
    shelf.write_command("look", "Mine.")
    shelf.write_command("look", "The workspace's.", of_workspace=True)
    shelf.aliases |= {"look": "/help", "Undo": "/help"}

    await shelf.say("/look")
    listed = (await shelf.text("/help")).splitlines()

    assert shelf.asked == "Mine."
    assert listed[-4:] == [
        "The user's own command `help` is ignored: `/help` is built in.",
        "The workspace's own command `look` is ignored: `/look` is defined by the user.",
        "The alias `look` is ignored: `/look` is defined by the user.",
        "The alias `undo` is ignored: `/undo` is built in.",
    ]


# Aliases


async def test_an_alias_stands_for_a_command_or_a_prompt_and_what_stands_behind_it_goes_with_it(folder: Path) -> None:
    shelf = Shelf(folder, [say("x"), say("y"), say("z")])
    shelf.write_command("fix", "Mend $1.")
    shelf.aliases |= {"f": "/fix", "ff": "/f", "quick": "/mode accept_edits", "tidy": "Tidy $1 up.", "say": "Say"}

    await shelf.say("/ff 12")
    assert shelf.asked == "Mend 12."
    await shelf.say("/tidy a.py")
    assert shelf.asked == "Tidy a.py up."
    await shelf.say("/say hello there")
    assert shelf.asked == "Say hello there"
    assert (await shelf.text("/quick")).startswith("Mode set to `accept_edits`")
    assert "- `/ff`: alias for `/f`" in (await shelf.text("/help")).splitlines()


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("/a", "The aliases in the settings form a cycle: `/a` → `/b` → `/a`."),
        ("/self", "The aliases in the settings form a cycle: `/self` → `/self`."),
        ("/lost", "There is no command `/nowhere`."),
    ],
)
async def test_an_alias_that_leads_nowhere_says_so(folder: Path, prompt: str, says: str) -> None:
    shelf = Shelf(folder)
    shelf.aliases |= {"a": "/b", "b": "/a", "self": "/self", "lost": "/nowhere"}

    result = await shelf.say(prompt)

    assert result.stop_reason == "error"
    assert result.text.startswith(says)
