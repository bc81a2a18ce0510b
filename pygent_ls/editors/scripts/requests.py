"""Requests to the program of a stream-json run, each with one answer."""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from pygent_ls.editors.scripts.output_lines import ControlCancelLine, ControlRequestLine

T = TypeVar("T")

GONE = "The program that would answer has closed the connection."


class OpenRequests(Generic[T], Struct, kw_only=True):
    """Control requests that wait for an answer."""

    write: Callable[[ControlRequestLine | ControlCancelLine], None]
    new_id: Callable[[], str]
    is_closed: bool = False
    _open: dict[str, Future[T | str]] = field(default_factory=dict[str, "Future[T | str]"])

    async def ask(self, request: Mapping[str, Any]) -> T | str:
        """Send a request and return its answer, or the reason why no answer came. If the call is cancelled, the program
        is notified."""
        if self.is_closed:
            return GONE
        request_id = self.new_id()
        answer = self._open[request_id] = get_running_loop().create_future()
        self.write({"type": "control_request", "request_id": request_id, "request": request})
        try:
            return await answer
        finally:
            del self._open[request_id]
            if answer.cancelled():
                self.write({"type": "control_cancel_request", "request_id": request_id})

    def has(self, request_id: str) -> bool:
        """Whether the request waits for its answer."""
        question = self._open.get(request_id)
        return question is not None and not question.done()

    def take(self, request_id: str, answer: T) -> bool:
        """Take an answer; False if no such request is open."""
        if not self.has(request_id):
            return False
        self._open[request_id].set_result(answer)
        return True

    def refuse(self, request_id: str, problem: str) -> None:
        """Resolve a request whose answer is invalid."""
        if self.has(request_id):
            self._open[request_id].set_result(f"The answer could not be understood: {problem}")

    def close(self) -> None:
        """Answer all current and later requests with `GONE`."""
        self.is_closed = True
        for each in self._open.values():
            if not each.done():
                each.set_result(GONE)
