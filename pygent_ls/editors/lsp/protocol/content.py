"""Content of prompts and of stored messages, and the editor context."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import UNSET, Meta, UnsetType

from pygent_ls.editors.lsp.protocol.shapes import Count, Params, RangeOut, WireRange


class WireDiagnostic(Params, frozen=True, kw_only=True):
    """The fields of an LSP diagnostic that the daemon reads."""

    range: WireRange
    message: str
    severity: Count | None = None
    source: str | None = None
    code: Any = None
    """A number or a string by LSP; some clients send objects."""


class TextContent(Params, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text of the user."""

    text: str


class FileContent(Params, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A file, or a range of its lines."""

    uri: str
    range: WireRange | None = None


class SelectionContent(Params, frozen=True, kw_only=True, tag_field="type", tag="selection"):
    """Text that the user selected."""

    uri: str
    range: WireRange
    text: str


class DiagnosticsContent(Params, frozen=True, kw_only=True, tag_field="type", tag="diagnostics"):
    """Diagnostics of a file."""

    uri: str
    items: list[WireDiagnostic]


class ImageContent(Params, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image: base64 in `data`, or a file or `data:` URI in `uri`."""

    mime_type: str
    data: str | None = None
    uri: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one source."""
        if (self.data is None) == (self.uri is None):
            raise ValueError("an image requires either `data` or `uri`")


class TerminalContent(Params, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A command that the user ran in a terminal, and its output without control sequences. `exitCode` is missing while
    the command runs, or if it is unknown."""

    command: str
    output: str
    exit_code: int | None = None


class RejectedFileContent(Params, frozen=True, kw_only=True):
    """A file in a review report, and the number of its changes that the user rejected."""

    uri: str
    rejected: Annotated[int, Meta(ge=1)]


class ReviewContent(Params, frozen=True, kw_only=True, tag_field="type", tag="review"):
    """The changes of the agent that the user rejected, described for the model. The report is a decision of the user
    and not part of the prompt's text: it is stored and shown separately."""

    text: Annotated[str, Meta(min_length=1)]
    files: Annotated[list[RejectedFileContent], Meta(min_length=1)]


ContentBlock = (
    TextContent | FileContent | SelectionContent | DiagnosticsContent | ImageContent | TerminalContent | ReviewContent
)

Prompt = Annotated[
    Annotated[str, Meta(min_length=1, extra={"tag": "text"})]
    | Annotated[list[ContentBlock], Meta(min_length=1, extra={"tag": "blocks"})],
    Meta(extra={"problem": "Input should be text, or a list of content blocks"}),
]
"""Prompt as text or content blocks. Errors name what is invalid by the tag."""


class ContextSelection(Params, frozen=True, kw_only=True):
    """The selection in the active editor."""

    uri: str
    range: WireRange


class ContextDiagnostics(Params, frozen=True, kw_only=True):
    """All diagnostics of a file, for one version of its document. If `items` is empty, the file has no diagnostics."""

    uri: str
    items: list[WireDiagnostic]
    version: int | None = None


class EditorContext(Params, frozen=True, kw_only=True):
    """The state of the editor: active file, selection, visible and open files, diagnostics. It is background for the
    model, never a prompt. In `pygent/context/didChange`, a missing field keeps its value, and null clears it.
    `diagnostics` replaces the diagnostics of the files that it names; those of other files are kept. `openUris` lists
    the files of all tabs, including tabs without a document yet; without it, the open documents are used. Completion
    offers these files first. `unsavedNotebooks` lists the notebooks that the editor shows as cells and that have
    unsaved changes: the daemon does not write their files."""

    active_uri: str | UnsetType | None = UNSET
    selection: ContextSelection | UnsetType | None = UNSET
    visible_uris: list[str] | UnsetType | None = UNSET
    open_uris: list[str] | UnsetType | None = UNSET
    diagnostics: list[ContextDiagnostics] | UnsetType | None = UNSET
    unsaved_notebooks: list[str] | UnsetType | None = UNSET


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
