"""Files that the daemon reads again: journals, saved sessions, caches, configuration."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any, cast

from pygent_ls.data_files import read_json_with_comments, read_toml, read_yaml
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.extensions.front_matter import BrokenFileError, front_matter, line_of
from pygent_ls.llm.catalog.known_model import known_model
from pygent_ls.llm.scripted.model import parse_script
from pygent_ls.sessions.journal.decoder import UnreadableError, parsed, record_of
from pygent_ls.sessions.saved_format.reader import read_saved
from pygent_ls.workspace.git import config
from pygent_ls.workspace.symbols.cache_file import load
from tests.endurance.parsers.target import Target, json_text_of, text_of


def journal(data: bytes) -> None:
    """A line of a journal is a record or an `UnreadableError`."""
    for line in data.split(b"\n"):
        try:
            record_of(parsed(line))
        except UnreadableError:
            continue


def saved(data: bytes) -> None:
    """A text is a saved session or a `SessionError`, whose message can be sent."""
    try:
        read_saved(json_text_of(data), "x.json")
    except SessionError as error:
        str(error).encode()


def symbols(data: bytes) -> None:
    """A cache of symbols is read or dropped."""
    load(data)


def toml(data: bytes) -> None:
    """A TOML text is what the standard library reads, or a `ValueError`."""
    given = text_of(data)
    try:
        found = read_toml(given)
    except (ValueError, RecursionError):
        return
    assert found == tomllib.loads(given)


def yaml(data: bytes) -> None:
    """A YAML text is values, or a `ValueError`."""
    try:
        read_yaml(text_of(data))
    except (ValueError, RecursionError):
        return


def json_with_comments(data: bytes) -> None:
    """A JSON text with comments is a value or a `ValueError`; without comments it is what `json` reads."""
    given = text_of(data)
    try:
        found = read_json_with_comments(given)
    except (ValueError, RecursionError):
        found = None
    try:
        expected = json.loads(given)
    except (ValueError, RecursionError):
        return
    assert json.dumps(found) == json.dumps(expected)


def front_matters(data: bytes) -> None:
    """A file of a skill or command has a head of values, or a `BrokenFileError`."""
    try:
        head, _ = front_matter(text_of(data))
        for key in ("name", "description"):
            line_of(head, key)
    except BrokenFileError:
        return


def git_config(data: bytes) -> None:
    """A configuration of git is settings or a `ValueError`, and what is written of them is read again."""
    given = text_of(data)
    try:
        found = config.parse(given)
    except (ValueError, RecursionError):
        return
    harmless = config.harmless(found)
    assert config.parse(config.rendered(harmless)) == harmless


def models(data: bytes) -> None:
    """An entry of a price list, whatever it holds, is a model with costs that are numbers."""
    try:
        entry = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(entry, dict):
        known = known_model(cast("dict[str, Any]", entry))
        cost = known.counted(n_input=1_000, n_output=10, cache_read=5, cache_write=5).cost_usd
        assert cost is None or 0 <= cost < float("inf")
        assert known.facts


def scripts(data: bytes) -> None:
    """A script of a model is answers or a `ModelError`."""
    try:
        parse_script(json_text_of(data), "x")
    except ModelError:
        return


AT = b'"2026-01-01T00:00:00Z"'
MESSAGE = b'{"role":"user","content":[{"type":"text","text":"a"}],"turn_id":"t","timestamp":' + AT + b"}"

TARGETS: Mapping[str, Target] = {
    "journal": Target(
        journal,
        [
            b'{"v":1,"type":"message","index":0,"message":' + MESSAGE + b"}",
            b'{"v":1,"type":"event","event":{"type":"text","content":"a"},"seq":1,"turn":"t","iteration":1,"total_tokens":1,'
            b'"at":' + AT + b"}",
            b'{"v":1,"type":"cut","length":0}\n{"v":1,"type":"state","at":' + AT + b',"name":"n"}',
            b'{"v":1,"type":"compaction","start":0,"end":1,"stands":['
            + MESSAGE
            + b'],"task":[],"words":[],"summary":"s"}',
        ],
    ),
    "saved": Target(
        saved,
        [
            b'{"version":1,"id":"i","name":"n","created":' + AT + b',"updated":' + AT + b',"messages":['
            b'{"role":"user","content":"a","timestamp":' + AT + b"}]}"
        ],
    ),
    "symbols": Target(symbols, [b"\x00" * 20]),
    "toml": Target(toml, [b'a = 1\n[b."c"]\nd = ["e", {f = 1.5}]\ng = """\nh"""\n']),
    "yaml": Target(yaml, [b"a: &x [1, b]\nc: *x\n---\n- d: |\n    e\n"]),
    "json_with_comments": Target(json_with_comments, [b'// a\n{"b": [1, /* c */ "d//",],}\n']),
    "front_matters": Target(front_matters, [b"---\nname: a\ndescription: b\n---\ntext\n"]),
    "git_config": Target(
        git_config, [b'[a "b\\"c"]\n\td = "e;f" \\\n g ; h\n[core]\nfilemode\n[remote "o"]\nurl = x\n']
    ),
    "models": Target(
        models,
        [
            b'{"max_input_tokens":8000,"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"mode":"chat",'
            b'"input_cost_per_token_above_200k_tokens":3e-06,"output_cost_per_token_above_200k_tokens":4e-06}',
            b'{"tiered_pricing":[{"input_cost_per_token":1,"output_cost_per_token":2,"range":[0,32000]}],'
            b'"reasoning_effort_levels":["low"],"litellm_provider":"openai","search_context_cost_per_query":{}}',
        ],
    ),
    "scripts": Target(scripts, [b'{"loop": true}\n{"text": "a", "tool_calls": [{"name": "n", "input": {}}]}\n']),
}
