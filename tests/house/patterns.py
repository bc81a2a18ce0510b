"""The regular expressions of the package, and texts that are hard for one of them."""

from __future__ import annotations

import ast
import importlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from tests.house.test_invariants import Source, package

PARSER: Any = importlib.import_module("re._parser")

FLAGS_AT: Mapping[str, int] = {
    "compile": 1,
    **dict.fromkeys(("search", "match", "fullmatch", "findall", "finditer"), 2),
    "split": 3,
    **dict.fromkeys(("sub", "subn"), 4),
}
"""The functions of `re` that take a pattern, and where each has its flags."""

ANCHORED = frozenset({"match", "fullmatch"})
"""Methods that try one place of the text; the others try each."""

FRAGMENTS = (
    *(" ", "\t", "\n", "\r", "\r\n", "a", "A", "1", "_", "a ", "a\n", " \n", " a", "a.", "a/", "a-", "a=", "a:", "a,"),
    *("<", ">", "<a", "<a ", "<!--", "<script", "[", "](", "[a](", "(", ")", "{", "{{", "}", "`", "``", "```", "```\n"),
    *("~~~\n", "*", "**", "#", "##", "-", "--- ", "+", "@", "@@", "@a", "$", "${", ".", "/", "//", "://", "\\", '\\"'),
    *("\\\\", '"', "'", '"a":', '{"a":', 'a"', "=", ":", ",", ";", "|", "%", "\x1b[", "\x00", "\u200b", "\u0130"),
    *("😀", "é", "“ ", "a\x00", "0,", ">>> ", "> ", "- ", "-----BEGIN ", "/a", "..", " a=", "1.", "a@"),
)
"""What a hostile text may be made of."""

ENDS = ("", "\x00", " x\n")
"""What makes a pattern fail at the end of the text."""


@dataclass(frozen=True)
class Pattern:
    """One use of a regular expression."""

    place: str
    """Name such as `agent/edits/diffs.py _LINE`, or with the expression's source if it has no name."""
    used: frozenset[str]
    """The functions and methods that it is used with."""
    compiled: re.Pattern[Any] | None
    """None if it is only known when the program runs."""

    def run(self, text: str) -> None:
        """Use it on the text as the package does."""
        compiled: Any = self.compiled
        given = text if isinstance(compiled.pattern, str) else text.encode()
        for name in self.used & ANCHORED:
            getattr(compiled, name)(given)
        if self.used - ANCHORED:
            deque(compiled.finditer(given), maxlen=0)


@cache
def patterns() -> tuple[Pattern, ...]:
    """Every call of a function of `re` in the package."""
    return tuple(pattern for source in package() for pattern in _patterns_of(source))


def _patterns_of(source: Source) -> Iterator[Pattern]:
    calls = [node for node in source.nodes if isinstance(node, ast.Call) and _function(node) in FLAGS_AT]
    if calls:
        module = importlib.import_module("pygent_ls." + source.path.removesuffix(".py").replace("/", "."))
    for call in calls:
        name, used = _name_and_use(source, call)
        compiled = _compiled(call, module)  # pyright: ignore[reportPossiblyUnboundVariable]
        yield Pattern(f"{source.path} {name or ast.unparse(call.args[0])}", used, compiled)


def _function(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=name):
            return name
        case _:
            return ""


def _name_and_use(source: Source, call: ast.Call) -> tuple[str, frozenset[str]]:
    if _function(call) != "compile":
        return "", frozenset({_function(call)})
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
                return name, _methods(name, source)
            case ast.Attribute(value=value, attr=used) if value is call and used in FLAGS_AT:
                return "", frozenset({used})
            case _:
                pass
    return "", frozenset({"search", "match", "fullmatch"})


def _methods(name: str, source: Source) -> frozenset[str]:
    """Return the methods that a pattern of this name is used with."""
    places = [source] if name.startswith("_") else package()
    return frozenset(used for place in places for owner, used in _attributes(place) if owner == name) or frozenset(
        {"search", "match", "fullmatch"}
    )


