"""What a client registers, item by item: an invalid one is refused with the reason and does not affect the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pygent_ls.editors.lsp.protocol.client_extensions import RefusedOut
from pygent_ls.editors.lsp.protocol.shapes import Params
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.rpc.converter import repaired
from pygent_ls.errors import ToolError

MAX_NAME_CHARS = 100

P = TypeVar("P", bound=Params)


def parsed(kind: type[P], raw: object) -> P:
    """Return the item. Raises `ToolError` that names each invalid field."""
    try:
        return valid(kind, repaired(raw))
    except InvalidValueError as error:
        raise ToolError(error.described("value")) from None


def refused(raw: object, key: str, problem: object) -> RefusedOut:
    """Return the refusal of an item, whose name is the text at `key`, as far as it has one."""
    name = cast("Mapping[str, Any]", raw).get(key) if isinstance(raw, Mapping) else None
    return {"name": str(repaired(name))[:MAX_NAME_CHARS] if isinstance(name, str) else "", "problem": str(problem)}
