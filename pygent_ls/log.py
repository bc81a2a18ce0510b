"""Logging: lines on stderr and in a file, none of which gives away a key, a prompt or a file's text.

Libraries put into their records whatever they have in hand: pygls logs whole bodies at INFO and parameters with its
errors, asyncio the texts of exceptions, litellm prompts. Above DEBUG a record of theirs is therefore shown as the
place in their source that it comes from, and an exception as its type and stack. `PYGENT_LOG=debug` shows the rest.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TextIO, cast

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
"""What `PYGENT_LOG` may say."""

LEVEL_VARIABLE = "PYGENT_LOG"

MASK = "***"

MAX_MESSAGE_CHARS = 4_000
"""Of one record, unless details are asked for: whatever comes in, the log stays one that a person can read."""

MAX_FRAMES = 40
"""Of one exception: an endless recursion has a thousand of them, all the same."""

_OWN = "pygent_ls"

_LOGGERS_WITH_HANDLERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
"""litellm gives these handlers of its own when it is imported, which would print past this module's."""

_SECRETS = r"""
      \b(?: sk | pk | rk ) [-_] [\w-]{12,}              # OpenAI, Anthropic, Stripe and who followed them
    | \b(?: gsk_ | xai- | hf_ | pplx- | nvapi- | r8_ ) [\w-]{12,}
    | \bAIza [\w-]{30,}                                 # Google
    | \b(?: gh[opsur]_ | github_pat_ | glpat- ) \w[\w-]{15,}
    | \b(?: AKIA | ASIA ) [0-9A-Z]{16}\b                # AWS
    | \bxox[abprs]- [\w-]{10,}                          # Slack
    | (?<! [\w-] ) eyJ [\w-]{8,} \. [\w-]{8,} \. [\w-]*   # a JSON web token
    | (?<= :// ) [^\s/:@]{0,256} : [^\s/@]{1,256} (?= @ )   # credentials within an address
"""
_NAMED_SECRETS = r"""
    ( (?: api[-_]?key | access[-_]?key | authorization | password | passwd | secret | (?<! max_ ) token ) \b
      ["']? \s{0,4} [:=] \s{0,4} ["']? (?: (?: bearer | basic ) \s+ )? | \bbearer \s+ )
    [^\s"',;&]{4,}
"""


_hidden: set[str] = set()
"""Values that are secret whatever they look like; logging is one for the whole process, and so is this."""


def hide(values: Iterable[str]) -> None:
    """Mask these values wherever they occur, from now on."""
    _hidden.update(value for value in values if value)


def hidden() -> frozenset[str]:
    """What `hide` was told."""
    return frozenset(_hidden)


def redacted(text: str) -> str:
    """The text with `***` for everything that looks like a key, a token or a password, and for what is hidden."""
    for value in sorted(_hidden, key=len, reverse=True):
        text = text.replace(value, MASK)
    text = re.sub(_SECRETS, MASK, text, flags=re.VERBOSE)
    return re.sub(_NAMED_SECRETS, rf"\1{MASK}", text, flags=re.VERBOSE | re.IGNORECASE)


class SafeFormatter(logging.Formatter):
    """Writes a record so that it can stand in a bug report; see the module."""

    def __init__(self, *, details: bool, process_id: int | None = None) -> None:
        """`details` shows everything but keys, each line of a library as DEBUG. A process's id tells its lines from
        those of others in the same file."""
        super().__init__()
        self._details = details
        self._whose = "" if process_id is None else f"[{process_id}] "

    def format(self, record: logging.LogRecord) -> str:
        own = record.name.partition(".")[0] == _OWN
        level = record.levelname if own or not self._details else "DEBUG"
        message = record.getMessage() if own or self._details else _place(record)
        message = redacted(message) if self._details else _on_one_line(_shortened(redacted(message)))
        lines = [f"{self.formatTime(record)} {self._whose}{level} {record.name}: {message}"]
        if record.exc_info and record.exc_info[1]:
            lines.append(redacted(self._exception(record.exc_info[1])))
        return "\n".join(lines)

    def _exception(self, error: BaseException) -> str:
        if self._details:
            return "".join(traceback.format_exception(error)).rstrip()
        return "\n".join(_stack(error))


