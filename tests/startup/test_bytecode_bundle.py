"""Modules are imported from one file as they would be from their sources, and from these when anything differs."""

from __future__ import annotations

import compileall
import importlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from pygent_ls.startup.bytecode_bundle import HEADER, BytecodeBundle
from tests.e2e.raw import WAIT_S, RawClient, clean_environment

RUN = """
import sys
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
bundle = BytecodeBundle(file)
bundle.install()
import example.inner.last as last, example.first as first
kept = [each for each in (first, last, sys.modules["example.inner"]) if each.__loader__.length]
for each in (first, last, sys.modules["example.inner"]):
    print(each.__name__, each.__file__, each.__package__, getattr(each, "__path__", None), each.__cached__)
print(first.VALUE, last.VALUE, last.where(), each.__loader__.get_source("example.inner"))
print(len(kept), file=sys.stderr)
bundle.save(worth=1)
"""

ALONE = """
import sys
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path[:0] = [str(root.parent / "earlier"), str(root)]
bundle = BytecodeBundle(file)
bundle.install()
import alone
print(alone.VALUE)
print(alone.__loader__.length > 0, file=sys.stderr)
bundle.save(worth=1)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a package."""
    inner = tmp_path / "root" / "example" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").touch()
    (inner.parent / "first.py").write_text("VALUE = 1\n")
    (inner / "__init__.py").write_text("NAME = __name__\n")
    (inner / "last.py").write_text(
        "from example import first\n\nVALUE = first.VALUE + 1\n\ndef where():\n"
        "    return where.__code__.co_filename, where.__code__.co_firstlineno\n"
    )
    return tmp_path / "root"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The bundle's path."""
    return tmp_path / "kept"


def run(root: Path, file: Path, *options: str, script: str = RUN, umask: int = -1) -> tuple[str, int]:
    """What a process of its own says of the modules, and how many came from the bundle."""
    done = subprocess.run(
        [sys.executable, *options, "-c", script, str(root), str(file)],
        umask=umask,
        check=False,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(done.stderr.lower())


def test_modules_of_the_bundle_are_as_those_of_the_sources(root: Path, file: Path) -> None:
    said, from_bundle = run(root, file)

    assert from_bundle == 0
    assert run(root, file) == (said, 3)
    assert f"example.inner {root}/example/inner/__init__.py example.inner ['{root}/example/inner']" in said


def test_a_source_that_has_changed_is_read(root: Path, file: Path) -> None:
    run(root, file)
    source = root / "example" / "first.py"
    stat = source.stat()
    source.write_text("VALUE = 5\n")
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns + 2_000_000_000))

    said, from_bundle = run(root, file)
    assert "\n5 6 " in said
    assert from_bundle == 2
    assert run(root, file) == (said, 3), "the new one is in the bundle, now"


def test_a_module_that_is_gone_is_not_there(root: Path, file: Path) -> None:
    run(root, file)
    (root / "example" / "first.py").unlink()

    with pytest.raises(AssertionError, match="cannot import name 'first'"):
        run(root, file)


def test_a_module_that_now_comes_earlier_in_the_path_is_taken(root: Path, file: Path) -> None:
    earlier = root.parent / "earlier"
    earlier.mkdir()
    (root / "alone.py").write_text("VALUE = 1\n")
    assert run(root, file, script=ALONE) == ("1\n", False)
    assert run(root, file, script=ALONE) == ("1\n", True)

    (earlier / "alone.py").write_text("VALUE = 22\n")

    assert run(root, file, script=ALONE) == ("22\n", False)
    (earlier / "alone.py").unlink()
    assert run(root, file, script=ALONE)[0] == "1\n"
    with pytest.raises(AssertionError, match="No module named 'alone'"):
        run(root, file, script=ALONE.replace(", str(root)]", "]"))


BUILT_IN = """
import sys
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
names = [each for each in (*sys.builtin_module_names, "__hello__") if each not in sys.modules]
for each in names:
    (root / f"{each}.py").touch()
BytecodeBundle(file).install()
print(*(each for each in names if str(root) in getattr(__import__(each), "__file__", "")))
print(len(names), file=sys.stderr)
"""


def test_a_folder_in_the_path_replaces_no_module_that_is_part_of_python(root: Path, file: Path) -> None:
    replaced, n_tried = run(root, file, script=BUILT_IN)

    assert (replaced, n_tried > 0) == ("\n", True)


