"""Input of a chat: prompts, and answers to questions that arrive while a prompt is being typed."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, WordCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

from pygent_ls.agent.display_text import visible
from pygent_ls.editors.terminal.text import wrapped

if TYPE_CHECKING:
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent

    from pygent_ls.sessions import completion

PAUSE_S = 0.5
"""Time without a key press before a key counts as an answer, so that typing while a question appears does not answer
it."""

REFRESH_S = 0.2
"""Interval between redraws of the line below the prompt, which shows seconds."""

Complete = Callable[[str], Awaitable["completion.PromptCompletion"]]
"""Completes the text before the cursor."""


class KeyChoice(Struct, frozen=True, kw_only=True):
    """An answer that can be chosen with a key."""

    title: str
    key: str = ""
    """Letter that selects it, in addition to its number."""
    note: str = ""
    """Explanation that is shown while it is marked."""


class PromptUse(Struct, frozen=True, kw_only=True):
    """Callbacks of the conversation for one prompt."""

    status: Callable[[], str]
    """Returns the line below the prompt, with colours."""
    complete: Complete
    interrupt: Callable[[], bool]
    """Handles Ctrl-C: stops the running turn; False if none runs."""
    next_mode: Callable[[], None]
    """Handles Shift-Tab."""


class _Keys(Vt100Input):
    """Raw keyboard input. It stays raw while output is written above a prompt; otherwise the terminal would handle
    Ctrl-D and Ctrl-C itself, and echo other keys."""

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Stay in raw mode."""
        return self.raw_mode()


class ChatInput:
    """Reads all input of the user. Questions take precedence over prompts, one at a time."""

    def __init__(self) -> None:
        self._keys = _Keys(sys.stdin)
        self._history = InMemoryHistory()
        self._prompt: PromptSession[str] = PromptSession(
            message="> ",
            multiline=True,
            prompt_continuation="  ",
            history=self._history,
            complete_while_typing=True,
            refresh_interval=REFRESH_S,
            editing_mode=EditingMode.EMACS,
            input=self._keys,
        )
        self._draft = ""
        self._writing: asyncio.Task[str] | None = None
        """Task that reads the current prompt."""
        self._questions = asyncio.Lock()
        """Held while a question is open, and while the next prompt is being started."""

    def open(self) -> AbstractContextManager[None]:
        """Set raw mode, so that keys pressed between two prompts go to the next prompt."""
        return self._keys.raw_mode()

    def remember(self, prompts: Sequence[str]) -> None:
        """Add former prompts to the history, oldest first."""
        for each in prompts:
            self._history.append_string(each)

    async def line(self, use: PromptUse) -> str | None:
        """Return the next prompt; None when the user exits. A question that interrupts it keeps the text typed so
        far."""
        bindings = self._bindings(use)
        while True:
            async with self._questions:
                writing = self._writing = asyncio.create_task(
                    self._prompt.prompt_async(
                        default=self._draft,
                        completer=_Completer(use.complete),
                        bottom_toolbar=lambda: ANSI(use.status()),
                        key_bindings=bindings,
                    )
                )
            try:
                await asyncio.wait([writing])
            finally:
                writing.cancel()
                await asyncio.wait([writing])
                self._writing = None
            try:
                return writing.result()
            except EOFError:
                return None
            except asyncio.CancelledError:  # interrupted by a question
                self._prompt.app.erase_when_done = False

    @asynccontextmanager
    async def question(self) -> AsyncGenerator[OpenQuestion]:
        """Interrupt the current prompt, and ask a question."""
        async with self._questions:
            if self._writing is not None:
                app = self._prompt.app
                self._draft = self._prompt.default_buffer.text if app.is_running else self._draft
                app.erase_when_done = True
                self._writing.cancel()
                await asyncio.wait([self._writing])
            yield OpenQuestion(partial(PromptSession[str], input=self._keys))

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
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c")
        @bindings.add("<sigint>")
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


class OpenQuestion(Struct, frozen=True):
    """Access to the terminal while a question is open."""

    _new_prompt: Callable[..., PromptSession[str]]
    """Creates a prompt session. Each question needs a new one, because a prompt session keeps its options for the next
    prompt."""

    async def choose(self, text: str, choices: Sequence[KeyChoice]) -> KeyChoice | None:
        """Ask for one of the choices: a key marks it, Enter accepts it. None if the user closes the question with Esc
        or Ctrl-C. A key that closely follows another one marks nothing, so that typing a word does not answer.

        The question is erased afterwards.
        """
        marked: KeyChoice | None = None
        last_key_s = time.monotonic()
        bindings = KeyBindings()

        def shown() -> str:
            rows = [
                f"{'❯' if each is marked else ' '} {number}. {f'[{each.key}] ' if each.key else ''}{each.title}"
                for number, each in enumerate(choices, start=1)
            ]
            keys = "Enter: this · Esc: none " if marked else "A number or letter, then Enter · Esc: none "
            notes = [f"  {marked.note}"] if marked and marked.note else []
            columns = get_app().output.get_size().columns
            lines = [wrapped(line, columns - 1, indent=5) for line in [*rows, *notes]]
            return "\n".join([*([text] if text else []), *lines, keys])

        def is_meant() -> bool:
            nonlocal last_key_s
            before, last_key_s = last_key_s, time.monotonic()
            return last_key_s - before >= PAUSE_S

        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            nonlocal marked
            key = event.data.lower()
            named = (each for number, each in enumerate(choices, start=1) if key in (str(number), each.key))
            marked = next(named, None) if is_meant() else None

        @bindings.add("up")
        @bindings.add("down")
        def _(event: KeyPressEvent) -> None:
            nonlocal marked
            step = 1 if event.key_sequence[0].key == Keys.Down else -1
            at = choices.index(marked) + step if marked else min(step, 0)
            marked = choices[at % len(choices)]

        @bindings.add("escape", eager=True)
        @bindings.add("c-c")
        @bindings.add("<sigint>")
        @bindings.add("c-d")
        def _(event: KeyPressEvent) -> None:
            nonlocal marked
            if is_meant():
                marked = None
                event.app.exit(result="")

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            if marked is not None:
                event.app.exit(result="")

        await self._new_prompt(erase_when_done=True).prompt_async(shown, key_bindings=bindings)
        return marked

    async def words(self, question: str, *, secret: bool = False, offered: Sequence[str] = ()) -> str:
        """Ask for an answer as text, with completions from `offered`; empty if the user gives none."""
        completer = WordCompleter(list(offered), ignore_case=True, sentence=True) if offered else None
        try:
            said = await self._new_prompt().prompt_async(question, is_password=secret, completer=completer)
            return said.strip()
        except (EOFError, KeyboardInterrupt):
            return ""


class _Completer(Completer):
    """Completes `/` commands and `@` mentions."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Sequence[Completion]:  # pyright: ignore[reportIncompatibleMethodOverride] - any iterable is accepted
        """Return nothing: completions are asynchronous."""
        return ()

    async def get_completions_async(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """Yield the items of `pygent/complete`."""
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
