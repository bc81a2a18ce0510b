"""Offers inline completion while a model for it is set, in editors in which that can change."""

from __future__ import annotations

from pygent_ls.agent.ports.completer import InlineCompletions
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint

REGISTRATION = "pygent-inline-completion"


class CompletionRegistration:
    """Registers `textDocument/inlineCompletion`, so that an editor without a model sends no request for a key."""

    def __init__(self, endpoint: RpcEndpoint, features: ClientFeatures, completions: InlineCompletions) -> None:
        self._endpoint = endpoint
        self._is_possible = features.inline_completion_registration
        self._completions = completions
        self._is_registered = False
        self._has_started = False

    def start(self) -> None:
        """Begin, or begin anew with a client that has come back and knows of no registration."""
        self._has_started, self._is_registered = True, False
        self.update()

    def update(self) -> None:
        """Register or unregister, as the settings are now."""
        wanted = self._completions.completes
        if not self._has_started or not self._is_possible or wanted == self._is_registered:
            return
        self._is_registered = wanted
        registration = {"id": REGISTRATION, "method": "textDocument/inlineCompletion"}
        if wanted:
            self._endpoint.ask_without_waiting(
                "client/registerCapability", {"registrations": [{**registration, "registerOptions": {}}]}, _ignore
            )
        else:
            self._endpoint.ask_without_waiting(
                "client/unregisterCapability", {"unregisterations": [registration]}, _ignore
            )


def _ignore(_: object) -> None:
    pass
