"""What went wrong at a provider, as a `ModelError` that a person can act on.

It looks at statuses, codes, headers and texts, so that it serves our own adapters (`AnswerError`, aiohttp's exceptions)
and litellm alike, and never at litellm's classes: measured with 1.106.2, a status of 529 or 403 is an `APIError`, a
refused connection an `InternalServerError` with status 500, and every broken stream a `MidStreamFallbackError`. So no
library is imported here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from pygent_ls.errors import ExhaustedError, ModelError, ModelErrorType
from pygent_ls.llm.http.answers import request_id, retry_after_s, retry_delay_s

MAX_MESSAGE_CHARS = 400
"""A message is shorter: it must fit a notification."""

MAX_DETAIL_CHARS = 160
"""Of the provider's own words, so that what to do still fits."""

MAX_CHAIN = 20
"""Exceptions of one chain that are looked at; the longest seen was 8."""

_CONTEXT_WINDOW = re.compile(
    r"context.{0,3}(length|window|limit|size)|maximum (context|prompt)|(prompt|input) is too long|too many tokens"
    r"|exceeds the (maximum|limit).{0,40}tokens|reduce the length|(input|prompt) token count|model token limit"
    r"|prompt exceeds max|max tokens allowed|tokens.{0,40}must be <=",
    re.I,
)
"""As OpenAI, Anthropic, Gemini, Bedrock, Mistral, xAI, Moonshot, Z.ai, Together, GitHub and llama.cpp say it."""
_CONTENT_FILTER = re.compile(r"content.{0,3}(policy|filter|management)|safety system|responsible ai", re.I)
_NO_KEY = re.compile(
    r"missing.{0,30}(api.?key|credentials)|api_key client option must be set|no api.?key|unable to locate credentials",
    re.I,
)
_BAD_KEY = re.compile(r"api.?key (is )?(not valid|invalid|expired)|invalid.{0,3}api.?key", re.I)
_EXHAUSTED_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
)
_EXHAUSTED = re.compile(
    r"exceeded your current quota|check your plan and billing|credit balance|out of credits"
    r"|(insufficient|not enough|any|all available|more) (credits?|balance|funds)\b",
    re.I,
)
_OVERLOADED = re.compile(r"\boverloaded\b", re.I)
_UNKNOWN_PROVIDER = re.compile(r"llm provider not provided", re.I)
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|csk)[-_][\w*.-]{6,}|\bAIza[\w-]{8,}|\bBearer\s+\S{8,}")

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and what turns or hides text: a provider's words are shown in terminals."""

_CALLER = re.compile(r"(?<=://)[^/\s@]+@")
"""Name and password in an address."""

Verdict = tuple[ModelErrorType, int | None]
"""The type, and the provider's status where it sent one; `auth` without a status: there is no key."""

_TYPES_BY_WORD: Sequence[tuple[str, ModelErrorType]] = (
    ("overloaded", "overloaded"),
    ("rate_limit", "rate_limit"),
    ("too_many_requests", "rate_limit"),
    ("insufficient_quota", "rate_limit"),
    ("billing", "rate_limit"),
    ("authentication", "auth"),
    ("permission", "auth"),
    ("context_length", "context_window"),
    ("content_filter", "content_filter"),
    ("content_policy", "content_filter"),
    ("invalid_request", "invalid_request"),
    ("not_found", "invalid_request"),
    ("timeout", "timeout"),
    ("api_error", "server"),
    ("server_error", "server"),
    ("internal", "server"),
)
"""Error types that providers send inside a stream, where there is no status any more; by a word in them."""

