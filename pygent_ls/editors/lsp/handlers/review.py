"""Handlers of the requests about changes that wait for review."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.editors.lsp.protocol.reviews import (
    AddedChangeParams,
    DecidedOut,
    DecisionParams,
    OriginalOut,
    OriginalParams,
    UndoRejectionParams,
)
from pygent_ls.editors.lsp.review.commands import ReviewCommands
from pygent_ls.editors.lsp.review.pending_review import PendingReview
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.uris import path_of


class ReviewRequests:
    """Answers the requests `pygent/review/…`. Its methods raise `InvalidParamsError` and `ToolError`."""

    def __init__(self, decisions: ReviewCommands, review: PendingReview) -> None:
        self._decisions = decisions
        self._review = review

    async def accept(self, params: DecisionParams) -> DecidedOut:
        """Accept hunks."""
        return await self._decide(params, accept=True)

    async def reject(self, params: DecisionParams) -> DecidedOut:
        """Reject hunks."""
        return await self._decide(params, accept=False)

    async def undo_rejection(self, params: UndoRejectionParams) -> DecidedOut:
        """Bring back what was rejected last."""
        path = await self._decisions.undo_rejection(params.uri)
        return {**self._decided(), "uri": self._decisions.uri_of(path)}

    def original(self, params: OriginalParams) -> OriginalOut:
        """Return the text of a file without its changes."""
        path = _path(params.uri)
        if not self._review.is_known(path):
            raise InvalidParamsError(f"{params.uri} has no changes to review")
        return {"text": self._review.baseline(path)}

    async def add(self, params: AddedChangeParams) -> DecidedOut:
        """Review a change that the client made for the agent."""
        await self._review.add(_path(params.uri), params.before, params.session_id)
        return self._decided()

    async def _decide(self, params: DecisionParams, *, accept: bool) -> DecidedOut:
        if params.uri is not None:
            ids = None if params.hunk_ids is None else _ids(params.hunk_ids)
            await self._review.decide(_path(params.uri), accept=accept, hunk_ids=ids)
        elif params.hunk_ids is not None:
            raise InvalidParamsError("hunkIds: uri is missing, which names their file")
        else:
            await self._decisions.decide_all(accept=accept)
        return self._decided()

    def _decided(self) -> DecidedOut:
        self._decisions.show_decided()
        return {"left": self._decisions.n_left}


def _path(uri: str) -> Path:
    path = path_of(uri)
    if path is None:
        raise InvalidParamsError(f"uri: {uri!r} is not the address of a file")
    return path


def _ids(given: list[str]) -> list[int]:
    """Return the ids as numbers. Any other value is an id that no hunk has."""
    return [int(each) if each.isdecimal() and len(each) < 20 else -1 for each in given]
