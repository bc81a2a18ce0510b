"""The client capabilities from `initialize`; they are never determined in another way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from pygent_ls.editors.lsp.rpc.diagnostic_quirks import json_object

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.standard import InitializeParams

Encoding = Literal["utf-8", "utf-16", "utf-32"]


class ClientFeatures(Struct, frozen=True, kw_only=True):
    """The client's capabilities that the daemon uses."""

    name: str = ""
    encoding: Encoding = "utf-16"
    apply_edit: bool = False
    document_changes: bool = False
    resource_operations: frozenset[str] = frozenset()
    rename_notifications: bool = False
    """Whether it tells that files were renamed."""
    notebooks: bool = False
    """Whether it synchronises notebooks."""
    work_done_progress: bool = False
    show_document: bool = False
    inline_completion_registration: bool = False
    """Whether inline completion can be registered while the client runs."""
    code_lens_refresh: bool = False
    """Whether it can refresh code lenses on request."""
    configuration: bool = False
    """Whether it answers `workspace/configuration`."""
    configuration_registration: bool = False
    """Whether it reports changes of its configuration after registration."""
    save_documents: bool = False
    """Whether it answers `pygent/client/save`."""
    question_request: bool = False
    """Whether it answers `pygent/question/request`."""
    review_request: bool = False
    """Whether it answers `pygent/review/request`."""
    pending_review: bool = False
    """Whether it shows what waits for review."""
    change_annotations: bool = False
    """Whether it asks the user about edits that need confirmation."""
    permission_request: bool = False
    """Whether it answers `pygent/permission/request`."""
    context_updates: bool = False
    """Whether it sends `pygent/context/didChange`."""
    text_digests: bool = False
    """Whether it compares the text of a document without a version with the digest of the edit."""
    notebook_edits: bool = False
    """Whether it carries out changes of the kind `notebook` in workspace edits."""
    language_features: frozenset[str] = frozenset()
    """Requests `pygent/client/…` about code that it answers."""
    chat_panel: bool = False
    """Whether it shows conversations itself."""
    restricted: bool = False
    """Whether the workspace is not trusted."""
    tools: Sequence[Any] = ()
    """Tools that the client registers with `initialize`, not validated."""
    hooks: Sequence[Any] = ()
    """Hooks that the client registers with `initialize`, not validated."""
    has_plugin: bool = False
    """Whether it supports parts of the daemon's own protocol."""

    @property
    def reviews_later(self) -> bool:
        """Whether changes of the agent are kept for review after the edits. A client with a panel and without a review
        shows none."""
        return not self.review_request and (self.pending_review or not self.chat_panel)


RESOURCE_OPERATIONS = ("create", "rename", "delete")

SPOILS_NEW_FILES = frozenset({"emacs", "Vim"})
"""Client names of lsp-mode and yegappan/lsp. If one edit creates and fills a file, lsp-mode refuses it because it has
already opened a buffer for the file, and yegappan/lsp leaves the file empty. Eglot's name is "Eglot", that of vim-lsp
"vim-lsp"."""

COUNTS_CHARACTERS = frozenset({"Vim", "vim-lsp"})
"""Client names of yegappan/lsp and vim-lsp. yegappan/lsp offers UTF-16 in every Vim; before Vim 9.0.1629 it does not
offer UTF-8, and counts characters instead. vim-lsp offers no encoding and always counts characters."""


def features_of(params: InitializeParams) -> ClientFeatures:
    """Read the capabilities. Missing and invalid ones are False: every editor sends some that LSP does not know."""
    given = params.capabilities
    workspace, window, general, document = (
        _part(given, name) for name in ("workspace", "window", "general", "textDocument")
    )
    edit, own = _part(workspace, "workspaceEdit"), _own(params)
    name, _ = client_of(params)
    operations = {each for each in _texts(edit, "resourceOperations") if each in RESOURCE_OPERATIONS}
    document_changes = _has(edit, "documentChanges")
    return ClientFeatures(
        name=name,
        encoding=_encoding(name, _texts(general, "positionEncodings")),
        apply_edit=_has(workspace, "applyEdit"),
        configuration=_has(workspace, "configuration"),
        configuration_registration=_has(_part(workspace, "didChangeConfiguration"), "dynamicRegistration"),
        document_changes=document_changes,
        resource_operations=frozenset(operations - {"create"} if name in SPOILS_NEW_FILES else operations),
        rename_notifications=_has(_part(workspace, "fileOperations"), "didRename"),
        notebooks=isinstance(json_object(given).get("notebookDocument"), Mapping),
        work_done_progress=_has(window, "workDoneProgress"),
        save_documents=_has(own, "saveDocuments"),
        question_request=_has(own, "questionRequest"),
        review_request=_has(own, "reviewRequest"),
        pending_review=_has(own, "pendingReview"),
        change_annotations=document_changes and isinstance(edit.get("changeAnnotationSupport"), Mapping),
        permission_request=_has(own, "permissionRequest"),
        context_updates=_has(own, "contextUpdates"),
        text_digests=_has(own, "textDigests"),
        notebook_edits=_has(own, "notebookEdits"),
        language_features=frozenset(_texts(own, "languageFeatures")),
        chat_panel=_has(own, "chatPanel"),
        restricted=own.get("restricted", False) is not False,  # an invalid value counts as restricted
        tools=_listed(own.get("tools")),
        hooks=_listed(own.get("hooks")),
        has_plugin=bool(own),
        inline_completion_registration=_has(_part(document, "inlineCompletion"), "dynamicRegistration"),
        code_lens_refresh=_has(_part(workspace, "codeLens"), "refreshSupport"),
        show_document=_has(_part(window, "showDocument"), "support"),
    )


def client_of(params: InitializeParams) -> tuple[str, str]:
    """Return the name and version of the client, empty if it does not say them."""
    client = json_object(params.client_info)
    name, version = (client.get(member) for member in ("name", "version"))
    return name if isinstance(name, str) else "", version if isinstance(version, str) else ""


def _part(given: Any, name: str) -> Mapping[str, Any]:
    """Return a member that is an object; anything else counts as an empty one."""
    return json_object(json_object(given).get(name))


def _has(given: Mapping[str, Any], name: str) -> bool:
    return given.get(name) is True


def _texts(given: Mapping[str, Any], name: str) -> list[str]:
    value = given.get(name)
    return [each for each in cast("list[Any]", value) if isinstance(each, str)] if isinstance(value, list) else []


def _encoding(name: str, offered: Sequence[str]) -> Encoding:
    if "utf-8" in offered:
        return "utf-8"
    counts_characters = name in COUNTS_CHARACTERS and ("utf-32" in offered or not offered)
    return "utf-32" if counts_characters else "utf-16"


def _own(params: InitializeParams) -> Mapping[str, Any]:
    """Return `capabilities.experimental.pygent`, a `ClientCapabilities` whose values are not validated."""
    return _part(_part(params.capabilities, "experimental"), "pygent")


def _listed(value: Any) -> Sequence[Any]:
    """Return a list as it is; what is not a list counts as one invalid item, so that it is reported."""
    if value is None:
        return ()
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else (value,)


def editor_options(params: InitializeParams) -> Any:
    """Return `initializationOptions.pygent` as received; None if it is missing."""
    return json_object(params.initialization_options).get("pygent")
