"""Findings of code reviews: their notifications, and the commands on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pygent_ls.editors.lsp.actions import CodeActionOut
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.commands.code_actions import ActionTarget
from pygent_ls.editors.lsp.commands.finding_display import (
    DISMISS_ALL,
    SOURCE,
    finding_actions,
    finding_diagnostics,
    fix_prompt,
)
from pygent_ls.editors.lsp.handlers.findings import FindingRequests
from pygent_ls.editors.lsp.ports.tracked_findings import PlacedFinding, TrackedFindings
from pygent_ls.editors.lsp.protocol.code_review import FindingsLeftOut
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ToolError

PUBLISH_AFTER_S = 0.2
"""Delay from the last change to the publication of the findings: the editor moves them while its user types."""


class FindingCommands:
    """Shows findings, and runs the commands on them."""

    def __init__(self, client: Client, findings: TrackedFindings, requests: FindingRequests) -> None:
        self._client = client
        self._requests = requests
        self._findings = findings
        self._publishing: dict[Path, asyncio.TimerHandle] = {}
        self._telling: asyncio.TimerHandle | None = None
        self._is_closed = False
        findings.on_change = self._changed

    def close(self) -> None:
        """Publish nothing more."""
        self._is_closed = True
        for timer in (*self._publishing.values(), *filter(None, [self._telling])):
            timer.cancel()

    # What is shown

    def actions(self, target: ActionTarget) -> list[CodeActionOut]:
        """Return the code actions for the findings in the target's lines."""
        path = path_of(target.uri)
        listed = self._findings.placed(path) if path is not None else ()
        if path is None or not listed:
            return []
        text, n_all = self._findings.text(path), len(self._findings.listed)
        return finding_actions(listed, n_all, text, target.first_line, target.last_line)

    def show_all(self) -> None:
        """Publish all findings, for a client that is back."""
        for path in self._findings.paths:
            self._changed(path)

    def _changed(self, path: Path) -> None:
        """Publish the findings of a file soon."""
        if self._is_closed:
            return
        loop = asyncio.get_running_loop()
        for timer in (self._publishing.pop(path, None), self._telling):
            if timer is not None:
                timer.cancel()
        self._publishing[path] = loop.call_later(PUBLISH_AFTER_S, self._publish, path)
        if self._client.features.chat_panel:
            self._telling = loop.call_later(PUBLISH_AFTER_S, self._tell)

    def _publish(self, path: Path) -> None:
        del self._publishing[path]
        listed = self._findings.placed(path)
        text, encoding = self._findings.text(path), self._client.features.encoding
        diagnostics = finding_diagnostics(listed, text, encoding) if listed else []
        self._client.diagnostics.publish(self._client.uri_of(path), SOURCE, diagnostics)

    def _tell(self) -> None:
        self._telling = None
        self._requests.tell()

    # Commands

    async def apply(self, arguments: Sequence[Any]) -> FindingsLeftOut:
        """Run `pygent.applySuggestion`. Raises `InvalidParamsError`."""
        try:
            await self._findings.apply_suggestion(_finding_id(arguments))
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None
        return self._left()

    def dismiss(self, command: str, arguments: Sequence[Any]) -> FindingsLeftOut:
        """Run `pygent.dismissFinding` or `pygent.dismissFindings`. Raises `InvalidParamsError`."""
        self._findings.dismiss(None if command == DISMISS_ALL else [_finding_id(arguments)])
        return self._left()

    def to_fix(self, arguments: Sequence[Any]) -> PlacedFinding:
        """Return the finding of `pygent.fixFinding`. Raises `InvalidParamsError`."""
        try:
            return self._findings.get(_finding_id(arguments))
        except ToolError as error:
            raise InvalidParamsError(str(error)) from None

    def fix_prompt(self, placed: PlacedFinding) -> Sequence[Any]:
        """Return the prompt that has a finding fixed."""
        return fix_prompt(placed, self._findings.text(placed.finding.path))

    def fixed(self, finding_id: str) -> Callable[[object], None]:
        """Return what settles a finding when the turn that fixes it has ended."""
        return lambda _: self._findings.resolve(finding_id)

    def _left(self) -> FindingsLeftOut:
        return {"left": len(self._findings.listed)}


def _finding_id(arguments: Sequence[Any]) -> str:
    given = arguments[0] if arguments else None
    if not isinstance(given, str) or not given:
        raise InvalidParamsError("argument 1 must be the id of a finding, as pygent/codeReview/list names it")
    return given
