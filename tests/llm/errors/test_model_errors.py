"""What is said when a provider fails; exceptions stand here in the shapes that litellm's were measured to have."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.errors import ModelError, ModelErrorType
from pygent_ls.llm.errors.model_errors import MAX_MESSAGE_CHARS, Called, model_error, shown

KEY = "secret-0123456789"
CALLED = Called(
    name="anthropic/claude", provider="anthropic", address=None, key_variable="ANTHROPIC_API_KEY", keys=("", KEY)
)


class ProviderError(Exception):
    """An exception with what libraries hang on theirs."""

    def __init__(self, text: str, *, status: int | None = None, body: object = None) -> None:
        super().__init__(text)
        self.status_code = status
        self.body = body
        self.original_exception: BaseException | None = None


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ('AnthropicException - {"type":"error","error":{"type":"authentication_error","message":"bad"}}', 401, "auth"),
        ('GeminiException - {"error": {"code": 400, "message": "API key not valid. Pass a valid one."}}', 400, "auth"),
        ("prompt is too long: 210000 tokens > 200000 maximum", 400, "context_window"),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 400, "context_window"),
        ("Request exceeds the maximum size", 413, "context_window"),
        ("Input is too long for requested model.", 400, "context_window"),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 400, "context_window"),
        ("Invalid request: Your request exceeded model token limit: 8192", 400, "context_window"),
        ("the request exceeds the available context size. try increasing it", 400, "context_window"),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193.", 422, "context_window"),
        ("prompt token count of 130000 exceeds the limit of 128000", 400, "context_window"),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 400, "context_window"),
        ("tokens in request more than max tokens allowed", 400, "context_window"),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed", 400, "context_window"),
        ("Requested entity was not found.", 404, "invalid_request"),
        ("Your credit balance is too low to access the Anthropic API.", 400, "rate_limit"),
        ("Insufficient Balance", 402, "rate_limit"),
        ("This request requires more credits, or fewer max_tokens.", 402, "rate_limit"),
        ("Your newly created team doesn't have any credits yet.", 403, "rate_limit"),
        ("upstream", 504, "server"),
    ],
)
def test_other_providers_words_are_understood(text: str, status: int, kind: ModelErrorType) -> None:
    error = model_error(ProviderError(text, status=status), CALLED)

    assert (error.type, error.status) == (kind, status)


@pytest.mark.parametrize(
    ("text", "status", "body", "is_exhausted", "retry_after_s"),
    [
        ("Your credit balance is too low", 400, None, True, None),
        ("pay", 402, None, True, None),
        ("You exceeded your current quota", 429, {"code": "insufficient_quota"}, True, None),
        ("You exceeded your current quota", 429, [{"error": {"details": [{"retryDelay": "34.5s"}]}}], False, 34.5),
        ("slow down", 429, {"error": {"details": [{"retryDelay": "soon"}, 7]}}, False, None),
    ],
)
def test_what_is_used_up_is_told_from_what_passes(
    text: str, status: int, body: object, is_exhausted: bool, retry_after_s: float | None
) -> None:
    error = model_error(ProviderError(text, status=status, body=body), CALLED)

    assert (error.type, error.retryable, error.retry_after_s) == ("rate_limit", not is_exhausted, retry_after_s)
    assert ("used up" in error.message) == is_exhausted


def test_a_certificate_that_is_not_trusted_is_told_and_not_tried_again() -> None:
    untrusted = ssl.SSLCertVerificationError("self-signed certificate")

    error = model_error(caused(ProviderError("Cannot connect to host a.b:443 ssl:True"), untrusted), CALLED)

    assert (error.type, error.retryable) == ("invalid_request", False)
    assert error.message.startswith("The certificate of a.b:443 is not trusted: ")
    assert "SSL_CERT_FILE" in error.message


@pytest.mark.parametrize("n_before", range(140, 175))
def test_no_half_of_a_key_stands_where_a_text_is_cut(n_before: int) -> None:
    error = model_error(ProviderError("x" * n_before + KEY + "y" * 100, status=400), CALLED)

    assert "secret" not in error.message


def test_what_would_act_on_a_terminal_is_not_shown() -> None:
    error = model_error(ProviderError("a\x1b]0;title\x07b\x9bc\u202ed", status=400), CALLED)

    assert "accept the request: a ]0;title b c d." in error.message


@pytest.mark.parametrize("address", ["http://user:hidden-1@a.b:1/v1?key=hidden-2", "user:hidden@a.b", "http://[hidden"])
def test_an_address_is_shown_without_its_secrets(address: str) -> None:
    assert "hidden" not in shown(address)
    error = model_error(ConnectionRefusedError(f"no {address}"), replace(CALLED, address=address))
    assert "hidden-1" not in error.message


def test_the_providers_own_sentence_is_quoted_and_no_more() -> None:
    text = (
        "litellm.BadRequestError: AnthropicException - "
        '{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one is required"}}'
    )

    error = model_error(ProviderError(text, status=400), CALLED)

    assert error.message == (
        "anthropic (400) did not accept the request: messages: at least one is required. "
        "Check the setting `model`, here anthropic/claude."
    )


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (ConnectionRefusedError(111, "refused"), "network"),
        (TimeoutError("too slow"), "timeout"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "server"),
    ],
)
def test_a_status_that_litellm_made_up_does_not_hide_the_cause(cause: Exception, kind: ModelErrorType) -> None:
    inner = caused(ProviderError("Connection error.", status=500), cause)

    error = model_error(caused(ProviderError("litellm.InternalServerError", status=500), inner), CALLED)

    assert (error.type, error.status) == (kind, None)


def test_an_earlier_failure_that_was_being_handled_does_not_count() -> None:
    earlier = caused(ModelError("no connection", type="network"), ConnectionRefusedError())

    error = model_error(caused(ProviderError("busy", status=529), earlier), CALLED)

    assert error.type == "overloaded"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "overloaded_error", "message": "busy"}, "overloaded"),
        ({"code": 429, "message": "slow"}, "rate_limit"),
        ({"error": {"code": "503", "message": "slow"}}, "overloaded"),
        ({"code": "context_length_exceeded", "message": "long", "status": 400}, "context_window"),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, "context_window"),
        ({"code": 400, "message": "exceeds the maximum context length"}, "context_window"),
        ({"type": "billing_error", "message": "Your credit balance is too low"}, "rate_limit"),
        ({"type": "api_error", "message": "Internal server error"}, "server"),
        ({"type": "not_enough_coffee", "message": "later"}, "server"),
        ({"message": "?"}, "server"),
    ],
)
def test_an_error_inside_a_stream_is_read(body: object, kind: ModelErrorType) -> None:
    broken = ProviderError("MidStreamFallbackError", status=500)
    broken.original_exception = ProviderError("said in the stream", body=body)

    assert model_error(broken, CALLED).type == kind


@pytest.mark.parametrize(
    "text",
    [
        "Missing Gemini API key. Set the GEMINI_API_KEY or GOOGLE_API_KEY environment variable.",
        "Missing credentials. Please pass an `api_key`",
        "The api_key client option must be set",
        "BedrockException Invalid Authentication - Unable to locate credentials",
    ],
)
def test_a_key_that_a_library_misses_is_named(text: str) -> None:
    error = model_error(ProviderError(text, status=500), CALLED)

    assert (error.type, error.status) == ("auth", None)
    assert error.message.startswith("No key for anthropic. Set the environment variable ANTHROPIC_API_KEY")


def test_nothing_known_is_said_as_such() -> None:
    assert model_error(ValueError("odd"), CALLED).type == "unknown"
    assert model_error(ValueError(), CALLED).message == "The call to anthropic/claude failed."


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = ProviderError("a"), ProviderError("b", status=418)
    first.__cause__, second.__cause__ = second, first

    assert model_error(first, CALLED).status == 418


WORDS = st.sampled_from(
    [KEY, "sk-abcdefgh", "AIzaSyA0123456789", "Bearer abcdefghij", "\n", "<b>", "{", '{"error"', "Traceback", "é", "%s"]
)


@given(
    st.lists(WORDS | st.text(max_size=200), max_size=12).map(" ".join),
    st.none() | st.integers(400, 599),
    st.none() | st.dictionaries(st.sampled_from(["message", "code", "type", "error"]), WORDS | st.integers()),
)
def test_any_failure_is_short_and_holds_no_key(text: str, status: int | None, body: object) -> None:
    error = model_error(ProviderError(text, status=status, body=body), CALLED)

    assert 0 < len(error.message) < MAX_MESSAGE_CHARS
    assert "\n" not in error.message
    for secret in (KEY, "sk-abcdefgh", "AIzaSyA0123456789", "Bearer abcdefghij"):
        assert secret not in error.message
