"""Error answers as providers send them, over HTTP: what kind each is, whether it is tried again, and what is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.errors import ExhaustedError, ModelErrorType, NoToolsError
from tests.llm.answers import STREAM, answered, error_of, events, named_events, whole
from tests.model_server import Step

GROQ_CALL = {
    "error": {
        "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": "<tool-use>\n{}\n</tool-use>",
    }
}

TOO_LARGE = (
    "Request too large for gpt-4o in organization org-VDAWofJASuLH0vVz8o9tiQZr on tokens per min (TPM): Limit 30000, "
    "Requested 30601. The input or output tokens must be reduced in order to run successfully. Visit "
    "https://platform.openai.com/account/rate-limits to learn more."
)

GROQ_TOO_LARGE = (
    "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens "
    "per minute (TPM): Limit 12000, Requested 13482, please reduce your message size and try again."
)

FLAGGED = (
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a "
    "different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting"
)

XAI_KEY = {
    "code": "Client specified an invalid argument",
    "error": "Incorrect API key provided: na***ys. You can obtain an API key from https://console.x.ai.",
}

MODERATED = {
    "error": {
        "message": 'openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "violence". No credits '
        "were charged.",
        "code": 403,
        "metadata": {"reasons": ["violence"], "flagged_input": "secret words of mine", "provider_name": "OpenAI"},
    }
}

GEMINI_QUOTA = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota, please check your plan and billing details. Retry in 34s.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}],
    }
}

GEMINI_NOTHING_ALLOWED = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota. Quota exceeded for metric: "
        "generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}],
    }
}


def openrouter(code: int, raw: object, **more: object) -> dict[str, Any]:
    metadata = {"raw": raw, "provider_name": "Novita", **more}
    return {"error": {"message": "Provider returned error", "code": code, "metadata": metadata}, "user_id": "user_1"}


def openai(message: str, code: str | None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


@pytest.mark.parametrize(
    ("name", "status", "body", "kind", "is_tried_again"),
    [
        ("groq/m", 400, GROQ_CALL, "server", True),
        ("litellm/groq/m", 400, GROQ_CALL, "server", True),
        ("xai/m", 400, XAI_KEY, "auth", False),
        ("litellm/xai/m", 400, XAI_KEY, "auth", False),
        ("openrouter/m", 403, MODERATED, "content_filter", False),
        ("openai/m", 429, openai(TOO_LARGE, "rate_limit_exceeded", "tokens"), "context_window", False),
        ("groq/m", 413, openai(GROQ_TOO_LARGE, "rate_limit_exceeded", "tokens"), "context_window", False),
        ("openai/m", 400, openai(FLAGGED, "invalid_prompt"), "content_filter", False),
        ("openai/m", 400, openai("Moderation Block", "421", "content_filter"), "content_filter", False),
        ("openai/m", 429, openai("Rate limit reached: Limit 30000, Used 29000", None, "tokens"), "rate_limit", True),
        (
            "anthropic/m",
            413,
            {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
            "context_window",
            False,
        ),
        (
            "openai/m",
            400,
            openai("The total length of all messages is too long.", None),
            "context_window",
            False,
        ),
        (
            "llamafile/m",
            500,
            {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}},
            "context_window",
            False,
        ),
        ("openai/m", 429, GEMINI_QUOTA, "rate_limit", True),
        ("openai/m", 429, [GEMINI_QUOTA], "rate_limit", True),
        ("openai/m", 429, GEMINI_NOTHING_ALLOWED, "rate_limit", False),
        ("openrouter/m", 403, openai("Key limit exceeded (total limit). Manage it at", None), "rate_limit", False),
        ("moonshot/m", 429, openai("quota", None, "exceeded_current_quota_error"), "rate_limit", False),
        (
            "xai/m",
            403,
            {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK"},
            "content_filter",
            False,
        ),
        ("deepseek/m", 400, openai("Content Exists Risk", "invalid_request_error"), "content_filter", False),
        (
            "anthropic/m",
            400,
            openai("You have reached your specified API usage limits. You will regain access on 2026-12-01.", None),
            "rate_limit",
            False,
        ),
        ("litellm_proxy/m", 422, openai("Budget has been exceeded!", "422", "budget_exceeded"), "rate_limit", False),
        ("litellm_proxy/m", 429, openai("Budget has been exceeded!", "429", "budget_exceeded"), "rate_limit", False),
        ("litellm_proxy/m", 400, openai("Budget has been exceeded!", "400", "budget_exceeded"), "rate_limit", False),
        ("litellm_proxy/m", 429, openai("Rate limit exceeded", "429", "throttling_error"), "rate_limit", True),
        ("litellm_proxy/m", 403, openai("not available", "403", "team_model_access_denied"), "auth", False),
        ("groq/m", 498, openai("Flex tier capacity exceeded", None), "overloaded", True),
        ("openai/m", 500, openai("The server had an error", None, "server_error"), "server", True),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_an_error_answer_has_its_kind(
    name: str, status: int, body: object, kind: ModelErrorType, is_tried_again: bool
) -> None:
    error = await error_of(whole(body, status), name)

    assert (error.type, error.retryable, error.status) == (kind, is_tried_again, status)


async def test_an_account_whose_plan_lacks_the_model_is_not_asked_again() -> None:
    assert isinstance(await error_of(whole(GEMINI_NOTHING_ALLOWED, 429)), ExhaustedError)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (
            "z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly, or add your own key",
            "Novita: z-ai/glm-5.3-flash is temporarily rate-limited upstream.",
        ),
        (
            '{"error":{"type":"invalid_request_error","code":"invalid_request_error","message":"Model '
            "'moonshotai/kimi-k2.6' supports at most 1 image per prompt.\"}}",
            "Novita: Model 'moonshotai/kimi-k2.6' supports at most 1 image per prompt.",
        ),
        (
            '{"code":400, "reason":"INVALID_REQUEST_BODY", "message":"the body is not right", "metadata":{}}',
            "Novita: the body is not right.",
        ),
        ({"error": {"message": "an object"}}, "Novita: an object."),
        ({"detail": "a detail"}, "Novita: a detail."),
        ("", "Provider returned error."),
        (None, "Provider returned error."),
    ],
)
async def test_the_cause_behind_openrouter_is_shown(raw: object, shown: str) -> None:
    error = await error_of(whole(openrouter(400, raw), 400), "openrouter/z-ai/glm")

    assert shown in error.message


async def test_the_cause_behind_openrouter_decides_the_kind() -> None:
    raw = json.dumps(openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded"))

    assert (await error_of(whole(openrouter(400, raw), 400), "openrouter/m")).type == "context_window"
    in_stream = events({"id": "gen-1", **openrouter(400, raw), "choices": []})
    assert (await error_of(in_stream, "openrouter/m")).type == "context_window"


async def test_what_was_flagged_is_not_shown() -> None:
    error = await error_of(whole(MODERATED, 403), "openrouter/openai/gpt-4o")

    assert 'Your input was flagged for "violence"' in error.message
    assert "secret words" not in error.message


def streamed(*lines: str) -> Step:
    text = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    return Step(raw=(STREAM, f"data: {json.dumps(text)}\n\n" + "".join(f"{line}\n" for line in lines)))


GROQ_IN_STREAM = {"error": {**GROQ_CALL["error"], "status_code": 400}}
LLAMA = {
    "code": 400,
    "message": "request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 33056,
    "n_ctx": 32768,
}


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (("event: error", f"data: {json.dumps(GROQ_IN_STREAM)}", ""), "server"),
        ((f"error: {json.dumps(LLAMA)}", ""), "context_window"),
        ((f"error: {json.dumps(LLAMA)}", "", "data: [DONE]", ""), "context_window"),
        ((f"error: {json.dumps(LLAMA)}",), "context_window"),
        (("error: out of memory", ""), "server"),
        (("event: error", 'data: {"message": "Context size has been exceeded."}', ""), "context_window"),
        (("event: error", 'data: {"error": "The model has crashed."}', ""), "server"),
        (("event: error", 'data: "The model has crashed."', ""), "server"),
        (("event: error", "data: The model has crashed.", ""), "server"),
        (("event: error", 'data: {"error": {"message": "The model has crashed."}}', ""), "server"),
        (('data: {"object": "error", "message": "no", "type": "BadRequestError", "code": 400}', ""), "invalid_request"),
        (('data: {"error": {"type": "ThrottlingException", "message": "Too many requests"}}', ""), "rate_limit"),
        (('data: {"error": {"code": "invalid_prompt", "message": "Invalid prompt"}}', ""), "content_filter"),
        ((f"data: {json.dumps(openai(TOO_LARGE, 'rate_limit_exceeded', 'tokens'))}", ""), "context_window"),
        ((f"data: {json.dumps(openrouter(502, 'upstream is gone'))}", ""), "server"),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_is_read(lines: tuple[str, ...], kind: ModelErrorType) -> None:
    assert (await error_of(streamed(*lines), "groq/m")).type == kind


async def test_an_error_line_in_a_stream_of_responses_is_read() -> None:
    step = Step(raw=(STREAM, f'data: {{"type":"response.created"}}\n\nerror: {json.dumps(LLAMA)}\n\n'))

    assert (await error_of(step, "openai/gpt-5.6")).type == "context_window"


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("rate_limit_exceeded", TOO_LARGE, "context_window"),
        ("rate_limit_exceeded", "Rate limit reached: Limit 30000, Used 29000. Please try again in 11s.", "rate_limit"),
        ("insufficient_quota", "You exceeded your current quota", "rate_limit"),
        ("slow_down", "Slow down", "overloaded"),
    ],
)
@pytest.mark.parametrize("is_event", [False, True])
async def test_a_response_that_failed_has_its_kind(
    code: str, message: str, kind: ModelErrorType, is_event: bool
) -> None:
    error = {"code": code, "message": message}
    failed: dict[str, object] = {"type": "response.failed", "response": {"error": error}}

    step = named_events({"type": "error", **error} if is_event else failed)

    assert (await error_of(step, "openai/gpt-5.6")).type == kind


@pytest.mark.parametrize(
    ("said", "wait_s"),
    [("Please try again in 11.5s.", 11.5), ("Please try again in 28ms.", 0.028), ("Please try again in 1m2s.", 62.0)],
)
async def test_the_words_of_an_error_in_a_stream_say_how_long_to_wait(said: str, wait_s: float) -> None:
    body = openai(f"Rate limit reached. {said}", "rate_limit_exceeded", "tokens")

    assert (await error_of(streamed(f"data: {json.dumps(body)}", ""))).retry_after_s == wait_s


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("error", "server"),
        ("network_error", "server"),
        ("insufficient_system_resource", "overloaded"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "server"),
    ],
)
async def test_an_answer_that_failed_at_the_provider_is_tried_again(word: str, kind: ModelErrorType) -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": word}

    error = await error_of(streamed(f"data: {json.dumps({'choices': [choice]})}", "", "data: [DONE]", ""), "zai/m")

    assert (error.type, error.retryable) == (kind, True)


async def test_an_answer_that_zai_withholds_is_a_refusal() -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "sensitive"}

    answer = ModelAnswer()
    for chunk in await answered(events({"choices": [choice]}), "zai/m"):
        answer.add(chunk)

    assert answer.finish_reason == "refusal"


async def test_the_words_of_an_untyped_error_event_are_shown() -> None:
    error = await error_of(streamed("event: error", "data: The model has crashed.", ""), "lm_studio/m")

    assert "The model has crashed." in error.message


async def test_an_anthropic_stream_may_end_in_an_error_event() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    error = await error_of(Step(raw=(STREAM, f"event: error\ndata: {json.dumps(body)}\n\n")), "anthropic/m")

    assert (error.type, error.retryable) == ("overloaded", True)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, openai("registry.ollama.ai/library/gemma3:4b does not support tools", None, "api_error")),
        (
            400,
            {
                "object": "error",
                "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            },
        ),
        (500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
        (500, {"code": 500, "message": "Unsupported param: tools", "type": "server_error"}),
        (
            404,
            {
                "error": {
                    "message": "No endpoints found that support tool use. To learn more about provider routing, visit: "
                    "https://openrouter.ai/docs/guides/routing/provider-selection",
                    "code": 404,
                }
            },
        ),
        (400, openrouter(400, '{"code":400, "message":"model features function calling not support"}')),
        (
            405,
            openai("Tool calling is not supported for model: NousResearch/Hermes-3-Llama-3.1-70B", "405", "APIError"),
        ),
        (400, openai("tools is not supported in this model. For a list of supported models, refer to", None)),
        (400, openai("`tool calling` is not supported with this model", None)),
        (400, openai("Unsupported parameter: 'tools' is not supported with this model.", "unsupported_parameter")),
        (400, [{"error": {"code": 400, "message": "Tool use with function calling is unsupported"}}]),
        (400, [{"error": {"code": 400, "message": "Function calling is not enabled for models/gemma-3-27b-it"}}]),
        (400, openai("This model doesn't support tool use in streaming mode.", None)),
        (400, openai("Tool calling isn't supported by this model.", None)),
        (
            400,
            {
                "code": "Client specified an invalid argument",
                "error": "Invalid request content: The model does not support tool use or function calling but tools "
                "or tool_choice have been specified on the request.",
            },
        ),
    ],
)
async def test_a_model_without_tools_is_known_by_its_error(status: int, body: object) -> None:
    error = await error_of(whole(body, status), "hosted_vllm/m")

    assert isinstance(error, NoToolsError)
    assert (error.type, error.retryable) == ("invalid_request", False)
    assert "text_tool_calls" in error.message


@pytest.mark.parametrize(
    "message",
    [
        "Invalid schema for function 'read_file': the tool is not valid",
        "No endpoints found that support the provided 'tool_choice' value.",
        "tool_choice is not supported in thinking mode",
        "This model does not support tool_choice",
        "The model does not support tool messages",
        "This model does not support the function role",
        "Parallel tool calls are not supported",
        "An assistant message with 'tool_calls' must be followed by tool messages",
    ],
)
async def test_other_errors_about_tools_do_not_mean_that_a_model_has_none(message: str) -> None:
    assert not isinstance(await error_of(whole(openai(message, None), 400)), NoToolsError)
