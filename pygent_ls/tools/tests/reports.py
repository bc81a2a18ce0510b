"""Parsers for the output of test runners. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct


class Failure(Struct, frozen=True, kw_only=True):
    """Failed test."""

    name: str
    message: str
    """Output of the test, or its most relevant line; may be empty."""


class Report(Struct, frozen=True, kw_only=True):
    """Result of a test run; all unknown if the output was not understood."""

    is_known: bool = False
    passed: int = 0
    failed: int = 0
    """Number of failures, including errors."""
    skipped: int = 0
    failures: tuple[Failure, ...] = ()


def read_pytest(output: str) -> Report:
    """Parse pytest output with `-q -rfE`: counts from the last line, names from the short summary, messages from the
    sections.
    """
    lines = output.split("\n")
    last = next((line for line in reversed(lines) if re.search(r" in [\d.]++s", line)), "")
    if not re.search(r"\d (?:passed|failed|error|skipped|deselected|xfailed|warning)|no tests ran", last):
        return Report()
    named = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", output, re.M)
    sections: dict[str, str] = {}
    for title, block in _blocks(lines, _PYTEST_TITLE, re.compile(r"\A(?:_{3,}+ .+ _{3,}$|={3})")):
        sections.setdefault(title, block)
    return Report(
        is_known=True,
        passed=_count("{} passed", last),
        failed=_count("{} failed", last) + _count(r"{} errors?\b", last),
        skipped=_count("{} skipped", last) + _count("{} xfailed", last),
        failures=tuple(Failure(name=name, message=_section(sections, name) or said) for name, said in named),
    )


_PYTEST_TITLE = re.compile(r"\A_{3,}+ (.+) _{3,}$")


def _blocks(lines: Sequence[str], title: re.Pattern[str], end: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield each title with the lines below it, up to the next title or end."""
    name: str | None = None
    block: list[str] = []
    for line in lines:
        found = title.match(line)
        if found or end.match(line):
            if name is not None:
                yield name, "\n".join(block).strip()
            name, block = found[1] if found else None, []
        elif name is not None:
            block.append(line)
    if name is not None:
        yield name, "\n".join(block).strip()


def _section(sections: dict[str, str], name: str) -> str:
    """Return the section of a test: its title is the name without the file, with dots."""
    short = name.partition("::")[2].replace("::", ".")
    for title in (short, f"ERROR at setup of {short}", f"ERROR at teardown of {short}", f"ERROR collecting {name}"):
        if title in sections:
            return sections[title]
    return ""


def read_unittest(output: str) -> Report:
    """Parse unittest output: blocks between rules, then `Ran 3 tests` and the outcome."""
    ran = re.search(r"^Ran (\d{1,9}+) tests? in", output, re.M)
    if ran is None:
        return Report()
    tail = output[ran.end() :]
    failed = _count("failures={}", tail) + _count("errors={}", tail) + _count("unexpected successes={}", tail)
    skipped = _count("skipped={}", tail)
    return Report(
        is_known=True,
        passed=max(0, int(ran[1]) - failed - skipped),
        failed=failed,
        skipped=skipped,
        failures=tuple(_unittest_failures(output[: ran.start()])),
    )


def _unittest_failures(output: str) -> Iterator[Failure]:
    """Yield failures. A block is a rule of `=`, a title, lines about the test, a rule of `-`, and output up to the next
    rule.
    """
    rule = "-" * 70 + "\n"
    for block in f"\n{output}".split(f"\n{'=' * 70}\n")[1:]:
        title, _, rest = block.partition("\n")
        kind, _, name = title.partition(": ")
        _, found, said = rest.partition(rule)
        if found and kind in ("FAIL", "ERROR"):
            yield Failure(name=name, message=said.partition(f"\n{rule}")[0].strip())


def read_cargo(output: str) -> Report:
    """Parse cargo test output: one result line for each binary, and a block for each failure."""
    number = r"(\d{1,9}+)"
    results = re.findall(rf"^test result: \w+\. {number} passed; {number} failed; {number} ignored", output, re.M)
    if not results:
        return Report()
    passed, failed, skipped = (sum(map(int, column)) for column in zip(*results, strict=True))
    end = re.compile(r"failures:|note:|test result:")
    blocks = _blocks(output.split("\n"), re.compile(r"---- (\S++) stdout ----$"), end)
    failures = tuple(Failure(name=name, message=said) for name, said in blocks)
    return Report(is_known=True, passed=passed, failed=failed, skipped=skipped, failures=failures)


