"""Places that are followed while the user types: nothing typed is lost, or taken for a hunk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.hunks import hunks_of, text_without
from pygent_ls.agent.edits.reviewer import ReviewedCall
from pygent_ls.agent.ports.workspace import Applied, EditPlan, WriteText
from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.documents.positions import position_at
from pygent_ls.editors.lsp.documents.tracked_spans import Followed, TextSpan
from pygent_ls.editors.lsp.review.reviewer import LspReviewer
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from tests.fakes import FOLDER, FakeWorkspace

PATH = FOLDER / "a.txt"


class TypingUser:
    """The editor: while the user is asked they type, and the daemon is told of it."""

    def __init__(self, workspace: FakeWorkspace, buffers: Buffers, changes: list[tuple[int, int, str]]) -> None:
        self.rejected: set[str] = set()
        self.text = workspace.text("a.txt") or ""
        self._workspace = workspace
        self._buffers = buffers
        self._changes = changes

    async def ask(self, method: str, params: Any, **_: object) -> object:
        """`pygent/review/request`."""
        assert method == "pygent/review/request"
        for start, end, new in self._changes:
            self.change(start, end, new)
        self.text = self._workspace.text("a.txt") or ""
        hunks = [hunk["hunkId"] for file in params["files"] for hunk in file["hunks"]]
        return {"hunks": [{"hunkId": each, "accepted": each not in self.rejected} for each in hunks]}

    def change(self, start: int, end: int, new: str) -> None:
        """Replace some characters, told as an incremental change."""
        text = self._workspace.text("a.txt") or ""
        start, end = sorted((start % (len(text) + 1), end % (len(text) + 1)))
        first, last = (position_at(text, at, "utf-16") for at in (start, end))
        where = lsp.Range(start=first, end=last)
        document = lsp.VersionedTextDocumentIdentifier(uri=PATH.as_uri(), version=2)
        told = lsp.TextDocumentContentChangeEvent(range=where, text=new)
        self._buffers.changed(document, [told])
        self._workspace.type_text("a.txt", text[:start] + new + text[end:])


def reviewed(old: str, new: str, rejected: set[int], changes: list[tuple[int, int, str]]) -> tuple[str, str, Applied]:
    """The text after the review, what it was before hunks were taken back, and what is said of it."""
    workspace, buffers = FakeWorkspace({"a.txt": new}), Buffers(lambda _: None)
    workspace.type_text("a.txt", new)
    buffers.opened(lsp.TextDocumentItem(uri=PATH.as_uri(), language_id="x", version=1, text=new))
    user = TypingUser(workspace, buffers, changes)
    user.rejected = {str(number) for number in rejected}
    reviewer = LspReviewer(
        endpoint=cast("RpcEndpoint", user),
        features=ClientFeatures(review_request=True),
        buffers=buffers,
        workspace=workspace,
        uri_of=Path.as_uri,
    )

    async def review() -> Applied:
        before = FakeWorkspace({"a.txt": old})
        document = await before.read(PATH)
        plan = EditPlan(label="Edit", operations=(WriteText(path=PATH, before=document, text=new),), result="")
        call = ReviewedCall(session_id="s", turn_id="t", tool_id="c")
        return await reviewer.review(Applied(asked=plan, stands=plan), call)

    applied = asyncio.run(review())
    return workspace.text("a.txt") or "", user.text, applied


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "x = 1\n", "😀 é\n"]), max_size=8)
NUMBERS = st.sets(st.integers(1, 8))


@given(old=LINES, new=LINES, rejected=NUMBERS)
def test_without_typing_exactly_the_accepted_hunks_are_left(old: list[str], new: list[str], rejected: set[int]) -> None:
    before, after = "".join(old), "".join(new)

    text, _, applied = reviewed(before, after, rejected, [])

    hunks = hunks_of(applied.asked)
    assert text == text_without(after, [hunk for hunk in hunks if int(hunk.id) in rejected])
    assert not any(each.left for each in applied.rejected)


@st.composite
def typing(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """Words that occur nowhere else, typed at any place, some over what stands there."""
    places = draw(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.sampled_from(["", "\n"])), max_size=4))
    return [(start, start + n_over, f"<typed {number}>{end}") for number, (start, n_over, end) in enumerate(places)]


@given(old=LINES, new=LINES, rejected=NUMBERS, changes=typing())
def test_nothing_that_was_typed_is_lost_and_only_rejected_hunks_change(
    old: list[str], new: list[str], rejected: set[int], changes: list[tuple[int, int, str]]
) -> None:
    text, typed, applied = reviewed("".join(old), "".join(new), rejected, changes)

    words = [f"<typed {number}>" for number in range(len(changes)) if f"<typed {number}>" in typed]
    assert all(word in text for word in words)
    gone = [each.hunk for each in applied.rejected if not each.left]
    assert len(text) - len(typed) == sum(len(hunk.old_text) - len(hunk.new_text) for hunk in gone)
    if not gone:
        assert text == typed


def test_a_line_like_the_hunks_that_the_user_typed_is_not_taken_for_it() -> None:
    # the user writes the agent's line once more above it, and changes the agent's own
    text, _, applied = reviewed("old\n", "new\n", {1}, [(0, 0, "new\n"), (7, 7, "!")])

    assert text == "new\nnew!\n"
    assert "had already changed these lines" in applied.rejected[0].left


def test_one_change_that_spans_several_places_is_taken_apart() -> None:
    followed = Followed(PATH, "a\nnew\nb\n", [TextSpan(2, 6)])

    followed.changed(0, 8, "typed\na\nnew\nb typed\n", "typed\na\nnew\nb typed\n")

    assert followed.lines(0) == TextSpan(8, 12)


def test_a_text_that_came_about_unseen_is_caught_up_with() -> None:
    followed = Followed(PATH, "a\nnew\nb\n", [TextSpan(2, 6)])

    followed.catch_up("more\na\nnew\nb\n")
    assert followed.lines(0) == TextSpan(7, 11)
    followed.catch_up("more\na\nnewer\nb\n")
    assert followed.lines(0) is None
