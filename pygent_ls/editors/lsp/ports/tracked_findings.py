"""Findings of code reviews, which move along with the text of their files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.ports.review_findings import ReviewFinding
from pygent_ls.agent.ports.workspace import MISSING, EditPlan, Workspace, WriteText
from pygent_ls.editors.lsp.documents.buffers import Buffers, read_text_now
from pygent_ls.editors.lsp.documents.kept_spans import KeptSpans
from pygent_ls.editors.lsp.documents.positions import LineIndex
from pygent_ls.editors.lsp.documents.tracked_spans import TextSpan
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.reader import disk_stamp

MAX_FINDINGS = 1_000
"""Maximum number of findings that are kept, of all sessions together; the oldest are dropped first."""

UNKNOWN = "This finding is no longer listed: it was dismissed, or a new review has replaced it."
NO_SUGGESTION = "This finding has no suggestion. Fix it with pygent, or by hand."
CHANGED_SINCE = (
    "The lines have changed since the review, so the suggestion does not fit. Fix them with pygent, or by hand."
)


class PlacedFinding(Struct, frozen=True, kw_only=True):
    """A finding, and where its lines are now."""

    finding: ReviewFinding
    span: TextSpan
    """Characters of its lines in the text of now."""
    is_changed: bool
    """Whether the text of its lines is another than when it was reported."""


def lines_of(placed: PlacedFinding, index: LineIndex) -> tuple[int, int]:
    """Return the first and the last line of a finding, from 0."""
    first = index.position(placed.span.start).line
    last = index.position(placed.span.end)
    is_before = last.character == 0 and placed.span.end > placed.span.start
    return first, max(first, last.line - is_before)


def range_of(placed: PlacedFinding, text: str, index: LineIndex) -> dict[str, Any]:
    """Return the LSP range of the lines, from the first visible character to the end."""
    lines = text[placed.span.start : placed.span.end]
    stripped = lines.lstrip(" \t")
    is_at_start = index.position(placed.span.start).character == 0
    start = placed.span.start + (len(lines) - len(stripped) if stripped.strip() and is_at_start else 0)
    end = placed.span.end - (len(lines) - len(lines.rstrip("\r\n")))
    begin, stop = index.position(start), index.position(max(start, end))
    return {
        "start": {"line": begin.line, "character": begin.character},
        "end": {"line": stop.line, "character": stop.character},
    }


class FindingsFile(Struct, eq=False):
    """Findings in one file, as the buffers follow it."""

    path: Path
    spans: KeptSpans
    on_move: Callable[[Path], None]
    findings: list[ReviewFinding] = field(default_factory=list[ReviewFinding])
    """In the order of the spans."""
    resolved: set[str] = field(default_factory=set[str])
    """Ids of findings that an edit has settled. They are not listed, unless an undo brings their lines back."""
    is_there: bool = True
    _is_in_step: bool = True

    def is_at(self, text: str) -> bool:
        """Implement `Follower`."""
        self._is_in_step = self.spans.text == text
        return True

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Implement `Follower`."""
        if self._is_in_step:
            self.spans.changed(start, end, new, text)
        else:
            self.spans.catch_up(text)
        self._moved()

    def catch_up(self, text: str) -> None:
        """Implement `Follower`."""
        if text != self.spans.text or not self.is_there:
            self.is_there = True
            self.spans.catch_up(text)
            self._moved()

    def lose(self) -> None:
        """Note that the file does not exist."""
        if self.is_there:
            self.is_there = False
            self.on_move(self.path)

    def add(self, finding: ReviewFinding, text: str) -> None:
        """Add a finding whose lines are those of this text."""
        lines = split_lines(text)
        start = sum(map(len, lines[: finding.lines.first - 1]))
        now, self.is_there = self.spans.text, True
        self.spans.catch_up(text)
        self.spans.add(TextSpan(start, start + len(finding.code)))
        self.findings.append(finding)
        self.spans.catch_up(now)

    def remove(self, is_removed: Callable[[ReviewFinding], bool]) -> bool:
        """Remove findings; return whether there were such."""
        numbers = [number for number, each in enumerate(self.findings) if is_removed(each)]
        for number in reversed(numbers):
            self.resolved.discard(self.findings[number].id)
            del self.findings[number]
            self.spans.remove(number)
        return bool(numbers)

    def resolve(self, finding_id: str) -> None:
        """Note that the finding is settled, if its lines have changed."""
        if any(each.finding.id == finding_id and each.is_changed for each in self._placed()):
            self.resolved.add(finding_id)
            self.on_move(self.path)

    @property
    def listed(self) -> list[PlacedFinding]:
        """Findings to show, in the order of their report."""
        if not self.is_there:
            return []
        return [each for each in self._placed() if each.finding.id not in self.resolved]

    def _placed(self) -> list[PlacedFinding]:
        text = self.spans.text
        return [
            PlacedFinding(finding=finding, span=span, is_changed=text[span.start : span.end] != finding.code)
            for finding, span in zip(self.findings, self.spans.spans, strict=True)
        ]

    def _moved(self) -> None:
        for each in self._placed():
            if not each.is_changed:
                self.resolved.discard(each.finding.id)
            elif each.span.start == each.span.end:
                self.resolved.add(each.finding.id)
        self.on_move(self.path)


