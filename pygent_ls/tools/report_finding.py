"""The tool with which the model reports a finding. Only a code review offers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

from msgspec import Meta

from pygent_ls.agent.display_text import one_line, visible
from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.review_findings import Priority, ReviewFinding, ReviewFindings
from pygent_ls.agent.tools.tool import Tool, ToolContext, check_readable, tool
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import ALTERED_PLACEHOLDER, PLACEHOLDER

MAX_FINDINGS = 100
"""Maximum number of findings of one review: more than a person works through."""

MAX_TITLE_CHARS = 120
MAX_BODY_CHARS = 4_000
MAX_QUOTE_CHARS = 1_000
MAX_SUGGESTION_CHARS = 10_000

MAX_LINES = 400
"""Maximum number of lines of a finding: beyond it, a place says nothing."""


def finding_tool(findings: ReviewFindings) -> Tool:
    """Return the tool of one review, which adds to these findings."""

    @tool(
        risk=ToolRisk.LOW,
        category=ToolCategory.AGENT,
        kind="think",
        title="P{priority} {path}:{first_line} {title}",
        read_only=True,
    )
    async def report_finding(  # noqa: PLR0913, PLR0917 - a finding, field by field
        context: ToolContext,
        path: Annotated[str, Meta(description="The file.")],
        first_line: Annotated[int, Meta(ge=1, description="First line, in the file as it is now.")],
        last_line: Annotated[int, Meta(ge=1, description="Last line; choose the fewest lines that show the problem.")],
        title: Annotated[
            str, Meta(min_length=1, max_length=MAX_TITLE_CHARS, description="The problem, as an imperative.")
        ],
        body: Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MAX_BODY_CHARS,
                description="Why it is a problem, and with which input or in which situation; one paragraph.",
            ),
        ],
        priority: Annotated[
            Priority,
            Meta(description="0: blocks everything; 1: urgent; 2: to be fixed at some time; 3: nice to have."),
        ],
        confidence: Annotated[float, Meta(ge=0, le=1, description="Probability that the problem is real.")]
        | None = None,
        quote: Annotated[
            str,
            Meta(max_length=MAX_QUOTE_CHARS, description="The text of `first_line`, which corrects a wrong number."),
        ]
        | None = None,
        suggestion: Annotated[
            str,
            Meta(
                max_length=MAX_SUGGESTION_CHARS,
                description="Code that replaces exactly the lines from `first_line` to `last_line`, with its "
                "indentation; empty to delete them. Only if the replacement is complete and certain.",
            ),
        ]
        | None = None,
    ) -> str:
        """Report one problem that the review found. The user sees it at its lines in the editor.

        Raises:
            ToolError: the file cannot be read, or does not have these lines.
        """
        if len(findings.of_session(context.session_id)) >= MAX_FINDINGS:
            raise ToolError(f"{MAX_FINDINGS} findings are reported; that is the limit. End the review.")
        check_readable(context, path)
        document = await context.peek(context.workspace.resolve(path))
        lines = split_lines(document.text)
        where = _checked(lines, LineRange(first=first_line, last=last_line), quote)
        finding = ReviewFinding(
            id=f"finding-{uuid4().hex[:12]}",
            session_id=context.session_id,
            path=document.path,
            lines=where,
            title=one_line(visible(title), MAX_TITLE_CHARS),
            body=visible(body).strip(),
            priority=priority,
            confidence=confidence,
            code="".join(lines[where.first - 1 : where.last]),
            suggestion=None if suggestion is None else _as_lines(suggestion, lines, where),
        )
        findings.report(finding, document.text)
        name = context.workspace.shown(document.path)
        number = len(findings.of_session(context.session_id))
        return f"Finding {number} is reported at {name}:{where.first}-{where.last}."

    return report_finding


def _checked(lines: Sequence[str], where: LineRange, quote: str | None) -> LineRange:
    """Return the lines of the finding, moved to the line that the quote names. Raises `ToolError`."""
    if where.last < where.first:
        raise ToolError(f"last_line {where.last} is before first_line {where.first}.")
    n_lines = where.last - where.first + 1
    if n_lines > MAX_LINES:
        raise ToolError(f"A finding has at most {MAX_LINES} lines; name those that show the problem.")
    wanted = next((each.strip() for each in (quote or "").splitlines() if each.strip()), "")
    if wanted and not PLACEHOLDER.search(wanted):
        numbers = [number for number, line in enumerate(lines, 1) if line.strip() == wanted]
        if not numbers:
            raise ToolError("No line of the file is equal to `quote`. Read the file, and report the line as it is now.")
        first = min(numbers, key=lambda number: (abs(number - where.first), number))
        where = LineRange(first=first, last=first + n_lines - 1)
    if where.last > len(lines):
        raise ToolError(f"Line {where.last} does not exist: the file has {len(lines)} lines now.")
    return where


def _as_lines(suggestion: str, lines: Sequence[str], where: LineRange) -> str:
    """Return the suggestion as whole lines, with the file's line ends. Raises `ToolError`."""
    if PLACEHOLDER.search(suggestion) or ALTERED_PLACEHOLDER.search(suggestion):
        raise ToolError(
            "The suggestion contains a placeholder of a secret. Omit it, and describe the change in `body`."
        )
    if not suggestion:
        return ""
    replaced = lines[where.first - 1 : where.last]
    ending = "\r\n" if replaced[0].endswith("\r\n") else "\n"
    given = "".join(each.rstrip("\r\n") + ending for each in split_lines(suggestion))
    return given if replaced[-1].endswith(("\n", "\r")) else given.removesuffix(ending)
