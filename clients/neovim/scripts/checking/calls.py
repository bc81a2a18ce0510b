"""What a call gives to a function, beside what the function takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tree_sitter import Node

from clients.neovim.scripts.checking.fitting import fits, spelled
from clients.neovim.scripts.checking.inference import Inference
from clients.neovim.scripts.checking.source import arguments_of, text_of
from clients.neovim.scripts.checking.type_text import NIL, Field, Type

Tell = Callable[[Node, str], None]


def arguments_wanted(inference: Inference, call: Node, tell: Tell) -> Iterator[tuple[Node, Type | None, str]]:
    """Yield each argument, its expected type if that is known, and its name. Reports wrong numbers of arguments."""
    name, given = call.child_by_field_name("name"), arguments_of(call)
    called = text_of(name) if name else ""
    if called == "setmetatable" and len(given) == 2:
        yield given[0], inference.type_of(given[1]), "the object"
        yield given[1], None, ""
        return
    function = inference.callee(call)
    parameters: list[Field] | None = list(function.parameters) if function else None
    if parameters and name is not None and name.type == "method_index_expression":
        parameters = parameters[1:]
    if parameters is not None:
        _tell_of_number(inference, call, given, parameters, tell)
    for index, value in enumerate(given):
        wanted = parameters[index] if parameters and index < len(parameters) else None
        if wanted is None or wanted.name == "...":
            yield value, None, ""
        else:
            yield value, wanted.type, f"`{wanted.name}` of `{called}`"


def _tell_of_number(inference: Inference, call: Node, given: list[Node], parameters: list[Field], tell: Tell) -> None:
    takes_more = any(one.name == "..." for one in parameters)
    if len(given) > len(parameters) and not takes_more:
        tell(call, f"`{_called(call)}` takes {len(parameters)} arguments, and is given {len(given)}")
    ends_open = bool(given) and given[-1].type in ("function_call", "vararg_expression")
    missing = [
        one for one in parameters[len(given) :] if not one.optional and not fits(inference.library, NIL, one.type)
    ]
    if missing and not ends_open:
        tell(call, f"`{_called(call)}` is not given `{missing[0].name}`, which is {spelled(missing[0].type)}")


def _called(call: Node) -> str:
    name = call.child_by_field_name("name")
    return text_of(name)[:60] if name else ""
