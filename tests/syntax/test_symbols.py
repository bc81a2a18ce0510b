"""The symbols of a text, in every language that is parsed: what it defines, what it names, and where."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.syntax.languages import LANGUAGES
from pygent_ls.syntax.symbols import definitions_in, outline_of, references_in, signature_of, symbols_in

SOURCES: dict[str, tuple[str, list[str]]] = {
    ".py": (
        """\
from shapes import area
LIMIT: int = 3
@register
class Shape(Base):
    side: int = 1

    @property
    async def area(self,
                   scale: int = 3) -> int:
        local = 1
        return local

type Name = str
""",
        ["variable LIMIT", "class Shape", "Shape variable side", "Shape function area", "type Name"],
    ),
    ".js": (
        """\
import {area} from './shapes';
const twice = (x) => x * 2;
class Shape extends Base {
  #side = 1;
  area() { const local = 1; return local; }
}
exports.make = function () {};
module.exports = { run() {} };
""",
        ["function twice", "class Shape", "Shape field #side", "Shape method area", "function make", "method run"],
    ),
    ".ts": (
        """\
export interface Shape { area(scale: number): number }
export abstract class Base { abstract run(): void }
export type Name = string;
enum Color { Red }
namespace Shapes { export const LIMIT = 3; }
""",
        [
            *("interface Shape", "Shape declaration area", "class Base", "Base declaration run", "type Name"),
            *("enum Color", "module Shapes", "Shapes variable LIMIT"),
        ],
    ),
    ".tsx": (
        """\
export default function App({title}: Props) { return <Header title={title}/>; }
export const Header = ({title}: Props) => { return <h1>{title}</h1>; };
""",
        ["function App", "function Header"],
    ),
    ".go": (
        """\
package shapes

const Limit = 3

type Shape interface{ Area() int }

type Square struct{ side int }

func (s *Square) Area() int { local := 1; return s.side + local }

func New(side int) *Square { return &Square{side} }
""",
        ["variable Limit", "type Shape", "type Square", "Square field side", "method Area", "function New"],
    ),
    ".rs": (
        """\
pub trait Shape { fn area(&self) -> u8; }
pub struct Square { pub side: u8 }
impl Shape for Square { fn area(&self) -> u8 { let local = 1; self.side } }
enum Color { Red }
const LIMIT: u8 = 3;
mod inner { pub fn run() {} }
macro_rules! check { () => {} }
""",
        [
            *("interface Shape", "Shape declaration area", "struct Square", "Square field side", "function area"),
            *("enum Color", "Color enum value Red", "variable LIMIT", "module inner", "inner function run"),
            "macro check",
        ],
    ),
    ".java": (
        """\
package shapes;
public interface Shape { int area(); }
public class Square implements Shape {
  static final int LIMIT = 3;
  public Square(int side) { int local = 1; }
  @Override
  public int area() { return LIMIT; }
  enum Color { RED }
  record Point(int x) {}
}
""",
        [
            *("interface Shape", "Shape method area", "class Square", "Square variable LIMIT", "Square method Square"),
            *("Square method area", "Square enum Color", "Color enum value RED", "Square struct Point"),
        ],
    ),
    ".c": (
        """\
#define LIMIT 3
int area(int side);
static int *area(int side) { int local = 1; return area(LIMIT); }
struct Shape { int side; };
typedef struct { int x; } Point;
enum Color { RED };
int counter = 0;
""",
        [
            *("macro LIMIT", "declaration area", "function area", "struct Shape", "Shape field side", "type Point"),
            *("Point field x", "enum Color", "Color enum value RED", "variable counter"),
        ],
    ),
    ".cpp": (
        """\
namespace shapes {
template <class T> class Shape : public Base { public: virtual int area() const; int side; };
}
template <class T>
int shapes::Shape<T>::area() const { int local = 1; return local; }
using Name = int;
""",
        [
            *("module shapes", "shapes class Shape", "Shape declaration area", "Shape field side", "function area"),
            "type Name",
        ],
    ),
    ".cs": (
        """\
