"""Code actions, and the prompts of the commands behind them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pygent_ls.agent.context.attachments import DiagnosticsPart, FilePart, PromptPart
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.editors.lsp.actions import ActionTarget, CodeActionOut, CodeLensOut, EditorCommand, action, lens
from pygent_ls.editors.lsp.commands.comment_requests import comment_requests
from pygent_ls.editors.lsp.protocol.conversion import origin_of
from pygent_ls.editors.lsp.standard import CodeActionParams, CodeActionTriggerKind, Range
from pygent_ls.editors.lsp.uris import path_of

SELECTION_PROMPTS: Mapping[str, tuple[str, str]] = {
    "pygent.explain": ("Explain with pygent", "Explain what this code does and why, briefly. Change nothing."),
    "pygent.test": ("Write tests with pygent", "Write tests for this code, where this project keeps its tests."),
    "pygent.doc": ("Document with pygent", "Document this code in the style of the code around it."),
    "pygent.refactor": ("Refactor with pygent", "Refactor this code so that it is clearer; keep what it does."),
}
"""Commands on a selection, with the title of the code action and the prompt."""

CONTEXT_LINES = 20
"""Number of lines around a diagnostic that the prompt includes: enough for a typical function."""

MAX_LINE = 2**31 - 1
"""Maximum line number of the protocol."""

MAX_TITLE_CHARS = 80
"""Maximum length of quoted text in the title of an action."""

MAX_FIXES = 20
"""Maximum number of diagnostics that get an action of their own; a longer menu is hard to use."""

MAX_COMMENTS = 5
"""Maximum number of comment requests offered for one selection."""


def target_of(params: CodeActionParams) -> ActionTarget:
    """Return the target of a code action request; it is used by later commands without arguments."""
    where = params.range
    last = where.end.line - (1 if where.end.character == 0 and where.end.line > where.start.line else 0)
    return ActionTarget(
        uri=params.text_document.uri,
        first_line=where.start.line,
        last_line=last,
        diagnostics=tuple(params.context.diagnostics),
    )


def code_actions(params: CodeActionParams, text: str) -> list[CodeActionOut]:
    """Return the code actions: a fix for each diagnostic, the comment requests, and the actions on the selection.

    If the editor requests actions automatically, the actions on a selection are left out. No action is marked as
    preferred, because an editor may apply a preferred action without asking.
    """
    target, wanted = target_of(params), params.context.only or ()
    actions: list[CodeActionOut] = []
    if is_wanted("quickfix", wanted):
        actions += _fixes(target.uri, params.context.diagnostics)
        actions += _requests(target, text)
    is_automatic = params.context.trigger_kind == CodeActionTriggerKind.AUTOMATIC and not wanted
    if is_wanted("refactor", wanted) and not is_automatic and _is_selection(params.range):
        arguments = [target.uri, target.first_line, target.last_line]
        actions += [action(title, "refactor", command, arguments) for command, (title, _) in SELECTION_PROMPTS.items()]
    return actions


def code_lenses(uri: str, text: str) -> list[CodeLensOut]:
    """Return a lens on each line with a `pygent:` comment, which runs its request."""
    lenses: list[CodeLensOut] = []
    for line, request in comment_requests(uri, text):
        arguments = [request, uri, line, line]
        lenses.append(lens(line, EditorCommand(title="Run pygent comment", command="pygent.ask", arguments=arguments)))
    return lenses


def is_request_of_a_comment(asked: str, target: ActionTarget, text: str) -> bool:
    """Whether `asked` is the text of a comment request in the target's lines."""
    return asked in requests_at(target, text)


def requests_at(target: ActionTarget, text: str) -> list[str]:
    """Return the comment requests in the target's lines."""
    lines = range(target.first_line, target.last_line + 1)
    return [request for line, request in comment_requests(target.uri, text) if line in lines]


