"""Recorded turns as a client of `as: "items"` gets them.

`python -m tests.editors.lsp.conversation.transcripts` prints a JSON object: for each file of
`tests/transcripts/events`, its lines with `items` in place of `events`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.editors.lsp.conversation.story import reducer
from tests.editors.lsp.conversation.wire_events import session_event

FOLDER = Path(__file__).parents[3] / "transcripts" / "events"


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a transcript."""
    stream, last_seq = reducer(), 0
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "events" in line:
            new = [each for each in line["events"] if each["seq"] > last_seq]  # of what came twice, the first
            last_seq = max(last_seq, *(each["seq"] for each in line["events"]))
            line = {"items": stream.after([session_event(each) for each in new])}
        yield line


if __name__ == "__main__":
    json.dump({path.stem: [*lines_of(path)] for path in sorted(FOLDER.glob("*.jsonl"))}, sys.stdout)
