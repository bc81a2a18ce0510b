"""The language server: its capabilities, and the handler of each method."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygent_ls import __version__
from pygent_ls.editors.lsp import method_names as names
from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.capabilities import ClientFeatures, client_of, editor_options, features_of
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.rpc.client_quirks import document_of, mended
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.transport.frame_sink import FrameSink
from pygent_ls.editors.lsp.transport.stdio import FrameWriter
from pygent_ls.editors.lsp.uris import FileUris, path_of

if TYPE_CHECKING:  # imported by `connection`, so that `initialize` is answered without them
    from pygent_ls.editors.lsp.actions import CodeActionOut, CodeLensOut
    from pygent_ls.editors.lsp.completion.inline_completion import InlineCompletionListOut
    from pygent_ls.editors.lsp.connection import Connection
    from pygent_ls.editors.lsp.protocol.capabilities import ServerCapabilities
    from pygent_ls.editors.ports import Blueprint, ReadSettings

log = logging.getLogger(__name__)

SERVER_NAME = "pygent-ls"

LOADING_AFTER_S = 0.03
"""Time from `initialized` to the import of what a turn needs. A request that comes at once is answered before."""

MAX_FILES_CHANGED = 500
"""Maximum number of changed files handled one by one; more count as a change of all files, because each is searched for
in all caches."""

_TEXT_CHANGES = frozenset({"textDocument/didOpen", "textDocument/didChange"})

MAX_NAME_CHARS = 100
"""Maximum length of a client's name in the log."""


