"""Commands and notifications of the review in an editor without a review of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.edits.diffs import signed_lines
from pygent_ls.editors.lsp.documents.positions import LineIndex
from pygent_ls.editors.lsp.ports.dialogs import chosen_title
from pygent_ls.editors.lsp.review.display import (
    SOURCE,
    hunks_in,
    lines_of,
    ranges_of,
    review_actions,
    review_diagnostics,
    review_lenses,
)
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ToolError
from pygent_ls.sessions.steering import steer

if TYPE_CHECKING:
    from pygent_ls.agent.edits.pending_hunks import PendingHunk
    from pygent_ls.editors.lsp.actions import ActionTarget, CodeActionOut, CodeLensOut
    from pygent_ls.editors.lsp.client import Client
    from pygent_ls.editors.lsp.protocol.reviews import PendingHunkOut, ReviewChangedOut
    from pygent_ls.editors.lsp.review.pending_review import PendingReview
    from pygent_ls.sessions.store import Sessions

PUBLISH_AFTER_S = 0.2
"""Delay from the last change to the publication of hints: the editor moves them while its user types."""

TELL_AFTER_S = 0.02
"""Delay from the last change to `pygent/review/didChange`: several edits become one message."""

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

    def actions(self, target: ActionTarget) -> list[CodeActionOut]:
        """Return the code actions for the hunks in the target's lines."""
        path, hunks = path_of(target.uri), self._shown_hunks(target.uri)
        if path is None or not hunks:
            return []
        return review_actions(target.uri, hunks, self._review.current(path), target.first_line, target.last_line)

    def lenses(self, uri: str) -> list[CodeLensOut]:
        """Return the lenses above the hunks of a document."""
        path, hunks = path_of(uri), self._shown_hunks(uri)
        return review_lenses(uri, hunks, self._review.current(path)) if path is not None and hunks else []

    def changed(self, path: Path) -> None:
        """Publish the hunks of a file soon."""
        if self._is_closed:
            return
        if path in self._publishing:
            self._publishing[path].cancel()
        loop = asyncio.get_running_loop()
        after_s = TELL_AFTER_S if self._client.features.pending_review else PUBLISH_AFTER_S
        self._publishing[path] = loop.call_later(after_s, self._publish, path)

    def show_all(self) -> None:
        """Publish all hunks, for a client that is back."""
        for path in self._review.paths:
            self.changed(path)

    def show_decided(self) -> None:
        """Report at once what has changed, to a client that shows it itself: before the answer to its request."""
        if self._client.features.pending_review:
            for path, timer in [*self._publishing.items()]:
                timer.cancel()
                self._publish(path)

    def _publish(self, path: Path) -> None:
        del self._publishing[path]
        features, endpoint = self._client.features, self._client.endpoint
        hunks = self._review.hunks(path)
        if features.pending_review:
            endpoint.tell("pygent/review/didChange", self._changes(path))
            return
        diagnostics = review_diagnostics(hunks, self._review.current(path), features.encoding) if hunks else []
        uri = self._client.uri_of(path)
        self._client.diagnostics.publish(uri, SOURCE, diagnostics)
        if features.code_lens_refresh:
            endpoint.ask_without_waiting("workspace/codeLens/refresh", {}, lambda _: None)

    def _changes(self, path: Path) -> ReviewChangedOut:
        found = self._review.hunks(path)
        ranges = ranges_of(found, self._review.current(path), self._client.features.encoding)
        hunks: list[PendingHunkOut] = [
            {
                "hunkId": str(hunk.id),
                "sessionId": hunk.author,
                "range": place,
                "oldText": hunk.old_text,
                "newText": hunk.new_text,
            }
            for hunk, place in zip(found, ranges, strict=True)
        ]
        rejected = self._review.rejected(path)
        return {
            "uri": self._client.uri_of(path),
            "kind": self._review.kind(path),
            "version": self._review.version(path),
            "hunks": hunks,
            "rejected": [{"sessionId": each, "hunks": n_hunks} for each, n_hunks in rejected.items()],
        }

    def _shown_hunks(self, uri: str) -> Sequence[PendingHunk]:
        """Return the hunks of a document; none if the client shows them itself."""
        path = path_of(uri)
        return self._review.hunks(path) if path is not None and not self._client.features.pending_review else ()

    def uri_of(self, path: Path) -> str:
        """Return the client's URI of a file."""
        return self._client.uri_of(path)

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

    async def undo_rejection(self, uri: str | None) -> Path:
        """Bring back what was rejected last, in this document if one is named; return its file. Raises `ToolError`."""
        path = path_of(uri) if uri is not None else None
        if uri is not None and path is None:
            raise ToolError(NOTHING)
        return await self._review.undo_rejection(path)

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
                        await self.decide_all(accept=True)
                    return
            except ToolError as error:
                passed.add(hunk.id)
                self._client.endpoint.show_message(f"pygent: {error}", MessageType.WARNING)

    async def decide_all(self, *, accept: bool) -> None:
        """Accept or reject all hunks of all files. Raises `ToolError` that names the files left out, after the others
        are decided."""
        problems: list[str] = []
        for path in self._review.paths:
            try:
                await self._review.decide(path, accept=accept)
            except ToolError as error:
                problems.append(f"{visible(path.name)}: {error}")
        if problems:
            raise ToolError("\n".join(problems))

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
            await self._client.endpoint.ask("window/showDocument", shown)

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
                "type": int(MessageType.INFO),
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