MAX_SAID = 20
"""Maximum number of Go failures reported with their output: the blocks of parallel tests are interleaved."""


def read_go(output: str) -> Report:
    """Parse go test -v output: a line for each test and for each package."""
    lines = output.split("\n")
    began: dict[str, int] = {}
    ends: list[tuple[str, str, int]] = []
    for at, line in enumerate(lines):
        if found := re.match(r" *+--- (PASS|FAIL|SKIP): (\S+)", line):
            ends.append((found[1], found[2], at))
        elif line.startswith(_GO_BEGINS):
            began.setdefault(line.removeprefix(_GO_BEGINS), at)
    broken = re.findall(r"^FAIL[^\S\n]+(\S+) \[(.+)\]$", output, re.M)
    if not ends and not broken and not re.search(r"^(?:ok|\?|FAIL)[^\S\n]+\S+\s", output, re.M):
        return Report()
    parents = _parents(name for _, name, _ in ends)
    counted = [outcome for outcome, name, _ in ends if name not in parents]
    failed = [(name, at) for outcome, name, at in ends if outcome == "FAIL" and name not in parents]
    told = {name: "\n".join(lines[began[name] + 1 : at]).strip() for name, at in failed[:MAX_SAID] if name in began}
    failures = [Failure(name=name, message=told.get(name, "")) for name, _ in failed]
    return Report(
        is_known=True,
        passed=counted.count("PASS"),
        failed=counted.count("FAIL") + len(broken),
        skipped=counted.count("SKIP"),
        failures=(*failures, *(Failure(name=package, message=why) for package, why in broken)),
    )


_GO_BEGINS = "=== RUN   "


def _parents(names: Iterable[str]) -> set[str]:
    """Return the names that are parents of others: in sorted order, a parent's first child follows it directly."""
    parted = sorted({name.replace("/", "\0") for name in names})
    return {one.replace("\0", "/") for one, other in pairwise(parted) if other.startswith(f"{one}\0")}


_COUNTS = (
    re.compile(r"^Tests:[ \t]++(.*\btotal)", re.M),  # jest
    re.compile(r"^[ \t]*+Tests[ \t]++(.*\(\d+\))", re.M),  # vitest
    re.compile(r"((?:^[ \t]*+\d++ (?:passing|failing|pending)\b.*\n?)+)", re.M),  # mocha; other lines may be in between
    re.compile(r"((?:^(?:#|ℹ) (?:pass|fail|skipped|cancelled|todo) \d+\n?)+)", re.M),  # node --test
)


def read_javascript(output: str) -> Report:
    """Parse the output of jest, vitest, mocha or node's own runner."""
    for pattern in _COUNTS:
        if found := pattern.search(output):
            return _javascript(output, "\n".join(pattern.findall(output)) if "passing" in found[0] else found[1])
    return Report()


def _javascript(output: str, counts: str) -> Report:
    named = re.findall(r"^[ \t]*+(?:●|✕|✗|×|✖|not ok \d+ -) (.+?)(?: \([\d.]++ ?ms\))?$", output, re.M)
    named = named or re.findall(r"^[ \t]++\d++\) (.+)$", output, re.M)
    failed = _count("{} (?:failed|failing)", counts) + _count("(?:fail|cancelled) {}", counts)
    failures = tuple(Failure(name=name, message="") for name in dict.fromkeys(named)) if failed else ()
    return Report(
        is_known=True,
        passed=_count("{} (?:passed|passing)", counts) + _count("pass {}", counts),
        failed=failed,
        skipped=_count("{} (?:skipped|pending|todo)", counts) + _count("(?:skipped|todo) {}", counts),
        failures=failures,
    )


def _count(pattern: str, text: str) -> int:
    """Return the sum of the numbers in matches; `{}` in the pattern represents a number."""
    return sum(int(number) for number in re.findall(pattern.replace("{}", r"(?<!\d)(\d{1,9}+)"), text))
