"""Classification of exceptions by status, code and text, never by litellm's classes. Pure.

Measured with litellm 1.106.2: a status of 529 or 403 is an `APIError`, a refused connection an `InternalServerError`
with status 500, and every broken stream a `MidStreamFallbackError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain as chained

from pygent_ls.errors import ModelErrorType
from pygent_ls.llm.errors.answer_errors import AnswerError
from pygent_ls.llm.errors.bodies import error_bodies

Verdict = tuple[ModelErrorType, int | None]
"""Error type, and the provider's status if it sent one; `auth` without a status: the key is missing."""

_CONTEXT_WINDOW = re.compile(
    r"context.{0,3}(length|window|limit|size)|maximum (context|prompt)|(prompt|input) is too long|too many tokens"
    r"|exceeds the (maximum|limit).{0,40}tokens|reduce the length|(input|prompt) token count|model token limit"
    r"|prompt exceeds max|max tokens allowed|tokens.{0,40}must be <=|length of all messages is too long"
    r"|exceed_context_size",
    re.I,
)
"""Wordings of OpenAI, Anthropic, Gemini, Bedrock, Mistral, xAI, Moonshot, Z.ai, Together, GitHub, Perplexity and
llama.cpp."""
_TOO_LARGE_FOR_LIMIT = re.compile(r"request too large", re.I)
"""The request exceeds the account's tokens per minute; OpenAI reports it with 429, Groq with 413."""
_CONTENT_FILTER = re.compile(
    r"content.{0,3}(policy|filter|management)|safety system|responsible ai|usage policy|requires moderation"
    r"|flagged_input|\b(input|prompt|content|request) was flagged|moderation block|violates usage guidelines"
    r"|content exists risk",
    re.I,
)
_CONTENT_FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_BAD_CALL_CODES = frozenset({"tool_use_failed", "json_validate_failed", "output_parse_failed"})
"""Codes with which Groq reports that it could not parse the model's output; a retry may succeed."""
_NO_KEY = re.compile(
    r"missing.{0,30}(api.?key|credentials)|api_key client option must be set|no api.?key|unable to locate credentials",
    re.I,
)
_BAD_KEY = re.compile(r"api.?key (is )?(not valid|not found|invalid|expired)|(invalid|incorrect).{0,3}api.?key", re.I)
BUDGET_CODE = "budget_exceeded"
"""Code of a LiteLLM proxy; its status is 422, 429 or 400, depending on the version."""
EXHAUSTED_CODES = frozenset(
    {
        BUDGET_CODE,
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "exceeded_current_quota_error",
    }
)
EXHAUSTED = re.compile(
    r"exceeded your current quota|check your plan and billing|credit balance|out of credits"
    r"|key limit exceeded|reached your specified (API )?usage limits"
    r"|(insufficient|not enough|any|all available|more) (credits?|balance|funds)\b",
    re.I,
)
_OVERLOADED = re.compile(r"\boverloaded\b", re.I)
_NO_TOOLS = re.compile(
    r"(not|n't) support (the )?(use of )?(native )?"
    r"(tools?|tool[ _-]?(use|call(s|ing)?)|functions?|function[ _-]?call(s|ing)?)\b(?! (messages?|role))"
    r"|(tools?|tool[ _-]?(use|calling)|function[ _-]?calling)\W{0,3}( (is|are|with function calling is))?"
    r"( un| not |n't )(supported|enabled|available|support\b)"
    r"|--enable-auto-tool-choice|--tool-call-parser|requires? --jinja|unsupported param: tools"
    r"|no endpoints found that support tool use",
    re.I,
)
"""Wordings of Ollama, vLLM, llama.cpp, OpenRouter, DeepInfra, Groq, OpenAI, Gemini, Bedrock, xAI and Novita."""
_REQUEST_STATUSES = frozenset({400, 404, 405, 422, 500, 501})