class PygentServer:
    """The server of one client. Settings are read at `initialize`; the agent is built on first use."""

    def __init__(self, read_settings: ReadSettings, writer: FrameWriter) -> None:
        self.endpoint = RpcEndpoint()
        self.line = FrameSink(writer)
        self.process_id: int | None = None
        self.on_process_id: Callable[[int], object] = lambda _: None
        self.buffers = Buffers(self._file_changed)
        self.uris = FileUris()
        self._read_settings = read_settings
        self._features = ClientFeatures()
        self._folder_uris: list[str] = []
        self._client = ""
        self._blueprint: Blueprint | None = None
        self._connection: Connection | None = None
        self._is_back = False
        self._is_initialized = False
        self.endpoint.write = writer.write
        self.endpoint.mend = lambda method, params: mended(method, params, self.buffers.version_of)
        self.endpoint.on_undecodable = self._undecodable
        _register(self)

    @property
    def connection(self) -> Connection:
        """The agent and its handlers, built on first use."""
        if self._connection is None:
            from pygent_ls.editors.lsp.connection import Connection

            assert self._blueprint is not None
            self._connection = Connection(
                endpoint=self.endpoint,
                line=self.line,
                features=self._features,
                buffers=self.buffers,
                uris=self.uris,
                blueprint=self._blueprint,
            )
            if self._is_initialized:
                self._begin(self._connection)
        return self._connection

    async def close(self) -> None:
        """Cancel every turn and wait for them within the limits of `closing`; no child process is left."""
        if self._connection is not None:
            await self._connection.close()

    @property
    def sessions_with_turns(self) -> list[str]:
        """Ids of the sessions in which turns of this client run or wait."""
        if self._connection is None:
            return []
        sessions = self._connection.core.sessions
        return [each.id for each in sessions.all() if any(turn.owner is sessions for turn in each.turns)]

    def lose_client(self) -> None:
        """Note that the connection was lost. Turns continue, and wait when they need the client."""
        self.endpoint.lose_client()
        self.endpoint.write = _nowhere
        self.line.cut()
        if self._connection is not None:
            self._connection.requests.attachments.end()
            self._connection.extensions.lose_client()
            self._connection.core.voice.give_up()  # no microphone stays open for a window that may not come back

    def take_client(self, writer: FrameWriter) -> None:
        """Connect a returned client, which begins with `initialize` again."""
        self.line.connect(writer)
        self.endpoint.take_client()
        self.buffers.forget_all()
        self._is_back = self._connection is not None

    def initialize(self, params: lsp.InitializeParams) -> dict[str, Any]:
        """Handle `initialize`: read the settings, and return the capabilities."""
        offered = features_of(params)
        self._folder_uris = _folders_of(params)
        folders = self.uris.set_folders(self._folder_uris)
        if self._connection is None:
            self._features = offered
            self.buffers.encoding = offered.encoding
            self._blueprint = self._read_settings(editor_options(params), folders)
            self._client = " ".join(client_of(params)).strip()[:MAX_NAME_CHARS] or "without a name"
        else:
            self._connection.workspace.set_folders(folders)
        assert self._blueprint is not None
        if params.process_id is not None:
            self.on_process_id(params.process_id)
        capabilities = standard_capabilities(offered)
        registers_completion = self._features.inline_completion_registration
        offers_completion = self._blueprint.completes and not self._features.restricted and not registers_completion
        capabilities["inlineCompletionProvider"] = offers_completion
        capabilities["positionEncoding"] = self._features.encoding
        capabilities["experimental"] = {"pygent": self._capabilities(self._blueprint.model)}
        self.endpoint.phase = "running"
        return {"capabilities": capabilities, "serverInfo": {"name": SERVER_NAME, "version": __version__}}

    def _capabilities(self, model: str) -> ServerCapabilities:
        return {
            "protocolVersion": names.PROTOCOL_VERSION,
            "methods": list(names.METHODS),
            "events": list(names.EVENTS),
            "model": model,
            "restricted": self._features.restricted,
            "processId": os.getpid(),
            "resumed": self.sessions_with_turns,
        }

    def initialized(self) -> None:
        """Handle `initialized`: report problems of the settings, and load slow imports."""
        if self._is_back:
            self.connection.configuration.start()
            self.connection.completion_registration.start()
            self.connection.review.show_all()
            self.connection.findings.show_all()
            self.endpoint.expect_back()
            self.connection.extensions.start_again(self._features.tools, self._features.hooks)
            return
        was_built = self._connection is not None  # for a request that came before
        self._is_initialized = True
        connection = self.connection  # begins when it is built, if need be later: no file may be left to open
        if was_built:
            self._begin(connection)

    def _begin(self, connection: Connection) -> None:
        assert self._blueprint is not None
        log.info("the client %s starts with the model %s", self._client, self._blueprint.model)
        for problem in self._blueprint.problems:
            self.endpoint.show_message(f"pygent-ls: {problem}", lsp.MessageType.WARNING)
        connection.configuration.start()
        connection.extensions.start(self._features.tools, self._features.hooks)
        connection.completion_registration.start()
        connection.previews()  # reports it if the editor has no preview
        connection.take_up_review()
        connection.core.start_loading(LOADING_AFTER_S)
        connection.offers.start()

    def change_folders(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        """Handle `workspace/didChangeWorkspaceFolders`."""
        removed = {folder.uri for folder in event.removed}
        kept = [uri for uri in self._folder_uris if uri not in removed]
        self._folder_uris = kept + [folder.uri for folder in event.added if folder.uri not in kept]
        self.connection.workspace.set_folders(self.uris.set_folders(self._folder_uris))

    def files_changed(self, uris: Sequence[str]) -> None:
        """Handle `workspace/didChangeWatchedFiles`."""
        for path in filter(None, map(path_of, uris)) if len(uris) <= MAX_FILES_CHANGED else (Path("/"),):
            self._file_changed(path)

    def files_renamed(self, files: Sequence[lsp.FileRename]) -> None:
        """Handle `workspace/didRenameFiles`."""
        moves = [(path_of(each.old_uri), path_of(each.new_uri)) for each in files]
        self.connection.files_moved((old, new) for old, new in moves if old is not None and new is not None)

    def _undecodable(self, method: str, params: object) -> None:
        is_notebook = method == "notebookDocument/didChange"
        uri = document_of(params, "notebookDocument" if is_notebook else "textDocument")
        if uri is not None and method in {*_TEXT_CHANGES, "notebookDocument/didChange"}:
            self.buffers.lose(uri, is_notebook=is_notebook)

    def _file_changed(self, path: Path) -> None:
        if self._connection is not None:
            self._connection.file_changed(path)


def _nowhere(_body: bytes) -> None:
    """Discard the message: the client is disconnected, and open requests are sent again when it is back."""


def _folders_of(params: lsp.InitializeParams) -> list[str]:
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri:
        return [params.root_uri]
    return [Path(params.root_path).as_uri()] if params.root_path and Path(params.root_path).is_absolute() else []


def standard_capabilities(client: ClientFeatures) -> dict[str, Any]:
    """Return the capabilities of standard LSP that the daemon offers to a client, but for those that the settings
    decide."""
    capabilities: dict[str, Any] = {
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"], "resolveProvider": False},
        "codeLensProvider": {"resolveProvider": False},
        "executeCommandProvider": {"commands": list(names.COMMANDS)},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}, "fileOperations": {}},
    }
    if client.rename_notifications:
        every_file = {"filters": [{"scheme": "file", "pattern": {"glob": "**"}}]}
        capabilities["workspace"]["fileOperations"] = {"didRename": every_file}
    if client.notebooks:
        notebooks = [{"notebook": {"scheme": "file", "pattern": "**/*.ipynb"}}]
        capabilities["notebookDocumentSync"] = {"notebookSelector": notebooks, "save": True}
    return capabilities


