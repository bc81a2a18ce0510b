"""The connected client: how it is reached, and what it can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from pygent_ls.editors.lsp.endpoint import Endpoint
from pygent_ls.editors.lsp.features import ClientFeatures
from pygent_ls.editors.lsp.line import Line
from pygent_ls.editors.lsp.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What the handlers need of the other side."""

    endpoint: Endpoint
    line: Line
    features: ClientFeatures
    uri_of: Callable[[Path], str]
    folders: Callable[[], Sequence[Path]]
    """The workspace folders that the client has now."""
    told: Told
    """What it said of where its user is."""

    def tell_user(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Say what a command did, where no plugin shows it."""
        if not self.features.has_plugin:
            self.endpoint.show_message(f"pygent: {message}", kind)
