"""The connected client and its capabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.published_diagnostics import PublishedDiagnostics
from pygent_ls.editors.lsp.ports.editor_context import EditorContextState
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.lsp.transport.frame_sink import FrameSink


class Client(Struct, frozen=True, kw_only=True):
    """What the handlers need of the client."""

    endpoint: RpcEndpoint
    line: FrameSink
    features: ClientFeatures
    uri_of: Callable[[Path], str]
    folders: Callable[[], Sequence[Path]]
    """Returns the current workspace folders of the client."""
    diagnostics: PublishedDiagnostics
    told: EditorContextState
    """Editor context: what the client reported about its user's position."""

    def tell_user(self, message: str, kind: MessageType = MessageType.INFO) -> None:
        """Show the result of a command, unless the client shows it itself."""
        if not self.features.has_plugin:
            self.endpoint.show_message(f"pygent: {message}", kind)
