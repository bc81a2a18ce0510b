"""Inline completion from the settings: the model, what may be sent to it, and the tokens of a day."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.agent.context.window import tokens_of
from pygent_ls.agent.ports.completer import Completer, CompletionRequest
from pygent_ls.config.tables import CompletionTable

if TYPE_CHECKING:
    from pygent_ls.agent.ports.model import Model
    from pygent_ls.agent.ports.workspace import Workspace
    from pygent_ls.agent.rules.read_rules import Reading
    from pygent_ls.app.shared import Shared
    from pygent_ls.config.settings import Settings

USAGE_FILE = "completion.json"
"""File in the state folder with the tokens of the last day on which completion was used."""


def completions_of(
    workspace: Workspace, shared: Shared, settings: Callable[[], Settings], make_model: Callable[[], Model]
) -> ConfiguredCompletions:
    """Return the inline completion of one front end."""
    from pygent_ls.agent.rules.read_rules import Reading
    from pygent_ls.app.factories import secrets_of
    from pygent_ls.llm.completion.completer import completer_of

    secrets = secrets_of(settings(), shared.state_folder, workspace, shared.known_keys)

    async def make() -> Completer:
        api = settings().completion.api
        return await completer_of(make_model(), None if api == "auto" else api)

    async def mask(text: str, path: Path) -> str:
        return await secrets.masks.text(text, str(path))

    return ConfiguredCompletions(
        host=CompletionHost(
            table=lambda: settings().completion,
            make=make,
            reading=lambda: Reading.of(settings().permissions),
            mask=mask,
            state_folder=shared.state_folder,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionHost:
    """What completion needs of its front end's agent."""

    table: Callable[[], CompletionTable]
    make: Callable[[], Awaitable[Completer]]
    """Makes the completer of the settings. Raises `ModelError`."""
    reading: Callable[[], Reading]
    """Returns the rules about reading files."""
    mask: Callable[[str, Path], Awaitable[str]]
    """Masks secrets in the text of a file."""
    state_folder: Path


@dataclass(slots=True, kw_only=True)
class ConfiguredCompletions:
    """Implements `InlineCompletions`."""

    host: CompletionHost
    _made: tuple[CompletionTable, Completer] | None = None
    _usage: DailyUsage = field(init=False)

    def __post_init__(self) -> None:
        self._usage = DailyUsage(self.host.state_folder / USAGE_FILE)

    @property
    def debounce_s(self) -> float:
        """Implement `InlineCompletions`."""
        return self.host.table().debounce_ms / 1000

    @property
    def max_tokens(self) -> int:
        """Implement `InlineCompletions`."""
        return self.host.table().max_tokens

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Implement `InlineCompletions`."""
        table, reading = self.host.table(), self.host.reading()
        allowed = replace(request, snippets=tuple(each for each in request.snippets if not reading.denies(each.name)))
        if reading.denies(request.name) or self._usage.is_used_up(table.max_tokens_per_day):
            return
        masked = await self._masked(allowed)
        completer = await self._completer(table)
        n_chars = masked.n_chars
        try:
            async with aclosing(completer.complete(masked)) as pieces:
                async for piece in pieces:
                    n_chars += len(piece)
                    yield piece
        finally:
            self._usage.add(tokens_of(n_chars))

    async def _completer(self, table: CompletionTable) -> Completer:
        if self._made is None or self._made[0] != table:
            self._made = (table, await self.host.make())
        return self._made[1]

    async def _masked(self, request: CompletionRequest) -> CompletionRequest:
        mask = self.host.mask
        return replace(
            request,
            before=await mask(request.before, request.path),
            after=await mask(request.after, request.path),
            snippets=tuple([replace(each, text=await mask(each.text, each.path)) for each in request.snippets]),
        )


class DailyUsage:
    """Tokens that were used today, in a file that all daemons share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_used_up(self, limit: int) -> bool:
        """Whether no tokens are left; 0 means no limit."""
        return bool(limit) and self._today() >= limit

    def add(self, n_tokens: int) -> None:
        """Add tokens."""
        content = json.dumps({"day": date.today().isoformat(), "tokens": self._today() + n_tokens})
        with suppress(OSError):  # a completion is worth more than its count
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.write_text(content, encoding="utf-8")

    def _today(self) -> int:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return int(kept["tokens"]) if kept["day"] == date.today().isoformat() else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0
