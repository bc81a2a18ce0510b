"""Code actions and lenses that run a command, and what they apply to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from msgspec import Struct

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.protocol.shapes import PositionOut, RangeOut

ActionKind = Literal["quickfix", "refactor"]


class ActionTarget(Struct, frozen=True, kw_only=True):
    """What a command applies to. Lines count from 0, and the last line is included."""

    uri: str
    first_line: int
    last_line: int
    diagnostics: tuple[Mapping[str, Any], ...] = ()


class EditorCommand(TypedDict):
    """Command that the client runs by `workspace/executeCommand`."""

    title: str
    command: str
    arguments: Sequence[Any]


class CodeActionOut(TypedDict):
    """Code action with a command or a workspace edit."""

    title: str
    kind: ActionKind
    command: NotRequired[EditorCommand]
    diagnostics: NotRequired[Sequence[Mapping[str, Any]]]
    edit: NotRequired[Mapping[str, Any]]


class CodeLensOut(TypedDict):
    """Command that is shown above a line."""

    range: RangeOut
    command: EditorCommand


def action(title: str, kind: ActionKind, command: str, arguments: Sequence[Any]) -> CodeActionOut:
    """Return a code action that runs a command."""
    return {"title": title, "kind": kind, "command": EditorCommand(title=title, command=command, arguments=arguments)}


def lens(line: int, command: EditorCommand) -> CodeLensOut:
    """Return a code lens above a line, counted from 0."""
    place: PositionOut = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "command": command}