class Quiet(logging.Filter):
    """Lets a library's records pass from WARNING on, or all of them with `details`."""

    def __init__(self, *, details: bool) -> None:
        super().__init__()
        self._details = details

    def filter(self, record: logging.LogRecord) -> bool:
        return self._details or record.name.partition(".")[0] == _OWN or record.levelno >= logging.WARNING


def set_up(environment: Mapping[str, str], stream: TextIO | None = None) -> None:
    """Send the process's logging to `stream` (stderr by default), in place of what was set up before.

    The level is WARNING, or what `PYGENT_LOG` says; a word that it does not know is itself a warning.
    """
    asked = environment.get(LEVEL_VARIABLE, "").strip().lower()
    level = LEVELS.get(asked, logging.WARNING)
    details = level == logging.DEBUG
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(SafeFormatter(details=details))
    handler.addFilter(Quiet(details=details))
    handler.setLevel(level)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # A warning quotes values (pydantic's does): as a record it is a library's like any other.
    logging.captureWarnings(capture=True)
    # Else a record that cannot be written (stderr is closed) prints its arguments.
    logging.raiseExceptions = False
    sys.excepthook = _log_crash
    threading.excepthook = lambda failed: _log_crash(failed.exc_type, failed.exc_value, failed.exc_traceback)
    for name in _LOGGERS_WITH_HANDLERS:
        _reroute(name)
    if asked and asked not in LEVELS:
        known = ", ".join(LEVELS)
        logging.getLogger(_OWN).warning("%s=%s is not a log level; use one of %s", LEVEL_VARIABLE, asked, known)


def write_details(path: Path) -> None:
    """Write every line to this file as well, with all details but keys; after `set_up`. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    handler = logging.StreamHandler(os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace"))
    handler.setFormatter(SafeFormatter(details=True))
    root, own = logging.getLogger(), logging.getLogger(_OWN)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    own.setLevel(logging.DEBUG)


def _log_crash(kind: type[BaseException], error: BaseException | None, stack: TracebackType | None) -> None:
    """In place of the interpreter's own words, which quote the exception's text."""
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        sys.__excepthook__(kind, error or kind(), stack)
        return
    found = error or kind()
    logging.getLogger(_OWN).critical("a bug: %s was not caught", kind.__name__, exc_info=(kind, found, stack))


def _reroute(name: str) -> None:
    """Keep a logger's records from every handler but ours, those that it is given later included.

    A filter on the logger is asked before any handler; it is the one thing that a library does not set itself.
    """
    logger = logging.getLogger(name)
    for earlier in [each for each in logger.filters if isinstance(each, _Rerouted)]:
        logger.removeFilter(earlier)
    logger.addFilter(_Rerouted())


class _Rerouted(logging.Filter):
    """Hands a record to the root's handlers and lets it go no further."""

    def filter(self, record: logging.LogRecord) -> bool:
        root = logging.getLogger()
        if record.levelno >= root.level:
            root.handle(record)
        return False


def _on_one_line(text: str) -> str:
    """So that no text from outside can look like a line of its own."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _shortened(text: str) -> str:
    n_left_out = len(text) - MAX_MESSAGE_CHARS
    return f"{text[:MAX_MESSAGE_CHARS]}… [{n_left_out} characters more]" if n_left_out > 0 else text


def _place(record: logging.LogRecord) -> str:
    return f"see {Path(record.pathname).name}:{record.lineno} ({LEVEL_VARIABLE}=debug shows the text)"


def _stack(error: BaseException) -> list[str]:
    """The exceptions from the last to its first cause, each as its type and where it was raised; never its text."""
    lines: list[str] = []
    for each in _causes(error):
        lines.append(f"  {type(each).__module__}.{type(each).__qualname__}")
        frames = [f"    {frame.filename}:{frame.lineno} in {frame.name}" for frame in _frames(each)]
        if len(frames) > MAX_FRAMES:
            half = MAX_FRAMES // 2
            frames[half:-half] = [f"    … {len(frames) - 2 * half} more"]
        lines += frames
    return lines


def _frames(error: BaseException) -> traceback.StackSummary:
    return traceback.extract_tb(error.__traceback__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what a group holds, and what led to each; a cycle ends where it closes."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", each).exceptions
        if led_here := each.__cause__ or (None if each.__suppress_context__ else each.__context__):
            waiting.append(led_here)