class TrackedFindings:
    """Implements the `ReviewFindings` port for an editor."""

    def __init__(self, workspace: Workspace, buffers: Buffers) -> None:
        self.on_change: Callable[[Path], None] = lambda _: None
        """Called with the path of a file whose findings have changed or moved."""
        self._workspace = workspace
        self._buffers = buffers
        self._files: dict[Path, FindingsFile] = {}
        self._order: list[str] = []
        """Ids of all findings in the order of their report."""

    # The port

    def begin(self, session_id: str) -> None:
        """Implement `ReviewFindings`."""
        self._remove(lambda finding: finding.session_id == session_id)

    def report(self, finding: ReviewFinding, text: str) -> None:
        """Implement `ReviewFindings`."""
        file = self._files.get(finding.path)
        if file is None:
            file = self._files[finding.path] = FindingsFile(finding.path, KeptSpans(text), self._moved)
            self._buffers.follow(file)
        file.add(finding, text)
        self._order.append(finding.id)
        if len(self._order) > MAX_FINDINGS:
            oldest = self._order[0]
            self._remove(lambda each: each.id == oldest)
        self.file_changed(finding.path)
        self.on_change(finding.path)

    def of_session(self, session_id: str) -> Sequence[ReviewFinding]:
        """Implement `ReviewFindings`."""
        return [each.finding for each in self.listed if each.finding.session_id == session_id]

    # What is listed

    @property
    def listed(self) -> Sequence[PlacedFinding]:
        """All findings, in the order of their report."""
        order = {finding_id: number for number, finding_id in enumerate(self._order)}
        return sorted(
            (each for file in self._files.values() for each in file.listed), key=lambda each: order[each.finding.id]
        )

    @property
    def paths(self) -> Sequence[Path]:
        """Files with findings."""
        return [path for path, file in self._files.items() if file.listed]

    def placed(self, path: Path) -> Sequence[PlacedFinding]:
        """Return the findings in a file."""
        file = self._files.get(path)
        return file.listed if file is not None else ()

    def text(self, path: Path) -> str:
        """Return the text that the spans of a file refer to."""
        file = self._files.get(path)
        return file.spans.text if file is not None else ""

    def get(self, finding_id: str) -> PlacedFinding:
        """Return a finding. Raises `ToolError` if it is not listed."""
        found = next((each for each in self.listed if each.finding.id == finding_id), None)
        if found is None:
            raise ToolError(UNKNOWN)
        return found

    # Changes of the files

    def file_changed(self, path: Path) -> None:
        """Look at what became of a file, or of all files below a folder."""
        exact = self._files.get(path)
        below = f"{path}/".replace("//", "/")
        found = [exact] if exact else [each for at, each in self._files.items() if str(at).startswith(below)]
        for file in found:
            buffer = self._buffers.current(file.path)
            if buffer is not None:
                if not buffer.out_of_step:
                    file.catch_up(buffer.text)
            elif disk_stamp(file.path) == MISSING:
                file.lose()
            elif (text := read_text_now(file.path)) is not None:
                file.catch_up(text)

    # Decisions

    def dismiss(self, finding_ids: Collection[str] | None = None) -> int:
        """Remove findings, all without `finding_ids`; return how many were listed."""
        listed = {each.finding.id for each in self.listed}
        removed = listed if finding_ids is None else listed.intersection(finding_ids)
        self._remove(lambda finding: finding.id in removed)
        return len(removed)

    def resolve(self, finding_id: str) -> None:
        """Note that an edit was made for this finding; it is settled if its lines have changed."""
        for file in self._files.values():
            file.resolve(finding_id)

    async def apply_suggestion(self, finding_id: str) -> None:
        """Replace the lines of a finding with its suggestion. Raises `ToolError` if they have changed, or if the editor
        refuses the edit."""
        placed = self.get(finding_id)
        finding = placed.finding
        if finding.suggestion is None:
            raise ToolError(NO_SUGGESTION)
        document = await self._workspace.read(finding.path)
        self._files[finding.path].catch_up(document.text)
        placed = self.get(finding_id)
        if placed.is_changed:
            raise ToolError(CHANGED_SINCE)
        text = document.text[: placed.span.start] + finding.suggestion + document.text[placed.span.end :]
        written = WriteText(path=finding.path, before=document, text=text)
        await self._workspace.apply(
            EditPlan(label="Apply suggestion", operations=(written,), result="", previewed=False)
        )
        self.file_changed(finding.path)
        self.resolve(finding_id)

    def _remove(self, is_removed: Callable[[ReviewFinding], bool]) -> None:
        for path, file in list(self._files.items()):
            if not file.remove(is_removed):
                continue
            if not file.findings:
                self._buffers.unfollow(file)
                del self._files[path]
            self.on_change(path)
        left = {each.id for file in self._files.values() for each in file.findings}
        self._order = [each for each in self._order if each in left]

    def _moved(self, path: Path) -> None:
        self.on_change(path)
