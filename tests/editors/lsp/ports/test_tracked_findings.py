"""Findings of a code review follow their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.review_findings import ReviewFinding
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.ports.tracked_findings import TrackedFindings
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace


@pytest.mark.parametrize("becomes_link", [False, True], ids=["deleted", "a link to a missing file"])
def test_findings_in_a_file_that_is_gone_are_not_listed(tmp_path: Path, *, becomes_link: bool) -> None:
    file = tmp_path.resolve() / "a.py"
    file.write_text("one\ntwo\n")
    found = TrackedFindings(DiskWorkspace([tmp_path]), Buffers(lambda _: None))
    finding = ReviewFinding(
        id="1",
        session_id="s",
        path=file,
        lines=LineRange(first=2, last=2),
        title="t",
        body="b",
        priority=1,
        code="two\n",
    )
    found.report(finding, "one\ntwo\n")
    assert [each.finding.id for each in found.listed] == ["1"]

    file.unlink()
    if becomes_link:
        file.symlink_to("nowhere")
    found.file_changed(file)

    assert list(found.listed) == []
