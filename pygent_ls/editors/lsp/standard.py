"""Parameters of standard LSP, as far as the daemon reads them, and its enumerations. Unknown members are ignored.

The types of lsprotocol, which is generated from the specification, take longer to import than everything else that a
start needs. A test compares the types here with them (`tests/editors/lsp/test_standard.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""LSP's `uinteger`."""


class Position(Struct, frozen=True, order=True):
    """Position between two characters: zero-based line, and code units from its start."""

    line: Count
    character: Count


class LspStruct(Struct, kw_only=True, rename="camel"):
    """Object in the parameters of a message from the client. Members are camelCase on the wire."""


class MessageType(IntEnum):
    """Kind of a message to the user."""

    ERROR = 1
    WARNING = 2
    INFO = 3


class DiagnosticSeverity(IntEnum):
    """Severity of a diagnostic."""

    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    HINT = 4


class NotebookCellKind(IntEnum):
    """Kind of a notebook's cell."""

    MARKUP = 1
    CODE = 2


class CodeActionTriggerKind(IntEnum):
    """Why code actions are requested."""

    INVOKED = 1
    AUTOMATIC = 2


class InlineCompletionTriggerKind(IntEnum):
    """Why an inline completion is requested."""

    INVOKED = 1
    AUTOMATIC = 2


# Lifecycle


class WorkspaceFolder(LspStruct):
    """Folder that is open in the client."""

    uri: str
    name: str = ""


class InitializeParams(LspStruct):
    """Parameters of `initialize`. Minimal clients leave out members, or set them to null."""

    capabilities: Any = None
    process_id: int | None = None
    client_info: Any = None
    root_path: str | None = None
    root_uri: str | None = None
    initialization_options: Any = None
    workspace_folders: list[WorkspaceFolder] | None = None


class CancelParams(LspStruct):
    """Parameters of `$/cancelRequest`."""

    id: int | str


class WorkDoneProgressCancelParams(LspStruct):
    """Parameters of `window/workDoneProgress/cancel`."""

    token: int | str


# Workspace


class WorkspaceFoldersChangeEvent(LspStruct):
    """Folders that were opened and closed."""

    added: list[WorkspaceFolder]
    removed: list[WorkspaceFolder]


class DidChangeWorkspaceFoldersParams(LspStruct):
    """Parameters of `workspace/didChangeWorkspaceFolders`."""

    event: WorkspaceFoldersChangeEvent


class FileRename(LspStruct):
    """Old and new URI of a renamed file or folder."""

    old_uri: str
    new_uri: str


class RenameFilesParams(LspStruct):
    """Parameters of `workspace/didRenameFiles`."""

    files: list[FileRename]


class FileEvent(LspStruct):
    """Change of a file on disk."""

    uri: str


class DidChangeWatchedFilesParams(LspStruct):
    """Parameters of `workspace/didChangeWatchedFiles`."""

    changes: list[FileEvent]


class DidChangeConfigurationParams(LspStruct):
    """Parameters of `workspace/didChangeConfiguration`."""

    settings: Any = None


class ExecuteCommandParams(LspStruct):
    """Parameters of `workspace/executeCommand`."""

    command: str
    arguments: list[Any] | None = None


# Documents


class Range(LspStruct):
    """Text between two positions."""

    start: Position
    end: Position


class TextDocumentIdentifier(LspStruct):
    """A document."""

    uri: str


class VersionedTextDocumentIdentifier(LspStruct):
    """A document in one version."""

    uri: str
    version: int


class TextDocumentItem(LspStruct):
    """A document with its text."""

    uri: str
    language_id: str
    version: int
    text: str


class TextDocumentContentChangeEvent(LspStruct):
    """Change of a document: of the range, or of the whole text without a range."""

    text: str
    range: Range | None = None


class DidOpenTextDocumentParams(LspStruct):
    """Parameters of `textDocument/didOpen`."""

    text_document: TextDocumentItem


