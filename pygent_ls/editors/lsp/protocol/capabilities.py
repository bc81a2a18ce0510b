"""Capabilities of both sides in `initialize`, each in its `capabilities.experimental.pygent`."""

from typing import Any, Literal, TypedDict

LanguageFeatureName = Literal[
    "diagnostics", "locations", "hover", "symbols", "calls", "rename", "codeActions", "format", "formatWritten"
]


class ClientCapabilities(TypedDict, total=False):
    """Capabilities of a client beyond LSP. A missing capability is false."""

    saveDocuments: bool
    """The client answers `pygent/client/save`."""
    questionRequest: bool
    """The client answers `pygent/question/request`."""
    permissionRequest: bool
    """The client answers `pygent/permission/request`."""
    reviewRequest: bool
    """The client answers `pygent/review/request`."""
    pendingReview: bool
    """The client shows what waits for review, as `pygent/review/didChange` reports it. With `reviewRequest`, nothing
    waits, because each edit is reviewed before the turn continues."""
    contextUpdates: bool
    """The client sends `pygent/context/didChange`."""
    textDigests: bool
    """The client applies an edit without a document version only if the document has the text of the `digest`."""
    notebookEdits: bool
    """The client reports the cells of open notebooks by `notebookDocument/didOpen`, `didChange`, `didSave` and
    `didClose`, and carries out `NotebookEdit` in workspace edits."""
    chatPanel: bool
    """The client shows conversations itself; commands do not write a chat document."""
    restricted: bool
    """The user does not trust the workspace; only tools that read run there until the next `initialize`."""
    tools: list[Any]
    """Tools of the client, each a `ClientTool`, as in `pygent/client/registerTools`."""
    hooks: list[Any]
    """Hooks of the client, each a `ClientHook`, as in `pygent/hooks/register`."""
    languageFeatures: list[LanguageFeatureName]
    """The client answers these requests `pygent/client/…` about code. `formatWritten` in place of `format`: it answers
    `pygent/client/format` only for a text that the file's document holds."""
    windowId: str
    """The client's id of its window, kept across reloads. On a socket with `--linger`, its turns continue meanwhile."""


class ServerCapabilities(TypedDict):
    """Capabilities of the daemon: its requests and events, the model of sessions that choose none, whether the
    workspace is restricted, its process id, and the sessions whose turns continued while the client's window was
    disconnected."""

    protocolVersion: int
    methods: list[str]
    events: list[str]
    model: str
    restricted: bool
    processId: int
    resumed: list[str]
    """The sessions whose turns continued while the client's window was disconnected."""


class NotebookCellVersion(TypedDict):
    """A cell as it has to be: the URI and the version of its document."""

    uri: str
    version: int


class NotebookSplice(TypedDict):
    """Cells that replace `deleteCount` cells from `start` on, each as nbformat has it. `start` counts the cells before
    the edit."""

    start: int
    deleteCount: int
    cells: list[dict[str, Any]]


class NotebookEdit(TypedDict):
    """A change of an open notebook in the `documentChanges` of `workspace/applyEdit`, for clients with `notebookEdits`.
    The client refuses the whole edit if the notebook has other `cells` than these, or other versions of them. It
    replaces cells as the `splices` say, and applies the text edits of cells that follow in the same workspace edit, as
    one step of undo. Outputs of other cells stay."""

    kind: Literal["notebook"]
    uri: str
    cells: list[NotebookCellVersion]
    splices: list[NotebookSplice]