_TIMEOUTS = frozenset({"TimeoutError", "TimeoutException", "ServerTimeoutError", "APITimeoutError"})
_CONNECTION = frozenset({"OSError", "TransportError", "ClientConnectionError", "ClientPayloadError"})
"""Names of base classes: Python's, httpx's and aiohttp's."""
_BAD_ADDRESS = frozenset({"InvalidURL", "UnsupportedProtocol"})
_BAD_CERTIFICATE = frozenset({"SSLCertVerificationError"})
_UNREADABLE = frozenset({"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What was called, for the message."""

    name: str
    """The model string."""
    provider: str
    address: str | None
    """Where the requests go, as far as it was configured."""
    key_variable: str
    keys: tuple[str, ...] = ()
    """Secrets that must not be shown."""


def model_error(error: BaseException, called: Called) -> ModelError:
    """The failure in our terms; the message has fewer than `MAX_MESSAGE_CHARS` characters and no key."""
    chain = tuple(_chain(error))
    verdict = _kind(chain)
    message = _without_keys(_message(verdict, _detail(chain, called.keys), called, chain), called.keys)
    if len(message) >= MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS - 2] + "…"
    headers = _headers(chain)
    failure = ExhaustedError if _is_final(verdict, chain) else ModelError
    return failure(
        message,
        type=verdict[0],
        provider=called.provider,
        status=verdict[1],
        retry_after_s=_told_to_wait_s(chain),
        request_id=request_id(headers) or _named_in_body(chain),
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, nearest first; it ends where our own handling of an earlier error begins."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < MAX_CHAIN:
        each = waiting.pop(0)
        if each is None or id(each) in seen or isinstance(each, ModelError):
            continue
        seen.add(id(each))
        yield each
        original = getattr(each, "original_exception", None)
        waiting += [original if isinstance(original, BaseException) else None, each.__cause__ or each.__context__]


def _headers(chain: Sequence[BaseException]) -> Mapping[str, str]:
    """What came with the answer: ours, litellm's, and those of the libraries under it; names in lower case."""
    for each in chain:
        response = getattr(each, "response", None)
        for found in (
            getattr(each, "headers", None),
            getattr(each, "litellm_response_headers", None),
            getattr(response, "headers", None),
        ):
            if found and hasattr(found, "items"):
                pairs = cast("Mapping[object, object]", found).items()
                return {str(name).lower(): str(value) for name, value in pairs}
    return {}


def _named_in_body(chain: Sequence[BaseException]) -> str:
    """Anthropic repeats the request's id beside the error."""
    bodies: Iterator[object] = (getattr(each, "body", None) for each in chain)
    said = (cast("dict[str, Any]", body).get("request_id") for body in bodies if isinstance(body, dict))
    return request_id({"request-id": str(next(said, None) or "")})


def _told_to_wait_s(chain: Sequence[BaseException]) -> float | None:
    """By a header, or, as Google does, in the error."""
    in_header = retry_after_s(_headers(chain))
    return in_header if in_header is not None else next(filter(None, map(retry_delay_s, _bodies(chain))), None)


def _is_final(verdict: Verdict, chain: Sequence[BaseException]) -> bool:
    """Whether waiting does not help: the account has nothing left."""
    if verdict[0] != "rate_limit":
        return False
    if verdict[1] == 402 or _codes(chain) & _EXHAUSTED_CODES:
        return True
    is_said = any(_EXHAUSTED.search(str(each)) for each in chain)
    return is_said and _told_to_wait_s(chain) is None  # Gemini says it of a minute's quota too


def _kind(chain: Sequence[BaseException]) -> Verdict:
    """The type, and the status that the provider answered with."""
    text = " ".join(str(each) for each in chain)
    status = _status(chain)
    if _NO_KEY.search(text):
        return "auth", None
    if status is not None and status < 500:
        return _client_error(status, text, _codes(chain)), status
    lost = _lost(chain) or _said_in_stream(chain, status, text)
    if lost is None and status is None and any(_codes(chain)):
        return "server", None  # an error in a stream, in words that we do not know
    return lost or _server_error(status, text)


def _lost(chain: Sequence[BaseException]) -> Verdict | None:
    """No answer, or one that broke or cannot be read; litellm says 500 for each of these."""
    names = {base.__name__ for each in chain for base in type(each).__mro__}
    kinds: Sequence[tuple[frozenset[str], ModelErrorType]] = (
        (_BAD_CERTIFICATE, "invalid_request"),
        (_TIMEOUTS, "timeout"),
        (_BAD_ADDRESS, "invalid_request"),
        (_CONNECTION, "network"),
        (_UNREADABLE, "server"),
    )
    return next(((kind, None) for bases, kind in kinds if names & bases), None)


def _server_error(status: int | None, text: str) -> Verdict:
    if status in (503, 529) or (status == 500 and _OVERLOADED.search(text)):  # litellm's 500 may hide Anthropic's word
        return "overloaded", status if status != 500 else None
    return ("unknown", None) if status is None else ("server", status)


def _client_error(status: int, text: str, codes: frozenset[str]) -> ModelErrorType:
    by_status: dict[int, ModelErrorType] = {401: "auth", 403: "auth", 408: "timeout", 429: "rate_limit"}
    by_status[413] = "context_window"  # whether bytes or tokens are counted, less of them is what helps
    if status == 402 or codes & _EXHAUSTED_CODES or _EXHAUSTED.search(text):
        return "rate_limit"
    if status in by_status:
        return by_status[status]
    if _BAD_KEY.search(text):  # Gemini says so with a 400
        return "auth"
    if "context_length_exceeded" in codes or _CONTEXT_WINDOW.search(text):
        return "context_window"
    if codes & {"content_filter", "content_policy_violation"} or _CONTENT_FILTER.search(text):
        return "content_filter"
    return "invalid_request"


def _said_in_stream(chain: Sequence[BaseException], known: int | None, text: str) -> Verdict | None:
    """What an error object in the middle of a stream says: `{"error": {"type": …, "code": 529}}`."""
    codes = _codes(chain)
    text += " ".join(str(body.get("message", "")) for body in _bodies(chain))
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), None)
    if status is not None:
        return _server_error(status, "") if status >= 500 else (_client_error(status, text, codes), status)
    sent = None if known == 500 else known  # litellm's own, where nothing was sent
    kinds: Iterator[ModelErrorType] = (kind for word, kind in _TYPES_BY_WORD if any(word in code for code in codes))
    kind = next(kinds, None)
    if kind == "invalid_request":
        kind = _client_error(400, text, codes)
    return (kind, sent) if kind else None


