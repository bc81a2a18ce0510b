"""What test runners write, as numbers and failures. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A test that failed."""

    name: str
    message: str
    """What it wrote, or the line that tells most; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a run of tests came out; nothing is known where the output was not understood."""

    is_known: bool = False
    passed: int = 0
    failed: int = 0
    """Errors too."""
    skipped: int = 0
    failures: tuple[Failure, ...] = ()


def read_pytest(output: str) -> Report:
    """pytest with `-q -rfE`: the last line counts, the short summary names, the sections tell."""
    last = next((line for line in reversed(output.splitlines()) if re.search(r" in [\d.]+s", line)), "")
    if not re.search(r"\d+ (?:passed|failed|error|skipped|deselected|xfailed|warning)|no tests ran", last):
        return Report()
    named = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", output, re.M)
    sections = dict(re.findall(r"^_{3,} (.+?) _{3,}\n(.*?)(?=^_{3,} .+ _{3,}$|^={3,})", output, re.M | re.S))
    return Report(
        is_known=True,
        passed=_count(r"(\d+) passed", last),
        failed=_count(r"(\d+) failed", last) + _count(r"(\d+) errors?\b", last),
        skipped=_count(r"(\d+) skipped", last) + _count(r"(\d+) xfailed", last),
        failures=tuple(Failure(name=name, message=_section(sections, name) or said) for name, said in named),
    )


def _section(sections: dict[str, str], name: str) -> str:
    """The section of a test: its title is the name without the file, with dots."""
    short = name.partition("::")[2].replace("::", ".")
    for title in (short, f"ERROR at setup of {short}", f"ERROR at teardown of {short}", f"ERROR collecting {name}"):
        if title in sections:
            return sections[title].strip()
    return ""


def read_unittest(output: str) -> Report:
    """unittest: blocks between rules, then `Ran 3 tests` and the outcome."""
    ran = re.search(r"^Ran (\d+) tests? in", output, re.M)
    if ran is None:
        return Report()
    tail = output[ran.end() :]
    failed = (
        _count(r"failures=(\d+)", tail) + _count(r"errors=(\d+)", tail) + _count(r"unexpected successes=(\d+)", tail)
    )
    skipped = _count(r"skipped=(\d+)", tail)
    blocks = re.findall(
        r"^={70}\n(?:FAIL|ERROR): (.+)\n(?:.*\n)*?-{70}\n((?:.*\n)*?)(?=^(?:={70}|-{70})$)", output, re.M
    )
    return Report(
        is_known=True,
        passed=max(0, int(ran[1]) - failed - skipped),
        failed=failed,
        skipped=skipped,
        failures=tuple(Failure(name=name, message=said.strip()) for name, said in blocks),
    )


def read_cargo(output: str) -> Report:
    """cargo test: one result line for each binary, and a block for each failure."""
    results = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.M)
    if not results:
        return Report()
    passed, failed, skipped = (sum(map(int, column)) for column in zip(*results, strict=True))
    blocks = re.findall(
        r"^---- (\S+) stdout ----\n((?:.*\n)*?)(?=^(?:---- |failures:|note:|test result:)|\Z)", output, re.M
    )
    failures = tuple(Failure(name=name, message=said.strip()) for name, said in blocks)
    return Report(is_known=True, passed=passed, failed=failed, skipped=skipped, failures=failures)


def read_go(output: str) -> Report:
    """go test -v: a line for each test, and for each package."""
    ends = re.findall(r"^( *)--- (PASS|FAIL|SKIP): (\S+)", output, re.M)
    broken = re.findall(r"^FAIL\s+(\S+) \[(.+)\]$", output, re.M)
    if not ends and not broken and not re.search(r"^(?:ok|\?|FAIL)\s+\S+\s", output, re.M):
        return Report()
    outcomes = [(outcome, name) for _, outcome, name in ends]
    parents = {name for _, name in outcomes if any(other.startswith(f"{name}/") for _, other in outcomes)}
    counted = [outcome for outcome, name in outcomes if name not in parents]
    failures = [Failure(name=name, message=_go_said(output, name)) for outcome, name in outcomes if outcome == "FAIL"]
    failures += [Failure(name=package, message=why) for package, why in broken]
    return Report(
        is_known=True,
        passed=counted.count("PASS"),
        failed=counted.count("FAIL") + len(broken),
        skipped=counted.count("SKIP"),
        failures=tuple(failure for failure in failures if failure.name not in parents),
    )


def _go_said(output: str, name: str) -> str:
    """What a test wrote between its start and its end."""
    found = re.search(rf"^=== RUN   {re.escape(name)}\n((?:.*\n)*?) *--- FAIL: {re.escape(name)}", output, re.M)
    return found[1].strip() if found else ""


_COUNTS = (
    re.compile(r"^Tests:\s+(.*\btotal)", re.M),  # jest
    re.compile(r"^\s*Tests\s+(.*\(\d+\))", re.M),  # vitest
    re.compile(r"((?:^\s*\d+ (?:passing|failing|pending)\b.*\n?)+)", re.M),  # mocha; lines may lie between
    re.compile(r"((?:^(?:#|ℹ) (?:pass|fail|skipped|cancelled|todo) \d+\n?)+)", re.M),  # node --test
)


def read_javascript(output: str) -> Report:
    """jest, vitest, mocha or node's own runner."""
    for pattern in _COUNTS:
        if found := pattern.search(output):
            return _javascript(output, "\n".join(pattern.findall(output)) if "passing" in found[0] else found[1])
    return Report()


def _javascript(output: str, counts: str) -> Report:
    named = re.findall(r"^\s*(?:●|✕|✗|×|✖|not ok \d+ -) (.+?)(?: \([\d.]+ ?ms\))?$", output, re.M)
    named = named or re.findall(r"^\s+\d+\) (.+)$", output, re.M)
    failed = _count(r"(\d+) (?:failed|failing)", counts) + _count(r"(?:fail|cancelled) (\d+)", counts)
    failures = tuple(Failure(name=name, message="") for name in dict.fromkeys(named)) if failed else ()
    return Report(
        is_known=True,
        passed=_count(r"(\d+) (?:passed|passing)", counts) + _count(r"pass (\d+)", counts),
        failed=failed,
        skipped=_count(r"(\d+) (?:skipped|pending|todo)", counts) + _count(r"(?:skipped|todo) (\d+)", counts),
        failures=failures,
    )


def _count(pattern: str, text: str) -> int:
    return sum(int(number) for number in re.findall(pattern, text))
