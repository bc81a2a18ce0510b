"""The converter between JSON and LSP's types, and error messages for JSON that does not fit them.

By default, cattrs continues after the first invalid item of a list and reads text as a list of characters: with 70 kB
of text in place of a list, it took 15 s and made an error of 3 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from typing import Any, cast, get_args

from cattrs import BaseConverter, Converter, transform_error
from cattrs.cols import is_sequence
from cattrs.errors import BaseValidationError, IterableValidationError, IterableValidationNote
from lsprotocol import types
from pygls.protocol import default_converter

MISFITS = (BaseValidationError, KeyError, TypeError, ValueError, AttributeError)
"""Exceptions that structuring raises for JSON that does not fit."""

MAX_PROBLEMS = 10
"""Maximum number of problems that are named for one message."""

MAX_PROBLEM_CHARS = 300


@cache
def converter() -> Converter:
    """Return the converter of this process. It takes 50 ms to build, learns each type on first use, and stores no
    messages."""
    made = default_converter()
    made.register_structure_hook_factory(is_sequence, _list_hook)
    made.register_structure_hook(types.ProgressToken, _number_or_text)
    return made


def _number_or_text(value: Any, _: Any) -> int | str:
    """Structure tokens and ids, which handlers look up; lsprotocol's own hook accepts anything."""
    if not isinstance(value, int | str):
        raise ValueError("expected a number or text")
    return value


def _list_hook(kind: Any, made: BaseConverter) -> Callable[[Any, Any], list[Any]]:
    """Return a hook that accepts only lists, and stops at the first invalid item."""
    item_kind: Any = next(iter(get_args(kind)), Any)

    def structure(value: Any, _: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError("expected a list")
        items: list[Any] = []
        for index, item in enumerate(cast("list[Any]", value)):
            try:
                items.append(made.structure(item, item_kind))
            except MISFITS as error:
                note = IterableValidationNote(f"item {index}", index, item_kind)
                error.add_note(note)
                raise IterableValidationError("a list", [error], kind) from None  # pyright: ignore[reportCallIssue]
        return items

    return structure


def misfit(error: BaseException) -> str:
    """Describe what is wrong, in text of bounded length."""
    return listed(transform_error(error) if isinstance(error, BaseValidationError) else [str(error)])


def listed(problems: Iterable[str]) -> str:
    """Join the first problems in one line, each cut to its beginning."""
    found = list(dict.fromkeys(islice(problems, MAX_PROBLEMS + 1)))
    named = [each if len(each) <= MAX_PROBLEM_CHARS else f"{each[:MAX_PROBLEM_CHARS]}…" for each in found]
    return "; ".join([*named[:MAX_PROBLEMS], *(["…"] if len(found) > MAX_PROBLEMS else [])])


def repaired(value: Any) -> Any:
    """Replace each half of a surrogate pair with U+FFFD: editors cut texts there, and providers reject it."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [repaired(each) for each in cast("list[Any]", value)]
        case dict():
            return {key: repaired(each) for key, each in cast("dict[str, Any]", value).items()}
        case _:
            return value