def test_another_place_of_the_package_has_its_own_modules(root: Path, file: Path, tmp_path: Path) -> None:
    run(root, file)
    other = tmp_path / "other"
    shutil.copytree(root, other)  # with the times of the sources
    (other / "example" / "first.py").write_text("VALUE = 70\n")

    said, from_bundle = run(other, file)
    assert from_bundle == 0
    assert f"example.first {other}/example/first.py" in said
    assert f"70 71 ('{other}/example/inner/last.py', 5)" in said


DAMAGES: Mapping[str, tuple[Callable[[bytes], bytes], int]] = {
    "empty": (lambda _: b"", 0),
    "other bytes": (lambda content: b"x" * len(content), 0),
    "cut in the index": (lambda content: content[: len(HEADER) + 30], 0),
    "another release": (lambda content: HEADER.replace(b"bytecode", b"BYTECODE") + content[len(HEADER) :], 0),
    "index": (lambda content: content.replace(b"first.py", b"FIRST.py", 1), 0),
    "cut in a part": (lambda content: content[:-10], 3),
    "a part": (lambda content: content[:-600] + b"\xff" * 600, 3),
    "length of the index": (lambda content: content[: len(HEADER)] + b"\xff" * 8 + content[len(HEADER) + 8 :], 0),
    "numbers in code": (lambda content: content.replace(b"\xe3" + bytes(4), b"\xe3" + b"\xff" * 4), 3),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_imported_from_the_sources(root: Path, file: Path, damage: str) -> None:
    said, _ = run(root, file)
    change, n_kept = DAMAGES[damage]
    file.write_bytes(change(file.read_bytes()))

    assert run(root, file) == (said, n_kept)


def test_a_file_that_another_daemon_replaces_is_not_read_by_the_old_index(root: Path, file: Path) -> None:
    run(root, file)
    bundle = BytecodeBundle(file)
    n_descriptors = len(list(Path("/proc/self/fd").iterdir()))
    package = [str(root / "example")]
    spec = bundle.find_spec("example.first", package)
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    other = file.read_bytes()
    file.with_name("new").write_bytes(other[: len(HEADER)] + b"x" * 1000 + other[len(HEADER) :])
    file.with_name("new").replace(file)

    code = spec.loader.get_code("example.first")
    assert code == compile("VALUE = 1\n", str(root / "example" / "first.py"), "exec", dont_inherit=True)
    assert len(list(Path("/proc/self/fd").iterdir())) == n_descriptors


REPLACING = """
import sys
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
bundle = BytecodeBundle(file)
bundle.install()
import alone
bundle.save(worth=1)
print(len(bundle), file=sys.stderr)
"""


def test_a_module_that_replaces_itself_by_an_object_without_attributes_is_kept(root: Path, file: Path) -> None:
    (root / "alone.py").write_text(
        "import sys\n\nclass Lazy:\n    def __getattr__(self, name):\n        raise ImportError(name)\n\n"
        "sys.modules[__name__] = Lazy()\n"
    )

    run(root, file, script=REPLACING)
    assert run(root, file, script=REPLACING)[1] == 1


LAZY = """
import importlib.util, sys, threading
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
bundle = BytecodeBundle(file)
bundle.install()
found = []

def find():
    import example.inner.last
    found.append(importlib.util.find_spec("alone"))

finding = threading.Thread(target=find)
finding.start()
finding.join()
(spec,) = found
spec.loader = importlib.util.LazyLoader(spec.loader)
lazy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lazy)
print(lazy.VALUE)
bundle.save(worth=1)
print(len(BytecodeBundle(file)), file=sys.stderr)
"""


def test_a_module_that_one_thread_finds_and_another_executes_is_kept(root: Path, file: Path) -> None:
    (root / "alone.py").write_text("VALUE = 1\n")

    assert run(root, file, script=LAZY) == ("1\n", 5)


BUSY = """
import sys, threading
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
sys.begun, sys.may_end = threading.Event(), threading.Event()
(root / "example" / "slow.py").write_text("import sys; sys.begun.set(); assert sys.may_end.wait(60)")
bundle = BytecodeBundle(file)
bundle.install()
import example.inner.last
importing = threading.Thread(target=__import__, args=["example.slow"])
importing.start()
assert sys.begun.wait(60)
bundle.save(worth=1)
sys.may_end.set()
importing.join()
print(len(BytecodeBundle(file)), file=sys.stderr)
"""


def test_it_is_written_while_a_thread_still_imports(root: Path, file: Path) -> None:
    assert run(root, file, script=BUSY) == ("", 4)


def test_a_package_that_was_moved_with_its_bytecode_has_its_new_paths(root: Path, file: Path) -> None:
    run(root, file)
    file.unlink()
    other = root.rename(root.with_name("other"))
    said, _ = run(other, file)

    assert f"('{other}/example/inner/last.py', 5)" in said
    assert run(other, file) == (said, 3)


def test_another_release_with_the_same_times_and_sizes_is_read(root: Path, file: Path) -> None:
    source = root / "example" / "first.py"
    os.utime(source, (1, 1))
    older = RUN.replace("from pathlib", "import pygent_ls; pygent_ls.__version__ = '0.0.1'\nfrom pathlib")
    said, _ = run(root, file, script=older)
    assert run(root, file, script=older) == (said, 3)

    source.write_text("VALUE = 5\n")
    os.utime(source, (1, 1))
    for each in root.rglob("*.pyc"):  # installers remove it
        each.unlink()

    said, from_bundle = run(root, file)
    assert "\n5 6 " in said
    assert from_bundle == 0


def test_nobody_else_can_write_it_whatever_the_umask(root: Path, file: Path) -> None:
    run(root, file, umask=0)
    assert file.stat().st_mode & 0o777 == 0o644 & file.parent.stat().st_mode


def test_a_package_whose_bytecode_has_no_times_has_no_bundle(root: Path, file: Path) -> None:
    compileall.compile_dir(root, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)

    said, _ = run(root, file)

    assert run(root, file) == (said, 0)


def test_where_no_bytecode_is_wanted_or_nothing_can_be_written_nothing_is_kept(root: Path, file: Path) -> None:
    run(root, file, "-B")
    run(root, file.parent / "missing" / "kept")

    assert not file.exists()
    assert not (file.parent / "missing").exists()


def test_the_daemon_and_commands_with_an_agent_import_themselves_from_it(tmp_path: Path) -> None:
    folder, bytecode = tmp_path / "work", tmp_path / "bytecode"
    folder.mkdir()
    environment = clean_environment(tmp_path, PYTHONPYCACHEPREFIX=str(bytecode), PYGENT_MODEL="offline/rules")

    def started() -> str:
        client = RawClient((sys.executable, "-v", "-m", "pygent_ls"), environment, folder)
        try:
            client.initialize(folder)
            assert client.request(1, "pygent/turn/start", {"prompt": "help"})["result"]["text"]
            assert client.finish() == 0
        finally:
            client.kill()
        return client.stderr

    def ran() -> str:
        command = (sys.executable, "-v", "-m", "pygent_ls", "run", "help")
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=True, timeout=WAIT_S)
        return done.stderr.decode()

    def stamps() -> list[int]:
        return [each.stat().st_mtime_ns for each in (*bytecode.rglob("*.modules"), *bytecode.rglob("*.generated"))]

    first, second, command = started(), started(), ran()
    before = stamps()
    started()
    ran()

    assert len(before) == 2
    assert stamps() == before, "no command writes again what the other left out"
    (kept,) = bytecode.rglob("*.modules")
    bundle = BytecodeBundle(kept)
    assert len(bundle) > 300
    assert "pygent_ls/sessions/session.py" in first
    for told in (second, command):
        read = [line for line in told.splitlines() if line.startswith("# code object from ")]
        assert not any("pygent_ls/sessions/session.py" in each for each in read), "it is not read again"
    for name in ("pygent_ls.sessions.session", "pygent_ls.agent.turn.loop", "pygent_ls.agent.turn"):
        spec = bundle.find_spec(name, list(importlib.import_module(name.rpartition(".")[0]).__path__))
        assert spec is not None
        assert isinstance(spec.loader, SourceFileLoader)
        source = Path(str(spec.origin))
        assert spec.loader.get_code(name) == compile(source.read_bytes(), str(source), "exec", dont_inherit=True)


