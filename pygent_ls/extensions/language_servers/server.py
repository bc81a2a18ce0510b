"""One language server that the daemon has started."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pygent_ls import __version__
from pygent_ls.agent.display_text import visible
from pygent_ls.agent.json_fields import obj, objects
from pygent_ls.agent.json_fields import text as text_of
from pygent_ls.agent.ports.language_features import Feature
from pygent_ls.agent.ports.workspace import Document
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.documents import OpenDocument, ServerDocuments
from pygent_ls.extensions.language_servers.file_watch import FileWatch
from pygent_ls.extensions.language_servers.peers import Base, RawAnswer, RawProblems
from pygent_ls.extensions.language_servers.process import SERVER_CANCELLED, RpcError, RpcProcess
from pygent_ls.extensions.language_servers.specs import LanguageServerHost, LanguageServerSpec
from pygent_ls.extensions.language_servers.text_positions import Encoding, edited, path_of_uri
from pygent_ls.extensions.line_process import spec_of
from pygent_ls.extensions.variables import filled

log = logging.getLogger(__name__)

GRACE_S = 1.0
"""Time for the server to shut down by itself; SIGTERM follows."""

QUIET_S = 0.1
"""Time without news after which the problems of a version count as complete: pyright publishes an empty list first,
and TypeScript's server the errors of syntax."""

QUIET_WITHOUT_VERSION_S = 0.3
"""The same for a server that names no versions, whose last list may be that of the version before."""

READY_S = 10.0
"""Maximum time until a server that has just started has checked the first document. Before, many know only a part of
the project, and their answers lack the rest."""

MAX_TIMEOUTS = 3
"""Number of requests in a row without an answer after which the server is ended."""

MAX_LOG_CHARS = 2_000

METHODS: Mapping[Feature, tuple[str, str]] = {
    "definition": ("textDocument/definition", "definitionProvider"),
    "implementation": ("textDocument/implementation", "implementationProvider"),
    "type_definition": ("textDocument/typeDefinition", "typeDefinitionProvider"),
    "references": ("textDocument/references", "referencesProvider"),
    "hover": ("textDocument/hover", "hoverProvider"),
    "document_symbols": ("textDocument/documentSymbol", "documentSymbolProvider"),
    "workspace_symbols": ("workspace/symbol", "workspaceSymbolProvider"),
    "call_hierarchy": ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
    "rename": ("textDocument/rename", "renameProvider"),
    "code_actions": ("textDocument/codeAction", "codeActionProvider"),
    "format": ("textDocument/formatting", "documentFormattingProvider"),
}
"""Method of each feature, and the server's capability for it."""

SYMBOL_KINDS = list(range(1, 27))

CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-32", "utf-16", "utf-8"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "symbol": {"symbolKind": {"valueSet": SYMBOL_KINDS}},
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
    },
    "window": {"workDoneProgress": True},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": False},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, "symbolKind": {"valueSet": SYMBOL_KINDS}},
        "callHierarchy": {},
        "rename": {"prepareSupport": False},
        "formatting": {},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
            "dataSupport": True,
            "disabledSupport": True,
            "isPreferredSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
}
"""Capabilities of the daemon as a client."""


