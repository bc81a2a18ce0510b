"""Commands and notifications of the review in an editor without a review of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from lsprotocol import types

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.edits.diffs import signed_lines
from pygent_ls.agent.edits.pending_file import PendingHunk
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.commands.code_actions import ActionTarget
from pygent_ls.editors.lsp.commands.review_display import (
    hunks_in,
    lines_of,
    review_actions,
    review_diagnostics,
    review_lenses,
)
from pygent_ls.editors.lsp.documents.positions import LineIndex
from pygent_ls.editors.lsp.ports.dialogs import chosen_title
from pygent_ls.editors.lsp.ports.pending_review import PendingReview
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ToolError
from pygent_ls.sessions.steering import steer
from pygent_ls.sessions.store import Sessions

PUBLISH_AFTER_S = 0.2
"""Delay from the last change to the publication of the hunks: the editor moves them while its user types."""

ACCEPT, REJECT, LATER, ACCEPT_ALL = "Accept", "Reject", "Later", "Accept all"

MAX_SHOWN_LINES = 20
"""Maximum number of lines of a hunk in a question; the editor shows the rest of it."""

MAX_SHOWN_CHARS = 200

NOTHING = "There are no changes to review."


class ReviewCommands:
    """Shows what waits for review, and takes decisions. Owns the tasks that tell models of them."""

    def __init__(self, client: Client, review: PendingReview, sessions: Callable[[], Sessions]) -> None:
        self._client = client
        self._review = review
        review.on_change = self.changed
        review.on_decision = self.decided
        self._sessions = sessions
        self._publishing: dict[Path, asyncio.TimerHandle] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()
        self._is_closed = False

    async def close(self) -> None:
        """End what runs, and publish nothing more."""
        self._is_closed = True
        for timer in self._publishing.values():
            timer.cancel()
        for task in self._telling:
            task.cancel()
        if self._telling:
            await asyncio.wait(self._telling)

    # What is shown

    def actions(self, target: ActionTarget) -> list[types.CodeAction]:
        """Return the code actions for the hunks in the target's lines."""
        path, hunks = path_of(target.uri), self._hunks(target.uri)
        if path is None or not hunks:
            return []
        return review_actions(target.uri, hunks, self._review.current(path), target.first_line, target.last_line)

    def lenses(self, uri: str) -> list[types.CodeLens]:
        """Return the lenses above the hunks of a document."""
        path, hunks = path_of(uri), self._hunks(uri)
        return review_lenses(uri, hunks, self._review.current(path)) if path is not None and hunks else []

    def changed(self, path: Path) -> None:
        """Publish the hunks of a file soon."""
        if self._is_closed:
            return
        if path in self._publishing:
            self._publishing[path].cancel()
        loop = asyncio.get_running_loop()
        self._publishing[path] = loop.call_later(PUBLISH_AFTER_S, self._publish, path)

    def show_all(self) -> None:
        """Publish all hunks, for a client that is back."""
        for path in self._review.paths:
            self.changed(path)

    def _publish(self, path: Path) -> None:
        del self._publishing[path]
        features, endpoint = self._client.features, self._client.endpoint
        hunks = self._review.hunks(path)
        diagnostics = review_diagnostics(hunks, self._review.current(path), features.encoding) if hunks else []
        uri = self._client.uri_of(path)
        endpoint.tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, {"uri": uri, "diagnostics": diagnostics})
        if features.code_lens_refresh:
            endpoint.ask_without_waiting(types.WORKSPACE_CODE_LENS_REFRESH, {}, lambda _: None)

    def _hunks(self, uri: str) -> Sequence[PendingHunk]:
        path = path_of(uri)
        return self._review.hunks(path) if path is not None else ()

    # Decisions

    async def decide(self, uri: str, *, accept: bool, hunk_ids: Collection[int] | None = None) -> None:
        """Accept or reject hunks; without `hunk_ids`, all hunks of the document. Raises `ToolError`."""
        path = path_of(uri)
        if path is None:
            raise ToolError(NOTHING)
        await self._review.decide(path, accept=accept, hunk_ids=hunk_ids)

    async def decide_at(self, target: ActionTarget | None, *, accept: bool) -> None:
        """Accept or reject the hunks in the target's lines. Raises `ToolError`."""
        path = path_of(target.uri) if target is not None else None
        hunks = self._review.hunks(path) if path is not None else ()
        if target is None or path is None or not hunks:
            raise ToolError(NOTHING)
        index = LineIndex(self._review.current(path), "utf-32")
        here = hunks_in(hunks, index, target.first_line, target.last_line)
        if not here:
            raise ToolError("There is no change to review in these lines.")
        await self._review.decide(path, accept=accept, hunk_ids=[hunk.id for hunk in here])

    @property
    def n_left(self) -> int:
        """Number of hunks that wait for review."""
        return sum(len(self._review.hunks(path)) for path in self._review.paths)

    async def walk(self) -> None:
        """Show one hunk after another, and ask the user about each."""
        passed: set[int] = set()
        if not self._review.paths:
            self._client.endpoint.show_message(f"pygent: {NOTHING}")
        while (place := self._next(passed)) is not None:
            path, hunk = place
            await self._show_place(path, hunk)
            if hunk not in self._review.hunks(path):
                continue
            answer = await self._asked(path, hunk)
            try:
                if answer in (ACCEPT, REJECT):
                    await self._review.decide(path, accept=answer == ACCEPT, hunk_ids=[hunk.id])
                elif answer == LATER:
                    passed.add(hunk.id)
                else:
                    if answer == ACCEPT_ALL:
                        await self._accept_all()
                    return
            except ToolError as error:
                passed.add(hunk.id)
                self._client.endpoint.show_message(f"pygent: {error}", types.MessageType.Warning)

    async def _accept_all(self) -> None:
        for path in self._review.paths:
            try:
                await self._review.decide(path, accept=True)
            except ToolError as error:
                self._client.endpoint.show_message(f"pygent: {visible(path.name)}: {error}", types.MessageType.Warning)

    def _next(self, passed: set[int]) -> tuple[Path, PendingHunk] | None:
        places = ((path, hunk) for path in self._review.paths for hunk in self._review.hunks(path))
        return next((place for place in places if place[1].id not in passed), None)

    async def _show_place(self, path: Path, hunk: PendingHunk) -> None:
        if not self._client.features.show_document or not self._review.exists(path):
            return
        first, last = self._lines_of(path, hunk)
        end = {"line": last + 1 if hunk.new_text else first, "character": 0}
        shown = {
            "uri": self._client.uri_of(path),
            "takeFocus": True,
            "selection": {"start": {"line": first, "character": 0}, "end": end},
        }
        with suppress(ClientError):
            await self._client.endpoint.ask(types.WINDOW_SHOW_DOCUMENT, shown)

    def _lines_of(self, path: Path, hunk: PendingHunk) -> tuple[int, int]:
        return lines_of(hunk, LineIndex(self._review.current(path), self._client.features.encoding))

    async def _asked(self, path: Path, hunk: PendingHunk) -> str | None:
        first, last = self._lines_of(path, hunk)
        signed = signed_lines(hunk.old_text, hunk.new_text)
        omitted = [f"… and {len(signed) - MAX_SHOWN_LINES} more lines"] if len(signed) > MAX_SHOWN_LINES else []
        lines = f"line {first + 1}" if first == last else f"lines {first + 1}–{last + 1}"
        left = f"{self.n_left} change{'' if self.n_left == 1 else 's'} left to review"
        text = "\n".join([*(visible(each[:MAX_SHOWN_CHARS]) for each in signed[:MAX_SHOWN_LINES]), *omitted])
        return await chosen_title(
            self._client.endpoint,
            {
                "type": int(types.MessageType.Info),
                "message": f"{visible(path.name)}, {lines} ({left})\n{text}",
                "actions": [{"title": each} for each in (ACCEPT, REJECT, LATER, ACCEPT_ALL)],
            },
        )

    # What models are told

    def decided(self, session_id: str) -> None:
        """Tell a running turn of the session about decisions; without one, the next prompt tells of them."""
        if self._is_closed:
            return
        task = asyncio.create_task(self._tell(session_id))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, session_id: str) -> None:
        async with self._one_at_a_time:
            session = self._sessions().live(session_id)
            running = session.running if session is not None else None
            report = self._review.report(session) if session is not None else None
            if session is None or running is None or report is None:
                return
            if await steer(session, running.turn_id, (report.part,)):
                self._review.told(report, running.turn_id)
