"""The JSON-RPC endpoint: it decodes messages, runs the handlers of their methods, and answers requests."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.agent.tools.arguments import nests_deeper
from pygent_ls.editors.lsp.rpc.client_requests import ClientRequests, MessageId, request_id_of
from pygent_ls.editors.lsp.rpc.converter import structured
from pygent_ls.editors.lsp.rpc.errors import (
    InvalidParamsError,
    InvalidRequestError,
    JsonRpcError,
    MethodNotFoundError,
    NotInitializedError,
    ParseError,
)
from pygent_ls.editors.lsp.standard import CancelParams
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame, Message

log = logging.getLogger(__name__)

REQUEST_CANCELLED = -32800

MAX_NESTING = 100
"""Maximum nesting of lists and objects in a message: far more than any message needs, and far less than exhausts the
interpreter's stack in code that traverses it."""

PACKAGE = f"{Path(__file__).parents[3]}{os.sep}"
"""Folder of our own modules and of the data that they read."""

MAX_ERROR_CHARS = 4_000
"""Maximum length of an error message."""


class Method(Struct, frozen=True):
    """Handler of a method: a function of the parameters, or a coroutine function."""

    handle: Callable[[Any], Any]
    params: type[Struct] | None
    """Type of the parameters; None if the handler gets them as they came, an object in any case."""
    is_request: bool


