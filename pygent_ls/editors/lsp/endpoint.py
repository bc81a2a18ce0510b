"""The JSON-RPC endpoint: pygls' protocol with its decoding, its answers to errors and its outgoing requests replaced.

pygls keeps the registry of handlers, runs them, cancels them, computes the capabilities and structures the parameters
of standard methods. It does not decode: its `object_hook` takes any nested object with a `jsonrpc` key for a message,
and turns the parameters of custom methods into named tuples with renamed keys.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, cast

import attrs
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from pygent_ls.editors.lsp import names
from pygent_ls.editors.lsp.features import used_capabilities
from pygent_ls.editors.lsp.stdio import BrokenFrame

log = logging.getLogger(__name__)

MessageId = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the client may take; the numbers are the protocol's."""

    answer_s: float = 10.0
    """To answer a request that no person answers; some clients never answer what they do not know."""
    proof_s: float = 2.0
    """To tell of an edit after it said that it made it."""


REPLACED = (
    types.SHUTDOWN,
    types.EXIT,
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
)
"""What pygls does by itself and the server does in its own way: pygls' documents split lines at form feeds, where
editors do not, and its `exit` leaves from inside a callback."""


LENIENT = frozenset({types.INITIALIZE, types.INITIALIZED})
"""Minimal clients leave out of these what they have nothing to say of, or say null."""


class ClientError(Exception):
    """The client answered a request with an error, or not at all."""


