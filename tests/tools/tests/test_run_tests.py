"""run_tests finds out how a project is tested, runs it, and tells the numbers and the first failures."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.tests.reports import (
    Failure,
    Report,
    read_cargo,
    read_go,
    read_javascript,
    read_pytest,
    read_unittest,
)
from pygent_ls.tools.tests.run_tests import run_tests
from tests.fakes import bounded
from tests.tools.tool_bench import Bench
from tests.workspace.programs import UP, OnceUp

pytestmark = pytest.mark.usefixtures("only_pytest")

UNITTEST = """\
import unittest


class Sums(unittest.TestCase):
    def test_right(self):
        self.assertEqual(1 + 1, 2)

    def test_wrong(self):
        self.assertEqual(1 + 1, 3)

    @unittest.skip("later")
    def test_later(self):
        pass
"""

PYTEST = """\
import pytest


def test_right():
    assert 1 + 1 == 2


def test_wrong():
    assert 1 + 1 == 3


@pytest.fixture
def broken():
    raise RuntimeError("no database")


def test_needs_it(broken):
    pass
"""


def own_python(bench: Bench) -> None:
    """A project's own interpreter: the one that runs this, without our plugins, which take a second to import."""
    script = f'#!/bin/sh\nexport PYTEST_DISABLE_PLUGIN_AUTOLOAD=1\nexec {sys.executable} "$@"\n'
    bench.write(".venv/bin/python", script).chmod(0o755)
    bench.write(".gitignore", ".venv\n")


async def test_unittest_is_told_from_the_test_files(bench: Bench) -> None:
    bench.write("tests/test_sums.py", UNITTEST)

    told = await bench.call(run_tests)

    assert told.startswith("unittest: 1 passed, 1 failed, 1 skipped.\n\nFailed: test_wrong (test_sums.Sums")
    assert "AssertionError: 2 != 3" in told
    assert "-m unittest discover -s tests; exit code 1;" in told
    assert "".join(bench.reported).count("AssertionError") == 1


async def test_a_target_and_a_filter_narrow_the_run(bench: Bench) -> None:
    bench.write("test_sums.py", UNITTEST)
    bench.write("test_other.py", UNITTEST)

    assert (await bench.call(run_tests, target="test_sums.py")).startswith("unittest: 1 passed, 1 failed")
    assert (await bench.call(run_tests, filter="test_right")).startswith("unittest: 2 passed, 0 failed.\n\n[")


async def test_pytest_is_told_from_its_settings_or_what_the_tests_import(bench: Bench) -> None:
    own_python(bench)
    bench.write("tests/test_sums.py", PYTEST)

    told = await bench.call(run_tests)

    assert told.startswith("pytest: 1 passed, 2 failed.\n\n")
    assert "Failed: tests/test_sums.py::test_wrong\n" in told
    assert "assert (1 + 1) == 3" in told
    assert "Failed: tests/test_sums.py::test_needs_it\n" in told
    assert "RuntimeError: no database" in told


async def test_pytest_takes_one_test_and_a_filter(bench: Bench) -> None:
    own_python(bench)
    bench.write("pytest.ini", "[pytest]\n")
    bench.write("tests/test_sums.py", PYTEST)

    one = await bench.call(run_tests, target="tests/test_sums.py::test_right")
    chosen = await bench.call(run_tests, target="tests", filter="right or wrong")

    assert one.startswith("pytest: 1 passed, 0 failed.")
    assert chosen.startswith("pytest: 1 passed, 1 failed.")


async def test_a_file_that_cannot_be_imported_is_a_failure_that_is_told(bench: Bench) -> None:
    own_python(bench)
    bench.write("pytest.ini", "[pytest]\n")
    bench.write("test_bad.py", "import nowhere_to_be_found\n")

    told = await bench.call(run_tests)

    assert told.startswith("pytest: 0 passed, 1 failed.")
    assert "nowhere_to_be_found" in told


async def test_the_script_of_package_json_is_run(bench: Bench) -> None:
    bench.write("package.json", '{"scripts": {"test": "node --test"}}')
    bench.write(
        "sum.test.js",
        "const t = require('node:test'), a = require('node:assert');\n"
        "t('right', () => a.equal(2, 2));\nt('wrong', () => a.equal(2, 3));\n",
    )

    told = await bench.call(run_tests)

    assert told.startswith("npm test: 1 passed, 1 failed.")
    assert "Failed: wrong" in told


