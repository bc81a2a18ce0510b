"""Inline completion from the settings: the model, what may be sent to it, and the tokens of a day."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.window import tokens_of
from pygent_ls.agent.edits.commit import is_being_cancelled, to_its_end
from pygent_ls.agent.ports.completer import Completer, CompletionRequest, CompletionTask, RecentEdit, Snippet
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.app.daily_usage import LOCK_S, DailyUsage
from pygent_ls.errors import ModelError
from pygent_ls.secrets.env_files import is_env_file

if TYPE_CHECKING:
    from pygent_ls.agent.ports.model import Model
    from pygent_ls.app.shared import Shared
    from pygent_ls.config.live import Taken
    from pygent_ls.config.settings import Settings
    from pygent_ls.config.tables import CompletionTable
    from pygent_ls.editors.ports import FrontEnd

USAGE_FILE = "completion.json"
"""File in the state folder with the tokens of the last day on which completion was used."""

REFRESH_S = 2.0
"""Time after which the settings are read again."""

RESERVED_OUTPUT = 4
"""Share of the maximum output, as its divisor, that is reserved before the model answers."""


def completions_of(
    front_end: FrontEnd,
    shared: Shared,
    taken: Taken,
    take: Callable[[], Taken],
    make_model: Callable[[Taken], Awaitable[Model]],
) -> ConfiguredCompletions:
    """Return the inline completion of one front end. `take` reads the settings, blocking."""
    from pygent_ls.app.factories import secrets_of

    secrets = secrets_of(taken.loaded.settings, shared.state_folder, front_end.workspace, shared.known_keys)

    async def make(taken: Taken, task: CompletionTask) -> Completer:
        from pygent_ls.llm.completion.completer import completer_of

        api = taken.loaded.settings.completion.api if task == "complete" else "chat"
        return await completer_of(await make_model(taken), None if api == "auto" else api)

    async def mask(text: str, path: Path, settings: Settings) -> str:
        secrets.switch(on=settings.redact_secrets)
        secrets.know(shared.known_keys)
        return await secrets.masks.text(text, str(path))

    return ConfiguredCompletions(
        host=CompletionHost(
            is_restricted=front_end.is_restricted,
            take=take,
            make=make,
            mask=mask,
            keys_version=lambda: shared.keys_version,
            state_folder=shared.state_folder,
        ),
        taken=taken,
    )


class CompletionHost(Struct, frozen=True, kw_only=True):
    """What completion needs of its front end's agent."""

    is_restricted: bool
    take: Callable[[], Taken]
    """Reads the settings. Blocking."""
    make: Callable[[Taken, CompletionTask], Awaitable[Completer]]
    """Makes the completer of the settings for a task. Raises `ModelError`."""
    mask: Callable[[str, Path, Settings], Awaitable[str]]
    """Masks secrets in the text of a file."""
    keys_version: Callable[[], object]
    state_folder: Path


