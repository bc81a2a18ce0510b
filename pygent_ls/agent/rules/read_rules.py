"""Rules about `read_file`, applied to every other way to a file's text: searches, diffs, copies, commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from pygent_ls.agent.rules.matcher import Match
from pygent_ls.agent.rules.rule import AnyCall, PathGlob, Rule
from pygent_ls.shell.words import ANY

READING = "read_file"


class Reading(Struct, frozen=True):
    """Deny and ask rules about `read_file`, the deny rules first."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> Reading:
        """Select those of all rules that keep something from being read."""
        own = [rule for rule in rules if rule.tool_name == READING and rule.decision != "allow"]
        return cls(tuple(sorted(own, key=lambda rule: rule.decision != "deny")))

    def denies(self, path: str) -> Rule | None:
        """Return the rule that denies reading this shown path."""
        return next((rule for rule in self.rules if rule.decision == "deny" and _is_about(rule, path)), None)

    def withholds(self, path: str) -> Rule | None:
        """Return the rule that keeps the text of this shown path from being shown by anything but `read_file`, which
        would ask or refuse. A rule that asks for every read, whatever the file, withholds nothing from a search."""
        asks = (rule for rule in self.rules if rule.decision == "ask" and isinstance(rule.pattern, PathGlob))
        return self.denies(path) or next((rule for rule in asks if _is_about(rule, path)), None)


def _is_about(rule: Rule, path: str) -> bool:
    match rule.pattern:
        case AnyCall():
            return True
        case PathGlob() as pattern:
            return pattern.matches(path)
        case _:
            return False


# For tools


def left_out(n_files: int) -> list[str]:
    """Return the line that says how many files were left out; empty for 0."""
    if n_files == 1:
        return ["[1 file was left out: a permission rule prevents reading it.]"]
    return [f"[{n_files} files were left out: permission rules prevent reading them.]"] if n_files else []


# For commands


class FileRead(Struct, frozen=True, kw_only=True):
    """File that a command would read, or may read."""

    path: str
    """Path as it is shown; contains `ANY` where only running can tell."""
    is_sure: bool


MAX_STEPS = 300_000
"""Maximum comparisons of paths with globs in one judgement, as `PathGlob.cost` counts them; once they are used up,
every further rule counts as a possible match."""


class ReadingCase:
    """Files that a command reads, compared with rules about `read_file` at a bounded cost."""

    def __init__(self, reads: Sequence[FileRead]) -> None:
        self._reads = reads
        self._n_chars = sum(len(read.path) for read in reads)
        self._n_unknown_chars = sum(len(read.path) for read in reads if ANY in read.path)
        self._steps_left = MAX_STEPS

    def concerned_by(self, rule: Rule) -> Match:
        """Return how certainly the rule applies to any of the files."""
        if self._steps_left >= 0:
            self._steps_left -= len(self._reads)
        if self._steps_left >= 0 and isinstance(rule.pattern, PathGlob):
            self._steps_left -= rule.pattern.cost(self._n_chars) + self._n_unknown_chars
        if self._steps_left < 0:
            return Match.MAYBE
        return max((_concerns(rule, read) for read in self._reads), default=Match.NO)


def _concerns(rule: Rule, read: FileRead) -> Match:
    if ANY in read.path:
        match rule.pattern:
            case AnyCall():
                return Match.MAYBE
            case PathGlob(glob=glob) if can_meet(glob, read.path):
                return Match.MAYBE
            case _:
                return Match.NO
    if not _is_about(rule, read.path):
        return Match.NO
    return Match.YES if read.is_sure else Match.MAYBE


def can_meet(glob: str, path: str) -> bool:
    """Whether some path matches the glob and is a possible value of `path`, in which `ANY` is any text.

    True in doubt: `?` and the stars stand for any text, across folders.
    """
    left, places = _wildcards(glob)
    return _end_of(left, places, path) if len(left) <= MAX_GLOB_CHARS else True


MAX_GLOB_CHARS = 4_096
"""Maximum length of a glob that is compared; as long as a path may be on Linux."""


@lru_cache(maxsize=4_096)
def _wildcards(glob: str) -> tuple[str, Mapping[str, int]]:
    """Return the glob with every wildcard as `*`, and for each character a number with one bit per position."""
    text = re.sub(r"\*+", "*", re.sub(r"\[[^\]]\]|\*\*/|\?", "*", glob))
    places: dict[str, int] = {}
    for at, character in enumerate(text):
        places[character] = places.get(character, 0) | 1 << at
    return text, places


def _end_of(glob: str, places: Mapping[str, int], path: str) -> bool:
    """Whether glob and path can be the same text, by tracking which beginnings of the glob can match the path so
    far."""
    stars, whole = places.get("*", 0), (1 << (len(glob) + 1)) - 1
    met = 1
    met |= (met & stars) << 1  # a star may match nothing
    for character in path:
        if character in (ANY, "*"):
            met = whole & -(met & -met)  # anything from the first beginning on
        else:
            met = (met & places.get(character, 0)) << 1 | met & stars
            met |= (met & stars) << 1
        if not met:
            return False
    return bool(met >> len(glob) & 1)
