"""What the model is given when a turn begins: the project's instructions, and what the user's words carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from pygent_ls.agent.context.attachments import EditorPart, FilePart, PromptPart
from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.context.window import ContextRules
from pygent_ls.agent.messages import Message, TextBlock, user_message
from pygent_ls.agent.ports.editor_state import View
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.extensions.instructions import RepositoryInstructions
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.turns.prompt import Opening, content_of, opening
from tests.agent.abilities import FILE_TOOLS, place
from tests.fakes import Rig, make_rig, with_parts
from tests.sessions.turns.test_mentions import FakeEditor

FILES = {"AGENTS.md": "Say PINEAPPLE.", "a/AGENTS.md": "Say MANGO.", "a/x.py": "1", "b.py": "2"}

MANGO = (
    "<reminder>The repository has its own instructions for files below a/.</reminder>\n<instructions "
    'file="a/AGENTS.md">\nSay MANGO.\n</instructions>'
)


@dataclass
class Desk:
    """A session's beginning of turns; its system prompt is the instructions alone."""

    rig: Rig
    history: list[Message] = field(default_factory=list[Message])
    rules: ContextRules = field(default_factory=ContextRules)
    wanted: list[PromptFor] = field(default_factory=list[PromptFor])

    async def make(self, wanted: PromptFor) -> str:
        """The instructions, as they are handed on."""
        self.wanted.append(wanted)
        return "\n".join(each.shown for each in wanted.instructions)

    async def open(self, *parts: PromptPart) -> Opening:
        """Begin a turn, which joins the history."""
        made = await opening(
            parts,
            self.rig.services,
            self.make,
            history=self.history,
            rules=self.rules,
            wanted=PromptFor(mode="plan", tools=["read_file"], agent="You review."),
        )
        self.history.append(user_message(made.content))
        return made


def desk(files: Mapping[str, str] = FILES, *, redactor: Redactor | None = None) -> Desk:
    """A desk on these files."""
    rig = make_rig(*FILE_TOOLS, files=files)
    own = RepositoryInstructions(rig.workspace)
    return Desk(rig.use(instructions=own, secrets=SessionSecrets(redactor, rig.workspace)))


def said(opened: Opening) -> list[str]:
    """The texts of the user's message."""
    blocks = user_message(opened.content).blocks
    return [each.text for each in blocks if isinstance(each, TextBlock)]


async def test_the_roots_instructions_are_in_the_system_prompt_with_what_the_turn_tells_of_itself() -> None:
    own = desk()

    opened = await own.open("hello")

    assert opened == Opening(system='<instructions file="AGENTS.md">\nSay PINEAPPLE.\n</instructions>', content="hello")
    (wanted,) = own.wanted
    assert (wanted.mode, wanted.tools, wanted.agent) == ("plan", ["read_file"], "You review.")


@pytest.mark.parametrize(
    "part", [FilePart(path=place("a/x.py")), EditorPart(active=place("a/x.py"), visible=()), "@a/x.py"]
)
async def test_those_of_the_folder_of_a_file_that_is_named_come_before_the_words(part: PromptPart) -> None:
    texts = said(await desk().open(part, " go"))
    assert texts[0] == MANGO
    assert texts[-1].endswith(" go")


async def test_the_file_that_the_user_is_in_is_named_by_being_there() -> None:
    own = desk()
    services = with_parts(own.rig.services, editor=FakeEditor(View(active=place("a/x.py"))))
    own.rig = replace(own.rig, services=services)
    assert said(await own.open("go")) == [MANGO, "go"]


async def test_what_was_said_is_not_said_again_while_the_model_still_reads_it() -> None:
    own = desk()
    await own.open("see @a/x.py")
    assert MANGO not in said(await own.open("again @a/x.py"))
    own.rules = ContextRules(mode="fresh")
    assert MANGO in said(await own.open("afresh @a/x.py"))


async def test_what_was_taken_back_or_cleared_with_the_conversation_is_said_again() -> None:
    own = desk()
    await own.open("see @a/x.py")
    own.history.clear()
    assert MANGO in said(await own.open("see @a/x.py"))


async def test_a_change_of_the_roots_file_counts_from_the_next_turn_unsaved_or_not() -> None:
    own = desk()
    await own.open("one")
    own.rig.workspace.type_text("AGENTS.md", "Say PLUM.")
    assert "Say PLUM." in (await own.open("two")).system


async def test_a_key_in_them_reaches_no_model() -> None:
    key = "ghp_" + "a1B2" * 9
    own = desk(
        {"AGENTS.md": f"root {key}", "a/AGENTS.md": f"a {key}", "a/x.py": ""},
        redactor=Redactor(find_secrets, key=b"k"),
    )
    opened = await own.open("@a/x.py")
    assert key not in repr(opened)
    assert "root {{SECRET_" in opened.system


async def test_every_value_of_a_file_of_secrets_that_is_imported_is_masked() -> None:
    own = desk(
        {"CLAUDE.md": "@deep/.env", "deep/.env": "PLAIN=plumsandpears\n"}, redactor=Redactor(find_secrets, key=b"k")
    )
    opened = await own.open("hi")
    assert "PLAIN={{SECRET_" in opened.system


async def test_what_is_said_meanwhile_brings_them_too() -> None:
    own = desk()
    await own.open("go")
    content = await content_of(("look at @a/x.py",), own.rig.services)
    assert isinstance(content, tuple)
    assert content[0] == TextBlock(text=MANGO)
