"""Parsing of standard input, line by line: prompts, requests and answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, cast

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pygent_ls.agent.context.attachments import PromptPart
from pygent_ls.agent.context.images import picture_from_base64
from pygent_ls.errors import PygentError, ToolError

Model = TypeVar("Model", bound=BaseModel)

IGNORED = frozenset({"keep_alive", "control_cancel_request"})
"""Line types that programs for Claude Code send and that are ignored."""


class BadLineError(PygentError):
    """A line that cannot be parsed."""

    def __init__(self, message: str, request_id: str = "", *, answer_to: str = "") -> None:
        super().__init__(message)
        self.request_id = request_id
        """Id of the request, which is answered with the error; empty for any other line."""
        self.answer_to = answer_to
        """Id of the daemon's request that the line answers; empty for any other line."""


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt for a turn."""

    parts: tuple[PromptPart, ...]


class Response(Struct, frozen=True, kw_only=True):
    """The program's answer to a request of the daemon, not yet interpreted."""

    request_id: str
    body: Mapping[str, Any]
    error: str | None = None
    """Text of an answer of the subtype `error`; None for any other answer."""


class ToolPermissionResponse(Struct, frozen=True, kw_only=True):
    """An answer to `can_use_tool`."""

    allows: bool
    input: Mapping[str, Any] | None = None
    """Input with which an allowed call runs; None keeps its own."""
    message: str = ""
    """Text for the model."""
    interrupts: bool = False
    """Whether a denied call ends the turn."""
    rules: tuple[str, ...] = ()
    """Rules to add."""
    are_kept: bool = False
    """Whether the rules are also stored for later sessions."""
    mode: str | None = None
    """Permission mode to set; None keeps the current one."""


class _In(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class Initialize(_In):
    """First request of programs for Claude Code: registers hooks and agents, and returns commands, agents and
    models."""

    subtype: Literal["initialize"]
    hooks: Mapping[str, Any] | None = None
    sdkMcpServers: list[Any] | None = None  # noqa: N815
    agents: Mapping[str, Any] | None = None


class Interrupt(_In):
    """Cancel the running turn."""

    subtype: Literal["interrupt"]


class SetMode(_In):
    """Set the permission mode from the next check on."""

    subtype: Literal["set_permission_mode"]
    mode: str


class SetModel(_In):
    """Set the model from the next call on; None and `default` select the model that the run began with."""

    subtype: Literal["set_model"]
    model: str | None = None


class SetThinking(_In):
    """Set the number of thinking tokens; None uses the settings."""

    subtype: Literal["set_max_thinking_tokens"]
    max_thinking_tokens: Annotated[int, Field(ge=0)] | None = None


Request = Initialize | Interrupt | SetMode | SetModel | SetThinking

_REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="subtype")])
SUBTYPES = ("initialize", "interrupt", "set_permission_mode", "set_model", "set_max_thinking_tokens")


class ControlRequest(Struct, frozen=True, kw_only=True):
    """A request of the program, which gets one answer."""

    request_id: str
    request: Request


Incoming = Prompt | ControlRequest | Response


class _TextInput(_In):
    type: Literal["text"]
    text: str


class _Source(_In):
    type: Literal["base64"]
    data: str


class _ImageInput(_In):
    type: Literal["image"]
    source: _Source


class _MessageInput(_In):
    role: Literal["user"] = "user"
    content: str | list[Annotated[_TextInput | _ImageInput, Field(discriminator="type")]]


class _User(_In):
    message: _MessageInput


class _Rule(_In):
    toolName: str  # noqa: N815
    ruleContent: str | None = None  # noqa: N815


class _AddRules(_In):
    type: Literal["addRules"]
    behavior: Literal["allow"] = "allow"
    rules: list[_Rule] = []
    destination: str = "session"


class _SetMode(_In):
    type: Literal["setMode"]
    mode: str


class _Decision(_In):
    behavior: Literal["allow", "deny"]
    updatedInput: Mapping[str, Any] | None = None  # noqa: N815
    updated_input: Mapping[str, Any] | None = None
    updatedPermissions: list[Annotated[_AddRules | _SetMode, Field(discriminator="type")]] | None = None  # noqa: N815
    message: str = ""
    interrupt: bool = False


