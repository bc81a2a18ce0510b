"""Lines of standard input, as values."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.kinds import Mode
from pygent_ls.editors.scripts import conversation
from pygent_ls.editors.scripts.input_lines import (
    SUBTYPES,
    BadLineError,
    ControlRequest,
    Prompt,
    Request,
    Response,
    ToolPermissionResponse,
    answer_of,
    read,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
KEYS = st.sampled_from(
    ["type", "message", "content", "role", "request_id", "request", "subtype", "response", "behavior", "mode", "rules"]
)
WORDS = st.sampled_from(
    ["user", "control_request", "control_response", "text", "image", "interrupt", "set_model", "allow", "addRules"]
)
NEARLY = st.recursive(
    st.none() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


@given(st.text() | JSON.map(json.dumps) | NEARLY.map(json.dumps))
def test_whatever_a_line_holds_it_is_something_or_a_problem_in_words(line: str) -> None:
    with suppress(BadLineError):
        said = read(line)
        assert isinstance(said, Prompt | ControlRequest | Response | None)
        if isinstance(said, Response):
            assert isinstance(answer_of(said), ToolPermissionResponse)


@given(st.text().filter(str.strip))
def test_a_prompt_is_what_was_said(text: str) -> None:
    line = json.dumps({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None})

    assert read(line) == Prompt(parts=(text,))


def test_an_answer_has_rules_as_settings_write_them() -> None:
    updates: list[dict[str, Any]] = [
        {"type": "addRules", "rules": [{"toolName": "shell", "ruleContent": "make:*"}, {"toolName": "git_add"}]},
        {"type": "setMode", "mode": "plan", "destination": "session"},
        {"type": "addRules", "rules": [], "destination": "localSettings"},
    ]
    body = {"behavior": "allow", "updatedPermissions": updates}
    line = json.dumps({"type": "control_response", "response": {"request_id": "q1", "response": body}})

    response = read(line)
    assert isinstance(response, Response)
    assert response.request_id == "q1"
    assert answer_of(response) == ToolPermissionResponse(
        allows=True, rules=("shell(make:*)", "git_add"), are_kept=True, mode="plan"
    )


def test_every_request_has_its_subtype_in_the_list_that_errors_tell() -> None:
    assert {get_args(kind.model_fields["subtype"].annotation)[0] for kind in get_args(Request)} == set(SUBTYPES)


def test_the_modes_are_those_of_the_core_and_those_of_claude() -> None:
    assert set(conversation.MODES.values()) == set(get_args(Mode))
    assert {name for name, mode in conversation.MODES.items() if name != mode} == {"acceptEdits", "bypassPermissions"}
