"""Errors that a request is answered with."""

from __future__ import annotations

from typing import Any


class JsonRpcError(Exception):
    """Error response: `message`, `code` and, if there is more to say, `data`."""

    CODE = -32603

    def __init__(self, message: str, code: int | None = None, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.CODE if code is None else code
        self.data = data


class ParseError(JsonRpcError):
    """The message is not JSON."""

    CODE = -32700


class InvalidRequestError(JsonRpcError):
    """The message is not a request, or cannot be sent now."""

    CODE = -32600


class MethodNotFoundError(JsonRpcError):
    """The method is unknown."""

    CODE = -32601


class InvalidParamsError(JsonRpcError):
    """The parameters are not those of the method."""

    CODE = -32602


class NotInitializedError(JsonRpcError):
    """The request came before `initialize`."""

    CODE = -32002
