"""Language features by the Language Server Protocol: the sources are asked in order until one has an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.json_fields import obj, objects
from pygent_ls.agent.json_fields import text as text_of
from pygent_ls.agent.ports.language_features import (
    Call,
    CallDirection,
    CheckedFile,
    CodeAction,
    CodeLocation,
    CodeSymbol,
    Feature,
    LocationKind,
)
from pygent_ls.agent.ports.workspace import Document, EditPlan, Workspace
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.answers import (
    calls_of,
    hover_of,
    locations_of,
    problems_of,
    symbols_of,
)
from pygent_ls.extensions.language_servers.peers import Base, LanguagePeer, LanguageSource, RawAnswer, RawProblems
from pygent_ls.extensions.language_servers.text_positions import TextLines, name_at, position_of, replacements
from pygent_ls.extensions.language_servers.workspace_edits import FileEdits, parts_of, plan_of

MAX_ACTIONS = 50

DIAGNOSTICS_S = 2.0
"""Maximum time for the diagnostics that code actions belong to."""

Found = TypeVar("Found")

Params = Mapping[str, Any]


class _RawAction(Struct, frozen=True):
    peer: LanguagePeer
    action: Mapping[str, Any]
    params: Params
    bases: Mapping[Path, Base]


class LspFeatures:
    """Implementation of the `LanguageFeatures` port."""

    def __init__(self, sources: Sequence[LanguageSource], workspace: Workspace) -> None:
        self._sources = sources
        self._workspace = workspace

    @property
    def offered(self) -> Collection[Feature]:
        return {feature for source in self._sources for feature in source.offered}

    def prepare(self, paths: Sequence[Path]) -> None:
        for source in self._sources:
            source.prepare(paths)

    async def locations(self, kind: LocationKind, document: Document, line: int, column: int) -> Sequence[CodeLocation]:
        more = {"context": {"includeDeclaration": True}} if kind == "references" else {}

        async def ask(peer: LanguagePeer) -> Sequence[CodeLocation]:
            answer = await peer.ask(kind, {**_at(peer, document, line, column), **more})
            return locations_of(answer.value, peer.path_of)

        return await self._first(kind, document, ask) or ()

    async def hover(self, document: Document, line: int, column: int) -> str:
        async def ask(peer: LanguagePeer) -> str:
            return hover_of((await peer.ask("hover", _at(peer, document, line, column))).value)

        return await self._first("hover", document, ask) or ""

    async def document_symbols(self, document: Document) -> Sequence[CodeSymbol]:
        async def ask(peer: LanguagePeer) -> Sequence[CodeSymbol]:
            answer = await peer.ask("document_symbols", {"textDocument": {"uri": peer.uri_of(document.path)}})
            return symbols_of(answer.value, document.path, peer.path_of)

        return await self._first("document_symbols", document, ask) or ()

    async def workspace_symbols(self, query: str) -> Sequence[CodeSymbol]:
        async def ask(peer: LanguagePeer) -> Sequence[CodeSymbol]:
            answer = await peer.ask("workspace_symbols", {"query": query})
            return symbols_of(answer.value, None, peer.path_of)

        return await self._first("workspace_symbols", None, ask) or ()

    async def calls(self, direction: CallDirection, document: Document, line: int, column: int) -> Sequence[Call]:
        async def ask(peer: LanguagePeer) -> Sequence[Call]:
            params = {**_at(peer, document, line, column), "direction": direction}
            answer = await peer.ask("call_hierarchy", params)
            return calls_of(answer.value, direction, document.path, peer.path_of)

        return await self._first("call_hierarchy", document, ask) or ()

    async def rename(self, document: Document, line: int, column: int, new_name: str) -> EditPlan | None:
        async def ask(peer: LanguagePeer) -> EditPlan | None:
            params = {**_at(peer, document, line, column), "newName": new_name}
            answer = await peer.ask("rename", params)
            if await self._learn_files_of(answer, peer):  # the answer is then about the texts that the peer knows now
                answer = await peer.ask("rename", params)
            label = f"Rename to {one_line(new_name)}"
            return await plan_of(answer, peer, self._workspace, label, _renamed(answer, peer, document, line, column))

        return await self._first("rename", document, ask)

    async def code_actions(self, document: Document, first: int, last: int) -> Sequence[CodeAction]:
        found: list[CodeAction] = []
        for peer in await self._peers("code_actions", document):
            lines = TextLines(document.text, peer.encoding)
            end = lines.position(last - 1, len(lines.line(last - 1)))
            where = {"start": lines.position(first - 1, 0), "end": end}
            context = {"diagnostics": await self._diagnostics_at(peer, document, first, last)}
            params = {"textDocument": {"uri": peer.uri_of(document.path)}, "range": where, "context": context}
            answer = await peer.ask("code_actions", params)
            given = [each for each in objects(answer.value) if text_of(each.get("title"))]
            found += [_action(each, _RawAction(peer, each, params, answer.bases)) for each in given]
        unique = {(each.title, each.kind): each for each in reversed(found)}
        return [each for each in found if unique[each.title, each.kind] is each][:MAX_ACTIONS]

    async def plan_action(self, action: CodeAction) -> EditPlan:
        raw = action.raw
        if action.obstacle or not isinstance(raw, _RawAction):
            raise ToolError(f"{action.title!r} cannot be applied: {action.obstacle}.")
        answer = await raw.peer.resolve(raw.action, raw.params)
        edit = obj(answer.value).get("edit")
        bases = {**answer.bases, **raw.bases}  # a text that has changed since the action was listed is stale
        whole = RawAnswer(value=edit, encoding=answer.encoding, bases=bases)
        plan = await plan_of(whole, raw.peer, self._workspace, one_line(action.title))
        if plan is None:
            raise ToolError(f"{action.title!r} changes no file by itself, so it cannot be applied.")
        return plan

    async def checked(self, document: Document, wait_s: float) -> CheckedFile | None:
        for source in self._sources:
            peers = [each for each in await source.peers(document.path) if each.has("diagnostics")]
            found = await asyncio.gather(*(_problems(peer, document, wait_s) for peer in peers))
            reports = [each for each in found if each is not None]
            if reports:  # what the editor checks itself is not checked twice
                problems = [each for one in reports for each in problems_of(one.items, document.text, one.encoding)]
                return CheckedFile(
                    path=document.path,
                    text=document.text,
                    problems=tuple(sorted(dict.fromkeys(problems), key=lambda each: (each.line, each.column))),
                    is_complete=all(each.is_complete for each in reports),
                )
        return None

    async def formatted(self, path: Path, text: str, *, on_save_only: bool, is_written: bool = False) -> str | None:
        feature: Feature = "format_written" if is_written else "format"
        for source in self._sources:
            if feature not in source.offered:
                continue
            for peer in await source.peers(path):
                if not peer.has(feature):
                    continue
                try:
                    found = await peer.format(path, text, on_save_only=on_save_only)
                except ToolError:  # a text with a syntax error, for example
                    continue
                if found is not None:
                    return found
        return None

    async def _peers(self, feature: Feature, document: Document | None) -> Sequence[LanguagePeer]:
        """Return the peers that have a feature; they know the document's text."""
        found: list[LanguagePeer] = []
        for source in self._sources:
            if feature not in source.offered:
                continue
            for peer in await source.peers(document.path if document else None):
                if peer.has(feature):
                    if document is not None:
                        await peer.learn(document)
                    found.append(peer)
        return found

    async def _first(
        self, feature: Feature, document: Document | None, ask: Callable[[LanguagePeer], Awaitable[Found]]
    ) -> Found | None:
        """Return the first answer that is not empty. If all are empty, raises the first error."""
        problem: ToolError | None = None
        for peer in await self._peers(feature, document):
            try:
                if found := await ask(peer):
                    return found
            except ToolError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return None

    async def _learn_files_of(self, answer: RawAnswer, peer: LanguagePeer) -> bool:
        """Show the peer the text of every file that an edit changes; return whether there was any it did not hold."""
        is_new = False
        for part in parts_of(answer.value):
            path = peer.path_of(part.uri) if isinstance(part, FileEdits) else None
            if path is not None and path not in answer.bases and peer.holds_texts:
                await peer.learn(await self._workspace.read(path))
                is_new = True
        return is_new

    async def _diagnostics_at(
        self, peer: LanguagePeer, document: Document, first: int, last: int
    ) -> Sequence[Mapping[str, Any]]:
        """Return the peer's own diagnostics of some lines, which fixes belong to."""
        found = await _problems(peer, document, DIAGNOSTICS_S) if peer.has("diagnostics") else None
        items = found.items if found is not None else ()
        return [each for each in items if _touches(each, first - 1, last - 1)]


