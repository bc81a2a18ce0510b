"""What a person types in a chat: prompts, and answers to questions that come while a prompt is being written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

from pygent_ls.agent.tool import visible

if TYPE_CHECKING:
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from pygent_ls.sessions import completing

GRACE_S = 0.5
"""A key that comes within this time after a question was meant for something else, and does not count."""

REFRESH_S = 0.2
"""Between two drawings of the line below the prompt, which counts seconds."""

Complete = Callable[[str], Awaitable["completing.Completion"]]
"""Given the text before the cursor."""


class _PutAsideError(Exception):
    """The prompt that is being written has to wait for a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to answer a question."""

    title: str
    key: str = ""
    """Letter that chooses it, beside its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptUse:
    """What a prompt needs of the conversation that it is for."""

    status: Callable[[], str]
    """The line below the prompt, with its colours."""
    complete: Complete
    interrupt: Callable[[], bool]
    """Ctrl-C: stop what runs; False if nothing does."""
    next_mode: Callable[[], None]
    """Shift-Tab."""


class ChatInput:
    """The one place at which the person types. Questions come before prompts, one at a time."""

    def __init__(self, terminal: tuple[Input, Output] | None = None) -> None:
        """`terminal` is another one than the process's own."""
        self._source, self._screen = terminal or (None, None)
        self._history = InMemoryHistory()
        self._prompt: PromptSession[str] = PromptSession(
            message="> ",
            multiline=True,
            prompt_continuation="  ",
            history=self._history,
            complete_while_typing=True,
            refresh_interval=REFRESH_S,
            editing_mode=EditingMode.EMACS,
            input=self._source,
            output=self._screen,
        )
        self._draft = ""
        self._questions = asyncio.Lock()
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._is_aside = asyncio.Event()
        self._is_aside.set()

    def remember(self, prompts: Sequence[str]) -> None:
        """Offer these former prompts behind the arrow keys, the oldest first."""
        for each in prompts:
            self._history.append_string(each)

    async def line(self, use: PromptUse) -> str | None:
        """The next prompt; None when the person leaves. What is being written when a question comes is kept."""
        bindings = self._bindings(use)
        while True:
            await self._is_free.wait()
            self._is_aside.clear()
            try:
                return await self._prompt.prompt_async(
                    default=self._draft,
                    completer=_Completer(use.complete),
                    bottom_toolbar=lambda: ANSI(use.status()),
                    key_bindings=bindings,
                )
            except _PutAsideError:
                continue
            except EOFError:
                return None
            finally:
                self._prompt.app.erase_when_done = False
                self._is_aside.set()

    async def choose(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        """Ask for one of the choices by a key; None when the person closes the question with Esc or Ctrl-C."""
        by_key: Mapping[str, Choice] = {
            **{str(number): choice for number, choice in enumerate(choices, start=1)},
            **{choice.key: choice for choice in choices if choice.key},
        }
        letters = [f"[{each.key}] " if each.key else "" for each in choices]
        listed = [f"  {number}. {letters[number - 1]}{each.title}" for number, each in enumerate(choices, start=1)]
        text = "\n".join([question, *listed, ""])
        opened = time.monotonic()
        bindings = KeyBindings()

        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            chosen = by_key.get(event.data.lower())
            if chosen is not None and time.monotonic() - opened >= GRACE_S:
                event.app.exit(result=event.data.lower())

        @bindings.add("escape", eager=True)
        @bindings.add("c-c")
        @bindings.add("c-d")
        def _(event: KeyPressEvent) -> None:
            if time.monotonic() - opened >= GRACE_S:
                event.app.exit(result="")

        @bindings.add("enter")
        def _(_event: KeyPressEvent) -> None:
            """Nothing is chosen by accident."""

        async with self._aside() as prompt:
            return by_key.get(await prompt.prompt_async(text, key_bindings=bindings))

    async def words(self, question: str, *, secret: bool = False) -> str:
        """Ask for an answer in words; empty when the person gives none."""
        async with self._aside() as prompt:
            try:
                return (await prompt.prompt_async(question, is_password=secret)).strip()
            except (EOFError, KeyboardInterrupt):
                return ""

    @asynccontextmanager
    async def _aside(self) -> AsyncGenerator[PromptSession[str]]:
        """A prompt of its own for a question, while the person's own waits."""
        async with self._questions:
            self._is_free.clear()
            try:
                app = self._prompt.app
                if app.is_running and not app.is_done:
                    self._draft = self._prompt.default_buffer.text
                    app.erase_when_done = True
                    app.exit(exception=_PutAsideError())
                await self._is_aside.wait()
                yield PromptSession(input=self._source, output=self._screen)
            finally:
                self._is_free.set()

    def _bindings(self, use: PromptUse) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state and buffer.complete_state.current_completion:
                buffer.complete_state = None
            elif buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            else:
                self._draft = ""
                buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        @bindings.add("c-j")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c")
        def _(event: KeyPressEvent) -> None:
            if not use.interrupt():
                event.current_buffer.reset()

        @bindings.add("c-d")
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.delete()
            else:
                event.app.exit(exception=EOFError())

        @bindings.add("s-tab")
        def _(event: KeyPressEvent) -> None:
            use.next_mode()
            event.app.invalidate()

        return bindings


class _Completer(Completer):
    """Offers what `/` and `@` can go on with."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Sequence[Completion]:  # pyright: ignore[reportIncompatibleMethodOverride] - any iterable will do
        """Nothing: completions are asynchronous."""
        return ()

    async def get_completions_async(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """The items of `pygent/complete`."""
        text = document.text_before_cursor
        if "/" not in text and "@" not in text:
            return
        found = await self._complete(text)
        for item in found.items:
            yield Completion(
                item.insert_text,
                start_position=found.start - len(text),
                display=visible(item.label),
                display_meta=visible(item.detail),
            )