def _register(server: PygentServer) -> None:
    _register_lifecycle(server)
    _register_documents(server)
    _register_code(server)
    for method in names.METHODS:
        _register_request(server, method)
    for method in names.NOTIFICATIONS:
        _register_notification(server, method)


def _register_request(server: PygentServer, method: str) -> None:
    server.endpoint.on_request(method, lambda params: server.connection.requests.handle(method, params))


def _register_notification(server: PygentServer, method: str) -> None:
    server.endpoint.on_notification(method, lambda params: server.connection.requests.take(method, params))


def _register_lifecycle(server: PygentServer) -> None:
    request, notification = server.endpoint.on_request, server.endpoint.on_notification

    async def shutdown(_: object) -> None:
        await server.close()
        server.endpoint.cancel_others()

    def folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        server.change_folders(params.event)

    def renamed(params: lsp.RenameFilesParams) -> None:
        server.files_renamed(params.files)

    def configuration(params: lsp.DidChangeConfigurationParams) -> None:
        server.connection.configuration.changed(params.settings)

    def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        server.files_changed([change.uri for change in params.changes])

    def progress_cancelled(params: lsp.WorkDoneProgressCancelParams) -> None:
        server.connection.requests.turns.cancel_progress(params.token)

    request("initialize", server.initialize, lsp.InitializeParams)
    notification("initialized", lambda _: server.initialized())
    request("shutdown", shutdown)
    notification("workspace/didChangeWorkspaceFolders", folders, lsp.DidChangeWorkspaceFoldersParams)
    notification("workspace/didRenameFiles", renamed, lsp.RenameFilesParams)
    notification("workspace/didChangeConfiguration", configuration, lsp.DidChangeConfigurationParams)
    notification("workspace/didChangeWatchedFiles", watched, lsp.DidChangeWatchedFilesParams)
    notification("window/workDoneProgress/cancel", progress_cancelled, lsp.WorkDoneProgressCancelParams)


def _register_documents(server: PygentServer) -> None:
    notification, buffers = server.endpoint.on_notification, server.buffers

    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        buffers.opened(params.text_document)

    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        buffers.changed(params.text_document, params.content_changes)

    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        buffers.saved(params.text_document.uri)

    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        buffers.closed(params.text_document.uri)

    def notebook_saved(params: lsp.DidSaveNotebookDocumentParams) -> None:
        buffers.saved(params.notebook_document.uri, is_notebook=True)

    def notebook_closed(params: lsp.DidCloseNotebookDocumentParams) -> None:
        buffers.closed(params.notebook_document.uri, is_notebook=True)

    notification("textDocument/didOpen", opened, lsp.DidOpenTextDocumentParams)
    notification("textDocument/didChange", changed, lsp.DidChangeTextDocumentParams)
    notification("textDocument/didSave", saved, lsp.DidSaveTextDocumentParams)
    notification("textDocument/didClose", closed, lsp.DidCloseTextDocumentParams)
    notification("notebookDocument/didOpen", buffers.notebook_opened, lsp.DidOpenNotebookDocumentParams)
    notification("notebookDocument/didChange", buffers.notebook_changed, lsp.DidChangeNotebookDocumentParams)
    notification("notebookDocument/didSave", notebook_saved, lsp.DidSaveNotebookDocumentParams)
    notification("notebookDocument/didClose", notebook_closed, lsp.DidCloseNotebookDocumentParams)


def _register_code(server: PygentServer) -> None:
    request = server.endpoint.on_request

    def code_actions(params: lsp.CodeActionParams) -> Coroutine[Any, Any, list[CodeActionOut]]:
        return server.connection.commands.code_actions(params)

    def code_lenses(params: lsp.CodeLensParams) -> Coroutine[Any, Any, list[CodeLensOut]]:
        return server.connection.commands.code_lenses(params)

    def complete(params: lsp.InlineCompletionParams) -> Coroutine[Any, Any, InlineCompletionListOut]:
        return server.connection.completion.begin(params)

    def run(params: lsp.ExecuteCommandParams) -> Coroutine[Any, Any, Any]:
        return server.connection.commands.run(params.command, params.arguments or ())

    request("workspace/executeCommand", run, lsp.ExecuteCommandParams)
    request("textDocument/codeAction", code_actions, lsp.CodeActionParams)
    request("textDocument/codeLens", code_lenses, lsp.CodeLensParams)
    for method in ("codeAction/resolve", "codeLens/resolve"):  # sent complete, but some clients resolve them
        request(method, lambda params: params)
    request("textDocument/inlineCompletion", complete, lsp.InlineCompletionParams)
    request(names.INLINE_EDIT, lambda params: server.connection.requests.handle("pygent/edit/suggest", params))
