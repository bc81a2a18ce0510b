"""pytest-lsp's client, taught what an editor does with the daemon's requests and events."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from tests.e2e.raw import clean_environment
from tests.e2e.warm_client import WarmClient
from tests.e2e.warm_command import can_be_warm
from tests.editors.lsp.editor_documents import Documents, path_of

WAIT_S = 80.0
"""Longest wait for anything here: importing litellm takes 5 s of a core, which many may share."""

CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_folders=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True,
            resource_operations=[
                types.ResourceOperationKind.Create,
                types.ResourceOperationKind.Rename,
                types.ResourceOperationKind.Delete,
            ],
        ),
    ),
    window=types.WindowClientCapabilities(
        work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(support=True)
    ),
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
)


@cache
def plain_converter() -> Any:
    """Leaves what LSP does not know as the dictionaries that they are."""
    converter = get_converter()
    for kind in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
        converter.register_structure_hook(kind, lambda given, made: made(**given))
    converter.register_structure_hook(types.ApplyWorkspaceEditParams, lambda given, _: given)  # may have cells
    return converter


def allow_once(_: types.ShowMessageRequestParams) -> str | None:
    """Allows whatever is asked."""
    return "Allow once"


def folder_at(path: Path) -> types.WorkspaceFolder:
    """A workspace folder, as it is told."""
    return types.WorkspaceFolder(uri=path.as_uri(), name=path.name)


def named(folder: types.WorkspaceFolder) -> dict[str, str]:
    """The same as JSON."""
    return {"uri": folder.uri, "name": folder.name}


class EditorClient:
    """An editor without a plugin: documents, prompts, progress. `choose` answers each prompt with a title or None."""

    def __init__(self) -> None:
        self.client: Any = WarmClient(converter_factory=plain_converter)
        self.messages: list[str] = []
        self.shown_documents: list[str] = []
        self.review: Callable[[Mapping[str, Any]], Any] = lambda _: None
        self.choose: Callable[[types.ShowMessageRequestParams], str | None] = allow_once
        self.prompts: list[types.ShowMessageRequestParams] = []
        self.applied: list[dict[str, Any]] = []
        self.changed_sessions: list[dict[str, Any]] = []
        self.diagnostics: dict[str, list[Any]] = {}
        self.pending: dict[str, Any] = {}
        """What waits for review in each file, as a client with `pendingReview` is told."""
        self.documents = Documents(self.tell, "utf-16")
        self.folder: types.WorkspaceFolder | None = None
        self._changed = asyncio.Event()
        self._values: dict[str | int, list[Any]] = {}
        self._register()

    def forget(self) -> None:
        """Drop what was seen so far."""
        for seen in (self.messages, self.shown_documents, self.prompts, self.applied, self.changed_sessions):
            seen.clear()
        self.diagnostics.clear()
        self.pending.clear()
        self._values.clear()

    def start_over(self, folder: Path) -> None:
        """Close every document and the folder, open this folder, and forget."""
        for uri in tuple(self.documents.open_documents):
            self.documents.close(uri)
        event = {"removed": [named(self.folder)] if self.folder else [], "added": [named(folder_at(folder))]}
        self.tell("workspace/didChangeWorkspaceFolders", {"event": event})
        self.folder = folder_at(folder)
        self.documents.drops_edits = False
        self.choose = allow_once
        self.review = lambda _: None
        self.forget()

    # Talking

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """A request of the daemon's own protocol, and its result. Raises pygls' JsonRpcException."""
        async with asyncio.timeout(WAIT_S):
            return await self.begin(method, params)

    def begin(self, method: str, params: Mapping[str, Any], *, id_: str | None = None) -> asyncio.Future[Any]:
        """Send a request; its result comes later."""
        return asyncio.ensure_future(self.client.protocol.send_request_async(method, dict(params), id_))

    async def ask_lsp(self, method: str, params: Mapping[str, Any]) -> Any:
        """A request of LSP, in its types. Its result is as it came: pygls takes a code action for a command."""
        protocol = self.client.protocol
        given = {"jsonrpc": "2.0", "id": 0, "method": method, "params": dict(params)}
        message = protocol._converter.structure(given, protocol.get_message_type(method))
        request_id = str(uuid4())
        answer = protocol.send_request(method, message.params, msg_id=request_id)
        protocol._result_types[request_id] = None
        async with asyncio.timeout(WAIT_S):
            return await asyncio.wrap_future(answer)

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification, in LSP's types if it has one."""
        protocol = self.client.protocol
        kind = protocol.get_message_type(method)
        if kind is None:
            protocol.notify(method, dict(params))
            return
        message = protocol._converter.structure({"jsonrpc": "2.0", "method": method, "params": dict(params)}, kind)
        protocol.notify(method, message.params)

    async def turn(self, prompt: object, **params: object) -> Any:
        """A whole turn; its events come on the token `events`."""
        return await self.ask("pygent/turn/start", {"prompt": prompt, "partialResultToken": "events", **params})

    def begin_turn(self, prompt: object, *, id_: str | None = None, **params: object) -> asyncio.Future[Any]:
        """Start a turn."""
        given = {"prompt": prompt, "partialResultToken": "events", **params}
        return self.begin("pygent/turn/start", given, id_=id_)

    # Watching

    def progress(self, token: str | int) -> list[Any]:
        """The values of `$/progress` on a token."""
        return self._values.get(token, [])

    @property
    def progress_tokens(self) -> list[str | int]:
        """Return the tokens that the daemon created."""
        return [token for token in self._values if str(token).startswith("pygent-")]

    def events(self, token: str | int = "events") -> list[dict[str, Any]]:
        """The events of a turn."""
        return [event for value in self.progress(token) for event in value["events"]]

    def types(self, token: str | int = "events") -> list[str]:
        """Their types."""
        return [event["type"] for event in self.events(token)]

    def results(self) -> list[tuple[bool, str]]:
        """Whether each tool call went well, and what it returned."""
        return [(not event["isError"], event["content"]) for event in self.events() if event["type"] == "tool_result"]

    async def answered(self, number: int = 1, *, uri: str | None = None) -> str:
        """Wait for the first (second, …) answer in a chat document, the one that was shown last by default; returns the
        document."""

        def text() -> str:
            where = uri or (self.shown_documents[-1] if self.shown_documents else "")
            return self.documents.text(where) if where in self.documents.open_documents else ""

        await self.until(lambda: text().count("\n## pygent") == number and text().rstrip().endswith("\n## You"))
        return text()

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until a message has made something true."""
        async with asyncio.timeout(WAIT_S):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    # What the daemon asks for

    def _register(self) -> None:
        handlers: Mapping[str, Callable[[Any], Any]] = {
            types.PROGRESS: self._progress,
            types.WINDOW_WORK_DONE_PROGRESS_CREATE: lambda params: self._values.setdefault(params.token, []) and None,
            types.WINDOW_SHOW_MESSAGE_REQUEST: self._prompt,
            types.WORKSPACE_APPLY_EDIT: self._apply,
            types.WINDOW_SHOW_MESSAGE: lambda params: self.messages.append(params.message),
            types.WINDOW_SHOW_DOCUMENT: self._show,
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._take_diagnostics,
            "pygent/session/changed": self.changed_sessions.append,
            "pygent/review/request": self._review,
            "pygent/review/didChange": lambda params: self.pending.update({params["uri"]: params}),
        }
        for method, handler in handlers.items():
            self.client.feature(method)(self._noticed(handler))

    def _noticed(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def handle(params: Any) -> Any:
            result = handler(params)
            self._changed.set()
            return result

        return handle

    def _progress(self, params: types.ProgressParams) -> None:
        self._values.setdefault(params.token, []).append(params.value)

    def _prompt(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.prompts.append(params)
        title = self.choose(params)
        return types.MessageActionItem(title) if title else None

    def _apply(self, params: dict[str, Any]) -> types.ApplyWorkspaceEditResult:
        self.applied.append(params)
        answer = self.documents.apply(params)
        return types.ApplyWorkspaceEditResult(applied=answer["applied"], failure_reason=answer.get("failureReason"))

    def _take_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        self.diagnostics[params.uri] = list(params.diagnostics)

    def _review(self, params: Mapping[str, Any]) -> Any:
        return self.review(params)

    def _show(self, params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        self.shown_documents.append(params.uri)
        if params.uri not in self.documents.open_documents:
            self.documents.open(path_of(params.uri), uri=params.uri)
        return types.ShowDocumentResult(success=True)


@asynccontextmanager
async def editor_client(
    folder: Path,
    environment: Mapping[str, str],
    *,
    capabilities: types.ClientCapabilities = CAPABILITIES,
    arguments: Sequence[str] = (),
    may_be_warm: bool = True,
) -> AsyncGenerator[EditorClient]:
    """An editor with this folder open, on a daemon of its own whose home lies beside the folder.

    `may_be_warm`: it need not start Python; see `warm_command`.
    """
    home = folder.parent / "home"
    await asyncio.to_thread(home.mkdir, exist_ok=True)
    editor = EditorClient()
    client = editor.client
    encodings = capabilities.general.position_encodings if capabilities.general else None
    editor.documents.encoding = "utf-8" if types.PositionEncodingKind.Utf8 in (encodings or ()) else "utf-16"
    whole = clean_environment(home, **environment)
    if may_be_warm and can_be_warm(arguments, whole):
        await client.start_warm(arguments, whole, folder)
    else:
        await client.start_io(sys.executable, "-m", "pygent_ls", *arguments, env=whole, cwd=str(folder))
    try:
        async with asyncio.timeout(WAIT_S):
            editor.folder = folder_at(folder)
            await client.initialize_session(
                types.InitializeParams(capabilities=capabilities, workspace_folders=[editor.folder])
            )
        yield editor
        async with asyncio.timeout(WAIT_S):
            await client.shutdown_session()
    finally:
        await end(client)


async def end(client: Any) -> None:
    """Leave no process behind, whatever happened."""
    process = client._server
    if process is not None and process.returncode is None:
        process.kill()
    async with asyncio.timeout(WAIT_S):
        await client.stop()
