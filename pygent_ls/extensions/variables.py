"""Environment variables in settings of programs and servers: `${NAME}`, `${env:NAME}`, `${NAME:-DEFAULT}`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pygent_ls.errors import ToolError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}$]*))?\}")


def filled(text: str, environment: Mapping[str, str]) -> str:
    """Return the text with the values of variables. Raises `ToolError` for a variable that is not set."""
    return _VARIABLE.sub(lambda found: _value_of(found, environment), text)


def _value_of(found: re.Match[str], environment: Mapping[str, str]) -> str:
    name, default = found[1], found[2]
    value = environment.get(name, "" if default is None else default)
    if not value and default is None and name not in environment:
        raise ToolError(f"The environment variable {name} is not set. Set it, or write ${{{name}:-DEFAULT}}.")
    return value
