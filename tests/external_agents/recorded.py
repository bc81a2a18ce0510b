"""Plays a recorded wire to a daemon, and compares what the editor's user sees with the recording."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from pygent_ls.agent.json_fields import obj, objects, text
from pygent_ls.agent.turn.external.tools import id_of
from tests.external_agents.replay import log_of
from tests.external_agents.rig import EDITED, NEW, SAVED, UNSAVED, Marked, Rig, Turn, rig, scratch
from tests.external_agents.wires import Exchange, Wire, located, wire_in

ROOT = Path(__file__).parents[2]

ASKING: Mapping[str, str] = {
    "claude": "default",
    "codex": "read-only",
    "gemini": "default",
    "qwen": "default",
    "vibe": "ask",
}
"""Mode in which each agent asks before it acts."""

SHOWN: Mapping[str, str] = {"EDIT": "x = 2", "WRITE": "y = 1", "SHELL": "echo hi-from-shell"}
"""Part of each question about a call, by the word that the prompt has."""


async def problems_of(file: Path) -> Sequence[str]:
    """Return one line for each difference between a recording and what the editor showed."""
    wire, marked = wire_in(file), Marked()
    with scratch() as folder:
        log = folder.parent / "replay.jsonl"
        command = (sys.executable, "-m", "tests.external_agents.replay", str(file), str(log))
        variables = {"PYTHONPATH": str(ROOT), **marked.variables}
        found: list[str] = []
        async with rig(wire.agent, command, variables, folder) as editor:
            for number, prompt in enumerate(wire.prompts, start=1):
                editor.start_over()
                turn = await editor.turn(prompt.said, _chooser(prompt))
                found += [f"turn {number} ({prompt.said}): {each}" for each in _differences(prompt, turn, editor)]
        found += _differences_of_log(wire, log_of(log))
        found += [f"a process is left: {each}" for each in marked.left()]
        return found


def _chooser(prompt: Exchange) -> Any:
    """Return a user who answers each question as the recorded one, and rejects what was not asked there."""
    answers = iter(prompt.permissions)

    def choose(_: types.ShowMessageRequestParams) -> str:
        return "Allow once" if next(answers, False) else "Reject"

    return choose


def _differences(prompt: Exchange, turn: Turn, editor: Rig) -> Iterator[str]:
    yield from turn.problems()
    expected = {id_of(each.id): each.is_completed for each in prompt.calls}
    if turn.results() != expected:
        yield f"calls: expected {expected}, seen {turn.results()}"
    if len(turn.prompts) != len(prompt.permissions):
        yield f"expected {len(prompt.permissions)} questions, seen {turn.prompts}"
    shown = next((part for word, part in SHOWN.items() if word in prompt.said), "")
    for each in turn.prompts:
        if shown not in each:
            yield f"a question does not show {shown!r}: {each!r}"
    answer = located(prompt.answer, str(editor.folder))
    if (seen := "".join(turn.result["text"].split())) != answer:
        yield f"answer: expected {answer!r}, seen {seen!r}"
    buffer = EDITED if prompt.changes("a.py") else UNSAVED
    if editor.buffer != buffer:
        yield f"text of a.py in the editor: expected {buffer!r}, seen {editor.buffer!r}"
    new = NEW if prompt.changes("new.py") else None
    if editor.new_text != new:
        yield f"text of new.py: expected {new!r}, seen {editor.new_text!r}"
    changed = {Path(each["uri"]).name for each in turn.result["filesChanged"]}
    if changed != (names := {name for name in ("a.py", "new.py") if prompt.changes(name)}):
        yield f"files changed: expected {names}, seen {changed}"
    if not prompt.changes("a.py") and editor.saved.read_text() != SAVED:
        yield f"text of a.py on the disk: {editor.saved.read_text()!r}"


def _differences_of_log(wire: Wire, log: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each request or reply of the daemon that differs from what the recorded client said."""
    asked = [text(each.get("request")) for each in log]
    if asked.count("initialize") != 1 or asked.count("session/new") != 1:
        yield f"more than one process or session: {asked}"
    modes = obj(wire.session.get("modes"))
    mode, wanted = text(modes.get("currentModeId")), ASKING.get(wire.agent, "")
    for each in log:
        if each.get("request") == "session/set_mode":
            mode = text(obj(each.get("params")).get("modeId"))
        if replied := text(each.get("replied")):
            yield from _differences_of_reply(replied, obj(each.get("reply")), obj(each.get("recorded")))
    if wanted in [each.get("id") for each in objects(modes.get("availableModes"))] and mode != wanted:
        yield f"the agent is in the mode {mode!r}, in which it does not ask"


def _differences_of_reply(method: str, reply: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterator[str]:
    seen, expected = reply.get("result"), recorded.get("result")
    match method:
        case "fs/read_text_file" if "error" in recorded:
            if obj(seen).get("content") != "":
                yield f"a file that does not exist was not read as an empty one: {reply}"
        case "fs/write_text_file":
            if "error" in reply:
                yield f"a write was refused: {reply['error']}"
        case _ if seen != expected:
            yield f"reply to {method}: expected {expected}, seen {reply}"
        case _:
            pass
