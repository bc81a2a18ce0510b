"""Parser of saved session files. Pure; imported on demand, since pydantic loads slowly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    RejectedFile,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from pygent_ls.agent.tools.arguments import nests_deeper
from pygent_ls.errors import SessionError
from pygent_ls.sessions.saved_format.writer import VERSION, SavedSession

MAX_PROBLEMS = 3
"""Maximum number of problems that an error lists."""

MAX_NESTING = 100
"""Maximum nesting of lists and objects: more than any saved session has, and less than what overflows the interpreter's
stack in code that walks through them."""

MAX_QUOTED_CHARS = 200
"""Maximum length of file content quoted in an error."""

_LENIENT = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)
_CAMEL = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, alias_generator=to_camel)


class _SavedText(BaseModel):
    model_config = _CAMEL
    type: Literal["text"]
    text: str
    from_outside: bool = False


class _RejectedFile(BaseModel):
    model_config = _CAMEL
    uri: str
    rejected: int = Field(ge=1)


class _Review(BaseModel):
    model_config = _CAMEL
    type: Literal["review"]
    text: str
    files: list[_RejectedFile] = Field(min_length=1)


class _Thinking(BaseModel):
    model_config = _CAMEL
    type: Literal["thinking"]
    thinking: str
    signature: str | None = None
    redacted: str | None = None
    model: str = ""
    family: str = ""
    provider_data: dict[str, Any] | None = None


class _SavedImage(BaseModel):
    model_config = _CAMEL
    type: Literal["image"]
    mime_type: str
    data: str


class _ToolUse(BaseModel):
    model_config = _CAMEL
    type: Literal["tool_use"]
    id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    input: dict[str, Any]
    problem: str | None = None
    family: str = ""
    provider_data: dict[str, Any] | None = None


class _ToolResult(BaseModel):
    model_config = _CAMEL
    type: Literal["tool_result"]
    tool_use_id: str
    content: str
    is_error: bool = False
    from_outside: bool = True


_AnyBlock = Annotated[
    _SavedText | _Review | _Thinking | _SavedImage | _ToolUse | _ToolResult, Field(discriminator="type")
]

_BLOCK: TypeAdapter[_SavedText | _Review | _Thinking | _SavedImage | _ToolUse | _ToolResult] = TypeAdapter(_AnyBlock)


class _SavedMessage(BaseModel):
    model_config = _CAMEL
    role: Role
    content: str | list[_AnyBlock]
    turn_id: str = ""
    timestamp: datetime


class _Metadata(BaseModel):
    model_config = _LENIENT
    tokens_used: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class _SavedFile(BaseModel):
    model_config = _LENIENT
    version: Literal[1]
    id: str
    name: str
    created: datetime
    updated: datetime
    working_directory: str = ""
    agent: str = ""
    model: str = ""
    messages: list[_SavedMessage]
    metadata: _Metadata = _Metadata()


def read_saved(text: str, file: str) -> SavedSession:
    """Return the session in a file's text. Raises `SessionError` (`invalid_file`) with the problem and its place."""
    try:
        given: Any = json.loads(text)
    except ValueError as error:
        raise _invalid(file, f"it is not JSON ({error})") from None
    except RecursionError:
        raise _invalid(file, "it is nested too deeply") from None
    if nests_deeper(given, MAX_NESTING):
        raise _invalid(file, f"it is nested deeper than {MAX_NESTING}")
    if not isinstance(given, Mapping):
        raise _invalid(file, "it is not a JSON object")
    version = cast("Mapping[str, object]", given).get("version")
    if version != VERSION:
        raise _invalid(file, f"its `version` is {_cut(repr(version))}, but this program reads {VERSION}")
    try:
        found = _SavedFile.model_validate(given)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False)
        ]
        more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
        raise _invalid(file, "; ".join([*map(_cut, problems[:MAX_PROBLEMS]), *more])) from None
    try:
        json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise _invalid(file, "it contains half of a character (a surrogate)") from None
    except ValueError:
        raise _invalid(file, "it contains a number that is not finite") from None
    messages = tuple(_message(each) for each in found.messages)
    for problem in _unpaired(messages):
        raise _invalid(file, problem)
    return SavedSession(
        id=found.id,
        name=found.name,
        created=_utc(found.created),
        updated=_utc(found.updated),
        working_directory=found.working_directory,
        agent=found.agent,
        model=found.model,
        messages=messages,
        usage=Usage(input_tokens=found.metadata.tokens_used, cost_usd=found.metadata.cost_usd),
    )


def _invalid(file: str, problem: str) -> SessionError:
    return SessionError(f"{file} is not a saved session: {problem}.", kind="invalid_file")


def _cut(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}…"


def _named(ids: Sequence[str]) -> str:
    return _cut(", ".join(ids) or "none")


def _utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:  # in the first or the last hours of the supported range
        return moment.replace(tzinfo=UTC)


def message_from(given: object) -> Message:
    """Return a message written by `message_out`. Raises ValueError for an invalid one."""
    return _message(_SavedMessage.model_validate(given))


def block_from(given: object) -> Block:
    """Return a block written by `block_out`. Raises ValueError for an invalid one."""
    return _block(_BLOCK.validate_python(given))


def _message(given: _SavedMessage) -> Message:
    content = given.content if isinstance(given.content, str) else tuple(_block(each) for each in given.content)
    return Message(role=given.role, content=content, turn_id=given.turn_id, timestamp=_utc(given.timestamp))


def _block(given: _SavedText | _Review | _Thinking | _SavedImage | _ToolUse | _ToolResult) -> Block:
    match given:
        case _SavedText():
            return TextBlock(text=given.text, from_outside=given.from_outside)
        case _Review():
            files = tuple(RejectedFile(uri=each.uri, n_changes=each.rejected) for each in given.files)
            return TextBlock(text=given.text, rejected=files)
        case _Thinking():
            return ThinkingBlock(
                thinking=given.thinking,
                signature=given.signature,
                redacted=given.redacted,
                model=given.model,
                family=given.family,
                provider_data=given.provider_data,
            )
        case _SavedImage():
            return ImageBlock(mime_type=given.mime_type, data=given.data)
        case _ToolUse():
            return ToolUseBlock(
                id=given.id,
                name=given.name,
                input=given.input,
                problem=given.problem,
                family=given.family,
                provider_data=given.provider_data,
            )
        case _ToolResult():
            return ToolResultBlock(
                tool_use_id=given.tool_use_id,
                content=given.content,
                is_error=given.is_error,
                from_outside=given.from_outside,
            )


def _unpaired(messages: Sequence[Message]) -> Iterator[str]:
    """Yield what providers would refuse: the message after tool calls must have exactly one result for each."""
    seen: set[str] = set()
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        where = f"messages.{place}"
        results = [each.tool_use_id for each in message.blocks if isinstance(each, ToolResultBlock)]
        calls = [each.id for each in message.tool_calls]
        if message.role == "assistant" and results:
            yield f"{where}: only a message of the user may contain a tool result"
        if message.role == "user" and calls:
            yield f"{where}: only a message of the assistant may contain a tool call"
        if sorted(results) != sorted(open_calls):
            yield (
                f"{where}: it answers the tool calls {_named(results)}, but the preceding calls are "
                f"{_named(open_calls)}"
            )
        if len(set(calls)) < len(calls) or seen & set(calls):
            yield f"{where}: the id of a tool call is not unique"
        seen.update(calls)
        open_calls = calls
    if open_calls:
        yield f"the tool calls {_named(open_calls)} at its end have no results"
