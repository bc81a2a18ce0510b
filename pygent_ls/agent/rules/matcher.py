"""Matching of rules to calls: an allow rule must cover the whole call, a deny or ask rule any part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from fnmatch import translate
from functools import cached_property, lru_cache

from msgspec.structs import replace

from pygent_ls.agent.rules.rule import AnyCall, CommandPrefix, Domain, PathGlob, Pattern, Rule, WholeCommand
from pygent_ls.shell.command_line import ShellLine, SimpleCommand
from pygent_ls.shell.options import does_more, filled
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY
from pygent_ls.shell.wrappers import SHELLS


class Match(IntEnum):
    """How certainly a deny or ask rule applies to a call."""

    NO = 0
    MAYBE = 1
    """Only running the command would tell: `$X`, a script that is read from elsewhere."""
    YES = 2


def matches(rule: Rule, subject: str) -> bool:
    """Whether the rule applies to a call with this one subject."""
    if rule.decision == "allow":
        return allows([rule], [subject])
    return concerns(rule, [subject]) is Match.YES


def allows(rules: Sequence[Rule], subjects: Sequence[str]) -> bool:
    """Whether the rules, all of one tool and all allowing, cover every subject of a call."""
    if any(rule.tool_name == "shell" for rule in rules):
        return bool(subjects) and all(_allows_line(rules, read_line(subject)) for subject in subjects)
    if any(isinstance(rule.pattern, AnyCall) for rule in rules):
        return True
    return bool(subjects) and all(any(_is_about(rule, subject) for rule in rules) for subject in subjects)


def concerns(rule: Rule, subjects: Sequence[str]) -> Match:
    """Return how certainly the rule applies to any part of any subject."""
    return Case(subjects).concerned_by(rule)


def _is_about(rule: Rule, subject: str) -> bool:
    match rule.pattern:
        case AnyCall():
            return True
        case PathGlob() | Domain() as pattern:
            return pattern.matches(subject)
        case CommandPrefix() | WholeCommand() | None:
            return False


# Allowing a command line


def _allows_line(rules: Sequence[Rule], line: ShellLine) -> bool:
    if not line.is_parsed:
        return False
    if any(isinstance(rule.pattern, AnyCall) or rule.pattern == WholeCommand(line.text) for rule in rules):
        return True
    if not line.plain:
        return False
    prefixes = _Prefixes([rule.pattern.words for rule in rules if isinstance(rule.pattern, CommandPrefix)])
    return all(prefixes.cover(each) for each in dict.fromkeys([*line.plain, *line.commands]))


class _Prefixes:
    """Allowing prefixes; each command is judged once."""

    def __init__(self, prefixes: Sequence[tuple[str, ...]]) -> None:
        self._prefixes = prefixes
        self._known: dict[SimpleCommand, bool] = {}

    def cover(self, command: SimpleCommand) -> bool:
        """Whether one prefix covers the command, and each command that it runs is covered too."""
        if command not in self._known:
            self._known[command] = any(self._covers(prefix, command) for prefix in self._prefixes)
        return self._known[command]

    def _covers(self, prefix: tuple[str, ...], command: SimpleCommand) -> bool:
        begins = command.words[: len(prefix)] == prefix
        return begins and not _does_more(command, len(prefix)) and self._reach(len(prefix), command)

    def _reach(self, n_words: int, command: SimpleCommand) -> bool:
        """Whether each inner command begins within the first words and does no more, or is covered by itself."""
        runs = [(n_words - inner.begin, _filled(command, inner.command)) for inner in command.runs]
        return all(
            (n_left > 0 and not _does_more(inner, n_left) and self._reach(n_left, inner)) or self.cover(inner)
            for n_left, inner in runs
        )


def _filled(outer: SimpleCommand, inner: SimpleCommand) -> SimpleCommand:
    """Return the inner command with the words that the outer one inserts, and the commands that it runs in turn."""
    words = filled(outer.words, inner.words, outer.name)
    if words == inner.words:
        return inner
    return replace(
        inner, words=words, runs=tuple(replace(each, command=_filled(outer, each.command)) for each in inner.runs)
    )


def _does_more(command: SimpleCommand, n_named: int) -> bool:
    if command.name == "git" and command.folder:
        return True  # the folder may be someone else's repository, whose configuration names programs to run
    return does_more(command.words, n_named, command.name)


# Denying, or asking for, a part of a command line

MAX_STEPS = 300_000
"""Maximum comparisons of words, or of paths with globs, in one judgement, about 0.2 s; once they are used up, every
further rule counts as a possible match."""

STEPS_TO_READ_A_CHARACTER = 30
"""Steps per character for parsing the command that a rule names."""


class Case:
    """Call that deny and ask rules are compared with, at a bounded cost whatever the call and the rules are."""

    def __init__(self, subjects: Sequence[str]) -> None:
        self._subjects = subjects
        self._n_chars = sum(map(len, subjects))
        self._steps_left = MAX_STEPS

    def concerned_by(self, rule: Rule) -> Match:
        """Return how certainly the rule applies to any part of any subject."""
        pattern = rule.pattern
        if isinstance(pattern, AnyCall):
            return Match.YES
        if self._steps_left < 0:
            return Match.MAYBE  # the subjects, which may be as many as the rules, are not looked at
        if rule.tool_name == "shell":
            return max((self._concerns(pattern, line) for line in self._lines), default=Match.NO)
        if isinstance(pattern, PathGlob):
            self._steps_left -= len(self._subjects) + pattern.cost(self._n_chars)
            if self._steps_left < 0:
                return Match.MAYBE
        return Match.YES if any(_is_about(rule, subject) for subject in self._subjects) else Match.NO

    @cached_property
    def _lines(self) -> tuple[_CommandLine, ...]:
        return tuple(_CommandLine(read_line(subject)) for subject in self._subjects)

    def _concerns(self, pattern: Pattern | None, line: _CommandLine) -> Match:
        match pattern:
            case CommandPrefix(words=words):
                found = max((self._begins(words, each) for each in line.candidates(words[0])), default=Match.NO)
            case WholeCommand(text=text):
                found = Match.YES if text == line.text else self._is_last_of(text, line)
            case _:
                return Match.NO
        if line.is_parsed:
            return found
        return Match.YES if found else Match.MAYBE

    def _is_last_of(self, text: str, line: _CommandLine) -> Match:
        self._steps_left -= len(text) * STEPS_TO_READ_A_CHARACTER
        if self._steps_left < 0:
            return Match.MAYBE
        commands = read_line(text).commands
        return Match.YES if commands and commands[-1].words in line.words else Match.NO

    def _begins(self, prefix: Sequence[str], command: SimpleCommand) -> Match:
        self._steps_left -= len(prefix) * len(command.words)
        return _begins(prefix, command) if self._steps_left >= 0 else Match.MAYBE


class _CommandLine:
    """Commands of a command line, by the names that rules may use for them."""

    def __init__(self, line: ShellLine) -> None:
        self.text = line.text
        self.is_parsed = line.is_parsed
        self.words = {command.words for command in line.all()}
        self._named: dict[str, list[SimpleCommand]] = {}
        self._unknown: list[SimpleCommand] = []
        """Commands whose names only running would tell, and commands that read further commands from elsewhere."""
        for command in line.all():
            name = _known_as(command.words[0])
            self._named.setdefault(name, []).append(command)
            if ANY in name or command.words[0].startswith(ANY) or _reads_commands(command):
                self._unknown.append(command)

    def candidates(self, program: str) -> Sequence[SimpleCommand]:
        """Return the commands that may run this program."""
        return [*self._named.get(_known_as(program), ()), *self._unknown]


def _known_as(program: str) -> str:
    return program.rpartition("/")[2].lower().removesuffix(".exe")


_TAKING_COMMANDS = SHELLS | {"source", "."}


def _reads_commands(command: SimpleCommand) -> bool:
    """Whether it reads commands from its input, a device, or a file that only running would tell."""
    if command.runs or not any(_same(each, command.name) for each in _TAKING_COMMANDS):
        return False
    words = iter(command.words[1:])
    for word in words:
        if re.fullmatch(r"[-+]\w*[oO]|--(rcfile|init-file)", word):
            next(words, None)
        elif not word.startswith(("-", "+")):
            return word.startswith((ANY, "/dev/", "/proc/"))
    return command.name not in (".", "source")


def _begins(prefix: Sequence[str], command: SimpleCommand) -> Match:
    """Return how certainly the command begins with these words; options between them are skipped."""
    words = command.words
    if _reads_commands(command):
        return max(Match.MAYBE, _same_name(prefix[0], words[0]))
    found, position = _same_name(prefix[0], words[0]), 1
    if not found:
        return found
    letters: set[str] = set()
    if any(re.match(r"-[^-]", wanted) for wanted in prefix[1:]):
        letters.update(letter for word in words[1:] if re.match(r"-[^-]", word) for letter in word[1:])
    for wanted in prefix[1:]:
        if re.match(r"-[^-]", wanted) and set(wanted[1:]) <= letters:
            continue
        here, position = _next(wanted, words, position)
        found = min(found, here)
        if not found:
            break
    return found


def _next(wanted: str, words: Sequence[str], position: int) -> tuple[Match, int]:
    """Find a word after options, each with or without a value. A word that begins with `ANY` may expand to several
    words, or to none."""
    if words[position - 1].startswith(ANY):
        return Match.MAYBE, position
    is_value = False
    for index in range(position, len(words)):
        word = words[index]
        if here := _same(wanted, word):
            return here, index + 1
        if word.startswith(ANY):
            return Match.MAYBE, index + 1
        if not word.startswith("-") and not is_value:
            break
        is_value = word.startswith("-")
    return Match.NO, position


def _same_name(wanted: str, word: str) -> Match:
    """Compare program names, whatever their folder and case: some file systems ignore case."""
    if word.startswith(ANY):
        return Match.MAYBE  # it may expand to nothing, or to several words
    name = word if "/" in wanted else word.rpartition("/")[2]
    if ANY in name and name.strip(ANY) and _same(wanted.lower(), name.lower()):
        return Match.YES
    return _same(wanted.lower(), name.lower().removesuffix(".exe"))


def _same(wanted: str, word: str) -> Match:
    if ANY not in word:
        return Match.YES if wanted == word else Match.NO
    return Match.MAYBE if _with_wildcards(word).match(wanted) else Match.NO


@lru_cache(maxsize=4_096)
def _with_wildcards(word: str) -> re.Pattern[str]:
    """Return a pattern for every value of a word in which `ANY` is any text."""
    return re.compile(translate(re.sub(r"[*?\[]", r"[\g<0>]", word).replace(ANY, "*")))
