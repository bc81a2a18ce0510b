"""Gemini: its own `generateContent`, and its endpoint that speaks chat completions.

The rules of signatures are those of https://ai.google.dev/gemini-api/docs/thought-signatures: Gemini 3 and 4 want the
signature of the first call of every step of the current turn. The current turn begins with the user's last words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.providers.servers.answers import Body, Given, Memory, obj
from tests.providers.servers.chat import (
    N_WRITTEN,
    Delta,
    call_deltas,
    calls_of,
    chat_events,
    current_turn,
    finish_of,
    given_of,
    messages_of,
    pieces,
    text_deltas,
    tokens_of,
)
from tests.providers.servers.openai_chat import HISTORY
from tests.providers.servers.rules import Broken, Endpoint, Family

PLACEHOLDERS = frozenset({"skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="})
"""Taken in place of a signature for calls of another model; in plain and in base64 (litellm sends the latter)."""


def checks_signatures(body: Body) -> bool:
    """Whether the model refuses calls without a signature."""
    return any(name in body["model"] for name in ("gemini-3", "gemini-4", "gemini-pro-latest"))


def _missing(name: str, position: int) -> Broken:
    return Broken(
        message="Function call is missing a thought_signature in functionCall parts. This is required for tools to "
        "work correctly, and missing thought_signature may lead to degraded model performance. Additional data, "
        f"function call `default_api:{name}` , position {position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        type="INVALID_ARGUMENT",
    )


def _invalid(signature: str, memory: Memory) -> Broken | None:
    """A signature that no answer had (RooCodeInc/Roo-Code#10640 quotes the refusal)."""
    if signature in PLACEHOLDERS or memory.of_seal(signature) is not None:
        return None
    return Broken(message="Thought signature is not valid", type="INVALID_ARGUMENT")


# The endpoint that is compatible with OpenAI's


def _signature(part: Body) -> str:
    google = obj(obj(part.get("extra_content")).get("google"))
    return str(google.get("thought_signature") or "")


def chat_calls_are_signed(body: Body, memory: Memory) -> Broken | None:
    """The first call of each step of the current turn has its signature in `extra_content`."""
    messages = messages_of(body)
    for index in range(current_turn(messages), len(messages)):
        calls = calls_of(messages[index])
        if not calls:
            continue
        signature = _signature(calls[0])
        if not signature and checks_signatures(body):
            return _missing(calls[0]["function"]["name"], index)
        broken = _invalid(signature, memory) if signature else None
        if broken is not None:
            return broken
    return None


def gemini_chat_events(body: Body, given: Given) -> Iterator[str]:
    """The signature stands at the first call."""
    signature: Delta = {"extra_content": {"google": {"thought_signature": given.seal()}}}
    deltas = [*text_deltas(given), *call_deltas(given, extras={0: signature})]
    return chat_events(body, deltas, finish_of(given))


def lost_chat_signatures(body: Body, memory: Memory) -> Iterator[str]:
    """Calls of this model, in any turn, that came back without their signature."""
    for index, message in enumerate(messages_of(body)):
        given = given_of(message, memory)
        if given is not None and _signature(calls_of(message)[0]) != given.seal():
            yield f"messages[{index}].tool_calls[0] lost its thought signature"


# Its own form


def _contents(body: Body) -> list[Body]:
    return body["contents"]


def _call(part: Body) -> Body:
    """The call of a part. JSON for a protocol buffer may have either spelling; litellm has the second."""
    return obj(part.get("functionCall") or part.get("function_call"))


def _calls(content: Body) -> list[Body]:
    return [part for part in content["parts"] if _call(part)]


def _results(content: Body) -> list[Body]:
    return [part for part in content["parts"] if "functionResponse" in part or "function_response" in part]


# google-gemini/gemini-cli#26486
def call_turns_follow_user_turns(body: Body, _: Memory) -> Broken | None:
    """A content with calls follows one of the user, or one with results."""
    contents = _contents(body)
    for before, content in zip([None, *contents], contents, strict=False):
        if _calls(content) and (before is None or before["role"] == "model"):
            message = (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
            return Broken(message=message, type="INVALID_ARGUMENT")
    return None


# google-gemini/gemini-cli#17208 has the whole answer; GoogleCloudPlatform/generative-ai#368
def results_are_as_many_as_calls(body: Body, _: Memory) -> Broken | None:
    """The content after one with calls has a result for each, and no other content has results."""
    contents = _contents(body)
    for content, after in zip([None, *contents], [*contents, None], strict=False):
        n_calls = len(_calls(content)) if content else 0
        n_results = len(_results(after)) if after else 0
        if n_results and not n_calls:
            message = "Please ensure that function response turn comes immediately after a function call turn."
            return Broken(message=message, type="INVALID_ARGUMENT")
        if n_calls != n_results:
            message = (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
            return Broken(message=message, type="INVALID_ARGUMENT")
    return None


# crewAIInc/crewAI#6973
def the_user_has_the_last_word(body: Body, _: Memory) -> Broken | None:
    """The last content is not the model's."""
    if _contents(body)[-1]["role"] == "model":
        message = "Please ensure that single turn requests end with a user role or the role field is empty."
        return Broken(message=message, type="INVALID_ARGUMENT")
    return None


def calls_are_signed(body: Body, memory: Memory) -> Broken | None:
    """The first call of each step of the current turn has its signature."""
    contents = _contents(body)
    said = [
        index
        for index, content in enumerate(contents)
        if content["role"] != "model" and any("text" in part for part in content["parts"])
    ]
    for index in range(said[-1] if said else 0, len(contents)):
        calls = _calls(contents[index])
        if not calls:
            continue
        signature = str(calls[0].get("thoughtSignature") or "")
        if not signature and checks_signatures(body):
            return _missing(_call(calls[0])["name"], index)
        broken = _invalid(signature, memory) if signature else None
        if broken is not None:
            return broken
    return None


def lost_signatures(body: Body, memory: Memory) -> Iterator[str]:
    """Calls of this model, in any turn, that came back without their signature."""
    for index, content in enumerate(_contents(body)):
        for part in _calls(content)[:1]:
            given = memory.of_call(_call(part)["name"], _call(part)["args"])
            if given is not None and part.get("thoughtSignature") != given.seal():
                yield f"contents[{index}] lost its thought signature"


def gemini_events(body: Body, given: Given) -> Iterator[str]:
    """An answer to `streamGenerateContent?alt=sse`."""
    parts: list[Body] = [{"text": thought, "thought": True} for thought in given.answer.thoughts]
    parts += [{"text": piece} for piece in pieces(given.answer.text)]
    for index, call in enumerate(given.answer.calls):
        signed = {"thoughtSignature": given.seal()} if index == 0 else {}
        parts.append({"functionCall": {"name": call.name, "args": dict(call.arguments)}, **signed})
    n_read = tokens_of(body)
    usage = {
        "promptTokenCount": n_read,
        "candidatesTokenCount": N_WRITTEN,
        "totalTokenCount": n_read + N_WRITTEN,
    }
    for part in parts:
        candidate: Body = {"content": {"role": "model", "parts": [part]}, "index": 0}
        yield f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage})}\n\n"
    reason = "MAX_TOKENS" if given.answer.cut_off else "STOP"
    last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0}
    yield f"data: {json.dumps({'candidates': [last], 'usageMetadata': usage})}\n\n"


def gemini_error(broken: Broken) -> Mapping[str, object]:
    """A refusal as Google words it."""
    return {"error": {"code": broken.status, "message": broken.message, "status": "INVALID_ARGUMENT"}}


GEMINI = Family(
    name="gemini",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=(*HISTORY, chat_calls_are_signed),
            events=gemini_chat_events,
            refuse=gemini_error,
            losses=lost_chat_signatures,
        ),
        Endpoint(
            path=":streamGenerateContent",
            types="gemini",
            rules=(
                the_user_has_the_last_word,
                call_turns_follow_user_turns,
                results_are_as_many_as_calls,
                calls_are_signed,
            ),
            events=gemini_events,
            refuse=gemini_error,
            losses=lost_signatures,
            thinks=lambda body: "thinkingConfig" in body.get("generationConfig", {}),
        ),
    ),
)
