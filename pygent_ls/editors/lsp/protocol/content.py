"""Content of prompts and of stored messages, and the editor context."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import Discriminator, Field, Tag, model_validator
from typing_extensions import TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Count, Integer, Items, Params, RangeOut, WireRange


class WireDiagnostic(Params):
    """The fields of an LSP diagnostic that the daemon reads."""

    range: WireRange
    message: str
    severity: Count | None = None
    source: str | None = None
    code: Any = None
    """A number or a string by LSP; some clients send objects."""


class TextContent(Params):
    """Text of the user."""

    type: Literal["text"]
    text: str


class FileContent(Params):
    """A file, or a range of its lines."""

    type: Literal["file"]
    uri: str
    range: WireRange | None = None


class SelectionContent(Params):
    """Text that the user selected."""

    type: Literal["selection"]
    uri: str
    range: WireRange
    text: str


class DiagnosticsContent(Params):
    """Diagnostics of a file."""

    type: Literal["diagnostics"]
    uri: str
    items: Items[WireDiagnostic]


class ImageContent(Params):
    """An image: base64 in `data`, or a file or `data:` URI in `uri`."""

    type: Literal["image"]
    mime_type: str
    data: str | None = None
    uri: str | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.data is None) == (self.uri is None):
            raise ValueError("an image requires either `data` or `uri`")
        return self


class TerminalContent(Params):
    """A command that the user ran in a terminal, and its output without control sequences. `exitCode` is missing while
    the command runs, or if it is unknown."""

    type: Literal["terminal"]
    command: str
    output: str
    exit_code: Integer | None = None


class RejectedFileContent(Params):
    """A file in a review report, and the number of its changes that the user rejected."""

    uri: str
    rejected: Annotated[Integer, Field(ge=1)]


class ReviewContent(Params):
    """The changes of the agent that the user rejected, described for the model. The report is a decision of the user
    and not part of the prompt's text: it is stored and shown separately."""

    type: Literal["review"]
    text: Annotated[str, Field(min_length=1)]
    files: Annotated[Items[RejectedFileContent], Field(min_length=1)]


AnyContent = (
    TextContent | FileContent | SelectionContent | DiagnosticsContent | ImageContent | TerminalContent | ReviewContent
)


ContentBlock = Annotated[AnyContent, Field(discriminator="type")]


def _prompt_kind(value: Any) -> str | None:
    return "text" if isinstance(value, str) else "blocks" if isinstance(value, list) else None


Prompt = Annotated[
    Annotated[str, Field(min_length=1), Tag("text")]
    | Annotated[Items[ContentBlock], Field(min_length=1), Tag("blocks")],
    Discriminator(
        _prompt_kind,
        custom_error_type="prompt",
        custom_error_message="Input should be text, or a list of content blocks",
    ),
]
"""Prompt as text or content blocks. The discriminator makes an error name only the invalid field."""


class ContextSelection(Params):
    """The selection in the active editor."""

    uri: str
    range: WireRange


class ContextDiagnostics(Params):
    """All diagnostics of a file, for one version of its document. If `items` is empty, the file has no diagnostics."""

    uri: str
    items: Items[WireDiagnostic]
    version: Integer | None = None


class EditorContext(Params):
    """The state of the editor: active file, selection, visible and open files, diagnostics. It is background for the
    model, never a prompt. In `pygent/context/didChange`, a missing field keeps its value, and null clears it.
    `diagnostics` replaces the diagnostics of the files that it names; those of other files are kept. `openUris` lists
    the files of all tabs, including tabs without a document yet; without it, the open documents are used. Completion
    offers these files first. `unsavedNotebooks` lists the notebooks that the editor shows as cells and that have
    unsaved changes: the daemon does not write their files."""

    active_uri: str | None = None
    selection: ContextSelection | None = None
    visible_uris: Items[str] | None = None
    open_uris: Items[str] | None = None
    diagnostics: Items[ContextDiagnostics] | None = None
    unsaved_notebooks: Items[str] | None = None


class RejectedFileOut(TypedDict):
    """A file in a review report, and the number of its changes that the user rejected."""

    uri: str
    rejected: int


class ReviewBlockOut(TypedDict):
    """The changes of the agent that the user rejected, described for the model."""

    type: Literal["review"]
    text: str
    files: list[RejectedFileOut]


class FileAttachmentOut(TypedDict):
    """A file, or a selection in a file. Without `range`, the whole file."""

    type: Literal["file", "selection"]
    uri: str
    range: NotRequired[RangeOut]


class DiagnosticsAttachmentOut(TypedDict):
    """The number of attached diagnostics of a file."""

    type: Literal["diagnostics"]
    uri: str
    count: int


class ImageAttachmentOut(TypedDict):
    """An image. Without `uri` it was sent as data, which is in the session's message."""

    type: Literal["image"]
    mimeType: str
    uri: NotRequired[str]


class TerminalAttachmentOut(TypedDict):
    """The output of a command that the user ran in a terminal."""

    type: Literal["terminal"]
    command: str


AttachmentOut = (
    FileAttachmentOut | DiagnosticsAttachmentOut | ImageAttachmentOut | TerminalAttachmentOut | ReviewBlockOut
)


class TextBlockOut(TypedDict):
    """Text. `fromOutside` is true if neither the user nor the model wrote it."""

    type: Literal["text"]
    text: str
    fromOutside: NotRequired[bool]


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