async def test_a_rule_of_make_is_run_and_other_output_is_shown_at_its_end(bench: Bench) -> None:
    bench.write("Makefile", "test:\n\t@echo all good\n")
    told = await bench.call(run_tests)
    assert told.startswith(
        "make test: passed, according to its exit code; the numbers in its output could not be read."
    )
    assert "all good" in told

    bench.write("Makefile", "check:\n\t@echo 'Ran 3 tests in 0.1s'; echo 'FAILED (errors=1)'; exit 1\n")
    assert (await bench.call(run_tests)).startswith("make check: 2 passed, 1 failed.")


async def test_a_project_below_the_workspace_folder_is_run_by_its_own_runner(bench: Bench) -> None:
    bench.write("Makefile", "test:\n\t@echo not this one\n")
    bench.write("lib/pyproject.toml", "[project]\n")
    bench.write("lib/test_sums.py", UNITTEST)

    assert (await bench.call(run_tests, target="lib/test_sums.py")).startswith("unittest: 1 passed, 1 failed")
    assert (await bench.call(run_tests, target="lib")).startswith("unittest: 1 passed, 1 failed")


async def test_a_run_that_takes_too_long_is_ended(bench: Bench) -> None:
    bench.write("Makefile", f"test:\n\t@echo begun; {UP}; sleep 300\n")
    bench.processes = OnceUp()

    told = await bounded(bench.call(run_tests, timeout_s=0.5))

    assert told.startswith("make test was stopped after 0.5 s, before it was done.\nbegun")


async def test_what_cannot_be_run_is_said(bench: Bench) -> None:
    with pytest.raises(ToolError, match="No test runner was found"):
        await bench.call(run_tests)
    bench.write("lib/package.json", "{}")
    with pytest.raises(ToolError, match="Projects are in: lib; name one as `target`"):
        await bench.call(run_tests)
    with pytest.raises(ToolError, match=r"missing\.py does not exist"):
        await bench.call(run_tests, target="missing.py")
    with pytest.raises(OutsideWorkspaceError):
        await bench.call(run_tests, target="../x")
    with pytest.raises(ToolError, match="starts with `-`"):
        await bench.call(run_tests, filter="--pdb")


def test_the_paths_of_a_call_are_its_target_without_the_tests_name() -> None:
    assert run_tests.paths_in({"target": "tests/test_a.py::test_b"}) == ("tests/test_a.py",)
    assert run_tests.paths_in({"target": 7}) == run_tests.paths_in({}) == ()


# What runners write


def test_cargo_is_read_over_all_its_binaries() -> None:
    report = read_cargo(
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n"
        "thread 'b' panicked at src/lib.rs:9:9:\nassertion failed\n\n\nfailures:\n    b\n\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\n"
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n"
    )

    assert (report.passed, report.failed, report.skipped) == (4, 1, 1)
    assert report.failures == (Failure(name="b", message="thread 'b' panicked at src/lib.rs:9:9:\nassertion failed"),)


def test_go_counts_the_innermost_tests_and_packages_that_do_not_build() -> None:
    report = read_go(
        "=== RUN   TestA\n=== RUN   TestA/one\n    a_test.go:5: got 2\n--- FAIL: TestA (0.00s)\n"
        "    --- FAIL: TestA/one (0.00s)\n    --- PASS: TestA/two (0.00s)\n=== RUN   TestB\n--- SKIP: TestB (0.00s)\n"
        "FAIL\nFAIL\tx/a\t0.01s\nFAIL\tx/b [build failed]\n"
    )

    assert (report.passed, report.failed, report.skipped) == (1, 2, 1)
    assert [failure.name for failure in report.failures] == ["TestA/one", "x/b"]


@pytest.mark.parametrize(
    ("output", "passed", "failed", "skipped"),
    [
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", 2, 1, 1),
        ("      Tests  1 failed | 2 passed (3)\n", 2, 1, 0),
        ("  2 passing (5ms)\n  1 pending\n  1 failing\n\n  1) adds\n", 2, 1, 1),
        ("# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n", 2, 1, 0),
    ],
    ids=["jest", "vitest", "mocha", "node"],
)
def test_the_runners_of_javascript_are_read(output: str, passed: int, failed: int, skipped: int) -> None:
    report = read_javascript(output)

    assert (report.is_known, report.passed, report.failed, report.skipped) == (True, passed, failed, skipped)


@pytest.mark.parametrize("read", [read_pytest, read_unittest, read_cargo, read_go, read_javascript])
def test_output_of_anything_else_is_not_taken_for_numbers(read: Callable[[str], Report]) -> None:
    assert not read("Traceback (most recent call last):\n  5 things in 3 places\n").is_known
