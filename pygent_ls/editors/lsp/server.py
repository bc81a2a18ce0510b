"""The language server: pygls' registry with the daemon's handlers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

from pygent_ls import __version__
from pygent_ls.editors.lsp import method_names as names
from pygent_ls.editors.lsp.capabilities import ClientFeatures, editor_options, features_of
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.rpc.client_quirks import document_of, mended
from pygent_ls.editors.lsp.rpc.converter import converter
from pygent_ls.editors.lsp.rpc.endpoint import RETURNED, RpcEndpoint
from pygent_ls.editors.lsp.rpc.framework import LanguageServer
from pygent_ls.editors.lsp.transport.frame_sink import FrameSink
from pygent_ls.editors.lsp.transport.stdio import FrameWriter
from pygent_ls.editors.lsp.uris import FileUris, path_of

if TYPE_CHECKING:  # imported by `connection`, so that `initialize` is answered without them
    from pygent_ls.editors.lsp.connection import Connection
    from pygent_ls.editors.lsp.protocol.capabilities import ServerCapabilities
    from pygent_ls.editors.ports import Blueprint, ReadSettings

log = logging.getLogger(__name__)

SERVER_NAME = "pygent-ls"

MAX_FILES_CHANGED = 500
"""Maximum number of changed files handled one by one; more count as a change of all files, because each is searched for
in all caches."""

MAX_NAME_CHARS = 100
"""Maximum length of a client's name in the log."""


class PygentServer(LanguageServer):
    """The server of one client. Settings are read at `initialize`; the agent is built on first use."""

    def __init__(self, read_settings: ReadSettings, writer: FrameWriter) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - pygls passes untyped arguments on
            SERVER_NAME, __version__, protocol_cls=RpcEndpoint, converter_factory=converter
        )
        self.endpoint = cast("RpcEndpoint", self.protocol)
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
        self.endpoint.write = writer.write
        self.endpoint.on_initialize = self._initialize
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
            self._connection.core.voice.give_up()  # no microphone stays open for a window that may not come back

    def take_client(self, writer: FrameWriter) -> None:
        """Connect a returned client, which begins with `initialize` again."""
        self.line.connect(writer)
        self.endpoint.take_client()
        self.buffers.forget_all()
        self._is_back = self._connection is not None

    def _initialize(self, params: types.InitializeParams, result: types.InitializeResult) -> None:
        self._folder_uris = _folders_of(params)
        folders = self.uris.set_folders(self._folder_uris)
        if self._connection is None:
            self._features = features_of(params)
            self.buffers.encoding = self._features.encoding
            self._blueprint = self._read_settings(editor_options(params), folders)
            self._client = _name_of(params.client_info)
        else:
            self._connection.workspace.set_folders(folders)
        assert self._blueprint is not None
        if params.process_id is not None:
            self.on_process_id(params.process_id)
        _offer_no_resolving(result.capabilities)
        offers_completion = self._blueprint.completes and not self._features.restricted
        result.capabilities.inline_completion_provider = offers_completion
        result.capabilities.position_encoding = types.PositionEncodingKind(self._features.encoding)
        result.capabilities.experimental = {
            "pygent": self._capabilities(self._blueprint.model),
        }

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
        """Report problems of the settings, and load slow imports."""
        if self._is_back:
            self.connection.configuration.start()
            self.connection.review.show_all()
            self.endpoint.expect_back()
            return
        assert self._blueprint is not None
        log.info("the client %s starts with the model %s", self._client, self._blueprint.model)
        for problem in self._blueprint.problems:
            self.endpoint.show_message(f"pygent-ls: {problem}", types.MessageType.Warning)
        self.connection.configuration.start()
        self.connection.previews()  # reports it if the editor has no preview
        self.connection.core.start_loading()
        self.connection.offers.start()

    def change_folders(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Handle `workspace/didChangeWorkspaceFolders`."""
        removed = {folder.uri for folder in event.removed}
        kept = [uri for uri in self._folder_uris if uri not in removed]
        self._folder_uris = kept + [folder.uri for folder in event.added if folder.uri not in kept]
        self.connection.workspace.set_folders(self.uris.set_folders(self._folder_uris))

    def files_changed(self, uris: Sequence[str]) -> None:
        """Handle `workspace/didChangeWatchedFiles`."""
        for path in filter(None, map(path_of, uris)) if len(uris) <= MAX_FILES_CHANGED else (Path("/"),):
            self._file_changed(path)

    def _undecodable(self, method: str, params: object) -> None:
        uri = document_of(params)
        if uri is not None and method in {types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE}:
            self.buffers.lose(uri)

    def _file_changed(self, path: Path) -> None:
        if self._connection is not None:
            self._connection.file_changed(path)


def _offer_no_resolving(capabilities: types.ServerCapabilities) -> None:
    """Remove the resolve capabilities, which pygls announces because handlers exist."""
    for options in (capabilities.code_action_provider, capabilities.code_lens_provider):
        if isinstance(options, types.CodeActionOptions | types.CodeLensOptions):
            options.resolve_provider = False


def _nowhere(_body: bytes) -> None:
    """Discard the message: the client is disconnected, and open requests are sent again when it is back."""


def _name_of(client: types.ClientInfo | None) -> str:
    return f"{client.name} {client.version or ''}".strip()[:MAX_NAME_CHARS] if client else "without a name"


def _folders_of(params: types.InitializeParams) -> list[str]:
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri:
        return [params.root_uri]
    return [Path(params.root_path).as_uri()] if params.root_path and Path(params.root_path).is_absolute() else []


def _register(server: PygentServer) -> None:
    _register_lifecycle(server)
    _register_documents(server)
    for method in names.METHODS:
        _register_request(server, method)
    for method in names.NOTIFICATIONS:
        _register_notification(server, method)
    for command in names.COMMANDS:
        _register_command(server, command)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=["quickfix", "refactor"])
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return server.connection.commands.code_actions(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return server.connection.commands.code_lenses(params)

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION)
    async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        return await server.connection.completion.complete(params)

    for method in RETURNED:
        _register_resolving(server, method)

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def progress_cancel(params: types.WorkDoneProgressCancelParams) -> None:
        server.connection.requests.turns.cancel_progress(params.token)


def _register_request(server: PygentServer, method: str) -> None:
    @server.feature(method)
    async def handle(params: dict[str, Any]) -> Any:
        return await server.connection.requests.handle(method, params)


def _register_resolving(server: PygentServer, method: str) -> None:
    """Return code actions and lenses unchanged. They are sent complete, but some clients resolve them all the same."""

    @server.feature(method)
    def resolve(params: dict[str, Any]) -> dict[str, Any]:
        return params


def _register_notification(server: PygentServer, method: str) -> None:
    @server.feature(method)
    def take(params: dict[str, Any]) -> None:
        server.connection.requests.take(method, params)


def _register_command(server: PygentServer, command: str) -> None:
    @server.command(command)
    async def run(*arguments: Any) -> Any:
        return await server.connection.commands.run(command, arguments)


def _register_lifecycle(server: PygentServer) -> None:
    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.initialized()

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        await server.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.change_folders(params.event)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration(params: types.DidChangeConfigurationParams) -> None:
        server.connection.configuration.changed(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        server.files_changed([change.uri for change in params.changes])


def _register_documents(server: PygentServer) -> None:
    buffers = server.buffers

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        buffers.opened(params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        buffers.changed(params.text_document, params.content_changes)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        buffers.saved(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        buffers.closed(params.text_document.uri)
