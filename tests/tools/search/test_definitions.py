"""find_definition tells definitions from mentions, in ten languages, as the user sees the files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pygent_ls.errors import ToolError
from pygent_ls.tools.search.definitions import find_definition
from tests.tools.tool_bench import Bench

SOURCES: dict[str, str] = {
    "a.py": """\
from x import area
LIMIT = 3
class Shape:
    def area(self):
        area = 1
        return area
""",
    "a.js": """\
import {area} from './x';
const area = () => 1;
class Shape { area() {} }
area();
exports.area = function () {};
""",
    "a.ts": """\
interface Shape { area(): number }
export function area(x: number): number { return x }
type Limit = 3;
""",
    "a.go": """\
package a
func area() int { return 1 }
func (s *Shape) area2() int { return area() }
type Shape struct{}
""",
    "a.rs": """\
struct Shape { x: u8 }
impl Shape { fn area(&self) -> u8 { area() } }
macro_rules! limit { () => {} }
""",
    "a.c": """\
#define LIMIT 3
int area(int);
int *area(int x) { return area(LIMIT); }
struct Shape { int x; };
struct Shape s;
""",
    "a.cpp": """\
class Shape { int area(); };
int Shape::area() { return area(); }
namespace limit {}
""",
    "A.java": """\
class Shape {
  int area() { return area(); }
  static final int LIMIT = 3;
}
""",
    "a.rb": """\
class Shape
  def area
    area
  end
end
LIMIT = 3
""",
    "a.lua": """\
local function area() end
function M.area() area() end
M.limit = function() end
""",
}


@pytest.mark.parametrize(
    ("file", "symbol", "lines"),
    [
        ("a.py", "area", [(4, "function")]),
        ("a.py", "LIMIT", [(2, "variable")]),
        ("a.py", "Shape", [(3, "class")]),
        ("a.js", "area", [(2, "function"), (3, "method"), (5, "function")]),
        ("a.ts", "area", [(2, "function"), (1, "declaration")]),
        ("a.ts", "Limit", [(3, "type")]),
        ("a.go", "area", [(2, "function")]),
        ("a.go", "area2", [(3, "method")]),
        ("a.go", "Shape", [(4, "type")]),
        ("a.rs", "area", [(2, "function")]),
        ("a.rs", "Shape", [(1, "struct")]),
        ("a.rs", "limit", [(3, "macro")]),
        ("a.c", "area", [(3, "function"), (2, "declaration")]),
        ("a.c", "LIMIT", [(1, "macro")]),
        ("a.c", "Shape", [(4, "struct")]),
        ("a.cpp", "area", [(2, "function"), (1, "declaration")]),
        ("a.cpp", "Shape::area", [(2, "function"), (1, "declaration")]),
        ("a.cpp", "limit", [(3, "module")]),
        ("A.java", "area", [(2, "method")]),
        ("A.java", "LIMIT", [(3, "variable")]),
        ("a.rb", "area", [(2, "method")]),
        ("a.rb", "LIMIT", [(6, "variable")]),
        ("a.lua", "area", [(1, "function"), (2, "function")]),
        ("a.lua", "M.limit", [(3, "function")]),
    ],
)
async def test_definitions_are_told_from_mentions(
    bench: Bench, file: str, symbol: str, lines: list[tuple[int, str]]
) -> None:
    bench.write(file, SOURCES[file])

    told = await bench.call(find_definition, symbol=symbol)

    assert [tuple(line.split(": ")[:2]) for line in told.splitlines()] == [(f"{file}:{n}", kind) for n, kind in lines]


async def test_unsaved_changes_are_seen_as_the_user_sees_them(bench: Bench) -> None:
    file = bench.write("a.py", "def old():\n    pass\n")
    bench.workspace.type_into(file, "\n\ndef new():\n    pass\n")

    assert await bench.call(find_definition, symbol="new") == "a.py:3: function: def new():"
    assert (await bench.call(find_definition, symbol="old")).startswith("No definition of old was found.")


async def test_other_languages_are_guessed_and_the_guess_is_labelled(bench: Bench) -> None:
    bench.write("a.ml", "let area x = x\nlet y = area 3\n")

    assert await bench.call(find_definition, symbol="area") == (
        "a.ml:1: guess: let area x = x\n[These are guesses from the text of the lines; they were not parsed.]"
    )


async def test_ignored_files_are_not_searched_and_a_path_narrows(bench: Bench) -> None:
    for name in ("a.py", "sub/b.py", "build/c.py"):
        bench.write(name, "def area():\n    pass\n")
    bench.write(".gitignore", "build/\n")

    assert len((await bench.call(find_definition, symbol="area")).splitlines()) == 2
    assert await bench.call(find_definition, symbol="area", path="sub") == "sub/b.py:1: function: def area():"


async def test_source_that_does_not_parse_is_searched_all_the_same(bench: Bench) -> None:
    bench.write("a.py", "x = (\ndef area():\n    return ä\n")

    assert "a.py:2: function" in await bench.call(find_definition, symbol="area")


@pytest.mark.parametrize("symbol", ["a b", "3", "--files", ".", "a("])
async def test_what_is_no_name_is_refused(bench: Bench, symbol: str) -> None:
    with pytest.raises(ToolError, match="is not a name"):
        await bench.call(find_definition, symbol=symbol)


def test_no_grammar_is_loaded_before_it_is_needed() -> None:
    code = "import sys, pygent_ls.tools.catalog; print([m for m in sys.modules if m.startswith('tree_sitter_')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)

    assert done.stdout.strip() == "[]"
