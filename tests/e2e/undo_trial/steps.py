"""What may happen in a trial: the user's doings, the agents' turns, and the ways back. All of it shrinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

NAMES = ("a.txt", "b.txt", "d/c.txt", "new.txt", "out/x.log", "out/y.log")
"""The first three are there at the beginning, and the fifth; d/c.txt is not committed, and git ignores out/."""

SESSIONS = ("A", "B")

DoingKind = Literal["open", "type", "insert", "replace", "save", "close", "delete", "rename", "collect garbage"]
ToolKind = Literal["edit", "insert", "multi_edit", "patch", "create", "delete", "move", "copy"]
ProgramKind = Literal["append", "overwrite", "remove"]


@dataclass(frozen=True, slots=True)
class Doing:
    """Action of the user. Typing into a file that is not open writes it to disk."""

    kind: DoingKind
    name: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A call of an agent that edits a file; `at_prompt` is what the user does before they allow it."""

    kind: ToolKind
    name: str
    at_prompt: tuple[Doing, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """A command of an agent: one thing, then it waits while the user and the other session do theirs, then the rest."""

    does: tuple[tuple[ProgramKind, str], ...]
    is_named: bool
    """Whether its command line names the files."""
    meanwhile: tuple[Doing, ...] = ()
    other_edits: str | None = None
    """What the agent of the other session edits meanwhile."""
    git: Literal["", "rm -rf .git", "git gc -q --prune=now"] = ""
    saves_first: bool = False
    """The user's choice when asked about unsaved changes."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """A turn; `hook` is the file that the hook writes after the first call."""

    session: str
    calls: tuple[Tool | Program, ...]
    hook: str | None = None


@dataclass(frozen=True, slots=True)
class Back:
    """A session goes back or forth."""

    session: str
    how: Literal["undo", "undo by command", "undo with the rest", "undo and redo", "redo"]


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore of one of a session's checkpoints, which may be undone at once."""

    session: str
    place: int
    conversation: bool
    flag: Literal["", "force", "uncertain"]
    and_back: bool


@dataclass(frozen=True, slots=True)
class Restart:
    """Editor and daemon start again; the user does this in between, on the disk."""

    meanwhile: tuple[Doing, ...]


Step = Doing | AgentTurn | Back | Restore | Restart

names = st.sampled_from(NAMES)
doings = st.builds(
    Doing,
    st.sampled_from(["type", "type", "insert", "open", "open", "save", "close", "replace", "delete", "rename"]),
    names,
)
few_doings = st.lists(doings, max_size=3).map(tuple)
tools = st.builds(
    Tool,
    st.sampled_from(["edit", "insert", "insert", "multi_edit", "patch", "create", "delete", "move", "copy"]),
    names,
    st.just(()) | few_doings,
)
programs = st.builds(
    Program,
    st.lists(st.tuples(st.sampled_from(["append", "append", "overwrite", "remove"]), names), max_size=3).map(tuple),
    st.booleans(),
    few_doings,
    st.none() | names,
    st.sampled_from(["", "", "", "", "rm -rf .git", "git gc -q --prune=now"]),
    st.booleans(),
)
sessions = st.sampled_from([*SESSIONS, SESSIONS[0]])
turns = st.builds(
    AgentTurn,
    sessions,
    st.lists(tools | tools | programs, min_size=1, max_size=3).map(tuple),
    st.none() | st.none() | names,
)
backs = st.builds(
    Back, sessions, st.sampled_from(["undo", "undo", "undo by command", "undo with the rest", "undo and redo", "redo"])
)
restores = st.builds(
    Restore,
    sessions,
    st.integers(0, 7),
    st.booleans(),
    st.sampled_from(["", "", "", "uncertain", "force"]),
    st.booleans(),
)
restarts = st.builds(Restart, few_doings)
collections = st.just(Doing("collect garbage", ""))
more: st.SearchStrategy[Step] = st.one_of(
    turns, turns, turns, doings, backs, backs, backs, restores, restarts | collections
)


def _joined(parts: tuple[AgentTurn, list[Step]]) -> list[Step]:
    return [parts[0], *parts[1]]


sequences = st.tuples(turns, st.lists(more, min_size=6, max_size=14)).map(_joined)
"""What a trial plays; each branch is as likely as the others."""
