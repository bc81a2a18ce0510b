"""`pygent/client/…`: what the editor's own language servers answer about code, in the shapes of LSP."""

from typing import Any, Literal, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params, PositionOut, RangeOut


class LocationsRequestOut(TypedDict):
    """Where the symbol at a position is defined, implemented or used. The result is that of `textDocument/definition`,
    `…/implementation`, `…/typeDefinition` or `…/references`."""

    kind: Literal["definition", "implementation", "type_definition", "references"]
    uri: str
    position: PositionOut


class HoverRequestOut(TypedDict):
    """Type and documentation of the symbol at a position. The result is that of `textDocument/hover`."""

    uri: str
    position: PositionOut


class SymbolsRequestOut(TypedDict):
    """The symbols of a document, or those of the workspace that fit a query. The result is that of
    `textDocument/documentSymbol` or `workspace/symbol`."""

    uri: str | None
    query: str | None


class CallsRequestOut(TypedDict):
    """The calls of the function at a position, or those that it makes. The result is that of
    `callHierarchy/incomingCalls` or `callHierarchy/outgoingCalls`."""

    direction: Literal["incoming", "outgoing"]
    uri: str
    position: PositionOut


class RenameRequestOut(TypedDict):
    """A new name for the symbol at a position. The result is the edit of `textDocument/rename`; the client does not
    apply it."""

    uri: str
    position: PositionOut
    newName: str


class CodeActionsRequestOut(TypedDict):
    """The code actions for a range. The result is that of `textDocument/codeAction`. With `title`, it holds only the
    actions of that title, resolved, so that they have their edit."""

    uri: str
    range: RangeOut
    title: str | None


class DiagnosticsRequestOut(TypedDict):
    """The diagnostics of a document, after waiting up to `waitMs` for the editor to check this version of it; the
    version is null for a document that is not open. The result is a list of Diagnostic, or null if nothing checks such
    documents."""

    uri: str
    version: int | None
    waitMs: int


class FormatRequestOut(TypedDict):
    """A text that is about to be written to the file, to be formatted as the editor formats the file; a client that
    offers `formatWritten` is asked for the text before an edit and for that after it, while the document holds it.
    With `onSaveOnly`, only if the editor formats the file on each save. The result is the formatted text, or null. The
    client does not change the document."""

    uri: str
    text: str
    onSaveOnly: bool


class LanguageAnswer(Params, frozen=True, kw_only=True):
    """What the editor's language servers answer. A `result` of null means that none answers for the document."""

    result: Any = None
    """Result of the request of LSP that is named at the parameters."""
    position_encoding: str | None = None
    """Encoding of the positions in `result`; that of the connection if it is missing."""
    is_settled: bool | None = None
    """Whether diagnostics are certainly those of the version that was asked for."""
