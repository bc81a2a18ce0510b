"""Whether a value of one type may stand where another type is wanted."""

from __future__ import annotations

from clients.neovim.scripts.checking.library import PLAIN, Library
from clients.neovim.scripts.checking.type_text import ANY, NIL, Array, Function, Literal, Named, Record, Type, Union

NUMBERS = frozenset({"number", "integer"})


def fits(library: Library, given: Type, wanted: Type) -> bool:
    """Return False if it surely does not fit. `nil` is only checked if it is written in place, because anything else
    would need flow analysis; of a union, one fitting type is enough."""
    if given == NIL:
        whole = library.expanded(wanted)
        return any(one in (NIL, ANY) for one in (whole.members if isinstance(whole, Union) else (whole,)))
    ours, theirs = library.alternatives(given), library.alternatives(wanted)
    return not ours or not theirs or any(_one_fits(library, one, other) for one in ours for other in theirs)


def _one_fits(library: Library, given: Type, wanted: Type) -> bool:
    if ANY in (given, wanted) or given == wanted:
        return True
    if isinstance(given, Literal) and isinstance(wanted, Literal):
        return given.text == wanted.text
    if isinstance(given, Array) and isinstance(wanted, Array):
        return fits(library, given.item, wanted.item)
    ours, theirs = kind_of(library, given), kind_of(library, wanted)
    if ours is None or theirs is None:
        return True
    if ours == theirs == "class":
        return _is_ancestor(library, given, wanted)
    return ours == theirs or {ours, theirs} in ({"class", "table"}, {"class", "userdata"}, {"table", "array"})


def kind_of(library: Library, type_: Type) -> str | None:
    """What a value is made of: `string`, `number`, `boolean`, `function`, `table`, `array` or `class`."""
    match type_:
        case Literal(_, kind):
            return kind
        case Array():
            return "array"
        case Record():
            return "table"
        case Function():
            return "function"
        case Named(name):
            if name in NUMBERS:
                return "number"
            if name in ("unknown", "self", "any", "nil"):
                return None
            return name if name in PLAIN else "class" if name in library.classes else None
        case Union():
            return None


def _is_ancestor(library: Library, given: Type, wanted: Type) -> bool:
    """Whether one class is made from the other. Of classes that are not the plugin's own nothing is said."""
    if not isinstance(given, Named) or not isinstance(wanted, Named):
        return True
    if not given.name.startswith("pygent.") or not wanted.name.startswith("pygent."):
        return True
    return wanted.name in library.ancestry(given.name) or given.name in library.ancestry(wanted.name)


def spelled(type_: Type) -> str:
    """A type as a person would write it."""
    match type_:
        case Named(name, arguments):
            return f"{name}<{', '.join(map(spelled, arguments))}>" if arguments else name
        case Literal(text, kind):
            return f'"{text}"' if kind == "string" else text
        case Array(item):
            return f"({spelled(item)})[]" if isinstance(item, Union) else f"{spelled(item)}[]"
        case Record():
            return "table"
        case Function():
            return "function"
        case Union(members):
            return "|".join(map(spelled, members))
