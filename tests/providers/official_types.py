"""Request bodies against the types of the official `openai` and `anthropic` packages.

The SDKs describe requests as TypedDicts whose lists are `Iterable`. pydantic reads such a list lazily and accepts any
extra key, so the types are rebuilt: `Iterable` becomes `list`, and a key that a type does not have is a problem unless
`EXTENSIONS` names it as a field that the provider documents beside OpenAI's own.
"""

from __future__ import annotations

import collections.abc
import os
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import typing_extensions
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic import with_config as with_config_of

from tests.providers.servers.answers import Body

Extension = Mapping[str, Mapping[str, Any]]
"""Fields beside the official ones, by the name of the type that has them."""

_REQUEST = "CompletionCreateParamsStreaming"
_ASSISTANT = "ChatCompletionAssistantMessageParam"
_CALL = "ChatCompletionMessageFunctionToolCallParam"
_MARK = {"cache_control": dict[str, str]}

EXTENSIONS: Mapping[str, Extension] = {
    "openai": {},
    # The package has it no more, since newer models refuse it; older ones take it.
    "anthropic": {"MessageCreateParamsStreaming": {"temperature": float}},
    # https://api-docs.deepseek.com/guides/thinking_mode
    "deepseek": {_REQUEST: {"thinking": dict[str, Any]}, _ASSISTANT: {"reasoning_content": str}},
    # https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
    "moonshot": {_REQUEST: {"thinking": dict[str, Any]}, _ASSISTANT: {"reasoning_content": str}},
    # https://docs.z.ai/guides/capabilities/thinking-mode
    "zai": {_REQUEST: {"thinking": dict[str, Any]}, _ASSISTANT: {"reasoning_content": str}},
    # https://openrouter.ai/docs/use-cases/reasoning-tokens
    "openrouter": {
        _REQUEST: {"reasoning": dict[str, Any], "usage": dict[str, Any]},
        _ASSISTANT: {"reasoning": str, "reasoning_details": list[dict[str, Any]]},
        "ChatCompletionContentPartTextParam": _MARK,
        "ChatCompletionContentPartImageParam": _MARK,
    },
    "mistral": {},
    # https://console.groq.com/docs/reasoning
    "groq": {_REQUEST: {"reasoning_format": str, "include_reasoning": bool}, _ASSISTANT: {"reasoning": str}},
    # https://ai.google.dev/gemini-api/docs/thought-signatures
    "gemini": {
        _REQUEST: {"extra_body": dict[str, Any]},
        _ASSISTANT: {"extra_content": dict[str, Any]},
        _CALL: {"extra_content": dict[str, Any]},
    },
    "xai": {},
}

OPTIONAL: Mapping[str, frozenset[str]] = {
    # Codex replays its history without ids, since ids that were not stored are refused (langchain-ai/langchain#38372).
    "ResponseOutputMessageParam": frozenset({"id", "status"}),
    "ResponseOutputTextParam": frozenset({"annotations"}),
    "ResponseReasoningItemParam": frozenset({"id"}),
}
"""Fields that a type requires of answers, and that the API does not require in a request."""

MAX_PROBLEMS = 5

_KINDS = ("role", "type")
"""Fields that tell the members of a union apart."""


def problems(family: str, kind: str, body: Body) -> list[str]:
    """What the official type of a request does not allow, in one line each; empty where the body is fine.

    `kind` is `chat`, `responses` or `messages`. Google publishes no TypedDict that these packages have, so `gemini` is
    not looked at.
    """
    if kind == "gemini":
        return []
    try:
        _adapter(family, kind).validate_python(body)
    except ValidationError as error:
        found = error.errors(include_url=False)
        others = [each["loc"][:-1] for each in found if each["type"] == "literal_error" and each["loc"][-1] in _KINDS]
        meant = [each for each in found if not any(each["loc"][: len(other)] == other for other in others)]
        return [_in_words(each["loc"], each["msg"], each["input"]) for each in (meant or found)[:MAX_PROBLEMS]]
    return []