def prompt_for(command: str, target: ActionTarget) -> tuple[PromptPart, ...] | None:
    """Return the prompt of a command for a target; None if the target is not a file."""
    path = path_of(target.uri)
    if path is None:
        return None
    if command == "pygent.fix":
        return _fix_prompt(path, target)
    _, request = SELECTION_PROMPTS[command]
    where = _where(path, target)
    return (f"{request}\n\n{where}", FilePart(path=path, lines=_lines(target, 0)))


def ask_prompt(request: str, target: ActionTarget | None) -> tuple[PromptPart, ...]:
    """Return the user's text with the place that it refers to."""
    path = path_of(target.uri) if target else None
    if target is None or path is None:
        return (request,)
    return (f"{request}\n\n{_where(path, target)}", FilePart(path=path, lines=_lines(target, CONTEXT_LINES)))


def _fix_prompt(path: Path, target: ActionTarget) -> tuple[PromptPart, ...]:
    problems = tuple(_problem(each) for each in target.diagnostics)
    if not problems:
        return (f"Find and fix what is wrong here.\n\n{_where(path, target)}", FilePart(path=path))
    return (  # text from a checker is data, not the user's: it is a part of its own
        f"Fix what the diagnostics report there, with the smallest change that is right.\n\n{_where(path, target)}",
        FilePart(path=path, lines=_lines(target, CONTEXT_LINES)),
        DiagnosticsPart(path=path, lines=problems),
    )


def _where(path: Path, target: ActionTarget) -> str:
    return f"File: {path.name}, lines {target.first_line + 1} to {target.last_line + 1}"


def _lines(target: ActionTarget, around: int) -> LineRange:
    return LineRange(first=max(1, target.first_line + 1 - around), last=target.last_line + 1 + around)


def _problem(diagnostic: Mapping[str, Any]) -> str:
    line = start_line(diagnostic)
    origin = origin_of(diagnostic.get("source"), diagnostic.get("code"))
    return f"line {line + 1}: {diagnostic.get('message', '')}" + (f" [{origin}]" if origin else "")


def start_line(diagnostic: Mapping[str, Any]) -> int:
    """Return the first line of a diagnostic, 0 if it has none."""
    try:
        return whole_line(diagnostic["range"]["start"]["line"])
    except (KeyError, TypeError, ValueError):
        return 0


def whole_line(number: float) -> int:
    """Return a line number, at least 0 and at most `MAX_LINE`; 0 for NaN."""
    return int(max(0, min(number, MAX_LINE)))


def is_wanted(kind: str, wanted: Sequence[str]) -> bool:
    """Whether an action kind equals or is below one of the wanted kinds; the empty kind includes all."""
    return not wanted or any(each == "" or f"{kind}.".startswith(f"{each}.") for each in wanted)


def _is_selection(where: Range) -> bool:
    return (where.start.line, where.start.character) != (where.end.line, where.end.character)


def _fixes(uri: str, diagnostics: Sequence[Mapping[str, Any]]) -> Iterator[CodeActionOut]:
    """Yield a fix for each diagnostic. Titles are unique, because some editors find the chosen action by its title."""
    titles: set[str] = set()
    for diagnostic in diagnostics:
        title = f"Fix with pygent: {one_line(diagnostic['message'], MAX_TITLE_CHARS)}"
        if title in titles:
            start = diagnostic["range"]["start"]
            title = f"{title} (line {start['line'] + 1}, column {start['character'] + 1})"
        if title not in titles and len(titles) < MAX_FIXES:
            titles.add(title)
            yield {**action(title, "quickfix", "pygent.fix", [uri, diagnostic]), "diagnostics": [diagnostic]}


def _requests(target: ActionTarget, text: str) -> Iterator[CodeActionOut]:
    for request in list(dict.fromkeys(requests_at(target, text)))[:MAX_COMMENTS]:
        arguments = [request, target.uri, target.first_line, target.last_line]
        yield action(f"Run pygent comment: {one_line(request, MAX_TITLE_CHARS)}", "quickfix", "pygent.ask", arguments)
