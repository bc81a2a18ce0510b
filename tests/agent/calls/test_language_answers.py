"""Edits whose check or formatting goes wrong in a way that nothing foresaw: they are made, and reported as made."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.ports.language_features import CheckedFile, Feature, NoLanguageFeatures
from pygent_ls.agent.ports.workspace import Document
from tests.agent.abilities import FILE_TOOLS
from tests.agent.executor import Executor
from tests.fakes import FOLDER, FakeApprover, bounded, make_rig


class OddAnswers(NoLanguageFeatures):
    """Checks and formats with answers that cannot be understood."""

    offered: Collection[Feature] = ("diagnostics", "format")

    async def checked(self, document: Document, wait_s: float) -> CheckedFile | None:
        raise OverflowError("cannot convert float infinity to integer")

    async def formatted(self, path: Path, text: str, *, on_save_only: bool, is_written: bool = False) -> str | None:
        raise TypeError("a list")


async def test_an_answer_that_cannot_be_understood_fails_no_edit(caplog: pytest.LogCaptureFixture) -> None:
    rig = make_rig(*FILE_TOOLS, files={"a.txt": "one\n"}, approver=FakeApprover(otherwise="allow_once"))
    odd = replace(rig.services.environment, language=OddAnswers(), diagnostics_wait_s=1.0, formatting="on")
    executor = Executor(replace(rig.services, environment=odd), rig.events.emit)
    for name, given in (("read_file", {}), ("edit_file", {"old": "one", "new": "two"})):
        await bounded(executor.run(ToolUseBlock(id=name, name=name, input={"path": "a.txt", **given})))

    told = rig.events.of(ToolResult)[-1]
    assert (told.content, told.is_error) == ("Edited a.txt.", False)
    assert (await rig.workspace.read(FOLDER / "a.txt")).text == "two\n"
    assert [each.message for each in caplog.records] == [
        "the formatting of an edit failed",
        *["the check of an edit failed"] * 2,
    ]
