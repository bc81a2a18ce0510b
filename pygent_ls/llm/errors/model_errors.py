"""Conversion of provider failures to `ModelError`s that tell the user what to do.

It serves our own adapters (`AnswerError`, aiohttp's exceptions) and litellm, so it imports none of these libraries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from pygent_ls.errors import ExhaustedError, ModelError, ModelErrorType, NoToolsError
from pygent_ls.llm.errors.answer_errors import request_id, retry_after_s, retry_delay_s, retry_said_s
from pygent_ls.llm.errors.bodies import error_bodies
from pygent_ls.llm.errors.kinds import (
    BAD_CERTIFICATE,
    EXHAUSTED,
    EXHAUSTED_CODES,
    Verdict,
    error_codes,
    has_no_access_to_model,
    is_malformed_call,
    is_over_budget,
    is_too_large_for_limit,
    kind_of,
    takes_no_tools,
)

MAX_MESSAGE_CHARS = 400
"""Upper bound on the length of a message, which must fit a notification."""

MAX_DETAIL_CHARS = 160
"""Maximum length of the provider's own message, which leaves room for what to do."""

MAX_CHAIN = 20
"""Maximum number of exceptions of one chain that are examined; the longest seen was 8."""

_UNKNOWN_PROVIDER = re.compile(r"llm provider not provided", re.I)
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|csk)[-_][\w*.-]{6,}|\bAIza[\w-]{8,}|\bBearer\s+\S{8,}")

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and characters that reverse or hide text: provider messages are shown in terminals."""

_CALLER = re.compile(r"(?<=://)[^/\s@]+@")
"""Name and password in an address."""


class Called(Struct, frozen=True, kw_only=True):
    """The model that was called, for error messages."""

    name: str
    """The model string."""
    provider: str
    address: str | None
    """Configured address of the requests, if any."""
    key_variable: str
    keys: tuple[str, ...] = ()
    """Secrets that must not be shown."""


def model_error(error: BaseException, called: Called) -> ModelError:
    """Return the failure as a `ModelError`; the message has fewer than `MAX_MESSAGE_CHARS` characters and no key."""
    chain = tuple(_chain(error))
    verdict = kind_of(chain)
    message = _without_keys(_message(verdict, _detail(chain, called.keys), called, chain), called.keys)
    if len(message) >= MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS - 2] + "…"
    headers = _headers(chain)
    failure = _class(verdict, chain)
    return failure(
        message,
        type="invalid_request" if failure is NoToolsError else verdict[0],
        provider=called.provider,
        status=verdict[1],
        retry_after_s=_told_to_wait_s(chain),
        request_id=request_id(headers) or _named_in_body(chain),
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, nearest first; stop where our own handling of an earlier error begins."""
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
    """Return the answer's headers from our errors, litellm's, or the libraries below it; names in lower case."""
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
    """Return the request id that Anthropic repeats beside the error."""
    bodies: Iterator[object] = (getattr(each, "body", None) for each in chain)
    said = (cast("dict[str, Any]", body).get("request_id") for body in bodies if isinstance(body, dict))
    return request_id({"request-id": str(next(said, None) or "")})


def _told_to_wait_s(chain: Sequence[BaseException]) -> float | None:
    """Return the wait that a header or the error asks for: in a field as Google, or in words as OpenAI in a stream."""
    in_header = retry_after_s(_headers(chain))
    if in_header is not None:
        return in_header
    in_body = (retry_delay_s(body.fields) or retry_said_s(body.words) for body in error_bodies(chain))
    return next(filter(None, in_body), None)


def _class(verdict: Verdict, chain: Sequence[BaseException]) -> type[ModelError]:
    if _is_final(verdict, chain):
        return ExhaustedError
    return NoToolsError if verdict[0] in ("invalid_request", "server") and takes_no_tools(chain) else ModelError


_LIMIT_OF_NOTHING = re.compile(r"\blimit: 0\b", re.I)
"""Gemini's quota error for a model that the account's plan does not include."""


def _is_final(verdict: Verdict, chain: Sequence[BaseException]) -> bool:
    """Whether waiting does not help because the account's quota is used up."""
    if verdict[0] != "rate_limit":
        return False
    if verdict[1] == 402 or error_codes(chain) & EXHAUSTED_CODES:
        return True
    if any(_LIMIT_OF_NOTHING.search(str(each).lower().partition("quota")[2]) for each in chain):
        return True
    is_said = any(EXHAUSTED.search(str(each)) for each in chain)
    return is_said and _told_to_wait_s(chain) is None  # Gemini also uses these words for a per-minute quota


