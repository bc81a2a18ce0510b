"""Texts in the arguments of a tool call, decoded while the JSON arrives."""

from __future__ import annotations

import re

from msgspec import Struct

MAX_NESTING = 64
"""Maximum nesting that is followed, as in `agent/tools/arguments.py`."""

MAX_KEY_CHARS = 100
"""Maximum characters of a key that are kept."""

_SIGN = re.compile(r'["{}\[\],]')

_STOP = re.compile(r'["\\]')

_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

_HEX = re.compile(r"[0-9a-fA-F]{4}")


class _OpenValue(Struct):
    """Object or list that is not complete."""

    is_object: bool
    key: str | None = None
    """Key of the current value; None before a key."""
    index: int = 0

    @property
    def name(self) -> str:
        return (self.key or "") if self.is_object else str(self.index)


class ArgumentStream:
    """Incremental reader of the arguments. Broken JSON raises nothing: what can be read of it is returned."""

    def __init__(self) -> None:
        self._open: list[_OpenValue] = []
        self._is_over = False
        """Whether nothing more is read: the object is complete, or nested too deeply."""
        self._in_string = False
        self._is_key = False
        self._escape = ""
        """Escape sequence whose end has not arrived, without its backslash; the backslash alone is `\\\\`."""
        self._high = ""
        """First half of a surrogate pair."""

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Return the pieces of texts in the next part of the JSON, each with the name of its argument: the path of keys
        and indices, joined by dots. Adjacent pieces of one text are joined."""
        found: list[tuple[str, str]] = []
        at = 0
        while at < len(text) and not self._is_over:
            at = self._take_string(text, at, found) if self._in_string else self._take_sign(text, at)
        return found

    def _take_sign(self, text: str, at: int) -> int:
        sign = _SIGN.search(text, at)
        if sign is None:
            return len(text)
        inner = self._open[-1] if self._open else None
        match sign[0]:
            case "{" | "[":
                self._open.append(_OpenValue(sign[0] == "{"))
                self._is_over = len(self._open) > MAX_NESTING
            case "}" | "]":
                self._open = self._open[:-1]
                self._is_over = not self._open
            case "," if inner is not None:
                inner.key = None
                inner.index += 1
            case '"' if inner is not None:
                self._in_string = True
                self._is_key = inner.is_object and inner.key is None
                if self._is_key:
                    inner.key = ""
            case _:
                self._is_over = True  # the arguments are not an object
        return sign.end()

    def _take_string(self, text: str, at: int, found: list[tuple[str, str]]) -> int:
        parts: list[str] = []
        while at < len(text) and self._in_string:
            if self._escape:
                at = self._take_escape(text, at, parts)
                continue
            stop = _STOP.search(text, at)
            end = stop.start() if stop else len(text)
            if end > at:
                parts.append(self._unpaired() + text[at:end])
            at = end + (stop is not None)
            if stop and stop[0] == "\\":
                self._escape = "\\"
            elif stop:
                parts.append(self._unpaired())
                self._in_string = False
        self._add("".join(parts), found)
        return at

    def _take_escape(self, text: str, at: int, parts: list[str]) -> int:
        """Take the rest of an escape sequence, or the part of it that has arrived."""
        if self._escape == "\\":
            if text[at] == "u":
                self._escape = "u"
            else:
                parts.append(self._unpaired() + _SIMPLE.get(text[at], text[at]))
                self._escape = ""
            return at + 1
        self._escape += text[at]
        if len(self._escape) == len("u0000"):
            digits, self._escape = self._escape[1:], ""
            parts.append(self._unit(chr(int(digits, 16))) if _HEX.fullmatch(digits) else self._unpaired() + "\ufffd")
        return at + 1

    def _unit(self, unit: str) -> str:
        """Return the character of a UTF-16 code unit; empty for the first half of a pair."""
        if self._high and "\udc00" <= unit <= "\udfff":
            pair, self._high = self._high + unit, ""
            return pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        before = self._unpaired()
        if "\ud800" <= unit <= "\udbff":
            self._high = unit
            return before
        return before + ("\ufffd" if "\udc00" <= unit <= "\udfff" else unit)

    def _unpaired(self) -> str:
        """Return the replacement of a half of a pair that stayed alone; empty without one."""
        high, self._high = self._high, ""
        return "\ufffd" if high else ""

    def _add(self, piece: str, found: list[tuple[str, str]]) -> None:
        inner = self._open[-1]
        if self._is_key:
            inner.key = ((inner.key or "") + piece)[:MAX_KEY_CHARS]
        elif piece:
            name = ".".join(each.name for each in self._open)
            if found and found[-1][0] == name:
                found[-1] = (name, found[-1][1] + piece)
            else:
                found.append((name, piece))
