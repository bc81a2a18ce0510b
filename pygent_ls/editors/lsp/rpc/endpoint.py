"""The JSON-RPC endpoint: pygls' protocol with its decoding, error responses and outgoing requests replaced.

pygls keeps the registry of handlers, runs and cancels them, computes the capabilities, and structures the parameters of
standard methods. Its decoding is not used: its `object_hook` takes any nested object with a `jsonrpc` key for a
message, and turns the parameters of custom methods into named tuples with renamed keys.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from typing import Any, Literal, cast

import attrs
from cattrs import Converter
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
from pygls.protocol import lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.agent.tools.arguments import nests_deeper
from pygent_ls.editors.lsp import method_names as names
from pygent_ls.editors.lsp.capabilities import used_capabilities
from pygent_ls.editors.lsp.rpc.client_requests import ClientRequests, MessageId, request_id_of
from pygent_ls.editors.lsp.rpc.converter import MISFITS, misfit
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame, Message

log = logging.getLogger(__name__)

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
"""Built-in handlers of pygls that the server replaces: pygls' documents split lines at form feeds, which editors do
not, and its `exit` exits inside a callback."""


RETURNED = frozenset({types.CODE_ACTION_RESOLVE, types.CODE_LENS_RESOLVE})
"""Methods that return their own parameters, which are therefore not decoded, so that members added by the client are
returned to it."""

LENIENT = frozenset({types.INITIALIZE, types.INITIALIZED})
"""Methods in which minimal clients leave out required members, or set them to null."""


MAX_NESTING = 100
"""Maximum nesting of lists and objects in a message: far more than any message needs, and far less than exhausts the
interpreter's stack in code that traverses it."""

MAX_ERROR_CHARS = 4_000
"""Maximum length of an error message."""


