"""Which rules count for a call: an allow rule must cover all of it, a deny or ask rule any part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from fnmatch import fnmatchcase

from pygent_ls.agent.rules import AnyCall, CommandPrefix, Domain, PathGlob, Rule, WholeCommand
from pygent_ls.shell.line import ShellLine, SimpleCommand
from pygent_ls.shell.options import does_more
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY
from pygent_ls.shell.wrappers import SHELLS


class Match(IntEnum):
    """How surely a deny or ask rule is about a call."""

    NO = 0
    MAYBE = 1
    """Only running would tell: `$X`, a script that is read from elsewhere."""
    YES = 2


def matches(rule: Rule, subject: str) -> bool:
    """Whether the rule counts for a call on this subject alone."""
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
    """Whether the rule counts when it is about any part of any subject."""
    if isinstance(rule.pattern, AnyCall):
        return Match.YES
    if rule.tool_name == "shell":
        return max((_concerns_line(rule, read_line(subject)) for subject in subjects), default=Match.NO)
    return Match.YES if any(_is_about(rule, subject) for subject in subjects) else Match.NO


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
    prefixes = [rule.pattern.words for rule in rules if isinstance(rule.pattern, CommandPrefix)]
    if not prefixes or not line.plain:
        return False
    return all(_covered(prefixes, each) for each in dict.fromkeys([*line.plain, *line.commands]))


def _covered(prefixes: Sequence[tuple[str, ...]], command: SimpleCommand) -> bool:
    return any(_covers(prefix, prefixes, command) for prefix in prefixes)


def _covers(prefix: tuple[str, ...], prefixes: Sequence[tuple[str, ...]], command: SimpleCommand) -> bool:
    begins = command.words[: len(prefix)] == prefix
    return begins and not _does_more(command, len(prefix)) and _reaches(len(prefix), prefixes, command)


def _reaches(n_words: int, prefixes: Sequence[tuple[str, ...]], command: SimpleCommand) -> bool:
    """Whether what the command is made to run is within the first words, or covered by itself."""
    return all(
        (inner.begin < n_words and _reaches(n_words - inner.begin, prefixes, inner.command))
        or _covered(prefixes, inner.command)
        for inner in command.runs
    )


def _does_more(command: SimpleCommand, n_named: int) -> bool:
    if command.name == "git" and command.folder:
        return True  # a folder may be a repository of somebody else, whose settings name programs to run
    return does_more(command.words, n_named, command.name)


# Denying, or asking for, a part of a command line


def _concerns_line(rule: Rule, line: ShellLine) -> Match:
    match rule.pattern:
        case CommandPrefix(words=words):
            found = max((_begins(words, command) for command in line.all()), default=Match.NO)
        case WholeCommand(text=text):
            words = read_line(text).commands[-1].words if read_line(text).commands else ()
            is_one = text == line.text or any(command.words == words for command in line.all() if words)
            found = Match.YES if is_one else Match.NO
        case _:
            return Match.NO
    return found if found or line.is_parsed else Match.MAYBE


def _begins(prefix: tuple[str, ...], command: SimpleCommand) -> Match:
    """How surely the command begins with these words, options between them left aside."""
    words = command.words
    if command.name in SHELLS and not command.runs and all(word.startswith("-") for word in words[1:]):
        return max(Match.MAYBE, _same_name(prefix[0], words[0]))
    found, position = _same_name(prefix[0], words[0]), 1
    letters = {letter for word in words[1:] if re.match(r"-[^-]", word) for letter in word[1:]}
    for wanted in prefix[1:]:
        if re.match(r"-[^-]", wanted) and set(wanted[1:]) <= letters:
            continue
        here, position = _next(wanted, words, position)
        found = min(found, here)
    return found


def _next(wanted: str, words: Sequence[str], position: int) -> tuple[Match, int]:
    """Look for a word behind options, each with or without a value."""
    is_value = False
    for index in range(position, len(words)):
        word = words[index]
        if here := _same(wanted, word):
            return here, index + 1
        if not word.startswith("-") and not is_value:
            break
        is_value = word.startswith("-")
    return Match.NO, position


def _same_name(wanted: str, word: str) -> Match:
    """Programs are the same wherever they lie, and in whatever case, which some file systems do not tell."""
    name = word if "/" in wanted else word.rpartition("/")[2]
    if ANY in name and name.strip(ANY) and _same(wanted.lower(), name.lower()):
        return Match.YES
    return _same(wanted.lower(), name.lower().removesuffix(".exe"))


def _same(wanted: str, word: str) -> Match:
    if ANY not in word:
        return Match.YES if wanted == word else Match.NO
    pattern = re.sub(r"[*?\[]", r"[\g<0>]", word).replace(ANY, "*")
    return Match.MAYBE if fnmatchcase(wanted, pattern) else Match.NO
