"""Permission rules: `tool` or `tool(pattern)`, what they match, and the examples that prove it.

For `shell` the pattern is `prefix:*`, which matches a command whose words begin with the prefix's words, or the whole
command; a whole command that ends like a prefix is written with a backslash before its last star, `shell(echo :\\*)`.
For `web_fetch` it is `domain:HOST`, for every other tool a glob on the path as it is shown: `src/**` begins at the
folder's root, `**/.env` matches anywhere. A rule about an MCP tool has no pattern; `mcp__SERVER__*` is about all tools
of one server.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from pygent_ls.agent.rules import globs
from pygent_ls.errors import SettingError
from pygent_ls.shell.words import HOME

RuleDecision = Literal["allow", "ask", "deny"]
RuleOrigin = Literal[
    "admin", "user", "workspace", "environment", "editor", "command_line", "session", "always_allow", "always_reject"
]


class Rule(Struct, frozen=True, kw_only=True):
    """Rule, its decision, and its origin. A rule with an invalid text matches nothing."""

    text: str
    decision: RuleDecision
    origin: RuleOrigin

    @property
    def tool_name(self) -> str:
        """Name of the tool that the rule is about."""
        return self.text.partition("(")[0]

    def is_about(self, tool_name: str) -> bool:
        """Whether it is a rule for this tool."""
        own = self.tool_name
        return own == tool_name or (own.endswith("__*") and tool_name.startswith(own[:-1]))

    @property
    def pattern(self) -> Pattern | None:
        """Parsed pattern; None if the text is not a valid rule."""
        try:
            return parse(self.text)
        except SettingError:
            return None


class AnyCall(Struct, frozen=True):
    """Every call of the tool."""


class PathGlob(Struct, frozen=True):
    """Calls on paths that the glob matches."""

    glob: str

    def cost(self, n_chars: int) -> int:
        """Return the maximum cost of comparing paths of that many characters with it, in microseconds or so."""
        return n_chars * len(self.glob) // 200

    def matches(self, path: str) -> bool:
        """Whether the glob matches the shown path."""
        return globs.compiled(self.glob).fullmatch(path) is not None


class CommandPrefix(Struct, frozen=True):
    """Commands that begin with these words."""

    words: tuple[str, ...]


class WholeCommand(Struct, frozen=True):
    """Exactly this command line."""

    text: str


class Domain(Struct, frozen=True):
    """Addresses of one host; `*.HOST` means the hosts below it."""

    host: str

    def matches(self, url: str) -> bool:
        """Whether the address leads to such a host; False if URL parsers could disagree about it."""
        host = host_of(url)
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return host == self.host


Pattern = AnyCall | PathGlob | CommandPrefix | WholeCommand | Domain


def host_of(url: str) -> str:
    """Return the host that an address leads to, in lower case; empty if URL parsers could disagree about it."""
    if re.search(r"[\\\s\x00-\x20\x7f]", url):
        return ""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    return "" if parts.scheme not in ("http", "https") or "@" in parts.netloc else host.lower().rstrip(".")


@cache
def parse(text: str) -> Pattern:
    """Parse a rule's text. Raises `SettingError` that says what is wrong with it."""
    name, bracket, rest = text.partition("(")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+|mcp__[A-Za-z0-9_-]+__\*|editor__\*", name):
        raise SettingError(
            f"{text!r} is not a valid rule: a rule is the name of a tool, optionally followed by `(pattern)`"
        )
    if not bracket:
        return AnyCall()
    if not rest.endswith(")"):
        raise SettingError(f"{text!r} is not a valid rule: the closing bracket at the end is missing")
    pattern = rest[:-1]
    if not pattern:
        raise SettingError(f"{text!r} is not a valid rule: the brackets are empty; write {name} for every call")
    if name == "shell":
        return _shell(text, pattern)
    if name == "web_fetch":
        return _domain(text, pattern)
    if name.startswith(("mcp__", "editor__")):
        whose = "MCP servers" if name.startswith("mcp__") else "the editor"
        raise SettingError(f"{text!r} is not a valid rule: tools of {whose} take no pattern; write {name}")
    return PathGlob(pattern.removeprefix("./"))


def _shell(text: str, pattern: str) -> Pattern:
    if pattern in ("*", ":*"):
        raise SettingError(f"{text!r} is not a valid rule: write shell for every command")
    if not pattern.endswith(":*"):
        return WholeCommand(re.sub(r":\\(\\*)\*$", r":\1*", pattern))
    prefix = pattern.removesuffix(":*")
    try:
        words = shlex.split(prefix)
    except ValueError:
        words = []
    if not words or re.search(r"[;&|<>()`$\n]", prefix):
        raise SettingError(f"{text!r} is not a valid rule: before `:*`, write the first words of one plain command")
    return CommandPrefix(tuple(HOME + word[1:] if re.match(r"~(/|$)", word) else word for word in words))


def _domain(text: str, pattern: str) -> Domain:
    kind, _, host = pattern.partition(":")
    bare = host.removeprefix("*.").removeprefix("[").removesuffix("]")
    if kind != "domain" or not re.fullmatch(r"[A-Za-z0-9_.:-]+", bare):
        raise SettingError(
            f"{text!r} is not a valid rule: for web_fetch write `domain:HOST`, such as domain:docs.python.org"
        )
    return Domain(("*." if host.startswith("*.") else "") + bare.lower().rstrip("."))


def whole_command(command: str) -> str:
    """Return the rule that matches exactly this command line."""
    escaped = re.sub(r":(\\*)\*$", r":\\\1*", command)
    return f"shell({escaped})"
