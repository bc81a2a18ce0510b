"""Logging to stderr and a file, without keys, prompts or file contents.

Libraries log whatever data they have: asyncio the texts of exceptions, litellm prompts. Above DEBUG, their records are
therefore shown as places in the source, and exceptions as types and stacks. `PYGENT_LOG=debug` shows the rest.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TextIO, cast

from pygent_ls.secrets.log_mask import redacted

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
"""Log levels by their name in `PYGENT_LOG`."""

LEVEL_VARIABLE = "PYGENT_LOG"


MAX_MESSAGE_CHARS = 4_000
"""Maximum length of a record without details, which keeps the log readable whatever is logged."""

MAX_FRAMES = 40
"""Maximum number of stack frames per exception: endless recursion has a thousand equal ones."""

_OWN = "pygent_ls"

_LOGGERS_WITH_HANDLERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
"""Loggers to which litellm adds its own handlers when it is imported, which would bypass this module's."""


class SafeFormatter(logging.Formatter):
    """Formats records so that they can be included in a bug report, as the module describes."""

    def __init__(self, *, details: bool, process_id: int | None = None) -> None:
        """Create the formatter. `details` shows everything except keys, with libraries' lines as DEBUG. A process id
        marks its lines in a file that processes share.
        """
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
    """Filters a library's records: passes WARNING and above, or all of them with `details`."""

    def __init__(self, *, details: bool) -> None:
        super().__init__()
        self._details = details

    def filter(self, record: logging.LogRecord) -> bool:
        return self._details or record.name.partition(".")[0] == _OWN or record.levelno >= logging.WARNING


def set_up(environment: Mapping[str, str], stream: TextIO | None = None) -> None:
    """Send the process's logging to `stream` (stderr by default), replacing any earlier setup.

    The level is WARNING unless `PYGENT_LOG` sets it; an unknown level is itself a warning.
    """
    asked = environment.get(LEVEL_VARIABLE, "").strip().lower()
    level = LEVELS.get(asked, logging.WARNING)
    details = level == logging.DEBUG
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(SafeFormatter(details=details))
    handler.addFilter(Quiet(details=details))
    handler.setLevel(level)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # A warning may quote values (pydantic's do): as a record it is treated like any other library record.
    logging.captureWarnings(capture=True)
    # Otherwise a record that cannot be written (stderr is closed) prints its arguments.
    logging.raiseExceptions = False
    sys.excepthook = _log_crash
    threading.excepthook = lambda failed: _log_crash(failed.exc_type, failed.exc_value, failed.exc_traceback)
    for name in _LOGGERS_WITH_HANDLERS:
        _reroute(name)
    if asked and asked not in LEVELS:
        known = ", ".join(LEVELS)
        logging.getLogger(_OWN).warning("%s=%s is not a log level; use one of %s", LEVEL_VARIABLE, asked, known)


def write_details(path: Path) -> None:
    """Also write every line to this file, with all details except keys. Call after `set_up`. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    handler = logging.StreamHandler(os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace"))
    handler.setFormatter(SafeFormatter(details=True))
    root, own = logging.getLogger(), logging.getLogger(_OWN)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    own.setLevel(logging.DEBUG)


def _log_crash(kind: type[BaseException], error: BaseException | None, stack: TracebackType | None) -> None:
    """Log a crash in place of the interpreter's message, which quotes the exception's text."""
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        sys.__excepthook__(kind, error or kind(), stack)
        return
    found = error or kind()
    logging.getLogger(_OWN).critical("a bug: %s was not caught", kind.__name__, exc_info=(kind, found, stack))


def _reroute(name: str) -> None:
    """Send a logger's records only to our handlers, even if it gets handlers later.

    A logger's filters run before any handler, and libraries do not set them.
    """
    logger = logging.getLogger(name)
    for earlier in [each for each in logger.filters if isinstance(each, _Rerouted)]:
        logger.removeFilter(earlier)
    logger.addFilter(_Rerouted())


class _Rerouted(logging.Filter):
    """Passes a record to the root's handlers and stops its propagation."""

    def filter(self, record: logging.LogRecord) -> bool:
        root = logging.getLogger()
        if record.levelno >= root.level:
            root.handle(record)
        return False


def _on_one_line(text: str) -> str:
    """Escape line breaks and unprintable characters, so that no external text can look like a log line."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _shortened(text: str) -> str:
    n_left_out = len(text) - MAX_MESSAGE_CHARS
    return f"{text[:MAX_MESSAGE_CHARS]}… [{n_left_out} characters more]" if n_left_out > 0 else text


def _place(record: logging.LogRecord) -> str:
    return f"see {Path(record.pathname).name}:{record.lineno} ({LEVEL_VARIABLE}=debug shows the text)"


def _stack(error: BaseException) -> list[str]:
    """Format the exceptions from the last to the first cause, each as its type and origin, never its text."""
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
    """Yield the exception, the members of a group, and the causes of each; a cycle ends at its first repetition."""
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