@dataclass(slots=True, kw_only=True)
class ConfiguredCompletions:
    """Implements `InlineCompletions`."""

    host: CompletionHost
    taken: Taken
    _made: dict[CompletionTask, tuple[Taken, object, Completer]] = field(
        default_factory=dict[CompletionTask, tuple["Taken", object, Completer]]
    )
    """Completer of each task, with the settings and the keys that it was made from."""
    _usage: DailyUsage = field(init=False)
    _read_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._usage = DailyUsage(self.host.state_folder / USAGE_FILE)

    @property
    def completes(self) -> bool:
        """Implement `InlineCompletions`."""
        return bool(self._table.model) and not self.host.is_restricted

    @property
    def suggests_edits(self) -> bool:
        """Implement `InlineCompletions`."""
        return self.completes and self._table.next_edit

    @property
    def debounce_s(self) -> float:
        """Implement `InlineCompletions`."""
        return self._table.debounce_ms / 1000

    @property
    def max_tokens(self) -> int:
        """Implement `InlineCompletions`."""
        return self._table.max_tokens

    def use(self, taken: Taken) -> None:
        """Use these settings from now on."""
        if taken.loaded.settings != self.taken.loaded.settings:
            self.taken = taken
        self._read_at = time.monotonic()

    async def refresh(self) -> None:
        """Implement `InlineCompletions`."""
        if time.monotonic() - self._read_at > REFRESH_S:
            self._read_at = time.monotonic()
            self.use(await asyncio.to_thread(self.host.take))

    def is_withheld(self, path: Path, name: str) -> bool:
        """Implement `InlineCompletions`."""
        if is_env_file(name) or is_env_file(path.name):
            return True
        return Reading.of(self._settings.permissions).withholds(name) is not None

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Implement `InlineCompletions`."""
        table = self._table
        if not self.completes or self.is_withheld(request.path, request.name):
            return
        masked = await self._masked(request)
        if masked is None:
            return
        completer = await self._completer(request.task)
        reserved = tokens_of(masked.n_chars) + request.max_tokens // RESERVED_OUTPUT
        if not await asyncio.to_thread(self._usage.reserve, reserved, table.max_tokens_per_day):
            raise ModelError(
                f"the {table.max_tokens_per_day:,} tokens of {date.today().isoformat()} are used up, so nothing is "
                "completed until tomorrow. `completion.max_tokens_per_day` sets the limit.",
                type="rate_limit",
            )
        n_chars = masked.n_chars
        try:
            async with aclosing(completer.complete(masked)) as pieces:
                async for piece in pieces:
                    n_chars += len(piece)
                    yield piece
        finally:
            await to_its_end(asyncio.to_thread(self._usage.correct, tokens_of(n_chars) - reserved), 2 * LOCK_S)
            if is_being_cancelled():
                raise asyncio.CancelledError

    @property
    def _settings(self) -> Settings:
        return self.taken.loaded.settings

    @property
    def _table(self) -> CompletionTable:
        return self._settings.completion

    async def _completer(self, task: CompletionTask) -> Completer:
        taken, keys = self.taken, self.host.keys_version()
        made = self._made.get(task)
        if made is None or made[0] is not taken or made[1] != keys:
            made = self._made[task] = (taken, keys, await self.host.make(taken, task))
        return made[2]

    async def _masked(self, request: CompletionRequest) -> CompletionRequest | None:
        """Return the request without secrets; None if the cursor, or an end of the text, is in a secret."""
        path = request.path
        before, after = request.before, request.after
        beside = f"{request.lead}{before}{after}{request.trail}"
        masked = await self._mask(beside, path)
        if masked != beside:
            before, after = await self._mask(before, path), await self._mask(after, path)
            if before + after not in masked:
                return None
        snippets = [await self._masked_snippet(each) for each in request.snippets]
        edits = [await self._masked_edit(each) for each in request.edits]
        return replace(
            request,
            before=before,
            after=after,
            imports=await self._mask(request.imports, path),
            snippets=tuple(each for each in snippets if each is not None),
            edits=tuple(each for each in edits if each is not None),
        )

    async def _masked_snippet(self, snippet: Snippet) -> Snippet | None:
        if self.is_withheld(snippet.path, snippet.name):
            return None
        text = await self._mask(snippet.text, snippet.path)
        if snippet.around and text not in await self._mask(snippet.around, snippet.path):
            return None
        return replace(snippet, text=text)

    async def _masked_edit(self, edit: RecentEdit) -> RecentEdit | None:
        if self.is_withheld(edit.path, edit.name):
            return None
        old, new = await self._mask(edit.old, edit.path), await self._mask(edit.new, edit.path)
        for text, masked in ((edit.old, old), (edit.new, new)):
            if edit.lead and masked not in await self._mask(f"{edit.lead}{text}", edit.path):
                return None  # a line of a key
        return replace(edit, old=old, new=new)

    async def _mask(self, text: str, path: Path) -> str:
        return await self.host.mask(text, path, self._settings)