def _in_words(place: tuple[int | str, ...], message: str, given: object) -> str:
    where = ".".join(str(each) for each in place if not str(each).startswith(("list[", "function-")))
    return f"{where}: {message} (given: {str(given)[:200]})"


@cache
def _adapter(family: str, kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_Rebuilt(EXTENSIONS.get(family, {})).of(_official(kind)))


def _official(kind: str) -> Any:
    match kind:
        case "chat":
            from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

            return CompletionCreateParamsStreaming
        case "responses":
            from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

            return ResponseCreateParamsStreaming
        case _:
            from anthropic.types.message_create_params import MessageCreateParamsStreaming

            return MessageCreateParamsStreaming


_NOT_JSON = (typing.IO, typing.IO[bytes], os.PathLike)
"""What the SDKs take for data of a picture, and send as text."""


def _is_model(kind: Any) -> bool:
    """Whether it is the type of an answer, which a caller may pass on, and which takes any key."""
    members = typing_extensions.get_args(kind)
    if typing_extensions.get_origin(kind) is typing_extensions.Annotated:
        return _is_model(members[0])
    if typing_extensions.get_origin(kind) in (typing.Union, types.UnionType):
        return all(_is_model(each) for each in members)
    return isinstance(kind, type) and issubclass(kind, BaseModel)


class _Rebuilt:
    """Types without lazy lists and without unknown keys."""

    def __init__(self, extension: Extension) -> None:
        self._extension = extension
        self._made: dict[Any, Any] = {}

    def of(self, kind: Any) -> Any:  # noqa: PLR0911 - one for each form of a type
        """The type in its strict form."""
        if typing_extensions.is_typeddict(kind):
            return self._typed_dict(kind)
        origin, inner = typing_extensions.get_origin(kind), typing_extensions.get_args(kind)
        if kind in _NOT_JSON or origin in _NOT_JSON:
            return str
        if origin is None:
            return kind
        if origin is typing_extensions.Literal:
            return kind
        if origin in (typing.Union, types.UnionType):
            members = tuple(self.of(each) for each in inner if not _is_model(each))
            return typing.Union[members] if members else Any  # noqa: UP007 - made at run time
        if origin in (typing_extensions.Required, typing_extensions.NotRequired):
            return origin[self.of(inner[0])]
        if origin in (collections.abc.Iterable, collections.abc.Sequence, list):
            return list[self.of(inner[0])]  # pyright: ignore[reportInvalidTypeArguments]
        if origin is dict:
            return dict[inner[0], self.of(inner[1])]  # pyright: ignore[reportInvalidTypeArguments]
        if origin is typing_extensions.Annotated:
            return self.of(inner[0])
        return kind

    def _typed_dict(self, kind: Any) -> Any:
        if kind in self._made:
            return self._made[kind]
        self._made[kind] = Any  # a type that contains itself is looked at once
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
        fields: dict[str, Any] = {}
        for name, hint in hints.items():
            made = self.of(hint)
            is_marked = typing_extensions.get_origin(made) in (
                typing_extensions.Required,
                typing_extensions.NotRequired,
            )
            if name in OPTIONAL.get(kind.__name__, ()):
                inner = typing_extensions.get_args(made)[0] if is_marked else made
                fields[name] = typing_extensions.NotRequired[inner]
                continue
            required = name in kind.__required_keys__
            marker: Any = typing_extensions.Required if required else typing_extensions.NotRequired
            fields[name] = made if is_marked else marker[made]
        for name, hint in self._extension.get(kind.__name__, {}).items():
            fields[name] = typing_extensions.NotRequired[hint]
        make = cast("Any", typing_extensions.TypedDict)
        strict = with_config_of(ConfigDict(extra="forbid", strict=True))(make(kind.__name__, fields))
        self._made[kind] = strict
        return strict