@cache
def _attributes(source: Source) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for node in source.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=used) if used in FLAGS_AT:
                found.append((owner, used))
            case _:
                pass
    return tuple(found)


def _compiled(call: ast.Call, module: ModuleType) -> re.Pattern[Any] | None:
    flags = [each.value for each in call.keywords if each.arg == "flags"]
    flags += call.args[FLAGS_AT[_function(call)] :]
    try:
        return re.compile(*(_value(each, module) for each in (call.args[0], *flags)))
    except NameError:  # a variable of a function
        return None


def _value(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(vars(module)))


# Texts


def hard_texts(pattern: re.Pattern[Any]) -> Iterator[Callable[[int], str]]:
    """Makers of texts of a given length: fragments, and what the pattern's own repetitions could match, repeated."""
    shapes = {("", each, end) for each in FRAGMENTS for end in ENDS}
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    parsed: Any = PARSER.parse(text, pattern.flags & (re.VERBOSE | re.DOTALL))
    for before, pump in _pumps(parsed, ""):
        shapes |= {("", before + pump, ""), (before, pump, ""), (before, pump, "\x00"), (before, pump, " x\n")}
        shapes |= {("", before, ""), ("", pump + "\n", ""), ("", before + pump * 5, "")}
    shapes.add(("", _sample(parsed, 0), ""))
    for start, repeated, end in sorted(shapes):
        if repeated:
            yield repeating(start, repeated, end)


def repeating(start: str, repeated: str, end: str) -> Callable[[int], str]:
    """The maker of texts that are one fragment again and again."""
    return lambda length: start + repeated * (length // len(repeated)) + end


def _pumps(sequence: Any, before: str) -> Iterator[tuple[str, str]]:
    """A text for each unbounded repetition, and what leads to it."""
    for at, (operator, argument) in enumerate(sequence):
        reached = before + _sample(sequence[:at], 0)
        match str(operator):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                if argument[1] is PARSER.MAXREPEAT or argument[1] > 100:
                    yield from ((reached, _sample(argument[2], choice)) for choice in range(3))
                yield from _pumps(argument[2], reached)
            case "SUBPATTERN":
                yield from _pumps(argument[3], reached)
            case "ATOMIC_GROUP":
                yield from _pumps(argument, reached)
            case "BRANCH":
                for each in argument[1]:
                    yield from _pumps(each, reached)
            case "ASSERT" | "ASSERT_NOT":
                yield from _pumps(argument[1], reached)
            case _:
                pass


def _sample(sequence: Any, choice: int) -> str:
    """Return a short text that it could match; approximate if it looks around."""
    text = ""
    for operator, argument in sequence:
        match str(operator):
            case "LITERAL":
                text += chr(argument)
            case "NOT_LITERAL":
                text += "b" if argument == ord("a") else "a"
            case "ANY":
                text += "a"
            case "IN":
                members = _members(argument)
                text += members[choice % len(members)]
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += _sample(argument[2], choice) * argument[0]
            case _:
                text += _sample(_inside(str(operator), argument, choice, is_first=not text), choice)
    return text


def _inside(operator: str, argument: Any, choice: int, *, is_first: bool) -> Any:
    """What a group holds; nothing for what takes no characters."""
    match operator:
        case "SUBPATTERN":
            return argument[3]
        case "ATOMIC_GROUP":
            return argument
        case "BRANCH":
            return argument[1][choice % len(argument[1])]
        case "ASSERT" if argument[0] == -1 and is_first:
            return argument[1]
        case _:
            return ()


_CATEGORIES = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " \n", "CATEGORY_WORD": "a1", "CATEGORY_NOT_WORD": ". "}


def _members(items: Any) -> list[str]:
    """Some characters of a class."""
    found: list[str] = []
    is_negated = False
    for operator, argument in items:
        match str(operator):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                found.append(chr(argument))
            case "RANGE":
                found += map(chr, argument)
            case "CATEGORY":
                found += _CATEGORIES.get(str(argument), "a.")
            case _:
                pass
    if is_negated:
        return [each for each in ' a1.\n<"' if each not in found][:2] or ["é"]
    return found[:4]
