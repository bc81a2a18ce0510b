"""Tables that are written in place, beside the type that they should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tree_sitter import Node

from clients.neovim.scripts.checking.fitting import fits, spelled
from clients.neovim.scripts.checking.inference import Inference
from clients.neovim.scripts.checking.library import Library
from clients.neovim.scripts.checking.source import string_of, text_of
from clients.neovim.scripts.checking.type_text import ANY, Array, Field, Named, Record, Type, Union

Tell = Callable[[Node, str], None]
Part = tuple[str, Node, Type | None]
"""The name of a field, its value, and its expected type if that is known."""


def table_problems(
    library: Library, inference: Inference, table: Node, wanted: Type | None, tell: Tell
) -> Iterator[Part]:
    """Each value in a table. Tells of fields that its type does not have, and of those that are missing."""
    parts = list(_parts(table))
    if isinstance(shape_of_items := _only(library, wanted), Record) and shape_of_items.fields:
        parts = list(_numbered(parts))
    named = {name: value for name, value in parts if name is not None}
    shape = _shape(library, inference, named, wanted, table, tell)
    fields = _fields(library, shape)
    for name, value in parts:
        if name is None:
            yield "an item", value, _item(library, shape)
        elif fields is None:
            yield name, value, _item(library, shape) if not isinstance(shape, Array) else None
        else:
            found = library.field(shape or ANY, name)
            if found is None:
                tell(value, f"`{spelled(shape or ANY)}` has no field `{name}`")
            yield name, value, found
    missing = [one.name for one in fields or () if not one.optional and one.name not in named]
    is_begun = _is_object(table)  # what is missing may be set in the next lines
    if missing and not is_begun and not spelled(shape or ANY).startswith("vim."):  # Neovim's are stricter than it is
        tell(table, f"`{spelled(shape or ANY)}` needs {', '.join(missing)}, too")


def _is_object(table: Node) -> bool:
    """Whether it is that of `setmetatable(…, Class)`."""
    call = table.parent.parent if table.parent and table.parent.type == "arguments" else None
    name = call.child_by_field_name("name") if call else None
    return name is not None and text_of(name) == "setmetatable"


def _only(library: Library, wanted: Type | None) -> Type | None:
    choices = library.alternatives(wanted) if wanted else []
    return choices[0] if len(choices) == 1 else None


def _numbered(parts: list[tuple[str | None, Node]]) -> Iterator[tuple[str | None, Node]]:
    """Items of a list as the fields `1`, `2` of a type that names them so."""
    number = 0
    for name, value in parts:
        number += name is None
        yield name or str(number), value


def _parts(table: Node) -> Iterator[tuple[str | None, Node]]:
    """Names and values; an item of a list, and a field whose name is not written, have none."""
    for one in table.named_children:
        value = one.child_by_field_name("value") if one.type == "field" else None
        if value is None:
            continue
        name = one.child_by_field_name("name")
        if name is None:
            yield None, value
        elif one.children[0].type == "[":
            yield string_of(name), value
        else:
            yield text_of(name), value


def _shape(
    library: Library, inference: Inference, named: dict[str, Node], wanted: Type | None, table: Node, tell: Tell
) -> Type | None:
    """The one type that a table can be meant as; of several, the one whose constants it has."""
    if wanted is None:
        return None
    choices = [one for one in library.alternatives(wanted) if _is_table(library, one)]
    if len(choices) <= 1:
        return choices[0] if choices else None
    left = [
        one
        for one in choices
        if all(
            fits(library, inference.type_of(value), library.field(one, name) or ANY)
            for name, value in named.items()
            if value.type == "string"
        )
    ]
    if not left:
        tell(table, f"this is none of {spelled(Union(tuple(choices)))}")
    return left[0] if len(left) == 1 else None


def _is_table(library: Library, type_: Type) -> bool:
    match type_:
        case Array() | Record():
            return True
        case Named(name):
            return name == "table" or name in library.classes
        case _:
            return False


def _fields(library: Library, shape: Type | None) -> list[Field] | None:
    """The fields of a class or a table type; None where any may be there."""
    if isinstance(shape, Record) and not shape.open:
        return [
            Field(one.name, one.type, one.optional or fits(library, Named("nil"), one.type)) for one in shape.fields
        ]
    if not isinstance(shape, Named) or shape.name not in library.classes:
        return None
    found: dict[str, Field] = {}
    for name in library.ancestry(shape.name):
        known = library.classes.get(name)
        if known is None or known.open:
            return None
        for field in known.text:
            found.setdefault(field, Field(field, known.fields[field], field in known.optional))
    return list(found.values())


def _item(library: Library, shape: Type | None) -> Type | None:
    return None if shape is None else library.item(shape)
