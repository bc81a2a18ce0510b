"""Journals that were written once, of each version of their form, and what they say; see `make_golden.py`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pygent_ls.sessions.journal.files import lines_of, read_file
from pygent_ls.sessions.journal.records import message_record, plain
from pygent_ls.sessions.journal.replay import Recalled, recall

GOLDEN = Path(__file__).parent


def load(path: Path) -> Recalled:
    """The session of such a file."""
    return recall(lines_of(partial(read_file, path)), path.stem)


def expectation(found: Recalled) -> dict[str, Any]:
    """All that is known of a session, as JSON."""
    return {
        "name": found.name,
        "created_at": plain(found.created_at),
        "updated_at": plain(found.updated_at),
        "working_directory": plain(found.working_directory),
        "state": {name: value for name, value in plain(found.state).items() if name != "plan"},
        "messages": [message_record(each) for each in found.messages],
        "n_written": len(found.written),
        "compactions": [
            {"start": each.start, "end": each.end, "summary": each.summary, "stands": len(each.stands)}
            for each in found.compactions
        ],
        "plan": plain(found.plan),
        "usage": plain(found.usage),
        "last_turn_usage": plain(found.last_turn_usage),
        "last_seq": found.last_seq,
        "closing": [plain(each.event) for each in found.closing],
        "held": plain(found.held),
        "notices": list(found.notices),
        "size": found.size,
    }
