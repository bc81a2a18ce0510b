"""The index of symbols as a real program: what it parses, remembers, skips and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pygent_ls.agent.ports.symbols import SourceFiles, SymbolFocus, SymbolRanking
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.symbols.index import MAX_CACHES, WorkspaceSymbols


class Place:
    """A workspace on the disk and its index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.state = folder / "state"
        self.folder.mkdir()
        self.index = self.opened()

    def opened(self) -> WorkspaceSymbols:
        """The index as another daemon has it."""
        return WorkspaceSymbols(LocalProcesses(), DiskWorkspace([self.folder]), self.state)

    def write(self, name: str, text: str | bytes) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def files(self, **unsaved: str) -> SourceFiles:
        """All files, as a listing names them."""
        paths = sorted(str(path) for path in self.folder.rglob("*") if not path.is_dir())
        texts = {str(self.folder / f"{name}.py"): text for name, text in unsaved.items()}
        return SourceFiles(paths=sorted({*paths, *texts}), unsaved=texts, is_whole=True)

    async def rank(
        self, *, seconds: float = 20.0, index: WorkspaceSymbols | None = None, **unsaved: str
    ) -> SymbolRanking:
        return await (index or self.index).rank(self.files(**unsaved), SymbolFocus(), limit=100, seconds=seconds)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def names(ranking: SymbolRanking) -> list[str]:
    return [each.symbol.name for each in ranking.ranked]


async def test_only_what_changed_is_parsed_again(place: Place) -> None:
    place.write("a.py", "class Shape: pass\n")
    place.write("b.py", "from a import Shape\ndef run(): Shape()\n")

    first = await place.rank()
    again = await place.rank()
    place.write("b.py", "from a import Shape\ndef walk(): Shape()\n")
    changed = await place.rank()

    assert (names(first), first.n_parsed) == (["Shape", "run"], 2)
    assert (names(again), again.n_parsed) == (["Shape", "run"], 0)
    assert (names(changed), changed.n_parsed) == (["Shape", "walk"], 1)


async def test_another_daemon_goes_on_with_what_was_parsed(place: Place) -> None:
    place.write("a.py", "class Shape: pass\n")
    await place.rank()

    found = await place.rank(index=place.opened())

    assert (names(found), found.n_parsed) == (["Shape"], 0)


async def test_what_is_kept_holds_no_text_and_is_the_users_alone(place: Place) -> None:
    place.write("a.py", 'KEY = "s3cr3t-value-of-mine"\ndef run(key="another-s3cr3t"): pass\n')
    await place.rank()

    (kept,) = place.state.iterdir()
    assert b"s3cr3t" not in kept.read_bytes()
    assert b"run" in kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0


async def test_a_damaged_cache_is_parsed_anew(place: Place) -> None:
    place.write("a.py", "class Shape: pass\n")
    await place.rank()
    (kept,) = place.state.iterdir()
    for damage in (b"", b"\xff\n\xff\t\t\n", kept.read_bytes()[:-20], kept.read_bytes().replace(b'{"d"', b'["d"')):
        kept.write_bytes(damage)

        assert names(await place.rank()) == ["Shape"]


async def test_an_unsaved_text_counts_in_place_of_its_file_and_is_not_kept(place: Place) -> None:
    place.write("a.py", "class Shape: pass\n")
    await place.rank()

    typed = await place.rank(a="class Square: pass\n", new="class Round: pass\n")
    (kept,) = place.state.iterdir()
    after = await place.rank()

    assert sorted(names(typed)) == ["Round", "Square"]
    assert b"Square" not in kept.read_bytes()
    assert (names(after), after.n_parsed) == (["Shape"], 0)


async def test_a_file_that_is_gone_is_forgotten(place: Place) -> None:
    file = place.write("a.py", "class Shape: pass\n")
    place.write("b.py", "class Square: pass\n")
    await place.rank()
    file.unlink()

    assert names(await place.rank()) == ["Square"]
    (kept,) = place.state.iterdir()
    assert b"Shape" not in kept.read_bytes()


async def test_there_is_no_more_time_than_was_given_and_the_next_call_goes_on(place: Place) -> None:
    for n in range(40):
        place.write(f"m{n}.py", f"class Shape{n}: pass\n")

    none = await place.rank(seconds=0)
    rest = await place.rank()

    assert (none.n_waiting, none.n_files, names(none)) == (40, 40, [])
    assert (rest.n_waiting, len(names(rest))) == (0, 40)


