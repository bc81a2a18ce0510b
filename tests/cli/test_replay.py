"""What a replay takes for the same, and how it calls what is called otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.cli.replay.differences import differences
from pygent_ls.cli.replay.name_map import Names
from pygent_ls.cli.replay.recording import ReplayError, read_recording
from pygent_ls.cli.replay.units import Channel, Unit, units_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)

HEADER = {"v": 1, "type": "trace", "folder": "/w", "state": "/s", "environment": {"PYGENT_MODEL": "m", "A": "a***"}}


def write(path: Path, *rows: Mapping[str, Any], torn: str = "") -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in (HEADER, *rows)) + torn)
    return path


# Reading


def test_one_clients_lines_are_read_and_what_is_torn_is_left_out(tmp_path: Path) -> None:
    initialize = {"method": "initialize", "params": {"workspaceFolders": [{"uri": "file:///work/a%20b"}]}}
    path = write(
        tmp_path / "t",
        {"t": 0.5, "client": 1, "from": "client", "message": initialize},
        {"t": 0.6, "client": 2, "from": "client", "message": {}},
        {"t": 0.7, "client": 1, "from": "server", "message": [1]},
        {"t": 0.8, "client": 1, "from": "client", "raw": "{half"},
        torn='{"t": 0.9, "cl',
    )

    recording = read_recording(path)

    assert (recording.folder, recording.state, recording.workspace) == (Path("/w"), Path("/s"), Path("/work/a b"))
    assert recording.environment == {"PYGENT_MODEL": "m"}
    assert recording.is_torn
    assert [(line.at_s, line.side, line.method, line.raw) for line in recording.lines] == [
        (0.5, "client", "initialize", None),
        (0.7, "server", "", "[1]"),
        (0.8, "client", "", "{half"),
    ]


@given(st.lists(st.binary(max_size=80), max_size=6), JSON)
def test_whatever_a_file_holds_it_is_a_recording_or_none(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], value: Any
) -> None:
    path = tmp_path_factory.mktemp("t") / "trace"
    said = {"method": "$/progress", "params": {"token": value, "value": {"events": value}}}
    messages = (value, {"method": value}, {"method": "m", "id": value}, said, {"method": "$/progress", "params": value})
    line = b"\n".join(
        json.dumps({"t": 1, "client": 1, "from": "server", "message": each}).encode() for each in messages
    )
    path.write_bytes(b"\n".join([json.dumps(HEADER).encode(), line, *rows]))

    recording = read_recording(path)

    for each in recording.lines:
        list(units_of(each.message or {}))


def test_a_recording_of_another_client_is_told(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="no messages of client 3"):
        read_recording(write(tmp_path / "t", {"t": 0, "client": 1, "from": "client", "message": {}}), client=3)


# Taking apart


@pytest.mark.parametrize(
    ("message", "units"),
    [
        ({"id": 7, "result": 1}, [Unit(Channel("answer", "7"), {"result": 1})]),
        ({"id": "a", "error": 1}, [Unit(Channel("answer", '"a"'), {"error": 1})]),
        ({"id": 7, "method": "m", "params": [1]}, [Unit(Channel("request", "m"), [1], 7)]),
        ({"method": "m"}, [Unit(Channel("notice", "m"), None)]),
        ({"method": "$/cancelRequest", "params": {"id": 3}}, []),
        ({"method": "$/progress", "params": {"token": "t", "value": {"kind": "report"}}}, []),
        (
            {"method": "$/progress", "params": {"token": "t", "value": {"kind": "end", "message": "m"}}},
            [Unit(Channel("progress", "t", "end"), None)],
        ),
        (
            {
                "method": "$/progress",
                "params": {
                    "token": "t",
                    "value": {"events": [{"type": "text_delta", "itemId": "i"}, {"type": "text"}]},
                },
            },
            [Unit(Channel("delta", "t", "i"), None), Unit(Channel("event", "t", "text"), {"type": "text"})],
        ),
    ],
)
def test_messages_are_taken_apart_into_what_does_not_depend_on_the_moment(
    message: dict[str, Any], units: list[Unit]
) -> None:
    assert list(units_of(message)) == units


# Names


def test_names_are_learned_from_the_same_place_and_used_everywhere() -> None:
    names = Names({Path("/home/me/work"): Path("/tmp/copy")})
    names.learn(
        {"sessionId": "old-session", "text": "not a name", "n": [{"turnId": "turn-11"}], "id": 3},
        {"sessionId": "new-session", "text": "not a game", "n": [{"turnId": "turn-22"}], "id": 4},
    )
    said: dict[str, Any] = {
        "sessionId": "old-session",
        "itemId": "turn-11-1-text",
        "changes": {"file:///home/me/work/a.py": []},
    }

    assert names.to_new(said) == {
        "sessionId": "new-session",
        "itemId": "turn-22-1-text",
        "changes": {"file:///tmp/copy/a.py": []},
    }
    assert names.to_old(names.to_new(said)) == said
    assert names.to_new("not a name") == "not a name"


def test_folders_are_known_in_addresses_too() -> None:
    names = Names({Path("/home/me/my work"): Path("/tmp/a copy")})

    assert names.to_new(["file:///home/me/my%20work/x", "/home/me/my work/x"]) == [
        "file:///tmp/a%20copy/x",
        "/tmp/a copy/x",
    ]


@given(JSON, JSON)
def test_learning_breaks_nothing(old: Any, new: Any) -> None:
    names = Names({})
    names.learn({"someId": old}, {"someId": new})

    names.to_new(old)
    names.to_old(new)


# Comparing


@given(JSON)
def test_what_is_the_same_does_not_differ(value: Any) -> None:
    assert list(differences(value, json.loads(json.dumps(value)))) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": 1}, {"a": 2}, ["a: 1 → 2"]),
        ({"a": 1}, {}, ["a: 1 → nothing"]),
        ({}, {"a": 1}, []),
        ({"seq": 1, "timestamp": "x"}, {"seq": 2, "timestamp": "y"}, []),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}, 4]}, ["a[1].b: 2 → 3", "a: 2 → 3 items"]),
        ("a {{SECRET_openai_key_12ab34}}", "a ****************", []),
        ("a ****", "a ***", ['it: "a ****" → "a ***"']),
        ({"capabilities": {"experimental": {"m": ["a"]}}}, {"capabilities": {"experimental": {"m": ["b", "a"]}}}, []),
    ],
)
def test_differences_say_where_and_what(old: Any, new: Any, told: list[str]) -> None:
    assert list(differences(old, new)) == told
