"""Errors that reach us as litellm's, which quotes the answers of some providers as Python writes bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pygent_ls.errors import ExhaustedError, ModelErrorType
from tests.llm.answers import error_of
from tests.model_server import Step

MINUTE = (
    "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: "
    "generate_content_paid_tier_input_token_count, limit: 1000000\nPlease retry in 48.9s."
)


def google(code: int, message: str, status: str, *details: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


def retry_in(delay: str) -> Mapping[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def indented(body: object, status: int) -> Step:
    """As Google sends it: with line ends and spaces."""
    return Step(raw=("application/json", json.dumps(body, indent=2)), status=status)


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("gemini/m", google(400, 'It\'s the wrong "kind".', "INVALID_ARGUMENT"), "invalid_request"),
        (
            "gemini/m",
            google(400, "The input token count (9) exceeds the maximum", "INVALID_ARGUMENT"),
            "context_window",
        ),
        ("gemini/m", google(403, "The caller does not have permission", "PERMISSION_DENIED"), "auth"),
        ("gemini/m", google(503, "The model is overloaded.", "UNAVAILABLE"), "overloaded"),
        ("gemini/m", google(500, "An internal error has occurred.", "INTERNAL"), "server"),
        ("gemini/m", google(504, "The request timed out.", "DEADLINE_EXCEEDED"), "timeout"),
        ("litellm/anthropic/m", google(400, "The message's too short.", "invalid_request_error"), "invalid_request"),
    ],
)
async def test_the_words_of_a_provider_behind_litellm_are_shown(
    name: str, body: dict[str, Any], kind: ModelErrorType
) -> None:
    error = await error_of(indented(body, body["error"]["code"]), name)

    assert error.type == kind
    assert body["error"]["message"].strip(".") in error.message
    for noise in ("b'", "{\\n", "exception", "status"):
        assert noise not in error.message, error.message


@pytest.mark.parametrize("as_list", [False, True])
async def test_geminis_quota_of_a_minute_is_waited_for(as_list: bool) -> None:
    body = google(429, MINUTE, "RESOURCE_EXHAUSTED", retry_in("48s"))

    error = await error_of(indented([body] if as_list else body, 429), "gemini/m")

    assert (error.type, error.retryable, error.retry_after_s) == ("rate_limit", True, 48.0)


async def test_a_gemini_model_that_the_plan_lacks_is_not_waited_for() -> None:
    body = google(429, "Quota exceeded for metric: free_tier, limit: 0", "RESOURCE_EXHAUSTED", retry_in("34s"))

    assert isinstance(await error_of(indented(body, 429), "gemini/m"), ExhaustedError)
