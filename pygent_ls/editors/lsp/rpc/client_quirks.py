"""Normalisation of messages that violate the protocol, as some clients send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pygent_ls.editors.lsp.rpc.diagnostic_quirks import action_context


def mended(method: str, params: Mapping[str, Any], version_of: Callable[[str], int]) -> dict[str, Any]:
    """Return the parameters with defaults for missing or null members: document version and language. Also makes the
    arguments of a command a list, and drops invalid members of other servers' diagnostics. All other members stay,
    valid or not. `version_of` returns the last version of a document."""
    match method:
        case "workspace/executeCommand":
            return {**params, "arguments": _arguments(params.get("arguments"))}
        case "textDocument/codeAction" if isinstance(params.get("context"), dict):
            return {**params, "context": action_context(params["context"], params.get("range"))}
        case _:
            return _with_document(method, params, version_of)


def _with_document(method: str, params: Mapping[str, Any], version_of: Callable[[str], int]) -> dict[str, Any]:
    document = params.get("textDocument")
    if not isinstance(document, dict):
        return dict(params)
    given = cast("dict[str, Any]", document)
    match method:
        case "textDocument/didOpen":
            item = {"languageId": "", "version": 0, **_said(given, "languageId", "version")}
            return {**params, "textDocument": item}
        case "textDocument/didChange":
            uri = given.get("uri")
            version = version_of(uri) + 1 if isinstance(uri, str) else 0
            return {**params, "textDocument": {"version": version, **_said(given, "version")}}
        case _:
            return dict(params)


def document_of(params: object, member: str = "textDocument") -> str | None:
    """Return the URI of the document that the parameters name, even if they are otherwise invalid."""
    document = cast("Mapping[str, Any]", params).get(member) if isinstance(params, Mapping) else None
    uri = cast("Mapping[str, Any]", document).get("uri") if isinstance(document, Mapping) else None
    return uri if isinstance(uri, str) else None


def _arguments(given: Any) -> list[Any]:
    """Return the arguments as a list; clients whose users type the arguments may send a single value."""
    if given is None:
        return []
    return cast("list[Any]", given) if isinstance(given, list) else [given]


def _said(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the members without those of the named ones that are null."""
    return {key: value for key, value in given.items() if value is not None or key not in names}
