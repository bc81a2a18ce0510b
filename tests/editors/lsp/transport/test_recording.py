"""Recordings of the wire: what they hold, what they never hold, and what they may cost."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.transport.recording import Lines, RecordingMasks, Trace, masks_of
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame
from tests.fakes import WAIT_S

KEY = "sk-ant-api03-0123456789abcdefghij"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


def recorded(trace: Trace) -> list[dict[str, Any]]:
    """The lines of a recording that has ended, its first left out."""
    trace.close(WAIT_S)
    return [json.loads(line) for line in trace.path.read_bytes().splitlines()][1:]


def begun(path: Path, **given: Any) -> Trace:
    return Trace(path, state=Path("/state"), environment={}, **given)


def shape(value: Any) -> Any:
    """The value with the length of each text in its place."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return {key: shape(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [shape(each) for each in cast("list[Any]", value)]
    return value


def test_both_directions_stand_in_their_order_with_their_times(tmp_path: Path) -> None:
    trace = begun(tmp_path / "t.jsonl")
    one, other = trace.tap(), trace.tap()

    one.came(b'{"id": 1, "method": "initialize"}')
    one.went(b'{"id": 1, "result": {}}')
    other.came(b'{"id": 1, "method": "shutdown"}')

    lines = recorded(trace)
    times = [line.pop("t") for line in lines]
    assert times == sorted(times)
    assert times[0] >= 0
    assert lines == [
        {"client": 1, "from": "client", "message": {"id": 1, "method": "initialize"}},
        {"client": 1, "from": "server", "message": {"id": 1, "result": {}}},
        {"client": 2, "from": "client", "message": {"id": 1, "method": "shutdown"}},
    ]


def test_the_answer_to_a_question_for_a_key_is_masked_whatever_it_looks_like(tmp_path: Path) -> None:
    trace = begun(tmp_path / "t.jsonl")
    one, other = trace.tap(), trace.tap()
    params = {"question": "The key of mistral", "secret": True}

    one.went(json.dumps({"id": 7, "method": "pygent/question/request", "params": params}).encode())
    other.came(b'{"id": 7, "result": {"text": "blue"}}')
    one.came(b'{"id": 7, "result": {"text": "my0wnkey", "more": ["my0wnkey"]}}')
    one.came(b'{"id": 7, "result": {"text": "blue"}}')

    said = [line["message"].get("result") for line in recorded(trace)[1:]]
    assert said == [{"text": "blue"}, {"text": "********", "more": ["********"]}, {"text": "blue"}]


def test_what_becomes_secret_while_it_is_recorded_is_masked_from_then_on(tmp_path: Path) -> None:
    saved: list[str] = []
    trace = begun(tmp_path / "t.jsonl", hidden=lambda: saved)
    tap = trace.tap()

    saved.append("my0wnkey")
    tap.went(b'{"method": "told", "params": {"text": "it is my0wnkey"}}')

    assert [line["message"]["params"]["text"] for line in recorded(trace)] == ["it is ********"]


def test_what_is_no_message_is_recorded_as_what_it_is(tmp_path: Path) -> None:
    trace = begun(tmp_path / "t.jsonl")
    tap = trace.tap()

    tap.came(b'{"half')
    tap.came(BrokenFrame("the frame has no Content-Length header"))
    tap.came(b"[" * 100_000)

    not_json, broken, too_deep = recorded(trace)
    assert not_json["raw"] == '{"half'
    assert broken["broken"] == "the frame has no Content-Length header"
    assert too_deep["raw"] == "[" * 100_000


def test_it_begins_with_where_and_with_which_settings_the_daemon_runs(tmp_path: Path) -> None:
    environment = {"PYGENT_MODEL": "scripted:a.jsonl", "PYGENT_EXTRA_HEADERS": KEY, "OPENAI_API_KEY": KEY}
    trace = Trace(tmp_path / "t.jsonl", state=Path("/state"), environment=environment)
    trace.close(WAIT_S)

    first = json.loads(trace.path.read_text())
    told = {key: first[key] for key in ("v", "type", "folder", "state", "environment")}
    assert told == {
        "v": 1,
        "type": "trace",
        "folder": str(Path.cwd()),
        "state": "/state",
        "environment": {"PYGENT_MODEL": "scripted:a.jsonl", "PYGENT_EXTRA_HEADERS": "*" * len(KEY)},
    }


def test_nobody_else_can_read_it_and_none_is_overwritten(tmp_path: Path) -> None:
    first, second, third = [begun(tmp_path / "t.jsonl") for _ in range(3)]
    for each in (first, second, third):
        each.close(WAIT_S)

    assert [each.path.name for each in (first, second, third)] == ["t.jsonl", "t-2.jsonl", "t-3.jsonl"]
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o600


def test_what_comes_while_too_much_waits_is_noted_without_its_text(tmp_path: Path) -> None:
    trace = begun(tmp_path / "t.jsonl", max_waiting_bytes=10)
    tap = trace.tap()

    tap.came(b'{"method": "far/too/long"}')
    tap.came(b"[1]")

    lines = recorded(trace)
    assert [line.get("omitted") for line in lines] == [26, None]
    assert lines[1]["message"] == [1]


def test_what_a_full_disk_did_not_take_tears_no_other_line_and_is_noted_later() -> None:
    reading, writing = os.pipe()  # it is full, as a disk is, and can be emptied
    os.set_blocking(writing, False)
    n_bytes = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    lines = Lines(writing)

    lines.add(b"a" * (n_bytes + 1), instead=b"a is missing")
    lines.add(b"b", instead=b"b is missing")
    lines.add(b"c")
    half = os.read(reading, n_bytes)
    lines.add(b"d")
    lines.add(b"e")
    os.close(writing)

    assert half == b"a" * n_bytes
    assert os.read(reading, n_bytes) == b"\na is missing\nb is missing\nd\ne\n"
    os.close(reading)


# Secrets


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"text": f"first\n{KEY}\nlast"}, {"text": f"first\n{'*' * len(KEY)}\nlast"}),
        ({"apiKey": "hunter2hunter2"}, {"apiKey": "**************"}),
        ({"headers": {"Authorization": ["Bearer abc"]}}, {"headers": {"Authorization": ["**********"]}}),
        ({"env": {"GITHUB_TOKEN": "abcdefgh"}}, {"env": {"GITHUB_TOKEN": "********"}}),
        ({"text": "it is from-the-environment."}, {"text": "it is ********************."}),
        ({"partialResultToken": "events-1", "token": 3}, {"partialResultToken": "events-1", "token": 3}),
        ({"apiKeyEnv": "OPENAI_API_KEY"}, {"apiKeyEnv": "OPENAI_API_KEY"}),
    ],
)
def test_what_looks_like_a_secret_is_masked_in_place(value: object, masked: object) -> None:
    masks = masks_of({"MY_TOKEN": "from-the-environment", "SHORT_KEY": "it", "HOME": "partialResult"})

    assert masks.everything(value) == masked


def test_a_private_key_keeps_its_lines() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----\n"

    masked = RecordingMasks().text(text)

    assert "MIIEvQ" not in masked
    assert [len(line) for line in masked.split("\n")] == [len(line) for line in text.split("\n")]


@given(JSON, st.sampled_from(["", KEY, "password: hunter2hunter2", "https://me:hunter22@host/"]))
def test_masking_changes_no_length_and_no_structure(value: Any, secret: str) -> None:
    masks = masks_of({"A_KEY": "00000000"})
    message = {"params": value, "secret": secret, "text": f"a{secret}b"}

    masked = masks.everything(message)

    assert shape(masked) == shape(message)
    assert masks.everything(masked) == masked
