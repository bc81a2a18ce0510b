"""What goes out of a conversation that was kept: its messages, part of `outgoing_sessions`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class TextBlockOut(TypedDict):
    """Text; `fromOutside` where it is no word of the user's or the model's."""

    type: Literal["text"]
    text: str
    fromOutside: NotRequired[bool]


class RejectedFileOut(TypedDict):
    """A file of a review report, and the number of changes in it that the user rejected."""

    uri: str
    rejected: int


class ReviewBlockOut(TypedDict):
    """What the user rejected of the agent's edits, in words for the model."""

    type: Literal["review"]
    text: str
    files: list[RejectedFileOut]


class ThinkingBlockOut(TypedDict):
    """The model's thinking; the other fields are for its provider alone."""

    type: Literal["thinking"]
    thinking: str
    signature: NotRequired[str]
    redacted: NotRequired[str]
    model: NotRequired[str]
    family: NotRequired[str]
    providerData: NotRequired[dict[str, Any]]


class ImageBlockOut(TypedDict):
    """A picture, as base64."""

    type: Literal["image"]
    mimeType: str
    data: str


class ToolUseBlockOut(TypedDict):
    """A tool call; `problem` says why it could not be read. `providerData` is for its provider alone."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]
    problem: NotRequired[str]
    family: NotRequired[str]
    providerData: NotRequired[dict[str, Any]]


class ToolResultBlockOut(TypedDict):
    """What a tool call gave; `fromOutside` is false where the words are the daemon's own."""

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
