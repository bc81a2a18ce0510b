"""Findings of code reviews as diagnostics and code actions, which most LSP clients show. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pygent_ls.agent.context.attachments import DiagnosticsPart, FilePart, PromptPart
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.review_findings import Priority
from pygent_ls.editors.lsp.actions import CodeActionOut
from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.commands.code_actions import CONTEXT_LINES, MAX_TITLE_CHARS, action
from pygent_ls.editors.lsp.documents.positions import LineIndex
from pygent_ls.editors.lsp.ports.tracked_findings import PlacedFinding, lines_of, range_of
from pygent_ls.editors.lsp.standard import DiagnosticSeverity

SOURCE = "pygent review"
"""Source of the diagnostics."""

FIX, APPLY = "pygent.fixFinding", "pygent.applySuggestion"
DISMISS, DISMISS_ALL = "pygent.dismissFinding", "pygent.dismissFindings"

SEVERITIES: dict[Priority, DiagnosticSeverity] = {
    0: DiagnosticSeverity.ERROR,
    1: DiagnosticSeverity.WARNING,
    2: DiagnosticSeverity.INFORMATION,
    3: DiagnosticSeverity.INFORMATION,  # editors leave hints out of their lists of problems
}

CHANGED = "(The lines have changed since the review.)"


def message_of(placed: PlacedFinding) -> str:
    """Return the text of a diagnostic: the title, the explanation, and whether the lines have changed."""
    changed = [CHANGED] if placed.is_changed else []
    return "\n".join([placed.finding.title, placed.finding.body, *changed])


def finding_diagnostics(listed: Sequence[PlacedFinding], text: str, encoding: Encoding) -> list[dict[str, Any]]:
    """Return the diagnostics of a file, as LSP has them."""
    index = LineIndex(text, encoding)
    return [
        {
            "range": range_of(placed, text, index),
            "message": message_of(placed),
            "severity": int(SEVERITIES[placed.finding.priority]),
            "source": SOURCE,
            "code": f"P{placed.finding.priority}",
            "data": {"findingId": placed.finding.id},
        }
        for placed in listed
    ]


def finding_actions(
    listed: Sequence[PlacedFinding], n_all: int, text: str, first_line: int, last_line: int
) -> list[CodeActionOut]:
    """Return actions for the findings in these lines, counted from 0. Titles are unique, because some editors find the
    chosen action by its title."""
    index = LineIndex(text, "utf-32")
    places = ((placed, *lines_of(placed, index)) for placed in listed)
    here = [placed for placed, first, last in places if first <= last_line and last >= first_line]
    titles: set[str] = set()
    actions: list[CodeActionOut] = []
    for number, placed in enumerate(here, 1):
        name = one_line(placed.finding.title, MAX_TITLE_CHARS)
        name = f"{name} ({number})" if name in titles else name
        titles.add(name)
        commands = [("Fix with pygent", FIX), ("Dismiss finding", DISMISS)]
        if placed.finding.suggestion is not None and not placed.is_changed:
            commands.insert(0, ("Apply suggestion", APPLY))
        actions += [action(f"{what}: {name}", "quickfix", command, [placed.finding.id]) for what, command in commands]
    if here and n_all > 1:
        actions.append(action(f"Dismiss all {n_all} findings", "quickfix", DISMISS_ALL, []))
    return actions


def fix_prompt(placed: PlacedFinding, text: str) -> tuple[PromptPart, ...]:
    """Return the prompt that has a finding fixed. Its text is the model's, and so a part of its own."""
    path = placed.finding.path
    first, last = lines_of(placed, LineIndex(text, "utf-32"))
    around = LineRange(first=max(1, first + 1 - CONTEXT_LINES), last=last + 1 + CONTEXT_LINES)
    problem = f"line {first + 1}: {placed.finding.title}\n{placed.finding.body} [{SOURCE}]"
    return (
        "Fix what the code review found there, with the smallest change that is right. If the finding is wrong, say "
        f"why and change nothing.\n\nFile: {path.name}, lines {first + 1} to {last + 1}",
        FilePart(path=path, lines=around),
        DiagnosticsPart(path=path, lines=(problem,)),
    )
