"""The `Approver` port without an editor: a question on the terminal, or an answer that was given before."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from pygent_ls.agent.approver import PermissionAnswer, PermissionRequest
from pygent_ls.agent.permission_choices import PermissionChoice, choices_for, covered_by
from pygent_ls.agent.tool import ToolRisk, visible
from pygent_ls.editors.terminal.text import Colour, Palette, coloured_patch, columns_of, wrapped

WORDS: Mapping[str, str] = {
    "once": "o",
    "session": "s",
    "always": "a",
    "edits": "e",
    "reject": "r",
    "never": "n",
}
"""The letters of choices by the words that stand for them."""

OTHER_RULE = "p"
"""The letter that changes what the choices cover which store rules."""

QUESTION = "Your choice (text after r or n is sent to the model): "

RISK_COLOURS: Mapping[ToolRisk, Colour] = {ToolRisk.LOW: "cyan", ToolRisk.MEDIUM: "yellow", ToolRisk.HIGH: "red"}

MAX_ATTEMPTS = 3
"""Answers that are none of the choices, before it counts as a reject."""

NOBODY_TO_ASK = "There is no terminal to ask on."

READ_BYTES = 4096
"""The longest line that a terminal hands over at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The terminal that a person sits at, by an open file descriptor."""

    fd: int

    def write(self, text: str) -> None:
        """Show text; a terminal that went away shows nothing."""
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self.fd, data) :]

    def forget_typed(self) -> None:
        """Drop what was typed so far: it cannot be an answer to what was not asked yet."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self.fd, termios.TCIFLUSH)

    @property
    def columns(self) -> int:
        """Width in characters; 0 if the terminal does not tell."""
        return columns_of(self.fd, otherwise=0)

    async def read_line(self) -> str | None:
        """The next line, without its end; None where the person closed the input, or is gone."""
        typed = b""
        while not typed.endswith(b"\n"):
            await self._readable()
            try:
                piece = os.read(self.fd, READ_BYTES)
            except OSError:
                return None
            if not piece:
                return None
            typed += piece
        return typed.decode("utf-8", "replace").rstrip("\r\n")

    @contextlib.contextmanager
    def hidden(self) -> Generator[None]:
        """Show nothing of what is typed meanwhile. Raises OSError where that cannot be."""
        try:
            shown = termios.tcgetattr(self.fd)
            unseen = [*shown]
            unseen[3] &= ~termios.ECHO
            termios.tcsetattr(self.fd, termios.TCSAFLUSH, unseen)
        except termios.error as error:
            raise OSError(str(error)) from None
        try:
            yield
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fd, termios.TCSADRAIN, shown)
            self.write("\n")

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        seen = asyncio.Event()
        loop.add_reader(self.fd, seen.set)
        try:
            await seen.wait()
        finally:
            loop.remove_reader(self.fd)


@contextlib.contextmanager
def terminal_of(descriptors: Sequence[int]) -> Generator[Terminal | None]:
    """Open the terminal behind the first of these that is one; None where none is."""
    fd = next((fd for each in descriptors if (fd := _opened(each)) is not None), None)
    try:
        yield None if fd is None else Terminal(fd=fd)
    finally:
        if fd is not None:
            os.close(fd)


