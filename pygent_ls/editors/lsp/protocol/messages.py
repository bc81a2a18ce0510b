"""Messages of a stored conversation."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class TextBlockOut(TypedDict):
    """Text. `fromOutside` is true if neither the user nor the model wrote it."""

    type: Literal["text"]
    text: str
    fromOutside: NotRequired[bool]


class RejectedFileOut(TypedDict):
    """A file in a review report, and the number of its changes that the user rejected."""

    uri: str
    rejected: int


class ReviewBlockOut(TypedDict):
    """The changes of the agent that the user rejected, described for the model."""

    type: Literal["review"]
    text: str
    files: list[RejectedFileOut]


class ThinkingBlockOut(TypedDict):
    """The model's thinking. The other fields are for the model's provider only."""

    type: Literal["thinking"]
    thinking: str
    signature: NotRequired[str]
    redacted: NotRequired[str]
    model: NotRequired[str]
    family: NotRequired[str]
    providerData: NotRequired[dict[str, Any]]


class ImageBlockOut(TypedDict):
    """An image as base64."""

    type: Literal["image"]
    mimeType: str
    data: str


class ToolUseBlockOut(TypedDict):
    """A tool call. `problem` says why it could not be read. `providerData` is for the model's provider only."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]
    problem: NotRequired[str]
    family: NotRequired[str]
    providerData: NotRequired[dict[str, Any]]


class ToolResultBlockOut(TypedDict):
    """The result of a tool call. `fromOutside` is false if the daemon itself wrote the text."""

    type: Literal["tool_result"]
    toolUseId: str
    content: str
    isError: bool
    fromOutside: NotRequired[bool]


class MessageOut(TypedDict):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: list[
        TextBlockOut | ReviewBlockOut | ThinkingBlockOut | ImageBlockOut | ToolUseBlockOut | ToolResultBlockOut
    ]
    turnId: str
    timestamp: str
