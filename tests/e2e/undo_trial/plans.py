"""What an agent is made to call, and what each call may do to the files."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tests.e2e.undo_trial.authorship import Visible, tokens
from tests.e2e.undo_trial.desk import Desk, call, edit, shell
from tests.e2e.undo_trial.steps import NAMES, Program, ProgramKind, Tool


@dataclass(frozen=True, slots=True)
class Planned:
    """A call of the model."""

    call: dict[str, Any]
    step: Tool | Program
    names: frozenset[str]
    """The files that it changes."""
    removes: Callable[[Visible], dict[str, set[str]]]
    """The tokens that it is to remove from what stands there, by file."""


class Planner:
    """The agent of one session; `plan` is what it takes the files for, and becomes what it means to make of them."""

    def __init__(self, session: str, plan: dict[str, str], numbers: Iterator[int]) -> None:
        self._session = session
        self._plan = plan
        self._numbers = numbers

    def tool(self, step: Tool) -> Planned:
        """Return a call that edits, or one that creates if no file can be edited."""
        name = step.name
        lines = self._plan.get(name, "").splitlines()
        free = next((each for each in NAMES if each not in self._plan), None)
        match step.kind:
            case "delete" if name in self._plan:
                del self._plan[name]
                return Planned(call("delete_file", path=name), step, frozenset([name]), _all_of(name))
            case "move" if name in self._plan and free is not None:
                self._plan[free] = self._plan.pop(name)
                made = call("move_file", source=name, destination=free)
                return Planned(made, step, frozenset([name, free]), _nothing)
            case "copy" if name in self._plan and free is not None:
                self._plan[free] = self._plan[name]
                made = call("copy_file", source=name, destination=free)
                return Planned(made, step, frozenset([name, free]), _nothing)
            case "edit" | "multi_edit" | "patch" | "insert" | "move" | "copy" if lines:
                return self._edit(step, lines[0], lines[-1])
            case _:
                overwrite = {"overwrite": True} if name in self._plan else {}
                self._plan[name] = f"{self._token()}\n"
                made = call("create_file", path=name, content=self._plan[name], **overwrite)
                return Planned(made, step, frozenset([name]), _all_of(name))

    def program(self, step: Program, desk: Desk) -> Planned:
        """A command line, or a script that does the same."""
        parts = [self._command(kind, name) for kind, name in step.does]
        if step.git:
            parts.append(f"{step.git} || true")
        parts.insert(min(1, len(parts)), desk.hold)
        text = "; ".join(parts)
        gone = [name for kind, name in step.does if kind != "append"]
        return Planned(
            shell(text if step.is_named else desk.script(text)),
            step,
            frozenset(name for _, name in step.does),
            lambda seen: {name: tokens(seen.get(name)) for name in gone},
        )

    def _edit(self, step: Tool, first: str, last: str) -> Planned:
        name, token, text = step.name, self._token(), self._plan[step.name]
        names = frozenset([name])
        replaced = text.replace(first, token, 1)
        added = {"old": last, "new": f"{last}\n{token}"}
        match step.kind:
            case "edit":
                made, self._plan[name] = edit(name, first, token), replaced
            case "multi_edit" if first != last:
                edits = [{"old": first, "new": self._token()}, added]
                made = call("multi_edit", path=name, edits=edits)
                self._plan[name] = text.replace(first, edits[0]["new"]).replace(last, added["new"])
            case "patch":
                old, new = text.splitlines(keepends=True), replaced.splitlines(keepends=True)
                patch = "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))
                made, self._plan[name] = call("apply_patch", patch=patch), replaced
            case _:
                self._plan[name] = text.replace(last, added["new"])
                return Planned(call("edit_file", path=name, **added), step, names, _nothing)
        return Planned(made, step, names, lambda _: {name: tokens(first)})

    def _command(self, kind: ProgramKind, name: str) -> str:
        path, folder = shlex.quote(name), PurePath(name).parent
        if kind == "remove":
            self._plan.pop(name, None)
            return f"rm -f {path}"
        text = f"{self._token()}\n"
        self._plan[name] = text if kind == "overwrite" else self._plan.get(name, "") + text
        return f"mkdir -p {folder}; echo {text.strip()} {'>' if kind == 'overwrite' else '>>'} {path}"

    def _token(self) -> str:
        return f"agent-{self._session}-{next(self._numbers):03}"


def with_reads(planned: Sequence[Planned]) -> Iterator[dict[str, Any]]:
    """The calls; the model looks at each file before it edits it."""
    for each in planned:
        if isinstance(each.step, Tool):
            yield from (call("read_file", path=name) for name in sorted(each.names))
        yield each.call


def _nothing(_: Visible) -> dict[str, set[str]]:
    return {}


def _all_of(name: str) -> Callable[[Visible], dict[str, set[str]]]:
    return lambda seen: {name: tokens(seen.get(name))}