def _status(chain: Sequence[BaseException]) -> int | None:
    for each in chain:
        status = getattr(each, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _codes(chain: Sequence[BaseException]) -> frozenset[str]:
    """The codes and types that the provider sent; not those that litellm makes up from the status."""
    found: set[str] = set()
    for body in _bodies(chain):
        found |= {str(body[key]) for key in ("code", "type") if body.get(key) is not None}
    return frozenset(found)


def _bodies(chain: Sequence[BaseException]) -> Iterator[dict[str, Any]]:
    """The error objects that the provider sent, as far as they are kept or quoted."""
    for each in chain:
        body: object = getattr(each, "body", None)
        if isinstance(body, list) and body:
            body = cast("list[object]", body)[0]  # so does Gemini's endpoint for chat completions
        if not isinstance(body, dict):
            body = _quoted_json(str(each))
        if isinstance(body, dict):
            content = cast("dict[str, Any]", body)
            inner = content.get("error")
            yield cast("dict[str, Any]", inner) if isinstance(inner, dict) else content


def _quoted_json(text: str) -> object:
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return None
    return value


def _detail(chain: Sequence[BaseException], keys: Sequence[str]) -> str:
    """The provider's own words in one line, without what libraries add around them, and without keys."""
    words = (body.get(key) for body in _bodies(chain) for key in ("message", "detail", "error"))
    said = next((each for each in words if isinstance(each, str)), str(chain[0]))
    said = _without_keys(said, keys)  # before it is shortened: half a key would not be known as one
    text = said.split("Traceback (most recent call last)")[0].split(" Original exception:")[0]
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.S | re.I)
    text = re.sub(r"(litellm\.)?\b[A-Z]\w*(Error|Exception)( -|:) ?", "", text)
    text = re.sub(r"Error code: \d+ - |litellm\.|Handle with `\S+`\.?", "", text)
    text = " ".join(_UNSEEN.sub(" ", text).split()).strip(" .-")
    return text if len(text) <= MAX_DETAIL_CHARS else text[: MAX_DETAIL_CHARS - 1] + "…"


