"""Answers of speech servers, in the forms in which servers give them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, TextContent, Tool

from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.speech import McpSpeech, object_in, speech_of, updates_in
from pygent_ls.extensions.voice import SpeechEvent, SpeechUpdates

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["utterance_final", "running", "stopped"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["events", "seq", "type", "text", "payload", "status", "next_seq"]), inner)
    ),
)


def result_of(*texts: str, structured: Any = None, is_error: bool = False) -> CallToolResult:
    """A result with these texts and this structured content."""
    content = [TextContent(type="text", text=each) for each in texts]
    return CallToolResult(content=list(content), structured_content=structured, is_error=is_error)


@pytest.mark.parametrize(
    "result",
    [
        result_of(structured={"status": "running"}),
        result_of(structured={"result": {"status": "running"}}),
        result_of(structured={"result": json.dumps({"status": "running"})}),
        result_of(json.dumps({"status": "running"}, indent=2)),
    ],
    ids=["structured", "wrapped", "wrapped text", "text"],
)
def test_an_object_is_found_in_each_form_of_a_result(result: CallToolResult) -> None:
    assert object_in(result) == {"status": "running"}


@pytest.mark.parametrize("text", ["", "listening", "[1]", "{", "[" * 100_000])
def test_other_results_have_no_object(text: str) -> None:
    assert object_in(result_of(text)) is None


def test_events_are_read_once_and_text_of_others_than_final_ones_is_partial() -> None:
    answer = {
        "status": "running",
        "events": [
            {"seq": 3, "type": "utterance_final", "text": "seen before"},
            {"seq": 4, "type": "info", "message": "stream_process_started"},
            {"seq": 5, "type": "info", "message": "provisional_text", "payload": {"text": "run"}},
            {"seq": 6, "type": "utterance_partial", "text": "run the"},
            {"seq": 7, "type": "utterance_final", "text": "run the tests"},
            {"seq": 8, "type": "error", "message": "no device"},
            "noise",
        ],
        "next_seq": 9,
    }

    assert updates_in(answer, 3) == SpeechUpdates(
        events=[
            SpeechEvent(kind="partial", text="run"),
            SpeechEvent(kind="partial", text="run the"),
            SpeechEvent(kind="utterance", text="run the tests"),
            SpeechEvent(kind="problem", text="no device"),
        ],
        last_seq=8,
        is_listening=True,
    )


def test_events_without_numbers_go_on_at_the_number_that_the_server_names() -> None:
    answer = {"events": [{"type": "utterance_final", "text": "go"}], "next_seq": 12, "status": "stopped"}

    updates = updates_in(answer, 5)

    assert (updates.last_seq, updates.is_listening) == (12, False)


@given(st.dictionaries(st.sampled_from(["events", "status", "next_seq"]), JSON), st.integers(0, 10))
def test_any_answer_is_read_and_never_goes_back(answer: dict[str, Any], since_seq: int) -> None:
    updates = updates_in(answer, since_seq)

    assert updates.last_seq >= since_seq
    assert {each.kind for each in updates.events} <= {"partial", "utterance", "problem"}


async def test_a_tool_is_given_the_arguments_that_it_declares() -> None:
    given: list[tuple[str, dict[str, Any]]] = []

    async def call(tool: str, arguments: Mapping[str, Any], _report: object) -> CallToolResult:
        given.append((tool, dict(arguments)))
        return result_of(structured={"session_id": 7, "events": []})

    schemas: dict[str, dict[str, Any]] = {
        "stt_start_session": {"properties": {"source": {}, "model": {}}},
        "stt_get_updates": {"properties": {"session_id": {}}},
        "stt_stop_session": {},
    }
    listed = [Tool(name=name, input_schema={"type": "object", **schema}) for name, schema in schemas.items()]
    speech = speech_of("ears", listed, call)

    assert speech_of("ears", listed[1:], call) is None
    assert speech is not None
    session = await speech.start("loopback")
    await speech.updates(session, 3)
    assert given == [("stt_start_session", {"source": "loopback"}), ("stt_get_updates", {"session_id": "7"})]


async def test_errors_of_a_server_name_it() -> None:
    async def call(tool: str, _arguments: object, _report: object) -> CallToolResult:
        return {
            "stt_start_session": result_of(structured={"status": "running"}),
            "stt_get_updates": result_of("busy", is_error=True),
            "stt_stop_session": result_of("done"),
        }[tool]

    speech = McpSpeech(name="ears", call=call)
    with pytest.raises(ToolError, match="ears returned no session_id"):
        await speech.start("microphone")
    with pytest.raises(ToolError, match="ears reports: busy"):
        await speech.updates("one", 0)
    with pytest.raises(ToolError, match="ears answered stt_stop_session with something other than a JSON object"):
        await speech.stop("one")
