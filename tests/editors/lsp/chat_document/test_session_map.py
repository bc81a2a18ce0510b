"""The file that associates a chat document with its session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.editors.lsp.chat_document.session_map import Known, SessionMap

DOCUMENT = Path("/w/a.pygent.md")
KNOWN = Known(session_id="s", said="d", n_messages=2, last_turn="t")


def test_what_was_remembered_is_known_to_another_daemon(tmp_path: Path) -> None:
    SessionMap(tmp_path, is_kept=lambda: True).remember(DOCUMENT, KNOWN)

    assert SessionMap(tmp_path, is_kept=lambda: True).of(DOCUMENT) == KNOWN


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "7", "[]", "{}", "[" * 100_000, "\ud800"),
        '{"session_id": "s", "said": "d", "n_messages": 1e999, "last_turn": "t"}',
        '{"session_id": "s", "said": "d", "n_messages": NaN, "last_turn": "t"}',
        '{"session_id": "s", "said": "d", "n_messages": "' + "9" * 5_000 + '", "last_turn": "t"}',
    ],
    ids=lambda text: ascii(text[:60]),
)
def test_a_damaged_file_is_left_out(tmp_path: Path, text: str) -> None:
    SessionMap(tmp_path, is_kept=lambda: True).remember(DOCUMENT, KNOWN)
    (file,) = tmp_path.iterdir()
    file.write_bytes(text.encode("utf-8", "surrogatepass"))

    assert SessionMap(tmp_path, is_kept=lambda: True).of(DOCUMENT) is None
