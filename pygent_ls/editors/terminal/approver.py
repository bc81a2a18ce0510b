"""The `Approver` port on a terminal, and approvers that answer without asking."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

from msgspec import Struct, field

from pygent_ls.agent.display_text import capitalized, visible
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.permissions.choices import PermissionChoice, choices_for, covered_by
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionRequest
from pygent_ls.editors.terminal.text import Colour, Palette, coloured_patch, columns_of, wrapped

WORDS: Mapping[str, str] = {
    "once": "o",
    "session": "s",
    "always": "a",
    "edits": "e",
    "reject": "r",
    "never": "n",
}
"""Words that stand for the letters of choices."""

OTHER_RULE = "p"
"""Letter that switches the rules that the choices would store."""

QUESTION = "Your choice (text after r or n is sent to the model): "

RISK_COLOURS: Mapping[ToolRisk, Colour] = {ToolRisk.LOW: "cyan", ToolRisk.MEDIUM: "yellow", ToolRisk.HIGH: "red"}

MAX_ATTEMPTS = 3
"""Number of invalid answers that count as a reject."""

NOBODY_TO_ASK = "There is no terminal to ask on."

NEEDS_PERSON = "A rule of the administrator asks about this call, which --yes does not answer."

READ_BYTES = 4096
"""Longest line that a terminal delivers at once."""


class Terminal(Struct, frozen=True, kw_only=True):
    """The user's terminal, as an open file descriptor."""

    fd: int

    def write(self, text: str) -> None:
        """Write text; ignores a terminal that is gone."""
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self.fd, data) :]

    def forget_typed(self) -> None:
        """Discard pending input: it cannot be an answer to a question that was not shown yet."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self.fd, termios.TCIFLUSH)

    @property
    def columns(self) -> int:
        """Width in characters; 0 if the terminal does not report it."""
        return columns_of(self.fd, otherwise=0)

    async def read_line(self) -> str | None:
        """Return the next line without its line ending; None if the input was closed or the terminal is gone."""
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
        """Turn off echo inside the context. Raises OSError if that is not possible."""
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
    """Open the terminal behind the first of these descriptors that is a terminal; None if none of them is."""
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
        # The terminal's own name comes first: macOS cannot wait for /dev/tty to become readable.
        names = [os.ttyname(descriptor), "/dev/tty"]
    except OSError:
        names = ["/dev/tty"]
    for name in names:
        with contextlib.suppress(OSError):
            return os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    return None


class TerminalApprover(Struct, frozen=True, kw_only=True):
    """Asks the user on the terminal and waits for as long as they take."""

    terminal: Terminal
    palette: Palette
    ready_to_ask: Callable[[str], Awaitable[None]]
    """Given the permission id, returns when the output before the question has been shown."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Ask the user. The end of input and the third invalid answer are a `reject_once`."""
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


class AllowingApprover(Struct, frozen=True):
    """Answers every prompt with `allow_once`, for `--yes`, unless a rule of the administrator asks."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        if request.needs_person:
            return PermissionAnswer(outcome="reject_once", feedback=NEEDS_PERSON, by="rule")
        return PermissionAnswer(outcome="allow_once")


class RefusingApprover(Struct, frozen=True):
    """Rejects and records every request, because no user can be asked."""

    refused: list[PermissionRequest] = field(default_factory=list[PermissionRequest])

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        self.refused.append(request)
        return PermissionAnswer(outcome="reject_once", feedback=NOBODY_TO_ASK, by="mode")


class Scopes(Struct):
    """The rules that the choices of one prompt would store: first those of the request, then each wider suggestion."""

    request: PermissionRequest
    at: int = 0

    @property
    def choices(self) -> Sequence[PermissionChoice]:
        """The current choices."""
        return choices_for(self.request, self._all[self.at])

    @property
    def other_title(self) -> str:
        """Title of the key that switches to the next rule; empty if there is only one."""
        if len(self._all) == 1:
            return ""
        rules = self._all[(self.at + 1) % len(self._all)]
        return f"Let s, a and n cover {', '.join(map(covered_by, rules))}"

    def go_on(self) -> None:
        """Switch to the next rule."""
        self.at = (self.at + 1) % len(self._all)

    @property
    def _all(self) -> Sequence[Sequence[str]]:
        return [self.request.rules, *([rule] for rule in self.request.prefix_rules)]


def parse_answer(line: str, choices: Sequence[PermissionChoice]) -> PermissionAnswer | None:
    """Return the choice with that letter or word, in any case; None for anything else. Text after a reject is
    feedback."""
    word, _, rest = line.strip().partition(" ")
    key = WORDS.get(word.lower(), word.lower())
    chosen = next((each for each in choices if each.key == key), None)
    if chosen is None or (rest and chosen.outcome.startswith("allow")):
        return None
    return chosen.answer(feedback=rest.strip())


def prompt_text(request: PermissionRequest, palette: Palette) -> str:
    """Return the text of a permission prompt: tool, severity, source, purpose, action, diff and confinement."""
    risk = palette.paint(f"{request.severity.value} risk", RISK_COLOURS[request.severity])
    source = f", {visible(request.source)}" if request.source else ""
    head = palette.paint(f"Permission for {visible(request.tool_name)}", "bold")
    lines = [f"{head} ({risk}{source})", f"  {request.description}" if request.description else ""]
    lines.append(f"    {request.action}")
    lines += [coloured_patch(change.patch, palette) for change in request.changes if change.patch]
    lines.append(f"  {capitalized(request.confinement)}" if request.confinement else "")
    return "\n".join(filter(None, lines)) + "\n"


def choices_text(scopes: Scopes, palette: Palette, columns: int = 0) -> str:
    """Return the choices with their letters and scopes, wrapped to `columns`; 0 does not wrap."""
    lines: list[str] = []
    for each in scopes.choices:
        lines.append(wrapped(f"  [{each.key}] {each.title}", columns, indent=6))
        lines.append(palette.paint(wrapped(f"      Applies to: {each.applies_to}", columns, indent=6), "dim"))
    if scopes.other_title:
        lines.append(wrapped(f"  [{OTHER_RULE}] {scopes.other_title}", columns, indent=6))
    return "\n".join(lines) + "\n"
