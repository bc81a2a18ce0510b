"""The chat document: questions and answers one below the other, whatever stands in them."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pygent_ls.editors.lsp.chat_file import append_exchange, chat_path

HEADINGS = {"## You", "## pygent"}

pieces = st.sampled_from(["## You", "## pygent", "##", " ", "\t", "\n", "\r\n", "\r", "text", "\\", "```"])
texts = st.lists(pieces, max_size=8).map("".join)


def headings(path: Path) -> list[str]:
    """The lines that read as headings of the conversation."""
    lines = re.split(r"\r\n|\n|\r", path.read_bytes().decode())
    return [line.rstrip(" \t") for line in lines if line.rstrip(" \t") in HEADINGS]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(exchanges=st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
def test_only_the_daemons_own_headings_are_headings(tmp_path: Path, exchanges: list[tuple[str, str]]) -> None:
    path = tmp_path / "in" / "chat.pygent.md"
    path.unlink(missing_ok=True)

    for prompt, answer in exchanges:
        append_exchange(path, prompt, answer)

    assert headings(path) == ["## You", "## pygent"] * len(exchanges) + ["## You"]


def test_what_the_user_has_begun_to_write_stays_above_the_next_exchange(tmp_path: Path) -> None:
    path = tmp_path / "chat.pygent.md"
    append_exchange(path, "first", "one")
    path.write_text(path.read_text() + "a draft\n")

    append_exchange(path, "second", "two")

    assert [line for line in path.read_text().splitlines() if line] == [
        *("## You", "first", "## pygent", "one"),
        *("## You", "a draft"),
        *("## You", "second", "## pygent", "two"),
        "## You",
    ]


def test_each_workspace_has_its_own_document_in_the_state_folder(tmp_path: Path) -> None:
    one, two = (chat_path(tmp_path, Path(place) / "project") for place in ("/a", "/b"))

    assert one != two
    assert {one.parent, two.parent} == {tmp_path / "chats"}
    assert one.name.startswith("project-")
    assert chat_path(tmp_path, None).name.endswith(".pygent.md")