async def _problems(peer: LanguagePeer, document: Document, wait_s: float) -> RawProblems | None:
    """Return the problems of a document; None also if the peer fails, so that the next source is asked."""
    try:
        return await peer.problems(document, wait_s)
    except ToolError:
        return None


def _touches(item: Mapping[str, Any], first: int, last: int) -> bool:
    where = obj(item.get("range"))
    try:
        (start, _), (end, _) = position_of(where.get("start")), position_of(where.get("end"))
    except ToolError:
        return False
    return start <= last and end >= first


def _at(peer: LanguagePeer, document: Document, line: int, column: int) -> dict[str, Any]:
    position = TextLines(document.text, peer.encoding).position(line - 1, column)
    return {"textDocument": {"uri": peer.uri_of(document.path)}, "position": position}


def _renamed(answer: RawAnswer, peer: LanguagePeer, document: Document, line: int, column: int) -> str:
    """Return the name that a rename replaces. Of a text that the peer was told, its own edit shows it best: some
    languages have names with other characters."""
    lines = TextLines(document.text, answer.encoding)
    at = lines.offset(lines.position(line - 1, column))
    base = answer.bases.get(document.path)
    if base is not None and base.digest == document.digest:
        for part in parts_of(answer.value):
            if isinstance(part, FileEdits) and peer.path_of(part.uri) == document.path:
                for start, end, _ in replacements(document.text, part.edits, answer.encoding):
                    if start <= at < end:
                        return document.text[start:end]
    return name_at(document.text, at)


def _action(item: Mapping[str, Any], raw: _RawAction) -> CodeAction:
    obstacle = ""
    if obj(item.get("disabled")):
        obstacle = "its server says that it does not apply here"
    elif isinstance(item.get("command"), str) or ("edit" not in item and "command" in item and "data" not in item):
        obstacle = "it runs a command of its server instead of making an edit"
    return CodeAction(
        title=one_line(str(item["title"]), 200),
        kind=text_of(item.get("kind")),
        obstacle=obstacle,
        raw=raw,
    )
