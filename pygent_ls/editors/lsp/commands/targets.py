"""Targets of commands: from the arguments, or else from the last code action request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from pygent_ls.editors.lsp.actions import ActionTarget
from pygent_ls.editors.lsp.commands.code_actions import start_line, whole_line
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError


def target_in(arguments: Sequence[Any], last: ActionTarget | None) -> ActionTarget:
    """Return the document and the lines, which count from 0. Raises `InvalidParamsError`."""
    match list(arguments):
        case [str() as uri, int() | float() as first, int() | float() as end, *_]:
            return _target(uri, whole_line(first), whole_line(end), last)
        case [str() as uri, int() | float() as line, *_]:
            return _target(uri, whole_line(line), whole_line(line), last)
        case [str() as uri, *_] if last is None or last.uri != uri:
            return _target(uri, 0, 0, last)
        case _ if last is not None:
            return last
        case _:
            raise InvalidParamsError("no code given. Request code actions first, or pass a URI and two lines.")


def fix_target_in(arguments: Sequence[Any], last: ActionTarget | None) -> ActionTarget:
    """Return the target with the diagnostics that follow the document, one or a list. Raises as `target_in`."""
    match list(arguments):
        case [str() as uri, dict() | list(), *_]:
            listed = cast("list[Any]", arguments[1] if isinstance(arguments[1], list) else [arguments[1]])
            found = tuple(cast("Mapping[str, Any]", each) for each in listed if isinstance(each, dict))
            lines = [start_line(each) for each in found]
            if lines:
                return ActionTarget(uri=uri, first_line=min(lines), last_line=max(lines), diagnostics=found)
            return target_in([uri], last)
        case _:
            return target_in(arguments, last)


def _target(uri: str, first: int, end: int, last: ActionTarget | None) -> ActionTarget:
    lines = sorted((first, end))
    target = ActionTarget(uri=uri, first_line=lines[0], last_line=lines[1])
    if last is None or last.uri != uri:
        return target
    there = tuple(each for each in last.diagnostics if lines[0] <= start_line(each) <= lines[1])
    return replace(target, diagnostics=there)
