"""What dataclasses compile is kept from one start to the next, and whatever is kept changes nothing."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.startup.code_cache import POSTPONED, GeneratedCode
from tests.e2e.raw import WAIT_S, RawClient, clean_environment

CLASSES = """
import sys
from pathlib import Path
from pygent_ls.startup.code_cache import GeneratedCode
generated = GeneratedCode(Path(sys.argv[1]))
generated.install()

from dataclasses import dataclass, field

@dataclass
class One:
    a: int
    b: "list[int]" = field(default_factory=list)

@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Two:
    a: int
    b: "list[int]" = field(default_factory=list, compare=False)

generated.save(worth=1)
print(One(1), One(1) == One(1), One(1) == One(2), sorted(One.__init__.__annotations__))
print(Two(a=1), Two(a=1) < Two(a=2), hash(Two(a=1)) == hash(Two(a=1)), Two.__init__.__annotations__)
print(generated.n_compiled, file=sys.stderr)
"""


def run_alone(script: str, file: Path, *options: str) -> tuple[str, int]:
    """What a script prints in a process of its own that may keep bytecode, and the number that it tells."""
    done = subprocess.run(
        [sys.executable, *options, "-c", script, str(file)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )
    return done.stdout, int(done.stderr)


def classes(file: Path, *options: str) -> tuple[str, int]:
    """What the classes do, and how often something was compiled for them."""
    return run_alone(CLASSES, file, *options)


def test_what_was_compiled_once_is_not_compiled_again_and_the_classes_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "kept"

    said, compiled = classes(file)
    again, compiled_again = classes(file)

    assert compiled > 6
    assert compiled_again == 0
    assert again == said
    assert said.startswith("One(a=1, b=[]) True False ['a', 'b', 'return']\nTwo(a=1, b=[]) True True {'a': ")
    assert [each.name for each in file.parent.iterdir()] == ["kept"]


@pytest.mark.parametrize("content", [b"", b"\0" * 32, b"x" * 1000])
def test_what_is_damaged_is_compiled_and_replaced(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kept"
    said, compiled = classes(file)
    file.write_bytes(content or file.read_bytes()[:-1])

    assert classes(file) == (said, compiled)
    assert classes(file) == (said, 0)


def test_where_no_bytecode_is_wanted_or_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert classes(tmp_path / "file" / "kept")[1] > 6
    assert classes(tmp_path / "kept", "-B")[1] > 6
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


FEW = """
import sys
from pathlib import Path
from pygent_ls.startup.code_cache import WORTH_KEEPING, GeneratedCode

file = Path(sys.argv[1])
first = GeneratedCode(file)
for number in range(WORTH_KEEPING):
    first.code(f"a = {number}", "<made>", 0)
first.save()
second = GeneratedCode(file)
second.code("b = 1", "<made>", 0)
second.save()
print(len(GeneratedCode(file)) - WORTH_KEEPING)
second.save(worth=1)
print(len(GeneratedCode(file)), file=sys.stderr)
"""


def test_a_few_new_texts_are_worth_no_new_file_and_what_is_not_used_any_more_goes(tmp_path: Path) -> None:
    assert run_alone(FEW, tmp_path / "kept") == ("0\n", 1)


@given(st.integers(-9, 9), st.booleans())
def test_code_is_what_compile_makes_of_it(number: int, postponed: bool) -> None:
    text = f"def f(a: {number}) -> None:\n    return a + {number}\n"
    flags = POSTPONED if postponed else 0
    generated = GeneratedCode(None)

    found = [generated.code(text, "<made>", each) for each in (flags, 0, flags)]

    assert found[0] is found[2]
    assert found[0] == builtins.compile(text, "<made>", "exec", flags, dont_inherit=True)
    assert found[1] == builtins.compile(text, "<made>", "exec", 0, dont_inherit=True)


def test_the_daemon_keeps_it_beside_its_bytecode_when_it_ends(tmp_path: Path) -> None:
    folder, bytecode = tmp_path / "work", tmp_path / "bytecode"
    folder.mkdir()
    environment = clean_environment(tmp_path, PYTHONPYCACHEPREFIX=str(bytecode))
    client = RawClient((sys.executable, "-m", "pygent_ls"), environment, folder)
    try:
        client.initialize(folder)
        client.request(2, "shutdown")
        client.tell("exit")
        assert client.wait() == 0
    finally:
        client.kill()

    (kept,) = bytecode.rglob("*.generated")
    assert len(GeneratedCode(kept)) > 100
