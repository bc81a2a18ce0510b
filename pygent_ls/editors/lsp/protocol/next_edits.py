"""Wire types of next edits: one change that the user is likely to make next.

The shapes are those of `textDocument/copilotInlineEdit`, which other servers and plugins use, too.
"""

from typing import TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params, RangeOut, WirePosition


class DocumentVersion(Params, frozen=True, kw_only=True):
    """A document, as the client sees it."""

    uri: str
    version: int | None = None


class EditSuggestParams(Params, frozen=True, kw_only=True):
    """The cursor, after a change of the document."""

    text_document: DocumentVersion
    position: WirePosition


class VersionedDocumentOut(TypedDict):
    """Document and version that an edit is for."""

    uri: str
    version: int


class SuggestedEditOut(TypedDict):
    """Text that replaces a range. It must not be shown, or applied, for another version of the document."""

    text: str
    range: RangeOut
    textDocument: VersionedDocumentOut


class EditSuggestionsOut(TypedDict):
    """At most one edit; none if the settings do not ask for it, if no change is likely, or if the document has changed
    meanwhile."""

    edits: list[SuggestedEditOut]
