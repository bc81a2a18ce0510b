"""What dataclasses, patterns and annotations compile is kept from one start to the next, and changes nothing."""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import marshal
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.startup.code_cache import FORMAT, POSTPONED, GeneratedCode, parts_of
from tests.e2e.raw import WAIT_S, RawClient, clean_environment

CLASSES = """
import sys
from pathlib import Path
from pygent_ls.startup.code_cache import GeneratedCode
generated = GeneratedCode(Path(sys.argv[1]))
generated.install()

from dataclasses import dataclass, field
from typing import NamedTuple

class Three(NamedTuple):
    a: int
    b: str = "x"

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
print(Three(1), Three(b="y", a=2) > Three(1))
print(generated.n_compiled, file=sys.stderr)
"""


def run_alone(script: str, file: Path, *options: str, umask: int = -1) -> tuple[str, int]:
    """What a script prints in a process of its own that may keep bytecode, and the number that it tells."""
    done = subprocess.run(
        [sys.executable, *options, "-c", script, str(file)],
        umask=umask,
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
    file.parent.mkdir()

    said, compiled = classes(file)
    again, compiled_again = classes(file)

    assert compiled > 6
    assert compiled_again == 0
    assert again == said
    assert said.startswith("One(a=1, b=[]) True False ['a', 'b', 'return']\nTwo(a=1, b=[]) True True {'a': ")
    assert said.endswith("\nThree(a=1, b='x') True\n")
    assert [each.name for each in file.parent.iterdir()] == ["kept"]


@pytest.mark.parametrize("content", [b"", b"\0" * 32, b"x" * 1000])
def test_what_is_damaged_is_compiled_and_replaced(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kept"
    said, compiled = classes(file)
    file.write_bytes(content or file.read_bytes()[:-1])

    assert classes(file) == (said, compiled)
    assert classes(file) == (said, 0)


def test_a_file_of_an_earlier_release_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    said, compiled = classes(file)
    keys = marshal.loads(file.read_bytes()[len(FORMAT) + 32 :])
    body = marshal.dumps(dict.fromkeys(keys, 1))
    file.write_bytes(hashlib.sha256(body).digest() + body)

    assert classes(file) == (said, compiled)
    assert classes(file) == (said, 0)


def test_a_file_of_another_bytecode_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    said, compiled = classes(file)
    content = file.read_bytes()
    file.write_bytes(content.replace(importlib.util.MAGIC_NUMBER, b"\0\0\r\n", 1))

    assert classes(file) == (said, compiled)
    assert file.read_bytes() == content


def test_nobody_else_can_write_it_whatever_the_umask(tmp_path: Path) -> None:
    run_alone(CLASSES, tmp_path / "kept", umask=0)

    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o644 & tmp_path.stat().st_mode


BUSY = """
import sys
from pathlib import Path
import pygent_ls.workspace.files.writer
from pygent_ls.startup.code_cache import GeneratedCode

file = Path(sys.argv[1])
generated = GeneratedCode(file)
generated.code("a = 1", "<made>", "exec", 0)

def hook(event, _arguments):
    if event == "compile":
        generated.save(worth=1)

sys.addaudithook(hook)
generated.code("b = 1", "<made>", "exec", 0)
print(len(GeneratedCode(file)), file=sys.stderr)
"""


def test_it_is_written_while_a_thread_still_compiles(tmp_path: Path) -> None:
    assert run_alone(BUSY, tmp_path / "kept") == ("", 1)


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
    first.code(f"a = {number}", "<made>", "exec", 0)
first.save()
second = GeneratedCode(file)
second.code("b = 1", "<made>", "exec", 0)
second.save()
print(len(GeneratedCode(file)) - WORTH_KEEPING)
second.save(worth=1)
print(len(GeneratedCode(file)), file=sys.stderr)
"""


def test_a_few_new_texts_are_worth_no_new_file_and_as_many_others_stay(tmp_path: Path) -> None:
    assert run_alone(FEW, tmp_path / "kept") == ("0\n", 2)


HINTS = """
from __future__ import annotations
import sys
from pathlib import Path
from typing import Literal, get_type_hints
from pygent_ls.startup.code_cache import GeneratedCode

generated = GeneratedCode(Path(sys.argv[1]))
generated.install()

def convert(path: Path | None, how: Literal["all", 'one'] = "all", *names: list[int]) -> dict[str, int]: ...
def broken(path: "1 +") -> None: ...

hints = get_type_hints(convert)
try:
    get_type_hints(broken)
except SyntaxError as error:
    print(error)
n_compiled = generated.n_compiled
generated.save(worth=1)
print(hints)
print(n_compiled, file=sys.stderr)
"""


def test_annotations_that_were_compiled_once_are_not_compiled_again(tmp_path: Path) -> None:
    file = tmp_path / "kept"

    said, compiled = run_alone(HINTS, file)

    assert said.splitlines() == [
        "Forward reference must be an expression -- got '1 +'",
        "{'path': pathlib.Path | None, 'how': typing.Literal['all', 'one'], 'names': list[int], "
        "'return': dict[str, int]}",
    ]
    assert compiled == 5
    assert run_alone(HINTS, file) == (said, 0)


@given(st.integers(-9, 9), st.booleans())
def test_code_is_what_compile_makes_of_it(number: int, postponed: bool) -> None:
    text = f"def f(a: {number}) -> None:\n    return a + {number}\n"
    flags = POSTPONED if postponed else 0
    generated = GeneratedCode(None)

    found = [generated.code(text, "<made>", "exec", each) for each in (flags, 0, flags)]

    assert generated.n_compiled == 1 + postponed
    assert found[0] == found[2]
    assert found[0] == builtins.compile(text, "<made>", "exec", flags, dont_inherit=True)
    assert found[1] == builtins.compile(text, "<made>", "exec", 0, dont_inherit=True)


MODULE = """
import re

WORDS = re.compile(r"(?P<first>\\w+) (?i:ab|[^c-f]+)", re.MULTILINE)
BYTES = re.compile(rb"a+")

class Pair:
    PATTERN = re.compile(r"(a)(b)")

def typed(text):
    return re.compile(text)
"""

PATTERNS = """
import sys
from pathlib import Path
from pygent_ls.startup.code_cache import GeneratedCode
file = Path(sys.argv[1])
generated = GeneratedCode(file)
generated.install()
sys.path.insert(0, str(file.parent))
import patterns
typed = patterns.typed("what the user typed")
n_compiled = generated.n_compiled
generated.save(worth=1)
print(patterns.WORDS, patterns.WORDS.flags, patterns.WORDS.groupindex, patterns.WORDS.match("one AB"))
print(patterns.BYTES.match(b"aa"), typed.match("what the user typed"), len(GeneratedCode(file)))
print(n_compiled, file=sys.stderr)
"""


def test_a_pattern_of_a_module_is_kept_and_one_that_a_function_makes_is_not(tmp_path: Path) -> None:
    (tmp_path / "patterns.py").write_text(MODULE)

    said, compiled = run_alone(PATTERNS, tmp_path / "kept")
    again, compiled_again = run_alone(PATTERNS, tmp_path / "kept")

    assert (compiled, compiled_again) == (2, 0)
    assert again == said
    assert said.splitlines() == [
        "re.compile('(?P<first>\\\\w+) (?i:ab|[^c-f]+)', re.MULTILINE) 40 {'first': 1} "
        "<re.Match object; span=(0, 6), match='one AB'>",
        "<re.Match object; span=(0, 2), match=b'aa'> <re.Match object; span=(0, 19), match='what the user typed'> 2",
    ]


@given(
    st.sampled_from(
        [r"a|b", r"(?x) a # b", r"(?P<n>[a-z\u4e00-\u9fff]+)(?P=n)", r"(?<!x)(a)?(?(1)b|c)", r"\b\d{2,5}?"]
    ),
    st.sampled_from([r"", r"\b\d{2,5}?", r"(?:é|[^\w\s])*+", r"(?=(z))"]),
    st.sampled_from([re.NOFLAG, re.IGNORECASE, re.ASCII, re.DOTALL | re.MULTILINE]),
)
def test_a_pattern_is_what_re_makes_of_it(begin: str, end: str, flags: re.RegexFlag) -> None:
    compiler: Any = vars(re)["_compiler"]
    pattern = begin + end

    found = compiler._sre.compile(pattern, *marshal.loads(marshal.dumps(parts_of(compiler, pattern, int(flags)))))

    assert found == re.compile(pattern, flags)
    assert found.groupindex == re.compile(pattern, flags).groupindex


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