class DidChangeTextDocumentParams(LspStruct):
    """Parameters of `textDocument/didChange`."""

    text_document: VersionedTextDocumentIdentifier
    content_changes: list[TextDocumentContentChangeEvent]


class DidSaveTextDocumentParams(LspStruct):
    """Parameters of `textDocument/didSave`."""

    text_document: TextDocumentIdentifier


class DidCloseTextDocumentParams(LspStruct):
    """Parameters of `textDocument/didClose`."""

    text_document: TextDocumentIdentifier


# Notebooks


class NotebookCell(LspStruct):
    """A cell, whose source is a document of its own."""

    kind: int
    """One of `NotebookCellKind`."""
    document: str
    metadata: Any = None


class NotebookDocument(LspStruct):
    """A notebook with its cells."""

    uri: str
    version: int
    cells: list[NotebookCell]


class NotebookDocumentIdentifier(LspStruct):
    """A notebook."""

    uri: str


class VersionedNotebookDocumentIdentifier(LspStruct):
    """A notebook in one version."""

    uri: str
    version: int


class NotebookCellArrayChange(LspStruct):
    """Cells that replace others."""

    start: Count
    delete_count: Count
    cells: list[NotebookCell] | None = None


class NotebookDocumentCellChangeStructure(LspStruct):
    """Change of the list of cells, with the documents that were opened for it."""

    array: NotebookCellArrayChange
    did_open: list[TextDocumentItem] | None = None


class NotebookDocumentCellContentChanges(LspStruct):
    """Changes of the source of one cell."""

    document: VersionedTextDocumentIdentifier
    changes: list[TextDocumentContentChangeEvent]


class NotebookDocumentCellChanges(LspStruct):
    """Changes of cells: their list, their kinds and metadata, and their sources."""

    structure: NotebookDocumentCellChangeStructure | None = None
    data: list[NotebookCell] | None = None
    text_content: list[NotebookDocumentCellContentChanges] | None = None


class NotebookDocumentChangeEvent(LspStruct):
    """Changes of a notebook."""

    cells: NotebookDocumentCellChanges | None = None


class DidOpenNotebookDocumentParams(LspStruct):
    """Parameters of `notebookDocument/didOpen`."""

    notebook_document: NotebookDocument
    cell_text_documents: list[TextDocumentItem]


class DidChangeNotebookDocumentParams(LspStruct):
    """Parameters of `notebookDocument/didChange`."""

    notebook_document: VersionedNotebookDocumentIdentifier
    change: NotebookDocumentChangeEvent


class DidSaveNotebookDocumentParams(LspStruct):
    """Parameters of `notebookDocument/didSave`."""

    notebook_document: NotebookDocumentIdentifier


class DidCloseNotebookDocumentParams(LspStruct):
    """Parameters of `notebookDocument/didClose`."""

    notebook_document: NotebookDocumentIdentifier


# Code actions, code lenses and inline completions


class CodeActionContext(LspStruct):
    """What code actions are requested for. Diagnostics are returned to the client as they came."""

    diagnostics: list[Mapping[str, Any]]
    only: list[str] | None = None
    trigger_kind: int | None = None
    """One of `CodeActionTriggerKind`."""


class CodeActionParams(LspStruct):
    """Parameters of `textDocument/codeAction`."""

    text_document: TextDocumentIdentifier
    range: Range
    context: CodeActionContext


class CodeLensParams(LspStruct):
    """Parameters of `textDocument/codeLens`."""

    text_document: TextDocumentIdentifier


class SelectedCompletionInfo(LspStruct):
    """Item that is selected in the client's list of completions."""

    range: Range
    text: str


class InlineCompletionContext(LspStruct):
    """Why an inline completion is requested."""

    trigger_kind: int
    """One of `InlineCompletionTriggerKind`."""
    selected_completion_info: SelectedCompletionInfo | None = None


class InlineCompletionParams(LspStruct):
    """Parameters of `textDocument/inlineCompletion`."""

    text_document: TextDocumentIdentifier
    position: Position
    context: InlineCompletionContext