async def test_hostile_files_are_skipped_and_hold_up_nothing(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("class Secret: pass\n")
    place.write("good.py", "class Shape: pass\n")
    place.write("binary.py", b"class Hidden: pass\n\0\0")
    place.write("latin.py", "class Cafe:\n    name = 'é'\n".encode("latin-1"))
    place.write("wide.py", "class Wide: pass\n".encode("utf-16"))
    place.write("minified.js", "function a(){};" * 10_000)
    place.write("deep.js", "(" * 400_000)
    place.write("nested.py", "".join(f"{' ' * n}class C{n}:\n" for n in range(900)))
    place.write("empty.py", "")
    with place.write("large.py", "class Large: pass\n").open("ab") as large:
        large.truncate(100_000_000)
    (place.folder / "link.py").symlink_to(secret)
    (place.folder / "loop").symlink_to(place.folder)
    os.mkfifo(place.folder / "pipe.py")

    found = await place.rank(seconds=60)

    listed = {name for name in names(found) if not name.startswith("C") or name == "Cafe"}
    assert listed == {"Shape", "Cafe", "Wide"}
    assert found.n_waiting == 0


async def test_the_outlines_of_the_workspaces_used_last_are_kept(tmp_path: Path) -> None:
    state = tmp_path / "state"
    for n in range(MAX_CACHES + 3):
        folder = tmp_path / f"w{n}"
        folder.mkdir()
        (folder / "a.py").write_text("class Shape: pass\n")
        index = WorkspaceSymbols(LocalProcesses(), DiskWorkspace([folder]), state)
        files = SourceFiles(paths=[str(folder / "a.py")], is_whole=True)
        await index.rank(files, SymbolFocus(), limit=1, seconds=5)

    assert len(list(state.iterdir())) == MAX_CACHES


# By name


async def test_definitions_and_references_are_found_by_name(place: Place) -> None:
    a = place.write("a.py", "class Shape:\n    def area(self): pass\n")
    b = place.write("b.py", "from a import Shape\n\ndef run():\n    Shape().area()  # Shape\n")
    place.write("c.md", "Shape")

    defined = await place.index.definitions_of("Shape", place.files())
    used = await place.index.references_to("Shape", place.files())
    typed = await place.index.definitions_of("Shape", place.files(b="class Shape: pass\n"))

    assert [(each.path, [(own.kind, own.line) for own in each.symbols]) for each in defined] == [(a, [("class", 1)])]
    assert [(each.path, [tuple(own) for own in each.references]) for each in used] == [
        (a, [(1, 6)]),
        (b, [(1, 14), (4, 4)]),
    ]
    assert [each.path for each in typed] == [a, b]


async def test_the_symbols_of_a_text_are_found(place: Place) -> None:
    found = await place.index.definitions_in("/any/where.py", "class Shape:\n    def area(self): pass\n")

    assert [(each.name, each.container, each.line) for each in found] == [("Shape", "", 1), ("area", "Shape", 2)]
    assert await place.index.definitions_in("/any/where.txt", "class Shape: pass") == ()


# Parsing


def parsed(code: str, file_s: float) -> dict[str, object]:
    """The outcomes of three files in a program of its own, since it forks."""
    program = f"""
import json, os, time
from pygent_ls.workspace.symbols.parsing import Input, parse_all
def parse(text, suffix):
    {code}
    return text
inputs = [Input(f"/{{n}}.py", 1, text) for n, text in enumerate(["good", "bad", "fine"])]
found = parse_all(inputs, parse, time.monotonic() + 30, file_s={file_s})
print(json.dumps({{each.path: each.result for each in found}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("code", "file_s"),
    [
        ("while text == 'bad': pass", 0.5),  # takes forever
        ("if text == 'bad': os.abort()", 20),  # crashes
        ("if text == 'bad': raise ValueError", 20),
    ],
)
def test_a_file_that_cannot_be_parsed_costs_no_other(code: str, file_s: float) -> None:
    assert parsed(code, file_s) == {"/0.py": "good", "/1.py": None, "/2.py": "fine"}