namespace Shapes {
  public interface IShape { int Area(); }
  public class Square : IShape {
    public const int Limit = 3;
    public int Side { get; set; }
    public Square(int side) { int local = 1; }
    public int Area() { return Side; }
  }
  struct Point { }
  enum Color { Red }
  record Name(string Text);
}
""",
        [
            *("module Shapes", "Shapes interface IShape", "IShape method Area", "Shapes class Square"),
            *("Square variable Limit", "Square variable Side", "Square method Square", "Square method Area"),
            *("Shapes struct Point", "Shapes enum Color", "Color enum value Red", "Shapes struct Name"),
        ],
    ),
    ".rb": (
        """\
module Shapes
  class Square < Base
    LIMIT = 3
    def area(scale)
      local = 1
    end
    def self.make; new; end
  end
end
""",
        [
            *("module Shapes", "Shapes class Square", "Square variable LIMIT", "Square method area"),
            "Square method make",
        ],
    ),
    ".php": (
        """\
<?php
namespace App\\Shapes;
interface Shape { public function area(): int; }
trait Named { }
class Square implements Shape {
    const LIMIT = 3;
    private int $side = 1;
    public function area(): int { $local = 1; return helper($this->side); }
}
enum Suit { case Hearts; }
function helper($x) { return $x; }
""",
        [
            *("module Shapes", "interface Shape", "Shape method area", "interface Named", "class Square"),
            *("Square variable LIMIT", "Square variable side", "Square method area", "enum Suit"),
            *("Suit enum value Hearts", "function helper"),
        ],
    ),
    ".lua": (
        """\
local M = {}
local function area() local side = 1 end
function M.make() area() end
function M:run() end
M.twice = function() end
return M
""",
        ["variable M", "function area", "function make", "function run", "function twice"],
    ),
    ".kt": (
        """\
package shapes

interface Shape {
    fun area(): Int
}

class Square(val side: Int) : Shape {
    override fun area(): Int {
        val local = 1
        return side
    }
}

object Registry {
    val items = listOf(1)
}

typealias Name = String

fun main() {
    val square = Square(3)
}
""",
        [
            *("class Shape", "Shape function area", "class Square", "Square function area", "class Registry"),
            *("Registry variable items", "type Name", "function main"),
        ],
    ),
    ".swift": (
        """\
protocol Shape { func area() -> Int }
class Square: Shape {
    let side: Int
    func area() -> Int { let local = 1; return side }
}
struct Point { var x: Int = 0 }
enum Color { case red }
typealias Name = String
func main() { print(Square()) }
""",
        [
            *("interface Shape", "Shape declaration area", "class Square", "Square variable side"),
            *("Square function area", "class Point", "Point variable x", "class Color", "Color enum value red"),
            *("type Name", "function main"),
        ],
    ),
    ".scala": (
        """\
package shapes
trait Shape { def area: Int }
class Square(val side: Int) extends Shape {
  val limit = 3
  def area: Int = { val local = 1; side }
}
object Registry { def find(x: Int) = new Square(x) }
enum Color { case Red }
type Name = String
""",
        [
            *(
                "interface Shape",
                "Shape function area",
                "class Square",
                "Square variable limit",
                "Square function area",
            ),
            *("class Registry", "Registry function find", "enum Color", "Color enum value Red", "type Name"),
        ],
    ),
    ".sh": (
        """\
