"""No regular expression of the package takes the square of a text's length, whatever the text is.

The list of them is complete by construction: it is read from the source. One that is made while the program runs needs
an example here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import pytest

from pygent_ls.llm.cli.programs import PRESETS
from pygent_ls.llm.offline.grammar import PATTERNS
from tests.house.growth import grows_too_fast
from tests.house.patterns import Pattern, hard_texts, patterns
from tests.house.test_invariants import ROOT, package

NUMBER = r"(\d{1,9}+)"

MADE_WHEN_RUN: Mapping[str, tuple[str, ...]] = {
    "editors/lsp/transport/recording.py re.escape(value)": ("a" * 50 + "b", "ab" * 20 + "c"),
    "llm/cli/model.py f'(?m)^{self.program.noise}\\\\n?'": tuple(
        f"(?m)^{each.noise}\\n?" for each in PRESETS.values() if each.noise
    ),
    "llm/cli/model.py words": (r"rate.?limit|too many requests|\b429\b|quota|usage limit", r"timed? ?out"),
    "llm/http/refusals.py f\"(?<![\\\\w-]){(_MANDATORY if sent == 'none' else sent)}\\\\b\"": (r"(?<![\w-])minimal\b",),
    "llm/offline/grammar.py pattern": tuple(pattern for _, pattern in PATTERNS),
    "llm/routing.py start": (r"(chat)?gpt-|o\d",),
    "secrets/patterns.py self.regex": (),  # tests/secrets/test_patterns.py tries each of them
    "secrets/patterns.py '|'.join((re.escape(each) for each in sorted(prefixes, key=len, reverse=True)))": ("ab|a",),
    "sessions/completion.py apart": ("[^a]*a[^b]*b", "[^a]*a[^a]*a"),
    "sessions/index/query.py any_of": (r"a[\W_]*b|b",),
    "sessions/index/query.py f'(?<![^\\\\W_])(?:{any_of})'": (r"(?<![^\W_])(?:a[\W_]*b|b)",),
    "tools/files/replacement.py '\\\\r\\\\n|\\\\n' if '\\n' in text else '\\\\r'": (r"\r\n|\n", r"\r"),
    "tools/tests/reports.py f'^test result: \\\\w+\\\\. {number} passed; {number} failed; {number} ignored'": (
        rf"(?m)^test result: \w+\. {NUMBER} passed; {NUMBER} failed; {NUMBER} ignored",
    ),
    "tools/tests/reports.py pattern.replace('{}', '(?<!\\\\d)(\\\\d{1,9}+)')": (
        rf"(?<!\d){NUMBER} (?:failed|failing)",
        rf"(?:skipped|todo) (?<!\d){NUMBER}",
    ),
    "tools/tests/runners.py f'^{goal}\\\\s*:(?!=)'": (r"(?m)^test\s*:(?!=)",),
}
"""Patterns that are put together while the program runs, and examples of them."""

COMMANDS = "a command line is judged up to shell/parser.py MAX_CHARS"

BOUNDED: Mapping[str, str] = {
    "agent/rules/matcher.py translate(re.sub('[*?\\\\[]', '[\\\\g<0>]', word).replace(ANY, '*'))": COMMANDS,
    "agent/permissions/shell_reads.py pattern": COMMANDS,
    "shell/bash_builtins.py f'-[A-Za-z0-9]*?{letter}(.*)'": COMMANDS,
    "shell/options.py compiled": COMMANDS,
    "shell/options.py pattern": COMMANDS,
    "shell/programs/arguments.py '(-{1,2})(.+?)(:{1,2}|=+|\\\\?)?'": "an option in the tables of this package",
    "shell/programs/awk.py _DIVISION": COMMANDS,
    "shell/programs/sed.py '[ \\\\t]*!?[ \\\\t]*'": COMMANDS,
    "agent/rules/globs.py glob_to_regex(pattern)": "a path, which is matched as a whole",
    "agent/permissions/refusals.py '[\\\\w:.@-]+$'": "MAX_NAME_CHARS before the body of a function",
    "agent/permissions/refusals.py f'{itself}\\\\s*+\\\\|\\\\s*+{itself}\\\\s*+&'": (
        "200 characters of the body of a function"
    ),
    "shell/words.py _TOKEN": COMMANDS,
    "shell/wrappers.py f'[-+][A-Za-z]*{letter}[A-Za-z]*'": COMMANDS,
    "config/entries.py given": "it is only compiled",
    "editors/lsp/commands/comment_requests.py f'(?:(?P<sign>{signs})[ \\\\t]*{MARK}(?P<request>.*))|{_STRINGS}'": (
        "MAX_LINE_CHARS of a line"
    ),
    "editors/lsp/ports/client_hooks.py given.matcher": "the name of a registered tool",
    "extensions/hooks.py each.matcher": "the name of a registered tool",
    "editors/scripts/program_hooks.py matcher.matcher": "the name of a registered tool",
    "llm/offline/grammar.py _TOKEN": "1,000 characters behind a quote",
    "tools/language/symbol_position.py pattern": "a name of the call, escaped, between two single characters",
    "tools/search/definitions.py _LOOKS_LIKE.replace('{name}', re.escape(name)).replace('{{', '{')": (
        "MAX_JUDGED_CHARS of a line"
    ),
}
"""Patterns that only see short texts, and what bounds these."""

LENGTH, TIMES, FLOOR_S = 1_000, 8, 0.0004

ROOMS = [".", *sorted(each.parent.name for each in (ROOT / "pygent_ls").glob("*/__init__.py"))]
"""Not those with a pattern: each worker collects the tests, and one of them reads the patterns."""


def slow_text(pattern: Pattern) -> str:
    """Return the first text that takes too long; empty if none does."""
    assert pattern.compiled is not None
    for make in hard_texts(pattern.compiled):
        if grows_too_fast(pattern.run, make, length=LENGTH, times=TIMES, floor_s=FLOOR_S):
            return repr(make(20))
    return ""


def examples(room: str) -> list[Pattern]:
    found: list[Pattern] = []
    for each in patterns():
        path, _, _ = each.place.partition(" ")
        if (path.partition("/")[0] if "/" in path else ".") != room or each.place in BOUNDED:
            continue
        if each.compiled is not None:
            found.append(each)
        found += [Pattern(each.place, each.used, re.compile(text)) for text in MADE_WHEN_RUN.get(each.place, ())]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_pattern_takes_the_square_of_a_text(room: str) -> None:
    slow = {pattern.place: text for pattern in examples(room) if (text := slow_text(pattern))}

    assert slow == {}


def test_a_pattern_that_is_made_when_the_program_runs_has_an_example() -> None:
    made = {each.place for each in patterns() if each.compiled is None}

    assert made - set(BOUNDED) == set(MADE_WHEN_RUN)
    assert set(BOUNDED) <= {each.place for each in patterns()}


def test_regular_expressions_are_used_by_the_name_that_they_are_looked_for() -> None:
    others = [
        place
        for source in package()
        for place in source.finds(
            lambda node: (
                (isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"))
                or (isinstance(node, ast.Import) and any(each.name == "re" and each.asname for each in node.names))
            )
        )
    ]

    assert others == []


@pytest.mark.parametrize(
    ("pattern", "used"),
    [
        (r"[ \t]+\n", "sub"),
        (r"(?:@\S+\s*)+$", "match"),
        (r"\b([a-z][a-z0-9+.-]*://)([^\s/]+)@", "sub"),
        (r"<script.*?</script>", "sub"),
        (r"\s*x\s*$", "sub"),
    ],
)
def test_patterns_that_do_are_found(pattern: str, used: str) -> None:
    compiled = re.compile(pattern, re.DOTALL)

    assert slow_text(Pattern("here", frozenset({used}), compiled))
