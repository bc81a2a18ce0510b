"""What a repository says of a folder reaches the model with the first file of it that is read or changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pygent_ls.agent.context.window import CompactionRules, ContextRules
from pygent_ls.agent.events import Compacted
from pygent_ls.agent.messages import Message, TextBlock
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.errors import ModelError
from pygent_ls.extensions.instructions import RepositoryInstructions
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from tests.agent.abilities import FILE_TOOLS
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeApprover, FakeModel, Rig, make_rig, say

FILES = {"AGENTS.md": "root", "a/AGENTS.md": "In a: MANGO.\n", "a/x.py": "1", "a/y.py": "2", "b.py": ""}

TOLD = (
    "<reminder>The repository has its own instructions for files below a/.</reminder>\n<instructions "
    'file="a/AGENTS.md">\nIn a: MANGO.\n</instructions>'
)


def rig_of(files: Mapping[str, str] = FILES, *rules: Rule, redactor: Redactor | None = None) -> Rig:
    """Tools on files, and what the project says of them."""
    rig = make_rig(*FILE_TOOLS, files=files, rules=rules, approver=FakeApprover(otherwise="allow_once"))
    own = RepositoryInstructions(rig.workspace)
    return rig.use(instructions=own, secrets=SessionSecrets(redactor, rig.workspace))


async def remarks(rig: Rig, *batches: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[str]]:
    """What stands beside the results of these calls, batch by batch."""
    history = list[Message]()
    answers = [say("", *(Call(name=name, arguments=arguments) for name, arguments in batch)) for batch in batches]
    await run_turn(rig, FakeModel([*answers, say("done")]), history)
    return [[each.text for each in message.blocks if isinstance(each, TextBlock)] for message in history[2::2]]


async def test_they_come_once_beside_the_result_of_the_first_file_that_is_read() -> None:
    x, y, b = (("read_file", {"path": path}) for path in ("a/x.py", "a/y.py", "b.py"))
    assert await remarks(rig_of(), [b], [x, y], [x]) == [[], [TOLD], []]


async def test_a_file_that_is_made_has_them_too() -> None:
    assert await remarks(rig_of(), [("create_file", {"path": "a/new.py", "content": ""})]) == [[TOLD]]


async def test_a_call_that_failed_has_none() -> None:
    assert await remarks(rig_of(), [("read_file", {"path": "a/gone.py"})]) == [[]]


async def test_what_may_not_be_read_is_not_said() -> None:
    deny = Rule(text="read_file(**/AGENTS.md)", decision="deny", origin="user")
    assert await remarks(rig_of(FILES, deny), [("read_file", {"path": "a/x.py"})]) == [[]]


async def test_a_key_in_them_is_masked() -> None:
    key = "ghp_" + "a1B2" * 9
    rig = rig_of({**FILES, "a/AGENTS.md": f"Use {key}."}, redactor=Redactor(find_secrets, key=b"k"))

    ((told,),) = await remarks(rig, [("read_file", {"path": "a/x.py"})])

    assert key not in told
    assert "Use {{SECRET_" in told


@pytest.mark.parametrize(("n_words", "comes_again"), [(1, False), (2_000, True)])
async def test_a_compaction_keeps_them_and_those_that_are_too_long_come_again_within_the_turn(
    n_words: int, comes_again: bool
) -> None:
    own = {**FILES, "a/AGENTS.md": "MANGO " * n_words, "c/AGENTS.md": "PLUM", "c/z.py": "3"}
    rig = rig_of({**own, **{f"big{n}.txt": "sheep " * 800 for n in range(4)}})
    names = ["a/x.py", "c/z.py", *(f"big{n}.txt" for n in range(4)), "a/y.py", "a/x.py"]
    answers = [say("", Call(name="read_file", arguments={"path": name})) for name in names]
    script = [*answers[:6], [ModelError("the window is full", type="context_window")], *answers[6:], say("done")]
    history = list[Message]()

    rules = CompactionRules(strategy="trim")
    window = ContextRules(max_tokens=20_000)
    await run_turn(rig, FakeModel(script), history, context=window, compaction=rules)

    assert len(rig.events.of(Compacted)) == 1
    told = ["MANGO" in message.text for message in history[2::2]]
    assert told == [True, *[False] * 5, comes_again, False]