class Endpoint(LanguageServerProtocol):
    """Decodes, checks and routes messages; each request gets exactly one response, whatever it holds."""

    write: Callable[[bytes], None]
    """Sends one encoded message; set before the first."""

    on_exit: Callable[[int], None]
    """Told the exit code that `exit` asks for; set before the first message."""

    on_initialize: Callable[[types.InitializeParams, types.InitializeResult], None]
    """Completes the result of `initialize`; set before the first message."""

    mend: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """Completes the parameters of notifications, by their method, before they are decoded; set likewise."""

    on_undecodable: Callable[[str, object], None]
    """Told the method and the parameters of a notification that is dropped because it is wrong; set likewise."""

    patience = Patience()

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.phase: Literal["new", "running", "shutdown"] = "new"
        self._outgoing: dict[int, asyncio.Future[Any]] = {}
        self._next_id = itertools.count(1)
        built_in = cast("dict[str, Any]", self.fm.builtin_features)  # pyright: ignore[reportUnknownMemberType]
        for method in REPLACED:
            built_in.pop(method, None)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Let pygls compute the capabilities, then complete them."""
        # pygls would open a workspace of its own there, and fails on URIs that are none
        result = yield from super().lsp_initialize(
            attrs.evolve(params, root_uri=None, root_path=None, workspace_folders=None)
        )
        self.on_initialize(params, result)
        self.phase = "running"
        return result

    def get_message_type(  # pyright: ignore[reportIncompatibleVariableOverride] - it is no cache here
        self, method: str
    ) -> type[Any] | None:
        """As in pygls, whose cache would keep each endpoint."""
        return cast("type[Any] | None", types.METHOD_TO_TYPES.get(method, (None,))[0])

    def get_result_type(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, method: str
    ) -> type[Any] | None:
        """Likewise."""
        return cast("type[Any] | None", types.METHOD_TO_TYPES.get(method, (None, None))[1])

    # Coming in

    def receive(self, frame: bytes | BrokenFrame) -> None:
        """Handle one frame; the only place that catches everything, since no input may end the daemon."""
        message: Any = None
        try:
            message = _decoded(frame)
            self._route(message)
        except JsonRpcException as error:
            self._answer_error(_request_id(message), error)
        except Exception as error:
            log.error("a message could not be handled: %s", type(error).__name__, exc_info=error)
            self._answer_error(_request_id(message), JsonRpcInternalError(_described(error)))

    def _route(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._take_answer(message)
            return
        method = message["method"]
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("`method` must be a string")
        is_request = "id" in message
        if is_request and _request_id(message) is None:
            raise JsonRpcInvalidRequest("`id` must be a number or a string")
        if method == types.EXIT:
            self.on_exit(0 if self.phase == "shutdown" else 1)
        elif self._is_out_of_phase(method):
            if is_request:
                raise self._out_of_phase_error(method)
        elif self._is_for_a_handler(method, is_request=is_request):
            if method == types.SHUTDOWN:
                self.phase = "shutdown"
                message = {**message, "params": None}  # clients send an empty object or list, too
            self.handle_message(self._structured(message, is_request=is_request))

    def _is_for_a_handler(self, method: str, *, is_request: bool) -> bool:
        """False for notifications that nobody handles. Raises for requests of that kind, and for what is the other."""
        if not self._is_known(method):
            if is_request:
                raise JsonRpcMethodNotFound.of(method)
            return False
        message_type: Any = self.get_message_type(method)
        needs_id = hasattr(message_type, "id") if message_type else method in names.METHODS
        if needs_id and not is_request:
            raise JsonRpcInvalidRequest(f"{method} is a request: it needs an `id`")
        if is_request and not needs_id:
            raise JsonRpcInvalidRequest(f"{method} is a notification: it has no `id`")
        return True

    def _is_known(self, method: str) -> bool:
        registry: Any = self.fm
        return method in registry.builtin_features or method in registry.features or method == types.CANCEL_REQUEST

    def _is_out_of_phase(self, method: str) -> bool:
        match self.phase:
            case "new":
                return method != types.INITIALIZE
            case "running":
                return method == types.INITIALIZE
            case "shutdown":
                return True

    def _out_of_phase_error(self, method: str) -> JsonRpcException:
        match self.phase:
            case "new":
                return JsonRpcServerNotInitialized(f"{method} came before initialize")
            case "running":
                return JsonRpcInvalidRequest("initialize was sent twice")
            case "shutdown":
                return JsonRpcInvalidRequest(f"{method} came after shutdown")

    def _structured(self, message: dict[str, Any], *, is_request: bool) -> Any:
        method, params = message["method"], message.get("params")
        if params is not None and not isinstance(params, dict):
            raise JsonRpcInvalidParams(f"the parameters of {method} must be an object")
        if params is not None and not is_request:
            message = {**message, "params": self.mend(method, cast("dict[str, Any]", params))}
        message_type: Any = self.get_message_type(method)
        if method in LENIENT:
            message = {**message, "params": _completed(cast("dict[str, Any]", params or {}))}
        if message_type is None:
            if is_request:
                return JsonRPCRequestMessage(id=message["id"], method=method, jsonrpc="2.0", params=params or {})
            return JsonRPCNotification(method=method, jsonrpc="2.0", params=params or {})
        try:
            return self._converter.structure({**message, "jsonrpc": "2.0"}, message_type)
        except (BaseValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
            if not is_request:
                self.on_undecodable(method, cast("object", params))
            raise JsonRpcInvalidParams(f"the parameters of {method} are wrong: {_problems(error)}") from None

    def _take_answer(self, message: dict[str, Any]) -> None:
        if "result" not in message and "error" not in message:
            raise JsonRpcInvalidRequest("neither a method nor a result or an error")
        request_id = _request_id(message)
        answer = self._outgoing.pop(request_id, None) if isinstance(request_id, int) else None
        if answer is None or answer.done():
            return  # the answer to a question that is no longer asked
        error = message.get("error")
        if error is not None:
            said = cast("Mapping[str, Any]", error).get("message") if isinstance(error, dict) else error
            answer.set_exception(ClientError(str(said)))
        else:
            answer.set_result(message.get("result"))

    # Going out

    def _send_data(self, data: Any) -> None:
        text = json.dumps(data, default=self._serialize_message, ensure_ascii=False)
        try:
            body = text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: only JSON's own escapes can carry it
            body = json.dumps(data, default=self._serialize_message).encode()
        self.write(body)

    def _send_handler_result(self, future: Future[Any], *, msg_id: MessageId) -> None:
        """Answer a request whose handler has ended."""
        if future.cancelled():
            self._answer_error(msg_id, JsonRpcException("the request was cancelled", code=-32800))
            return
        error = future.exception()
        if error is None:
            self._send_response(msg_id, result=future.result())
        elif isinstance(error, JsonRpcException):
            self._answer_error(msg_id, error)
        else:
            log.error("a request failed: %s", type(error).__name__, exc_info=error)
            self._answer_error(msg_id, JsonRpcInternalError(_described(error)))

    def _execute_handler(
        self,
        msg_id: MessageId,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run a handler, and keep nothing of it: pygls would keep the future of each notification for ever."""

        def ended(future: Any) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)

    def _handle_request(self, msg_id: MessageId, method_name: str, params: Any) -> None:
        handler = self._get_handler(method_name)  # raises the error that `receive` answers

        def answer(future: Future[Any]) -> None:
            self._send_handler_result(future, msg_id=msg_id)

        self._execute_handler(msg_id=msg_id, handler=handler, args=(params,), callback=answer)

    def _handle_cancel_notification(self, msg_id: MessageId) -> None:
        """Cancel a request that has begun: one that comes together with its cancel begins first, so that what it
        has to say of itself is said."""
        asyncio.get_running_loop().call_soon(super()._handle_cancel_notification, msg_id)

    def _check_handler_result(self, future: Future[Any]) -> None:
        """A notification's handler has ended; what went wrong is for the log, since nobody waits for an answer."""
        error = None if future.cancelled() else future.exception()
        if error is not None:
            log.error("a notification could not be handled: %s", type(error).__name__, exc_info=error)

    def _answer_error(self, msg_id: MessageId | None, error: JsonRpcException) -> None:
        body: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not None:
            body["data"] = error.data
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": body})

    async def end_requests(self, patience_s: float) -> None:
        """The client goes: wait so long for the answers that are due, then cancel what they wait for, and once more."""
        for cancel in (False, True):
            due = [each for each in self._request_futures.values() if isinstance(each, asyncio.Future)]
            for each in due if cancel else ():
                each.cancel()
            if due:
                await asyncio.wait(due, timeout=patience_s)

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._send_data({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Mapping[str, Any], *, of_a_person: bool = False) -> Any:
        """Send a request and return its raw result. What is asked `of_a_person` may take any time.

        Raises `ClientError` for an error, or for no answer in time. A cancel is passed on to the client.
        """
        timeout_s = None if of_a_person else self.patience.answer_s
        request_id, answer = self._send_request(method, params)
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise ClientError(f"the editor did not answer {method} within {timeout_s:g} s") from None
        except asyncio.CancelledError:
            self.tell(types.CANCEL_REQUEST, {"id": request_id})
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
        """Send a request whose result is passed on when it comes; `on_failure` is for an error, or none in time."""
        request_id, answer = self._send_request(method, params)

        def give_up() -> None:
            self._outgoing.pop(request_id, None)
            answer.set_exception(ClientError(f"the editor did not answer {method}"))

        timer = asyncio.get_running_loop().call_later(self.patience.answer_s, give_up)

        def done(future: asyncio.Future[Any]) -> None:
            timer.cancel()
            if future.exception() is None:
                on_answer(future.result())
            elif on_failure is not None:
                on_failure()

        answer.add_done_callback(done)

    def _send_request(self, method: str, params: Mapping[str, Any]) -> tuple[int, asyncio.Future[Any]]:
        request_id = next(self._next_id)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._outgoing[request_id] = answer
        self._send_data({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id, answer


def _completed(params: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in params.items() if value is not None}
    return {**given, "capabilities": used_capabilities(given.get("capabilities", {}))}


def _decoded(frame: bytes | BrokenFrame) -> dict[str, Any]:
    if isinstance(frame, BrokenFrame):
        raise JsonRpcParseError(frame.problem)
    try:
        message: Any = json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(f"the body is not JSON: {error}") from None
    if isinstance(message, list):
        raise JsonRpcInvalidRequest("batches are not part of the language server protocol; send messages one by one")
    if not isinstance(message, dict):
        raise JsonRpcInvalidRequest("a message must be a JSON object")
    return cast("dict[str, Any]", message)


def _request_id(message: Any) -> MessageId | None:
    """The id to answer to: None where there is none that could be one."""
    given = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None


def _described(error: BaseException) -> str:
    return f"internal error: {type(error).__name__}. The daemon goes on; its log has more."


def _problems(error: BaseException) -> str:
    if isinstance(error, BaseValidationError):
        return "; ".join(transform_error(error))
    return str(error)
