"""Workspace edits of language servers as edit plans, made from the texts that the server computed them from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.agent.json_fields import obj, objects
from pygent_ls.agent.json_fields import text as text_of
from pygent_ls.agent.ports.workspace import EditPlan, FileOperation, MoveFile, Workspace, WriteText
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.extensions.language_servers.peers import LanguagePeer, RawAnswer
from pygent_ls.extensions.language_servers.text_positions import Encoding, edited, is_of_name, name_at, replacements

MAX_FILES = 200
"""Maximum number of files that one edit changes: a permission question shows their whole diff."""


class FileEdits(Struct, frozen=True, kw_only=True):
    """Edits of one file, with the version of the document that they refer to."""

    uri: str
    version: int | None
    edits: Sequence[Mapping[str, Any]]


class FileMove(Struct, frozen=True, kw_only=True):
    """Rename of a file."""

    old_uri: str
    new_uri: str


def parts_of(value: object) -> list[FileEdits | FileMove]:
    """Return the parts of a WorkspaceEdit, in order. Raises `ToolError` for one that cannot be carried out whole."""
    given = obj(value)
    parts: list[FileEdits | FileMove] = []
    if isinstance(given.get("documentChanges"), list):
        parts += _document_changes(objects(given["documentChanges"]))
    else:
        for uri, edits in obj(given.get("changes")).items():
            parts.append(FileEdits(uri=uri, version=None, edits=objects(edits)))
    if len(parts) > MAX_FILES:
        raise ToolError(
            f"This would change {len(parts)} files, but one call may change at most {MAX_FILES}. Nothing was changed."
        )
    return parts


def _document_changes(items: Sequence[Mapping[str, Any]]) -> Iterator[FileEdits | FileMove]:
    for item in items:
        kind, document = text_of(item.get("kind")), obj(item.get("textDocument"))
        if kind == "rename":
            yield FileMove(old_uri=text_of(item.get("oldUri")), new_uri=text_of(item.get("newUri")))
        elif kind:
            raise ToolError(
                f"The language server wants to {kind} a file with this, which is not supported. Nothing was changed. "
                "Make the change with the file tools."
            )
        else:
            version = document.get("version")
            known = version if isinstance(version, int) else None
            yield FileEdits(uri=text_of(document.get("uri")), version=known, edits=objects(item.get("edits")))


async def plan_of(
    answer: RawAnswer, peer: LanguagePeer, workspace: Workspace, label: str, renamed: str = ""
) -> EditPlan | None:
    """Return the plan of a WorkspaceEdit; None if it changes nothing.

    The edit of a file whose text the server was not told is taken only if it renames a symbol, `renamed`, and replaces
    nothing but that name: nothing else shows that the file is still what the server computed the edit from.

    Raises `StaleDocumentError` if a file is no longer that, and `ToolError` for a file outside of the workspace, or an
    edit that cannot be carried out whole.
    """
    operations: list[FileOperation] = []
    written: set[Path] = set()
    for part in parts_of(answer.value):
        match part:
            case FileMove(old_uri=old, new_uri=new):
                source, destination = (_inside(uri, peer, workspace) for uri in (old, new))
                operations.append(MoveFile(source=source, destination=destination))
            case FileEdits(uri=uri):
                path = _inside(uri, peer, workspace)
                if path in written:
                    raise ToolError(f"The language server edits {workspace.shown(path)} twice. Nothing was changed.")
                write = await _write(path, part, answer, workspace, renamed)
                if write is not None:
                    written.add(path)
                    operations.append(write)
    return EditPlan(label=label, operations=tuple(operations), result="") if operations else None


async def _write(
    path: Path, part: FileEdits, answer: RawAnswer, workspace: Workspace, renamed: str
) -> WriteText | None:
    before = await workspace.read(path)
    base = answer.bases.get(path)
    if base is None:
        _check_names(workspace.shown(path), before.text, part, answer.encoding, renamed)
    elif part.version not in (None, base.version) or base.digest != before.digest:
        raise StaleDocumentError(
            f"{workspace.shown(path)} was changed while the language server computed this edit. Nothing was changed. "
            "Make the call again."
        )
    text = edited(before.text, part.edits, answer.encoding)
    if text == before.text:
        return None
    return WriteText(path=path, before=before, text=text, encoding=before.encoding)


def _check_names(shown: str, text: str, part: FileEdits, encoding: Encoding, renamed: str) -> None:
    """Check the edits of a text that the server was not told. Raises `StaleDocumentError` if one replaces something
    other than the whole name, or inserts anything that does not touch it, and `ToolError` if nothing is renamed."""
    if not renamed:
        raise ToolError(
            f"The language server edits {shown}, which is not open, so that nothing shows which text of the file it "
            "knows. Nothing was changed. Make the change with the file tools."
        )
    for start, end, _ in replacements(text, part.edits, encoding):
        name = text[start:end] if end > start else name_at(text, start)
        around = text[max(0, start - 1) : start] + text[end : end + 1]
        is_whole = end == start or not any(map(is_of_name, around))
        if name != renamed or not is_whole:
            raise StaleDocumentError(
                f"The language server's edit does not fit what {shown} holds now: it replaces something other than "
                f"{renamed}. Nothing was changed. Maybe the server has not noticed a change of the file: open it in "
                "the editor, or find the uses with grep_search and change them with multi_edit."
            )


def _inside(uri: str, peer: LanguagePeer, workspace: Workspace) -> Path:
    path = peer.path_of(uri)
    if path is None:
        raise ToolError(f"The language server wants to change {uri}, which is no file. Nothing was changed.")
    return workspace.resolve(str(path))
