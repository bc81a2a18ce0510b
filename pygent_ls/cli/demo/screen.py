"""Display of the demo: streamed text, tool calls, prompts, and the edit in colour."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TextIO

from msgspec import Struct, field

from pygent_ls.cli.demo.editor import DemoDocument

Colour = Literal["red", "green", "yellow", "cyan", "dim", "bold"]

_CODES: Mapping[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
"""Parameters of the terminal's "select graphic rendition"."""

_CONTROL = re.compile("\x1b\\[[0-9;:]*m|[\x00-\x08\x0b-\x1f\x7f-\x9f]")

PREFERRED = "Allow once"
"""Answer if the user cannot be asked, and answer of Enter alone."""


class Screen(Struct, kw_only=True):
    """`User` of the demo's editor, shown on `out`."""

    out: TextIO
    colours: bool
    ask: Callable[[str], str] | None
    """Shows a question and returns the typed line; raises EOFError. None if the user cannot be asked."""
    wants_to_stop: bool = False
    """Whether a prompt was answered with anything but an Allow: the script has no alternative."""
    outputs: list[str] = field(default_factory=list[str])
    """Output of each command."""
    _at_line_start: bool = True
    _unfinished: str = ""
    """Incomplete last line of a command's output."""
    _item: str = ""
    """Item of the text that is streamed, or was streamed last."""

    # Messages of the demo

    def say(self, text: str = "") -> None:
        """Print a line of the demo itself, or an empty one."""
        self._end_line()
        self._write(text + "\n")

    def paint(self, text: str, colour: Colour) -> str:
        """Colour the text, if colours are enabled."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colours and text else text

    # Implementation of `User`

    def sees(self, event: dict[str, Any]) -> None:
        """Show an event of the turn."""
        match event["type"]:
            case "text_delta":
                if event["itemId"] != self._item:
                    self._item = event["itemId"]
                    self.say()
                self._write(_plain(event["content"]))
            case "text":
                self._end_line()
            case "tool_call":
                self.say(self.paint(f"  ● {_plain(event['title'])}", "bold"))
                if event["toolName"] == "shell":
                    self.outputs.append("")
            case "tool_progress":
                self.outputs[-1] += event["content"]
                self._show_output(_plain(event["content"]))
            case "tool_result":
                self._show_result(event)
            case "llm_error":
                self.say(self.paint(f"  Error: {_plain(event['errorMessage'])}", "red"))
            case _:
                pass  # unknown, newer events are ignored

    def told(self, message: str) -> None:
        """Show a message from the daemon."""
        self.say(self.paint(f"  {_plain(message)}", "yellow"))

    def answers(self, message: str, titles: Sequence[str]) -> str | None:
        """Ask the user for a choice by number, or `PREFERRED` with Enter. The end of input closes the prompt."""
        self.say(self.paint("    ┌─ pygent asks for your permission", "yellow"))
        for line in _plain(message).splitlines():
            self.say(f"{self.paint('    │', 'yellow')} {line}")
        self.say(f"{self.paint('    │', 'yellow')} " + "   ".join(f"{n} {title}" for n, title in enumerate(titles, 1)))
        chosen = self._choice(titles)
        if chosen is None or not chosen.startswith("Allow"):
            self.wants_to_stop = True
        return chosen

    def sees_edit(self, document: DemoDocument, before: str) -> None:
        """Show an edit as a diff in colour."""
        name = document.path.name
        self.say(self.paint(f"    {name}, edited in the open document and saved:", "dim"))
        old, new = before.splitlines(), document.text.splitlines()
        for line in list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]:
            self.say(f"    {self._diff_line(_plain(line))}".rstrip())

    def _choice(self, titles: Sequence[str]) -> str | None:
        corner = self.paint("    └─", "yellow")
        if self.ask is None:
            self.say(f"{corner} {self.paint(PREFERRED, 'bold')} (answered by the demo, because there is no terminal)")
            return PREFERRED if PREFERRED in titles else None
        while True:
            try:
                typed = self.ask(f"{corner} 1 to {len(titles)}, or Enter for {PREFERRED}: ").strip()
            except EOFError:
                self.say()
                return None
            if not typed and PREFERRED in titles:
                return PREFERRED
            if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= len(titles):
                return titles[int(typed) - 1]

    # Drawing

    def _show_output(self, text: str) -> None:
        """Print a command's output, each line when it is complete."""
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self.say(f"{self.paint('    │', 'dim')} {self._verdict(line)}".rstrip())

    def _verdict(self, line: str) -> str:
        """Format a line of the output; unittest's last one in its colour."""
        if line.startswith("FAILED"):
            return self.paint(line, "red")
        return self.paint(line, "green") if line == "OK" else line

    def _show_result(self, event: Mapping[str, Any]) -> None:
        if self._unfinished:
            self._show_output("\n")
        if event["isError"]:
            self.say(self.paint(f"    {_plain(event['content'])}", "red"))
        elif event["toolName"] == "shell":
            self.say(self.paint(f"    {_plain(event['content'].splitlines()[-1])}", "dim"))
        elif not event.get("changes"):
            n_lines = len(event["content"].splitlines())
            self.say(self.paint(f"    {event['toolName']} returned {n_lines} lines", "dim"))

    def _diff_line(self, line: str) -> str:
        match line[:1]:
            case "-":
                return self.paint(line, "red")
            case "+":
                return self.paint(line, "green")
            case "@":
                return self.paint(line, "cyan")
            case _:
                return line

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self.out.write(text)
            self.out.flush()
            self._at_line_start = text.endswith("\n")


def _plain(text: str) -> str:
    """Remove terminal control sequences from a text."""
    return _CONTROL.sub("", text)