class RpcEndpoint(ClientRequests):
    """Decodes, validates and routes messages. Each request gets exactly one response, whatever it contains."""

    on_exit: Callable[[int], None]
    """Called with the exit code of `exit`; must be set before the first message."""

    on_initialize: Callable[[types.InitializeParams, types.InitializeResult], None]
    """Completes the result of `initialize`; must be set before the first message."""

    mend: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """Normalises the parameters of a method before they are decoded; must be set before the first message."""

    on_undecodable: Callable[[str, object], None]
    """Called with the method and parameters of an invalid notification, which is dropped; must be set before the first
    message."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.phase: Literal["new", "running", "shutdown"] = "new"
        self._n_clients = 1
        built_in = cast("dict[str, Any]", self.fm.builtin_features)  # pyright: ignore[reportUnknownMemberType]
        for method in REPLACED:
            built_in.pop(method, None)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Let pygls compute the capabilities, then complete them."""
        # without folders, so that pygls opens no workspace of its own, which fails on invalid URIs
        result = yield from super().lsp_initialize(
            attrs.evolve(params, root_uri=None, root_path=None, workspace_folders=None)
        )
        self.on_initialize(params, result)
        self.phase = "running"
        return result

    def get_message_type(  # pyright: ignore[reportIncompatibleVariableOverride] - a method without a cache
        self, method: str
    ) -> type[Any] | None:
        """Return the type of a message, without pygls' cache, which would keep each endpoint alive."""
        if method in RETURNED:
            return None
        return cast("type[Any] | None", types.METHOD_TO_TYPES.get(method, (None,))[0])

    def get_result_type(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, method: str
    ) -> type[Any] | None:
        """Return the type of a result, without a cache."""
        return cast("type[Any] | None", types.METHOD_TO_TYPES.get(method, (None, None))[1])

    # Incoming messages

    def receive(self, given: Message) -> None:
        """Handle one message. This is the only place that catches every exception, because no input may end the
        daemon."""
        message: Any = None
        try:
            message = _decoded(given)
            if nests_deeper(message, MAX_NESTING):
                message = self._without_what_is_too_deep(message)
            self._route(message)
        except JsonRpcException as error:
            self._answer_error(request_id_of(message), error)
        except Exception as error:
            log.error("a message could not be handled: %s", type(error).__name__, exc_info=error)
            self._answer_error(request_id_of(message), JsonRpcInternalError(_described(error)))

    def _without_what_is_too_deep(self, message: dict[str, Any]) -> dict[str, Any]:
        """Replace a response of the client by an error. Raises `JsonRpcInvalidParams` for any other message."""
        problem = f"it is nested deeper than {MAX_NESTING}"
        if "method" in message:
            raise JsonRpcInvalidParams(problem)
        return {"id": message.get("id"), "error": {"message": problem}}

    def _route(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self.take_answer(message)
            return
        method = message["method"]
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("`method` must be a string")
        is_request = "id" in message
        if is_request and request_id_of(message) is None:
            raise JsonRpcInvalidRequest("`id` must be a number or a string")
        if method == types.EXIT:
            self.on_exit(0 if self.phase == "shutdown" else 1)
        elif self._is_out_of_phase(method):
            if is_request:
                raise self._out_of_phase_error(method)
        elif self._is_for_a_handler(method, is_request=is_request):
            if method == types.SHUTDOWN:
                self.phase = "shutdown"
                message = {**message, "params": None}  # some clients send an empty object or list
            self.handle_message(self._structured(message, is_request=is_request))

    def _is_for_a_handler(self, method: str, *, is_request: bool) -> bool:
        """Whether a handler must run; False for unknown notifications. Raises for unknown requests, and for a request
        sent as a notification or the reverse."""
        if not self._is_known(method):
            if is_request:
                raise JsonRpcMethodNotFound.of(method)
            return False
        message_type: Any = self.get_message_type(method)
        needs_id = hasattr(message_type, "id") if message_type else method in names.METHODS or method in RETURNED
        if needs_id and not is_request:
            raise JsonRpcInvalidRequest(f"{method} is a request and requires an `id`")
        if is_request and not needs_id:
            raise JsonRpcInvalidRequest(f"{method} is a notification and must not have an `id`")
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
        if params is not None:
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
        except MISFITS as error:
            if not is_request:
                self.on_undecodable(method, cast("object", params))
            raise JsonRpcInvalidParams(f"invalid parameters of {method}: {misfit(error)}") from None

    # Outgoing messages

    def _send_handler_result(self, future: Future[Any], *, msg_id: MessageId) -> None:
        """Send the response of a finished handler."""
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
        """Run a handler without storing its future: pygls would keep that of each notification for ever."""

        def ended(future: Any) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)

    def _handle_request(self, msg_id: MessageId, method_name: str, params: Any) -> None:
        handler = self._get_handler(method_name)  # its error is answered by `receive`
        asked_by = self._n_clients

        def answer(future: Future[Any]) -> None:
            if self._n_clients == asked_by:
                self._send_handler_result(future, msg_id=msg_id)

        self._execute_handler(msg_id=msg_id, handler=handler, args=(params,), callback=answer)

    def _handle_cancel_notification(self, msg_id: MessageId) -> None:
        """Cancel a request after it has begun. A request that arrives together with its cancellation begins first, so
        that it can send its events."""
        asyncio.get_running_loop().call_soon(super()._handle_cancel_notification, msg_id)

    def _check_handler_result(self, future: Future[Any]) -> None:
        """Log the error of a notification's handler: a notification has no response."""
        error = None if future.cancelled() else future.exception()
        if error is not None:
            log.error("a notification could not be handled: %s", type(error).__name__, exc_info=error)

    def _answer_error(self, msg_id: MessageId | None, error: JsonRpcException) -> None:
        said = error.message
        if len(said) > MAX_ERROR_CHARS:
            said = f"{said[:MAX_ERROR_CHARS]}…"
        body: dict[str, Any] = {"code": error.code, "message": said}
        if error.data is not None:
            body["data"] = error.data
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": body})

    def lose_client(self) -> None:
        """Note that the client disconnected and may come back: its requests continue, but their responses are
        discarded."""
        self._n_clients += 1
        self._request_futures.clear()
        self.go_away()

    def take_client(self) -> None:
        """Accept the client that replaces a lost one. It is answered at once, but receives no requests before
        `come_back`."""
        self.phase = "new"
        self._is_connected = True

    async def end_requests(self, patience_s: float) -> None:
        """Wait up to `patience_s` for running requests; then cancel them, and wait again."""
        for cancel in (False, True):
            due = [each for each in self._request_futures.values() if isinstance(each, asyncio.Future)]
            for each in due if cancel else ():
                each.cancel()
            if due:
                await asyncio.wait(due, timeout=patience_s)


def _completed(params: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in params.items() if value is not None}
    client = given.get("clientInfo")
    if not (isinstance(client, dict) and isinstance(cast("dict[str, Any]", client).get("name"), str)):
        given.pop("clientInfo", None)
    return {**given, "capabilities": used_capabilities(given.get("capabilities", {}))}


def _decoded(given: Message) -> dict[str, Any]:
    if isinstance(given, BrokenFrame):
        raise JsonRpcParseError(given.problem)
    try:
        message: Any = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(f"the body is not JSON: {error}") from None
    if isinstance(message, list):
        raise JsonRpcInvalidRequest("the language server protocol has no batches; send messages one by one")
    if not isinstance(message, dict):
        raise JsonRpcInvalidRequest("a message must be a JSON object")
    return cast("dict[str, Any]", message)


def _described(error: BaseException) -> str:
    problem = limit_reached(error) or f"internal error: {type(error).__name__}."
    return f"{problem} The daemon continues to run; see its log for details."