def read(line: str) -> Incoming | None:
    """Parse a line; None if it needs no action. Raises `BadLineError`."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLineError("it is not JSON") from None
    if not isinstance(given, dict):
        raise BadLineError("it is not a JSON object")
    content = cast("dict[str, Any]", given)
    match content.get("type"):
        case "user":
            return _prompt(content)
        case "control_request":
            return _asked(content)
        case "control_response":
            return _response(content)
        case str() as kind if kind in IGNORED:
            return None
        case other:
            kinds = "user, control_request and control_response"
            raise BadLineError(f"its type is {_shown(other)}; it must be one of {kinds}")


def _prompt(content: dict[str, Any]) -> Prompt:
    message = _checked(_User, content).message.content
    if isinstance(message, str):
        parts: list[PromptPart] = [message]
    else:
        parts = [_part(each, number) for number, each in enumerate(message, 1)]
    if not any(not isinstance(each, str) or each.strip() for each in parts):
        raise BadLineError("message.content: the prompt is empty")
    return Prompt(parts=tuple(parts))


def _part(block: _TextInput | _ImageInput, number: int) -> PromptPart:
    if isinstance(block, _TextInput):
        return block.text
    try:
        return picture_from_base64(block.source.data, f"message.content.{number}")
    except ToolError as error:
        raise BadLineError(str(error)) from None


def _asked(content: dict[str, Any]) -> ControlRequest:
    request_id = content.get("request_id")
    if not isinstance(request_id, str) or not request_id:
        raise BadLineError("request_id: a control request requires a string")
    request: object = content.get("request")
    subtype = cast("dict[str, Any]", request).get("subtype") if isinstance(request, dict) else None
    if subtype not in SUBTYPES:
        known = ", ".join(SUBTYPES)
        raise BadLineError(f"request.subtype: {_shown(subtype)} must be one of {known}", request_id)
    try:
        return ControlRequest(request_id=request_id, request=_REQUEST.validate_python(request))
    except ValidationError as error:
        raise BadLineError(words_of(error, "request"), request_id) from None


def _response(content: dict[str, Any]) -> Response:
    """Return an answer whose fields may be nested or at the top level."""
    outer = content.get("response")
    response = cast("dict[str, Any]", outer) if isinstance(outer, dict) else content
    request_id = response.get("request_id") or content.get("request_id")
    if not isinstance(request_id, str):
        raise BadLineError("response.request_id: an answer requires the id of its request")
    if response.get("subtype") == "error":
        return Response(request_id=request_id, body={}, error=str(response.get("error") or ""))
    inner = response.get("response")
    return Response(request_id=request_id, body=cast("dict[str, Any]", inner) if isinstance(inner, dict) else response)


def answer_of(response: Response) -> ToolPermissionResponse:
    """Return the content of an answer to `can_use_tool`. Raises `BadLineError`."""
    if response.error is not None:
        return ToolPermissionResponse(allows=False, message=response.error)
    said = _checked(_Decision, response.body, "response.response", answer_to=response.request_id)
    updates = said.updatedPermissions or []
    adding = [each for each in updates if isinstance(each, _AddRules)]
    return ToolPermissionResponse(
        allows=said.behavior == "allow",
        input=said.updatedInput if said.updatedInput is not None else said.updated_input,
        message=said.message,
        interrupts=said.interrupt,
        rules=tuple(_rule(rule) for update in adding for rule in update.rules),
        are_kept=any(each.destination != "session" for each in adding),
        mode=next((each.mode for each in updates if isinstance(each, _SetMode)), None),
    )


def _rule(rule: _Rule) -> str:
    return rule.toolName if rule.ruleContent is None else f"{rule.toolName}({rule.ruleContent})"


def _checked(kind: type[Model], content: Mapping[str, Any], above: str = "", answer_to: str = "") -> Model:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise BadLineError(words_of(error, above), answer_to=answer_to) from None


def words_of(error: ValidationError, above: str = "") -> str:
    """Return the first validation error, with its location."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(each) for each in (above, *first["loc"]) if each != "")
    return f"{place}: {first['msg']}"


def _shown(value: object) -> str:
    return repr(value)[:80]
