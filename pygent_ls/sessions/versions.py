"""Versions of a file and who wrote them: what going back may discard, and where it stops. Pure.

The versions of one path are a tree. Its root is what stood there before the agent first changed it. A change adds a
child of the version that it was made from, and going back moves between versions without making new ones, so that a
text which the user wrote stays the user's however often it is taken back and brought again.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pygent_ls.workspace.held import Held

Author = Literal["agent", "program", "user", "restore"]
"""Who wrote a version. `agent`: a tool, or a command in a file that its line names. `program`: it changed on the disk
while a command ran, by the command or by anyone else. `restore`: a forced way back wrote what no version had."""

MACHINE: frozenset[Author] = frozenset({"agent", "restore"})
"""Whose versions going back discards without a question."""

MACHINE_AND_PROGRAMS: frozenset[Author] = frozenset({"agent", "restore", "program"})
"""Whose versions it discards if the user says so, having read which they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version; `number` counts the versions of its path from 0, the root."""

    number: int
    held: Held
    author: Author
    parent: Version | None
    moved: Path | None = None
    """The other path of the move that made this version: both go back, or neither. Of a copy, where it was copied from:
    it goes only if that is as it was, since it may hold the only copy by now."""

    @property
    def line(self) -> Iterator[Version]:
        """The version and those that it was made from, up to the root."""
        version: Version | None = self
        while version is not None:
            yield version
            version = version.parent


@dataclass(slots=True)
class Versions:
    """The versions of one path. Moments are numbers that only grow, shared by all paths of a session."""

    root: Version
    _all: list[Version] = field(default_factory=list[Version])
    _moves: list[tuple[int, Version]] = field(default_factory=list[tuple[int, Version]])
    """The version that stood there from each moment on."""

    @classmethod
    def of(cls, first: Held) -> Versions:
        """The tree of a path that the agent has not changed yet."""
        root = Version(0, first, "user", None)
        return cls(root, [root])

    @property
    def top(self) -> Version:
        """The version that stands there, as far as the session knows."""
        return self._moves[-1][1] if self._moves else self.root

    def at(self, moment: int) -> Version:
        """The version that stood there before that moment."""
        place = bisect.bisect_left(self._moves, moment, key=lambda move: move[0])
        return self._moves[place - 1][1] if place else self.root

    def changed(
        self,
        moment: int,
        before: Held,
        after: Held,
        author: Author,
        *,
        moved: Path | None = None,
        is_done: bool = True,
    ) -> None:
        """`before` became `after`. A `before` that is no version yet is the user's. A change that is not done may turn
        out to have happened: `find` finds it then."""
        source = self.find(before) or self._added(before, "user", self.top)
        alike = (each for each in self._all if each.parent is source and (each.author, each.moved) == (author, moved))
        made = next((each for each in alike if each.held == after), None) or self._added(after, author, source, moved)
        self._moves.append((moment, made if is_done else source))

    def has_moved(self, path: Path) -> bool:
        """Whether a move between this path and that one was made."""
        return any(each.moved == path for each in self._all)

    def went_to(self, moment: int, number: int) -> None:
        """That version stands there again. Raises IndexError."""
        self._moves.append((moment, self._all[number]))

    def is_undone(self, start: int, end: int) -> bool:
        """Whether a change was made from one moment to the other, and nothing of it stands there any more."""
        before, stands = self.at(start), set(self.top.line)
        made = list(itertools.takewhile(lambda each: each is not before, self.at(end).line))
        return bool(made) and stands.isdisjoint(made)

    def find(self, held: Held) -> Version | None:
        """The version that this is: the one that stands there, one that it was made from, else the newest."""
        candidates = (*self.top.line, *reversed(self._all))
        return next((each for each in candidates if each.held.is_like(held)), None)

    def _added(self, held: Held, author: Author, parent: Version, moved: Path | None = None) -> Version:
        version = Version(len(self._all), held, author, parent, moved)
        self._all.append(version)
        return version


def way_back(now: Version, goal: Version, wanted: Held, discardable: Collection[Author]) -> Version:
    """Where going back from `now` to `goal` ends: at the goal, at a version on the way that holds just what is wanted,
    or at the first version that may not be discarded."""
    kept = set(goal.line)
    version = now
    while version not in kept:
        if version.held == wanted or version.author not in discardable or version.parent is None:
            return version
        version = version.parent
    return goal


def moves_between(one: Version, other: Version) -> set[Path]:
    """The other paths of all moves between two versions."""
    lines = [*one.line], [*other.line]
    shared = set(lines[0]) & set(lines[1])
    return {each.moved for line in lines for each in line if each not in shared and each.moved is not None}
