"""The client capabilities from `initialize`; they are never determined in another way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from lsprotocol import types

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.protocol.capabilities import ClientCapabilities

Encoding = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFeatures:
    """The client's capabilities that the daemon uses."""

    name: str = ""
    encoding: Encoding = "utf-16"
    apply_edit: bool = False
    document_changes: bool = False
    resource_operations: frozenset[str] = frozenset()
    work_done_progress: bool = False
    show_document: bool = False
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
    change_annotations: bool = False
    """Whether it asks the user about edits that need confirmation."""
    permission_request: bool = False
    """Whether it answers `pygent/permission/request`."""
    context_updates: bool = False
    """Whether it sends `pygent/context/didChange`."""
    text_digests: bool = False
    """Whether it compares the text of a document without a version with the digest of the edit."""
    chat_panel: bool = False
    """Whether it shows conversations itself."""
    restricted: bool = False
    """Whether the workspace is not trusted."""
    has_plugin: bool = False
    """Whether it supports parts of the daemon's own protocol."""

    @property
    def has_own_review(self) -> bool:
        """Whether it shows the agent's changes for review itself."""
        return self.chat_panel or self.review_request


RESOURCE_OPERATIONS = ("create", "rename", "delete")

SPOILS_NEW_FILES = frozenset({"emacs", "Vim"})
"""Client names of lsp-mode and yegappan/lsp. If one edit creates and fills a file, lsp-mode refuses it because it has
already opened a buffer for the file, and yegappan/lsp leaves the file empty. Eglot's name is "Eglot", that of vim-lsp
"vim-lsp"."""

COUNTS_CHARACTERS = frozenset({"Vim", "vim-lsp"})
"""Client names of yegappan/lsp and vim-lsp. yegappan/lsp offers UTF-16 in every Vim; before Vim 9.0.1629 it does not
offer UTF-8, and counts characters instead. vim-lsp offers no encoding and always counts characters."""


def used_capabilities(capabilities: Any) -> Any:
    """Return the part of `capabilities` that `features_of` reads; a value that is not an object is returned unchanged.

    Other members are dropped because every editor sends some that do not match the known types.
    """
    if not isinstance(capabilities, Mapping):
        return capabilities
    given = cast("Mapping[str, Any]", capabilities)
    workspace, window, general = (_part(given, name) for name in ("workspace", "window", "general"))
    edit, document = _part(workspace, "workspaceEdit"), _part(window, "showDocument")
    told = _part(workspace, "didChangeConfiguration")
    operations, encodings = _texts(edit, "resourceOperations"), _texts(general, "positionEncodings")
    return {
        "workspace": {
            "applyEdit": workspace.get("applyEdit") is True,
            "configuration": workspace.get("configuration") is True,
            "didChangeConfiguration": {"dynamicRegistration": told.get("dynamicRegistration") is True},
            "codeLens": {"refreshSupport": _part(workspace, "codeLens").get("refreshSupport") is True},
            "workspaceEdit": {
                "documentChanges": edit.get("documentChanges") is True,
                "resourceOperations": [each for each in operations if each in RESOURCE_OPERATIONS],
                "changeAnnotationSupport": {} if isinstance(edit.get("changeAnnotationSupport"), Mapping) else None,
            },
        },
        "window": {
            "workDoneProgress": window.get("workDoneProgress") is True,
            "showDocument": {"support": document.get("support") is True},
        },
        "general": {"positionEncodings": encodings or None},
        "experimental": given.get("experimental"),
    }


def _part(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _texts(given: Mapping[str, Any], name: str) -> list[str]:
    value = given.get(name)
    return [each for each in cast("list[Any]", value) if isinstance(each, str)] if isinstance(value, list) else []


def features_of(params: types.InitializeParams) -> ClientFeatures:
    """Read the capabilities; missing ones are False."""
    capabilities = params.capabilities
    workspace, window, general = capabilities.workspace, capabilities.window, capabilities.general
    edit = workspace.workspace_edit if workspace else None
    name = params.client_info.name if params.client_info else ""
    operations = {str(getattr(each, "value", each)) for each in ((edit.resource_operations if edit else None) or ())}
    offered = [str(getattr(each, "value", each)) for each in (general.position_encodings or [])] if general else []
    return ClientFeatures(
        name=name,
        encoding=_encoding(name, offered),
        apply_edit=bool(workspace and workspace.apply_edit),
        configuration=bool(workspace and workspace.configuration),
        configuration_registration=bool(
            workspace and workspace.did_change_configuration and workspace.did_change_configuration.dynamic_registration
        ),
        document_changes=bool(edit and edit.document_changes),
        resource_operations=frozenset(operations - {"create"} if name in SPOILS_NEW_FILES else operations),
        work_done_progress=bool(window and window.work_done_progress),
        save_documents=_own(params).get("saveDocuments") is True,
        question_request=_own(params).get("questionRequest") is True,
        review_request=_own(params).get("reviewRequest") is True,
        change_annotations=bool(edit and edit.document_changes and edit.change_annotation_support),
        permission_request=_own(params).get("permissionRequest") is True,
        context_updates=_own(params).get("contextUpdates") is True,
        text_digests=_own(params).get("textDigests") is True,
        chat_panel=_own(params).get("chatPanel") is True,
        restricted=_own(params).get("restricted", False) is not False,  # an invalid value counts as restricted
        has_plugin=bool(_own(params)),
        code_lens_refresh=bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support),
        show_document=bool(window and window.show_document and window.show_document.support),
    )


def _encoding(name: str, offered: Sequence[str]) -> Encoding:
    if "utf-8" in offered:
        return "utf-8"
    counts_characters = name in COUNTS_CHARACTERS and ("utf-32" in offered or not offered)
    return "utf-32" if counts_characters else "utf-16"


def _own(params: types.InitializeParams) -> ClientCapabilities:
    """Return `capabilities.experimental.pygent`, whose values are not validated."""
    experimental: Any = params.capabilities.experimental
    own = cast("Mapping[str, Any]", experimental).get("pygent") if isinstance(experimental, Mapping) else None
    return cast("ClientCapabilities", own) if isinstance(own, Mapping) else {}


def editor_options(params: types.InitializeParams) -> Any:
    """Return `initializationOptions.pygent` as received; None if it is missing."""
    options: Any = params.initialization_options
    return cast("Mapping[str, Any]", options).get("pygent") if isinstance(options, Mapping) else None