def _opened(descriptor: int) -> int | None:
    try:
        if not os.isatty(descriptor):
            return None
        # By its own name where it has one here: macOS cannot wait for /dev/tty to become readable.
        names = [os.ttyname(descriptor), "/dev/tty"]
    except OSError:
        names = ["/dev/tty"]
    for name in names:
        with contextlib.suppress(OSError):
            return os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalApprover:
    """Asks the person at the terminal, for as long as they take."""

    terminal: Terminal
    palette: Palette
    ready_to_ask: Callable[[str], Awaitable[None]]
    """Given the permission id, returns when everything that led to the question is shown."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """See the port. The end of input is a `reject_once`, and so is the third answer that is no choice."""
        await self.ready_to_ask(request.permission_id)
        self.terminal.forget_typed()
        self.terminal.write(prompt_text(request, self.palette))
        scopes, attempts_left = Scopes(request), MAX_ATTEMPTS
        self.terminal.write(choices_text(scopes, self.palette, self.terminal.columns))
        try:
            while attempts_left:
                self.terminal.write(QUESTION)
                line = await self.terminal.read_line()
                if line is None:
                    break
                if line.strip().lower() == OTHER_RULE and scopes.other_title:
                    scopes.go_on()
                    self.terminal.write(choices_text(scopes, self.palette, self.terminal.columns))
                    continue
                if answer := parse_answer(line, scopes.choices):
                    return answer
                attempts_left -= 1
                self.terminal.write(
                    f"Please type one of {', '.join(each.key for each in scopes.choices)} and press Enter.\n"
                )
        except asyncio.CancelledError:
            self.terminal.write("\n")
            raise
        self.terminal.write("Rejected.\n")
        return PermissionAnswer(outcome="reject_once")


@dataclass(frozen=True, slots=True)
class AllowingApprover:
    """`--yes`: everything that would ask is allowed once."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """See the port."""
        return PermissionAnswer(outcome="allow_once")


@dataclass(frozen=True, slots=True)
class RefusingApprover:
    """Nobody to ask: everything that would ask is refused, and kept to be listed."""

    refused: list[PermissionRequest] = field(default_factory=list[PermissionRequest])

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """See the port."""
        self.refused.append(request)
        return PermissionAnswer(outcome="reject_once", feedback=NOBODY_TO_ASK, by="mode")


@dataclass(slots=True)
class Scopes:
    """What the choices of one prompt cover: the rules of the request at first, then each of its wider rules."""

    request: PermissionRequest
    at: int = 0

    @property
    def choices(self) -> Sequence[PermissionChoice]:
        """The choices as they are now."""
        return choices_for(self.request, self._all[self.at])

    @property
    def other_title(self) -> str:
        """What the key for the next rule would do; empty if there is no other rule."""
        if len(self._all) == 1:
            return ""
        rules = self._all[(self.at + 1) % len(self._all)]
        return f"Let s, a and n cover {', '.join(map(covered_by, rules))}"

    def go_on(self) -> None:
        """Take the next rule."""
        self.at = (self.at + 1) % len(self._all)

    @property
    def _all(self) -> Sequence[Sequence[str]]:
        return [self.request.rules, *([rule] for rule in self.request.prefix_rules)]


def parse_answer(line: str, choices: Sequence[PermissionChoice]) -> PermissionAnswer | None:
    """A choice by its letter or its word, in any case; None for anything else. What follows a reject is feedback."""
    word, _, rest = line.strip().partition(" ")
    key = WORDS.get(word.lower(), word.lower())
    chosen = next((each for each in choices if each.key == key), None)
    if chosen is None or (rest and chosen.outcome.startswith("allow")):
        return None
    return chosen.answer(feedback=rest.strip())


def prompt_text(request: PermissionRequest, palette: Palette) -> str:
    """What the person is asked about: the tool, how grave it is, who asks, what it is for, what it will do, the diff,
    and what holds it."""
    risk = palette.paint(f"{request.severity.value} risk", RISK_COLOURS[request.severity])
    source = f", {visible(request.source)}" if request.source else ""
    head = palette.paint(f"Permission for {visible(request.tool_name)}", "bold")
    lines = [f"{head} ({risk}{source})", f"  {request.description}" if request.description else ""]
    lines.append(f"    {request.action}")
    lines += [coloured_patch(change.patch, palette) for change in request.changes if change.patch]
    lines.append(f"  {request.confinement.capitalize()}" if request.confinement else "")
    return "\n".join(filter(None, lines)) + "\n"


def choices_text(scopes: Scopes, palette: Palette, columns: int = 0) -> str:
    """The choices, with their letters and what each of them applies to, in so many columns; 0 wraps nothing."""
    lines: list[str] = []
    for each in scopes.choices:
        lines.append(wrapped(f"  [{each.key}] {each.title}", columns, indent=6))
        lines.append(palette.paint(wrapped(f"      Applies to: {each.applies_to}", columns, indent=6), "dim"))
    if scopes.other_title:
        lines.append(wrapped(f"  [{OTHER_RULE}] {scopes.other_title}", columns, indent=6))
    return "\n".join(lines) + "\n"