ORDER = """
import sys, threading
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
sys.begun = []
bundle = BytecodeBundle(file, "chain")
bundle.install()
try:
    import chain.top
except ImportError as error:
    print(error, error.__traceback__ is not None)
bundle.save(worth=1)
print(*sys.begun)
print(*sorted(each for each in sys.modules if each.startswith("chain")))
print(*(f"{name}:{entry[6]}" for name, entry in BytecodeBundle(file)._entries.items()))
print(len(bundle), file=sys.stderr)
"""

NOTED = "import sys\nsys.begun.append(__name__)\n"


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """A package whose modules import one another."""
    folder = tmp_path / "root" / "chain"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(NOTED)
    (folder / "top.py").write_text(f"{NOTED}from chain import left, right\nASSERTED = left.VALUE + right.VALUE\n")
    (folder / "left.py").write_text(f"{NOTED}from chain.last import VALUE\n")
    (folder / "right.py").write_text(f"{NOTED}from chain.last import VALUE\n")
    (folder / "last.py").write_text(f"{NOTED}VALUE = 1\n")
    return tmp_path / "root"


def test_what_a_module_needed_is_imported_before_it(chain: Path, file: Path) -> None:
    first, _ = run(chain, file, script=ORDER)
    second, n_known = run(chain, file, script=ORDER)

    usual, *rest = first.splitlines()
    assert usual == "chain chain.top chain.left chain.last chain.right"
    assert rest[-1] == "chain:0 chain.last:0 chain.left:1 chain.right:0 chain.top:3"
    before, *as_before = second.splitlines()
    assert before == "chain chain.last chain.left chain.right chain.top"
    assert (as_before, n_known) == (rest, 5)


