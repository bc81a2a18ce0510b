"""Versions of a file and their authors: what a restore may discard, and at which version it stops. Pure.

The versions of one path form a tree. Its root is the content before the agent first changed it. A change adds a child
to the version that it was made from. A restore moves between versions and adds none, so that text which the user wrote
stays the user's however often it is undone and redone.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from pygent_ls.workspace.snapshots.path_state import Held

Author = Literal["agent", "program", "user", "restore"]
"""Author of a version. `agent`: a tool, or a command that names the file. `program`: the file changed on the disk while
a command ran, by the command or by anything else. `restore`: a forced restore wrote new content."""

MACHINE: frozenset[Author] = frozenset({"agent", "restore"})
"""Authors whose versions a restore discards without asking."""

MACHINE_AND_PROGRAMS: frozenset[Author] = frozenset({"agent", "restore", "program"})
"""Authors whose versions a restore discards if the user, shown the files, agrees."""


class Version(Struct, frozen=True, eq=False):
    """One version. `number` counts the versions of its path from 0, the root."""

    number: int
    held: Held
    author: Author
    parent: Version | None
    moved: Path | None = None
    """Other path of the move that made this version: both are restored, or neither. For a copy, the path that it was
    copied from: the copy is removed only if that path is unchanged, since it may hold the only content by now."""

    @property
    def line(self) -> Iterator[Version]:
        """Yield the version and its ancestors, up to the root."""
        version: Version | None = self
        while version is not None:
            yield version
            version = version.parent


class Versions(Struct):
    """Versions of one path. Moments are increasing numbers, shared by all paths of a session."""

    root: Version
    _all: list[Version] = field(default_factory=list[Version])
    _moves: list[tuple[int, Version]] = field(default_factory=list[tuple[int, Version]])
    """Current version from each moment on."""

    @classmethod
    def of(cls, first: Held) -> Versions:
        """Return the tree of a path that the agent has not changed yet."""
        root = Version(0, first, "user", None)
        return cls(root, [root])

    @property
    def top(self) -> Version:
        """Current version, as far as the session knows."""
        return self._moves[-1][1] if self._moves else self.root

    def at(self, moment: int) -> Version:
        """Return the version that was current before that moment."""
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
        """Record a change from `before` to `after`. A `before` that is not a known version is the user's. A change with
        `is_done` False may still happen; `find` then finds its version."""
        source = self.find(before) or self._added(before, "user", self.top)
        alike = (each for each in self._all if each.parent is source and (each.author, each.moved) == (author, moved))
        made = next((each for each in alike if each.held == after), None) or self._added(after, author, source, moved)
        self._moves.append((moment, made if is_done else source))

    def has_moved(self, path: Path) -> bool:
        """Whether a move between this path and that one was recorded."""
        return any(each.moved == path for each in self._all)

    def went_to(self, moment: int, number: int) -> None:
        """Make that version current again. Raises IndexError."""
        self._moves.append((moment, self._all[number]))

    def is_undone(self, start: int, end: int) -> bool:
        """Whether changes were made between the two moments and none of them remains."""
        before, stands = self.at(start), set(self.top.line)
        made = list(itertools.takewhile(lambda each: each is not before, self.at(end).line))
        return bool(made) and stands.isdisjoint(made)

    def find(self, held: Held) -> Version | None:
        """Return the version with this content: the current one, an ancestor of it, or else the newest."""
        candidates = (*self.top.line, *reversed(self._all))
        return next((each for each in candidates if each.held.is_like(held)), None)

    def _added(self, held: Held, author: Author, parent: Version, moved: Path | None = None) -> Version:
        version = Version(len(self._all), held, author, parent, moved)
        self._all.append(version)
        return version


def way_back(now: Version, goal: Version, wanted: Held, discardable: Collection[Author]) -> Version:
    """Return where a restore from `now` to `goal` ends: at the goal, at a version on the way with exactly the wanted
    content, or at the first version that must not be discarded."""
    kept = set(goal.line)
    version = now
    exact: Version | None = None
    while version not in kept:
        if exact is None and version.held == wanted:
            exact = version
        if version.author not in discardable or version.parent is None:
            return exact or version
        version = version.parent
    return goal if exact is None or goal.held == wanted else exact


def moves_between(one: Version, other: Version) -> set[Path]:
    """Return the other paths of all moves between two versions."""
    lines = [*one.line], [*other.line]
    shared = set(lines[0]) & set(lines[1])
    return {each.moved for line in lines for each in line if each not in shared and each.moved is not None}
