"""What is shown to a client: output that stays text, diffs of whole files and of hunks, and parts of prompts."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.attachments import FilePart
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.editors.acp.content import MAX_SHOWN_CHARS, diff_content, output_content, prompt_parts
from pygent_ls.editors.acp.mcp_servers import settings_of
from pygent_ls.editors.acp.session import ClientPaths
from pygent_ls.errors import SessionError

LINES = st.lists(st.sampled_from(["a\n", "b\n", "- c\n", "@@ d\n", "+e\n", "\n"]), max_size=30)


@given(text=st.text(alphabet="`ab\n~ <", max_size=60))
def test_no_output_ends_the_block_that_encloses_it(text: str) -> None:
    for content in output_content(text):
        fence, *lines, last = content["content"]["text"].split("\n")
        assert fence == last
        assert set(fence) == {"`"}
        assert all(fence not in line for line in lines)


def test_the_end_of_a_long_output_is_kept() -> None:
    (content,) = output_content("x" * MAX_SHOWN_CHARS + "the end")
    text = content["content"]["text"]
    assert "the end" in text
    assert "7 characters left out" in text


@given(old=LINES, new=LINES)
def test_hunks_of_a_patch_are_parts_of_both_texts(old: list[str], new: list[str]) -> None:
    patch = "".join(difflib.unified_diff(old, new, "a", "b"))
    change = FileChange(path=Path("/w/a"), kind="edit", added=0, removed=0, patch=patch)

    diffs = diff_content([change], str)

    assert bool(diffs) == (old != new)
    for each in diffs:
        assert each["oldText"] in "".join(old)
        assert each["newText"] in "".join(new)


def test_a_new_file_has_no_old_text() -> None:
    change = FileChange(path=Path("/w/a"), kind="create", added=1, removed=0, patch="", new_text="a\n")
    assert diff_content([change], str) == [{"type": "diff", "path": "/w/a", "oldText": None, "newText": "a\n"}]


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("file:///w/a%20b.py", FilePart(path=Path("/w/a b.py"))),
        ("file:///w/a.py#L3", FilePart(path=Path("/w/a.py"), lines=LineRange(first=3, last=3))),
        ("file:///w/a.py#L3-L5", FilePart(path=Path("/w/a.py"), lines=LineRange(first=3, last=5))),
        ("file:///w/a.py#L5:3", FilePart(path=Path("/w/a.py"), lines=LineRange(first=5, last=5))),
        (f"file:///w/a.py#L{'9' * 5_000}", FilePart(path=Path("/w/a.py"))),
        ("file:///w/a.py#top", FilePart(path=Path("/w/a.py"))),
        ("/w/a.py", FilePart(path=Path("/w/a.py"))),
        ("https://plums.example/a.py", "https://plums.example/a.py"),
        ("file://[", "file://["),
        ("a.py", "a.py"),
    ],
)
def test_a_link_is_a_file_or_stays_a_link(uri: str, part: object) -> None:
    assert prompt_parts([{"type": "resource_link", "uri": uri, "name": "a"}]) == (part,)


@pytest.mark.parametrize("block", [{}, {"type": "audio", "data": ""}, {"type": "text", "text": " "}])
def test_a_prompt_that_cannot_be_used_is_refused(block: dict[str, str]) -> None:
    with pytest.raises(SessionError):
        prompt_parts([block])


def test_a_path_is_spelled_below_the_folder_of_the_client(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    paths = ClientPaths([link])

    assert paths.spelled((real / "a.py").resolve()) == str(link / "a.py")
    assert paths.spelled(tmp_path.resolve() / "b.py") == str(tmp_path.resolve() / "b.py")


def test_servers_of_a_client_whose_names_are_alike_are_all_there() -> None:
    names = ("my server", "my-server", "my/server", "%%")
    servers: list[dict[str, Any]] = [{"name": name, "command": name, "args": [], "env": []} for name in names]

    found = settings_of(servers)

    assert {name: each["command"] for name, each in found.items()} == {
        "my-server": "my server",
        "my-server-2": "my-server",
        "my-server-3": "my/server",
        "server": "%%",
    }
