"""The editor's configuration section `pygent`: requested at the start and after changes, or pushed by the editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType

SECTION = "pygent"


class Configuration:
    """Applies the editor's configuration and reports its problems. A missing answer changes nothing."""

    def __init__(
        self, endpoint: RpcEndpoint, features: ClientFeatures, configure: Callable[[object], Sequence[str]]
    ) -> None:
        self._endpoint = endpoint
        self._features = features
        self._configure = configure
        self._questions = 0
        """Number of requests and pushes; an answer to an earlier request is ignored."""
        self._known = asyncio.Event()
        self._known.set()
        self._asked_at = 0.0

    def start(self) -> None:
        """Request the configuration and register for changes, as far as the client supports this."""
        if self._features.configuration_registration:
            registration = {
                "id": "pygent-configuration",
                "method": "workspace/didChangeConfiguration",
                "registerOptions": {"section": SECTION},
            }
            self._endpoint.ask_without_waiting(
                "client/registerCapability", {"registrations": [registration]}, lambda _: None
            )
        if self._features.configuration:
            self._ask()

    def changed(self, settings: object) -> None:
        """Handle `workspace/didChangeConfiguration`. Some editors push the settings, others only report that they
        changed."""
        if isinstance(settings, Mapping) and SECTION in settings:
            self._questions += 1
            self._known.set()
            self._take(cast("Mapping[str, object]", settings)[SECTION])
        elif self._features.configuration:
            self._ask()
        elif isinstance(settings, Mapping):
            self._take(None)

    async def known(self) -> None:
        """Return when the last request is answered or has timed out. A busy editor takes seconds to answer, and a turn
        without its settings could use another model."""
        while not self._known.is_set():
            number = self._questions
            try:
                async with asyncio.timeout_at(self._asked_at + self._endpoint.patience.answer_s):
                    await self._known.wait()
            except TimeoutError:
                self._settled(number)

    def _ask(self) -> None:
        self._questions += 1
        number = self._questions
        self._known.clear()
        self._asked_at = asyncio.get_running_loop().time()

        def answered(answer: Any) -> None:
            if number == self._questions and isinstance(answer, list) and answer:
                self._take(cast("list[object]", answer)[0])
            self._settled(number)

        self._endpoint.ask_without_waiting(
            "workspace/configuration",
            {"items": [{"section": SECTION}]},
            answered,
            on_failure=lambda: self._settled(number),
        )

    def _settled(self, number: int) -> None:
        if number == self._questions:
            self._known.set()

    def _take(self, given: object) -> None:
        for problem in self._configure(given):
            self._endpoint.show_message(f"pygent-ls: {problem}", MessageType.WARNING)
