"""Conversion of parameters to the types that handlers read, and messages about parameters that do not fit them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar, cast

from msgspec import Struct, ValidationError, convert

from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError

MAX_PROBLEMS = 10
"""Maximum number of problems that are named for one message."""

MAX_PROBLEM_CHARS = 300

Parameters = TypeVar("Parameters", bound=Struct)


def structured(method: str, params: Any, kind: type[Parameters]) -> Parameters:
    """Return the parameters of a method as a value of its type. Some clients write every number with a decimal point.

    Raises `InvalidParamsError`, which names the first member that does not fit.
    """
    try:
        try:
            return convert(params, kind, strict=False)
        except UnicodeEncodeError:  # half of a surrogate pair in an unknown key, or in place of another type
            return convert(repaired(params), kind, strict=False)
    except ValidationError as error:
        raise InvalidParamsError(f"invalid parameters of {method}: {error}") from None


def listed(problems: Iterable[str]) -> str:
    """Join the first problems in one line, each cut to its beginning."""
    found = list(dict.fromkeys(islice(problems, MAX_PROBLEMS + 1)))
    named = [each if len(each) <= MAX_PROBLEM_CHARS else f"{each[:MAX_PROBLEM_CHARS]}…" for each in found]
    return "; ".join([*named[:MAX_PROBLEMS], *(["…"] if len(found) > MAX_PROBLEMS else [])])


def repaired(value: Any) -> Any:
    """Replace each half of a surrogate pair with U+FFFD: editors cut texts there, and providers reject it."""
    match value:
        case str():
            return value if value.isascii() else _with_whole_characters(value)
        case list():
            return [repaired(each) for each in cast("list[Any]", value)]
        case dict():
            return {repaired(key): repaired(each) for key, each in cast("dict[str, Any]", value).items()}
        case _:
            return value


def _with_whole_characters(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
