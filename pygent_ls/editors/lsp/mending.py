"""Messages as some clients send them, made what the protocol says they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from lsprotocol import types

from pygent_ls.editors.lsp.diagnostics import action_context


def mended(method: str, params: Mapping[str, Any], version_of: Callable[[str], int]) -> dict[str, Any]:
    """The parameters with what can be told from the rest: a version that is missing or null, a null range, the
    language, settings that are left out; arguments of a command that are no list; what diagnostics of other servers
    have that is not known. Everything else stays as it is, right or wrong. `version_of` tells the last version of a
    document.
    """
    match method:
        case types.WORKSPACE_DID_CHANGE_CONFIGURATION:
            return {"settings": None, **params}
        case types.WORKSPACE_EXECUTE_COMMAND:
            return {**params, "arguments": _arguments(params.get("arguments"))}
        case types.TEXT_DOCUMENT_CODE_ACTION if isinstance(params.get("context"), dict):
            return {**params, "context": action_context(params["context"], params.get("range"))}
        case _:
            return _with_document(method, params, version_of)


def _with_document(method: str, params: Mapping[str, Any], version_of: Callable[[str], int]) -> dict[str, Any]:
    document = params.get("textDocument")
    if not isinstance(document, dict):
        return dict(params)
    given = cast("dict[str, Any]", document)
    match method:
        case types.TEXT_DOCUMENT_DID_OPEN:
            item = {"languageId": "", "version": 0, **_said(given, "languageId", "version")}
            return {**params, "textDocument": item}
        case types.TEXT_DOCUMENT_DID_CHANGE:
            uri = given.get("uri")
            version = version_of(uri) + 1 if isinstance(uri, str) else 0
            changed = {**params, "textDocument": {"version": version, **_said(given, "version")}}
            changes = params.get("contentChanges")
            if isinstance(changes, list):
                changed["contentChanges"] = [_change(each) for each in cast("list[Any]", changes)]
            return changed
        case _:
            return dict(params)


def document_of(params: object) -> str | None:
    """The URI of the document that parameters are about, however wrong they are else."""
    document = cast("Mapping[str, Any]", params).get("textDocument") if isinstance(params, Mapping) else None
    uri = cast("Mapping[str, Any]", document).get("uri") if isinstance(document, Mapping) else None
    return uri if isinstance(uri, str) else None


def _arguments(given: Any) -> list[Any]:
    """Clients that let their users type them send one alone, too."""
    if given is None:
        return []
    return cast("list[Any]", given) if isinstance(given, list) else [given]


def _change(change: Any) -> Any:
    return _said(cast("dict[str, Any]", change), "range", "rangeLength") if isinstance(change, dict) else change


def _said(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Without those of the names that are null."""
    return {key: value for key, value in given.items() if value is not None or key not in names}