_TYPES_BY_WORD: Sequence[tuple[str, ModelErrorType]] = (
    ("tool_use_failed", "server"),
    ("json_validate_failed", "server"),
    ("output_parse_failed", "server"),
    ("overloaded", "overloaded"),
    ("slow_down", "overloaded"),
    ("insufficient_system_resource", "overloaded"),
    ("rate_limit", "rate_limit"),
    ("too_many_requests", "rate_limit"),
    ("throttl", "rate_limit"),
    ("resource_exhausted", "rate_limit"),
    ("insufficient_quota", "rate_limit"),
    ("billing", "rate_limit"),
    ("authentication", "auth"),
    ("permission", "auth"),
    ("context_length", "context_window"),
    ("context_size", "context_window"),
    ("request_too_large", "context_window"),
    ("content_filter", "content_filter"),
    ("content_policy", "content_filter"),
    ("invalid_prompt", "content_filter"),
    ("invalid_request", "invalid_request"),
    ("not_found", "invalid_request"),
    ("timeout", "timeout"),
    ("unavailable", "overloaded"),
    ("api_error", "server"),
    ("server_error", "server"),
    ("internal", "server"),
)
"""Classification of error types sent inside a stream, which has no status, by a word in them."""

_TIMEOUTS = frozenset({"TimeoutError", "TimeoutException", "ServerTimeoutError", "APITimeoutError"})
_CONNECTION = frozenset({"OSError", "TransportError", "ClientConnectionError", "ClientPayloadError"})
"""Names of the base classes in Python, httpx and aiohttp."""
_BAD_ADDRESS = frozenset({"InvalidURL", "UnsupportedProtocol"})
BAD_CERTIFICATE = frozenset({"SSLCertVerificationError"})
_UNREADABLE = frozenset({"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"})


def kind_of(chain: Sequence[BaseException]) -> Verdict:
    """Return the error type and the status that the provider answered with."""
    text = _text(chain)
    status = _status(chain)
    if _NO_KEY.search(text):
        return "auth", None
    codes = error_codes(chain)
    if status is not None and status < 500:
        return _client_error(status, text, codes), status
    if status == 500 and _asks_too_much(text, codes):
        return "context_window", status  # llama.cpp
    lost = _lost(chain) or _said_in_stream(chain, status, text)
    if lost is None and status is None and any(error_bodies(chain)):
        return "server", None  # an error in a stream, in unknown words
    return lost or _server_error(status, text)


def error_codes(chain: Sequence[BaseException]) -> frozenset[str]:
    """Return the codes and types that the provider sent, not those that litellm derives from the status."""
    return frozenset(chained.from_iterable(body.codes for body in error_bodies(chain)))


def is_malformed_call(chain: Sequence[BaseException]) -> bool:
    """Whether the provider could not parse the tool call that the model wrote."""
    return bool(error_codes(chain) & _BAD_CALL_CODES)


def is_over_budget(chain: Sequence[BaseException]) -> bool:
    """Whether a budget that a gateway's administrator has set is spent."""
    return BUDGET_CODE in error_codes(chain)


def has_no_access_to_model(chain: Sequence[BaseException]) -> bool:
    """Whether a LiteLLM proxy accepts the key, but not for this model."""
    return any(code.endswith("_model_access_denied") for code in error_codes(chain))


def is_too_large_for_limit(chain: Sequence[BaseException]) -> bool:
    """Whether the request exceeds the account's tokens per minute."""
    return bool(_TOO_LARGE_FOR_LIMIT.search(_text(chain)))


def takes_no_tools(chain: Sequence[BaseException]) -> bool:
    """Whether the error says that the model or its server does not support tools."""
    status = _status(chain)
    return (status is None or status in _REQUEST_STATUSES) and bool(_NO_TOOLS.search(_text(chain)))


def _text(chain: Sequence[BaseException]) -> str:
    """Return the messages of the exceptions and of the provider's errors in them."""
    return " ".join((*map(str, chain), *(body.words for body in error_bodies(chain))))


def _lost(chain: Sequence[BaseException]) -> Verdict | None:
    """Classify a missing, broken or unreadable answer; litellm reports 500 for each of these."""
    names = {base.__name__ for each in chain for base in type(each).__mro__}
    kinds: Sequence[tuple[frozenset[str], ModelErrorType]] = (
        (BAD_CERTIFICATE, "invalid_request"),
        (_TIMEOUTS, "timeout"),
        (_BAD_ADDRESS, "invalid_request"),
        (_CONNECTION, "network"),
        (_UNREADABLE, "server"),
    )
    return next(((kind, None) for bases, kind in kinds if names & bases), None)


