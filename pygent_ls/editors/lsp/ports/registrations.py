"""What a client registers, item by item: an invalid one is refused with the reason and does not affect the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from pygent_ls.editors.lsp.protocol.client_extensions import RefusedOut
from pygent_ls.editors.lsp.protocol.shapes import Params
from pygent_ls.editors.lsp.rpc.converter import listed, repaired
from pygent_ls.errors import ToolError

MAX_NAME_CHARS = 100

P = TypeVar("P", bound=Params)


def parsed(kind: type[P], raw: object) -> P:
    """Return the item. Raises `ToolError` that names each invalid field."""
    try:
        return kind.model_validate(repaired(raw))
    except ValidationError as error:
        raise ToolError(problems_of(error)) from None


def problems_of(error: ValidationError) -> str:
    """Return each invalid field with its problem, in one line."""
    details = error.errors(include_url=False, include_input=False)
    return listed(f"{'.'.join(map(str, each['loc'])) or 'value'}: {each['msg']}" for each in details)


def refused(raw: object, key: str, problem: object) -> RefusedOut:
    """Return the refusal of an item, whose name is the text at `key`, as far as it has one."""
    name = cast("Mapping[str, Any]", raw).get(key) if isinstance(raw, Mapping) else None
    return {"name": str(repaired(name))[:MAX_NAME_CHARS] if isinstance(name, str) else "", "problem": str(problem)}