def test_a_dependency_that_fails_does_so_where_it_is_imported(chain: Path, file: Path) -> None:
    run(chain, file, script=ORDER)
    (chain / "chain" / "last.py").write_text(f"{NOTED}raise ImportError('it is broken now')\n")

    said, _ = run(chain, file, script=ORDER)

    assert said.splitlines()[:2] == ["it is broken now True", "chain chain.top chain.left chain.last"]


def test_what_was_needed_is_the_same_when_it_is_stored_again(chain: Path, file: Path) -> None:
    run(chain, file, script=ORDER)
    (chain / "chain" / "right.py").write_text(f"{NOTED}from chain.last import VALUE\n# changed\n")

    said, _ = run(chain, file, script=ORDER)

    assert said.splitlines()[-1] == "chain:0 chain.last:0 chain.left:1 chain.right:0 chain.top:3"


WAITING = """
import sys, threading
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
bundle = BytecodeBundle(file, "chain")
bundle.install()
sys.begun, sys.started, sys.may_end = [], threading.Event(), threading.Event()
importing = threading.Thread(target=__import__, args=["chain.top"])
importing.start()
assert sys.started.wait(60)
threading.Timer(0.2, sys.may_end.set).start()
from chain.last import VALUE
importing.join()
print(VALUE, len(bundle))
bundle.save(worth=1)
print(0, file=sys.stderr)
"""


def test_another_thread_waits_for_a_module_that_is_imported_ahead(chain: Path, file: Path) -> None:
    (chain / "chain" / "last.py").write_text(
        f"{NOTED}sys.started.set()\nassert sys.may_end.wait(60)\nVALUE = 'complete'\n"
    )

    assert run(chain, file, script=WAITING)[0] == "complete 0\n"
    assert run(chain, file, script=WAITING)[0] == "complete 5\n"


CROSSING = """
import faulthandler, sys, threading
from pathlib import Path
from pygent_ls.startup.bytecode_bundle import BytecodeBundle
root, file = map(Path, sys.argv[1:])
sys.path.insert(0, str(root))
bundle = BytecodeBundle(file, "chain")
bundle.install()
sys.begun, sys.left_begins, sys.other_begins = [], threading.Event(), threading.Event()
sys.is_first = len(bundle) == 0
if sys.is_first:
    sys.left_begins.set()
other = threading.Thread(target=__import__, args=["chain.other"])
other.start()
assert sys.other_begins.wait(60)
faulthandler.dump_traceback_later(30, exit=True)
import chain.top
other.join()
print(len(bundle))
bundle.save(worth=1)
print(0, file=sys.stderr)
"""


def test_two_threads_that_need_each_others_modules_do_not_wait_for_ever(chain: Path, file: Path) -> None:
    (chain / "chain" / "other.py").write_text(
        f"{NOTED}sys.other_begins.set()\nassert sys.left_begins.wait(60)\nif not sys.is_first: import chain.late\n"
    )
    (chain / "chain" / "left.py").write_text(f"{NOTED}sys.left_begins.set()\nimport chain.other\nVALUE = 1\n")

    (chain / "chain" / "late.py").touch()

    run(chain, file, script=CROSSING)
    assert run(chain, file, script=CROSSING)[0] == "6\n"
