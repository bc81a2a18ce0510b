"""The editor's own language servers, asked through the client. Implements `LanguageSource` and `LanguagePeer`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pygent_ls.agent.json_fields import obj, objects, text
from pygent_ls.agent.ports.language_features import Feature
from pygent_ls.agent.ports.workspace import Document
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.protocol.language import LanguageAnswer
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.peers import Base, LanguagePeer, RawAnswer, RawProblems
from pygent_ls.extensions.language_servers.text_positions import Encoding

FEATURES: Mapping[str, tuple[Feature, ...]] = {
    "diagnostics": ("diagnostics",),
    "locations": ("definition", "implementation", "type_definition", "references"),
    "hover": ("hover",),
    "symbols": ("document_symbols", "workspace_symbols"),
    "calls": ("call_hierarchy",),
    "rename": ("rename",),
    "codeActions": ("code_actions",),
    "format": ("format",),
    "formatWritten": ("format_written",),
}
"""Features by what the client lists in its capabilities: names of requests `pygent/client/…`, and `formatWritten`."""

REQUESTS: Mapping[Feature, str] = {feature: name for name, features in FEATURES.items() for feature in features}

SLOW_S = 20.0
"""Additional time for answers of the editor's servers, of which some are still starting."""


class LanguageClient:
    """The client as a source of answers, as far as it lists that it gives them."""

    holds_texts = False

    def __init__(
        self, endpoint: RpcEndpoint, features: ClientFeatures, buffers: Buffers, uri_of: Callable[[Path], str]
    ) -> None:
        self.encoding: Encoding = features.encoding
        self._endpoint = endpoint
        self._offered: frozenset[Feature] = frozenset(
            feature for name in features.language_features for feature in FEATURES.get(name, ())
        )
        self._buffers = buffers
        self._uri_of = uri_of

    # The source

    @property
    def offered(self) -> Collection[Feature]:
        return self._offered

    def prepare(self, paths: Sequence[Path]) -> None:
        """Do nothing: the editor checks what is open."""

    async def peers(self, path: Path | None) -> Sequence[LanguagePeer]:
        return [self] if self._offered else []

    # The peer

    def has(self, feature: Feature) -> bool:
        return feature in self._offered

    def uri_of(self, path: Path) -> str:
        return self._uri_of(path)

    def path_of(self, uri: str) -> Path | None:
        return path_of(uri)

    async def learn(self, document: Document) -> None:
        """Do nothing: the editor has the document, or its file."""

    async def ask(self, feature: Feature, params: Mapping[str, Any]) -> RawAnswer:
        document = {"uri": text(obj(params.get("textDocument")).get("uri")) or None}
        position = {"position": params.get("position")}
        match feature:
            case "definition" | "implementation" | "type_definition" | "references":
                given = {"kind": feature, **document, **position}
            case "document_symbols" | "workspace_symbols":
                given = {**document, "query": params.get("query")}
            case "call_hierarchy":
                given = {"direction": params["direction"], **document, **position}
            case "rename":
                given = {**document, **position, "newName": params["newName"]}
            case "code_actions":
                given = {**document, "range": params["range"], "title": None}
            case "hover":
                given = {**document, **position}
            case "diagnostics" | "format" | "format_written":
                raise ValueError(f"{feature} has a method of its own")
        bases = self._bases()
        answer = await self._ask(REQUESTS[feature], given)
        return RawAnswer(value=answer.result, encoding=self._encoding_of(answer), bases=bases)

    def _bases(self) -> Mapping[Path, Base]:
        documents = [each.document() for each in self._buffers]
        return {each.path: Base(each.version or 0, each.digest) for each in documents}

    async def resolve(self, action: Mapping[str, Any], params: Mapping[str, Any]) -> RawAnswer:
        document, bases = text(obj(params.get("textDocument")).get("uri")), self._bases()
        answer = await self._ask(
            "codeActions", {"uri": document, "range": params["range"], "title": text(action.get("title"))}
        )
        resolved = [each for each in objects(answer.result) if obj(each.get("edit"))]
        return RawAnswer(value=resolved[0] if resolved else action, encoding=self._encoding_of(answer), bases=bases)

    async def problems(self, document: Document, wait_s: float) -> RawProblems | None:
        given = {"uri": self.uri_of(document.path), "version": document.version, "waitMs": int(wait_s * 1_000)}
        answer = await self._ask("diagnostics", given, longer_s=wait_s)
        if answer.result is None:
            return None
        return RawProblems(
            items=objects(answer.result),
            encoding=self._encoding_of(answer),
            is_complete=answer.is_settled is True,
        )

    async def format(self, path: Path, text: str, *, on_save_only: bool) -> str | None:
        given = {"uri": self.uri_of(path), "text": text, "onSaveOnly": on_save_only}
        found = (await self._ask("format", given)).result
        return found if isinstance(found, str) else None

    async def _ask(self, name: str, params: Mapping[str, Any], longer_s: float = SLOW_S) -> LanguageAnswer:
        """Send a request. Raises `ToolError` if the client refuses it, or answers something else."""
        try:
            answer = await self._endpoint.ask(f"pygent/client/{name}", params, longer_s=longer_s)
            return valid(LanguageAnswer, answer if answer is not None else {})
        except ClientError as error:
            raise ToolError(f"The editor did not answer: {error}") from None
        except InvalidValueError:
            raise ToolError(f"The editor's answer to pygent/client/{name} cannot be understood.") from None

    def _encoding_of(self, answer: LanguageAnswer) -> Encoding:
        match answer.position_encoding:
            case "utf-8" | "utf-16" | "utf-32" as encoding:
                return encoding
            case _:
                return self.encoding