class LanguageServer:
    """A running server. Implements `LanguagePeer`."""

    holds_texts = True

    def __init__(self, spec: LanguageServerSpec, root: Path, host: LanguageServerHost, watch: FileWatch) -> None:
        self.spec = spec
        self.watch = watch
        self.root = root
        self.encoding: Encoding = "utf-16"
        self._host = host
        self._capabilities: Mapping[str, Any] = {}
        self._documents = ServerDocuments()
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_timeouts = 0
        self._n_asked = 0
        self._is_ready = False
        self._working: set[str] = set()
        """Tokens of what the server reports to be working on."""
        self._process: RpcProcess | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it has been asked something that it has not answered yet."""
        return self._n_asked > 0

    @property
    def runs(self) -> bool:
        """Whether its program runs."""
        return self._process is not None and self._process.runs

    async def start(self) -> None:
        """Start it and shake hands. Raises `ToolError`."""
        program, *arguments = self.spec.command
        env = {name: filled(value, os.environ) for name, value in self.spec.env.items()}
        spec = spec_of((self._path_of(program), *arguments), self.root, env)
        self._process = RpcProcess(self._host.run, spec, self._log, self._handle, self._take)
        self._process.start()
        self._own(self._tell_end(self._process))
        try:
            answer = await self._process.request("initialize", self._initialize(), self.spec.startup_timeout_s)
        except TimeoutError:
            raise ToolError(f"It did not start within {self.spec.startup_timeout_s:g} s.") from None
        self._capabilities = obj(obj(answer).get("capabilities"))
        encoding = self._capabilities.get("positionEncoding")
        self.encoding = encoding if encoding in ("utf-8", "utf-16", "utf-32") else "utf-16"
        self._process.notify("initialized", {})
        if self.spec.settings:
            self._process.notify("workspace/didChangeConfiguration", {"settings": self.spec.settings})

    async def stop(self) -> None:
        """End it; its process is gone when this returns."""
        if self._process is not None:
            await self._process.stop(GRACE_S)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def has(self, feature: Feature) -> bool:
        return feature == "diagnostics" or bool(self._capabilities.get(METHODS[feature][1]))

    def uri_of(self, path: Path) -> str:
        return path.as_uri()

    def path_of(self, uri: str) -> Path | None:
        return path_of_uri(uri)

    @property
    def open_stamps(self) -> Mapping[Path, str]:
        """Documents that it has open, each with the stamp that it had when it was last compared."""
        return {path: each.stamp for path, each in self._documents.open.items()}

    async def learn(self, document: Document) -> None:
        self._learn(document.path, document.text, document.digest, is_saved=document.version is None)
        self._documents.open[document.path].stamp = document.stamp

    def forget(self, path: Path) -> None:
        """Close a document whose file is gone."""
        if self._documents.open.pop(path, None) is not None:
            self._running.notify("textDocument/didClose", {"textDocument": {"uri": self.uri_of(path)}})

    def tell_changes(self, changes: Sequence[tuple[Path, int]]) -> None:
        """Tell the server which files have changed on the disk, each with the kind of its change."""
        if changes:
            told = [{"uri": self.uri_of(path), "type": kind} for path, kind in changes]
            self._running.notify("workspace/didChangeWatchedFiles", {"changes": told})

    async def ask(self, feature: Feature, params: Mapping[str, Any]) -> RawAnswer:
        await self._until_ready(text_of(obj(params.get("textDocument")).get("uri")))
        if feature == "call_hierarchy":
            return RawAnswer(value=await self._calls(params), encoding=self.encoding)
        bases = {path: Base(each.version, each.digest) for path, each in self._documents.open.items()}
        value = await self._request(METHODS[feature][0], params)
        return RawAnswer(value=value, encoding=self.encoding, bases=bases)

    async def resolve(self, action: Mapping[str, Any], params: Mapping[str, Any]) -> RawAnswer:
        can = obj(self._capabilities.get("codeActionProvider")).get("resolveProvider") is True
        if "edit" in action or not can:
            return RawAnswer(value=action, encoding=self.encoding)
        return RawAnswer(value=await self._request("codeAction/resolve", action), encoding=self.encoding)

    async def problems(self, document: Document, wait_s: float) -> RawProblems | None:
        await self.learn(document)
        uri = self.uri_of(document.path)
        until_s = asyncio.get_running_loop().time() + wait_s
        if self._capabilities.get("diagnosticProvider"):
            pulled = await self._pulled(uri, until_s)
            published = self._documents.published.get(uri)
            beside = published.items if published and self._is_current(document.path, published.version) else ()
            items = [*(pulled or ()), *(each for each in beside if each not in (pulled or ()))]
            return RawProblems(items=items, encoding=self.encoding, is_complete=pulled is not None)
        is_complete = await self._until_published(document.path, until_s)
        published = self._documents.published.get(uri) if is_complete else None
        return RawProblems(items=published.items if published else (), encoding=self.encoding, is_complete=is_complete)

    async def format(self, path: Path, text: str, *, on_save_only: bool) -> str | None:
        """Format a text that the file does not have yet: the server is shown it as a version of the document."""
        if on_save_only or not self.has("format"):
            return None
        before = self._documents.open.get(path)
        held = (before.text, before.digest) if before else None
        self._learn(path, text, "", is_saved=False)
        params = {
            "textDocument": {"uri": self.uri_of(path)},
            "options": {"tabSize": 4, "insertSpaces": "\n\t" not in text, "trimTrailingWhitespace": True},
        }
        try:
            answer = await self._request(METHODS["format"][0], params)
            return edited(text, objects(answer), self.encoding)
        finally:
            if self.runs:
                if held is not None:
                    self._learn(path, *held, is_saved=False)
                else:
                    self._documents.open.pop(path, None)
                    self._running.notify("textDocument/didClose", {"textDocument": {"uri": self.uri_of(path)}})

    # Messages to the server

    @property
    def _running(self) -> RpcProcess:
        if self._process is None or not self._process.runs:
            why = self._process.why_ended if self._process else "It was not started."
            raise ToolError(f"The language server {self.spec.name} does not run. {why}")
        return self._process

    async def _request(self, method: str, params: object, timeout_s: float | None = None) -> Any:
        """Return the result. A server that answers nothing any more is ended. Raises `ToolError`."""
        limit_s = self.spec.timeout_s if timeout_s is None else timeout_s
        process = self._running
        try:
            with self._asked():
                answer = await process.request(method, params, limit_s)
        except TimeoutError:
            self._n_timeouts += timeout_s is None
            if self._n_timeouts >= MAX_TIMEOUTS:
                self._own(process.stop(0.0))
            raise ToolError(
                f"The language server {self.spec.name} did not answer {method} within {limit_s:g} s."
            ) from None
        except RpcError as error:
            raise RpcError(f"The language server {self.spec.name} answered: {error}", error.code) from None
        self._n_timeouts = 0
        return answer

    @contextmanager
    def _asked(self) -> Generator[None]:
        """Count a wait for the server."""
        self._n_asked += 1
        try:
            yield
        finally:
            self._n_asked -= 1

    async def _calls(self, params: Mapping[str, Any]) -> list[Any]:
        place = {name: value for name, value in params.items() if name != "direction"}
        items = await self._request("textDocument/prepareCallHierarchy", place)
        method = f"callHierarchy/{params['direction']}Calls"
        found: list[Any] = []
        for item in objects(items)[:5]:
            calls = await self._request(method, {"item": item})
            found += [{**call, "caller": item} for call in objects(calls)]
        return found

    def _learn(self, path: Path, text: str, digest: str, *, is_saved: bool) -> None:
        known, process, uri = self._documents.open.get(path), self._running, self.uri_of(path)
        if known is not None and known.text == text:
            known.digest = digest
            self._documents.open.move_to_end(path)
            return
        version = known.version + 1 if known else 1
        self._documents.open[path] = OpenDocument(version, digest, text, self._documents.moment())
        self._documents.open.move_to_end(path)
        if known is None:
            language = self.spec.language_of(path)
            document = {"uri": uri, "languageId": language, "version": version, "text": text}
            process.notify("textDocument/didOpen", {"textDocument": document})
            if (closing := self._documents.least_used()) is not None:
                del self._documents.open[closing]
                process.notify("textDocument/didClose", {"textDocument": {"uri": self.uri_of(closing)}})
            return
        document = {"uri": uri, "version": version}
        process.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        if is_saved:
            process.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": text})

    async def _until_ready(self, uri: str) -> None:
        """Wait until the server has checked a document for the first time, and is not busy."""
        if self._is_ready:
            return
        clock, path = asyncio.get_running_loop().time, self.path_of(uri)
        until_s = clock() + READY_S
        if self._capabilities.get("diagnosticProvider"):
            await self._pulled(uri, until_s)
        elif path is not None:
            await self._until_published(path, until_s)
        while self._working and clock() < until_s:
            await self._until_news(until_s - clock())
        self._is_ready = True

    # Diagnostics

    async def _pulled(self, uri: str, until_s: float) -> Sequence[Mapping[str, Any]] | None:
        """Ask for the problems of a document until the server has them, or the time is over."""
        clock = asyncio.get_running_loop().time
        while True:
            try:
                left_s = max(0.01, until_s - clock())
                answer = await self._request(
                    "textDocument/diagnostic", {"textDocument": {"uri": uri}}, min(left_s, self.spec.timeout_s)
                )
            except RpcError as error:
                if error.code != SERVER_CANCELLED or clock() >= until_s:
                    return None
                await asyncio.sleep(min(0.1, max(0.0, until_s - clock())))
                continue
            except ToolError:
                return None
            return objects(obj(answer).get("items"))

    async def _until_published(self, path: Path, until_s: float) -> bool:
        """Wait until the server has published problems of the newest version of a document; return whether it has."""
        clock, uri = asyncio.get_running_loop().time, self.uri_of(path)
        while True:
            published, document = self._documents.published.get(uri), self._documents.open.get(path)
            wait_s = until_s - clock()
            if published is not None and document is not None and published.at > document.sent_at:
                left_s = (QUIET_WITHOUT_VERSION_S if published.version is None else QUIET_S) - (
                    clock() - published.seconds
                )
                if published.version is None or published.version >= document.version:
                    if left_s <= 0 and not self._working:
                        return True
                    wait_s = min(wait_s, left_s) if left_s > 0 else wait_s
            if until_s <= clock() or not self.runs:
                return False
            await self._until_news(wait_s)

    async def _until_news(self, wait_s: float) -> None:
        with suppress(TimeoutError), self._asked():
            async with asyncio.timeout(max(0.0, wait_s)), self._news:
                await self._news.wait()

    def _is_current(self, path: Path, version: int | None) -> bool:
        document = self._documents.open.get(path)
        return document is not None and version is not None and version >= document.version

    # Messages of the server

    def _take(self, method: str, params: object) -> None:
        if method == "textDocument/publishDiagnostics":
            self._documents.take(params, asyncio.get_running_loop().time())
            self._own(self._tell_news())
        elif method == "$/progress":
            token, value = obj(params).get("token"), obj(obj(params).get("value"))
            (self._working.discard if value.get("kind") == "end" else self._working.add)(str(token))
            self._own(self._tell_news())
        elif method in ("window/logMessage", "window/showMessage"):
            message = text_of(obj(params).get("message"))
            log.debug("language server %s: %s", self.spec.name, visible(message[:MAX_LOG_CHARS]))

    async def _tell_end(self, process: RpcProcess) -> None:
        """End the waits for news once the program has ended."""
        await process.ended.wait()
        await self._tell_news()

    async def _tell_news(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _own(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _handle(self, method: str, params: object) -> Any:
        """Answer a request of the server. It must not change files, so its edits are refused."""
        given = obj(params)
        match method:
            case "workspace/configuration":
                return [_section(self.spec.settings, each.get("section")) for each in objects(given.get("items"))]
            case "workspace/workspaceFolders":
                return [self._folder]
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "Edits of the server are not applied."}
            case (
                "client/registerCapability"
                | "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
                | "workspace/diagnostic/refresh"
                | "workspace/codeLens/refresh"
                | "workspace/semanticTokens/refresh"
                | "workspace/inlayHint/refresh"
            ):
                return None
            case _:
                raise LookupError(method)

    async def _log(self, text: str) -> None:
        log.debug("language server %s: %s", self.spec.name, visible(text[:MAX_LOG_CHARS]))

    @property
    def _folder(self) -> Mapping[str, str]:
        return {"uri": self.root.as_uri(), "name": self.root.name}

    def _initialize(self) -> Mapping[str, Any]:
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "pygent-ls", "version": __version__},
            "rootPath": str(self.root),
            "rootUri": self.root.as_uri(),
            "workspaceFolders": [self._folder],
            "capabilities": CAPABILITIES,
            **({"initializationOptions": self.spec.initialization_options} if self.spec.initialization_options else {}),
        }

    def _path_of(self, program: str) -> str:
        if os.sep in program:
            return os.path.join(self.root, os.path.expanduser(program))  # noqa: PTH111, PTH118 - keeps `./`
        if (found := self._host.find(program)) is None:
            raise ToolError(
                f"The program {program} was not found outside of the workspace. Install it, or write its path."
            )
        return found


def _section(settings: Mapping[str, Any], name: object) -> Any:
    """Return the settings of a dotted section; None if it is missing."""
    found: Any = settings
    for part in name.split(".") if isinstance(name, str) and name else ():
        found = obj(found).get(part)
    return found