def _server_error(status: int | None, text: str) -> Verdict:
    if status in (498, 503, 529) or (status == 500 and _OVERLOADED.search(text)):  # litellm's 500 may hide the word
        return "overloaded", status if status != 500 else None
    return ("unknown", None) if status is None else ("server", status)


def _client_error(status: int, text: str, codes: frozenset[str]) -> ModelErrorType:
    if _TOO_LARGE_FOR_LIMIT.search(text):
        return "context_window"  # waiting does not help, shortening the conversation does
    if status == 402 or codes & EXHAUSTED_CODES or EXHAUSTED.search(text):
        return "rate_limit"
    if status == 403 and _CONTENT_FILTER.search(text):  # OpenRouter's moderation
        return "content_filter"
    by_status: dict[int, ModelErrorType] = {401: "auth", 403: "auth", 408: "timeout", 429: "rate_limit"}
    by_status[413] = "context_window"  # whether bytes or tokens are counted, a smaller request helps
    by_status[498] = "overloaded"  # Groq's flexible tier has no capacity
    if status in by_status:
        return by_status[status]
    if codes & _BAD_CALL_CODES:
        return "server"
    return _refused(text, codes)


def _refused(text: str, codes: frozenset[str]) -> ModelErrorType:
    """Classify a request that the provider rejected."""
    if _BAD_KEY.search(text):  # Gemini and xAI answer 400 here
        return "auth"
    if "context_length_exceeded" in codes or _CONTEXT_WINDOW.search(text):
        return "context_window"
    if codes & _CONTENT_FILTER_CODES or _CONTENT_FILTER.search(text):
        return "content_filter"
    return "invalid_request"


def _asks_too_much(text: str, codes: frozenset[str]) -> bool:
    return bool(codes) and bool(_CONTEXT_WINDOW.search(text))


def _said_in_stream(chain: Sequence[BaseException], known: int | None, text: str) -> Verdict | None:
    """Classify an error object in the middle of a stream: `{"error": {"type": …, "code": 529}}`."""
    codes = error_codes(chain)
    ordered = (code for body in error_bodies(chain) if body.behind is None for code in body.codes)
    status = next((int(code) for code in ordered if re.fullmatch(r"[45]\d\d", code)), None)
    if status is not None:
        if status < 500:
            return _client_error(status, text, codes), status
        return ("context_window", status) if _asks_too_much(text, codes) else _server_error(status, text)
    kind = _said_in_words(text, codes)
    is_ours = any(isinstance(each, AnswerError) for each in chain)
    sent = known if known != 500 or is_ours else None  # litellm reports 500 if no status was sent
    return (kind, sent) if kind else None


def _said_in_words(text: str, codes: frozenset[str]) -> ModelErrorType | None:
    words = [code.lower() for code in codes]
    kinds: Iterator[ModelErrorType] = (kind for word, kind in _TYPES_BY_WORD if any(word in code for code in words))
    kind = next(kinds, None)
    if kind == "rate_limit" and _TOO_LARGE_FOR_LIMIT.search(text):
        return "context_window"
    if kind == "server" and not codes & _BAD_CALL_CODES:
        return "context_window" if _asks_too_much(text, codes) else kind
    if kind in ("invalid_request", None):
        said = _client_error(400, text, codes)
        return said if said != "invalid_request" else kind
    return kind


def _status(chain: Sequence[BaseException]) -> int | None:
    """Return the status of the answer; litellm's own exceptions may have another, after a number in the words."""
    answered = (
        each for each in reversed(chain) if any(base.__name__ == "HTTPStatusError" for base in type(each).__mro__)
    )
    statuses = [getattr(getattr(each, "response", None), "status_code", None) for each in answered]
    statuses += [getattr(each, "status_code", None) for each in chain]
    return next((each for each in statuses if isinstance(each, int) and 400 <= each < 600), None)
