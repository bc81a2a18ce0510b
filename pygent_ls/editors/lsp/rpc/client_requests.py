"""Requests and notifications to the client, which may be disconnected for a while."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from pygent_ls.editors.lsp.rpc.errors import InvalidRequestError
from pygent_ls.editors.lsp.standard import MessageType

MessageId = int | str


class Patience(Struct, frozen=True, kw_only=True):
    """Time limits for the client; the numbers are part of the protocol."""

    answer_s: float = 10.0
    """Time limit for the answer to a request that needs no user. Some clients never answer unknown requests."""
    proof_s: float = 2.0
    """Time limit for the change notification of an edit, after the client reported that it applied the edit."""
    edits_per_s: int = 50
    """Text edits that a slow editor applies in one second. For each `edits_per_s` text edits, the limits for an edit
    and its proof are extended by one second. eglot 1.9 applies about 50 in a document of 60,000 lines."""
    ready_s: float = 10.0
    """Time limit for a reconnected client to attach to a session; after that, open requests are sent even if it has not
    attached."""


class ClientError(Exception):
    """The client answered a request with an error, or not at all."""


class _Question(Struct, frozen=True, kw_only=True):
    """A request without an answer."""

    method: str
    params: Mapping[str, Any]
    answer: asyncio.Future[Any]
    of_a_person: bool


class ClientRequests:
    """The daemon's outgoing requests, with their answers, and notifications."""

    write: Callable[[bytes], None]
    """Sends one encoded message; must be set before the first."""

    patience = Patience()

    def __init__(self) -> None:
        self._outgoing: dict[int, _Question] = {}
        self._next_id = itertools.count(1)
        self._is_connected = True
        self._present = asyncio.Event()
        self._present.set()
        self._ready: asyncio.TimerHandle | None = None

    # Connection state

    def go_away(self) -> None:
        """Note that the client disconnected. Requests that the user must answer stay open; all others fail."""
        self._is_connected = False
        self._present.clear()
        if self._ready is not None:  # the next client gets the full time again
            self._ready.cancel()
        for each in list(self._outgoing.values()):
            if not each.of_a_person and not each.answer.done():
                each.answer.set_exception(ClientError(f"the editor disconnected before it answered {each.method}"))

    def expect_back(self) -> None:
        """Note that the client reconnected. It counts as ready when it says so, or after `ready_s`."""
        self._ready = asyncio.get_running_loop().call_later(self.patience.ready_s, self.come_back)

    def come_back(self) -> None:
        """Note that the client is ready: send it every open request that the user must answer."""
        if self._present.is_set() or not self._is_connected:
            return
        self._present.set()
        for request_id, each in list(self._outgoing.items()):
            if each.of_a_person:
                self._send(request_id, each)

    def is_present(self) -> bool:
        """Return whether the client can receive requests."""
        return self._present.is_set()

    async def present(self) -> None:
        """Return when the client can receive requests."""
        await self._present.wait()

    # Requests and notifications

    def _send_data(self, data: Mapping[str, Any]) -> None:
        try:
            body = msgspec.json.encode(data, enc_hook=_builtin)
        except UnicodeEncodeError:  # half a surrogate pair, which only a JSON escape can represent
            body = _with_json_escapes(data)
        self.write(body)

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; it is lost if the client is disconnected."""
        self._send_data({"jsonrpc": "2.0", "method": method, "params": params})

    def show_message(self, message: str, kind: MessageType = MessageType.INFO) -> None:
        """Send `window/showMessage`."""
        self.tell("window/showMessage", {"type": int(kind), "message": message})

    async def ask(
        self, method: str, params: Mapping[str, Any], *, of_a_person: bool = False, longer_s: float = 0.0
    ) -> Any:
        """Send a request and return its raw result. A request `of_a_person` has no time limit; for any other request,
        `longer_s` extends the limit.

        If the client is disconnected, wait until it is back. Raises `ClientError` for an error response, a timeout, and
        a client that disconnects. A cancellation is passed on to the client.
        """
        timeout_s = None if of_a_person else self.patience.answer_s + longer_s
        await self.present()
        request_id, answer = self._send_request(method, params, of_a_person=of_a_person)
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise ClientError(f"the editor did not answer {method} within {timeout_s:g} s") from None
        except asyncio.CancelledError:
            self.tell("$/cancelRequest", {"id": request_id})
            raise
        finally:
            self._outgoing.pop(request_id, None)

    def ask_without_waiting(
        self,
        method: str,
        params: Mapping[str, Any],
        on_answer: Callable[[Any], None],
        *,
        on_failure: Callable[[], None] | None = None,
    ) -> None:
        """Send a request without waiting. `on_answer` receives its result; `on_failure` is called for an error or a
        timeout."""
        request_id, answer = self._send_request(method, params, of_a_person=False)

        def give_up() -> None:
            self._outgoing.pop(request_id, None)
            answer.set_exception(ClientError(f"the editor did not answer {method}"))

        timer = asyncio.get_running_loop().call_later(self.patience.answer_s, give_up)

        def done(future: asyncio.Future[Any]) -> None:
            self._outgoing.pop(request_id, None)
            timer.cancel()
            if future.exception() is None:
                on_answer(future.result())
            elif on_failure is not None:
                on_failure()

        answer.add_done_callback(done)

    def take_answer(self, message: Mapping[str, Any]) -> None:
        """Handle a response of the client. Raises `InvalidRequestError` for any other message.

        A message with the id of an open request is its response, even if it has no result: an error with that id would
        be read as the response to a request of the client.
        """
        request_id = request_id_of(message)
        asked = self._outgoing.pop(request_id, None) if isinstance(request_id, int) else None
        is_response = "result" in message or "error" in message
        if asked is None and not is_response:
            raise InvalidRequestError("neither a method nor a result or an error")
        if asked is None or asked.answer.done():
            return  # the request is no longer open
        error = message.get("error") if is_response else {"message": "the response has neither a result nor an error"}
        if error is not None:
            said = cast("Mapping[str, Any]", error).get("message") if isinstance(error, dict) else error
            asked.answer.set_exception(ClientError(str(said)))
        else:
            asked.answer.set_result(message.get("result"))

    def _send_request(
        self, method: str, params: Mapping[str, Any], *, of_a_person: bool
    ) -> tuple[int, asyncio.Future[Any]]:
        request_id = next(self._next_id)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        asked = _Question(method=method, params=params, answer=answer, of_a_person=of_a_person)
        self._outgoing[request_id] = asked
        self._send(request_id, asked)
        return request_id, answer

    def _send(self, request_id: int, asked: _Question) -> None:
        self._send_data({"jsonrpc": "2.0", "id": request_id, "method": asked.method, "params": asked.params})


def _with_json_escapes(data: Mapping[str, Any]) -> bytes:
    """Encode in ASCII. Infinity and NaN, which JSON does not have, become null, as in the faster encoder."""
    try:
        return json.dumps(data, default=_builtin, allow_nan=False).encode()
    except ValueError:
        written = json.dumps(data, default=_builtin)
        return json.dumps(json.loads(written, parse_constant=lambda _: None)).encode()


def _builtin(value: object) -> object:
    """Convert a value to a built-in type that JSON has. Raises `TypeError` if it is impossible."""
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return dict(cast("Mapping[object, object]", value))
        case _:
            return msgspec.to_builtins(value)


def request_id_of(message: Any) -> MessageId | None:
    """Return the request id to answer to; None if the message has no valid id."""
    given = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None