class RpcEndpoint(ClientRequests):
    """Decodes, validates and routes messages. Each request gets exactly one response, whatever it contains."""

    on_exit: Callable[[int], None]
    """Called with the exit code of `exit`; must be set before the first message."""

    mend: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """Normalises the parameters of a method before they are decoded; must be set before the first message."""

    on_undecodable: Callable[[str, object], None]
    """Called with the method and parameters of an invalid notification, which is dropped; must be set before the first
    message."""

    def __init__(self) -> None:
        super().__init__()
        self.phase: Literal["new", "running", "shutdown"] = "new"
        self.methods: dict[str, Method] = {}
        self._running: dict[MessageId, asyncio.Task[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._n_clients = 1
        self.on_notification("$/cancelRequest", self._cancel, CancelParams)

    def on_request(self, method: str, handle: Callable[[Any], Any], params: type[Struct] | None = None) -> None:
        """Register the handler of a request, whose result is the response."""
        self.methods[method] = Method(handle, params, is_request=True)

    def on_notification(self, method: str, handle: Callable[[Any], Any], params: type[Struct] | None = None) -> None:
        """Register the handler of a notification."""
        self.methods[method] = Method(handle, params, is_request=False)

    # Incoming messages

    def receive(self, given: Message) -> None:
        """Handle one message. Every exception is caught, because no input may end the daemon."""
        message: Any = None
        try:
            message = _decoded(given)
            if nests_deeper(message, MAX_NESTING):
                message = self._without_what_is_too_deep(message)
            self._route(message)
        except JsonRpcError as error:
            self._answer_error(request_id_of(message), error)
        except Exception as error:
            if isinstance(message, dict) and not {"id", "method"} <= message.keys():
                _note_failure(error)
            else:
                self._answer_failure(request_id_of(message), error)

    def _without_what_is_too_deep(self, message: dict[str, Any]) -> dict[str, Any]:
        """Replace a response of the client by an error. Raises `InvalidParamsError` for any other message."""
        problem = f"it is nested deeper than {MAX_NESTING}"
        if "method" in message:
            raise InvalidParamsError(problem)
        return {"id": message.get("id"), "error": {"message": problem}}

    def _route(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self.take_answer(message)
            return
        method = message["method"]
        if not isinstance(method, str):
            raise InvalidRequestError("`method` must be a string")
        is_request = "id" in message
        if is_request and request_id_of(message) is None:
            raise InvalidRequestError("`id` must be a number or a string")
        if method == "exit":
            self.on_exit(0 if self.phase == "shutdown" else 1)
        elif self._is_out_of_phase(method):
            if is_request:
                raise self._out_of_phase_error(method)
        elif known := self._known(method, is_request=is_request):
            params = message.get("params")
            if method == "shutdown":
                self.phase = "shutdown"
                params = None  # some clients send an empty object or list
            self._run(known, self._structured(method, known, params), message.get("id"))

    def _is_out_of_phase(self, method: str) -> bool:
        match self.phase:
            case "new":
                return method != "initialize"
            case "running":
                return method == "initialize"
            case "shutdown":
                return True

    def _out_of_phase_error(self, method: str) -> JsonRpcError:
        match self.phase:
            case "new":
                return NotInitializedError(f"{method} came before initialize")
            case "running":
                return InvalidRequestError("initialize was sent twice")
            case "shutdown":
                return InvalidRequestError(f"{method} came after shutdown")

    def _known(self, name: str, *, is_request: bool) -> Method | None:
        """Return the method; None for an unknown notification, which is ignored. Raises for an unknown request, and for
        a request sent as a notification or the reverse."""
        method = self.methods.get(name)
        if method is None:
            if is_request:
                raise MethodNotFoundError(f"Method Not Found: {name}")
            return None
        if method.is_request and not is_request:
            raise InvalidRequestError(f"{name} is a request and requires an `id`")
        if is_request and not method.is_request:
            raise InvalidRequestError(f"{name} is a notification and must not have an `id`")
        return method

    def _structured(self, name: str, method: Method, params: object) -> Any:
        """Return the parameters that the handler takes. Raises `InvalidParamsError`."""
        if params is not None and not isinstance(params, dict):
            raise InvalidParamsError(f"the parameters of {name} must be an object")
        given = self.mend(name, cast("dict[str, Any]", params or {}))
        if method.params is None:
            return given
        try:
            return structured(name, given, method.params)
        except InvalidParamsError:
            if not method.is_request:
                self.on_undecodable(name, cast("object", params))
            raise

    def _run(self, method: Method, params: Any, request_id: MessageId | None) -> None:
        """Run a handler. The error of a request is answered by `receive`, or when its task ends."""
        try:
            result = method.handle(params)
        except JsonRpcError as error:
            if request_id is not None:
                raise
            _note_failure(error)
            return
        if inspect.iscoroutine(result):
            self._await(cast("Coroutine[Any, Any, Any]", result), request_id)
        elif request_id is not None:
            self._send_data({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _await(self, result: Coroutine[Any, Any, Any], request_id: MessageId | None) -> None:
        """Answer a request once its handler has ended, unless its client was replaced meanwhile."""
        task = asyncio.get_running_loop().create_task(result)
        self._tasks.add(task)  # a task without a reference may be collected while it runs
        if request_id is not None:
            self._running[request_id] = task
        asked_by = self._n_clients

        def ended(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            if request_id is None:
                if not task.cancelled() and (error := task.exception()) is not None:
                    _note_failure(error)
                return
            if self._running.get(request_id) is task:
                del self._running[request_id]
            if self._n_clients == asked_by:
                self._answer(request_id, task)

        task.add_done_callback(ended)

    # Outgoing messages

    def _answer(self, request_id: MessageId, task: asyncio.Task[Any]) -> None:
        """Send the response of a handler that has ended."""
        if task.cancelled():
            self._answer_error(request_id, JsonRpcError("the request was cancelled", REQUEST_CANCELLED))
            return
        try:
            self._send_data({"jsonrpc": "2.0", "id": request_id, "result": task.result()})
        except Exception as error:
            self._answer_failure(request_id, error)

    def _answer_failure(self, request_id: MessageId | None, error: BaseException) -> None:
        if isinstance(error, JsonRpcError):
            self._answer_error(request_id, error)
            return
        log.error("a request failed: %s", type(error).__name__, exc_info=error)
        self._answer_error(request_id, JsonRpcError(_described(error)))

    def _cancel(self, params: CancelParams) -> None:
        """Cancel a request after it has begun. A request that arrives together with its cancellation begins first, so
        that it can send its events."""

        def cancel() -> None:
            task = self._running.pop(params.id, None)
            if task is not None:
                task.cancel()

        asyncio.get_running_loop().call_soon(cancel)

    def _answer_error(self, msg_id: MessageId | None, error: JsonRpcError) -> None:
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
        self._running.clear()
        self.go_away()

    def take_client(self) -> None:
        """Accept the client that replaces a lost one. It is answered at once, but receives no requests before
        `come_back`."""
        self.phase = "new"
        self._is_connected = True

    def cancel_others(self) -> None:
        """Cancel every running request but the one that calls this."""
        for each in self._running.values():
            if each is not asyncio.current_task():
                each.cancel()

    async def end_requests(self, patience_s: float) -> None:
        """Wait up to `patience_s` for running handlers; then cancel them, and wait again."""
        for cancel in (False, True):
            due = list(self._tasks)
            for each in due if cancel else ():
                each.cancel()
            if due:
                await asyncio.wait(due, timeout=patience_s)


def _decoded(given: Message) -> dict[str, Any]:
    if isinstance(given, BrokenFrame):
        raise ParseError(given.problem)
    try:
        message: Any = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"the body is not JSON: {error}") from None
    if isinstance(message, list):
        raise InvalidRequestError("the language server protocol has no batches; send messages one by one")
    if not isinstance(message, dict):
        raise InvalidRequestError("a message must be a JSON object")
    return cast("dict[str, Any]", message)


def _note_failure(error: BaseException) -> None:
    """Log the error of a handler whose message has no response."""
    log.error("a notification could not be handled: %s", type(error).__name__, exc_info=error)


def _described(error: BaseException) -> str:
    problem = limit_reached(error) or _removed(error) or f"internal error: {type(error).__name__}."
    return f"{problem} The daemon continues to run; see its log for details."


def _removed(error: BaseException) -> str | None:
    """Return what the daemon needs and somebody has removed, and what to do; None for any other error."""
    is_module = isinstance(error, ImportError) and str(error.name).startswith("pygent_ls.")
    if is_module or (isinstance(error, FileNotFoundError) and str(error.filename).startswith(PACKAGE)):
        return "pygent-ls was upgraded or removed while it ran. Restart it."
    if isinstance(error, FileNotFoundError) and error.filename is None:  # the error of the working directory
        return "No folder is open, and the one that pygent-ls was started in is gone. Open a folder and restart it."
    return None
