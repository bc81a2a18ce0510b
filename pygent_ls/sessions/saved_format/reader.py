"""Parser of saved session files. Pure."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import UnionType
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta

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

T = TypeVar("T")

MAX_NESTING = 100
"""Maximum nesting of lists and objects: more than any saved session has, and less than what overflows the interpreter's
stack in code that walks through them."""

MAX_QUOTED_CHARS = 200
"""Maximum length of file content quoted in an error."""


class _Camel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Object whose keys are in camel case. Unknown keys are ignored."""


class _SavedText(_Camel, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str
    from_outside: bool = False


class _RejectedFile(_Camel, frozen=True, kw_only=True):
    uri: str
    rejected: Annotated[int, Meta(ge=1)]


class _Review(_Camel, frozen=True, kw_only=True, tag_field="type", tag="review"):
    text: str
    files: Annotated[list[_RejectedFile], Meta(min_length=1)]


class _Thinking(_Camel, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    thinking: str
    signature: str | None = None
    redacted: str | None = None
    model: str = ""
    family: str = ""
    provider_data: dict[str, Any] | None = None


class _SavedImage(_Camel, frozen=True, kw_only=True, tag_field="type", tag="image"):
    mime_type: str
    data: str


class _ToolUse(_Camel, frozen=True, kw_only=True, tag_field="type", tag="tool_use"):
    id: Annotated[str, Meta(min_length=1)]
    name: Annotated[str, Meta(min_length=1)]
    input: dict[str, Any]
    problem: str | None = None
    family: str = ""
    provider_data: dict[str, Any] | None = None


class _ToolResult(_Camel, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: str
    is_error: bool = False
    from_outside: bool = True


_SavedBlock = _SavedText | _Review | _Thinking | _SavedImage | _ToolUse | _ToolResult


class _SavedMessage(_Camel, frozen=True, kw_only=True):
    role: Role
    content: str | list[_SavedBlock]
    turn_id: str = ""
    timestamp: datetime


class _Metadata(msgspec.Struct, frozen=True, kw_only=True):
    tokens_used: Annotated[int, Meta(ge=0)] = 0
    cost_usd: Annotated[float, Meta(ge=0, le=sys.float_info.max)] | None = None


class _SavedFile(msgspec.Struct, frozen=True, kw_only=True):
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
    content = cast("Mapping[str, object]", given)
    version = content.get("version")
    if version != VERSION:
        raise _invalid(file, f"its `version` is {_cut(repr(version))}, but this program reads {VERSION}")
    try:
        found = _converted(content, _SavedFile)
    except ValueError as error:
        raise _invalid(file, _cut(str(error))) from None
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
    return _message(_converted(given, _SavedMessage))


def block_from(given: object) -> Block:
    """Return a block written by `block_out`. Raises ValueError for an invalid one."""
    return _block(_converted(given, _SavedBlock))


def _converted(given: object, kind: type[T] | UnionType) -> T:
    """Return the object with its types. Raises ValueError that names the place of the first problem."""
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(_problem(str(error))) from None


_INDEX = re.compile(r"\[([0-9]++)\]")


def _problem(said: str) -> str:
    """Return what msgspec says of a value as `messages.0.role: problem`."""
    problem, _, place = said.partition(" - at `$")
    place = _INDEX.sub(r".\1", place.removesuffix("`"))
    if problem.startswith("Object missing required field"):
        place, problem = f"{place}.{problem.split('`')[1]}", "it is missing"
    return ": ".join(filter(None, (place.removeprefix("."), problem)))


def _message(given: _SavedMessage) -> Message:
    content = given.content if isinstance(given.content, str) else tuple(_block(each) for each in given.content)
    return Message(role=given.role, content=content, turn_id=given.turn_id, timestamp=_utc(given.timestamp))


def _block(given: _SavedBlock) -> Block:
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
            (given.id + given.name).encode()  # half of a surrogate pair: providers refuse it
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
