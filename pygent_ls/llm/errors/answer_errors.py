"""Parts common to all providers' answers: errors, retry delays, and request ids. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from pygent_ls.agent.json_fields import objects
from pygent_ls.llm.server_sent_events import SentEvent

REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id", "apim-request-id")

MAX_ID_CHARS = 100


class AnswerError(Exception):
    """An error answer of a provider, or an error in its stream, which has no `status_code`."""

    def __init__(
        self, text: str, *, status: int | None = None, body: object = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status_code = status
        self.body = body
        self.headers: Mapping[str, str] = headers or {}


def unreadable(what: str, headers: Mapping[str, str] | None = None) -> AnswerError:
    """Return the error for an unreadable answer; a retry may succeed."""
    return AnswerError(what, body={"type": "server_error", "message": what}, headers=headers)


def parsed(event: SentEvent) -> Mapping[str, Any]:
    """Return the event's JSON object. Raises `AnswerError`."""
    value = _json(event.data)
    if not isinstance(value, dict):
        raise unreadable("part of its stream cannot be read")
    return cast("dict[str, Any]", value)


def stream_error(event: SentEvent) -> AnswerError | None:
    """Return the error in an event named `error`, whatever its data is; None for any other event.

    LM Studio and Groq name the event; llama.cpp and GPUStack send a line `error: {…}`.
    """
    if event.name != "error":
        return None
    value = _json(event.data)
    if not isinstance(value, dict):
        said = value if isinstance(value, str) else event.data
        value = {"type": "server_error", "message": said or "it failed"}
    body = cast("dict[str, Any]", value)
    if not isinstance(body.get("error"), dict):
        inner = body.get("error")
        body = {"error": {"type": "server_error", "message": inner} if isinstance(inner, str) else body}
    return AnswerError(event.data, body=body)


def error_in(piece: Mapping[str, Any]) -> AnswerError | None:
    """Return the error that OpenAI's interfaces, and those like them, send in place of a part of an answer, or None."""
    error = piece.get("error") or (piece.get("object") == "error" and piece)
    return AnswerError(json.dumps(error), body=error_body(error)) if error else None


def error_body(error: object) -> Mapping[str, Any]:
    """Return the body of an answer that has this error."""
    return {"error": error if isinstance(error, dict) else {"type": "server_error", "message": str(error)}}


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds until the provider accepts a retry, at least 0; None if it does not say.

    `retry-after-ms` takes precedence; `retry-after` is a number of seconds or an HTTP date.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after", "")
    seconds = _number(said)
    if seconds is not None:
        return seconds
    from email.utils import parsedate_to_datetime  # takes 2 ms, and few answers have a date

    try:
        date = parsedate_to_datetime(said)
    except (ValueError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max((date - (now or datetime.now(UTC))).total_seconds(), 0.0)


def retry_delay_s(error: Mapping[str, Any]) -> float | None:
    """Return the retry delay in the details of Google's errors: `{"retryDelay": "34.07s"}`."""
    for each in objects(error.get("details")):
        said = each.get("retryDelay")
        if isinstance(said, str) and said.endswith("s"):
            return _number(said.removesuffix("s"))
    return None


_SAID = re.compile(r"(?:try again|retry) in (?:(\d{1,5})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)(ms|s))?\b", re.I)


def retry_said_s(words: str) -> float | None:
    """Return the retry delay in a message such as `Please try again in 1m2.5s.`; None if it names none."""
    found = _SAID.search(words)
    if found is None or not (found[1] or found[2]):
        return None
    return 60 * int(found[1] or 0) + float(found[2] or 0) / (1000 if found[3] == "ms" else 1)


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None


def request_id(headers: Mapping[str, str]) -> str:
    """Return the provider's id of the request; empty if it sends none or an invalid one."""
    said = next((headers[name] for name in REQUEST_IDS if headers.get(name)), "")
    return said if re.fullmatch(rf"[\w.:/+=-]{{1,{MAX_ID_CHARS}}}", said) else ""