def _without_keys(text: str, keys: Sequence[str]) -> str:
    for key in keys:
        if key:
            text = text.replace(key, "[key]")
    return _KEY_LIKE.sub("[key]", _CALLER.sub("", text))


_WHAT_TO_DO: Mapping[ModelErrorType, str] = {
    "auth": "{who} did not accept the key, or it may not use {name}{said}. Check {key_variable}.",
    "network": "No connection to {tried}, or it broke{said}. Check the address and the network.",
    "timeout": "{who} took too long to answer{said}. Try again.",
    "rate_limit": "{who} limits how often you may ask{said}. Wait a little, or look at your plan and quota there.",
    "overloaded": "{who} is overloaded{said}. Try again in a little while, or choose another model.",
    "server": "{who} failed, or its answer could not be read{said}. Try again, or choose another model.",
    "context_window": "The conversation is longer than {name} can read{said}. Begin a new session, or shorten it.",
    "content_filter": "{who} refused the content of the conversation{said}. Say it in another way.",
    "invalid_request": "{who} did not accept the request{said}. Check the setting `model`, here {name}.",
    "unknown": "The call of {name} failed{said}.",
}

_EXHAUSTED_SENTENCE = "{who} says that the quota is used up{said}. Look at your plan there, or choose another model."

_CERTIFICATE_SENTENCE = (
    "The certificate of {tried} is not trusted{said}. If it is one of your own, name the file of its authority in the "
    "environment variable SSL_CERT_FILE."
)

NO_PROVIDER = (
    "The model {name!r} has no provider that is known. Name it as PROVIDER/MODEL, such as openai/gpt-5 or "
    "ollama_chat/qwen3, in the setting `model`."
)


def _message(verdict: Verdict, detail: str, called: Called, chain: Sequence[BaseException]) -> str:
    kind, status = verdict
    provider = called.provider or called.name
    if kind == "auth" and status is None:
        return f"No key for {provider}. {how_to_set_key(called.key_variable, called.provider)}"
    if any(type(each).__name__ in _BAD_CERTIFICATE for each in chain):
        return _CERTIFICATE_SENTENCE.format(tried=_tried(chain, called), said=f": {detail}" if detail else "")
    if _UNKNOWN_PROVIDER.search(detail):
        return NO_PROVIDER.format(name=called.name)
    sentence = _EXHAUSTED_SENTENCE if _is_final(verdict, chain) else _WHAT_TO_DO[kind]
    return sentence.format(
        who=f"{provider} ({status})" if status else provider,
        name=called.name,
        key_variable=called.key_variable,
        tried=_tried(chain, called),
        said=f": {detail}" if detail else "",
    )


def how_to_set_key(variable: str, provider: str = "") -> str:
    """What to do where there is no key of a provider."""
    setting = f"providers.{provider}.api_key_env" if provider else "api_key_env"
    return (
        f"Set the environment variable {variable} (or name the one that holds the key in the setting `{setting}`) "
        "and start again, or choose another model in the setting `model`."
    )


def shown(address: str) -> str:
    """An address without what may be secret in it: who calls, and what is asked for."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "(not readable)"
    if not host:
        return address.rpartition("@")[2].partition("?")[0]
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def _tried(chain: Sequence[BaseException], called: Called) -> str:
    for each in chain:
        found = re.search(r"[Cc]annot connect to host (\S+)", str(each))
        if found:
            return found[1]
    return shown(called.address) if called.address else called.provider or called.name