LIMIT=3
area() { local side=1; echo "$1"; }
function twice { area "$LIMIT"; }
twice area
""",
        ["variable LIMIT", "function area", "function twice"],
    ),
}
"""A text in each language, and what it defines: its container, its kind and its name."""


@pytest.mark.parametrize("suffix", SOURCES)
def test_the_definitions_of_a_text_are_found_with_kind_and_container(suffix: str) -> None:
    text, expected = SOURCES[suffix]

    found = [" ".join(filter(None, (each.container, each.kind, each.name))) for each in symbols_in(text, suffix)]

    assert found == expected


def test_every_language_has_an_example() -> None:
    assert {LANGUAGES[suffix] for suffix in SOURCES} == set(LANGUAGES.values())


@pytest.mark.parametrize("suffix", SOURCES)
def test_a_symbol_spans_its_definition(suffix: str) -> None:
    text, _ = SOURCES[suffix]
    lines = text.split("\n")

    for each in symbols_in(text, suffix):
        assert 1 <= each.line <= each.header_end_line <= len(lines)
        assert each.line <= each.end_line <= len(lines)
        assert each.name in lines[each.line - 1]
        assert each.name in signature_of(lines, each)


def test_a_signature_of_several_lines_is_one_line() -> None:
    text, _ = SOURCES[".py"]
    (area,) = definitions_in(text, ".py", "area")

    assert signature_of(text.split("\n"), area) == "async def area(self, scale: int = 3) -> int:"
    assert (area.line, area.header_end_line, area.end_line) == (8, 9, 11)


def test_references_are_names_and_not_words_in_comments_and_strings() -> None:
    text = 'def area():\n    return "area"  # area\n\nä = area() + x.area\n'

    assert references_in(text, ".py", "area") == [(1, 4), (4, 4), (4, 15)]


def test_an_outline_counts_references_without_the_definitions_and_has_the_words_of_imports() -> None:
    found = outline_of("from a.b import (\n    area,\n    Shape,\n)\n\ndef run():\n    return area(area, run)\n", ".py")

    assert found.references == {"a": 1, "b": 1, "area": 3, "Shape": 1, "run": 1}
    assert found.imports == ["Shape", "a", "area", "b", "import"]


@pytest.mark.parametrize(
    ("suffix", "text", "word"),
    [
        (".ts", "import {\n\tArea,\n} from './shapes/area.js';", "area"),
        (".js", "const area = require('./shapes');", "shapes"),
        (".go", 'import (\n\t"fmt"\n\tsh "example.org/shapes"\n)', "shapes"),
        (".rs", "pub use crate::shapes::{Area, Shape};", "Area"),
        (".c", '#include "shapes.h"', "shapes"),
        (".java", "import org.example.Shape;", "Shape"),
        (".php", "use App\\Shapes\\Square;", "Square"),
        (".sh", ". ./shapes.sh", "shapes"),
        (".lua", 'local shapes = require("lib.shapes")', "shapes"),
    ],
)
def test_the_words_of_an_import_are_found(suffix: str, text: str, word: str) -> None:
    assert word in outline_of(text, suffix).imports


PIECES = st.lists(
    st.sampled_from([piece for text, _ in SOURCES.values() for piece in text.split(" ")]) | st.text(max_size=5),
    max_size=60,
).map(" ".join)


@given(st.sampled_from(sorted(SOURCES)), PIECES)
def test_whatever_a_text_holds_its_symbols_are_in_it(suffix: str, text: str) -> None:
    found = symbols_in(text, suffix)
    lines = text.split("\n")

    for each in found:
        assert 1 <= each.line <= each.header_end_line <= len(lines)
        assert each.line <= each.end_line <= len(lines)
        assert each.depth == 0 or each.container
        signature_of(lines, each)
    for name in {each.name for each in found}:
        own = definitions_in(text, suffix, name)
        assert {each.line for each in own} == {each.line for each in found if each.name == name}
        assert {each.line for each in own} <= {each.line for each in references_in(text, suffix, name)}
    assert list(outline_of(text, suffix).symbols) == found


def test_nothing_heavy_is_imported_with_the_package() -> None:
    code = "import sys, pygent_ls.syntax.symbols; print([m for m in sys.modules if m.startswith('tree_sitter')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)

    assert done.stdout.strip() == "[]"