def _detail(chain: Sequence[BaseException], keys: Sequence[str]) -> str:
    """Return the provider's own message on one line, without library prefixes and without keys."""
    bodies = [body for body in error_bodies(chain) if body.words]
    cause = next((body for body in bodies if body.behind is not None), None)
    said = f"{cause.behind}: {cause.words}" if cause and cause.behind else cause.words if cause else ""
    said = said or (bodies[0].words if bodies else str(chain[0]))
    said = _without_keys(said, keys)  # before it is shortened: a truncated key is not recognised
    text = said.split("Traceback (most recent call last)")[0].split(" Original exception:")[0]
    text = re.sub(r"<(script|style).*?(?:</\1>|\Z)|<[^<>]*+>", " ", text, flags=re.S | re.I)
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
    "auth": "{who} did not accept the API key, or the key has no access to {name}{said}. Check {key_variable}.",
    "network": "Could not connect to {tried}, or the connection was lost{said}. Check the address and the network.",
    "timeout": "{who} took too long to answer{said}. Try again.",
    "rate_limit": "Rate limit reached at {who}{said}. Wait a moment, or check your plan and quota there.",
    "overloaded": "{who} is overloaded{said}. Try again later, or choose another model.",
    "server": "{who} failed or sent an unreadable answer{said}. Try again, or choose another model.",
    "context_window": (
        "The conversation is too long for {name}{said}. Start a new session, or shorten it with `/compact`."
    ),
    "content_filter": "{who} refused the content of the conversation{said}. Rephrase your prompt.",
    "invalid_request": "{who} did not accept the request{said}. Check the setting `model`, here {name}.",
    "unknown": "The call to {name} failed{said}.",
}

_EXHAUSTED_SENTENCE = "Quota of {who} used up{said}. Check your plan there, or choose another model."

_BUDGET_SENTENCE = (
    "A budget at {who} is spent{said}. Ask the administrator of this gateway, or choose a model of another provider."
)

_NO_ACCESS_SENTENCE = (
    "{who} does not allow {name} with your key{said}. Choose another model, or ask the administrator of this gateway."
)

_NO_TOOLS_SENTENCE = (
    "{who} does not support tools with {name}{said}. Set `text_tool_calls` to `auto` or `on` to call tools as text."
)

_MALFORMED_CALL_SENTENCE = (
    "{who} could not read the tool call that {name} wrote{said}. Try again, or choose another model."
)

_TOO_LARGE_SENTENCE = (
    "The request exceeds your tokens-per-minute limit at {who}{said}. Start a new session, or raise your limit there."
)

_CERTIFICATE_SENTENCE = (
    "The certificate of {tried} is not trusted{said}. If it is your own, set the environment variable SSL_CERT_FILE "
    "to the file of its certificate authority."
)

NO_PROVIDER = (
    "The provider of the model {name!r} is unknown. Set `model` to PROVIDER/MODEL, such as openai/gpt-5 or "
    "ollama_chat/qwen3."
)


def _message(verdict: Verdict, detail: str, called: Called, chain: Sequence[BaseException]) -> str:
    kind, status = verdict
    provider = called.provider or called.name
    if kind == "auth" and status is None:
        return f"No key for {provider}. {how_to_set_key(called.key_variable, called.provider)}"
    if any(type(each).__name__ in BAD_CERTIFICATE for each in chain):
        return _CERTIFICATE_SENTENCE.format(tried=_tried(chain, called), said=f": {detail}" if detail else "")
    if _UNKNOWN_PROVIDER.search(detail):
        return NO_PROVIDER.format(name=called.name)
    sentence = _sentence(verdict, chain)
    return sentence.format(
        who=f"{provider} ({status})" if status else provider,
        name=called.name,
        key_variable=called.key_variable,
        tried=_tried(chain, called),
        said=f": {detail}" if detail else "",
    )


def _sentence(verdict: Verdict, chain: Sequence[BaseException]) -> str:
    failure = _class(verdict, chain)
    if failure is ExhaustedError:
        return _BUDGET_SENTENCE if is_over_budget(chain) else _EXHAUSTED_SENTENCE
    if failure is NoToolsError:
        return _NO_TOOLS_SENTENCE
    if verdict[0] == "auth" and has_no_access_to_model(chain):
        return _NO_ACCESS_SENTENCE
    if verdict[0] == "server" and is_malformed_call(chain):
        return _MALFORMED_CALL_SENTENCE
    if verdict[0] == "context_window" and is_too_large_for_limit(chain):
        return _TOO_LARGE_SENTENCE
    return _WHAT_TO_DO[verdict[0]]


def how_to_set_key(variable: str, provider: str = "") -> str:
    """Return what to do if a provider has no key."""
    setting = f"providers.{provider}.api_key_env" if provider else "api_key_env"
    return (
        f"Set the environment variable {variable} (or name another variable in the setting `{setting}`) and restart "
        "pygent-ls, or choose another model in the setting `model`."
    )


def shown(address: str) -> str:
    """Return an address without its credentials and query, which may be secret."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "(invalid address)"
    if not host:
        return address.rpartition("@")[2].partition("?")[0]
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def _tried(chain: Sequence[BaseException], called: Called) -> str:
    for each in chain:
        found = re.search(r"[Cc]annot connect to host (\S+)", str(each))
        if found:
            return found[1]
    return shown(called.address) if called.address else called.provider or called.name
