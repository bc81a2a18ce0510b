"""Recorded turns of real daemons, as a client of items shows them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.editors.lsp.conversation.client import ItemsClient
from tests.editors.lsp.conversation.transcripts import FOLDER, lines_of

SHELL = "echo one; until [ -e go ]; do sleep 0.02; done; echo two"

OUTLINES = {
    "answer_with_thinking": [
        "prompt: go",
        "thinking: A greeting, and a bi",
        "text: Hello, **you**.\n\n```",
        "end: end_turn",
    ],
    "cancelled_at_a_prompt": ["prompt: go", "cancelled: Edit app.py", "end: cancelled"],
    "cancelled_in_a_tool": ["prompt: go", f"cancelled: {SHELL}", "end: cancelled"],
    "denied_by_a_rule": ["prompt: go", "denied: rm notes.md", "text: I may not.", "end: end_turn"],
    "edit_rejected_with_feedback": ["prompt: go", "denied: Edit app.py", "text: Then I leave it.", "end: end_turn"],
    "interrupted": ["prompt: go", "text: Running it.", f"cancelled: {SHELL}", "end: interrupted"],
    "model_fails": ["prompt: go", "final: auth 1", "end: error"],
    "question_of_the_model": ["prompt: go", "done: Ask: Tabs or spaces?", "text: Tabs it is.", "end: end_turn"],
    "queued_and_dequeued": [
        "prompt: first",
        "text: This is the first an",
        "end: end_turn",
        "prompt: second",
        "text: The second.",
        "end: end_turn",
    ],
    "retry_with_withdrawn_text": [
        "prompt: go",
        "withdrawn: This will be cut",
        "retried: network 1",
        "text: This is whole.",
        "end: end_turn",
    ],
    "steered": ["prompt: go", f"done: {SHELL}", "steered: And be brief.", "text: Briefly: done.", "end: end_turn"],
    "subagent": [
        "prompt: go",
        "done: Subagent: look around",
        "  text: I look.",
        "  done: Read app.py",
        "  text: It sets x.",
        "text: The subagent says th",
        "end: end_turn",
    ],
}


def shown(name: str) -> ItemsClient:
    client = ItemsClient()
    for line in lines_of(FOLDER / f"{name}.jsonl"):
        if "items" in line:
            client.take(line["items"])
    return client


def outline(client: ItemsClient, key: str | None = None, indent: str = "") -> list[str]:
    """Each item in a line, those of a subagent indented."""
    return [
        line
        for item in client.below(key)
        for line in (f"{indent}{line_of(item)}", *outline(client, item["key"], f"{indent}  "))
    ]


def line_of(item: dict[str, Any]) -> str:
    match item["type"]:
        case "prompt":
            return f"{'steered' if item['steered'] else 'prompt'}: {item['text']}"
        case "text" | "thinking":
            return f"{'withdrawn' if item['withdrawn'] else item['type']}: {item['text'][:20]}"
        case "tool":
            return f"{item['status']}: {item['title']}"
        case "failure":
            return f"{item['state']}: {item['errorType']} {item['attempt']}"
        case "end":
            return f"end: {item['stopReason']}"
        case kind:
            return kind


@pytest.mark.parametrize("name", OUTLINES)
def test_a_recorded_turn_has_these_items(name: str) -> None:
    assert outline(shown(name)) == OUTLINES[name]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl")))
def test_a_recorded_turn_leaves_nothing_open(name: str) -> None:
    client = shown(name)

    open_items = [
        item
        for item in client.items.values()
        if item.get("streaming")
        or item.get("status") in ("writing", "asked", "running")
        or item.get("state") == "waiting"
    ]
    assert (open_items, client.running, client.queue) == ([], None, [])
