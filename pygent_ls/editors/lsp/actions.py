"""Code actions, and the prompts of the commands behind them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lsprotocol import types

from pygent_ls.agent.attachments import DiagnosticsPart, FilePart, LineRange, PromptPart
from pygent_ls.editors.lsp.uris import path_of

SELECTION_PROMPTS: Mapping[str, tuple[str, str]] = {
    "pygent.explain": ("Explain with pygent", "Explain what this code does and why, briefly. Change nothing."),
    "pygent.test": ("Write tests with pygent", "Write tests for this code, where this project keeps its tests."),
    "pygent.doc": ("Document with pygent", "Document this code in the style of the code around it."),
    "pygent.refactor": ("Refactor with pygent", "Refactor this code so that it is clearer; keep what it does."),
}
"""The commands on a selection: the action's title, and what the model is asked."""

CONTEXT_LINES = 20
"""Around a problem that is to be fixed: a function's worth."""

_REQUEST_COMMENT = re.compile(r"(?:#|//|--|;|%|/\*|<!--)\s*pygent:\s*(?P<request>.*?)\s*(?:\*/|-->)?\s*$")
"""A comment that is a request, in the usual comment signs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a command is about; lines count from 0, the last one belongs to it."""

    uri: str
    first_line: int
    last_line: int
    diagnostics: tuple[Mapping[str, Any], ...] = ()


def target_of(params: types.CodeActionParams) -> Target:
    """Remembered for commands that come without arguments."""
    where = params.range
    last = where.end.line - (1 if where.end.character == 0 and where.end.line > where.start.line else 0)
    return Target(
        uri=params.text_document.uri,
        first_line=where.start.line,
        last_line=last,
        diagnostics=tuple(_diagnostic(each) for each in params.context.diagnostics),
    )


def code_actions(params: types.CodeActionParams, text: str) -> list[types.CodeAction]:
    """What is offered here: a fix for each diagnostic, the selection's actions, and the request of a comment."""
    target = target_of(params)
    actions = [_fix(target.uri, each) for each in target.diagnostics]
    if request := comment_request(text, target.first_line):
        arguments = [request, target.uri, target.first_line, target.last_line]
        actions.append(_action(f"Do it with pygent: {request}", "quickfix", "pygent.ask", arguments))
    start, end = params.range.start, params.range.end
    if (start.line, start.character) != (end.line, end.character):
        arguments = [target.uri, target.first_line, target.last_line]
        actions += [_action(title, "refactor", command, arguments) for command, (title, _) in SELECTION_PROMPTS.items()]
    return actions


def code_lenses(uri: str, text: str) -> list[types.CodeLens]:
    """One on each line with a `pygent:` comment: runs its request."""
    lenses: list[types.CodeLens] = []
    for line, request in comment_requests(text):
        place = types.Range(start=types.Position(line, 0), end=types.Position(line, 0))
        command = types.Command(title="Do it with pygent", command="pygent.ask", arguments=[request, uri, line, line])
        lenses.append(types.CodeLens(range=place, command=command))
    return lenses


def comment_requests(text: str) -> Iterator[tuple[int, str]]:
    """The lines with a `pygent:` comment, counted from 0, and what each asks for."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text) if "pygent:" in text else ()):
        if found := _REQUEST_COMMENT.search(line):
            yield number, found["request"]


def comment_request(text: str, line: int) -> str:
    """What a `pygent:` comment in that line asks for; empty where there is none."""
    return dict(comment_requests(text)).get(line, "")


def prompt_for(command: str, target: Target) -> tuple[PromptPart, ...] | None:
    """The prompt of a command on a target; None where the target is no file."""
    path = path_of(target.uri)
    if path is None:
        return None
    if command == "pygent.fix":
        return _fix_prompt(path, target)
    _, request = SELECTION_PROMPTS[command]
    where = _where(path, target)
    return (f"{request}\n\n{where}", FilePart(path=path, lines=_lines(target, 0)))


def ask_prompt(request: str, target: Target | None) -> tuple[PromptPart, ...]:
    """The user's own words, and the place that they are about."""
    path = path_of(target.uri) if target else None
    if target is None or path is None:
        return (request,)
    return (f"{request}\n\n{_where(path, target)}", FilePart(path=path, lines=_lines(target, CONTEXT_LINES)))


def _fix_prompt(path: Path, target: Target) -> tuple[PromptPart, ...]:
    problems = tuple(_problem(each) for each in target.diagnostics)
    if not problems:
        return (f"Find and fix what is wrong here.\n\n{_where(path, target)}", FilePart(path=path))
    return (  # what a checker says is data, and stands in its own part alone: its words are not the user's
        f"Fix what the diagnostics report there, with the smallest change that is right.\n\n{_where(path, target)}",
        FilePart(path=path, lines=_lines(target, CONTEXT_LINES)),
        DiagnosticsPart(path=path, lines=problems),
    )


def _where(path: Path, target: Target) -> str:
    return f"File: {path.name}, lines {target.first_line + 1} to {target.last_line + 1}"


def _lines(target: Target, around: int) -> LineRange:
    return LineRange(first=max(1, target.first_line + 1 - around), last=target.last_line + 1 + around)


def _problem(diagnostic: Mapping[str, Any]) -> str:
    line = start_line(diagnostic)
    origin = " ".join(str(diagnostic[key]) for key in ("source", "code") if diagnostic.get(key) is not None)
    return f"line {line + 1}: {diagnostic.get('message', '')}" + (f" [{origin}]" if origin else "")


def start_line(diagnostic: Mapping[str, Any]) -> int:
    """Where a diagnostic begins, 0 where it does not say."""
    try:
        return int(diagnostic["range"]["start"]["line"])
    except (KeyError, TypeError, ValueError):
        return 0


def _fix(uri: str, diagnostic: Mapping[str, Any]) -> types.CodeAction:
    message = " ".join(str(diagnostic.get("message", "")).split())
    return _action(f"Fix with pygent: {message[:80]}", "quickfix", "pygent.fix", [uri, diagnostic])


def _action(title: str, kind: str, command: str, arguments: Sequence[Any]) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind(kind),
        command=types.Command(title=title, command=command, arguments=list(arguments)),
    )


def _diagnostic(diagnostic: types.Diagnostic) -> Mapping[str, Any]:
    start, end = diagnostic.range.start, diagnostic.range.end
    found: dict[str, Any] = {
        "range": {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": end.line, "character": end.character},
        },
        "message": diagnostic.message,
    }
    if diagnostic.source is not None:
        found["source"] = diagnostic.source
    if diagnostic.code is not None:
        found["code"] = diagnostic.code
    return cast("Mapping[str, Any]", found)
